/* Negative acknowledgement: a rank that misses a fragment asks the root, which answers as long as
 * it lives. */
#include "sim/baseline/engine.h"

static int start(struct ftc_baseline_engine *e)
{
    int rc = e->n > 1 ? ftc_baseline_send_all(e, 0, 0, FTC_BASELINE_DATAGRAM) : 0;

    for (int rank = 1; rc == 0 && rank < e->n; rank++)
        if (!e->process[rank].dead)
            rc = ftc_baseline_wait(e, rank, 1);
    return rc;
}

/* Ask for all fragments before `end` that are missing: they were lost. */
static int ask_before(struct ftc_baseline_engine *e, int rank, int end)
{
    struct ftc_baseline_process *p = &e->process[rank];
    int rc = 0;

    for (; rc == 0 && p->looked < end; p->looked++) {
        uint8_t *have = ftc_baseline_have(e, rank, p->looked);
        if (*have != FTC_BASELINE_MISSING)
            continue;
        *have = FTC_BASELINE_ASKED;
        rc = ftc_baseline_send(e, rank, 0, FTC_BASELINE_NAK, p->looked);
    }
    return rc;
}

/* Datagrams do not overtake each other here, so a gap means a loss. A repair is an answer to a
 * request, so it shows no new gap. */
static int fragment(struct ftc_baseline_engine *e, int rank, int number)
{
    return ask_before(e, rank, number);
}

static int timeout(struct ftc_baseline_engine *e, int rank)
{
    return ask_before(e, rank, e->set->fragments);
}

static int answer(struct ftc_baseline_engine *e, int rank, int from, int number)
{
    return ftc_baseline_send(e, rank, from, FTC_BASELINE_REPAIR, number);
}

/* No rank waits for any rank but the root. */
static int notice(struct ftc_baseline_engine *e)
{
    (void)e;
    return 0;
}

const struct ftc_baseline_scheme ftc_baseline_negative = {.name = "nack",
                                                          .start = start,
                                                          .fragment = fragment,
                                                          .answer = answer,
                                                          .timeout = timeout,
                                                          .notice = notice};
