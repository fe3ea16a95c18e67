/* The ranks of another node, in the segment and the table of this node. Their agent may tell things
 * in any order, twice, and late. */
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/wire.h"
#include "launcher/agent/activity.h"
#include "launcher/agent/mirror.h"
#include "launcher/verdict.h"
#include "tests/node/scratch.h"

/* Ranks 0 and 1 are here, ranks 2 to 4 on "beta", rank 5 on "gamma". */
#define RANKS 6
#define BETA  1
#define GAMMA 2

static struct scratch_job job;
static struct ftc_ranks ranks;
static struct ftc_bell bell;
static struct ftc_mirror mirror;

static void setup(void)
{
    static const struct ftc_node members[] = {{.host = "alpha", .count = 2},
                                              {.host = "beta", .first = 2, .count = 3},
                                              {.host = "gamma", .first = 5, .count = 1}};
    static const unsigned char secret[FTC_JOB_SECRET];

    struct ftc_segment_spec spec = {.host = "alpha",
                                    .ranks = RANKS,
                                    .nodes = 3,
                                    .cluster = "1.0",
                                    .secret = secret,
                                    .members = members};
    scratch_job_make_as(&job, &spec);
    ck_assert_int_eq(ftc_ranks_init(&ranks, RANKS), 0);
    ck_assert_int_eq(ftc_bell_open(&bell, job.segment, FTC_BELL_LAUNCHER), 0);
    mirror = (struct ftc_mirror){.segment = job.segment, .ranks = &ranks, .bell = &bell};
}

static void teardown(void)
{
    ftc_bell_close(&bell);
    ftc_ranks_fini(&ranks);
    scratch_job_remove(&job);
}

static struct ftc_slot *slot(int rank)
{
    return ftc_segment_slot(job.segment, rank);
}

static struct ftc_standing *standing(int rank)
{
    return ftc_segment_standing(job.segment, rank);
}

/* What is shown of a rank of another node. */
static struct ftc_shown *shown(int rank)
{
    struct ftc_shown *words;

    ck_assert_int_eq(ftc_segment_show(job.segment, rank, &words), 0);
    return words;
}

static void assert_endpoint(int rank, const char *expected)
{
    char text[FTC_ENDPOINT_SIZE];

    ck_assert(ftc_segment_endpoint(job.segment, rank, text));
    ck_assert_str_eq(text, expected);
}

static void join(int rank, const char *endpoint)
{
    struct ftc_agent_message message = {.kind = FTC_AGENT_JOINED,
                                        .rank = rank,
                                        .value = 100 + rank,
                                        .bytes = (const unsigned char *)endpoint,
                                        .size = strlen(endpoint)};
    ck_assert_int_eq(ftc_mirror_joined(&mirror, &message), 0);
}

static void end(int rank, int status)
{
    struct ftc_agent_message message = {.kind = FTC_AGENT_ENDED,
                                        .number = 1,
                                        .rank = rank,
                                        .value = status},
                             got;
    struct ftc_buffer *buffer = ftc_agent_encode(&message);

    ck_assert_int_eq(ftc_agent_decode(&got, buffer, RANKS), 0);
    ftc_mirror_ended(&mirror, &got);
    ftc_buffer_unref(buffer);
}

static bool notice(int rank)
{
    struct ftc_agent_message message = {.kind = FTC_AGENT_FAILED,
                                        .rank = rank,
                                        .value = 9,
                                        .cause = FTC_CAUSE_SIGNAL,
                                        .seen_by = -1,
                                        .took_ns = 5};
    return ftc_mirror_failed(&mirror, &message);
}

START_TEST(a_rank_elsewhere_looks_like_one_that_is_here)
{
    join(3, "tcp:v1;10.0.0.2;99");
    ck_assert_uint_eq(atomic_load(&standing(3)->phase), FTC_PHASE_JOINED);
    ck_assert_int_eq(atomic_load(&standing(3)->pid), 103);
    assert_endpoint(3, "tcp:v1;10.0.0.2;99");
    ck_assert(ranks.at[3].joined && ranks.any_joined);
    join(3, "tcp:v1;10.9.9.9;1"); /* told twice: the first counts */
    assert_endpoint(3, "tcp:v1;10.0.0.2;99");
    ftc_mirror_marked(&mirror, 3);
    ftc_mirror_marked(&mirror, 3);
    ck_assert_uint_eq(atomic_load(&standing(3)->phase), FTC_PHASE_FINALIZED);
    ck_assert_uint_eq(atomic_load(&ftc_segment_header(job.segment)->finalized), 1);
}
END_TEST

/* At the start of a large job thousands join within one turn of the agent. */
START_TEST(ranks_are_rung_once_for_all_that_have_joined)
{
    join(2, "tcp:v1;10.0.0.2;98");
    join(3, "tcp:v1;10.0.0.2;99");
    ck_assert_uint_eq(atomic_load(&slot(0)->bell), 0);
    for (int i = 0; i < 2; i++) {
        ftc_mirror_ring(&mirror);
        ck_assert_uint_eq(atomic_load(&slot(0)->bell), 1);
        ck_assert_uint_eq(atomic_load(&slot(1)->bell), 1);
    }
    join(4, "tcp:v1;10.0.0.2;97");
    ftc_mirror_ring(&mirror);
    ck_assert_uint_eq(atomic_load(&slot(0)->bell), 2);
}
END_TEST

START_TEST(a_notice_is_declared_once)
{
    uint32_t cursor = 0;

    ck_assert(notice(4));
    ck_assert(!notice(4));
    ck_assert_int_eq(ftc_segment_next_failure(job.segment, &cursor), 4);
    ck_assert_int_eq(ftc_segment_next_failure(job.segment, &cursor), -1);
    ck_assert(ranks.at[4].failed && ranks.at[4].told); /* its own agent prints the failure */
    ck_assert(atomic_load(&standing(4)->declared_ns) - atomic_load(&standing(4)->suspected_ns) ==
              5);
}
END_TEST

/* An agent may have to end its ranks before it hears how the ranks of other nodes have ended. */
START_TEST(a_notice_says_what_the_exit_code_will_be)
{
    struct ftc_verdict verdict = {.ranks = &ranks, .segment = job.segment};

    ck_assert(notice(4));
    ck_assert_int_eq(ftc_verdict_code(&verdict), 128 + SIGKILL);
    end(4, SIGKILL);
    ck_assert_int_eq(ftc_verdict_code(&verdict), 128 + SIGKILL);
}
END_TEST

START_TEST(no_damaged_notice_makes_a_failure_a_success)
{
    struct ftc_verdict verdict = {.ranks = &ranks, .segment = job.segment};
    static const struct {
        enum ftc_failure_cause cause;
        int detail;
    } damaged[] = {{FTC_CAUSE_SIGNAL, 128}, {FTC_CAUSE_SIGNAL, -128}, {FTC_CAUSE_SIGNAL, INT_MAX},
                   {FTC_CAUSE_EXIT, 256},   {FTC_CAUSE_EXIT, -1},     {FTC_CAUSE_EXIT, 0}};

    ck_assert(notice(4));
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        ranks.at[4].failure.cause = damaged[i].cause;
        ranks.at[4].failure.detail = damaged[i].detail;
        ck_assert_int_eq(ftc_verdict_code(&verdict), 1);
    }
}
END_TEST

START_TEST(what_shared_memory_says_of_a_failure_is_not_read_back)
{
    struct ftc_verdict verdict = {.ranks = &ranks, .segment = job.segment};

    ck_assert(notice(4));
    atomic_store(&standing(4)->cause, FTC_CAUSE_EXIT);
    atomic_store(&standing(4)->detail, 0);
    ck_assert_int_eq(ftc_verdict_code(&verdict), 128 + SIGKILL);
}
END_TEST

START_TEST(nothing_of_a_refused_node_is_taken_in)
{
    ftc_mirror_refuse(&mirror, BETA);
    for (int rank = 0; rank < RANKS; rank++)
        ck_assert_uint_eq(atomic_load(&standing(rank)->refused), rank >= 2 && rank <= 4);
    ck_assert_uint_eq(atomic_load(&ftc_segment_node_at(job.segment, BETA)->state),
                      FTC_NODE_REFUSED);
    ck_assert(!ftc_segment_failed(job.segment, 2)); /* a refused rank is not declared failed */
}
END_TEST

START_TEST(with_a_node_fails_whoever_has_not_ended)
{
    ftc_mirror_marked(&mirror, 2);
    end(2, 0);
    ck_assert(notice(3));
    ck_assert_int_eq(ftc_mirror_lost(&mirror, BETA), 1);
    ck_assert(!ftc_segment_failed(job.segment, 2));
    ck_assert_uint_eq(atomic_load(&standing(3)->cause),
                      FTC_CAUSE_SIGNAL); /* the first cause stays */
    ck_assert_uint_eq(atomic_load(&standing(4)->cause), FTC_CAUSE_NODE);
    ck_assert_int_eq(atomic_load(&standing(4)->detail), BETA);
    ck_assert_int_eq(ftc_mirror_lost(&mirror, BETA), 0);
}
END_TEST

/* A node was cut off and kills its ranks. Meanwhile the link heals. */
START_TEST(an_end_without_a_mark_is_a_failure_when_the_node_goes)
{
    end(2, SIGKILL);
    end(3, SIGKILL);
    ck_assert(!ftc_segment_failed(job.segment, 2));
    if (_i == 0)
        ck_assert_int_eq(ftc_mirror_lost(&mirror, BETA), 3);
    else
        ftc_mirror_left(&mirror, BETA);
    for (int rank = 2; rank <= 4; rank++)
        ck_assert(ftc_segment_failed(job.segment, rank));
}
END_TEST

START_TEST(a_job_is_over_when_all_have_ended_anywhere)
{
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert(!ftc_mirror_over(&mirror));
        if (rank < 2)
            ranks.at[rank].ended = true;
        else if (rank < 5)
            end(rank, 0);
    }
    ck_assert(!ftc_mirror_over(&mirror));
    ck_assert_int_eq(ftc_mirror_lost(&mirror, GAMMA), 1);
    ck_assert(ftc_mirror_over(&mirror));
}
END_TEST

START_TEST(outcomes_are_settled_by_marks_ends_and_failures)
{
    ranks.at[0].ended = true;
    atomic_store(&standing(1)->phase, FTC_PHASE_FINALIZED);
    ck_assert(notice(2));
    ftc_mirror_marked(&mirror, 3);
    end(4, 0);
    ck_assert(!ftc_mirror_settled(&mirror));
    join(5, "");
    ck_assert(!ftc_mirror_settled(&mirror));
    ftc_mirror_marked(&mirror, 5);
    ck_assert(ftc_mirror_settled(&mirror));
}
END_TEST

START_TEST(a_node_leaves_the_base_by_agreement_only)
{
    ck_assert_int_eq(ftc_mirror_lost(&mirror, BETA), 3);
    ck_assert(!ftc_mirror_agreed_gone(&mirror, BETA)); /* a known failure is not agreed on yet */
    atomic_store(&ftc_segment_agreed_row(job.segment, 1)[0], 1u << 2 | 1u << 4);
    ck_assert(!ftc_mirror_agreed_gone(&mirror, BETA));
    atomic_store(&ftc_segment_agreed_row(job.segment, 0)[0],
                 1u << 3); /* the rows of two ranks together name all: both are right */
    ck_assert(ftc_mirror_agreed_gone(&mirror, BETA));
    ck_assert(!ftc_mirror_agreed_gone(&mirror, GAMMA));
}
END_TEST

START_TEST(what_a_rank_does_is_seen_elsewhere)
{
    unsigned char bytes[4096];
    struct ftc_activity *here = &slot(1)->activity, *there = &shown(4)->activity;

    atomic_store(&here->kind, 3);
    atomic_store(&here->op, 77);
    atomic_store(&here->since_ns, 1); /* since the machine started */
    atomic_store(&here->waits_for, 2);
    atomic_store(&here->tag, -1);
    atomic_store(&here->bytes, UINT64_C(1) << 40);
    atomic_store(&here->name[0], 0x73776f72); /* "rows" */
    atomic_store(&here->name[3], 9);
    atomic_store(&here->known_failed, 1);
    atomic_store(&slot(1)->spawned_ns, 1);
    atomic_store(&here->unsettled_ns, 2);
    atomic_store(&ftc_segment_known_row(job.segment, 1)[0], 1u << 5);
    size_t size = ftc_agent_activity_write(job.segment, 1, bytes, sizeof(bytes));
    ck_assert_uint_eq(size, ftc_agent_activity_room(RANKS));
    ftc_store_u64(bytes, 4); /* as if it were what rank 4 does */
    ck_assert(ftc_agent_activity_take(job.segment, BETA, bytes, size));
    ck_assert_uint_eq(atomic_load(&there->op), 77);
    ck_assert_int_eq(atomic_load(&there->waits_for), 2);
    ck_assert_int_eq(atomic_load(&there->tag), -1);
    ck_assert_uint_eq(atomic_load(&there->bytes), UINT64_C(1) << 40);
    ck_assert_uint_eq(atomic_load(&there->name[0]), 0x73776f72);
    ck_assert_uint_eq(atomic_load(&there->name[3]), 9);
    ck_assert_uint_le(atomic_load(&there->since_ns), FTC_NS_PER_S);
    ck_assert_uint_ge(atomic_load(&shown(4)->spawned_ns), 1);
    ck_assert_uint_le(atomic_load(&shown(4)->spawned_ns), FTC_NS_PER_S);
    ck_assert_uint_gt(atomic_load(&there->unsettled_ns), 0);
    ck_assert_uint_le(atomic_load(&there->unsettled_ns), FTC_NS_PER_S);
    ck_assert_uint_eq(atomic_load(&there->sequence) % 2, 0);
    ck_assert_uint_eq(atomic_load(&ftc_segment_known_row(job.segment, 4)[0]), 1u << 5);
}
END_TEST

START_TEST(a_malformed_activity_changes_nothing)
{
    unsigned char bytes[4096] = {0};
    size_t size = ftc_agent_activity_write(job.segment, 1, bytes, sizeof(bytes));

    ck_assert(!ftc_agent_activity_take(job.segment, BETA, bytes, size)); /* rank 1 is of ALPHA */
    ftc_store_u64(bytes, UINT64_MAX);
    ck_assert(!ftc_agent_activity_take(job.segment, BETA, bytes, size));
    ftc_store_u64(bytes, 4);
    for (size_t wrong = 0; wrong < size; wrong++)
        ck_assert(!ftc_agent_activity_take(job.segment, BETA, bytes, wrong));
    ck_assert_ptr_null(ftc_segment_shown(job.segment, 4));
}
END_TEST

START_TEST(one_message_tells_what_several_ranks_do)
{
    unsigned char bytes[4096];
    size_t one, size;

    atomic_store(&slot(0)->activity.op, 5);
    atomic_store(&slot(1)->activity.op, 6);
    one = ftc_agent_activity_write(job.segment, 0, bytes, sizeof(bytes));
    size = one + ftc_agent_activity_write(job.segment, 1, bytes + one, sizeof(bytes) - one);
    ftc_store_u64(bytes, 2);
    ftc_store_u64(bytes + one, 4);
    atomic_store(&shown(3)->activity.op, 9);
    ck_assert(ftc_agent_activity_take(job.segment, BETA, bytes, size));
    ck_assert_uint_eq(atomic_load(&shown(2)->activity.op), 5);
    ck_assert_uint_eq(atomic_load(&shown(3)->activity.op), 9);
    ck_assert_uint_eq(atomic_load(&shown(4)->activity.op), 6);
}
END_TEST

START_TEST(a_rank_that_has_ended_stays_as_it_ended)
{
    unsigned char bytes[4096];
    size_t size = ftc_agent_activity_write(job.segment, 1, bytes, sizeof(bytes));

    ftc_store_u64(bytes, 4);
    atomic_store(&shown(4)->activity.op, 7);
    atomic_store(&standing(4)->ended, 1);
    ck_assert(ftc_agent_activity_take(job.segment, BETA, bytes, size));
    ck_assert_uint_eq(atomic_load(&shown(4)->activity.op), 7);
}
END_TEST

START_TEST(a_program_that_never_joins_is_silent_elsewhere_too)
{
    end(5, 0);
    ck_assert(ranks.at[5].silent);
    join(2, "");
    end(2, 0);
    ck_assert(!ranks.at[2].silent);
    end(3, W_EXITCODE(1, 0));
    ck_assert(!ranks.at[3].silent);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mirror");
    TCase *tests = tcase_create("mirror");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_rank_elsewhere_looks_like_one_that_is_here);
    tcase_add_test(tests, ranks_are_rung_once_for_all_that_have_joined);
    tcase_add_test(tests, a_notice_is_declared_once);
    tcase_add_test(tests, a_notice_says_what_the_exit_code_will_be);
    tcase_add_test(tests, no_damaged_notice_makes_a_failure_a_success);
    tcase_add_test(tests, what_shared_memory_says_of_a_failure_is_not_read_back);
    tcase_add_test(tests, nothing_of_a_refused_node_is_taken_in);
    tcase_add_test(tests, with_a_node_fails_whoever_has_not_ended);
    tcase_add_loop_test(tests, an_end_without_a_mark_is_a_failure_when_the_node_goes, 0, 2);
    tcase_add_test(tests, a_job_is_over_when_all_have_ended_anywhere);
    tcase_add_test(tests, outcomes_are_settled_by_marks_ends_and_failures);
    tcase_add_test(tests, a_node_leaves_the_base_by_agreement_only);
    tcase_add_test(tests, what_a_rank_does_is_seen_elsewhere);
    tcase_add_test(tests, a_malformed_activity_changes_nothing);
    tcase_add_test(tests, one_message_tells_what_several_ranks_do);
    tcase_add_test(tests, a_rank_that_has_ended_stays_as_it_ended);
    tcase_add_test(tests, a_program_that_never_joins_is_silent_elsewhere_too);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
