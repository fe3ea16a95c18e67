/* The flight recorder. All words of an entry are atomic, and it has one writer at a time, so
 * relaxed stores between the two changes of the sequence are enough. */
#include "node/segment/history.h"

#include <stdlib.h>
#include <string.h>

#include "node/segment/internal.h"

#define STORE(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)
#define LOAD(field)         atomic_load_explicit(&(field), memory_order_relaxed)

/* Operations follow each other without a pause if one begins at most so many ticks after the one
 * before: about a microsecond. */
#define CLOSE_TICKS 4096

#define WRITING    2u /* a sequence: a writer has claimed the entry */
#define NAME_WORDS (FTC_COMMUNICATOR_NAME / 8)

_Static_assert(sizeof(struct ftc_history_entry) == 128, "an entry is two cache lines");
_Static_assert(FTC_HISTORY_LANES == 64, "a word has a bit for each lane");

static struct ftc_history_entry *ring_of(struct ftc_segment *segment, int rank)
{
    return segment->history != FTC_HISTORY_OFF && ftc_segment_is_local(segment, rank)
               ? (struct ftc_history_entry *)(void *)(segment->base +
                                                      segment->layout.history_offset) +
                     ftc_segment_place(segment, rank) * FTC_HISTORY_MOST
               : NULL;
}

static bool uses_counter(const struct ftc_segment *segment)
{
    return segment->history == FTC_HISTORY_COUNTER;
}

/* --- writing --- */

void ftc_history_init(struct ftc_history_store *store, struct ftc_segment *segment, int rank)
{
    *store = (struct ftc_history_store){.ring = ring_of(segment, rank),
                                        .counter = uses_counter(segment)};
}

void ftc_history_open(struct ftc_history *history, struct ftc_history_store *store,
                      uint64_t communicator, const char *name, bool request)
{
    *history = (struct ftc_history){.store = store->ring != NULL ? store : NULL,
                                    .communicator = communicator,
                                    .name = name,
                                    .request = request};
}

static void take_lane(struct ftc_history *history)
{
    struct ftc_history_store *store = history->store;
    uint64_t usable = history->request ? UINT64_MAX << FTC_HISTORY_OWN_LANES : UINT64_MAX;
    uint64_t taken = LOAD(store->lanes), lane;

    do {
        lane = ~taken & usable & -(~taken & usable); /* the lowest that is free */
        if (lane == 0) {
            history->lane = &history->spare;
            return;
        }
    } while (!atomic_compare_exchange_weak_explicit(&store->lanes, &taken, taken | lane,
                                                    memory_order_acquire, memory_order_relaxed));
    history->lane = &store->ring[FTC_HISTORY_ENTRIES + (unsigned)__builtin_ctzll(lane)];
}

static unsigned lane_of(const struct ftc_history *history)
{
    return history->lane == &history->spare
               ? FTC_HISTORY_LANES
               : (unsigned)(history->lane - history->store->ring) - FTC_HISTORY_ENTRIES;
}

static uint32_t offset(const struct ftc_history *history)
{
    uint64_t units =
        (ftc_clock_ticks(history->store->counter) - history->called) >> FTC_HISTORY_SHIFT;

    return units == 0 ? 1 : units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

static uint32_t next_index(struct ftc_history_store *store)
{
    uint32_t index = LOAD(store->entries);

    if (LOAD(store->shared))
        return atomic_fetch_add_explicit(&store->entries, 1, memory_order_relaxed);
    STORE(store->entries, index + 1);
    return index;
}

/* False: a thread that stands still is writing there, or this one was overtaken by a whole ring. */
static bool claim(struct ftc_history_entry *place, uint32_t sequence, bool shared)
{
    uint32_t found = LOAD(place->sequence);

    if (found == WRITING || (found != 0 && (int32_t)(found - sequence) > 0))
        return false;
    if (shared)
        return atomic_compare_exchange_strong_explicit(&place->sequence, &found, WRITING,
                                                       memory_order_acquire, memory_order_relaxed);
    STORE(place->sequence, WRITING);
    return true;
}

/* Copy the entry of the lane into the ring. It has ended `until` then at the latest. */
FTC_HOT static void put_in_ring(struct ftc_history_store *store,
                                const struct ftc_history_entry *from, uint64_t until)
{
    uint32_t index = next_index(store);
    struct ftc_history_entry *to = &store->ring[index % FTC_HISTORY_ENTRIES];

    if (!claim(to, 2 * index + 1, LOAD(store->shared)))
        return;
    atomic_thread_fence(memory_order_release); /* pairs with the acquire fence in copy() */
    STORE(to->called, LOAD(from->called));
    STORE(to->returned, LOAD(from->returned));
    STORE(to->until, until);
    STORE(to->communicator, LOAD(from->communicator));
    STORE(to->number, LOAD(from->number));
    STORE(to->size, LOAD(from->size));
    for (size_t i = 0; i < NAME_WORDS; i++)
        STORE(to->name[i], LOAD(from->name[i]));
    STORE(to->started, LOAD(from->started));
    STORE(to->decided, LOAD(from->decided));
    STORE(to->waited, LOAD(from->waited));
    STORE(to->outcome, LOAD(from->outcome));
    STORE(to->waits_for, LOAD(from->waits_for));
    STORE(to->kind, LOAD(from->kind));
    STORE(to->count, LOAD(from->count));
    STORE(to->request, LOAD(from->request));
    atomic_store_explicit(&to->sequence, 2 * index + 1, memory_order_release);
}

/* Fill in the lane with what `history` says. */
FTC_HOT static void begin_entry(struct ftc_history *history)
{
    struct ftc_history_entry *entry = history->lane;
    uint64_t name[NAME_WORDS];

    memcpy(name, history->name, sizeof(name));
    STORE(entry->sequence, WRITING);
    atomic_thread_fence(memory_order_release);
    STORE(entry->called, history->called);
    STORE(entry->returned, 0);
    STORE(entry->communicator, history->communicator);
    STORE(entry->number, history->number);
    STORE(entry->size, history->size);
    STORE(entry->calls, history->number + 1);
    STORE(entry->returns, history->number);
    for (size_t i = 0; i < NAME_WORDS; i++)
        STORE(entry->name[i], name[i]);
    STORE(entry->started, 0);
    STORE(entry->decided, 0);
    STORE(entry->waited, 0);
    STORE(entry->outcome, history->outcome);
    STORE(entry->waits_for, 0);
    STORE(entry->kind, history->kind);
    STORE(entry->count, history->most == 1);
    STORE(entry->request, history->request ? lane_of(history) + 1 : 0);
    /* Two entries of a lane have different times, or different numbers. */
    atomic_store_explicit(&entry->sequence, 2 * (uint32_t)(history->called + history->number) + 1,
                          memory_order_release);
    history->open = true;
    history->run = history->most > 1;
}

/* The call `number` is not part of the run. Returns how many operations the entry has. */
FTC_HOT static uint32_t end_run(struct ftc_history *history, uint64_t number)
{
    if (!history->run)
        return history->joined > 0 ? history->joined : 1;
    if (number == FTC_HISTORY_UNNUMBERED) /* it comes after the last return */
        number = LOAD(history->lane->returns);
    uint64_t count = number - history->number;
    history->run = false;
    count = count < 1 ? 1 : count < history->most ? count : history->most;
    atomic_store_explicit(&history->lane->count, (uint8_t)count, memory_order_release);
    return (uint32_t)count;
}

/* How many operations the next entry may hold: one, unless those of the last entry followed each
 * other without a pause. The number grows by and by, since a pause within a run is not seen. */
FTC_HOT static uint32_t next_most(const struct ftc_history *history, uint32_t count, uint64_t now)
{
    if (now - history->called > (uint64_t)CLOSE_TICKS * count)
        return 1;
    return history->most < FTC_HISTORY_RUN / 2 ? 2 * history->most : FTC_HISTORY_RUN;
}

FTC_HOT void ftc_history_call(struct ftc_history *history, uint64_t number, bool timed)
{
    uint64_t now = ftc_clock_ticks(history->store->counter);
    bool first = history->called == 0;
    uint32_t count =
        end_run(history, history->request ? history->number + history->joined : number);

    if (history->lane == NULL)
        take_lane(history);
    else
        put_in_ring(history->store, history->lane, now);
    history->most = timed || first ? 1 : next_most(history, count, now);
    history->timed = history->most == 1;
    history->called = now;
    history->number = number;
    history->size = history->call->size;
    history->kind = history->call->kind;
    history->call = NULL;
    history->joined = history->left = history->request;
    begin_entry(history);
}

FTC_HOT void ftc_history_return(struct ftc_history *history, uint32_t outcome)
{
    struct ftc_history_entry *entry = history->lane;

    if (!history->open)
        return;
    history->open = false;
    if (outcome != history->outcome) { /* the run would have the same */
        history->outcome = outcome;
        history->timed = true;
        history->most = 1;
        (void)end_run(history, history->number + 1);
        STORE(entry->outcome, outcome);
    }
    STORE(entry->returns, history->number + 1);
    if (history->timed)
        atomic_store_explicit(&entry->returned, ftc_clock_ticks(history->store->counter),
                              memory_order_release);
    history->timed = false;
}

/* --- requests that share an entry --- */

FTC_HOT bool ftc_history_join(struct ftc_history *history, const struct ftc_signature *signature,
                              uint64_t number)
{
    struct ftc_history_entry *entry = history->lane;

    if (number - history->number != history->joined || history->joined >= history->most ||
        history->kind != signature->kind || history->size != signature->size || entry == NULL)
        return false;
    if (history->left == 0)
        STORE(entry->returned, 0);
    history->open = true;
    history->joined++;
    history->left++;
    STORE(entry->calls, number + 1);
    return true;
}

void ftc_history_follow(struct ftc_history *history, const struct ftc_history *before)
{
    history->called = before->called;
    history->most = before->most;
    history->joined = before->joined;
}

/* Those that were given to their callers had the outcome before. They go to the ring, and the
 * others get an entry of their own. */
static void split(struct ftc_history *history)
{
    struct ftc_history_entry *entry = history->lane;
    uint32_t given = history->joined - history->left;

    atomic_store_explicit(&entry->count, (uint8_t)given, memory_order_release);
    put_in_ring(history->store, entry, ftc_clock_ticks(history->store->counter));
    history->number += given;
    history->joined = history->most = history->left;
    begin_entry(history);
    STORE(entry->calls, history->number + history->joined);
}

FTC_HOT bool ftc_history_leave(struct ftc_history *history, uint32_t outcome)
{
    struct ftc_history_entry *entry = history->lane;

    if (!history->open)
        return false;
    if (outcome != history->outcome) {
        if (history->left < history->joined)
            split(history);
        history->outcome = outcome;
        STORE(entry->outcome, outcome);
    }
    STORE(entry->returns, LOAD(entry->returns) + 1);
    if (--history->left > 0)
        return false;
    history->open = false;
    atomic_store_explicit(&entry->returned, ftc_clock_ticks(history->store->counter),
                          memory_order_release);
    return true;
}

/* --- the end --- */

void ftc_history_close(struct ftc_history *history)
{
    struct ftc_history_entry *lane = history->lane;

    if (lane == NULL)
        return;
    if (!history->open) {
        (void)end_run(history, LOAD(lane->returns));
        put_in_ring(history->store, lane, ftc_clock_ticks(history->store->counter));
    }
    history->lane = NULL;
    history->open = false;
    if (lane == &history->spare)
        return;
    atomic_store_explicit(&lane->sequence, 0, memory_order_release); /* after the ring has it */
    atomic_fetch_and_explicit(
        &history->store->lanes,
        ~(UINT64_C(1) << (unsigned)(lane - history->store->ring - FTC_HISTORY_ENTRIES)),
        memory_order_release);
}

void ftc_history_number(struct ftc_history *history, uint64_t number)
{
    if (!history->open || history->number != FTC_HISTORY_UNNUMBERED)
        return;
    history->number = number;
    STORE(history->lane->number, number);
}

void ftc_history_started(struct ftc_history *history)
{
    if (history->open && LOAD(history->lane->started) == 0)
        STORE(history->lane->started, offset(history));
}

void ftc_history_decided(struct ftc_history *history)
{
    if (history->open)
        STORE(history->lane->decided, offset(history));
}

void ftc_history_ended(struct ftc_history *history, uint32_t outcome)
{
    if (!history->open)
        return;
    history->outcome = outcome;
    STORE(history->lane->outcome, outcome);
}

void ftc_history_waits(struct ftc_history *history, int rank)
{
    struct ftc_history_entry *entry = history->lane;

    if (!history->open)
        return;
    if (history->request) {
        history->most = history->joined; /* no other joins */
    } else {
        history->timed = true; /* the first of a run, which has slept */
        history->most = 1;
        (void)end_run(history, history->number + 1);
    }
    if (rank < 0 || LOAD(entry->waits_for) == (uint32_t)rank + 1)
        return;
    STORE(entry->waited, offset(history));
    atomic_store_explicit(&entry->waits_for, (uint32_t)(rank + 1), memory_order_release);
}

/* --- reading --- */

void ftc_history_look(struct ftc_history_clock *clock, struct ftc_segment *segment)
{
    const struct ftc_segment_header *header = ftc_segment_header(segment);
    bool counter = uses_counter(segment);
    uint64_t started_ticks = header->started_ticks, started_ns = header->started_ns;

    *clock = (struct ftc_history_clock){
        .now_ns = ftc_clock_now(), .now_ticks = ftc_clock_ticks(counter), .ns_per_tick = 1};
    if (counter && clock->now_ticks > started_ticks && clock->now_ns > started_ns)
        clock->ns_per_tick =
            (double)(clock->now_ns - started_ns) / (double)(clock->now_ticks - started_ticks);
}

/* What is later than the look happened during it, or makes no sense. What is too early for the
 * clock makes no sense. */
static uint64_t time_of(const struct ftc_history_clock *clock, uint64_t ticks)
{
    if (ticks >= clock->now_ticks)
        return clock->now_ns;
    double ago = (double)(clock->now_ticks - ticks) * clock->ns_per_tick;
    return ago < (double)clock->now_ns ? clock->now_ns - (uint64_t)ago : 0;
}

static uint64_t time_or_none(const struct ftc_history_clock *clock, uint64_t ticks)
{
    return ticks != 0 ? time_of(clock, ticks) : 0;
}

static uint64_t later(const struct ftc_history_clock *clock, uint64_t called, uint32_t units)
{
    return units == 0 ? 0 : time_of(clock, called + ((uint64_t)units << FTC_HISTORY_SHIFT));
}

/* The counters of the lane say how far a run is that goes on. */
static void look_run(const struct ftc_history_entry *entry, struct ftc_history_operation *out)
{
    uint64_t returns = LOAD(entry->returns), calls = LOAD(entry->calls);

    calls = calls > returns ? calls : returns;
    uint64_t count = calls - out->number;
    bool within = calls > out->number && count <= FTC_HISTORY_RUN;

    out->count = within ? (int)count : calls > out->number ? (int)FTC_HISTORY_RUN : 1;
    out->returned = out->count;
    if (within && calls > returns)
        out->returned = returns > out->number ? (int)(returns - out->number) : 0;
    out->closed = false;
}

/* Copy the entry. Returns its sequence, or 0 if it is torn or unused. */
static uint32_t copy(const struct ftc_history_entry *entry, int ranks, bool live,
                     const struct ftc_history_clock *clock, struct ftc_history_operation *out)
{
    uint32_t sequence = atomic_load_explicit(&entry->sequence, memory_order_acquire);
    uint64_t returned = atomic_load_explicit(&entry->returned, memory_order_acquire);
    int waits_for = (int)(atomic_load_explicit(&entry->waits_for, memory_order_acquire) - 1);
    int count = atomic_load_explicit(&entry->count, memory_order_acquire);
    uint64_t called = LOAD(entry->called);
    uint32_t outcome = LOAD(entry->outcome), request = LOAD(entry->request);
    int kind = LOAD(entry->kind), failed = (int)(outcome >> 16);
    bool waits = waits_for >= 0 && waits_for < ranks;

    count = count < (int)FTC_HISTORY_RUN ? count : (int)FTC_HISTORY_RUN;
    count = count == 0 && !live ? 1 : count; /* nonsense */
    *out = (struct ftc_history_operation){
        .index = sequence >> 1,
        .live = live,
        .request = request <= FTC_HISTORY_LANES + 1 ? (int)request - 1 : (int)FTC_HISTORY_LANES,
        .communicator = LOAD(entry->communicator),
        .number = LOAD(entry->number),
        .size = LOAD(entry->size),
        .kind = kind > FTC_CALL_NONE && kind < FTC_HISTORY_KINDS ? kind : -1,
        .count = count,
        .returned = !live || count > 1 ? count : returned != 0,
        .closed = !live || count > 1 || returned != 0,
        .called_ns = time_of(clock, called),
        .returned_ns = time_or_none(clock, returned),
        .until_ns = live ? 0 : time_or_none(clock, LOAD(entry->until)),
        .started_ns = later(clock, called, LOAD(entry->started)),
        .decided_ns = later(clock, called, LOAD(entry->decided)),
        .waits_for = waits ? waits_for : -1,
        .waited_ns = waits ? later(clock, called, LOAD(entry->waited)) : 0,
        .algorithm = (int)(outcome >> 8 & 0xff) - 1,
        .status = (int8_t)(outcome & 0xff),
        .failed = failed < ranks ? failed : ranks,
    };
    ftc_history_name(entry->name, out->communicator, out->name);
    if (count == 0)
        look_run(entry, out);
    atomic_thread_fence(memory_order_acquire);
    return sequence % 2 != 0 && LOAD(entry->sequence) == sequence &&
                   (count != 0 || LOAD(entry->count) == 0)
               ? sequence
               : 0;
}

/* The same, but an entry that has changed meanwhile is copied again. */
static uint32_t copy_whole(struct ftc_segment *segment, int rank, uint32_t place,
                           const struct ftc_history_clock *clock, struct ftc_history_operation *out)
{
    const struct ftc_history_entry *entry = &ring_of(segment, rank)[place];
    int ranks = ftc_segment_ranks(segment);
    bool live = place >= FTC_HISTORY_ENTRIES;
    uint32_t sequence = copy(entry, ranks, live, clock, out);

    return sequence != 0 ? sequence : copy(entry, ranks, live, clock, out);
}

bool ftc_history_kept(struct ftc_segment *segment, int rank)
{
    return ring_of(segment, rank) != NULL;
}

enum ftc_history_found ftc_history_read(struct ftc_segment *segment, int rank, uint32_t index,
                                        const struct ftc_history_clock *clock,
                                        struct ftc_history_operation *out)
{
    uint32_t wanted = 2 * index + 1;
    uint32_t found = copy_whole(segment, rank, index % FTC_HISTORY_ENTRIES, clock, out);

    if (found == wanted)
        return FTC_HISTORY_FOUND;
    return found != 0 && (int32_t)(found - wanted) > 0 ? FTC_HISTORY_LATER : FTC_HISTORY_NOT_YET;
}

/* Sequences wrap around, but those in a ring are close. */
uint32_t ftc_history_end(struct ftc_segment *segment, int rank)
{
    const struct ftc_history_entry *ring = ring_of(segment, rank);
    uint32_t newest = 0;

    for (unsigned i = 0; ring != NULL && i < FTC_HISTORY_ENTRIES; i++) {
        uint32_t sequence = LOAD(ring[i].sequence);
        if (sequence % 2 != 0 && (newest == 0 || (int32_t)(sequence - newest) > 0))
            newest = sequence;
    }
    return newest == 0 ? 0 : (newest >> 1) + 1;
}

static int read_lanes(struct ftc_segment *segment, int rank, const struct ftc_history_clock *clock,
                      struct ftc_history_operation out[FTC_HISTORY_LANES])
{
    int count = 0;

    for (uint32_t lane = 0; lane < FTC_HISTORY_LANES; lane++)
        count += copy_whole(segment, rank, FTC_HISTORY_ENTRIES + lane, clock, &out[count]) != 0;
    return count;
}

/* An entry is in the ring before it leaves its lane. */
static bool has(const struct ftc_history_operation *operations, int count,
                const struct ftc_history_operation *one)
{
    for (int i = 0; i < count; i++)
        if (operations[i].called_ns == one->called_ns && operations[i].number == one->number &&
            operations[i].communicator == one->communicator)
            return true;
    return false;
}

/* Put one in, or put it in place of the oldest one that has ended. Returns how many there are. */
static int add(struct ftc_history_operation *out, int count, int most,
               const struct ftc_history_operation *one)
{
    int oldest = -1;

    if (count < most) {
        out[count] = *one;
        return count + 1;
    }
    for (int i = 0; i < count; i++)
        if (out[i].closed && (oldest < 0 || out[i].called_ns < out[oldest].called_ns))
            oldest = i;
    if (oldest >= 0 && (!one->closed || one->called_ns > out[oldest].called_ns))
        out[oldest] = *one;
    return count;
}

static int by_call(const void *a, const void *b)
{
    const struct ftc_history_operation *one = a, *other = b;

    if (one->called_ns != other->called_ns)
        return one->called_ns < other->called_ns ? -1 : 1;
    return (one->number > other->number) - (one->number < other->number);
}

/* The lanes are read first, so that an entry is not missed that moves to the ring meanwhile. */
int ftc_history_last(struct ftc_segment *segment, int rank, const struct ftc_history_clock *clock,
                     struct ftc_history_operation *out, int most)
{
    struct ftc_history_operation live[FTC_HISTORY_LANES];
    int ended = most < (int)FTC_HISTORY_ENTRIES ? most : (int)FTC_HISTORY_ENTRIES, count = 0;

    if (!ftc_history_kept(segment, rank))
        return 0;
    int lanes = read_lanes(segment, rank, clock, live);
    uint32_t end = ftc_history_end(segment, rank);
    for (uint32_t index = end - (uint32_t)ended; index != end; index++)
        if (ftc_history_read(segment, rank, index, clock, &out[count]) == FTC_HISTORY_FOUND)
            count++;
    ended = count;
    for (int i = 0; i < lanes; i++)
        if (!has(out, ended, &live[i]))
            count = add(out, count, most, &live[i]);
    qsort(out, (size_t)count, sizeof(*out), by_call);
    return count;
}
