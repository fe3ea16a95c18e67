/* The calls that make communicators, and give them up. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "runtime/algorithms/table.h"
#include "runtime/api/call.h"
#include "runtime/api/making.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/finished.h"
#include "runtime/comm/mover.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/ranks.h"
#include "runtime/comm/spare.h"
#include "runtime/process/progress.h"
#include "runtime/process/turn.h"

_Static_assert(FTC_UNDEFINED == FTC_COLOR_UNDEFINED, "the colors of callers are those of rolls");

/* --- creations --- */

const struct ftc_signature *ftc_making_signature(enum ftc_creation creation)
{
    static const struct ftc_signature signatures[] = {
        [FTC_CREATION_DUP] = {.kind = FTC_HISTORY_DUP, .root = -1},
        [FTC_CREATION_SPLIT] = {.kind = FTC_HISTORY_SPLIT, .root = -1},
        [FTC_CREATION_SHRINK] = {.kind = FTC_HISTORY_SHRINK, .root = -1},
        [FTC_CREATION_GROUP] = {.kind = FTC_CALL_CREATE, .root = -1}};

    return &signatures[creation];
}

bool ftc_color_is_sound(int color)
{
    if (color < 0 && color != FTC_UNDEFINED)
        ftc_error_set(FTC_ERR_ARG, "color %d is below 0, and not FTC_UNDEFINED", color);
    return color >= 0 || color == FTC_UNDEFINED;
}

static bool is_group(const struct ftc_making *making)
{
    return making->call == NULL && making->creation == FTC_CREATION_GROUP;
}

static bool is_agree(const struct ftc_making *making)
{
    return making->call != NULL && making->call->signature.kind == FTC_CALL_AGREE;
}

int ftc_making_start(struct ftc_comm *comm, struct ftc_making *making)
{
    struct ftc_communicator *c = comm->communicator;
    uint64_t *ticket = &making->started.ticket;
    uint64_t wish = (uint64_t)making->creation << 32 | (uint32_t)making->color;

    making->started = (struct ftc_started_call){
        .wish = wish, .after = ftc_comm_is_revoked(comm) || is_agree(making)};
    if (is_group(making))
        comm->started_group = &making->started;
    else
        comm->started = &making->started;

    uint64_t spare = making->call == NULL && !is_group(making) ? ftc_spare_offer(comm, wish) : 0;
    int rc = making->call != NULL ? ftc_communicator_start(c, making->call, ticket)
             : is_group(making)   ? ftc_communicator_create_group(c, making->count, making->ranks,
                                                                  making->tag, ticket)
                                  : ftc_communicator_create(c, making->creation, making->color,
                                                            making->key, spare, ticket);
    if (rc == FTC_SUCCESS && spare != 0)
        ftc_spare_offered(comm->process, spare, *ticket);
    if (rc == FTC_ERR_NOMEM) /* the lifecycle cannot go on */
        ftc_progress_must(comm->process, rc);
    return rc;
}

/* Has the call ended, or has the caller to run comm->own.call on the board? The creation of a group
 * has no call of this communicator. */
static bool has_ended(struct ftc_comm *comm, void *arg)
{
    const struct ftc_making *making = arg;

    return making->started.ended || (!is_group(making) && comm->own.stage == FTC_OWN_BY_CALLER);
}

/* Runs an operation of the creation on the board of the parent, without the lock. */
static void run_on_board(struct ftc_comm *comm)
{
    ftc_call_leave(comm);
    int rc = ftc_board_run(comm, &comm->own.call, comm->own.value);
    ftc_call_enter(comm);
    if (rc == FTC_ERR_REVOKED)
        ftc_comm_engine_told(comm);
    else
        ftc_comm_engine_ran(comm, rc);
    ftc_comm_engine_settle(comm->process);
}

/* With the lock, which it gives up while it waits. */
static int run(struct ftc_comm *comm, struct ftc_making *making)
{
    int rc = ftc_making_start(comm, making);

    if (rc != FTC_SUCCESS)
        return rc;
    ftc_comm_engine_settle(comm->process);
    /* It was begun by then, unless the call has ended. */
    struct ftc_comm *runs =
        making->started.after && comm->agreements != NULL ? comm->agreements : comm;
    while (!making->started.ended) {
        if (!has_ended(runs, making))
            ftc_comm_wait(runs, &(struct ftc_until){.done = has_ended, .arg = making});
        if (!making->started.ended)
            run_on_board(comm);
    }
    return making->started.status;
}

static bool has_requests(const struct ftc_comm *comm)
{
    return ftc_comm_has_queue(comm) || ftc_mover_has_work(comm);
}

/* Nothing that was started before is under way. */
static void take_communicator(struct ftc_comm *comm)
{
    ftc_finished_show(comm, NULL);
    if (ftc_comm_is_revoked(comm))
        ftc_comm_close_board(comm);
    ftc_publish_record(comm);
}

/* The communicator is that of the caller (ftc_call_begin()). The creation of a group is no
 * operation of it, so it does not wait for requests (communicators.md, C11). */
static int run_recorded(struct ftc_comm *comm, struct ftc_making *making,
                        const struct ftc_signature *signature)
{
    uint64_t number = ftc_call_starts(comm, signature);

    if (is_group(making))
        ftc_publish_queued(comm);
    else
        ftc_call_drain(comm);
    ftc_call_enter(comm);
    if (!is_group(making) || !has_requests(comm))
        take_communicator(comm);
    bool untold = ftc_comm_is_revoked(comm) && !is_agree(making) &&
                  !ftc_comm_is_told(comm); /* C8: it learns of it by this call */
    int rc = untold ? FTC_ERR_REVOKED : run(comm, making);
    if (rc == FTC_SUCCESS && making->started.after)
        ftc_finished_take(comm, comm->agreements);
    if (is_group(making))
        comm->started_group = NULL;
    else
        comm->started = NULL;
    ftc_call_leave(comm);
    rc = ftc_call_ends(comm, signature, number, rc);
    return rc == FTC_ERR_REVOKED ? ftc_call_revoked(comm) : rc;
}

int ftc_making_agree(struct ftc_comm *comm, struct ftc_making *making)
{
    return run_recorded(comm, making, &making->call->signature);
}

static int make(struct ftc_comm *comm, struct ftc_making *making, ftc_comm **out)
{
    int rc = ftc_call_check(comm);

    if (rc == FTC_SUCCESS && out == NULL)
        rc = ftc_error_set(FTC_ERR_ARG, "there is no place for the new communicator");
    if (rc == FTC_SUCCESS)
        rc = ftc_call_begin(comm);
    if (rc != FTC_SUCCESS)
        return rc;
    rc = run_recorded(comm, making, ftc_making_signature(making->creation));
    if (rc == FTC_SUCCESS)
        *out = making->started.child;
    return ftc_call_end(comm, rc);
}

FTC_API int ftc_comm_dup(ftc_comm *comm, ftc_comm **copy)
{
    return make(comm, &(struct ftc_making){.creation = FTC_CREATION_DUP}, copy);
}

FTC_API int ftc_comm_split(ftc_comm *comm, int color, int key, ftc_comm **part)
{
    if (!ftc_color_is_sound(color))
        return FTC_ERR_ARG;
    return make(comm,
                &(struct ftc_making){.creation = FTC_CREATION_SPLIT, .color = color, .key = key},
                part);
}

FTC_API int ftc_comm_shrink(ftc_comm *comm, ftc_comm **survivors)
{
    return make(comm, &(struct ftc_making){.creation = FTC_CREATION_SHRINK}, survivors);
}

FTC_API int ftc_comm_create(ftc_comm *comm, int count, const int ranks[], int tag, ftc_comm **group)
{
    if (count < 1 || ranks == NULL)
        return ftc_error_set(FTC_ERR_ARG, "a group has one rank or more");
    return make(comm,
                &(struct ftc_making){
                    .creation = FTC_CREATION_GROUP, .count = count, .ranks = ranks, .tag = tag},
                group);
}

/* --- giving up --- */

FTC_API int ftc_comm_free(ftc_comm **comm)
{
    static const struct ftc_signature signature = {.kind = FTC_HISTORY_FREE, .root = -1};
    int rc = comm == NULL ? ftc_error_set(FTC_ERR_ARG, "there is no communicator to free")
                          : ftc_call_check(*comm);

    if (rc != FTC_SUCCESS)
        return rc;
    struct ftc_comm *world = ftc_comm_engine_world((*comm)->process);
    if (*comm == world)
        return ftc_error_set(FTC_ERR_ARG, "the world is freed by ftc_finalize()");
    rc = ftc_call_begin(*comm);
    if (rc != FTC_SUCCESS)
        return rc;
    if ((*comm)->requests > 0)
        return ftc_call_end(*comm, ftc_error_set(FTC_ERR_STATE,
                                                 "wait for the %d requests of communicator %s "
                                                 "before you free it",
                                                 (*comm)->requests, (*comm)->name));
    ftc_call_enter(*comm);
    ftc_publish_done(*comm, &signature);
    ftc_comm_engine_free(world->process, *comm);
    ftc_call_leave_process(world->process);
    *comm = NULL;
    return FTC_SUCCESS;
}

FTC_API int ftc_comm_revoke(ftc_comm *comm)
{
    int rc = ftc_call_check(comm);

    if (rc != FTC_SUCCESS)
        return rc;
    ftc_call_enter(comm);
    ftc_comm_engine_revoke(comm);
    ftc_call_leave_process(comm->process);
    return FTC_SUCCESS;
}

/* --- looking --- */

FTC_API int ftc_comm_translate(const ftc_comm *from, int rank, const ftc_comm *to)
{
    int rc = ftc_call_check_comm(from);

    if (rc == FTC_SUCCESS)
        rc = ftc_call_check_comm(to);
    if (rc == FTC_SUCCESS && (rank < 0 || rank >= from->size))
        rc = ftc_error_set(FTC_ERR_ARG, "rank %d is outside 0..%d", rank, from->size - 1);
    if (rc != FTC_SUCCESS)
        return rc;
    rank = ftc_comm_rank_of(to, ftc_comm_job_rank(from, rank));
    return rank >= 0 ? rank : FTC_UNDEFINED;
}

FTC_API int ftc_comm_set_name(ftc_comm *comm, const char *name)
{
    int rc = ftc_call_check(comm);

    if (rc == FTC_SUCCESS && (name == NULL || name[0] == '\0'))
        rc = ftc_error_set(FTC_ERR_ARG, "a name has one byte or more");
    if (rc == FTC_SUCCESS)
        rc = ftc_call_begin(comm);
    if (rc != FTC_SUCCESS)
        return rc;
    ftc_turn_lock(comm->process); /* the library's thread may show it */
    snprintf(comm->name, sizeof(comm->name), "%s", name);
    ftc_turn_unlock(comm->process);
    return ftc_call_end(comm, FTC_SUCCESS);
}

FTC_API const char *ftc_comm_name(const ftc_comm *comm)
{
    return ftc_call_check_comm(comm) == FTC_SUCCESS ? comm->name : "";
}
