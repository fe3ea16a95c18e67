/*
 * The one timer of a member. A member reads no clock: each wait knows the time that is left to it,
 * and loses the whole delay of the timer when that fires.
 */
#include "collectives/agreement/internal.h"

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

uint64_t ftc_timer_need(const struct ftc_member *m)
{
    uint64_t need = 0;

    for (const struct ftc_operation *op = m->oldest; op != NULL; op = op->next) {
        if (op->ballot.spread.pace == FTC_PACE_TICK)
            need = sooner(need, m->set.correction_delay_ns);
        if (op->ballot.spread.patience_ns > 0)
            need = sooner(need, m->set.patience_ns);
        need = sooner(need, op->ballot.straggler_ns);
    }
    return need;
}

int ftc_timer_arm(struct ftc_member *m)
{
    uint64_t need = m->ticking ? 0 : ftc_timer_need(m);

    if (need == 0 || (m->timer_ns > 0 && m->timer_ns <= need))
        return 0;
    m->timer_ns = need;
    return ftc_member_output(m, &(struct ftc_output){.kind = FTC_OUTPUT_TIMER, .delay_ns = need});
}

uint64_t ftc_timer_from_now(const struct ftc_member *m, uint64_t delay_ns)
{
    return m->timer_ns <= delay_ns ? delay_ns + m->timer_ns : delay_ns;
}
