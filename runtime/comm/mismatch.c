#include "runtime/comm/mismatch.h"

#include <stdio.h>
#include <unistd.h>

#include "runtime/comm/publish.h"
#include "runtime/comm/ranks.h"

#define KIND_WORDS 80

/* A call that a rank shows. */
struct shown {
    uint64_t op;
    uint32_t kind, role;
    int root;
};

/* False if the rank changed it during the read, or if it is of another communicator. */
static bool read_activity(struct ftc_activity *a, uint64_t communicator, struct shown *shown)
{
    uint32_t before = atomic_load_explicit(&a->sequence, memory_order_acquire);
    uint64_t whose = atomic_load_explicit(&a->communicator, memory_order_relaxed);

    shown->op = atomic_load_explicit(&a->op, memory_order_relaxed);
    shown->kind = atomic_load_explicit(&a->kind, memory_order_relaxed);
    shown->role = atomic_load_explicit(&a->role, memory_order_relaxed);
    shown->root = atomic_load_explicit(&a->root, memory_order_relaxed);
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

/* Where there is a board, a blocking call goes over it. A request goes over it in places of its
 * own, or by messages (communicators.md, C11). Unknown: what the rank waits for does not tell. */
enum way { WAY_UNKNOWN, WAY_CALLED, WAY_STARTED, WAY_MESSAGES };

static enum way way_of(uint32_t role)
{
    switch (role) {
    case FTC_WAIT_POST:
    case FTC_WAIT_RESULT:
        return WAY_CALLED;
    case FTC_WAIT_STARTED:
        return WAY_STARTED;
    case FTC_WAIT_GROUP:
    case FTC_WAIT_CHILD:
    case FTC_WAIT_DECISION:
    case FTC_WAIT_COORDINATOR:
    case FTC_WAIT_RING:
        return WAY_MESSAGES;
    default:
        return WAY_UNKNOWN;
    }
}

static bool ways_differ(const struct ftc_comm *comm, enum way theirs, enum way own)
{
    return comm->board != NULL && theirs != WAY_UNKNOWN && own != WAY_UNKNOWN && theirs != own;
}

static const char *describe(uint32_t kind, int root, enum way way, char words[KIND_WORDS])
{
    static const char *const ways[] = {[WAY_UNKNOWN] = "",
                                       [WAY_CALLED] = "a blocking ",
                                       [WAY_STARTED] = "a request of ",
                                       [WAY_MESSAGES] = "a request, by messages, of "};

    char from[24] = "";

    if (root >= 0)
        snprintf(from, sizeof(from), " (root %d)", root);
    snprintf(words, KIND_WORDS, "%s%s%s", ways[way], ftc_call_kind_name((enum ftc_call_kind)kind),
             from);
    return words;
}

_Noreturn static void differ(const struct ftc_comm *comm, const struct ftc_member_activity *own,
                             const struct shown *theirs, bool ways)
{
    char one[KIND_WORDS], other[KIND_WORDS], words[FTC_MISMATCH_WORDS];

    snprintf(words, sizeof(words),
             "operation %llu: rank %d is in %s, rank %d in %s: ranks are in different collectives",
             (unsigned long long)own->op, own->waits_for,
             describe(theirs->kind, theirs->root, ways ? way_of(theirs->role) : WAY_UNKNOWN, one),
             comm->rank,
             describe(own->kind, own->root, ways ? way_of(own->wait) : WAY_UNKNOWN, other));
    ftc_comm_end_mismatched(comm, words);
}

void ftc_job_look_for_mismatch(struct ftc_comm *comm)
{
    struct ftc_member_activity own;
    struct shown theirs;

    if (ftc_comm_is_revoked(comm)) /* some are in agreements, and others have not seen it yet */
        return;
    ftc_publish_what(comm, &own);
    /* What a rank of another node does is known here only later, and perhaps in parts. */
    if (own.kind == FTC_CALL_NONE || own.waits == 0 || own.waits_for < 0 ||
        own.waits_for >= comm->size || !ftc_comm_is_local(comm, own.waits_for))
        return;
    struct ftc_slot *slot =
        ftc_segment_slot(comm->process->segment, ftc_comm_job_rank(comm, own.waits_for));
    if (!read_activity(&slot->activity, comm->driven.number, &theirs) || theirs.op != own.op ||
        !is_called(theirs.kind) || theirs.root < -1 || theirs.root >= comm->size ||
        ftc_comm_is_declared(comm, own.waits_for))
        return;
    bool ways = ways_differ(comm, way_of(theirs.role), way_of(own.wait));
    if (ways || theirs.kind != (uint32_t)own.kind || theirs.root != own.root)
        differ(comm, &own, &theirs, ways);
}

_Noreturn void ftc_comm_end_mismatched(const struct ftc_comm *comm, const char *words)
{
    char more[FTC_MISMATCH_WORDS + FTC_COMMUNICATOR_NAME + 64];

    if (comm->job_ranks != NULL) {
        snprintf(more, sizeof(more), "in communicator %s, by its own numbers of ranks: %s",
                 comm->name, words);
        words = more;
    }
    ftc_process_end_job(comm->process, FTC_EXIT_MISMATCH, words);
}
