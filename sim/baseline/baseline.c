/* A run of a baseline: checks settings, runs, gives the result. */
#include "sim/baseline/baseline.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mix.h"
#include "sim/baseline/engine.h"

static const struct ftc_baseline_scheme *const schemes[FTC_BASELINES] = {
    [FTC_BASELINE_LINEAR] = &ftc_baseline_linear,
    [FTC_BASELINE_TREE] = &ftc_baseline_tree,
    [FTC_BASELINE_CO_ROOT] = &ftc_baseline_co_root,
    [FTC_BASELINE_NEGATIVE] = &ftc_baseline_negative,
};

const char *ftc_baseline_name(enum ftc_baseline kind)
{
    return schemes[kind]->name;
}

static int check(const struct ftc_baseline_settings *set)
{
    if (set->ranks < 1 || set->ranks > FTC_BASELINE_RANKS_MAX)
        return ftc_error_set(FTC_ERR_ARG, "%d ranks; give 1 to %d", set->ranks,
                             FTC_BASELINE_RANKS_MAX);
    if (set->fragments < 1 || set->fragments > FTC_BASELINE_FRAGMENTS_MAX)
        return ftc_error_set(FTC_ERR_ARG, "%d fragments; give 1 to %d", set->fragments,
                             FTC_BASELINE_FRAGMENTS_MAX);
    if (!(set->loss >= 0 && set->loss <= 1))
        return ftc_error_set(FTC_ERR_ARG, "a loss of %g; give a probability, 0 to 1", set->loss);
    if (set->dead < 0 || set->dead >= set->ranks)
        return ftc_error_set(FTC_ERR_ARG, "%d dead of %d ranks; the root lives: give 0 to %d",
                             set->dead, set->ranks, set->ranks - 1);
    return 0;
}

/* Number of idle timeouts after which a rank counts as waiting for ever. A live receiver loses that
 * many datagrams in a row with probability 2^-96, that is, never. If the loss is certain, there is
 * no reason to go on. The least number is large enough that acknowledgements on their way do not
 * count as silence. */
static int patience(double loss)
{
    const int least = 16;

    return loss > 0 && loss < 1 ? (int)fmin(1e6, fmax(least, ceil(-96 / log2(loss)))) : least;
}

static void kill_some(struct ftc_baseline_engine *e)
{
    uint64_t random = ftc_mix(e->set->seed ^ 0x64656164);

    for (int left = e->set->dead; left > 0;) {
        random += UINT64_C(0x9e3779b97f4a7c15); /* SplitMix64 */
        struct ftc_baseline_process *p = &e->process[1 + ftc_mix(random) % (uint64_t)(e->n - 1)];
        left -= !p->dead;
        p->dead = true;
    }
}

static int init(struct ftc_baseline_engine *e)
{
    ftc_queue_init(&e->queue);
    e->process = calloc((size_t)e->n, sizeof(*e->process));
    e->have = calloc((size_t)e->n, (size_t)e->set->fragments);
    if (e->process == NULL || e->have == NULL)
        return FTC_ERR_NOMEM;
    for (int rank = 0; rank < e->n; rank++) {
        e->process[rank].wake = UINT64_MAX;
        e->process[rank].missing = rank == 0 ? 0 : e->set->fragments;
    }
    kill_some(e);
    return 0;
}

static void fini(struct ftc_baseline_engine *e)
{
    ftc_queue_fini(&e->queue);
    free(e->process);
    free(e->have);
    free(e->item);
}

static void conclude(struct ftc_baseline_engine *e)
{
    struct ftc_baseline_result *result = e->result;

    result->receivers = e->n - 1 - e->set->dead;
    result->mean = result->served > 0 ? e->sum / result->served : 0;
    if (e->gave_up && !result->complete)
        result->count = e->at_news;
}

static int run(const struct ftc_baseline_settings *set, uint64_t timeout,
               struct ftc_baseline_result *result)
{
    struct ftc_baseline_engine e = {.set = set,
                                    .scheme = schemes[set->kind],
                                    .n = set->ranks,
                                    .timeout = timeout,
                                    .patience = patience(set->loss),
                                    .result = result};

    *result = (struct ftc_baseline_result){.timeout = timeout};
    int rc = init(&e);
    if (rc == 0)
        rc = ftc_baseline_play(&e);
    if (rc == FTC_ERR_NOMEM)
        rc = ftc_error_set(rc, "out of memory for %d ranks and %d fragments; simulate fewer",
                           set->ranks, set->fragments);
    if (rc == 0)
        conclude(&e);
    fini(&e);
    return rc;
}

/* The timeout is twice the time of a run without losses and deaths. Such a run needs no timeout. */
static int find_timeout(const struct ftc_baseline_settings *set, uint64_t *timeout)
{
    struct ftc_baseline_settings calm = *set;
    struct ftc_baseline_result result;

    calm.loss = 0;
    calm.dead = 0;
    int rc = run(&calm, UINT64_MAX, &result);
    uint64_t end = result.complete ? result.root_free : result.last;
    *timeout = end > 0 ? 2 * end : 1; /* 1 if the cost model has no costs */
    return rc;
}

int ftc_baseline_run(const struct ftc_baseline_settings *settings,
                     struct ftc_baseline_result *result)
{
    uint64_t timeout = settings->timeout_ns;
    int rc = check(settings);

    if (rc == 0 && timeout == 0)
        rc = find_timeout(settings, &timeout);
    if (rc == 0 && timeout >> 60 != 0)
        rc = ftc_error_set(FTC_ERR_ARG,
                           "a timeout of more than 36 years; give a shorter one, or lower costs");
    return rc == 0 ? run(settings, timeout, result) : rc;
}
