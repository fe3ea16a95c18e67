/* Finding ranks that wait for each other in different collectives. */
#include "runtime/comm/mismatch.h"

#include <stdio.h>
#include <unistd.h>

#include "runtime/comm/publish.h"
#include "runtime/comm/ranks.h"

/* Reads the call that a rank shows. False if the rank changed it during the read, or if it is of
 * another communicator. */
static bool read_activity(struct ftc_activity *a, uint64_t communicator, uint64_t *op,
                          uint32_t *kind, int *root)
{
    uint32_t before = atomic_load_explicit(&a->sequence, memory_order_acquire);
    uint64_t whose = atomic_load_explicit(&a->communicator, memory_order_relaxed);

    *op = atomic_load_explicit(&a->op, memory_order_relaxed);
    *kind = atomic_load_explicit(&a->kind, memory_order_relaxed);
    *root = atomic_load_explicit(&a->root, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return before % 2 == 0 && whose == communicator &&
           atomic_load_explicit(&a->sequence, memory_order_relaxed) == before;
}

/* False, too, for a rank that a settlement holds back: the number that it shows is that of the
 * settlement, and it has not begun an operation (agreement.md, rule 9). */
static bool is_called(uint32_t kind)
{
    return kind > FTC_CALL_NONE && kind < FTC_CALL_KINDS && kind != FTC_CALL_SETTLE;
}

void ftc_job_look_for_mismatch(struct ftc_comm *comm)
{
    struct ftc_member_activity own;
    uint64_t op;
    uint32_t kind;
    int root;

    if (ftc_comm_is_revoked(comm)) /* some are in agreements, and others have not seen it yet */
        return;
    ftc_publish_what(comm, &own);
    /* What a rank of another node does is known here only later, and perhaps in parts. */
    if (own.kind == FTC_CALL_NONE || own.waits == 0 || own.waits_for < 0 ||
        own.waits_for >= comm->size || !ftc_comm_is_local(comm, own.waits_for))
        return;
    struct ftc_slot *slot =
        ftc_segment_slot(comm->process->segment, ftc_comm_job_rank(comm, own.waits_for));
    if (!read_activity(&slot->activity, comm->driven.number, &op, &kind, &root) || op != own.op ||
        !is_called(kind) || root < -1 || root >= comm->size ||
        ftc_comm_is_declared(comm, own.waits_for) ||
        (kind == (uint32_t)own.kind && root == own.root))
        return;
    char words[160];
    snprintf(words, sizeof(words),
             "operation %llu: rank %d is in %s (root %d), rank %d in %s (root %d): ranks are in "
             "different "
             "collectives",
             (unsigned long long)op, own.waits_for, ftc_call_kind_name((enum ftc_call_kind)kind),
             root, comm->rank, ftc_call_kind_name(own.kind), own.root);
    ftc_process_end_job(comm->process, FTC_EXIT_MISMATCH, words);
}
