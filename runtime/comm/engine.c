/* Carries out what the communicators of a process ask for. */
#include "runtime/comm/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/communicators/roll.h"
#include "runtime/comm/algorithm.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/finished.h"
#include "runtime/comm/list.h"
#include "runtime/comm/mover.h"
#include "runtime/comm/queue.h"
#include "runtime/comm/ranks.h"
#include "runtime/comm/request.h"
#include "runtime/comm/spare.h"
#include "runtime/process/progress.h"

struct ftc_comm_engine {
    struct ftc_process *process;
    struct ftc_communicators *set;
    struct ftc_comm *world;
    /* Communicators with an own call by messages, with a queue, or with operations on a board; and
     * those whose closing waits until all have left the board. */
    struct ftc_comm_list busy, leaving;
    /* The table of a communicator that was revoked, and of a temporary one. */
    const struct ftc_algorithm *messages[FTC_CHOICES + 1];
    /* That of the other children. */
    const struct ftc_algorithm **children;
};

#define LOOKS 4 /* at boards that this rank has left, in a step */

static struct ftc_comm *comm_of(const struct ftc_communicator *c)
{
    return ftc_communicator_engine(c);
}

static struct ftc_communicator *next(const struct ftc_comm_engine *engine,
                                     const struct ftc_communicator *c)
{
    return ftc_communicators_next(engine->set, c);
}

/* --- own calls --- */

static void watch(struct ftc_comm *comm)
{
    ftc_comm_list_put(&comm->process->engine->busy, comm);
    atomic_store(&comm->watched, true);
}

void ftc_comm_engine_queued(struct ftc_comm *comm)
{
    watch(comm);
    comm->process->works = true;
}

static void set_stage(struct ftc_comm *comm, enum ftc_own_stage stage)
{
    struct ftc_comm_engine *engine = comm->process->engine;

    comm->own.stage = stage;
    if (stage == FTC_OWN_LEAVES)
        ftc_comm_list_put(&engine->leaving, comm);
    else if (stage > FTC_OWN_BY_CALLER)
        ftc_comm_engine_queued(comm);
    else if (comm->list == &engine->leaving)
        ftc_comm_list_remove(comm);
}

static void deliver(struct ftc_comm *comm, int status, const struct ftc_set *failed,
                    const struct ftc_set *agreed, bool owes)
{
    struct ftc_communicator_delivery delivery = {.status = status,
                                                 .value = comm->own.value,
                                                 .size = comm->own.call.signature.size,
                                                 .failed = failed,
                                                 .agreed = agreed,
                                                 .owes = owes};

    set_stage(comm, FTC_OWN_NONE);
    ftc_progress_must(comm->process, ftc_communicator_delivered(comm->communicator, &delivery));
}

static void deliver_of_member(struct ftc_comm *comm)
{
    struct ftc_member_report report;

    ftc_member_report(comm->member, &report);
    deliver(comm, comm->own.request.status, report.failed, ftc_member_agreed_failed(comm->member),
            ftc_member_owes(comm->member));
}

void ftc_comm_engine_ran(struct ftc_comm *comm, int status)
{
    struct ftc_board_report report;

    if (comm->own.stage != FTC_OWN_BY_CALLER) /* a revoke has cut it off meanwhile */
        return;
    ftc_board_report(comm->board, &report);
    deliver(comm, status, report.failed, report.failed, false);
}

/* The board runs calls of callers alone. */
static void call(struct ftc_comm *comm, const struct ftc_communicators_output *output)
{
    struct ftc_own_call *own = &comm->own;
    size_t size = output->call.signature.size;
    bool by_caller = comm->board != NULL && !comm->agreeing && !ftc_comm_is_revoked(comm);

    /* A revoke frees what the call points to, also while the caller runs it on the board. */
    unsigned char *value = realloc(own->value, size > 0 ? 2 * size : 1);
    if (value == NULL)
        ftc_progress_must(comm->process, FTC_ERR_NOMEM);
    own->value = value;
    own->call = output->call;
    own->call.input = own->value + size;
    if (size > 0)
        memcpy(own->value + size, output->call.input, size);
    if (own->call.signature.kind == FTC_CALL_CLOSE && comm->left)
        set_stage(comm, FTC_OWN_LEAVES);
    else
        set_stage(comm, by_caller ? FTC_OWN_BY_CALLER : FTC_OWN_BEGINS);
}

/* True: the closing is delivered, or goes on as an agreement after a revoke. */
static bool advance_closing(struct ftc_comm *comm)
{
    if (!ftc_comm_all_have_left(comm))
        return false;
    if (ftc_board_file_is_revoked(comm->file))
        ftc_progress_must(comm->process, ftc_communicator_found_revoked(comm->communicator));
    else
        deliver(comm, FTC_SUCCESS, NULL, NULL, false);
    return true;
}

/* True: it is done. Level records are of the communicator before its revoke, so own calls go one
 * level. */
static bool advance(struct ftc_comm *comm)
{
    struct ftc_own_call *own = &comm->own;

    if (own->stage == FTC_OWN_BEGINS) {
        if (!ftc_comm_begin(comm)) {
            ftc_comm_outputs(comm);
            return false;
        }
        ftc_request_start(comm, &own->request, &own->call, own->value, FTC_CHOICE_EXCHANGE);
        set_stage(comm, FTC_OWN_UNDER_WAY);
    }
    return own->stage == FTC_OWN_UNDER_WAY && ftc_request_advance(comm, &own->request);
}

/* A few in turn: there may be thousands of them, and no caller waits for one. */
static bool advance_leaving(struct ftc_comm_engine *engine)
{
    size_t looks = engine->leaving.count < LOOKS ? engine->leaving.count : LOOKS;

    for (size_t i = 0; i < looks; i++) {
        struct ftc_comm *comm = engine->leaving.first;
        ftc_comm_list_put(&engine->leaving, comm);
        if (advance_closing(comm))
            return true;
    }
    return false;
}

static bool has_messages(const struct ftc_comm *comm)
{
    return comm->own.stage > FTC_OWN_BY_CALLER || comm->queue.first != NULL;
}

/* A caller that starts an operation on the board first counts it, and then sees whether it is
 * watched. This stops to watch first, and then sees whether there is an operation. */
static void rest(struct ftc_comm *comm)
{
    atomic_store(&comm->watched, false);
    if (atomic_load(&comm->on_board) == 0)
        ftc_comm_list_remove(comm);
    else
        atomic_store(&comm->watched, true);
}

/* Delivers an own call that is done, or ends an operation of a queue or of a board. False: there is
 * none. */
static bool advance_one(struct ftc_comm_engine *engine)
{
    bool works = false;

    for (struct ftc_comm *comm = engine->busy.first, *behind; comm != NULL; comm = behind) {
        behind = comm->behind;
        works |= has_messages(comm);
        if (!has_messages(comm) && !ftc_mover_has_work(comm))
            rest(comm);
        if (advance(comm)) {
            deliver_of_member(comm);
            return true;
        }
        if (ftc_queue_advance(comm))
            return true;
    }
    engine->process->works = works;
    return advance_leaving(engine);
}

/* --- outputs --- */

/* C3: all members have left that communicator, and so its closing is delivered. */
static void end_closing(struct ftc_comm_engine *engine, uint64_t number)
{
    const struct ftc_communicator *c = ftc_communicators_find(engine->set, number);

    if (c != NULL && comm_of(c)->own.stage == FTC_OWN_LEAVES)
        deliver(comm_of(c), FTC_SUCCESS, NULL, NULL, false);
}

static void begin(struct ftc_comm_engine *engine, const struct ftc_communicators_output *output)
{
    struct ftc_communicator *c = output->communicator;
    bool temporary = ftc_communicator_is_temporary(output->number);
    struct ftc_comm_setup setup = {.number = output->number,
                                   .rank = ftc_communicator_self(c),
                                   .size = ftc_communicator_size(c),
                                   .job_ranks = ftc_communicator_job_ranks(c),
                                   .by_messages = temporary,
                                   .agreed = output->agreed,
                                   .communicator = c};
    struct ftc_comm *comm;

    setup.file = ftc_spare_take(engine->process, output->spare, setup.size, setup.job_ranks);
    ftc_progress_must(engine->process,
                      ftc_comm_open(&comm, engine->process, &setup,
                                    temporary ? engine->messages : engine->children));
    ftc_communicator_attach(c, comm);
    if (comm->use > 1)
        end_closing(engine, output->spare);
    if (!temporary)
        ftc_progress_must(engine->process, ftc_communicators_opened(engine->set, output->number,
                                                                    !comm->lacks_memory));
}

/* The started call of this ticket. NULL: it is a closing, or its request has ended. */
static struct ftc_started_call *started_of(const struct ftc_comm_engine *engine, uint64_t ticket)
{
    for (struct ftc_communicator *c = NULL; (c = next(engine, c)) != NULL;) {
        struct ftc_comm *comm = comm_of(c);
        if (comm != NULL && comm->started != NULL && comm->started->ticket == ticket)
            return comm->started;
        if (comm != NULL && comm->started_group != NULL && comm->started_group->ticket == ticket)
            return comm->started_group;
    }
    return NULL;
}

/* C9: what runs the agreements of comm. */
static struct ftc_comm *agreements_of(struct ftc_comm_engine *engine, struct ftc_comm *comm)
{
    ftc_progress_must(engine->process, ftc_comm_open_agreements(comm, engine->messages));
    return comm->agreements;
}

static void call_agreement(struct ftc_comm_engine *engine, struct ftc_comm *comm,
                           const struct ftc_communicators_output *output)
{
    struct ftc_comm *agreements = agreements_of(engine, comm);

    agreements->recording = comm->recording;
    call(agreements, output);
}

/* The result of an agree, before anything else is called. */
static void take_agreement(struct ftc_started_call *started, const struct ftc_comm *agreements)
{
    const struct ftc_own_call *own = &agreements->own;
    size_t size = own->call.signature.size;

    started->flag = ftc_roll_flag(own->value, size, agreements->size);
    started->unrecognized = ftc_roll_has_unrecognized(own->value, size, agreements->size,
                                                      ftc_finished_failed(agreements));
}

static void end_started(struct ftc_comm_engine *engine,
                        const struct ftc_communicators_output *output, int status)
{
    struct ftc_started_call *started = started_of(engine, output->ticket);

    ftc_spare_drop_offered(engine->process, output->ticket);
    if (started == NULL)
        return;
    if (output->kind == FTC_COMMUNICATORS_DELIVERED)
        take_agreement(started, comm_of(output->communicator)->agreements);
    started->ended = true;
    started->status = status;
    started->child = output->child != NULL ? comm_of(output->child) : NULL;
    if (started->child != NULL)
        started->child->wish = started->wish;
    engine->process->delivered = true;
}

static void created(struct ftc_comm_engine *engine, const struct ftc_communicators_output *output)
{
    struct ftc_comm *child = output->child != NULL ? comm_of(output->child) : NULL;

    end_started(engine, output, output->status);
    if (child == NULL)
        return;
    if (child->file != NULL)
        ftc_board_file_unlink(child->file);
    if (ftc_communicator_by_messages(output->child))
        ftc_comm_by_messages(child);
    if (!ftc_communicator_is_temporary(output->number))
        child->parent = output->number;
    child->opened = true;
}

static void revoked(struct ftc_comm_engine *engine, struct ftc_comm *comm)
{
    /* The last report stays that of the last operation that has ended. If there is a board, it has
     * that report, and its caller may be in a call. */
    if ((comm->board == NULL || comm->agreeing) && comm->ran >= 0)
        ftc_finished_hold(comm);
    ftc_spare_drop_of(engine->process, comm->number);
    set_stage(comm, FTC_OWN_NONE);
    ftc_comm_detour(comm, FTC_DETOUR_REVOKED, true);
    /* The owner of a request that this ends comes back to its caller by the lock (api/wait.c,
     * show()). So it does not free its memory before the algorithms let go of it. */
    ftc_queue_cut_off(comm);
    ftc_algorithms_revoke(comm);
    comm->algorithms = engine->messages;
    ftc_progress_must(engine->process, ftc_comm_cut_off(comm));
    if (!ftc_communicator_is_temporary(comm->number))
        (void)agreements_of(engine, comm);
    /* It never had a caller. Others may be in a call on its board: they must find *revoked* before
     * they find that this rank has left. */
    if (!comm->opened || comm->left)
        ftc_comm_close_board(comm);
}

/* The world is closed by ftc_comm_engine_close(). */
static void forget(struct ftc_comm_engine *engine, struct ftc_communicator *c)
{
    struct ftc_comm *comm = comm_of(c);

    if (comm == NULL)
        return;
    set_stage(comm, FTC_OWN_NONE);
    ftc_spare_drop_of(engine->process, comm->number);
    comm->communicator = NULL;
    if (comm->agreements != NULL) /* a closing may be under way there, which GONE has ended */
        ftc_comm_close(comm->agreements);
    comm->agreements = NULL;
    if (comm != engine->world)
        ftc_comm_close(comm);
}

_Noreturn static void mismatch(struct ftc_comm_engine *engine, const struct ftc_comm *comm)
{
    char words[160];

    snprintf(words, sizeof(words),
             "communicator %s: ranks call ftc_agree(), and ftc_comm_shrink() and "
             "ftc_validate_global() after a revoke, in different orders",
             comm->name);
    ftc_process_end_job(engine->process, FTC_EXIT_MISMATCH, words);
}

static void send(struct ftc_comm_engine *engine, const struct ftc_communicators_output *output)
{
    struct ftc_transport *transport = engine->process->transport;

    ftc_progress_must(engine->process,
                      transport->ops->send(transport, output->rank, output->message, NULL, true));
    ftc_drill_pass(&engine->process->drill, FTC_DRILL_SEND);
}

static void take(struct ftc_comm *comm, const struct ftc_communicators_output *output)
{
    comm->driven.ops->receive(&comm->driven, output->rank, output->message);
}

/* L of comm names the rank, too. */
static void lost(struct ftc_comm *comm, int rank)
{
    comm->driven.ops->notice(&comm->driven, rank);
    comm->agreements->driven.ops->notice(&comm->agreements->driven, rank);
}

static void carry_out(struct ftc_comm_engine *engine, const struct ftc_communicators_output *output)
{
    struct ftc_comm *comm = output->communicator != NULL ? comm_of(output->communicator) : NULL;

    switch (output->kind) {
    case FTC_COMMUNICATORS_SEND:
        send(engine, output);
        break;
    case FTC_COMMUNICATORS_BEGIN:
        begin(engine, output);
        break;
    case FTC_COMMUNICATORS_TAKE:
        take(output->after ? agreements_of(engine, comm) : comm, output);
        break;
    case FTC_COMMUNICATORS_CALL:
        if (output->after)
            call_agreement(engine, comm, output);
        else
            call(comm, output);
        break;
    case FTC_COMMUNICATORS_DELIVERED:
        end_started(engine, output, FTC_SUCCESS);
        break;
    case FTC_COMMUNICATORS_CREATED:
        created(engine, output);
        break;
    case FTC_COMMUNICATORS_CUT_OFF:
        end_started(engine, output, FTC_ERR_REVOKED);
        break;
    case FTC_COMMUNICATORS_REVOKED:
        revoked(engine, comm);
        break;
    case FTC_COMMUNICATORS_LOST:
        lost(comm, output->rank);
        break;
    case FTC_COMMUNICATORS_FORGET:
        forget(engine, output->communicator);
        break;
    case FTC_COMMUNICATORS_MISMATCH:
        mismatch(engine, comm);
    }
}

/* False: there was none. */
static bool carry_out_all(struct ftc_comm_engine *engine)
{
    const struct ftc_communicators_output *output;
    bool any = false;

    while ((output = ftc_communicators_next_output(engine->set)) != NULL) {
        carry_out(engine, output);
        any = true;
    }
    return any;
}

bool ftc_comm_engine_settle(struct ftc_process *process)
{
    struct ftc_comm_engine *engine = process->engine;
    bool any = false;

    /* Advancing may have given an input, whose outputs come before any other input. */
    while (carry_out_all(engine) || advance_one(engine) || carry_out_all(engine))
        any = true;
    return any;
}

/* --- what the process takes in --- */

/* C8: a message of an operation that a revoke has cut off. */
static bool is_cut_off(const struct ftc_comm_engine *engine, const struct ftc_buffer *message)
{
    uint64_t number = ftc_frame_communicator(message);
    const struct ftc_communicator *c = ftc_communicators_find(engine->set, number);

    return c != NULL && ftc_frame_kind(message) != FTC_FRAME_COMMUNICATOR &&
           (ftc_communicator_is_revoked(c) || ftc_communicator_is_temporary(number));
}

/* A message that is of no communicator that the process drives. */
static void receive(struct ftc_process *process, int from, struct ftc_buffer *message)
{
    struct ftc_comm *world = process->engine->world;
    const struct ftc_algorithm *owner = ftc_algorithms_owner(world, message);

    if (is_cut_off(process->engine, message))
        return;
    if (owner != NULL && owner->of_world) { /* it judges a damaged number by itself */
        world->driven.ops->receive(&world->driven, from, message);
        return;
    }
    int rc = ftc_communicators_receive(process->engine->set, from, message);

    if (rc == FTC_ERR_PROTO)
        ftc_progress_accuse(process, from, "sent a damaged message");
    else
        ftc_progress_must(process, rc);
}

static void notice(struct ftc_process *process, int rank)
{
    ftc_progress_must(process, ftc_communicators_notice(process->engine->set, rank));
}

static const struct ftc_comm_engine_ops ops = {
    .receive = receive, .notice = notice, .after = ftc_comm_engine_settle, .watch = watch};

/* --- life --- */

/* FTC_ERR_NOMEM. */
static int choose_algorithms(struct ftc_comm_engine *engine,
                             const struct ftc_algorithm *const *algorithms)
{
    engine->children = ftc_algorithms_of_children(algorithms);
    if (engine->children == NULL)
        return FTC_ERR_NOMEM;
    for (int id = 0; id < FTC_CHOICES; id++)
        engine->messages[id] = algorithms[FTC_CHOICE_TREE];
    return FTC_SUCCESS;
}

int ftc_comm_engine_open(struct ftc_comm **world, struct ftc_process *process,
                         const struct ftc_algorithm *const *algorithms)
{
    struct ftc_comm_engine *engine = calloc(1, sizeof(*engine));

    if (engine == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator");
    engine->process = process;
    process->engine = engine;
    if (choose_algorithms(engine, algorithms) != 0 ||
        ftc_communicators_new(&engine->set, process->size, process->rank) != 0) {
        ftc_comm_engine_close(process);
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator");
    }
    process->engine_ops = &ops;
    struct ftc_communicator *c = ftc_communicators_world(engine->set);
    struct ftc_comm_setup setup = {.number = FTC_COMMUNICATOR_WORLD,
                                   .rank = process->rank,
                                   .size = process->size,
                                   .communicator = c};
    int rc = ftc_comm_open(&engine->world, process, &setup, algorithms);
    if (rc != 0) {
        ftc_comm_engine_close(process);
        return rc;
    }
    engine->world->opened = true;
    ftc_communicator_attach(c, engine->world);
    *world = engine->world;
    return FTC_SUCCESS;
}

/* What is left is of a job that ends by an error. */
void ftc_comm_engine_close(struct ftc_process *process)
{
    struct ftc_comm_engine *engine = process->engine;

    for (struct ftc_communicator *c = NULL; engine->set != NULL && (c = next(engine, c)) != NULL;)
        if (comm_of(c) != NULL && comm_of(c) != engine->world)
            ftc_comm_close(comm_of(c));
    if (engine->world != NULL)
        ftc_comm_close(engine->world);
    ftc_spare_drop_of(process, 0);
    ftc_communicators_free(engine->set);
    free(engine->children);
    free(engine);
    process->engine = NULL;
}

struct ftc_comm *ftc_comm_engine_world(const struct ftc_process *process)
{
    return process->engine->world;
}

struct ftc_communicators *ftc_comm_engine_set(const struct ftc_process *process)
{
    return process->engine->set;
}

bool ftc_comm_engine_is_world_alone(const struct ftc_process *process)
{
    const struct ftc_communicator *first = next(process->engine, NULL);

    return first == NULL || next(process->engine, first) == NULL;
}

bool ftc_comm_engine_is_over(const struct ftc_process *process)
{
    return next(process->engine, NULL) == NULL;
}
