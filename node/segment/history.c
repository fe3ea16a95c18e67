/* The flight recorder. All words of an entry are atomic, and the rank is their only writer, so
 * relaxed stores between the two changes of the sequence are enough. */
#include "node/segment/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collectives/communicators/number.h"
#include "node/segment/internal.h"

#define STORE(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)
#define LOAD(field)         atomic_load_explicit(&(field), memory_order_relaxed)


/* Operations follow each other without a pause if one begins at most so many ticks after the one
 * before: about a microsecond. */
#define CLOSE_TICKS 4096

_Static_assert(sizeof(struct ftc_history_entry) == 64, "an entry is one cache line");

static struct ftc_history_entry *ring_of(struct ftc_segment *segment, int rank)
{
    return segment->history != FTC_HISTORY_OFF && ftc_segment_is_local(segment, rank)
               ? (struct ftc_history_entry *)(void *)(segment->base +
                                                      segment->layout.history_offset) +
                     (size_t)rank * FTC_HISTORY_ENTRIES
               : NULL;
}

static bool uses_counter(const struct ftc_segment *segment)
{
    return segment->history == FTC_HISTORY_COUNTER;
}

/* --- writing --- */

void ftc_history_init(struct ftc_history *history, struct ftc_segment *segment, int rank)
{
    *history =
        (struct ftc_history){.ring = ring_of(segment, rank), .counter = uses_counter(segment)};
}

static uint32_t offset(const struct ftc_history *history)
{
    uint64_t units = (ftc_clock_ticks(history->counter) - history->called) >> FTC_HISTORY_SHIFT;

    return units == 0 ? 1 : units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

/* Fill in the next entry with what `history` says of it. */
FTC_HOT static void begin_entry(struct ftc_history *history)
{
    struct ftc_history_entry *entry = &history->ring[history->entries % FTC_HISTORY_ENTRIES];

    STORE(entry->sequence, 0);
    atomic_thread_fence(memory_order_release); /* pairs with the acquire fence in copy() */
    STORE(entry->called, history->called);
    STORE(entry->returned, 0);
    STORE(entry->communicator, history->communicator);
    STORE(entry->number, history->number);
    STORE(entry->size, history->size);
    STORE(entry->started, 0);
    STORE(entry->decided, 0);
    STORE(entry->waited, 0);
    STORE(entry->outcome, history->outcome);
    STORE(entry->waits_for, 0);
    STORE(entry->kind, history->kind);
    STORE(entry->count, history->most == 1);
    atomic_store_explicit(&entry->sequence, 2 * history->entries + 1, memory_order_release);
    history->entries++;
    history->open = entry;
    history->run = history->most == 1 ? NULL : entry;
}

/* The call `number` is not part of the run. Returns how many operations the last entry has. */
FTC_HOT static uint32_t end_run(struct ftc_history *history, uint64_t number)
{
    uint64_t count = number - history->number;

    if (history->run == NULL)
        return 1;
    history->run = NULL;
    count = count < 1 ? 1 : count < history->most ? count : history->most;
    atomic_store_explicit(&history->ring[(history->entries - 1) % FTC_HISTORY_ENTRIES].count,
                          (uint8_t)count, memory_order_release);
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

FTC_HOT void ftc_history_call(struct ftc_history *history, uint64_t communicator, uint64_t number,
                              bool timed)
{
    uint64_t now = ftc_clock_ticks(history->counter);
    uint32_t count = end_run(history, number);

    history->most = timed || history->entries == 0 ? 1 : next_most(history, count, now);
    history->timed = history->most == 1;
    history->called = now;
    history->communicator = communicator;
    history->number = number;
    history->size = history->call->size;
    history->kind = history->call->kind;
    history->call = NULL;
    begin_entry(history);
}

FTC_HOT void ftc_history_return(struct ftc_history *history, uint32_t outcome)
{
    struct ftc_history_entry *entry = history->open;

    history->open = NULL;
    if (outcome != history->outcome) { /* the run would have the same */
        history->outcome = outcome;
        history->timed = true;
        history->most = 1;
        (void)end_run(history, history->number + 1);
        STORE(entry->outcome, outcome);
    }
    if (history->timed)
        atomic_store_explicit(&entry->returned, ftc_clock_ticks(history->counter),
                              memory_order_release);
    history->timed = false;
}

void ftc_history_started(struct ftc_history *history)
{
    if (history->open != NULL)
        STORE(history->open->started, offset(history));
}

void ftc_history_decided(struct ftc_history *history)
{
    if (history->open != NULL)
        STORE(history->open->decided, offset(history));
}

void ftc_history_waits(struct ftc_history *history, int rank)
{
    struct ftc_history_entry *entry = history->open;

    if (entry == NULL)
        return;
    history->timed = true; /* the first of a run, which has slept */
    history->most = 1;
    (void)end_run(history, history->number + 1);
    if (rank < 0 || LOAD(entry->waits_for) == rank + 1)
        return;
    STORE(entry->waited, offset(history));
    atomic_store_explicit(&entry->waits_for, (uint16_t)(rank + 1), memory_order_release);
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

static uint64_t later(const struct ftc_history_clock *clock, uint64_t called, uint32_t units)
{
    return units == 0 ? 0 : time_of(clock, called + ((uint64_t)units << FTC_HISTORY_SHIFT));
}

/* The counters of the slot say how far a run is that goes on. They are of the world. */
static void look_run(struct ftc_slot *slot, struct ftc_history_operation *out)
{
    uint64_t called = atomic_load_explicit(&slot->called, memory_order_acquire);
    uint64_t count = called - out->number;
    bool within = called > out->number && count <= FTC_HISTORY_RUN;

    out->count = within ? (int)count : called > out->number ? (int)FTC_HISTORY_RUN : 1;
    out->returned = out->count - (within && called > LOAD(slot->counters.operations));
}

/* Copy the entry. Returns its sequence, or 0 if it is torn. */
static uint32_t copy(struct ftc_segment *segment, int rank, uint32_t place,
                     const struct ftc_history_clock *clock, struct ftc_history_operation *out)
{
    const struct ftc_history_entry *entry = &ring_of(segment, rank)[place];
    uint32_t sequence = atomic_load_explicit(&entry->sequence, memory_order_acquire);
    uint64_t returned = atomic_load_explicit(&entry->returned, memory_order_acquire);
    int waits_for = atomic_load_explicit(&entry->waits_for, memory_order_acquire) - 1;
    int count = atomic_load_explicit(&entry->count, memory_order_acquire);
    uint64_t called = LOAD(entry->called);
    uint32_t outcome = LOAD(entry->outcome);
    int ranks = ftc_segment_ranks(segment), kind = LOAD(entry->kind);
    int failed = (int)(outcome >> 16);
    bool waits = waits_for >= 0 && waits_for < ranks;

    count = count < (int)FTC_HISTORY_RUN ? count : (int)FTC_HISTORY_RUN;
    *out = (struct ftc_history_operation){
        .index = sequence >> 1,
        .communicator = LOAD(entry->communicator),
        .number = LOAD(entry->number),
        .size = LOAD(entry->size),
        .kind = kind > FTC_CALL_NONE && kind < FTC_CALL_KINDS ? kind : -1,
        .count = count,
        .returned = count > 1 ? count : returned != 0,
        .closed = count > 1 || returned != 0,
        .called_ns = time_of(clock, called),
        .returned_ns = returned != 0 ? time_of(clock, returned) : 0,
        .started_ns = later(clock, called, LOAD(entry->started)),
        .decided_ns = later(clock, called, LOAD(entry->decided)),
        .waits_for = waits ? waits_for : -1,
        .waited_ns = waits ? later(clock, called, LOAD(entry->waited)) : 0,
        .algorithm = (int)(outcome >> 8 & 0xff) - 1,
        .status = (int8_t)(outcome & 0xff),
        .failed = failed < ranks ? failed : ranks,
    };
    if (count == 0)
        look_run(ftc_segment_slot(segment, rank), out);
    atomic_thread_fence(memory_order_acquire);
    return sequence % 2 != 0 && LOAD(entry->sequence) == sequence &&
                   (count != 0 || LOAD(entry->count) == 0)
               ? sequence
               : 0;
}

/* The same, but an entry whose run has ended meanwhile is copied again. A run of one operation that
 * has a newer entry behind it has returned, though no time was taken. */
static uint32_t copy_whole(struct ftc_segment *segment, int rank, uint32_t place,
                           const struct ftc_history_clock *clock, struct ftc_history_operation *out)
{
    uint32_t sequence = copy(segment, rank, place, clock, out);

    if (sequence == 0)
        sequence = copy(segment, rank, place, clock, out);
    uint32_t next = (sequence >> 1) + 1;
    if (sequence != 0 && !out->closed &&
        LOAD(ring_of(segment, rank)[next % FTC_HISTORY_ENTRIES].sequence) == 2 * next + 1) {
        out->returned = out->count;
        out->closed = true;
    }
    return sequence;
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

int ftc_history_last(struct ftc_segment *segment, int rank, const struct ftc_history_clock *clock,
                     struct ftc_history_operation *out, int most)
{
    uint32_t end = ftc_history_end(segment, rank);
    int count = 0;

    if (!ftc_history_kept(segment, rank))
        return 0;
    for (uint32_t index = end - (uint32_t)most; index != end; index++)
        if (ftc_history_read(segment, rank, index, clock, &out[count]) == FTC_HISTORY_FOUND)
            count++;
    return count;
}

/* --- text --- */

const char *ftc_history_communicator(uint64_t number, char text[24])
{
    uint64_t count = (number & (FTC_COMMUNICATOR_REVOKED - 1)) >> FTC_COMMUNICATOR_MAKER_BITS;
    unsigned maker = number & ((1u << FTC_COMMUNICATOR_MAKER_BITS) - 1);

    if (ftc_communicator_is_temporary(number))
        return "a group";
    if (count == 0 && maker == FTC_COMMUNICATOR_WORLD)
        return "world";
    snprintf(text, 24, "%" PRIu64 ".%u", count, maker);
    return text;
}

const char *ftc_history_head(void)
{
    return "OPERATION                IN        BYTES ALGORITHM   CALLED AT s  STARTED ms  DECIDED "
           "ms  "
           "RETURNED ms  WAITED FOR         RESULT";
}

/* Milliseconds from `from` to `to`, or "-". */
static void span(uint64_t from_ns, uint64_t to_ns, char text[24])
{
    snprintf(text, 24, "-");
    if (to_ns != 0)
        snprintf(text, 24, "%.4f", ((double)to_ns - (double)from_ns) / 1e6);
}

static void words_of_wait(const struct ftc_history_operation *operation, uint64_t now_ns,
                          char text[40])
{
    uint64_t end = operation->returned_ns != 0 ? operation->returned_ns : now_ns;
    bool known = operation->waited_ns != 0 && end >= operation->waited_ns;

    snprintf(text, 40, "-");
    if (operation->waits_for >= 0 && known)
        snprintf(text, 40, "%d, %.3f ms", operation->waits_for,
                 (double)(end - operation->waited_ns) / 1e6);
    else if (operation->waits_for >= 0)
        snprintf(text, 40, "%d", operation->waits_for);
}

static void words_of_result(const struct ftc_history_operation *operation, char text[64])
{
    char under_way[32] = "";

    if (operation->returned < operation->count)
        snprintf(under_way, sizeof(under_way), "%s%s", operation->returned > 0 ? ", then " : "",
                 "under way");
    if (operation->returned == 0)
        snprintf(text, 64, "%s", under_way);
    else if (operation->status != 0)
        snprintf(text, 64, "error %d, %d failed%s", operation->status, operation->failed,
                 under_way);
    else if (operation->failed > 0)
        snprintf(text, 64, "ok, %d failed%s", operation->failed, under_way);
    else
        snprintf(text, 64, "ok%s", under_way);
}

char *ftc_history_line(const struct ftc_history_operation *operation, const char *algorithm,
                       const struct ftc_history_clock *clock, uint64_t origin_ns,
                       char text[FTC_HISTORY_LINE])
{
    char what[64], number[24], times[3][24], waited[40], result[64];
    const char *kind = operation->kind < 0 ? "?" : ftc_call_kind_name(operation->kind);

    if (operation->count > 1)
        snprintf(what, sizeof(what), "%s %" PRIu64 "-%" PRIu64, kind, operation->number,
                 operation->number + (uint64_t)operation->count - 1);
    else
        snprintf(what, sizeof(what), "%s %" PRIu64, kind, operation->number);
    span(operation->called_ns, operation->started_ns, times[0]);
    span(operation->called_ns, operation->decided_ns, times[1]);
    span(operation->called_ns, operation->returned_ns, times[2]);
    if (operation->returned == operation->count && operation->returned_ns == 0)
        snprintf(times[2], sizeof(times[2]), "soon");
    words_of_wait(operation, clock->now_ns, waited);
    words_of_result(operation, result);
    snprintf(text, FTC_HISTORY_LINE, "%-24s %-5s %9" PRIu64 " %-9s %13.6f %11s %11s %12s  %-18s %s",
             what, ftc_history_communicator(operation->communicator, number), operation->size,
             algorithm != NULL ? algorithm : "-",
             ((double)operation->called_ns - (double)origin_ns) / 1e9, times[0], times[1], times[2],
             waited, result);
    return text;
}
