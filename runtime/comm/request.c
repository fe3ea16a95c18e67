/* Requests: operations from their call to their result. */
#include "runtime/comm/request.h"

#include "runtime/comm/algorithm.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/flow_control.h"
#include "runtime/comm/publish.h"
#include "runtime/process/progress.h"

void ftc_request_start(struct ftc_comm *comm, struct ftc_request *request,
                       const struct ftc_call *call, void *receive, enum ftc_choice_id from)
{
    enum ftc_choice_id id = ftc_choice_of(&comm->choice, &call->signature, from);

    *request =
        (struct ftc_request){.call = call, .receive = receive, .algorithm = comm->algorithms[id]};
    ftc_publish_ran(comm, (int)id);
    comm->signature = call->signature;
    if (from <= FTC_CHOICE_RING) /* else it is a part of a large value */
        comm->lost = 0;
    ftc_comm_expect_delivery(comm);
    ftc_flow_control_note(comm, call);
}

bool ftc_request_advance(struct ftc_comm *comm, struct ftc_request *request)
{
    int stage = request->stage;
    bool done = request->algorithm->advance(comm, request);

    comm->moved = comm->moved || request->stage != stage;
    return done;
}

bool ftc_request_may_begin(struct ftc_comm *comm, struct ftc_request *request)
{
    request->wants_room = !ftc_flow_control_has_room(comm, request->call);
    if (request->wants_room)
        return false;
    ftc_progress_failures(comm->process);
    if (!ftc_comm_begin(comm))
        return false;
    ftc_history_started(comm->recording);
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_CALL);
    return true;
}

bool ftc_request_decide(struct ftc_comm *comm, struct ftc_request *request,
                        const struct ftc_call *call)
{
    int rc = ftc_member_call(comm->member, call);

    if (rc == 0) {
        comm->deciding = request;
        return true;
    }
    if (rc == FTC_ERR_NOMEM)
        ftc_process_leave(comm->process, FTC_EXIT_INTERNAL, "out of memory");
    comm->driven.waits = false;
    request->status = rc;
    return false;
}

/* --- waiting for a request --- */

struct wait {
    struct ftc_request *request;
    bool done;
    struct ftc_until until;
};

static bool is_done(struct ftc_comm *comm, void *arg)
{
    struct wait *wait = arg;

    if (ftc_comm_is_revoked(comm)) {
        wait->request->status = FTC_ERR_REVOKED;
        return true;
    }
    wait->done = wait->done || ftc_request_advance(comm, wait->request);
    if (wait->done)
        return true;
    bool room = wait->request->wants_room, held = ftc_member_held_back(comm->member);
    wait->until.wait = room ? FTC_WAIT_ROOM : held ? FTC_WAIT_SETTLEMENT : FTC_WAIT_NOTHING;
    wait->until.longest_ns = room ? FTC_ROOM_LOOK_NS : 0;
    return false;
}

static bool has_begun(struct ftc_comm *comm, void *arg)
{
    (void)arg;
    return ftc_comm_is_revoked(comm) || ftc_comm_begin(comm);
}

void ftc_request_begin(struct ftc_comm *comm)
{
    if (!ftc_comm_begin(comm))
        ftc_comm_wait(comm, &(struct ftc_until){.done = has_begun, .wait = FTC_WAIT_SETTLEMENT});
}

int ftc_request_run(struct ftc_comm *comm, const struct ftc_call *call, void *receive,
                    enum ftc_choice_id from)
{
    struct ftc_request request;
    struct wait wait = {.request = &request, .until = {.done = is_done, .arg = &wait}};

    ftc_request_begin(comm); /* the choice depends on G */
    if (ftc_comm_is_revoked(comm))
        return FTC_ERR_REVOKED;
    ftc_request_start(comm, &request, call, receive, from);
    ftc_comm_wait(comm, &wait.until);
    return request.status;
}
