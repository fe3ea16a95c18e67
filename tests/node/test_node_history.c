/* Tests the histories of ranks: what is recorded of communicators, requests and threads, what a
 * reader finds while it is written, after the death of the writer, and in a damaged history. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "node/segment/history.h"
#include "scratch.h"

#define RANKS 3
#define RANK  1
#define WORLD 1
#define CHILD 0x3000001

static struct scratch_job job;
static struct ftc_history_store store;
static struct ftc_history history; /* of the world */
static char world_name[FTC_COMMUNICATOR_NAME];
static char child_name[FTC_COMMUNICATOR_NAME] = "solvers";
static const struct ftc_signature barrier = {.kind = FTC_CALL_BARRIER};
static const struct ftc_signature sum = {.kind = FTC_CALL_ALLREDUCE, .size = 8};

static void setup(void)
{
    scratch_job_make_as(&job, &(struct ftc_segment_spec){.ranks = RANKS, .history = true});
    ftc_history_init(&store, job.segment, RANK);
    ftc_history_open(&history, &store, WORLD, world_name, false);
}

static void teardown(void)
{
    scratch_job_remove(&job);
}

static void call_in(struct ftc_history *of, const struct ftc_signature *signature, uint64_t number)
{
    of->call = signature;
    ftc_history_call(of, number, true);
}

static void call(const struct ftc_signature *signature, uint64_t number)
{
    call_in(&history, signature, number);
}

static void finish_in(struct ftc_history *of, int status, int failed)
{
    ftc_history_return(of, FTC_HISTORY_OUTCOME(status, 1, failed));
}

static void finish(int status, int failed)
{
    finish_in(&history, status, failed);
}

/* An operation as the board calls it: it may belong to a run. */
static void quick(const struct ftc_signature *signature, uint64_t number)
{
    history.call = signature;
    if (ftc_history_continues(&history, number)) {
        history.call = NULL;
        ftc_history_continued_to(&history, number + 1);
        return;
    }
    ftc_history_call(&history, number, false);
    finish(0, 0);
}

static void start_request(struct ftc_history *request)
{
    ftc_history_open(request, &store, CHILD, child_name, true);
    call_in(request, &sum, FTC_HISTORY_UNNUMBERED);
}

static void end_request(struct ftc_history *request)
{
    finish_in(request, 0, 0);
    ftc_history_close(request);
}

static int last(struct ftc_history_operation *out, int most)
{
    struct ftc_history_clock clock;

    ftc_history_look(&clock, job.segment);
    return ftc_history_last(job.segment, RANK, &clock, out, most);
}

START_TEST(an_operation_is_found_with_its_times_and_outcome)
{
    struct ftc_history_operation found[4];
    uint64_t before = ftc_clock_now();

    call(&sum, 7);
    ftc_history_started(&history);
    ftc_history_waits(&history, 2);
    ftc_history_decided(&history);
    finish(FTC_ERR_CORRUPT, 1);
    ck_assert_int_eq(last(found, 4), 1);
    ck_assert_int_eq(found[0].kind, FTC_CALL_ALLREDUCE);
    ck_assert_uint_eq(found[0].communicator, WORLD);
    ck_assert_uint_eq(found[0].number, 7);
    ck_assert_uint_eq(found[0].size, 8);
    ck_assert_int_eq(found[0].count, 1);
    ck_assert_int_eq(found[0].returned, 1);
    ck_assert_int_eq(found[0].status, FTC_ERR_CORRUPT);
    ck_assert_int_eq(found[0].failed, 1);
    ck_assert_int_eq(found[0].algorithm, 0);
    ck_assert_int_eq(found[0].waits_for, 2);
    /* The counter and the clock are read one after the other, so a millisecond is left. */
    ck_assert_uint_ge(found[0].called_ns + FTC_NS_PER_MS, before);
    ck_assert_uint_ge(found[0].started_ns, found[0].called_ns);
    ck_assert_uint_ge(found[0].waited_ns, found[0].started_ns);
    ck_assert_uint_ge(found[0].decided_ns, found[0].waited_ns);
    ck_assert_uint_ge(found[0].returned_ns, found[0].called_ns);
    ck_assert_uint_le(found[0].returned_ns, ftc_clock_now());
}
END_TEST

START_TEST(an_operation_that_has_not_returned_is_under_way)
{
    struct ftc_history_operation found[4];

    call(&barrier, 0);
    finish(0, 0);
    call(&barrier, 1);
    ftc_history_waits(&history, 0);
    ck_assert_int_eq(last(found, 4), 2);
    ck_assert_int_eq(found[0].returned, 1);
    ck_assert_int_eq(found[1].returned, 0);
    ck_assert(!found[1].closed);
    ck_assert_uint_eq(found[1].returned_ns, 0);
    ck_assert_int_eq(found[1].waits_for, 0);
}
END_TEST

START_TEST(the_ring_has_the_last_ones)
{
    static struct ftc_history_operation found[FTC_HISTORY_MOST];
    uint64_t calls = 3 * FTC_HISTORY_ENTRIES + 5;

    for (uint64_t i = 0; i < calls; i++) {
        call(&barrier, i);
        finish(0, 0);
    }
    ck_assert_int_eq(last(found, (int)FTC_HISTORY_MOST), FTC_HISTORY_ENTRIES + 1);
    for (uint64_t i = 0; i <= FTC_HISTORY_ENTRIES; i++)
        ck_assert_uint_eq(found[i].number, calls - FTC_HISTORY_ENTRIES - 1 + i);
    ck_assert_uint_eq(ftc_history_end(job.segment, RANK), calls - 1);
    ck_assert_int_eq(last(found, 1), 1);
    ck_assert_uint_eq(found[0].number, calls - 1);
}
END_TEST

START_TEST(the_index_of_an_entry_may_wrap_around)
{
    struct ftc_history_operation found[8];

    store.entries = UINT32_MAX / 2 - 2; /* indices have 31 bits */
    for (uint64_t i = 0; i < 8; i++) {
        call(&barrier, i);
        finish(0, 0);
    }
    ck_assert_int_eq(last(found, 8), 8);
    for (uint64_t i = 0; i < 8; i++)
        ck_assert_uint_eq(found[i].number, i);
}
END_TEST

START_TEST(like_operations_without_a_pause_share_entries)
{
    static struct ftc_history_operation found[FTC_HISTORY_MOST];
    uint64_t calls = 4096, next = 0;

    for (uint64_t i = 0; i < calls; i++)
        quick(&sum, i);
    int count = last(found, (int)FTC_HISTORY_MOST);
    ck_assert_int_gt(count, 0);
    next = found[0].number;
    for (int i = 0; i < count; i++) { /* each is counted once */
        ck_assert_uint_eq(found[i].number, next);
        ck_assert_int_ge(found[i].count, 1);
        ck_assert_int_le(found[i].count, FTC_HISTORY_RUN);
        ck_assert_int_eq(found[i].returned, found[i].count);
        next += (uint64_t)found[i].count;
    }
    ck_assert_uint_eq(next, calls);
}
END_TEST

START_TEST(the_lane_tells_how_far_a_run_is)
{
    struct ftc_history_operation found[4];

    call(&barrier, 0);
    finish(0, 0);
    history.called = ftc_clock_ticks(store.counter);
    history.most = FTC_HISTORY_RUN;
    history.call = &sum;
    ftc_history_call(&history, 1, false);
    if (!history.run)
        return; /* the machine stood still: it was a pause */
    ck_assert_int_eq(last(found, 4), 2);
    ck_assert_int_eq(found[1].count, 1);
    ck_assert_int_eq(found[1].returned, 0);
    finish(0, 0);
    ftc_history_continued_to(&history, 5);
    ftc_history_continued(&history, 6);
    ck_assert_int_eq(last(found, 4), 2);
    ck_assert_int_eq(found[1].count, 5);
    ck_assert_int_eq(found[1].returned, 4);
    ck_assert(!found[1].closed);
    ftc_history_continued_to(&history, UINT64_MAX); /* nonsense */
    ck_assert_int_eq(last(found, 4), 2);
    ck_assert_int_eq(found[1].count, FTC_HISTORY_RUN);
}
END_TEST

START_TEST(another_outcome_ends_a_run)
{
    static struct ftc_history_operation found[FTC_HISTORY_MOST];

    call(&sum, 0);
    finish(0, 0);
    for (uint64_t i = 1; i < 40; i++)
        quick(&sum, i);
    call(&sum, 40);
    finish(0, 1);
    int count = last(found, (int)FTC_HISTORY_MOST);
    ck_assert_int_ge(count, 3);
    ck_assert_int_eq(found[count - 1].failed, 1);
    ck_assert_int_eq(found[count - 1].count, 1);
    ck_assert_int_eq(found[count - 2].failed, 0);
    ck_assert(found[count - 2].closed);
    ck_assert_uint_eq(found[count - 2].number + (uint64_t)found[count - 2].count, 40);
}
END_TEST

START_TEST(an_entry_that_is_being_written_is_left_out)
{
    struct ftc_history_operation found[4];
    struct ftc_history_clock clock;

    for (uint64_t i = 0; i < 3; i++) {
        call(&barrier, i);
        finish(0, 0);
    }
    atomic_store(&store.ring[1].sequence, 2);
    ck_assert_int_eq(last(found, 4), 2);
    ck_assert_uint_eq(found[0].number, 0);
    ck_assert_uint_eq(found[1].number, 2);
    ftc_history_look(&clock, job.segment);
    ck_assert_int_eq(ftc_history_read(job.segment, RANK, 1, &clock, found), FTC_HISTORY_NOT_YET);
}
END_TEST

START_TEST(a_writer_that_is_overtaken_by_a_ring_does_not_harm_the_others)
{
    static struct ftc_history_operation found[FTC_HISTORY_MOST];
    uint64_t calls = 2 * FTC_HISTORY_ENTRIES;

    atomic_store(&store.ring[7].sequence, 2); /* it stands still there */
    for (uint64_t i = 0; i < calls; i++) {
        call(&barrier, i);
        finish(0, 0);
    }
    ck_assert_int_eq(last(found, (int)FTC_HISTORY_MOST), FTC_HISTORY_ENTRIES);
    ck_assert_uint_eq(atomic_load(&store.ring[7].sequence), 2);
    store.entries -= 10; /* the other way round: it comes late to places with later entries */
    for (uint64_t i = 0; i < 10; i++) {
        call(&sum, calls + i);
        finish(0, 0);
    }
    ck_assert_uint_eq(ftc_history_end(job.segment, RANK), calls - 1);
}
END_TEST

START_TEST(a_reader_learns_that_an_entry_was_overwritten)
{
    struct ftc_history_operation found;
    struct ftc_history_clock clock;

    for (uint64_t i = 0; i <= FTC_HISTORY_ENTRIES + 1; i++) {
        call(&barrier, i);
        finish(0, 0);
    }
    ftc_history_look(&clock, job.segment);
    ck_assert_int_eq(ftc_history_read(job.segment, RANK, 0, &clock, &found), FTC_HISTORY_LATER);
    ck_assert_int_eq(ftc_history_read(job.segment, RANK, 1, &clock, &found), FTC_HISTORY_FOUND);
    ck_assert_int_eq(ftc_history_read(job.segment, RANK, FTC_HISTORY_ENTRIES + 1, &clock, &found),
                     FTC_HISTORY_NOT_YET);
}
END_TEST

/* --- communicators, requests, threads --- */

START_TEST(two_communicators_are_told_apart)
{
    struct ftc_history child;
    struct ftc_history_operation found[4];

    ftc_history_open(&child, &store, CHILD, child_name, false);
    call(&barrier, 5);
    ftc_history_waits(&history, 2);
    call_in(&child, &sum, 0);
    ftc_history_waits(&child, 0);
    ck_assert_int_eq(last(found, 4), 2); /* both are under way */
    ck_assert_str_eq(found[0].name, "world");
    ck_assert_int_eq(found[0].waits_for, 2);
    ck_assert_str_eq(found[1].name, "solvers");
    ck_assert_uint_eq(found[1].communicator, CHILD);
    ck_assert_int_eq(found[1].waits_for, 0);
    ck_assert(found[0].live && found[1].live && !found[0].closed && !found[1].closed);
    finish_in(&child, 0, 0);
    ftc_history_close(&child);
    ck_assert_int_eq(last(found, 4), 2); /* it is freed, and not forgotten */
    ck_assert_str_eq(found[1].name, "solvers");
    ck_assert(!found[1].live && found[1].closed);
}
END_TEST

START_TEST(requests_end_later_than_newer_calls)
{
    struct ftc_history request[2];
    static struct ftc_history_operation found[FTC_HISTORY_MOST];
    char what[FTC_HISTORY_CALL];

    start_request(&request[0]);
    start_request(&request[1]);
    for (uint64_t i = 0; i < 2 * FTC_HISTORY_ENTRIES; i++) {
        call(&barrier, i);
        finish(0, 0);
    }
    ck_assert_int_eq(last(found, 8), 8); /* they are kept before what has ended */
    ck_assert_str_eq(ftc_history_what(&found[0], what), "iallreduce");
    ck_assert(found[0].request >= 0 && found[1].request >= 0);
    ck_assert_int_ne(found[0].request, found[1].request);
    ck_assert_uint_eq(found[0].number, FTC_HISTORY_UNNUMBERED);
    ck_assert(!found[0].closed && !found[1].closed);
    ck_assert_int_eq(found[2].request, -1);
    ftc_history_number(&request[0], 17);
    ftc_history_started(&request[0]);
    ftc_history_decided(&request[0]);
    end_request(&request[0]);
    ck_assert_int_eq(last(found, (int)FTC_HISTORY_MOST), FTC_HISTORY_ENTRIES + 2);
    ck_assert_uint_eq(found[0].number, 17);
    ck_assert(found[0].closed && !found[0].live);
    ck_assert_uint_ge(found[0].started_ns, found[0].called_ns);
    ck_assert_uint_ge(found[0].returned_ns, found[0].decided_ns);
    ck_assert(!found[1].closed && found[1].live);
    end_request(&request[1]);
}
END_TEST

START_TEST(lanes_are_used_again_and_more_requests_than_lanes_are_legal)
{
    static struct ftc_history request[2 * FTC_HISTORY_LANES];
    static struct ftc_history_operation found[FTC_HISTORY_MOST];
    int lanes = FTC_HISTORY_LANES - FTC_HISTORY_OWN_LANES;

    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 2 * FTC_HISTORY_LANES; i++)
            start_request(&request[i]);
        call(&barrier, 0); /* the communicators have lanes of their own */
        int before = round * (int)(2 * FTC_HISTORY_LANES + 1);
        ck_assert_int_eq(last(found, (int)FTC_HISTORY_MOST), before + lanes + 1);
        finish(0, 0);
        for (unsigned i = 0; i < 2 * FTC_HISTORY_LANES; i++)
            end_request(&request[i]);
    }
    ck_assert_int_eq(last(found, (int)FTC_HISTORY_MOST), FTC_HISTORY_ENTRIES + 1);
    ck_assert_uint_eq(store.lanes, 1);
}
END_TEST

START_TEST(an_entry_that_was_moving_to_the_ring_is_found_once)
{
    struct ftc_history_operation found[4];
    struct ftc_history request;

    start_request(&request);
    struct ftc_history_entry *lane = request.lane;
    uint32_t sequence = atomic_load(&lane->sequence);
    end_request(&request);
    atomic_store(&lane->sequence, sequence); /* as if it was killed between the two */
    ck_assert_int_eq(last(found, 4), 1);
    ck_assert(!found[0].live);
}
END_TEST

#define STRANDS       4
#define STRAND_ROUNDS 4000
#define STRAND_WINDOW 3
static atomic_int strands_left;

static void *record_strand(void *arg)
{
    uint64_t self = (uintptr_t)arg;
    char name[FTC_COMMUNICATOR_NAME];
    struct ftc_history mine, request[STRAND_WINDOW];

    snprintf(name, sizeof(name), "strand %d", (int)self);
    ftc_history_open(&mine, &store, self, name, false);
    for (uint64_t i = 0; i < STRAND_ROUNDS; i++) {
        struct ftc_history *of = &request[i % STRAND_WINDOW];
        if (i >= STRAND_WINDOW)
            end_request(of);
        ftc_history_open(of, &store, self, name, true);
        call_in(of, &sum, i);
        call_in(&mine, &barrier, i);
        ftc_history_waits(&mine, (int)(self % RANKS));
        finish_in(&mine, 0, 0);
    }
    for (int i = 0; i < STRAND_WINDOW; i++)
        end_request(&request[i]);
    ftc_history_close(&mine);
    atomic_fetch_sub(&strands_left, 1);
    return NULL;
}

static void check_strands(void)
{
    static struct ftc_history_operation found[FTC_HISTORY_MOST];
    int count = last(found, (int)FTC_HISTORY_MOST);
    char name[FTC_COMMUNICATOR_NAME];

    for (int i = 0; i < count; i++) {
        const struct ftc_history_operation *one = &found[i];
        snprintf(name, sizeof(name), "strand %d", (int)one->communicator);
        ck_assert_str_eq(one->name, name);
        ck_assert_uint_lt(one->number, STRAND_ROUNDS);
        ck_assert_int_eq(one->kind, one->request >= 0 ? FTC_CALL_ALLREDUCE : FTC_CALL_BARRIER);
        ck_assert_uint_eq(one->size, one->request >= 0 ? 8 : 0);
        ck_assert(one->waits_for == -1 || one->waits_for == (int)(one->communicator % RANKS));
        ck_assert(one->live || one->returned_ns >= one->called_ns);
    }
}

START_TEST(threads_record_at_the_same_time)
{
    pthread_t threads[STRANDS];

    atomic_store(&strands_left, STRANDS);
    store.shared = true;
    for (uintptr_t i = 0; i < STRANDS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, record_strand, (void *)(i + 2)), 0);
    while (atomic_load(&strands_left) > 0)
        check_strands();
    for (int i = 0; i < STRANDS; i++)
        pthread_join(threads[i], NULL);
    check_strands();
    ck_assert_uint_eq(store.lanes, 0);
    ck_assert_uint_eq(store.entries, STRANDS * STRAND_ROUNDS * 2);
}
END_TEST

static int record_for_ever(void *arg)
{
    (void)arg;
    for (uint64_t i = 0;; i++) {
        call(&sum, i);
        ftc_history_waits(&history, (int)(i % RANKS));
        finish(0, 0);
    }
    return 0;
}

/* Whatever the reader finds makes sense, while the writer writes, and after it was killed. */
static void check_all(void)
{
    static struct ftc_history_operation found[FTC_HISTORY_MOST];
    int count = last(found, (int)FTC_HISTORY_MOST);

    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(found[i].kind, FTC_CALL_ALLREDUCE);
        ck_assert_uint_eq(found[i].size, 8);
        ck_assert(found[i].live || found[i].number == found[i].index);
        ck_assert(found[i].waits_for == -1 || found[i].waits_for == (int)(found[i].number % RANKS));
        if (i > 0)
            ck_assert_uint_gt(found[i].number, found[i - 1].number);
    }
}

START_TEST(a_writer_may_be_killed_at_any_moment)
{
    pid_t writer = scratch_fork(record_for_ever, NULL);
    static struct ftc_history_operation found[FTC_HISTORY_MOST];

    while (ftc_history_end(job.segment, RANK) < (uint32_t)(1 + _i * 97) * FTC_HISTORY_ENTRIES)
        check_all();
    kill(writer, SIGKILL);
    ck_assert(WIFSIGNALED(scratch_wait(writer)));
    check_all();
    ck_assert_int_ge(last(found, (int)FTC_HISTORY_MOST), FTC_HISTORY_ENTRIES - 1);
}
END_TEST

START_TEST(nonsense_is_kept_in_range)
{
    static struct ftc_history_operation found[FTC_HISTORY_MOST];
    char line[FTC_HISTORY_LINE];
    struct ftc_history_clock clock;

    for (uint32_t i = 0; i < FTC_HISTORY_MOST; i++) {
        memset((void *)&store.ring[i], 0x80 + _i, sizeof(store.ring[i]));
        atomic_store(&store.ring[i].sequence, 2 * i + 1);
        atomic_store(&store.ring[i].number, i); /* else they are the same one */
    }
    int count = last(found, (int)FTC_HISTORY_MOST);
    ck_assert_int_eq(count, FTC_HISTORY_MOST);
    ftc_history_look(&clock, job.segment);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(found[i].kind, -1);
        ck_assert_int_ge(found[i].waits_for, -1);
        ck_assert_int_lt(found[i].waits_for, RANKS);
        ck_assert_int_le(found[i].failed, RANKS);
        ck_assert_int_ge(found[i].request, -1);
        ck_assert_int_le(found[i].request, FTC_HISTORY_LANES);
        ck_assert_int_ge(found[i].count, 1);
        ck_assert_int_le(found[i].count, FTC_HISTORY_RUN);
        ck_assert_uint_le(found[i].called_ns, clock.now_ns);
        ck_assert_uint_lt(strlen(ftc_history_line(&found[i], NULL, &clock, 0, line)),
                          FTC_HISTORY_LINE);
    }
}
END_TEST

START_TEST(a_job_may_do_without)
{
    struct scratch_job without;
    struct ftc_history_store none;
    struct ftc_history nothing;

    scratch_job_make(&without, 2);
    ftc_history_init(&none, without.segment, 0);
    ftc_history_open(&nothing, &none, WORLD, world_name, false);
    ck_assert_ptr_null(nothing.store);
    ftc_history_waits(&nothing, 1); /* nothing happens */
    ftc_history_close(&nothing);
    ck_assert(!ftc_history_kept(without.segment, 0));
    ck_assert(ftc_history_kept(job.segment, 0));
    scratch_job_remove(&without);
}
END_TEST

/* Only ranks of this node have memory for a history here. */
START_TEST(ranks_of_other_nodes_have_their_histories_elsewhere)
{
    static const struct ftc_node members[] = {{.host = "a", .first = 0, .count = 2},
                                              {.host = "b", .first = 2, .count = 2}};
    struct scratch_job second;
    struct ftc_segment *reader;

    scratch_job_make_as(&second, &(struct ftc_segment_spec){.ranks = 4,
                                                            .node = 1,
                                                            .nodes = 2,
                                                            .cluster = "1.000000",
                                                            .members = members,
                                                            .history = true});
    ck_assert_int_eq(ftc_segment_attach(&reader, second.name, false), 0);
    for (int rank = 0; rank < 4; rank++)
        ck_assert(ftc_history_kept(reader, rank) == (rank >= 2));
    ftc_segment_detach(reader);
    scratch_job_remove(&second);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node_history");
    TCase *tests = tcase_create("history");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, an_operation_is_found_with_its_times_and_outcome);
    tcase_add_test(tests, an_operation_that_has_not_returned_is_under_way);
    tcase_add_test(tests, the_ring_has_the_last_ones);
    tcase_add_test(tests, the_index_of_an_entry_may_wrap_around);
    tcase_add_test(tests, like_operations_without_a_pause_share_entries);
    tcase_add_test(tests, the_lane_tells_how_far_a_run_is);
    tcase_add_test(tests, another_outcome_ends_a_run);
    tcase_add_test(tests, an_entry_that_is_being_written_is_left_out);
    tcase_add_test(tests, a_writer_that_is_overtaken_by_a_ring_does_not_harm_the_others);
    tcase_add_test(tests, a_reader_learns_that_an_entry_was_overwritten);
    tcase_add_test(tests, two_communicators_are_told_apart);
    tcase_add_test(tests, requests_end_later_than_newer_calls);
    tcase_add_test(tests, lanes_are_used_again_and_more_requests_than_lanes_are_legal);
    tcase_add_test(tests, an_entry_that_was_moving_to_the_ring_is_found_once);
    tcase_add_test(tests, threads_record_at_the_same_time);
    tcase_add_loop_test(tests, a_writer_may_be_killed_at_any_moment, 0, 8);
    tcase_add_loop_test(tests, nonsense_is_kept_in_range, 0, 128);
    tcase_add_test(tests, a_job_may_do_without);
    tcase_add_test(tests, ranks_of_other_nodes_have_their_histories_elsewhere);
    suite_add_tcase(suite, tests);
    return scratch_run(suite);
}
