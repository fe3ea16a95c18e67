/*
 * The memory that a rank keeps for itself in a job of very many ranks. A process joins as one rank
 * of a job that has a segment and no other process, and talks to few ranks. A larger job than this
 * build can have is reckoned from two smaller ones.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/config.h"
#include "include/ftcoll.h"
#include "tests/node/scratch.h"

#define AT_MOST ((size_t)1 << 20) /* bytes in a job of RANKS ranks */
#define RANKS   65536
#define FEW     (PEERS * 64) /* so that each peer has entries of its own */
#define MANY    (RANKS < FTC_NODE_MAX_RANKS ? RANKS : FTC_NODE_MAX_RANKS)
#define PEERS   16 /* ranks that it talks to */
#define ON_NODE 64 /* ranks of a node */
#define LARGE   ((size_t)1 << 20)

static struct scratch_job job;
static char *text;

static void make_job(int ranks)
{
    static struct ftc_node members[FTC_NODE_MAX_NODES];
    struct ftc_settings settings;

    for (int node = 0; node < ranks / ON_NODE; node++) {
        members[node] = (struct ftc_node){.first = node * ON_NODE, .count = ON_NODE};
        snprintf(members[node].host, sizeof(members[node].host), "host%d", node);
    }
    ck_assert_int_eq(ftc_settings_init(&settings), 0);
    ck_assert_int_eq(ftc_settings_set(&settings, "transport.tcp_address=127.0.0.1", "test"), 0);
    text = ftc_settings_dump(&settings);
    ck_assert_ptr_nonnull(text);
    ftc_settings_fini(&settings);
    scratch_job_make_as(&job, &(struct ftc_segment_spec){.ranks = ranks,
                                                         .nodes = ranks / ON_NODE,
                                                         .cluster = "4711.0",
                                                         .text = text,
                                                         .members = members});
    atomic_store(&ftc_segment_header(job.segment)->lease_ns, UINT64_MAX); /* it has no agent */
}

static void remove_job(void)
{
    scratch_job_remove(&job);
    free(text);
}

/* Sends to ranks from all over the job. */
static int talk(ftc_comm *world)
{
    static char bytes[LARGE];
    ftc_request *request;
    int rc = 0;

    for (int i = 1; rc == 0 && i <= PEERS; i++) {
        int to = i * (ftc_size(world) / PEERS) - 1;
        rc = ftc_isend(bytes, 8, FTC_UINT8, to, 0, world, &request);
        if (rc == 0)
            rc = ftc_isend(bytes, sizeof(bytes), FTC_UINT8, to, 1, world, &request);
    }
    return rc;
}

/* A process of its own, since it stays a rank until it ends. Nobody answers it. */
static int be_a_rank(void *arg)
{
    static int64_t sum, input = 1;
    ftc_report report = {.struct_size = sizeof(report)};
    ftc_request *request;
    ftc_comm *world;
    int out = *(int *)arg;

    if (setenv("FTCOLL_JOB_SEGMENT", job.name, 1) != 0 || setenv("FTCOLL_RANK", "0", 1) != 0)
        return 1;
    if (ftc_init(NULL, &world) != 0 || talk(world) != 0 ||
        ftc_iallreduce(&input, &sum, 1, FTC_INT64, FTC_SUM, world, &request) != 0 ||
        ftc_last_report(world, &report) != 0) {
        fprintf(stderr, "%s\n", ftc_last_error());
        return 2;
    }
    struct mallinfo2 now = mallinfo2();
    size_t bytes = now.uordblks + now.hblkhd;
    _exit(write(out, &bytes, sizeof(bytes)) == sizeof(bytes) ? 0 : 3);
}

static size_t bytes_in_a_job_of(int ranks)
{
    size_t bytes = 0;
    int ends[2];

    make_job(ranks);
    ck_assert_int_eq(pipe(ends), 0);
    scratch_in_child(be_a_rank, &ends[1]);
    ck_assert_int_eq(read(ends[0], &bytes, sizeof(bytes)), sizeof(bytes));
    close(ends[0]);
    close(ends[1]);
    remove_job();
    printf("%d ranks: %zu bytes\n", ranks, bytes);
    fflush(stdout);
    return bytes;
}

START_TEST(a_rank_of_a_huge_job_needs_at_most_a_mebibyte)
{
    size_t few = bytes_in_a_job_of(FEW), many = bytes_in_a_job_of(MANY);
    double each = ((double)many - (double)few) / (MANY - FEW);

    double all = (double)few + each * (RANKS - FEW);

    printf("%.2f bytes for each rank, %.0f bytes for %d ranks\n", each, all, RANKS);
    fflush(stdout);
    ck_assert(all <= (double)AT_MOST);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("runtime: tables");
    TCase *tcase = tcase_create("tables");

    tcase_add_test(tcase, a_rank_of_a_huge_job_needs_at_most_a_mebibyte);
    suite_add_tcase(suite, tcase);
    return scratch_run(suite);
}
