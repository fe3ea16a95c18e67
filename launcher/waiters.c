/*
 * Finds out which rank waits for which, from the activity words of the ranks. These may be torn or
 * nonsense. So they are checked, and only text is made of them.
 */
#include "launcher/waiters.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/set.h"
#include "collectives/agreement/member.h"
#include "collectives/call.h"
#include "node/segment/history.h"
#include "runtime/choice/choice.h"

#define MOST_ROWS 24
#define TRIES     100

#define LAST_OPERATIONS 8

enum place {
    PLACE_ENDED,
    PLACE_OUTSIDE,
    PLACE_NOT_STARTED,
    PLACE_NEVER_JOINED,
    PLACE_WAITS,
    PLACE_BUSY,
    PLACE_CALL,
    PLACE_FINALIZED
};

/* What one rank does. Ranks with the same row are printed together. */
struct row {
    enum place place;
    uint32_t kind, role;
    uint64_t op;
    int waits_for;
    uint32_t waits;
    uint64_t since_ns; /* 0: unknown */
    bool uncertain;
};

static struct row read_activity(struct ftc_slot *slot, int np)
{
    struct ftc_activity *activity = &slot->activity;
    struct row row = {.place = PLACE_BUSY, .uncertain = true};
    for (int i = 0; i < TRIES && row.uncertain; i++) {
        uint32_t before = atomic_load_explicit(&activity->sequence, memory_order_acquire);
        row.kind = atomic_load_explicit(&activity->kind, memory_order_relaxed);
        row.role = atomic_load_explicit(&activity->role, memory_order_relaxed);
        row.op = atomic_load_explicit(&activity->op, memory_order_relaxed);
        row.waits_for = atomic_load_explicit(&activity->waits_for, memory_order_relaxed);
        row.waits = atomic_load_explicit(&activity->waits, memory_order_relaxed);
        row.since_ns = atomic_load_explicit(&activity->since_ns, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        row.uncertain = before % 2 != 0 ||
                        atomic_load_explicit(&activity->sequence, memory_order_relaxed) != before;
    }
    if (row.kind == FTC_CALL_NONE || row.kind >= FTC_CALL_KINDS)
        row.place = PLACE_OUTSIDE;
    else if (row.waits_for >= 0 && row.waits_for < np)
        row.place = PLACE_WAITS;
    return row;
}

static struct row read_row(const struct ftc_ranks *ranks, struct ftc_segment *segment, int rank)
{
    struct ftc_slot *slot = ftc_segment_slot(segment, rank);
    uint32_t phase = atomic_load_explicit(&slot->phase, memory_order_acquire);
    if (ranks->at[rank].ended || ranks->at[rank].failed)
        return (struct row){.place = PLACE_ENDED};
    if (phase == FTC_PHASE_SPAWNED) { /* a rank of another node has the phase that its agent told */
        uint64_t spawned = atomic_load_explicit(&slot->spawned_ns, memory_order_relaxed);
        return (struct row){.place = spawned != 0 ? PLACE_NEVER_JOINED : PLACE_NOT_STARTED,
                            .since_ns = spawned};
    }
    /* Read in this order, so that a call that has ended meanwhile does not count. */
    uint64_t called = atomic_load_explicit(&slot->called, memory_order_acquire);
    uint64_t returned = atomic_load_explicit(&slot->counters.operations, memory_order_acquire);
    struct row row = read_activity(slot, ranks->count);
    if (row.place == PLACE_OUTSIDE && called > returned) { /* it is awake, and shows no more */
        row.place = PLACE_CALL;
        row.op = called - 1;
    }
    if (phase == FTC_PHASE_FINALIZED && row.place == PLACE_OUTSIDE)
        row.place = PLACE_FINALIZED;
    return row;
}

static bool same_row(const struct row *a, const struct row *b)
{
    if (a->place != b->place)
        return false;
    if (a->place == PLACE_CALL)
        return a->op == b->op;
    if (a->place != PLACE_WAITS && a->place != PLACE_BUSY)
        return true;
    return a->kind == b->kind && a->role == b->role && a->op == b->op &&
           a->waits_for == b->waits_for;
}

static double seconds_since(uint64_t since_ns, uint64_t now)
{
    return since_ns == 0 || since_ns > now ? 0 : (double)(now - since_ns) / 1e9;
}

static void describe(const struct row *row, uint64_t longest_since, uint64_t now, char *text,
                     size_t size)
{
    double seconds = seconds_since(longest_since, now);
    const char *doubt = row->uncertain ? " (uncertain)" : "";
    char more[32] = "";
    if (row->waits > 1)
        snprintf(more, sizeof(more), " and %u more", row->waits - 1);
    switch (row->place) {
    case PLACE_ENDED:
        snprintf(text, size, "ended");
        break;
    case PLACE_NOT_STARTED:
        snprintf(text, size, "not started yet");
        break;
    case PLACE_NEVER_JOINED:
        snprintf(text, size, "started %.1f s ago, has not come through ftc_init() yet", seconds);
        break;
    case PLACE_FINALIZED:
        snprintf(text, size, "finalized, still running");
        break;
    case PLACE_OUTSIDE:
        snprintf(text, size, "outside the library for %.1f s%s", seconds, doubt);
        break;
    case PLACE_CALL:
        snprintf(text, size, "in operation %llu for %.1f s%s", (unsigned long long)row->op, seconds,
                 doubt);
        break;
    case PLACE_WAITS:
        snprintf(text, size, "in %s, operation %llu, for %.1f s: waits for rank %d%s (%s)%s",
                 ftc_call_kind_name(row->kind), (unsigned long long)row->op, seconds,
                 row->waits_for, more, ftc_wait_name(row->role), doubt);
        break;
    case PLACE_BUSY:
        snprintf(text, size, "in %s, operation %llu, for %.1f s: waits for no rank%s",
                 ftc_call_kind_name(row->kind), (unsigned long long)row->op, seconds, doubt);
        break;
    }
}

/* Print the group of rows like that of `first`, and mark them as done. */
static void print_group(struct ftc_sink *err, const struct row *rows, bool *done, int np, int first)
{
    struct ftc_set group;
    char list[64], text[256];
    uint64_t longest = rows[first].since_ns, now = ftc_clock_now();
    if (ftc_set_init(&group, np) != FTC_SUCCESS)
        return;
    for (int rank = first; rank < np; rank++) {
        if (done[rank] || !same_row(&rows[first], &rows[rank]))
            continue;
        done[rank] = true;
        ftc_set_add(&group, rank);
        if (rows[rank].since_ns < longest)
            longest = rows[rank].since_ns;
    }
    describe(&rows[first], longest, now, text, sizeof(text));
    ftc_sink_say(err, "  %s %s: %s", ftc_set_count(&group) == 1 ? "rank" : "ranks",
                 ftc_set_format(&group, list, sizeof(list)), text);
    ftc_set_fini(&group);
}

/* The end of the chain of waiting that begins at `rank`: the rank that waits for none. If the chain
 * is a cycle, its lowest rank. */
static int end_of_chain(const struct row *rows, int np, int rank)
{
    int at = rank;
    for (int steps = 0; steps < np && rows[at].place == PLACE_WAITS; steps++)
        at = rows[at].waits_for;
    if (rows[at].place != PLACE_WAITS)
        return at;
    int lowest = at; /* np steps lead into the cycle */
    for (int next = rows[at].waits_for; next != at; next = rows[next].waits_for)
        lowest = next < lowest ? next : lowest;
    return lowest;
}

/* The last operations of a rank. */
static void print_history(struct ftc_sink *err, struct ftc_segment *segment, int rank)
{
    struct ftc_history_operation last[LAST_OPERATIONS];
    struct ftc_history_clock clock;
    char line[FTC_HISTORY_LINE];

    ftc_history_look(&clock, segment);
    int count = ftc_history_last(segment, rank, &clock, last, LAST_OPERATIONS);
    if (count == 0)
        return;
    ftc_sink_say(err, "the last operations of rank %d:", rank);
    ftc_sink_say(err, "  %s", ftc_history_head());
    for (int i = 0; i < count; i++)
        ftc_sink_say(err, "  %s",
                     ftc_history_line(&last[i], ftc_choice_name(last[i].algorithm), &clock,
                                      ftc_segment_header(segment)->started_ns, line));
}

/* Returns the rank for which most of them wait; -1: none waits. *waiter is one that waits for
 * it. */
static int print_culprit(struct ftc_sink *err, const struct row *rows, int np, int *votes,
                         int *waiter)
{
    int best = -1, waiting = 0;
    memset(votes, 0, (size_t)np * sizeof(*votes));
    for (int rank = 0; rank < np; rank++) {
        if (rows[rank].place != PLACE_WAITS)
            continue;
        waiting++;
        int end = end_of_chain(rows, np, rank);
        votes[end]++;
        if (best < 0 || votes[end] > votes[best]) {
            best = end;
            *waiter = rank;
        }
    }
    if (best < 0)
        return best;
    char text[256];
    describe(&rows[best], rows[best].since_ns, ftc_clock_now(), text, sizeof(text));
    ftc_sink_say(err, "%d of the %d waiting ranks finally wait for rank %d: %s%s", votes[best],
                 waiting, best, text,
                 rows[best].place == PLACE_WAITS ? " (they wait for each other)" : "");
    return best;
}

void ftc_waiters_print(struct ftc_sink *err, struct ftc_ranks *ranks, struct ftc_segment *segment)
{
    int np = ranks->count, printed = 0;
    struct row *rows = calloc((size_t)np, sizeof(*rows));
    bool *done = calloc((size_t)np, sizeof(*done));
    int *votes = calloc((size_t)np, sizeof(*votes));
    if (rows != NULL && done != NULL && votes != NULL) {
        for (int rank = 0; rank < np; rank++)
            rows[rank] = read_row(ranks, segment, rank);
        for (int rank = 0; rank < np && printed < MOST_ROWS; rank++) {
            if (!done[rank]) {
                print_group(err, rows, done, np, rank);
                printed++;
            }
        }
        if (printed == MOST_ROWS)
            ftc_sink_say(err, "  ...");
        int waiter = 0, culprit = print_culprit(err, rows, np, votes, &waiter);
        print_history(err, segment, culprit >= 0 ? culprit : 0);
        if (culprit >= 0 && waiter != culprit)
            print_history(err, segment, waiter);
    }
    free(rows);
    free(done);
    free(votes);
}
