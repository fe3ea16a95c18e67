/* Tests the table of nodes in a segment: which rank is where, and what a damaged table may not
 * do. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "node/segment/layout.h"
#include "scratch.h"

#define RANKS 9
#define NODES 3

static const struct ftc_node members[NODES] = {{.host = "alpha", .first = 0, .count = 4},
                                               {.host = "beta", .first = 4, .count = 2},
                                               {.host = "gamma", .first = 6, .count = 3}};
static struct scratch_job job;

static struct ftc_segment_spec spec_of(const struct ftc_node *nodes)
{
    static const unsigned char secret[FTC_JOB_SECRET] = "thirty-two bytes of a secret, or";

    return (struct ftc_segment_spec){.job = job.name,
                                     .host = "beta",
                                     .directory = job.directory,
                                     .ranks = RANKS,
                                     .node = 1,
                                     .nodes = NODES,
                                     .cluster = "4711.0",
                                     .secret = secret,
                                     .members = nodes};
}

static void setup(void)
{
    struct ftc_segment_spec spec = spec_of(members);
    scratch_job_make_as(&job, &spec);
}

static void teardown(void)
{
    scratch_job_remove(&job);
}

START_TEST(each_rank_is_on_one_node)
{
    static const int node_of[RANKS] = {0, 0, 0, 0, 1, 1, 2, 2, 2};
    int count;

    ck_assert_int_eq(ftc_segment_nodes(job.segment), NODES);
    ck_assert_int_eq(ftc_segment_node(job.segment), 1);
    ck_assert_int_eq(ftc_segment_local(job.segment, &count), 4);
    ck_assert_int_eq(count, 2);
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_int_eq(ftc_segment_node_of(job.segment, rank), node_of[rank]);
        ck_assert(ftc_segment_is_local(job.segment, rank) == (node_of[rank] == 1));
    }
    ck_assert_str_eq(ftc_segment_node_at(job.segment, 2)->host, "gamma");
}
END_TEST

static void join(int rank)
{
    atomic_store(&ftc_segment_standing(job.segment, rank)->phase, FTC_PHASE_JOINED);
}

static void tell_endpoint(int rank, const char *text)
{
    ck_assert_msg(ftc_segment_keep_endpoint(job.segment, rank, text, strlen(text)) == 0, "%s",
                  ftc_last_error());
}

static void assert_endpoint(struct ftc_segment *segment, int rank, const char *expected)
{
    char text[FTC_ENDPOINT_SIZE];

    ck_assert(ftc_segment_endpoint(segment, rank, text));
    ck_assert_str_eq(text, expected);
}

START_TEST(a_rank_that_attaches_finds_nodes_endpoints_and_secret)
{
    struct ftc_segment *other;
    int count;

    tell_endpoint(RANKS - 1, "tcp:v1;10.0.0.1;99");
    tell_endpoint(0, "tcp:v1;10.0.0.2;98");
    snprintf(ftc_segment_own_endpoint(job.segment, 5), FTC_ENDPOINT_SIZE, "tcp:v1;10.0.0.3;97");
    ck_assert_int_eq(ftc_segment_attach(&other, job.name, true), 0);
    ck_assert_int_eq(ftc_segment_nodes(other), NODES);
    ck_assert_int_eq(ftc_segment_local(other, &count), 4);
    char text[FTC_ENDPOINT_SIZE];
    ck_assert(!ftc_segment_endpoint(other, 0, text)); /* it has not joined */
    join(0);
    join(5);
    join(RANKS - 1);
    assert_endpoint(other, 0, "tcp:v1;10.0.0.2;98");
    assert_endpoint(other, 5, "tcp:v1;10.0.0.3;97");
    assert_endpoint(other, RANKS - 1, "tcp:v1;10.0.0.1;99");
    ck_assert_str_eq(ftc_segment_header(other)->cluster, "4711.0");
    ck_assert_mem_eq(ftc_segment_header(other)->secret, "thirty-two bytes", 16);
    ck_assert_uint_eq(atomic_load(&ftc_segment_header(other)->lease_ns), 0); /* no lease has come */
    ftc_segment_detach(other);
}
END_TEST

START_TEST(a_job_of_one_node_needs_neither_lease_nor_endpoints)
{
    struct scratch_job single;
    int count;

    scratch_job_make(&single, 3);
    ck_assert_int_eq(ftc_segment_nodes(single.segment), 1);
    ck_assert_int_eq(ftc_segment_local(single.segment, &count), 0);
    ck_assert_int_eq(count, 3);
    ck_assert_ptr_null(ftc_segment_own_endpoint(single.segment, 0));
    ck_assert_str_eq(ftc_segment_node_at(single.segment, 0)->host, "testhost");
    ck_assert_str_eq(ftc_segment_header(single.segment)->cluster, single.name);
    ck_assert_uint_eq(atomic_load(&ftc_segment_header(single.segment)->lease_ns), UINT64_MAX);
    scratch_job_remove(&single);
}
END_TEST

/* Where an endpoint lies is a word of shared memory. Wherever it leads to, the text ends. */
START_TEST(a_damaged_place_of_an_endpoint_leads_nowhere)
{
    char longest[FTC_ENDPOINT_SIZE], text[FTC_ENDPOINT_SIZE];
    struct ftc_standing *standing = ftc_segment_standing(job.segment, 0);
    uint32_t all = (RANKS - 2) * FTC_ENDPOINT_SIZE;

    memset(longest, 'x', sizeof(longest));
    for (int rank = 0; rank < RANKS; rank++)
        if (!ftc_segment_is_local(job.segment, rank))
            ck_assert_int_eq(
                ftc_segment_keep_endpoint(job.segment, rank, longest, sizeof(longest) - 1), 0);
    ck_assert_int_eq(ftc_segment_keep_endpoint(job.segment, 0, "x", 1), FTC_ERR_STATE);
    join(0);
    for (uint32_t at = 0; at < all + 2; at++) {
        atomic_store(&standing->endpoint, at);
        if (at == 0 || at > all)
            ck_assert(!ftc_segment_endpoint(job.segment, 0, text));
        else if (ftc_segment_endpoint(job.segment, 0, text))
            ck_assert_uint_lt(strlen(text), sizeof(text));
    }
    atomic_store(&standing->endpoint, UINT32_MAX);
    ck_assert(!ftc_segment_endpoint(job.segment, 0, text));
}
END_TEST

START_TEST(what_is_shown_of_a_rank_elsewhere_gets_memory_when_it_is_told)
{
    struct ftc_shown *shown;

    ck_assert_ptr_nonnull(ftc_segment_activity(job.segment, 4));
    ck_assert_ptr_nonnull(ftc_segment_known_row(job.segment, 5));
    ck_assert_ptr_null(ftc_segment_shown(job.segment, 4)); /* it is here */
    ck_assert_ptr_null(ftc_segment_activity(job.segment, 8));
    ck_assert_ptr_null(ftc_segment_known_row(job.segment, 8));
    ck_assert_int_eq(ftc_segment_show(job.segment, 8, &shown), 0);
    ck_assert_ptr_eq(ftc_segment_activity(job.segment, 8), &shown->activity);
    ck_assert_int_eq(atomic_load(&shown->activity.root), -1);
    ck_assert_ptr_ne(ftc_segment_known_row(job.segment, 8), ftc_segment_agreed_row(job.segment, 8));
    ck_assert_ptr_null(ftc_segment_activity(job.segment, 7));
}
END_TEST

START_TEST(a_damaged_table_of_nodes_is_refused)
{
    struct ftc_segment *other;
    struct ftc_node *node = ftc_segment_node_at(job.segment, _i % NODES);

    if (_i < NODES)
        node->first++;
    else if (_i < 2 * NODES)
        node->count = _i % 2 ? 0 : 4000000000u;
    else
        memset(node->host, 'x', sizeof(node->host));
    ck_assert_int_eq(ftc_segment_attach(&other, job.name, true), FTC_ERR_PROTO);
    ck_assert_str_eq(strstr(ftc_last_error(), "damaged segment"),
                     "damaged segment: its nodes do not hold its 9 ranks");
}
END_TEST

START_TEST(a_node_that_is_none_is_refused)
{
    struct ftc_segment *other;

    ftc_segment_header(job.segment)->node = NODES;
    ck_assert_int_eq(ftc_segment_attach(&other, job.name, true), FTC_ERR_PROTO);
}
END_TEST

static uint64_t bytes_in_use(struct ftc_segment *segment)
{
    char path[128];
    struct stat info;

    ftc_segment_path(path, geteuid(), ftc_segment_header(segment)->job);
    ck_assert_int_eq(stat(path, &info), 0);
    return (uint64_t)info.st_blocks * 512;
}

/* Does another process find the last rank? */
static void assert_attaches(const struct scratch_job *made, const char *endpoint)
{
    struct ftc_segment *seen;

    ck_assert_msg(ftc_segment_attach(&seen, made->name, false) == 0, "%s", ftc_last_error());
    assert_endpoint(seen, FTC_NODE_MAX_RANKS - 1, endpoint);
    ck_assert_ptr_nonnull(ftc_segment_shown(seen, FTC_NODE_MAX_RANKS - 1));
    ck_assert_ptr_null(ftc_segment_known_row(seen, FTC_NODE_MAX_RANKS - 1));
    ftc_segment_detach(seen);
}

START_TEST(nodes_without_ranks_cannot_be_asked_for)
{
    static const struct ftc_layout_spec impossible[] = {
        {.ranks = 3, .nodes = 4, .local = 1},
        {.ranks = 3, .nodes = 0, .local = 1},
        {.ranks = 3, .nodes = 2, .local = 0},
        {.ranks = 3, .nodes = 2, .local = 3},
        {.ranks = 3, .nodes = 1, .local = 2},
        {.ranks = FTC_NODE_MAX_RANKS, .nodes = FTC_NODE_MAX_NODES + 1, .local = 1},
        {.ranks = FTC_NODE_MAX_RANKS + 1, .nodes = 2, .local = 1},
        {.ranks = FTC_NODE_MAX_RANKS, .nodes = 2, .local = FTC_NODE_MAX_LOCAL + 1},
    };
    struct ftc_layout_spec largest = {.ranks = FTC_NODE_MAX_RANKS,
                                      .nodes = FTC_NODE_MAX_NODES,
                                      .local = FTC_NODE_MAX_LOCAL,
                                      .text_size = 1};
    struct ftc_layout layout;

    for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
        struct ftc_layout_spec spec = impossible[i];
        spec.text_size = 1;
        ck_assert_int_eq(ftc_layout_compute(&layout, &spec), FTC_ERR_ARG);
    }
    ck_assert_int_eq(ftc_layout_compute(&layout, &largest), 0);
    ck_assert_uint_eq(layout.sets_offset - layout.endpoints_offset,
                      (uint64_t)FTC_NODE_MAX_LOCAL * FTC_ENDPOINT_SIZE);
}
END_TEST

/* The room of the largest job: 65,536 ranks on 4,096 nodes, 16 of them here. All that grows with
 * the job is written, as it is when each rank has joined and shows what it does. */
START_TEST(the_largest_job_needs_little_room)
{
    static struct ftc_node nodes[FTC_NODE_MAX_NODES];
    static const char endpoint[] = "tcp:v1;10.123.123.123,192.168.123.123;65535";
    enum { EACH = FTC_NODE_MAX_RANKS / FTC_NODE_MAX_NODES, HERE = FTC_NODE_MAX_NODES / 2 };
    struct scratch_job made;
    struct ftc_shown *shown;
    uint64_t told, bytes;

    for (uint32_t node = 0; node < FTC_NODE_MAX_NODES; node++)
        nodes[node] = (struct ftc_node){.first = node * EACH, .count = EACH};
    scratch_job_make_as(&made, &(struct ftc_segment_spec){.ranks = FTC_NODE_MAX_RANKS,
                                                          .history = true,
                                                          .node = HERE,
                                                          .nodes = FTC_NODE_MAX_NODES,
                                                          .cluster = "4711.0",
                                                          .members = nodes});
    for (int rank = 0; rank < FTC_NODE_MAX_RANKS; rank++) {
        memset(ftc_segment_standing(made.segment, rank), 0xff, sizeof(struct ftc_standing));
        atomic_store(&ftc_segment_standing(made.segment, rank)->shown, 0);
        if (!ftc_segment_is_local(made.segment, rank))
            ck_assert_int_eq(
                ftc_segment_keep_endpoint(made.segment, rank, endpoint, sizeof(endpoint) - 1), 0);
    }
    told = bytes_in_use(made.segment);
    for (int rank = 0; rank < FTC_NODE_MAX_RANKS; rank++)
        if (!ftc_segment_is_local(made.segment, rank))
            ck_assert_int_eq(ftc_segment_show(made.segment, rank, &shown), 0);
    bytes = bytes_in_use(made.segment);
    printf("%d ranks on %d nodes, %d of them here: %.1f MiB in use, and %.1f MiB when all are "
           "shown\n",
           FTC_NODE_MAX_RANKS, FTC_NODE_MAX_NODES, EACH, (double)told / (1 << 20),
           (double)bytes / (1 << 20));
    ck_assert_uint_lt(bytes, 64u << 20);
    assert_attaches(&made, endpoint);
    scratch_job_remove(&made);
}
END_TEST

START_TEST(every_carrier_has_a_name)
{
    for (int carrier = 0; carrier < FTC_CARRIERS; carrier++)
        ck_assert_str_ne(ftc_carrier_name((enum ftc_carrier)carrier), "unknown");
    ck_assert_str_eq(ftc_carrier_name((enum ftc_carrier)99), "unknown");
}
END_TEST

START_TEST(ranks_of_one_node_say_where_they_listen_if_they_are_to)
{
    static const unsigned char nothing[FTC_JOB_SECRET];
    struct ftc_segment *other;
    struct scratch_job single;

    scratch_job_make_as(&single, &(struct ftc_segment_spec){.ranks = 2, .endpoints = true});
    snprintf(ftc_segment_own_endpoint(single.segment, 1), FTC_ENDPOINT_SIZE, "tcp:v1;127.0.0.1;9");
    atomic_store(&ftc_segment_standing(single.segment, 1)->phase, FTC_PHASE_JOINED);
    ck_assert_int_eq(ftc_segment_attach(&other, single.name, true), 0);
    assert_endpoint(other, 1, "tcp:v1;127.0.0.1;9");
    /* No secret was given, so one was drawn. */
    ck_assert_mem_ne(ftc_segment_header(other)->secret, nothing, sizeof(nothing));
    ck_assert_uint_eq(atomic_load(&ftc_segment_header(other)->lease_ns), UINT64_MAX);
    ftc_segment_detach(other);
    scratch_job_remove(&single);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node_nodes");
    TCase *tests = tcase_create("nodes");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, each_rank_is_on_one_node);
    tcase_add_test(tests, a_rank_that_attaches_finds_nodes_endpoints_and_secret);
    tcase_add_test(tests, a_job_of_one_node_needs_neither_lease_nor_endpoints);
    tcase_add_test(tests, ranks_of_one_node_say_where_they_listen_if_they_are_to);
    tcase_add_loop_test(tests, a_damaged_table_of_nodes_is_refused, 0, 3 * NODES);
    tcase_add_test(tests, a_node_that_is_none_is_refused);
    tcase_add_test(tests, nodes_without_ranks_cannot_be_asked_for);
    tcase_add_test(tests, the_largest_job_needs_little_room);
    tcase_add_test(tests, a_damaged_place_of_an_endpoint_leads_nowhere);
    tcase_add_test(tests, what_is_shown_of_a_rank_elsewhere_gets_memory_when_it_is_told);
    tcase_add_test(tests, every_carrier_has_a_name);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
