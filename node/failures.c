/* The failure log: one writer, the launcher; what a reader meets after a death at any line is a log that ends earlier. */
#include "node/segment_inside.h"

const char *ftc_failure_cause_name(enum ftc_failure_cause cause)
{
    static const char *const names[FTC_CAUSES] = {
        [FTC_CAUSE_NONE] = "none",       [FTC_CAUSE_SIGNAL] = "signal",   [FTC_CAUSE_EXIT] = "exit",
        [FTC_CAUSE_STALLED] = "stalled", [FTC_CAUSE_STOPPED] = "stopped", [FTC_CAUSE_ACCUSED] = "accused",
        [FTC_CAUSE_DRILL] = "drill",     [FTC_CAUSE_LAUNCH] = "launch",   [FTC_CAUSE_NODE] = "node",
    };
    return (unsigned)cause < FTC_CAUSES ? names[cause] : "unknown";
}

static _Atomic uint32_t *failure_log(struct ftc_segment *segment)
{
    return (_Atomic uint32_t *)(void *)(segment->base + segment->layout.log_offset);
}

void ftc_segment_declare(struct ftc_segment *segment, int rank, const struct ftc_failure *failure)
{
    struct ftc_segment_header *header = ftc_segment_header(segment);
    struct ftc_slot *slot = ftc_segment_slot(segment, rank);
    uint32_t entries = atomic_load_explicit(&header->failures, memory_order_relaxed);
    if (atomic_load_explicit(&slot->failed, memory_order_relaxed) != 0 || entries >= segment->layout.ranks)
        return;
    atomic_store_explicit(&slot->cause, (uint32_t)failure->cause, memory_order_relaxed);
    atomic_store_explicit(&slot->detail, failure->detail, memory_order_relaxed);
    atomic_store_explicit(&slot->seen_by, failure->seen_by, memory_order_relaxed);
    atomic_store_explicit(&slot->suspected_ns, failure->suspected_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->declared_ns, failure->declared_ns, memory_order_relaxed);
    /* Pairs with ftc_segment_failed(): who sees the flag sees the fields. */
    atomic_store_explicit(&slot->failed, 1, memory_order_release);
    atomic_store_explicit(&failure_log(segment)[entries], (uint32_t)rank, memory_order_relaxed);
    /* Pairs with ftc_segment_next_failure(). A launcher killed before this line leaves a log that ends
     * earlier. */
    atomic_store_explicit(&header->failures, entries + 1, memory_order_release);
}

int ftc_segment_next_failure(struct ftc_segment *segment, uint32_t *cursor)
{
    uint32_t entries = atomic_load_explicit(&ftc_segment_header(segment)->failures, memory_order_acquire);
    if (entries > segment->layout.ranks)
        entries = segment->layout.ranks;
    while (*cursor < entries) {
        uint32_t rank = atomic_load_explicit(&failure_log(segment)[(*cursor)++], memory_order_relaxed);
        if (rank < segment->layout.ranks)
            return (int)rank;
    }
    return -1;
}

bool ftc_segment_failed(struct ftc_segment *segment, int rank)
{
    return atomic_load_explicit(&ftc_segment_slot(segment, rank)->failed, memory_order_acquire) != 0;
}
