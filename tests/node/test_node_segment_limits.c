/* The node segment on a machine that refuses: limits of the process, and a /dev/shm that is full,
 * read-only or missing. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "node/ring.h"
#include "node/segment/board_memory.h"
#include "scratch.h"
#include "tests/node/one_node.h"

struct refusal {
    int ranks;
    const char *words; /* what the error must say */
};

/* Returns 0 if a segment is refused with those words and nothing is left. */
static int refused(const struct refusal *expected)
{
    char path[128];
    struct stat info;
    struct ftc_segment *segment;
    struct ftc_segment_spec spec = {
        .job = "4294967295.000077", .directory = "/nowhere", .ranks = expected->ranks};
    int rc = ftc_segment_create(&segment, &spec);
    if (rc != FTC_ERR_SYSTEM || strstr(ftc_last_error(), expected->words) == NULL) {
        fprintf(stderr, "expected \"%s\": %d, %s\n", expected->words, rc, ftc_last_error());
        return 1;
    }
    ftc_segment_path(path, geteuid(), spec.job);
    return lstat(path, &info) == 0 ? 2 : 0;
}

static int with_file_limit(void *arg)
{
    struct rlimit limit = {1 << 20, 1 << 20};
    (void)arg;
    setrlimit(RLIMIT_FSIZE, &limit);
    return refused(&(struct refusal){64, "ulimit -f"});
}

#if !defined(__SANITIZE_ADDRESS__) /* ASan itself takes more address space */
static int with_address_limit(void *arg)
{
    struct rlimit limit = {1ul << 30, 1ul << 30};
    (void)arg;
    setrlimit(RLIMIT_AS, &limit);
    return refused(&(struct refusal){512, "ulimit -v"});
}
#endif

START_TEST(limits_of_the_process_are_named)
{
    scratch_in_child(with_file_limit, NULL);
#if !defined(__SANITIZE_ADDRESS__)
    scratch_in_child(with_address_limit, NULL);
#endif
}
END_TEST

#define SKIPPED 77

static int private_mounts(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return SKIPPED;
    return 0;
}

static int with_full_shm(void *arg)
{
    (void)arg;
    if (private_mounts() != 0 || mount("t", "/dev/shm", "tmpfs", 0, "size=64k,mode=1777") != 0)
        return SKIPPED;
    return refused(&(struct refusal){512, "/dev/shm is full"});
}

static int with_read_only_shm(void *arg)
{
    (void)arg;
    if (private_mounts() != 0 || mount("t", "/dev/shm", "tmpfs", MS_RDONLY, "size=64k") != 0)
        return SKIPPED;
    return refused(&(struct refusal){4, "remount,rw"});
}

static int without_shm(void *arg)
{
    (void)arg;
    if (private_mounts() != 0 || mount("t", "/dev", "tmpfs", 0, "size=64k") != 0)
        return SKIPPED;
    return refused(&(struct refusal){4, "is missing"});
}

/* Mounts a /dev/shm with room for the front part of a segment for 8 ranks without histories, and
 * `more` bytes. */
static int mount_shm(uint64_t more)
{
    struct ftc_layout layout;
    char options[64];
    if (layout_of_one(&layout, 8, 1) != 0)
        return 1;
    snprintf(options, sizeof(options), "size=%llu,mode=1777",
             (unsigned long long)(layout.history_offset + more));
    return private_mounts() != 0 || mount("t", "/dev/shm", "tmpfs", 0, options) != 0 ? SKIPPED : 0;
}

/* The rings fill it later. The rank that comes too late gets an error, never SIGBUS. */
static int with_rings_that_fill_shm(void *arg)
{
    struct ftc_segment *segment;
    struct ftc_segment_spec spec = {
        .job = "4294967295.000078", .directory = "/nowhere", .ranks = 8};
    struct ftc_ring ring;
    int made = 0;
    (void)arg;
    int rc = mount_shm(100000);
    if (rc != 0)
        return rc;
    if (ftc_segment_create(&segment, &spec) != 0)
        return 1;
    for (int from = 0; from < 8; from++)
        for (int to = 0; to < 8; to++)
            if (ftc_ring_create(&ring, segment, from, to) == 0)
                made++;
            else if (strstr(ftc_last_error(), "/dev/shm is full") == NULL)
                return 2;
    ftc_segment_detach(segment);
    return made > 0 && made < 64 ? 0 : 3;
}

/* The areas of the board fill it, too. Allocated memory can be written to. */
static int with_areas_that_fill_shm(void *arg)
{
    struct ftc_segment *segment;
    struct ftc_segment_spec spec = {
        .job = "4294967295.000079", .directory = "/nowhere", .ranks = 8};
    int made = 0;
    (void)arg;
    int rc = mount_shm(10 * FTC_BOARD_BLOCK);
    if (rc != 0)
        return rc;
    if (ftc_segment_create(&segment, &spec) != 0)
        return 1;
    for (int rank = 0; rank < 8; rank++)
        for (size_t i = 0; i < FTC_BOARD_BLOCK_COUNT; i++) {
            size_t offset = FTC_BOARD_BLOCK_OFFSET + i * FTC_BOARD_BLOCK;
            if (ftc_segment_area_allocate(segment, rank, offset, FTC_BOARD_BLOCK) == 0) {
                memset(ftc_segment_board(segment).areas + (size_t)rank * FTC_BOARD_AREA + offset, 1,
                       FTC_BOARD_BLOCK);
                made++;
            } else if (strstr(ftc_last_error(), "/dev/shm is full") == NULL) {
                return 2;
            }
        }
    ftc_segment_detach(segment);
    return made > 0 && made < 8 * (int)FTC_BOARD_BLOCK_COUNT ? 0 : 3;
}

START_TEST(dev_shm_full_read_only_or_missing_is_named)
{
    int (*const bodies[])(void *) = {with_full_shm, with_read_only_shm, without_shm,
                                     with_rings_that_fill_shm, with_areas_that_fill_shm};
    int status = scratch_wait(scratch_fork(bodies[_i], NULL));
    ck_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED)
        printf("skipped: mounting is not allowed here\n");
    else
        ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node/segment_limits");
    TCase *tcase = tcase_create("limits");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, limits_of_the_process_are_named);
    tcase_add_loop_test(tcase, dev_shm_full_read_only_or_missing_is_named, 0, 5);
    suite_add_tcase(suite, tcase);
    return scratch_run(suite);
}
