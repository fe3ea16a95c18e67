/*
 * The failure log. Only the launcher writes it. If the launcher dies at any line, readers find a
 * log that ends earlier.
 *
 * A rank can damage the log, as it can every word of the segment. So the launcher decides by a log
 * of its own, which it never reads back from shared memory, and writes damaged words again. A
 * reader believes no entry or flag that does not carry its check.
 */
#include "node/segment/internal.h"

#define RANK_BITS 17
#define RESTORED  4096u /* ranks and entries that one call restores */
/* 2^64 over the golden ratio: its multiples have mixed upper bits. */
#define GOLDEN 0x9e3779b97f4a7c15ull

_Static_assert(FTC_NODE_MAX_RANKS < 1 << RANK_BITS, "a rank + 1 fits below the check");

const char *ftc_failure_cause_name(enum ftc_failure_cause cause)
{
    static const char *const names[FTC_CAUSES] = {
        [FTC_CAUSE_NONE] = "none",       [FTC_CAUSE_SIGNAL] = "signal",
        [FTC_CAUSE_EXIT] = "exit",       [FTC_CAUSE_STALLED] = "stalled",
        [FTC_CAUSE_STOPPED] = "stopped", [FTC_CAUSE_ACCUSED] = "accused",
        [FTC_CAUSE_DRILL] = "drill",     [FTC_CAUSE_LAUNCH] = "launch",
        [FTC_CAUSE_NODE] = "node",
    };
    return (unsigned)cause < FTC_CAUSES ? names[cause] : "unknown";
}

static _Atomic uint32_t *failure_log(struct ftc_segment *segment)
{
    return (_Atomic uint32_t *)(void *)(segment->base + segment->layout.log_offset);
}

/* The word for entry `index` of the log if it names `rank`. The flag in a standing has the form of
 * entry 0. */
static uint32_t checked(uint32_t index, uint32_t rank)
{
    uint64_t mixed = ((uint64_t)index << 32 | (rank + 1)) * GOLDEN;

    return (uint32_t)(mixed >> (32 + RANK_BITS)) << RANK_BITS | (rank + 1);
}

/* Write a word only if it is wrong, because the ranks read these cache lines all the time. */
static void put(_Atomic uint32_t *word, uint32_t right)
{
    if (atomic_load_explicit(word, memory_order_relaxed) != right)
        atomic_store_explicit(word, right, memory_order_release);
}

/* The entries `from` to `end` - 1, as far as there are any, and the length. */
static void publish_log(struct ftc_segment *segment, uint32_t from, uint32_t end)
{
    const struct ftc_declared *own = &segment->declared;

    for (uint32_t i = from; i < end && i < own->count; i++)
        put(&failure_log(segment)[i], checked(i, own->log[i]));
    /* Pairs with ftc_segment_next_failure(). A launcher that is killed before this line leaves a
     * log that ends earlier. */
    put(&ftc_segment_header(segment)->failures, own->count);
}

static void fill(struct ftc_standing *standing, const struct ftc_failure *failure)
{
    atomic_store_explicit(&standing->cause, (uint16_t)failure->cause, memory_order_relaxed);
    atomic_store_explicit(&standing->detail, failure->detail, memory_order_relaxed);
    atomic_store_explicit(&standing->seen_by, failure->seen_by, memory_order_relaxed);
    atomic_store_explicit(&standing->suspected_ns, failure->suspected_ns, memory_order_relaxed);
    atomic_store_explicit(&standing->declared_ns, failure->declared_ns, memory_order_relaxed);
}

void ftc_segment_declare(struct ftc_segment *segment, int rank, const struct ftc_failure *failure)
{
    struct ftc_declared *own = &segment->declared;

    if (own->has[rank])
        return;
    fill(ftc_segment_standing(segment, rank), failure);
    /* Pairs with ftc_segment_failed(): a reader that sees the flag sees the fields. */
    put(&ftc_segment_standing(segment, rank)->failed, checked(0, (uint32_t)rank));
    own->has[rank] = true;
    own->log[own->count++] = (uint32_t)rank;
    publish_log(segment, own->count - 1, own->count);
}

void ftc_segment_restore_failures(struct ftc_segment *segment)
{
    struct ftc_declared *own = &segment->declared;
    uint32_t from = own->next, end = from + RESTORED;

    for (uint32_t rank = from; rank < end && rank < segment->layout.ranks; rank++)
        put(&ftc_segment_standing(segment, (int)rank)->failed,
            own->has[rank] ? checked(0, rank) : 0);
    publish_log(segment, from, end);
    own->next = end < segment->layout.ranks ? end : 0;
}

int ftc_segment_next_failure(struct ftc_segment *segment, uint32_t *cursor)
{
    uint32_t entries =
        atomic_load_explicit(&ftc_segment_header(segment)->failures, memory_order_acquire);

    if (*cursor >= entries || *cursor >= segment->layout.ranks)
        return -1;
    uint32_t entry = atomic_load_explicit(&failure_log(segment)[*cursor], memory_order_acquire);
    uint32_t rank = (entry & ((1u << RANK_BITS) - 1)) - 1;
    if (rank >= segment->layout.ranks || entry != checked(*cursor, rank))
        return -1; /* the entry is damaged, and the launcher will restore it */
    ++*cursor;
    return (int)rank;
}

bool ftc_segment_failed(struct ftc_segment *segment, int rank)
{
    return atomic_load_explicit(&ftc_segment_standing(segment, rank)->failed,
                                memory_order_acquire) == checked(0, (uint32_t)rank);
}
