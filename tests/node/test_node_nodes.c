/* Tests the table of nodes in a segment: which rank is where, and what a damaged table may not
 * do. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "node/jobs.h"
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
    ck_assert_int_eq(ftc_jobs_new(job.name, job.directory, &job.lock), 0);
    struct ftc_segment_spec spec = spec_of(members);
    ck_assert_msg(ftc_segment_create(&job.segment, &spec) == 0, "%s", ftc_last_error());
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

START_TEST(a_rank_that_attaches_finds_nodes_endpoints_and_secret)
{
    struct ftc_segment *other;
    int count;

    snprintf(ftc_segment_endpoint(job.segment, RANKS - 1), FTC_ENDPOINT_SIZE, "tcp:v1;10.0.0.1;99");
    ck_assert_int_eq(ftc_segment_attach(&other, job.name, true), 0);
    ck_assert_int_eq(ftc_segment_nodes(other), NODES);
    ck_assert_int_eq(ftc_segment_local(other, &count), 4);
    ck_assert_str_eq(ftc_segment_endpoint(other, RANKS - 1), "tcp:v1;10.0.0.1;99");
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
    ck_assert_ptr_null(ftc_segment_endpoint(single.segment, 0));
    ck_assert_str_eq(ftc_segment_node_at(single.segment, 0)->host, "testhost");
    ck_assert_str_eq(ftc_segment_header(single.segment)->cluster, single.name);
    ck_assert_uint_eq(atomic_load(&ftc_segment_header(single.segment)->lease_ns), UINT64_MAX);
    scratch_job_remove(&single);
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

START_TEST(nodes_without_ranks_cannot_be_asked_for)
{
    struct ftc_layout layout;

    ck_assert_int_eq(ftc_layout_compute(&layout, 3, 4, false, 1), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_layout_compute(&layout, 3, 0, false, 1), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_layout_compute(&layout, 4096, FTC_NODE_MAX_NODES + 1, false, 1),
                     FTC_ERR_ARG);
    ck_assert_int_eq(ftc_layout_compute(&layout, 4096, FTC_NODE_MAX_NODES, false, 1), 0);
    ck_assert_uint_eq(layout.log_offset - layout.endpoints_offset, 4096ull * FTC_ENDPOINT_SIZE);
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
    snprintf(ftc_segment_endpoint(single.segment, 1), FTC_ENDPOINT_SIZE, "tcp:v1;127.0.0.1;9");
    ck_assert_int_eq(ftc_segment_attach(&other, single.name, true), 0);
    ck_assert_str_eq(ftc_segment_endpoint(other, 1), "tcp:v1;127.0.0.1;9");
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
    tcase_add_test(tests, every_carrier_has_a_name);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
