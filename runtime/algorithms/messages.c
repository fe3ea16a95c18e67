/* The algorithms by messages among all ranks: exchange, direct and tree. They differ in how the
 * first ballot collects the contributions, which the member does (docs/design/agreement.md, rule
 * 2). */
#include "runtime/algorithms/table.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/flow_control.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/request.h"

enum { BEGINS, IS_DECIDED };

/* False: the call cannot be made. */
static bool begin(struct ftc_comm *comm, struct ftc_request *request)
{
    if (!ftc_request_decide(comm, request, request->call))
        return false;
    ftc_publish_called(comm, ftc_member_next_op(comm->member));
    if (!comm->process->alone)
        ftc_algorithms_called(comm);
    ftc_flow_control_answer(comm);
    ftc_comm_outputs(comm);
    request->stage = IS_DECIDED;
    return true;
}

static bool advance(struct ftc_comm *comm, struct ftc_request *request)
{
    if (request->stage == BEGINS) {
        if (!ftc_request_may_begin(comm, request))
            return false;
        if (!begin(comm, request))
            return true;
    }
    if (request->decided)
        ftc_publish_returned(comm);
    return request->decided;
}

const struct ftc_algorithm ftc_algorithm_messages = {.advance = advance};
