/* The queue of outputs, and the words of this object. */
#include <stdlib.h>

#include "collectives/communicators/internal.h"

int ftc_communicators_put(struct ftc_communicators *set,
                          const struct ftc_communicators_output *output)
{
    struct ftc_queued *queued = malloc(sizeof(*queued));

    if (queued == NULL)
        return FTC_ERR_NOMEM;
    *queued = (struct ftc_queued){.output = *output};
    ftc_buffer_ref(output->message);
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
        ftc_buffer_unref(queued->output.message);
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
    if (ftc_set_has(&set->known, to))
        return 0;
    struct ftc_buffer *message = ftc_buffer_new(FTC_FRAME_HEAD);
    if (message == NULL)
        return FTC_ERR_NOMEM;
    struct ftc_writer writer = {.data = message->data, .size = message->size};
    ftc_frame_write(&writer, FTC_FRAME_COMMUNICATOR, (uint16_t)word, number);
    int rc = ftc_communicators_put(
        set, &(struct ftc_communicators_output){
                 .kind = FTC_COMMUNICATORS_SEND, .number = number, .rank = to, .message = message});
    ftc_buffer_unref(message);
    return rc;
}

int ftc_communicator_say_all(struct ftc_communicator *c, enum ftc_communicator_word word)
{
    int rc = 0;

    for (int rank = 0; rc == 0 && rank < c->ranks; rank++)
        if (rank != c->self)
            rc = ftc_communicators_say(c->set, c->number, ftc_communicator_in_job(c, rank), word);
    return rc;
}
