/* The algorithms by messages among all ranks: exchange, direct and tree. They differ in how the
 * first ballot collects the contributions, which the member does (docs/design/agreement.md, rule
 * 2). */
#include "runtime/algorithms/table.h"
#include "runtime/comm/call.h"
#include "runtime/comm/flow_control.h"
#include "runtime/process/progress.h"
#include "runtime/comm/publish.h"

static int go(struct ftc_comm *comm, const struct ftc_call *call)
{
    int rc = ftc_member_call(comm->member, call);

    if (rc == FTC_ERR_NOMEM)
        ftc_comm_leave(comm, FTC_EXIT_INTERNAL, "out of memory");
    if (rc != 0)
        return rc;
    comm->under_way = &call->signature;
    ftc_publish_called(comm, ftc_member_next_op(comm->member));
    if (!comm->alone)
        ftc_algorithms_called(comm);
    ftc_flow_control_answer(comm);
    ftc_call_await_delivery(comm);
    return 0;
}

static int run(struct ftc_comm *comm, const struct ftc_call *call, void *receive)
{
    return ftc_call_agree(comm, call, receive, go);
}

const struct ftc_algorithm ftc_algorithm_messages = {.run = run};
