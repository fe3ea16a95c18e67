/* An output of a member that is kept until its turn: it holds the references in it. */
#ifndef FTC_SIM_COMMUNICATORS_HELD_H
#define FTC_SIM_COMMUNICATORS_HELD_H

#include "collectives/agreement/member.h"

static inline void ftc_comms_hold(struct ftc_output *output)
{
    ftc_buffer_ref(output->head);
    ftc_buffer_ref(output->value.buffer);
    ftc_buffer_ref(output->result.buffer);
    ftc_decision_ref(output->decision);
}

static inline void ftc_comms_let_go(struct ftc_output *output)
{
    ftc_buffer_unref(output->head);
    ftc_buffer_unref(output->value.buffer);
    ftc_buffer_unref(output->result.buffer);
    ftc_decision_unref(output->decision);
    *output = (struct ftc_output){0};
}

#endif
