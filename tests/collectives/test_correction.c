/*
 * Corrections on a ring under LogP: the numbers of docs/design/algorithms-notes.md, 2.6. A message
 * costs its receiver L + 2o after its send began. A process that can both receive and send receives
 * first. All processes begin at the same moment.
 */
#include <stdlib.h>

#include "collectives/spread/correction.h"
#include "collectives/spread/topology.h"
#include "tests/random.h"
#include "tests/suite.h"

#define RING     1024 /* positions at most */
#define INBOX    2048
#define PATIENCE 40 /* of `delayed`, and of processes that join */

struct letter {
    int arrives;
    enum ftc_side side; /* where it came from */
    int distance;
};

struct process {
    bool dead, coloured;
    struct ftc_corrector corrector;
    int near[2 * 8];
    int busy; /* busy until this time */
    bool receiving;
    int due;
    struct letter inbox[INBOX];
    int first, last;
    int sent;
};

struct ring {
    struct ftc_correction_shape shape;
    int size, L, o;
    struct process *process;
    int end, sent; /* when the last process ended what it did; messages sent */
};

static void ring_open(struct ring *r, enum ftc_correction kind, int size, int L, int o)
{
    *r =
        (struct ring){.shape = {.kind = kind, .distance = 4, .f = 2}, .size = size, .L = L, .o = o};
    r->process = calloc((size_t)size, sizeof(*r->process));
    ck_assert_ptr_nonnull(r->process);
    for (int p = 0; p < size; p++)
        r->process[p].coloured = true;
}

static void ring_close(struct ring *r)
{
    free(r->process);
}

static void receive(struct ring *r, struct process *p)
{
    struct letter *letter = &p->inbox[p->first++];

    ftc_corrector_heard(&p->corrector, &r->shape, letter->side, letter->distance, true);
    if (!p->coloured) {
        p->coloured = true;
        ftc_corrector_begin(&p->corrector, &r->shape, false);
    }
}

static void post(struct ring *r, int from, enum ftc_side side, int distance, int now)
{
    int to = ((side == FTC_SIDE_RIGHT ? from + distance : from - distance) + r->size) % r->size;
    struct process *p = &r->process[to];

    r->sent++;
    r->process[from].sent++;
    if (p->dead)
        return;
    if (p->last == INBOX) /* a ck_assert here would take most of the time */
        ck_abort_msg("%d messages for one process", INBOX);
    p->inbox[p->last++] = (struct letter){
        now + r->o + r->L, side == FTC_SIDE_RIGHT ? FTC_SIDE_LEFT : FTC_SIDE_RIGHT, distance};
}

/* Does what a process that is free at this moment does next. */
static void act(struct ring *r, int position, int now)
{
    struct process *p = &r->process[position];
    enum ftc_side side;
    int distance;

    if (p->due == 0 && ftc_corrector_awaits(&p->corrector))
        p->due = now + PATIENCE;
    if (p->due == now)
        ftc_corrector_due(&p->corrector, &r->shape);
    if (p->first < p->last && p->inbox[p->first].arrives <= now) {
        p->receiving = true;
        p->busy = now + r->o;
        return;
    }
    if (!ftc_corrector_wants(&p->corrector))
        return;
    enum ftc_correction_step step = ftc_corrector_next(&p->corrector, &r->shape, &side, &distance);
    if (step == FTC_CORRECTION_SEND)
        post(r, position, side, distance, now);
    if (step == FTC_CORRECTION_SEND || step == FTC_CORRECTION_SLOT)
        p->busy = now + r->o;
}

/* Returns whether anything can still happen. */
static bool pending(const struct ring *r, int now)
{
    for (int i = 0; i < r->size; i++) {
        const struct process *p = &r->process[i];
        if (!p->dead && (p->busy >= now || p->first < p->last ||
                         ftc_corrector_wants(&p->corrector) || ftc_corrector_awaits(&p->corrector)))
            return true;
    }
    return false;
}

static void run(struct ring *r)
{
    for (int i = 0; i < r->size; i++) {
        struct process *p = &r->process[i];
        ftc_corrector_reset(&p->corrector, &r->shape, i, r->size, p->near);
        if (p->coloured && !p->dead)
            ftc_corrector_begin(&p->corrector, &r->shape, true);
    }
    for (int now = 0; pending(r, now); now++) {
        if (now == 100 * r->size)
            ck_abort_msg("no end after %d units", now);
        for (int i = 0; i < r->size; i++) {
            struct process *p = &r->process[i];
            if (p->receiving && p->busy == now) {
                p->receiving = false;
                receive(r, p);
            }
            if (p->busy == now && now > 0)
                r->end = now;
        }
        for (int i = 0; i < r->size; i++)
            if (!r->process[i].dead && r->process[i].busy <= now)
                act(r, i, now);
    }
}

static bool all_coloured(const struct ring *r)
{
    for (int i = 0; i < r->size; i++)
        if (!r->process[i].dead && !r->process[i].coloured)
            return false;
    return true;
}

/* --- checked --- */

static const struct {
    int L, o, duration[7], beyond,
        slope; /* duration[g] is for a gap of gaps[g]; for large gaps it is slope * G + beyond */
} vectors[] = {
    {1, 1, {4, 8, 9, 10, 11, 15, 23}, 7, 1},
    {2, 1, {6, 8, 11, 12, 13, 17, 25}, 9, 1},
    {4, 1, {10, 12, 14, 17, 19, 23, 31}, 15, 1},
    {3, 2, {12, 15, 21, 23, 25, 33, 49}, 17, 2},
};
#define VECTORS (int)(sizeof(vectors) / sizeof(vectors[0]))
static const int gaps[7] = {0, 1, 2, 3, 4, 8, 16};

static int duration_with_gap(enum ftc_correction kind, int L, int o, int gap, bool dead, int *sent)
{
    struct ring r;

    ring_open(&r, kind, 256, L, o);
    for (int i = 0; i < gap; i++) {
        r.process[100 + i].coloured = false;
        r.process[100 + i].dead = dead;
    }
    run(&r);
    ck_assert_msg(all_coloured(&r), "a gap of %d was not closed", gap);
    *sent = r.sent;
    ring_close(&r);
    return r.end;
}

START_TEST(checked_without_failures_costs_what_the_formula_says)
{
    int L = vectors[_i].L, o = vectors[_i].o, sent;
    int each = 1 + (L + o - 1) / o;

    ck_assert_int_eq(duration_with_gap(FTC_CORRECTION_CHECKED, L, o, 0, false, &sent),
                     2 * o * each);
    ck_assert_int_eq(sent, 256 * each);
}
END_TEST

START_TEST(checked_closes_a_gap_in_the_time_of_the_table)
{
    int L = vectors[_i].L, o = vectors[_i].o, sent;

    for (int g = 0; g < 7; g++)
        for (int dead = 0; dead < 2; dead++)
            ck_assert_int_eq(duration_with_gap(FTC_CORRECTION_CHECKED, L, o, gaps[g], dead, &sent),
                             vectors[_i].duration[g]);
    for (int gap = 20; gap <= 100; gap += 40)
        ck_assert_int_eq(duration_with_gap(FTC_CORRECTION_CHECKED, L, o, gap, false, &sent),
                         vectors[_i].slope * gap + vectors[_i].beyond);
}
END_TEST

/* "Extra messages in total: about 2G + 3." */
START_TEST(checked_closes_a_gap_with_few_messages_more)
{
    int none, sent;

    duration_with_gap(FTC_CORRECTION_CHECKED, 2, 1, 0, false, &none);
    for (int gap = 8; gap <= 64; gap *= 2) {
        duration_with_gap(FTC_CORRECTION_CHECKED, 2, 1, gap, false, &sent);
        int extra = sent - none + gap * (none / 256); /* processes in the gap send none */
        printf("gap %d: %d messages more\n", gap, extra);
        ck_assert_int_ge(extra, 2 * gap);
        ck_assert_int_le(extra, 2 * gap + 12);
    }
}
END_TEST

START_TEST(throttled_sends_no_more_than_checked_and_closes_every_gap)
{
    for (int gap = 0; gap <= 32; gap += 4) {
        int checked, throttled;
        duration_with_gap(FTC_CORRECTION_CHECKED, 2, 1, gap, true, &checked);
        duration_with_gap(FTC_CORRECTION_THROTTLED, 2, 1, gap, true, &throttled);
        ck_assert_int_le(throttled, checked);
    }
}
END_TEST

/* --- the others --- */

START_TEST(opportunistic_sends_d_messages_each_and_returns_at_once)
{
    struct ring r;

    ring_open(&r, FTC_CORRECTION_OPPORTUNISTIC, 64, 2, 1);
    r.shape.distance = 5;
    run(&r);
    for (int i = 0; i < r.size; i++)
        ck_assert_int_eq(r.process[i].sent, 5);
    /* the last message is sent at time 4 or later, among 5 received ones */
    ck_assert_int_ge(r.end, 5 + 2 + 1);
    ck_assert_int_le(r.end, 2 * 5 + 2);
    ring_close(&r);
}
END_TEST

START_TEST(opportunistic_closes_gaps_up_to_its_distance)
{
    for (int d = 1; d <= 9; d++) {
        struct ring r;
        ring_open(&r, (enum ftc_correction)_i, 64, 2, 1);
        r.shape.distance = d;
        for (int i = 0; i < d; i++)
            r.process[20 + i].coloured = false;
        run(&r);
        ck_assert_msg(all_coloured(&r), "d = %d", d);
        ring_close(&r);
    }
}
END_TEST

START_TEST(optimised_sends_less)
{
    int plain, optimised;
    struct ring r;

    for (int d = 6; d <= 16; d += 2) {
        ring_open(&r, FTC_CORRECTION_OPPORTUNISTIC, 64, 1, 1);
        r.shape.distance = d;
        run(&r);
        plain = r.sent;
        ring_close(&r);
        ring_open(&r, FTC_CORRECTION_OPTIMISED, 64, 1, 1);
        r.shape.distance = d;
        run(&r);
        optimised = r.sent;
        ring_close(&r);
        printf("d = %d: %d messages, optimised %d\n", d, plain, optimised);
        ck_assert_int_lt(optimised, plain);
    }
}
END_TEST

START_TEST(delayed_sends_one_message_each_without_failures)
{
    int sent;

    duration_with_gap(FTC_CORRECTION_DELAYED, 2, 1, 0, false, &sent);
    ck_assert_int_eq(sent, 256);
}
END_TEST

START_TEST(delayed_closes_every_gap)
{
    for (int gap = 1; gap <= 60; gap += 7)
        for (int dead = 0; dead < 2; dead++) {
            int sent;
            duration_with_gap(FTC_CORRECTION_DELAYED, 2, 1, gap, dead, &sent);
            ck_assert_int_ge(sent, 256 - gap + gap);
        }
}
END_TEST

START_TEST(failure_proof_meets_f_and_one_more)
{
    for (int f = 0; f <= 3; f++) {
        struct ring r;
        ring_open(&r, FTC_CORRECTION_FAILURE_PROOF, 64, 2, 1);
        r.shape.f = f;
        run(&r);
        for (int i = 0; i < r.size; i++)
            ck_assert_int_ge(r.process[i].sent, 2 * (f + 1) < 3 ? 3 : 2 * (f + 1));
        printf("f = %d: %.2f messages each, %d units\n", f, r.sent / 64.0, r.end);
        ring_close(&r);
    }
}
END_TEST

START_TEST(the_ring_ends_before_the_coordinator)
{
    struct ring r;

    ring_open(&r, FTC_CORRECTION_RING, 64, 2, 1);
    run(&r);
    ck_assert_int_eq(r.sent, 63);
    ck_assert_int_eq(r.process[63].sent, 0);
    ring_close(&r);
}
END_TEST

START_TEST(the_ring_passes_a_value_round_from_whoever_has_it)
{
    struct ring r;

    ring_open(&r, FTC_CORRECTION_RING, 64, 2, 1);
    for (int i = 1; i < r.size; i++)
        r.process[i].coloured = false;
    run(&r);
    ck_assert(all_coloured(&r));
    ck_assert_int_eq(r.end, 63 * (2 + 2 * 1));
    ring_close(&r);
}
END_TEST

/* --- trees with failures: gaps and durations, as means over random sets --- */

static void colour_subtree(struct ring *r, const struct ftc_tree_shape *tree, int position)
{
    if (r->process[position].dead)
        return;
    r->process[position].coloured = true;
    for (int c = 0;; c++) {
        int child = ftc_topology_broadcast_child(tree, r->size, position, c);
        if (child < 0)
            return;
        colour_subtree(r, tree, child);
    }
}

static int largest_gap(const struct ring *r)
{
    int gap = 0, largest = 0;

    for (int i = 0; i < r->size; i++) {
        gap = r->process[i].coloured ? 0 : gap + 1;
        largest = gap > largest ? gap : largest;
    }
    return largest;
}

static const struct {
    struct ftc_tree_shape tree;
    int failures;
    double gap, duration;
} corrected[] = {
    {{FTC_TREE_BINOMIAL, 0}, 1, 1.0, 8.0},   {{FTC_TREE_BINOMIAL, 0}, 5, 1.2, 8.7},
    {{FTC_TREE_BINOMIAL, 0}, 20, 2.3, 11.2}, {{FTC_TREE_BINOMIAL, 0}, 51, 4.1, 13.7},
    {{FTC_TREE_KARY, 4}, 5, 1.1, 8.3},       {{FTC_TREE_KARY, 4}, 51, 3.6, 13.3},
    {{FTC_TREE_LAME, 4}, 1, 1.0, 8.0},       {{FTC_TREE_LAME, 4}, 20, 1.8, 10.3},
    {{FTC_TREE_LAME, 4}, 51, 3.0, 12.1},
};
#define CORRECTED (int)(sizeof(corrected) / sizeof(corrected[0]))

START_TEST(a_corrected_tree_loses_little_time_to_failures)
{
    const int sets = 30;
    double gap = 0, duration = 0;
    struct test_random random = {1};

    for (int set = 0; set < sets; set++) {
        struct ring r;
        ring_open(&r, FTC_CORRECTION_CHECKED, RING, 2, 1);
        for (int i = 0; i < r.size; i++)
            r.process[i].coloured = false;
        for (int killed = 0; killed < corrected[_i].failures;) {
            struct process *p = &r.process[test_random_between(&random, 1, RING - 1)];
            killed += !p->dead;
            p->dead = true;
        }
        colour_subtree(&r, &corrected[_i].tree, 0);
        gap += largest_gap(&r) / (double)sets;
        run(&r);
        ck_assert(all_coloured(&r));
        duration += r.end / (double)sets;
        ring_close(&r);
    }
    printf("%d failures: gap %.2f (%.1f), duration %.2f (%.1f)\n", corrected[_i].failures, gap,
           corrected[_i].gap, duration, corrected[_i].duration);
    /* means over 30 sets: the paper's and ours */
    ck_assert_double_ge(gap, 0.75 * corrected[_i].gap);
    ck_assert_double_le(gap, 1.3 * corrected[_i].gap);
    ck_assert_double_ge(duration, 0.92 * corrected[_i].duration);
    ck_assert_double_le(duration, 1.08 * corrected[_i].duration);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("correction");
    TCase *checked = tcase_create("checked"), *others = tcase_create("others"),
          *trees = tcase_create("trees");

    tcase_add_loop_test(checked, checked_without_failures_costs_what_the_formula_says, 0, VECTORS);
    tcase_add_loop_test(checked, checked_closes_a_gap_in_the_time_of_the_table, 0, VECTORS);
    tcase_add_test(checked, checked_closes_a_gap_with_few_messages_more);
    tcase_add_test(checked, throttled_sends_no_more_than_checked_and_closes_every_gap);
    suite_add_tcase(suite, checked);
    tcase_add_test(others, opportunistic_sends_d_messages_each_and_returns_at_once);
    tcase_add_loop_test(others, opportunistic_closes_gaps_up_to_its_distance,
                        FTC_CORRECTION_OPPORTUNISTIC, FTC_CORRECTION_OPTIMISED + 1);
    tcase_add_test(others, optimised_sends_less);
    tcase_add_test(others, delayed_sends_one_message_each_without_failures);
    tcase_add_test(others, delayed_closes_every_gap);
    tcase_add_test(others, failure_proof_meets_f_and_one_more);
    tcase_add_test(others, the_ring_ends_before_the_coordinator);
    tcase_add_test(others, the_ring_passes_a_value_round_from_whoever_has_it);
    suite_add_tcase(suite, others);
    tcase_add_loop_test(trees, a_corrected_tree_loses_little_time_to_failures, 0, CORRECTED);
    tcase_set_timeout(trees, 300);
    suite_add_tcase(suite, trees);
    return test_suite_run(suite);
}
