/* The queue of outputs, the words of this object, and what members put out. */
#include <stdlib.h>

#include "collectives/communicators/internal.h"

static void take_references(struct ftc_output *output)
{
    ftc_buffer_ref(output->head);
    ftc_buffer_ref(output->value.buffer);
    ftc_buffer_ref(output->result.buffer);
    ftc_decision_ref(output->decision);
}

static void drop_references(struct ftc_output *output)
{
    ftc_buffer_unref(output->head);
    ftc_buffer_unref(output->value.buffer);
    ftc_buffer_unref(output->result.buffer);
    ftc_decision_unref(output->decision);
    *output = (struct ftc_output){0};
}

int ftc_communicators_put(struct ftc_communicators *set,
                          const struct ftc_communicators_output *output)
{
    struct ftc_queued *queued = malloc(sizeof(*queued));

    if (queued == NULL)
        return FTC_ERR_NOMEM;
    *queued = (struct ftc_queued){.output = *output};
    take_references(&queued->output.is);
    if (set->queue == NULL)
        set->queue = queued;
    else
        set->queue_last->next = queued;
    set->queue_last = queued;
    return 0;
}

static void queued_free(struct ftc_queued *queued)
{
    if (queued != NULL)
        drop_references(&queued->output.is);
    free(queued);
}

const struct ftc_communicators_output *ftc_communicators_next_output(struct ftc_communicators *set)
{
    queued_free(set->current);
    set->current = set->queue;
    if (set->current == NULL)
        return NULL;
    set->queue = set->current->next;
    return &set->current->output;
}

void ftc_communicators_drop_outputs(struct ftc_communicators *set)
{
    while (ftc_communicators_next_output(set) != NULL)
        ;
}

int ftc_communicator_put(struct ftc_communicator *c, enum ftc_communicators_output_kind kind,
                         uint64_t ticket)
{
    return ftc_communicators_put(
        c->set, &(struct ftc_communicators_output){
                    .kind = kind, .number = c->number, .communicator = c, .ticket = ticket});
}

/* --- words --- */

int ftc_communicators_say(struct ftc_communicators *set, uint64_t number, int to,
                          enum ftc_communicator_word word)
{
    struct ftc_communicators_output output = {.kind = FTC_COMMUNICATORS_MEMBER, .number = number};

    if (ftc_set_has(&set->known, to))
        return 0;
    struct ftc_buffer *head = ftc_buffer_new(FTC_FRAME_HEAD);
    if (head == NULL)
        return FTC_ERR_NOMEM;
    struct ftc_writer writer = {.data = head->data, .size = head->size};
    ftc_frame_write(&writer, FTC_FRAME_COMMUNICATOR, (uint16_t)word, number);
    output.is =
        (struct ftc_output){.kind = FTC_OUTPUT_SEND, .to = to, .head = head, .urgent = true};
    int rc = ftc_communicators_put(set, &output);
    ftc_buffer_unref(head);
    return rc;
}

int ftc_communicator_say_all(struct ftc_communicator *c, enum ftc_communicator_word word)
{
    int rc = 0;

    for (int rank = 0; rc == 0 && rank < c->ranks; rank++)
        if (rank != c->self)
            rc = ftc_communicators_say(c->set, c->number, c->job_rank[rank], word);
    return rc;
}

/* --- members --- */

/* The delivery of the call under way waits in c until the outputs behind it are in the queue. */
static void deliver(struct ftc_communicator *c, const struct ftc_output *output)
{
    c->done = true;
    c->delivered = *output;
    take_references(&c->delivered);
}

static int drain(struct ftc_communicator *c, struct ftc_member *member)
{
    const struct ftc_output *output;
    int rc = 0;

    while (rc == 0 && (output = ftc_member_next_output(member)) != NULL) {
        struct ftc_communicators_output out = {.kind = FTC_COMMUNICATORS_MEMBER,
                                               .number = c->number,
                                               .communicator = c,
                                               .is = *output};
        bool names_rank = output->kind == FTC_OUTPUT_SEND || output->kind == FTC_OUTPUT_ACCUSE ||
                          output->kind == FTC_OUTPUT_MISMATCH;
        if (names_rank)
            out.is.to = c->job_rank[output->to];
        if (output->kind == FTC_OUTPUT_DELIVER)
            deliver(c, output);
        else
            rc = ftc_communicators_put(c->set, &out);
    }
    return rc;
}

int ftc_communicator_drain(struct ftc_communicator *c)
{
    int rc = c->member != NULL ? drain(c, c->member) : 0;

    return rc == 0 && c->after != NULL ? drain(c, c->after) : rc;
}
