/* The queue of a member's outputs. */
#include <stdlib.h>

#include "collectives/agreement/internal.h"

int ftc_member_output(struct ftc_member *m, const struct ftc_output *output)
{
    if (m->output_count == m->output_room) {
        /* 4 is enough for nearly all ranks of a large job. */
        int room = m->output_room == 0 ? 4 : 2 * m->output_room;
        struct ftc_output *grown = realloc(m->output, (size_t)room * sizeof(*grown));
        if (grown == NULL)
            return FTC_ERR_NOMEM;
        m->output = grown;
        m->output_room = room;
    }
    struct ftc_output *slot = &m->output[m->output_count++];
    *slot = *output;
    ftc_buffer_ref(slot->head);
    ftc_buffer_ref(slot->value.buffer);
    ftc_buffer_ref(slot->result.buffer);
    ftc_decision_ref(slot->decision);
    return 0;
}

static void output_drop(struct ftc_output *output)
{
    ftc_buffer_unref(output->head);
    ftc_buffer_unref(output->value.buffer);
    ftc_buffer_unref(output->result.buffer);
    ftc_decision_unref(output->decision);
    *output = (struct ftc_output){0};
}

const struct ftc_output *ftc_member_next_output(struct ftc_member *m)
{
    output_drop(&m->current);
    if (m->output_taken == m->output_count) {
        m->output_taken = m->output_count = 0;
        m->looked = (struct ftc_value){0}; /* the step is over */
        return NULL;
    }
    m->current = m->output[m->output_taken++];
    return &m->current;
}

void ftc_member_drop_outputs(struct ftc_member *m)
{
    output_drop(&m->current);
    while (m->output_taken < m->output_count)
        output_drop(&m->output[m->output_taken++]);
    free(m->output);
}
