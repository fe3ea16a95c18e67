/* Questions and answers of flow control. */
#include "runtime/comm/flow.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sparse.h"
#include "base/wire.h"
#include "collectives/frame.h"

#define SIZE 24

enum { QUESTION, ANSWER };

/* What this rank knows of another rank. All members count operations. */
struct far {
    uint64_t called; /* the other rank has called at least so many, by its answers */
    uint64_t asked;  /* the greatest number that this rank has asked it for */
    uint64_t wants;  /* it waits until this rank has called so many; 0: it does not wait */
};

struct ftc_flow {
    uint64_t communicator;
    int waiting;           /* how many ranks have `wants` set */
    int last;              /* the rank that was asked last */
    struct ftc_sparse far; /* by rank: struct far */
};

int ftc_flow_create(struct ftc_flow **out, int ranks, uint64_t communicator)
{
    struct ftc_flow *flow = calloc(1, sizeof(*flow));

    if (flow == NULL || ftc_sparse_init(&flow->far, ranks, sizeof(struct far)) != FTC_SUCCESS) {
        free(flow);
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", ranks);
    }
    flow->communicator = communicator;
    *out = flow;
    return FTC_SUCCESS;
}

void ftc_flow_destroy(struct ftc_flow *flow)
{
    if (flow == NULL)
        return;
    ftc_sparse_fini(&flow->far);
    free(flow);
}

static struct ftc_buffer *encode(const struct ftc_flow *flow, int what, uint64_t number)
{
    struct ftc_buffer *message = ftc_buffer_new(SIZE);
    struct ftc_writer writer = {.size = SIZE};

    if (message == NULL)
        return NULL;
    writer.data = message->data;
    ftc_frame_write(&writer, FTC_FRAME_FLOW, (uint16_t)what, flow->communicator);
    ftc_write_align(&writer, 8);
    ftc_write_u64(&writer, number);
    assert(!writer.failed);
    return message;
}

uint64_t ftc_flow_called(const struct ftc_flow *flow, int rank)
{
    const struct far *far = ftc_sparse_find(&flow->far, rank);

    return far != NULL ? far->called : 0;
}

int ftc_flow_ask(struct ftc_flow *flow, int rank, uint64_t wanted, struct ftc_buffer **question)
{
    struct far *far = ftc_sparse_make(&flow->far, rank);

    *question = NULL;
    flow->last = rank;
    if (far != NULL && far->asked >= wanted)
        return FTC_SUCCESS;
    *question = far != NULL ? encode(flow, QUESTION, wanted) : NULL;
    if (*question == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a message to rank %d", rank);
    far->asked = wanted;
    return FTC_SUCCESS;
}

int ftc_flow_awaited(const struct ftc_flow *flow)
{
    const struct far *far = ftc_sparse_find(&flow->far, flow->last);

    return far != NULL && far->asked > far->called ? flow->last : -1;
}

/* wants 0: the rank does not wait any more. */
static void set_wants(struct ftc_flow *flow, struct far *far, uint64_t wants)
{
    flow->waiting += (wants != 0) - (far->wants != 0);
    far->wants = wants;
}

int ftc_flow_receive(struct ftc_flow *flow, int from, const struct ftc_buffer *message)
{
    struct ftc_reader reader = {.data = message->data, .size = message->size};
    uint64_t communicator;
    uint16_t what;
    int kind;
    bool sound = ftc_frame_read(&reader, &kind, &what, &communicator) && kind == FTC_FRAME_FLOW &&
                 communicator == flow->communicator;

    ftc_read_align(&reader, 8);
    uint64_t number = ftc_read_u64(&reader);
    if (!sound || reader.failed || reader.used != reader.size || what > ANSWER || number == 0)
        return ftc_error_set(FTC_ERR_PROTO, "%zu bytes are no message of flow control",
                             message->size);
    struct far *far = ftc_sparse_make(&flow->far, from);
    if (far == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a message of rank %d", from);
    if (what == QUESTION)
        set_wants(flow, far, number);
    else if (number > far->called)
        far->called = number;
    return FTC_SUCCESS;
}

int ftc_flow_answer(struct ftc_flow *flow, uint64_t called, struct ftc_buffer **answer)
{
    *answer = NULL;
    if (flow->waiting == 0)
        return -1;
    for (int rank = ftc_sparse_next(&flow->far, 0); rank >= 0;
         rank = ftc_sparse_next(&flow->far, rank + 1)) {
        struct far *far = ftc_sparse_find(&flow->far, rank);
        if (far->wants == 0 || far->wants > called)
            continue;
        *answer = encode(flow, ANSWER, called);
        if (*answer != NULL)
            set_wants(flow, far, 0);
        return rank;
    }
    return -1;
}

void ftc_flow_notice(struct ftc_flow *flow, int rank)
{
    struct far *far = ftc_sparse_find(&flow->far, rank);

    if (far == NULL)
        return;
    set_wants(flow, far, 0);
    far->asked = 0; /* it will not answer */
}
