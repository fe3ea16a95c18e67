/* Drives the member of a communicator: all that happens outside of the protocol. */
#include "runtime/comm/drive.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/probes.h"
#include "collectives/communicators/number.h"
#include "collectives/values/blocks.h"
#include "runtime/comm/algorithm.h"
#include "runtime/comm/mismatch.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/ranks.h"
#include "runtime/process/multicast.h"
#include "runtime/process/progress.h"
#include "runtime/process/reach.h"
#include "runtime/process/turn.h"

void ftc_comm_expect_delivery(struct ftc_comm *comm)
{
    comm->driven.waits = true;
    ftc_progress_activate(comm->process, &comm->driven);
}

/* --- timers: of the member, and of an algorithm --- */

static void set_due(struct ftc_comm *comm)
{
    uint64_t member = comm->member_due_ns, other = comm->algorithm_due_ns;

    ftc_progress_due(comm->process, &comm->driven,
                     member == 0 || (other != 0 && other < member) ? other : member);
}

void ftc_comm_algorithm_due(struct ftc_comm *comm, uint64_t due_ns)
{
    comm->algorithm_due_ns = due_ns;
    set_due(comm);
}

/* Returns whether the timer is due by now, and if so, unsets it. */
static bool take_due(struct ftc_comm *comm, uint64_t *due_ns)
{
    if (*due_ns == 0 || ftc_clock_now() < *due_ns)
        return false;
    *due_ns = 0;
    set_due(comm);
    return true;
}

/* --- outputs --- */

static void output_send(struct ftc_comm *comm, const struct ftc_output *output)
{
    bool settles = ftc_op_is_settlement(output->op);

    ftc_publish_sent(comm, settles ? FTC_MESSAGE_SETTLE : output->message,
                     output->head->size + output->value.size);
    ftc_comm_send(comm, output->to, output->head, &output->value, output->urgent);
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_SEND);
}

static void output_multicast(struct ftc_comm *comm, const struct ftc_output *output)
{
    ftc_publish_sent(comm, output->message, output->head->size + output->value.size);
    ftc_runtime_multicast_send(comm->process, output);
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_SEND);
}

/* Only the rank that compared the results logs this, so that the job has one line of it. */
static void log_verdict(struct ftc_comm *comm, int status)
{
    struct ftc_member_report report;
    char heads[128];

    ftc_member_report(comm->member, &report);
    if (report.coordinator != comm->rank || ftc_set_empty(report.wrong))
        return;
    FTC_LOG(&comm->process->log, FTC_LOG_WARN,
            "silent corruption: of %u results that should be equal, those of the subtrees of rank "
            "%s %s",
            report.compared, ftc_set_format(report.wrong, heads, sizeof(heads)),
            status == FTC_SUCCESS ? "were wrong and are corrected" : "differ; none is taken");
}

/* What this rank gets of the value. The member has found the value to be sound. */
static int take_result(const struct ftc_comm *comm, const struct ftc_request *request,
                       const struct ftc_value *value)
{
    const struct ftc_call *call = request->call;
    int kind = call->signature.kind;
    struct ftc_member_report report;

    ftc_member_report(comm->member, &report);
    if (ftc_signature_gathers(&call->signature))
        return ftc_blocks_take(value, report.failed, call, request->receive);
    if (kind == FTC_CALL_SCATTER || kind == FTC_CALL_REDUCE_SCATTER)
        return ftc_slice_take(value, call, request->receive);
    if (value->size > 0)
        memcpy(request->receive, ftc_value_bytes(value), value->size);
    return FTC_SUCCESS;
}

static void output_deliver(struct ftc_comm *comm, const struct ftc_output *output)
{
    struct ftc_request *request = comm->deciding;

    assert(request != NULL);
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_DELIVER);
    ftc_algorithms_deliver(comm, output);
    if (output->status == FTC_SUCCESS && request->receive != NULL)
        ftc_progress_must(comm->process, take_result(comm, request, &output->result));
    request->status = output->status;
    request->decided = true;
    comm->deciding = NULL;
    ftc_history_decided(comm->recording);
    comm->driven.waits = false;
    comm->process->delivered = true;
    if (comm->process->config.integrity == FTC_INTEGRITY_VOTE)
        log_verdict(comm, output->status);
}

static void log_settled(struct ftc_comm *comm, const struct ftc_output *output)
{
    char failed[128];

    FTC_LOG(&comm->process->log, FTC_LOG_DEBUG,
            "settlement %llu: reduces will go on without rank %s",
            (unsigned long long)(output->op - FTC_SETTLEMENT),
            ftc_set_format(&output->decision->failed, failed, sizeof(failed)));
}

static void log_flip(struct ftc_comm *comm)
{
    const struct ftc_flip *flip = ftc_member_flip(comm->member);

    FTC_LOG(&comm->process->log, FTC_LOG_INFO,
            "drill: bit %d of %s.%d turned over in operation %llu", flip->bit,
            ftc_flip_variable_name(flip->variable), flip->element, (unsigned long long)flip->op);
}

/* The member does no I/O, so the probe for a new ballot fires here, before the outputs of that
 * ballot. */
static void note_ballot(struct ftc_comm *comm)
{
    uint64_t entered = ftc_member_ballots(comm->member);
    const struct ftc_epoch *last = ftc_member_entered(comm->member);

    if (entered == comm->noted_ballots)
        return;
    comm->noted_ballots = entered;
    ftc_publish_ballot(comm, last);
    FTC_PROBE_BALLOT(last->op, last->ballot.i, last->ballot.s, entered);
}

static void carry_out(struct ftc_comm *comm, const struct ftc_output *output)
{
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
        comm->driven.more = true;
        ftc_progress_activate(comm->process, &comm->driven);
        break;
    case FTC_OUTPUT_TIMER:
        comm->member_due_ns = ftc_clock_now() + output->delay_ns;
        set_due(comm);
        break;
    case FTC_OUTPUT_ACCUSE:
        ftc_comm_accuse(comm, output->to, "broke the protocol");
        break;
    case FTC_OUTPUT_FENCED:
        ftc_process_leave(comm->process, FTC_EXIT_FENCED, "this process was declared failed");
    case FTC_OUTPUT_CORRUPT:
        ftc_process_leave(
            comm->process, FTC_EXIT_CORRUPT,
            "a value in the memory of this process has changed by itself: a checksum says so");
    case FTC_OUTPUT_FLIPPED:
        log_flip(comm);
        break;
    case FTC_OUTPUT_TAKEN:
        ftc_algorithms_taken(comm, output->op);
        break;
    case FTC_OUTPUT_SETTLED:
        log_settled(comm, output);
        break;
    case FTC_OUTPUT_MISMATCH:
        ftc_comm_end_mismatched(comm, ftc_member_mismatch(comm->member));
    }
}

void ftc_comm_outputs(struct ftc_comm *comm)
{
    const struct ftc_output *output;

    note_ballot(comm);
    while ((output = ftc_member_next_output(comm->member)) != NULL)
        carry_out(comm, output);
}

/* --- inputs --- */

static struct ftc_comm *comm_of(struct ftc_driven *driven)
{
    return (struct ftc_comm *)driven;
}

static void notice(struct ftc_driven *driven, int job_rank)
{
    struct ftc_comm *comm = comm_of(driven);
    int rank = ftc_comm_rank_of(comm, job_rank);

    if (rank < 0)
        return;
    ftc_progress_must(comm->process, ftc_member_notice(comm->member, rank));
    ftc_comm_outputs(comm);
    ftc_algorithms_notice(comm, rank);
}

static void silent(struct ftc_driven *driven, int job_rank)
{
    struct ftc_comm *comm = comm_of(driven);
    int rank = ftc_comm_rank_of(comm, job_rank);

    if (rank >= 0)
        ftc_algorithms_silent(comm, rank);
}

static void noticed(struct ftc_driven *driven)
{
    struct ftc_comm *comm = comm_of(driven);

    ftc_publish_noticed(comm);
    if (comm->file != NULL && comm->levels == NULL) /* the launcher does not know this board */
        ftc_board_ring_own(comm->file, comm->size, ftc_member_known_failed(comm->member));
}

/* If operations go over the board, the member does not see them. It is told how many this rank has
 * called, to tell messages that come early from those that make no sense. The caller may be in a
 * call on the board, without the lock, so the number is an atomic. */
static void catch_up(struct ftc_comm *comm)
{
    if (comm->board != NULL && !comm->agreeing && !ftc_comm_is_revoked(comm))
        ftc_member_skip(comm->member, atomic_load_explicit(&comm->called, memory_order_relaxed));
}

static int receive_of_member(struct ftc_comm *comm, int from, struct ftc_buffer *message)
{
    catch_up(comm);
    int rc = ftc_member_receive(comm->member, from, message);
    if (rc == 0) /* it is sound */
        ftc_algorithms_look(comm, from, message);
    return rc;
}

/* FTC_ERR_PROTO also if the sender is no member of the communicator. After a revoke, such a sender
 * has abandoned a child of another decision (communicators.md, C8). */
static int take_message(struct ftc_comm *comm, int from, struct ftc_buffer *message)
{
    const struct ftc_algorithm *owner = ftc_algorithms_owner(comm, message);

    if (from < 0 && ftc_communicator_is_after(ftc_frame_communicator(message)))
        return 0;
    if (from < 0)
        return FTC_ERR_PROTO;
    return owner != NULL ? owner->receive(comm, from, message)
                         : receive_of_member(comm, from, message);
}

static void receive_message(struct ftc_driven *driven, int from, struct ftc_buffer *message)
{
    struct ftc_comm *comm = comm_of(driven);

    ftc_progress_activate(comm->process, driven);
    int rc = take_message(comm, ftc_comm_rank_of(comm, from), message);

    ftc_progress_took(comm->process, from, rc);
    ftc_comm_outputs(comm);
}

static bool receive_datagram(struct ftc_driven *driven, int from, struct ftc_buffer *payload)
{
    struct ftc_comm *comm = comm_of(driven);
    int rank = ftc_comm_rank_of(comm, from);

    ftc_progress_activate(comm->process, driven);
    int rc = rank < 0 ? FTC_ERR_PROTO : ftc_member_datagram(comm->member, rank, payload);

    if (rc != FTC_ERR_PROTO)
        ftc_progress_must(comm->process, rc);
    ftc_comm_outputs(comm);
    return rc == 0;
}

static bool member_timer(struct ftc_comm *comm)
{
    if (!take_due(comm, &comm->member_due_ns))
        return false;
    ftc_progress_must(comm->process, ftc_member_timer(comm->member));
    ftc_comm_outputs(comm);
    return true;
}

static bool algorithm_timer(struct ftc_comm *comm)
{
    if (!take_due(comm, &comm->algorithm_due_ns))
        return false;
    ftc_algorithms_timer(comm);
    return true;
}

/* A timer means that no message came. It is looked at after the messages, because a rank that did
 * not run for long may find both a message and the timer. The member goes on with its work when the
 * messages are taken in and the outputs are carried out. */
static bool after_messages(struct ftc_driven *driven)
{
    struct ftc_comm *comm = comm_of(driven);
    bool any = driven->copies;

    ftc_algorithms_received(comm);
    any |= member_timer(comm);
    any |= algorithm_timer(comm);
    if (!driven->more)
        return any;
    driven->more = false;
    ftc_progress_must(comm->process, ftc_member_more(comm->member));
    ftc_comm_outputs(comm);
    return true;
}

static bool ready(struct ftc_driven *driven)
{
    return ftc_algorithms_ready(comm_of(driven));
}

static int awaits(const struct ftc_driven *driven)
{
    const struct ftc_comm *comm = (const struct ftc_comm *)driven;
    int rank =
        comm->awaited != NULL ? ftc_passing_awaits(comm->awaited) : ftc_algorithms_await(comm);

    if (rank < 0)
        rank = ftc_member_awaits(comm->member);
    return rank < 0 ? rank : ftc_comm_job_rank(comm, rank);
}

static void rests(struct ftc_driven *driven)
{
    ftc_publish_multicast(comm_of(driven));
}

static void beat(struct ftc_driven *driven)
{
    ftc_publish_beat(comm_of(driven));
}

const struct ftc_driven_ops ftc_comm_ops = {
    .notice = notice,
    .silent = silent,
    .noticed = noticed,
    .receive = receive_message,
    .datagram = receive_datagram,
    .after = after_messages,
    .ready = ready,
    .awaits = awaits,
    .rests = rests,
    .beat = beat,
};

int ftc_comm_learn_from_board(struct ftc_comm *comm)
{
    const struct ftc_set *known = comm->board != NULL ? ftc_board_known(comm->board) : NULL;
    int rc = 0;

    for (int rank = 0; known != NULL && rc == 0 && (rank = ftc_set_next(known, rank)) >= 0; rank++)
        rc = ftc_member_notice(comm->member, rank);
    return rc;
}

void ftc_comm_leave_board(struct ftc_comm *comm)
{
    if (comm->board == NULL)
        return;
    ftc_member_skip(comm->member, ftc_board_operations(comm->board));
    ftc_progress_must(comm->process, ftc_comm_learn_from_board(comm));
    ftc_comm_outputs(comm);
}

/* The board is told a set that is the same at all ranks: what the last operation decided, or G if
 * it decided nothing, as a plain reduce does. Without failure_info.share, G knows no decision. */
void ftc_comm_return_to_board(struct ftc_comm *comm)
{
    struct ftc_member_report last;

    if (comm->board == NULL)
        return;
    ftc_member_report(comm->member, &last);
    ftc_board_decided(comm->board, ftc_member_next_op(comm->member),
                      last.spreads ? last.failed : ftc_member_agreed_failed(comm->member));
}

/* --- waiting --- */

bool ftc_comm_begin(struct ftc_comm *comm)
{
    int rc = ftc_member_begin(comm->member);

    ftc_progress_must(comm->process, rc < 0 ? rc : FTC_SUCCESS);
    return rc == 1;
}

#define LOOKS 4 /* between two steps of a caller that spins */

/* What is under way on a board rings no bell of the process. */
#define BOARD_LOOK_NS 100000

static uint64_t sleep_ns(const struct ftc_process *process, uint64_t longest_ns)
{
    uint64_t ns = ftc_progress_sleep_ns(process);

    if (ns > BOARD_LOOK_NS && atomic_load(&process->on_boards) > 0)
        ns = BOARD_LOOK_NS;
    return longest_ns > 0 && longest_ns < ns ? longest_ns : ns;
}

/* First announces the sleep, and only then looks at all that could end the wait. In the other order
 * a ring between the look and the sleep would be lost. False: its time was over. */
static bool sleep_once(struct ftc_comm *comm, const struct ftc_until *until)
{
    struct ftc_process *process = comm->process;

    ftc_algorithms_sleep(comm);
    if (until->passing != NULL)
        ftc_publish_passing(comm, until->passing);
    else
        ftc_publish_activity(comm, until->wait);
    ftc_publish_multicast(comm);
    ftc_reach_publish(process);
    int datagrams = ftc_runtime_multicast_fd(process);
    int messages = process->transport->ops->descriptor(process->transport);
    uint32_t expected = ftc_bell_prepare(&process->bell);
    /* A request that has moved on may have left work, and shows another wait. */
    bool rung = true,
         slept = !ftc_progress_ready(process) && !until->done(comm, until->arg) && !comm->moved;
    if (slept) {
        uint64_t ns = sleep_ns(process, until->longest_ns);
        ftc_turn_sleep(process);
        rung = ftc_bell_sleep(&process->bell, expected, ns, messages, datagrams);
        ftc_turn_awake(process);
    }
    ftc_bell_awake(&process->bell);
    if (slept && until->wait == FTC_WAIT_NOTHING && !ftc_progress_ready(process))
        ftc_job_look_for_mismatch(comm);
    return rung;
}

#define YIELDS_TO_NAP 1
#define NAPS          40 /* so many in a row bring nothing before a rank looks at the sockets */
#define NAP_NS        1000000

/* The rank sleeps on the futex, if there is still nothing but in sockets. False: its time was over.
 */
static bool rest(struct ftc_comm *comm, const struct ftc_until *until, uint32_t expected,
                 uint64_t ns)
{
    struct ftc_process *process = comm->process;
    uint64_t longest_ns = until->longest_ns;
    bool rung = true;

    if (!ftc_progress_ready_but_sockets(process) && !until->done(comm, until->arg) &&
        !comm->moved) {
        ns = sleep_ns(process, longest_ns > 0 && longest_ns < ns ? longest_ns : ns);
        ftc_turn_sleep(process);
        rung = ftc_bell_sleep(&process->bell, expected, ns, -1, -1);
        ftc_turn_awake(process);
    }
    ftc_bell_awake(&process->bell);
    return rung;
}

/* What is awaited comes by the memory of the node alone. So the rank sleeps without a look at the
 * sockets, which do not wake it, and for a short time. False: that was over. */
static bool nap(struct ftc_comm *comm, const struct ftc_until *until)
{
    ftc_algorithms_sleep(comm);
    return rest(comm, until, ftc_bell_prepare_nap(&comm->process->bell), NAP_NS);
}

/* Has this process requests of its caller under way? */
static bool has_requests(const struct ftc_process *process)
{
    const struct ftc_driven *driven = process->driven;

    while (driven != NULL && atomic_load(&((const struct ftc_comm *)driven)->requests) == 0)
        driven = driven->next;
    return driven != NULL;
}

/* Before the first of the other waits. Nothing but this call may be late by it: there are no other
 * callers, and no requests. True: it has dozed. */
static bool doze(struct ftc_comm *comm, const struct ftc_until *until)
{
    struct ftc_process *process = comm->process;

    if (!process->patience.naps || process->turn.inside > 1 || until->passing != NULL)
        return false;
    uint64_t ns = ftc_algorithms_doze(comm);
    if (ns == 0 || has_requests(process))
        return false;
    ftc_algorithms_sleep(comm);
    (void)rest(comm, until, ftc_bell_prepare_doze(&process->bell), ns);
    return true;
}

/* Spins until there is something to take in, or it is time for a step: a look takes a fraction of
 * the time of a step. */
static void look_again(struct ftc_process *process)
{
    for (int looks = 0; looks < LOOKS && !ftc_progress_ready(process); looks++)
        ftc_cpu_relax();
}

static bool is_time_to_nap(const struct ftc_process *process, int idle)
{
    const struct ftc_patience *patience = &process->patience;

    return patience->naps && idle > YIELDS_TO_NAP && idle <= YIELDS_TO_NAP + NAPS &&
           ftc_progress_awaits_memory(process);
}

/* A step of the driver. *idle is how many steps in a row did nothing. True: it has slept. */
static bool drive_once(struct ftc_comm *comm, const struct ftc_until *until, int *idle)
{
    const struct ftc_patience *patience = &comm->process->patience;
    bool moved = comm->moved;

    comm->moved = false;
    bool changed = ftc_progress_step(comm->process) || moved;
    ftc_turn_yield(comm->process, changed);
    if (changed) {
        *idle = 0;
        return false;
    }
    if (++*idle == 1 && doze(comm, until))
        return false;
    if (*idle <= patience->spins) {
        look_again(comm->process);
    } else if (is_time_to_nap(comm->process, *idle)) {
        if (!nap(comm, until))
            *idle = YIELDS_TO_NAP + NAPS;
    } else if (*idle <= patience->spins + patience->yields) {
        ftc_turn_give_way(comm->process);
    } else {
        /* Woken: others may be about to run, so it yields again before it sleeps. */
        *idle = patience->spins + (sleep_once(comm, until) ? 0 : patience->yields);
        return true;
    }
    return false;
}

bool ftc_comm_wait(struct ftc_comm *comm, const struct ftc_until *until)
{
    int idle = 0;
    bool drives = false, slept = false;

    comm->awaited = until->passing;
    while (!until->done(comm, until->arg)) {
        drives = drives || !ftc_turn_wait(comm->process, until->longest_ns);
        if (drives)
            slept |= drive_once(comm, until, &idle);
    }
    comm->awaited = NULL;
    if (drives)
        ftc_turn_pass(comm->process);
    return slept;
}
