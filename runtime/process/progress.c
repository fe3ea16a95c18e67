/* Drives the communicators of a process. */
#include "runtime/process/progress.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/probes.h"
#include "collectives/frame.h"
#include "runtime/process/multicast.h"
#include "transport/route/route.h"

#define MESSAGES_PER_STEP 64 /* then the step ends, to look for failures and the delivery again */

_Noreturn void ftc_process_leave(struct ftc_process *process, int exit_code, const char *why)
{
    FTC_LOG(&process->log, FTC_LOG_ERROR, "leaving the job: %s", why);
    if (exit_code == FTC_EXIT_FENCED)
        FTC_PROBE_FENCED(process->rank, why);
    _exit(exit_code);
}

_Noreturn void ftc_process_end_job(struct ftc_process *process, int exit_code, const char *why)
{
    uint64_t none = 0;

    /* The log comes first: once the launcher is rung, SIGKILL may come at any moment. */
    FTC_LOG(&process->log, FTC_LOG_ERROR, "ending the job: %s", why);
    if (!process->alone) {
        atomic_compare_exchange_strong(&ftc_segment_header(process->segment)->abort, &none,
                                       FTC_ABORT(process->rank, exit_code));
        ftc_bell_ring_launcher(&process->bell);
    }
    _exit(exit_code);
}

/* If an input fails in the middle, the state of the communicator is incomplete. So the process
 * ends, which is a fail-stop failure for the others. An error of the system, such as a full
 * /dev/shm, will hit every rank of the node, so then the job ends at once. */
void ftc_progress_must(struct ftc_process *process, int rc)
{
    if (rc == FTC_ERR_SYSTEM)
        ftc_process_end_job(process, FTC_EXIT_INTERNAL, ftc_last_error());
    if (rc != 0)
        ftc_process_leave(process, FTC_EXIT_INTERNAL,
                          rc == FTC_ERR_NOMEM ? "out of memory" : ftc_last_error());
}

/* The slot has one word for an accused rank. So the next accused rank is shown only when the one
 * before is known to have failed. */
static void publish_accused(struct ftc_process *process)
{
    ftc_set_subtract(&process->accused, &process->failed);
    int rank = ftc_set_next(&process->accused, 0);
    if (rank < 0)
        return;
    atomic_store_explicit(&process->slot->accused, rank + 1, memory_order_release);
    ftc_bell_ring_launcher(&process->bell);
}

void ftc_progress_accuse(struct ftc_process *process, int rank, const char *what)
{
    FTC_LOG(&process->log, FTC_LOG_WARN, "rank %d %s; asking the launcher to fence it", rank, what);
    process->transport->ops->close_peer(process->transport, rank);
    ftc_set_add(&process->accused, rank);
    publish_accused(process);
}

void ftc_progress_took(struct ftc_process *process, int from, int rc)
{
    if (rc == FTC_ERR_PROTO)
        ftc_progress_accuse(process, from, "sent a damaged message");
    else
        ftc_progress_must(process, rc);
}

void ftc_progress_activate(struct ftc_process *process, struct ftc_driven *driven)
{
    if (driven->active)
        return;
    driven->active = true;
    driven->next_active = process->active;
    process->active = driven;
}

void ftc_progress_rest(struct ftc_process *process, struct ftc_driven *driven)
{
    struct ftc_driven **link = &process->active;

    while (*link != NULL && *link != driven)
        link = &(*link)->next_active;
    if (*link != NULL)
        *link = driven->next_active;
    driven->active = false;
}

void ftc_progress_due(struct ftc_process *process, struct ftc_driven *driven, uint64_t due_ns)
{
    driven->due_ns = due_ns;
    if (due_ns != 0)
        ftc_progress_activate(process, driven);
    process->timer_ns = 0;
    for (driven = process->active; driven != NULL; driven = driven->next_active)
        if (driven->due_ns != 0 && (process->timer_ns == 0 || driven->due_ns < process->timer_ns))
            process->timer_ns = driven->due_ns;
}

/* --- failures --- */

static bool failures_waiting(struct ftc_process *process)
{
    const struct ftc_segment_header *header = ftc_segment_header(process->segment);
    uint32_t failures = atomic_load_explicit(&header->failures, memory_order_acquire);

    /* The log cannot have more failures than ranks. If the word is damaged and says so, this rank
     * must not look for ever. */
    return failures != process->failures_seen && process->failures_seen < (uint32_t)process->size &&
           !ftc_drill_deaf(&process->drill);
}

static void probe_failure(struct ftc_process *process, int rank)
{
    struct ftc_standing *standing = ftc_segment_standing(process->segment, rank);
    uint64_t since = atomic_load_explicit(&standing->suspected_ns, memory_order_relaxed),
             now = ftc_clock_now();
    uint64_t after = since != 0 && since < now ? now - since : 0;

    FTC_PROBE_FAILURE(rank, after, atomic_load_explicit(&standing->cause, memory_order_relaxed));
}

static void take_failure(struct ftc_process *process, int rank)
{
    FTC_LOG(&process->log, FTC_LOG_DEBUG, "rank %d is known failed", rank);
    if (FTC_PROBES)
        probe_failure(process, rank);
    if (rank == process->rank)
        ftc_process_leave(process, FTC_EXIT_FENCED, "this process was declared failed");
    process->transport->ops->close_peer(process->transport, rank);
    ftc_set_add(&process->failed, rank);
    ftc_set_add(&process->audible, rank);
    process->any_audible = true;
    for (struct ftc_driven *driven = process->driven; driven != NULL; driven = driven->next)
        driven->ops->notice(driven, rank);
    process->engine_ops->notice(process, rank);
}

bool ftc_progress_failures(struct ftc_process *process)
{
    int rank;

    if (process->alone || !failures_waiting(process))
        return false;
    uint32_t before = process->failures_seen;
    while ((rank = ftc_segment_next_failure(process->segment, &process->failures_seen)) >= 0)
        take_failure(process, rank);
    process->drill.heard_ns = 0;
    for (struct ftc_driven *driven = process->driven; driven != NULL; driven = driven->next)
        driven->ops->noticed(driven);
    if (!ftc_set_empty(&process->accused))
        publish_accused(process);
    return process->failures_seen != before;
}

/* --- messages --- */

/* The communicator that a message names; NULL: the process drives none of this number. */
static struct ftc_driven *find(const struct ftc_process *process, const struct ftc_buffer *message)
{
    uint64_t number = ftc_frame_communicator(message);
    struct ftc_driven *driven = process->driven;

    while (driven != NULL && driven->number != number)
        driven = driven->next;
    return driven;
}

static int awaited(const struct ftc_process *process)
{
    bool by_memory = process->active != NULL;

    for (struct ftc_driven *driven = process->active; driven != NULL;
         driven = driven->next_active) {
        int rank = driven->ops->awaits(driven);
        if (rank >= 0 && rank != process->rank)
            return rank;
        by_memory &= rank == process->rank;
    }
    return by_memory ? process->rank : -1;
}

FTC_HOT bool ftc_progress_awaits_memory(const struct ftc_process *process)
{
    return awaited(process) == process->rank;
}

static void take_message(struct ftc_process *process, int from, struct ftc_buffer *message)
{
    struct ftc_driven *driven = find(process, message);

    if (driven == NULL || ftc_frame_kind(message) == FTC_FRAME_COMMUNICATOR)
        process->engine_ops->receive(process, from, message);
    else
        driven->ops->receive(driven, from, message);
}

/* What the transport has returned. */
static void take_received(struct ftc_process *process, int rc, int from, struct ftc_buffer *message)
{
    if (rc == 1) {
        take_message(process, from, message);
        ftc_buffer_unref(message);
    } else {
        ftc_progress_took(process, from, rc);
    }
}

FTC_HOT enum ftc_found ftc_progress_receive(struct ftc_process *process,
                                            const struct ftc_driven *of, int kind, int *from,
                                            struct ftc_buffer **message)
{
    int rc = process->transport->ops->receive(process->transport, from, message);

    if (rc == 0)
        return FTC_FOUND_NOTHING;
    if (rc == 1 && ftc_frame_kind(*message) == kind &&
        ftc_frame_communicator(*message) == of->number)
        return FTC_FOUND_MESSAGE;
    take_received(process, rc, *from, *message);
    return FTC_FOUND_OTHER;
}

/* The transport has no message left. */
static void fall_silent(struct ftc_process *process)
{
    const struct ftc_set *ranks = &process->audible;

    for (int rank = 0; (rank = ftc_set_next(ranks, rank)) >= 0; rank++)
        for (struct ftc_driven *driven = process->driven; driven != NULL; driven = driven->next)
            driven->ops->silent(driven, rank);
    ftc_set_clear(&process->audible);
    process->any_audible = false;
}

/* Takes in one message. False: there was none. */
static bool step_message(struct ftc_process *process)
{
    struct ftc_transport *transport = process->transport;
    struct ftc_buffer *message = NULL;
    int from = -1;

    if (transport->ops->expect != NULL)
        transport->ops->expect(transport, awaited(process));
    int rc = transport->ops->receive(transport, &from, &message);

    if (rc == 0 && process->any_audible) {
        fall_silent(process);
        return true;
    }
    if (rc == 0)
        return false;
    take_received(process, rc, from, message);
    return true;
}

/* A malformed datagram is counted, and nobody is accused of it: any process may have sent it. */
static bool step_datagram(struct ftc_process *process)
{
    struct ftc_buffer *payload = NULL;
    int from = -1;

    if (!ftc_runtime_multicast_receive(process, &from, &payload))
        return false;
    if (payload == NULL)
        return true;
    struct ftc_driven *driven = find(process, payload);
    process->senseless += driven == NULL || !driven->ops->datagram(driven, from, payload);
    ftc_buffer_unref(payload);
    return true;
}

/* While a call waits, all messages are taken in until the call is delivered. Otherwise one message
 * is, so that a caller who wants the lock gets it soon. Datagrams come before messages: a datagram
 * that lies here may bring the decision earlier than the ring of positions does. */
static bool step_messages(struct ftc_process *process)
{
    bool any = false, waits = false;

    for (struct ftc_driven *driven = process->active; driven != NULL; driven = driven->next_active)
        waits |= driven->waits;
    for (int i = 0; i < MESSAGES_PER_STEP && !process->delivered && step_datagram(process); i++)
        any = true;
    for (int i = 0; i < MESSAGES_PER_STEP && step_message(process); i++) {
        any = true;
        if (process->delivered || !waits)
            break;
    }
    return any;
}

/* Only of those that may have work: a process may have thousands that rest. */
static bool step_active(struct ftc_process *process)
{
    struct ftc_driven *driven, **link = &process->active;
    bool any = false;

    for (driven = process->active; driven != NULL; driven = driven->next_active)
        any |= driven->ops->after(driven);
    while ((driven = *link) != NULL) {
        driven->active =
            driven->more || driven->waits || driven->polls || driven->copies || driven->due_ns != 0;
        if (driven->active)
            link = &driven->next_active;
        else
            *link = driven->next_active;
    }
    return any;
}

bool ftc_progress_step(struct ftc_process *process)
{
    bool any, idle;

    if (process->alone)
        return false;
    process->delivered = false;
    any = ftc_progress_failures(process);
    any |= step_messages(process);
    any |= step_active(process);
    any |= process->engine_ops->after(process);
    ftc_progress_must(process, process->transport->ops->flush(process->transport, &idle));
    process->clogged = !idle;
    return any || process->delivered;
}

/* --- before a sleep --- */

static bool has_more(const struct ftc_process *process)
{
    struct ftc_driven *driven = process->active;

    while (driven != NULL && !driven->more && !driven->copies &&
           !(driven->polls && driven->ops->ready(driven)))
        driven = driven->next_active;
    return driven != NULL;
}

static bool is_ready(struct ftc_process *process, bool (*transport_ready)(struct ftc_transport *))
{
    return failures_waiting(process) || process->any_audible || has_more(process) ||
           transport_ready(process->transport) || ftc_runtime_multicast_ready(process) ||
           (process->timer_ns != 0 && ftc_clock_now() >= process->timer_ns);
}

bool ftc_progress_ready(struct ftc_process *process)
{
    return is_ready(process, process->transport->ops->ready);
}

bool ftc_progress_ready_but_sockets(struct ftc_process *process)
{
    return is_ready(process, ftc_route_ready_but_sockets);
}

uint64_t ftc_progress_sleep_ns(const struct ftc_process *process)
{
    uint64_t ns = (uint64_t)process->config.heartbeat_period_ms * FTC_NS_PER_MS;

    if (process->timer_ns == 0)
        return ns;
    uint64_t now = ftc_clock_now();
    if (now >= process->timer_ns)
        return 0;
    return process->timer_ns - now < ns ? process->timer_ns - now : ns;
}
