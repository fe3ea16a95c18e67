/* Drives the member: all that happens outside of the protocol. */
#include "runtime/process/progress.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/probes.h"
#include "runtime/comm/algorithm.h"
#include "runtime/comm/mismatch.h"
#include "runtime/process/multicast.h"
#include "runtime/comm/publish.h"
#include "runtime/process/reach.h"
#include "transport/route/route.h"

#define MESSAGES_PER_STEP 64 /* then the step ends, to look for failures and the delivery again */

_Noreturn void ftc_comm_leave(struct ftc_comm *comm, int exit_code, const char *why)
{
    FTC_LOG(&comm->log, FTC_LOG_ERROR, "leaving the job: %s", why);
    if (exit_code == FTC_EXIT_FENCED)
        FTC_PROBE_FENCED(comm->rank, why);
    _exit(exit_code);
}

/* If an input fails in the middle, the state of the member is incomplete. So the process ends,
 * which is a fail-stop failure for the others. An error of the system, such as a full /dev/shm,
 * will hit every rank of the node, so then the job ends at once. */
void ftc_progress_must(struct ftc_comm *comm, int rc)
{
    if (rc == FTC_ERR_SYSTEM)
        ftc_comm_end_job(comm, FTC_EXIT_INTERNAL, ftc_last_error());
    if (rc != 0)
        ftc_comm_leave(comm, FTC_EXIT_INTERNAL,
                       rc == FTC_ERR_NOMEM ? "out of memory" : ftc_last_error());
}

/* --- outputs --- */

/* The slot has one word for an accused rank. So the next accused rank is shown only when the one
 * before is known to have failed. */
static void publish_accused(struct ftc_comm *comm)
{
    ftc_set_subtract(&comm->accused, ftc_member_known_failed(comm->member));
    int rank = ftc_set_next(&comm->accused, 0);
    if (rank < 0)
        return;
    atomic_store_explicit(&comm->slot->accused, rank + 1, memory_order_release);
    ftc_bell_ring_launcher(&comm->bell);
}

void ftc_progress_accuse(struct ftc_comm *comm, int rank, const char *what)
{
    FTC_LOG(&comm->log, FTC_LOG_WARN, "rank %d %s; asking the launcher to fence it", rank, what);
    comm->transport->ops->close_peer(comm->transport, rank);
    ftc_set_add(&comm->accused, rank);
    publish_accused(comm);
}

/* --- the timers of the member and of an algorithm; the thread waits for the earlier one --- */

static void set_timer(struct ftc_comm *comm)
{
    uint64_t member = comm->member_due_ns, other = comm->algorithm_due_ns;

    comm->timer_ns = member == 0 || (other != 0 && other < member) ? other : member;
}

void ftc_progress_algorithm_due(struct ftc_comm *comm, uint64_t due_ns)
{
    comm->algorithm_due_ns = due_ns;
    set_timer(comm);
}

static void output_send(struct ftc_comm *comm, const struct ftc_output *output)
{
    ftc_publish_sent(comm, output->message, output->head->size + output->value.size);
    ftc_progress_must(comm, comm->transport->ops->send(comm->transport, output->to, output->head,
                                                       &output->value, output->urgent));
    ftc_drill_pass(&comm->drill, FTC_DRILL_SEND);
}

static void output_multicast(struct ftc_comm *comm, const struct ftc_output *output)
{
    ftc_publish_sent(comm, output->message, output->head->size + output->value.size);
    ftc_runtime_multicast_send(comm, output);
    ftc_drill_pass(&comm->drill, FTC_DRILL_SEND);
}

/* Only the rank that compared the results logs this, so that the job has one line of it. */
static void log_verdict(struct ftc_comm *comm)
{
    struct ftc_member_report report;
    char heads[128];

    ftc_member_report(comm->member, &report);
    if (report.coordinator != comm->rank || ftc_set_empty(report.wrong))
        return;
    FTC_LOG(&comm->log, FTC_LOG_WARN,
            "silent corruption: of %u results that should be equal, those of the subtrees of rank "
            "%s %s",
            report.compared, ftc_set_format(report.wrong, heads, sizeof(heads)),
            comm->status == FTC_SUCCESS ? "were wrong and are corrected" : "differ; none is taken");
}

static void output_deliver(struct ftc_comm *comm, const struct ftc_output *output)
{
    ftc_drill_pass(&comm->drill, FTC_DRILL_DELIVER);
    ftc_algorithms_deliver(comm, output);
    if (output->status == FTC_SUCCESS && comm->receive != NULL && output->result.size > 0)
        memcpy(comm->receive, ftc_value_bytes(&output->result), output->result.size);
    comm->status = output->status;
    comm->delivered = true;
    comm->under_way = NULL;
    if (comm->config.integrity == FTC_INTEGRITY_VOTE)
        log_verdict(comm);
}

static void log_flip(struct ftc_comm *comm)
{
    const struct ftc_flip *flip = ftc_member_flip(comm->member);

    FTC_LOG(&comm->log, FTC_LOG_INFO, "drill: bit %d of %s.%d turned over in operation %llu",
            flip->bit, ftc_flip_variable_name(flip->variable), flip->element,
            (unsigned long long)flip->op);
}

/* The member does no I/O, so the probe for a new ballot fires here, before the outputs of that
 * ballot. */
static void probe_ballot(struct ftc_comm *comm)
{
    uint64_t entered = ftc_member_ballots(comm->member);
    const struct ftc_epoch *last = ftc_member_entered(comm->member);

    if (entered == comm->probed_ballots)
        return;
    comm->probed_ballots = entered;
    FTC_PROBE_BALLOT(last->op, last->ballot.i, last->ballot.s, entered);
}

void ftc_progress_outputs(struct ftc_comm *comm)
{
    const struct ftc_output *output;

    if (FTC_PROBES)
        probe_ballot(comm);
    while ((output = ftc_member_next_output(comm->member)) != NULL) {
        switch (output->kind) {
        case FTC_OUTPUT_SEND:
            output_send(comm, output);
            break;
        case FTC_OUTPUT_DELIVER:
            output_deliver(comm, output);
            break;
        case FTC_OUTPUT_MULTICAST:
            output_multicast(comm, output);
            break;
        case FTC_OUTPUT_MORE:
            comm->more = true;
            break;
        case FTC_OUTPUT_TIMER:
            comm->member_due_ns = ftc_clock_now() + output->delay_ns;
            set_timer(comm);
            break;
        case FTC_OUTPUT_ACCUSE:
            ftc_progress_accuse(comm, output->to, "broke the protocol");
            break;
        case FTC_OUTPUT_FENCED:
            ftc_comm_leave(comm, FTC_EXIT_FENCED, "this process was declared failed");
        case FTC_OUTPUT_CORRUPT:
            ftc_comm_leave(
                comm, FTC_EXIT_CORRUPT,
                "a value in the memory of this process has changed by itself: a checksum says so");
        case FTC_OUTPUT_FLIPPED:
            log_flip(comm);
            break;
        case FTC_OUTPUT_MISMATCH:
            ftc_comm_end_job(comm, FTC_EXIT_MISMATCH, ftc_member_mismatch(comm->member));
        }
    }
}

/* --- inputs --- */

static bool failures_waiting(struct ftc_comm *comm)
{
    const struct ftc_segment_header *header = ftc_segment_header(comm->segment);
    uint32_t failures = atomic_load_explicit(&header->failures, memory_order_acquire);

    /* The log cannot have more failures than ranks. If the word is damaged and says so, this rank
     * must not look for ever. */
    return failures != comm->failures_seen && comm->failures_seen < (uint32_t)comm->size &&
           !ftc_drill_deaf(&comm->drill);
}

static void probe_failure(struct ftc_comm *comm, int rank)
{
    struct ftc_slot *slot = ftc_segment_slot(comm->segment, rank);
    uint64_t since = atomic_load_explicit(&slot->suspected_ns, memory_order_relaxed),
             now = ftc_clock_now();
    uint64_t after = since != 0 && since < now ? now - since : 0;

    FTC_PROBE_FAILURE(rank, after, atomic_load_explicit(&slot->cause, memory_order_relaxed));
}

bool ftc_progress_failures(struct ftc_comm *comm)
{
    bool any = false;
    int rank;

    if (comm->alone || !failures_waiting(comm))
        return false;
    while ((rank = ftc_segment_next_failure(comm->segment, &comm->failures_seen)) >= 0) {
        FTC_LOG(&comm->log, FTC_LOG_DEBUG, "rank %d is known failed", rank);
        if (FTC_PROBES)
            probe_failure(comm, rank);
        if (rank == comm->rank)
            ftc_comm_leave(comm, FTC_EXIT_FENCED, "this process was declared failed");
        comm->transport->ops->close_peer(comm->transport, rank);
        ftc_progress_must(comm, ftc_member_notice(comm->member, rank));
        ftc_progress_outputs(comm);
        ftc_algorithms_notice(comm, rank);
        any = true;
    }
    comm->drill.heard_ns = 0;
    ftc_publish_noticed(comm);
    if (!ftc_set_empty(&comm->accused))
        publish_accused(comm);
    return any;
}

/* Returns whether the timer is due by now, and if so, unsets it. */
static bool take_due(struct ftc_comm *comm, uint64_t *due_ns)
{
    bool due = comm->timer_ns != 0 && *due_ns != 0 && ftc_clock_now() >= *due_ns;

    if (due)
        *due_ns = 0;
    set_timer(comm);
    return due;
}

static bool step_timer(struct ftc_comm *comm)
{
    if (!take_due(comm, &comm->member_due_ns))
        return false;
    ftc_progress_must(comm, ftc_member_timer(comm->member));
    ftc_progress_outputs(comm);
    return true;
}

/* The timer means that no message came. It is looked at after the messages, because a rank that did
 * not run for long may find both a message and the timer. */
static bool step_algorithm(struct ftc_comm *comm)
{
    if (!take_due(comm, &comm->algorithm_due_ns))
        return false;
    ftc_algorithms_timer(comm);
    return true;
}

/* The member goes on with its work when the messages are taken in and the outputs are carried
 * out. */
static bool step_more(struct ftc_comm *comm)
{
    if (!comm->more)
        return false;
    comm->more = false;
    ftc_progress_must(comm, ftc_member_more(comm->member));
    ftc_progress_outputs(comm);
    return true;
}

static int take_message(struct ftc_comm *comm, int from, struct ftc_buffer *message)
{
    const struct ftc_algorithm *owner = ftc_algorithms_owner(comm, message);

    if (owner != NULL)
        return owner->receive(comm, from, message);
    ftc_algorithms_precede(comm);
    int rc = ftc_member_receive(comm->member, from, message);
    if (rc == 0) /* it is sound */
        ftc_algorithms_look(comm, from, message);
    return rc;
}

static int awaited(const struct ftc_comm *comm)
{
    int rank = ftc_algorithms_await(comm);

    return rank >= 0 ? rank : ftc_member_awaits(comm->member);
}

/* Takes in one message. False: there was none. */
static bool step_message(struct ftc_comm *comm)
{
    struct ftc_buffer *message = NULL;
    int from = -1;

    if (comm->transport->ops->expect != NULL)
        comm->transport->ops->expect(comm->transport, awaited(comm));
    int rc = comm->transport->ops->receive(comm->transport, &from, &message);

    if (rc == 0)
        return false;
    if (rc == 1) {
        rc = take_message(comm, from, message);
        ftc_buffer_unref(message);
    }
    if (rc == FTC_ERR_PROTO)
        ftc_progress_accuse(comm, from, "sent a damaged message");
    else
        ftc_progress_must(comm, rc);
    ftc_progress_outputs(comm);
    return true;
}

bool ftc_progress_step(struct ftc_comm *comm)
{
    bool any, idle, delivered = comm->delivered; /* true: no call waits for that */

    if (comm->alone)
        return false;
    any = ftc_progress_failures(comm);
    any |= step_timer(comm);
    /* Datagrams come before messages: a datagram that lies here may bring the decision earlier than
     * the ring of positions does. */
    for (int i = 0; i < MESSAGES_PER_STEP && comm->delivered == delivered &&
                    ftc_runtime_multicast_receive(comm);
         i++)
        any = true;
    for (int i = 0; i < MESSAGES_PER_STEP && step_message(comm); i++) {
        any = true;
        if (comm->delivered)
            break;
    }
    ftc_algorithms_received(comm);
    any |= step_algorithm(comm);
    any |= step_more(comm);
    ftc_progress_must(comm, comm->transport->ops->flush(comm->transport, &idle));
    comm->clogged = !idle;
    return any;
}

static bool is_ready(struct ftc_comm *comm, bool (*transport_ready)(struct ftc_transport *))
{
    return failures_waiting(comm) || comm->more || transport_ready(comm->transport) ||
           ftc_runtime_multicast_ready(comm) ||
           (comm->timer_ns != 0 && ftc_clock_now() >= comm->timer_ns);
}

bool ftc_progress_ready(struct ftc_comm *comm)
{
    return is_ready(comm, comm->transport->ops->ready);
}

bool ftc_progress_ready_but_sockets(struct ftc_comm *comm)
{
    return is_ready(comm, ftc_route_ready_but_sockets);
}

/* --- waiting --- */

static uint64_t sleep_time(const struct ftc_comm *comm, uint64_t longest_ns)
{
    uint64_t now, ns = (uint64_t)comm->config.heartbeat_period_ms * FTC_NS_PER_MS;

    if (longest_ns > 0 && longest_ns < ns)
        ns = longest_ns;
    if (comm->timer_ns == 0)
        return ns;
    now = ftc_clock_now();
    if (now >= comm->timer_ns)
        return 0;
    return comm->timer_ns - now < ns ? comm->timer_ns - now : ns;
}

/* First announces the sleep, and only then looks at all that could end the wait. In the other order
 * a ring between the look and the sleep would be lost. */
static void sleep_once(struct ftc_comm *comm, const struct ftc_until *until)
{
    ftc_algorithms_sleep(comm);
    ftc_publish_activity(comm, until->wait);
    ftc_publish_multicast(comm);
    ftc_reach_publish(comm);
    int datagrams = ftc_runtime_multicast_fd(comm);
    int messages = comm->transport->ops->descriptor(comm->transport);
    uint32_t expected = ftc_bell_prepare(&comm->bell);
    bool slept = !ftc_progress_ready(comm) && !until->done(comm, until->arg);
    if (slept)
        ftc_bell_sleep(&comm->bell, expected, sleep_time(comm, until->longest_ns), messages,
                       datagrams);
    ftc_bell_awake(&comm->bell);
    if (slept && until->wait == FTC_WAIT_NOTHING && !ftc_progress_ready(comm))
        ftc_job_look_for_mismatch(comm);
}

void ftc_progress_until(struct ftc_comm *comm, const struct ftc_until *until)
{
    int idle = 0;

    while (!until->done(comm, until->arg)) {
        if (ftc_progress_step(comm)) {
            idle = 0;
            continue;
        }
        idle++;
        if (idle <= comm->patience.spins) {
            ftc_cpu_relax();
        } else if (idle <= comm->patience.spins + comm->patience.yields) {
            sched_yield();
        } else {
            sleep_once(comm, until);
            idle = comm->patience
                       .spins; /* woken: others may be about to run, so yield again before sleep */
        }
    }
}
