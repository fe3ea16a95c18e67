/*
 * Finds out which rank waits for which, from the activity words of the ranks. These may be torn or
 * nonsense. So they are checked, and only text is made of them.
 */
#include "launcher/waiters.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/set.h"
#include "collectives/agreement/member.h"
#include "collectives/call.h"
#include "collectives/frame.h"
#include "node/segment/chain.h"
#include "node/segment/history.h"
#include "runtime/choice/choice.h"

#define MOST_ROWS       24
#define MOST_DEADLOCKS  8
#define TRIES           100
#define LAST_OPERATIONS 8
#define CALL_TEXT       192

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
    uint64_t op, communicator;
    char name[FTC_COMMUNICATOR_NAME]; /* of the communicator */
    struct ftc_chain_message message; /* with a kind: the call is a send or a receive */
    int waits_for;
    uint32_t waits;
    uint64_t since_ns; /* 0: unknown */
    bool uncertain;
};

static struct row read_activity(struct ftc_activity *activity, int np)
{
    struct row row = {.place = PLACE_BUSY, .uncertain = true};
    for (int i = 0; i < TRIES && row.uncertain; i++) {
        uint32_t before = atomic_load_explicit(&activity->sequence, memory_order_acquire);
        row.kind = atomic_load_explicit(&activity->kind, memory_order_relaxed);
        row.role = atomic_load_explicit(&activity->role, memory_order_relaxed);
        row.op = atomic_load_explicit(&activity->op, memory_order_relaxed);
        row.communicator = atomic_load_explicit(&activity->communicator, memory_order_relaxed);
        ftc_chain_communicator(activity, row.communicator, row.name);
        ftc_chain_look(activity, &row.message);
        row.waits_for = atomic_load_explicit(&activity->waits_for, memory_order_relaxed);
        row.waits = atomic_load_explicit(&activity->waits, memory_order_relaxed);
        row.since_ns = atomic_load_explicit(&activity->since_ns, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        row.uncertain = before % 2 != 0 ||
                        atomic_load_explicit(&activity->sequence, memory_order_relaxed) != before;
    }
    if (row.kind == FTC_CALL_NONE || (row.kind >= FTC_CALL_KINDS && row.message.kind == 0))
        row.place = PLACE_OUTSIDE;
    else if (row.waits_for >= 0 && row.waits_for < np)
        row.place = PLACE_WAITS;
    return row;
}

/* Where words of a rank are. */
struct words {
    _Atomic uint64_t *spawned_ns, *called, *operations;
};

/* False: nothing has been told of it. */
static bool find_words(struct ftc_segment *segment, int rank, struct words *words)
{
    if (ftc_segment_is_local(segment, rank)) {
        struct ftc_slot *slot = ftc_segment_slot(segment, rank);
        *words = (struct words){&slot->spawned_ns, &slot->called, &slot->counters.operations};
        return true;
    }
    struct ftc_shown *shown = ftc_segment_shown(segment, rank);
    if (shown != NULL)
        *words = (struct words){&shown->spawned_ns, &shown->called, &shown->operations};
    return shown != NULL;
}

static struct row read_row(const struct ftc_ranks *ranks, struct ftc_segment *segment, int rank)
{
    struct ftc_standing *standing = ftc_segment_standing(segment, rank);
    uint32_t phase = atomic_load_explicit(&standing->phase, memory_order_acquire);
    struct words words;
    if (ranks->at[rank].ended || ranks->at[rank].failed)
        return (struct row){.place = PLACE_ENDED};
    bool told = find_words(segment, rank, &words);
    if (phase == FTC_PHASE_SPAWNED) { /* a rank of another node has the phase that its agent told */
        uint64_t spawned = told ? atomic_load_explicit(words.spawned_ns, memory_order_relaxed) : 0;
        return (struct row){.place = spawned != 0 ? PLACE_NEVER_JOINED : PLACE_NOT_STARTED,
                            .since_ns = spawned};
    }
    if (!told)
        return (struct row){.place = PLACE_OUTSIDE, .uncertain = true};
    /* Read in this order, so that a call that has ended meanwhile does not count. */
    uint64_t called = atomic_load_explicit(words.called, memory_order_acquire);
    uint64_t returned = atomic_load_explicit(words.operations, memory_order_acquire);
    struct row row = read_activity(ftc_segment_activity(segment, rank), ranks->count);
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
           a->communicator == b->communicator && a->waits_for == b->waits_for &&
           a->message.tag == b->message.tag && a->message.bytes == b->message.bytes;
}

static double seconds_since(uint64_t since_ns, uint64_t now)
{
    return since_ns == 0 || since_ns > now ? 0 : (double)(now - since_ns) / 1e9;
}

/* "in allreduce in rows, operation 7," or "in recv from 3, tag 7, 4096 B in rows,". */
static void describe_call(const struct row *row, char text[CALL_TEXT])
{
    char in[48] = "", message[FTC_CHAIN_MESSAGE];
    const char *name = ftc_history_kind_name((int)row->kind);

    if (row->communicator != FTC_COMMUNICATOR_WORLD)
        snprintf(in, sizeof(in), " in %s", row->name);
    if (row->message.kind != 0)
        snprintf(text, CALL_TEXT, "in %s %s%s,", name,
                 ftc_chain_message_words(&row->message, message), in);
    else
        snprintf(text, CALL_TEXT, "in %s%s, operation %llu,", name, in,
                 (unsigned long long)row->op);
}

static void describe(const struct row *row, uint64_t longest_since, uint64_t now, char *text,
                     size_t size)
{
    double seconds = seconds_since(longest_since, now);
    const char *doubt = row->uncertain ? " (uncertain)" : "";
    char more[32] = "", call[CALL_TEXT];
    if (row->waits > 1)
        snprintf(more, sizeof(more), " and %u more", row->waits - 1);
    describe_call(row, call);
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
        snprintf(text, size, "%s for %.1f s: waits for rank %d%s (%s)%s", call, seconds,
                 row->waits_for, more, ftc_wait_name(row->role), doubt);
        break;
    case PLACE_BUSY:
        snprintf(text, size, "%s for %.1f s: waits for %s rank%s", call, seconds,
                 row->message.kind != 0 ? "any" : "no", doubt);
        break;
    }
}

/* Print the group of rows like that of `first`, and mark them as done. */
static void print_group(struct ftc_sink *err, const struct row *rows, bool *done, int np, int first)
{
    struct ftc_set group;
    char list[64], text[384];
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

static bool is_inside(const struct row *row)
{
    return row->place == PLACE_WAITS || row->place == PLACE_BUSY;
}

/* `before` are the rows of a look FTC_CHAIN_PAUSE_NS ago. */
static void make_links(struct ftc_chain_link *links, const struct row *before,
                       const struct row *rows, int np, int nodes)
{
    uint64_t now = ftc_clock_now();

    for (int rank = 0; rank < np; rank++) {
        const struct row *row = &rows[rank];
        uint64_t least = ftc_chain_least_age_ns(np, nodes, row->message.kind != 0);
        bool waits = row->place == PLACE_WAITS;
        bool old = row->since_ns <= now && now - row->since_ns >= least;
        links[rank].next = waits && row->role != FTC_WAIT_REST ? row->waits_for : -1;
        links[rank].passes = row->message.kind != 0;
        links[rank].stands =
            waits && !row->uncertain && same_row(&before[rank], row) && (least == 0 || old);
        links[rank].communicator = is_inside(row) ? row->communicator : 0;
        memcpy(links[rank].name, row->name, sizeof(row->name));
    }
    ftc_chain_follow(links, np);
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
static int print_culprit(struct ftc_sink *err, const struct row *rows,
                         const struct ftc_chain_link *links, int np, int *waiter)
{
    char text[384];
    int best = -1, waiting = 0;

    for (int rank = 0; rank < np; rank++) {
        int end = links[rank].end;
        waiting += end >= 0;
        if (end >= 0 && (best < 0 || links[end].waiters > links[best].waiters)) {
            best = end;
            *waiter = rank;
        }
    }
    if (best < 0)
        return best;
    describe(&rows[best], rows[best].since_ns, ftc_clock_now(), text, sizeof(text));
    ftc_sink_say(err, "%d of the %d waiting ranks finally wait for rank %d: %s%s",
                 links[best].waiters, waiting, best, text,
                 links[best].cycle > 0 ? " (they wait for each other)" : "");
    return best;
}

static void print_deadlocks(struct ftc_sink *err, const struct ftc_chain_link *links, int np)
{
    char words[FTC_CHAIN_TEXT];

    for (int rank = 0, printed = 0; rank < np && printed < MOST_DEADLOCKS; rank++)
        if (links[rank].deadlock) {
            ftc_sink_say(err, "%s", ftc_chain_words(links, rank, words));
            printed++;
        }
}

static void print_rows(struct ftc_sink *err, const struct row *rows, bool *done, int np)
{
    int printed = 0;

    for (int rank = 0; rank < np && printed < MOST_ROWS; rank++) {
        if (done[rank])
            continue;
        print_group(err, rows, done, np, rank);
        printed++;
    }
    if (printed == MOST_ROWS)
        ftc_sink_say(err, "  ...");
}

static void print_chains(struct ftc_sink *err, struct ftc_segment *segment, const struct row *rows,
                         const struct ftc_chain_link *links, int np)
{
    int waiter = 0, culprit = print_culprit(err, rows, links, np, &waiter);

    print_deadlocks(err, links, np);
    print_history(err, segment, culprit >= 0 ? culprit : 0);
    if (culprit >= 0 && waiter != culprit)
        print_history(err, segment, waiter);
}

void ftc_waiters_print(struct ftc_sink *err, struct ftc_ranks *ranks, struct ftc_segment *segment)
{
    int np = ranks->count;
    struct row *before = calloc((size_t)np, sizeof(*before));
    struct row *rows = calloc((size_t)np, sizeof(*rows));
    struct ftc_chain_link *links = calloc((size_t)np, sizeof(*links));
    bool *done = calloc((size_t)np, sizeof(*done));

    if (before != NULL && rows != NULL && links != NULL && done != NULL) {
        for (int rank = 0; rank < np; rank++)
            before[rank] = read_row(ranks, segment, rank);
        (void)nanosleep(&(struct timespec){.tv_nsec = FTC_CHAIN_PAUSE_NS}, NULL);
        for (int rank = 0; rank < np; rank++)
            rows[rank] = read_row(ranks, segment, rank);
        make_links(links, before, rows, np, ftc_segment_nodes(segment));
        print_rows(err, rows, done, np);
        print_chains(err, segment, rows, links, np);
    }
    free(before);
    free(rows);
    free(links);
    free(done);
}
