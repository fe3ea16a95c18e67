/* The end of a gossip aggregation. */
#include "collectives/gossip/end.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mix.h"
#include "collectives/gossip/internal.h"
#include "collectives/mutation.h"

/* A contribution is made of pairs (-least, greatest): first the pairs named here, then one for each
 * element. INPUT is that times the weight; WEIGHT is the initial one, HELD the one held since this
 * rank settled. KNOWN is the greatest weight (negated) and INPUT that this rank knows of, also of
 * the dead. */
enum { REMOVED, MOVED, GIVES_UP, INPUT, WEIGHT, HELD, KNOWN, PAIRS };

struct ftc_gossip_end {
    struct ftc_gossip_end_settings set;
    struct ftc_gossip *gossip;
    struct ftc_set removed;
    int failed_before; /* number of ranks that had failed when the operation began */
    bool settled;      /* this rank had settled when it was last looked at */
    uint64_t since;    /* it has settled since this step of the gossip */
    bool entered;      /* this rank has called the barrier */
    bool moved;        /* the estimate has not stood still since then */
    bool late;         /* this rank has gossiped for as long as it may */
    bool hopeless;     /* the result cannot become right */
    enum ftc_gossip_cause gives_up, cause; /* cause of this rank; cause of all */
    int attempts;
    double input, weight;     /* of the initial mass: largest magnitude of a value; the weight */
    double held;              /* least weight held since this rank settled */
    double error;             /* most error of the result */
    double *least, *greatest; /* of the estimates since this rank settled */
    double *pairs;
};

size_t ftc_gossip_end_contributes(size_t count)
{
    return 2 * (PAIRS + count);
}

int ftc_gossip_end_create(struct ftc_gossip_end **out,
                          const struct ftc_gossip_end_settings *settings, struct ftc_gossip *gossip)
{
    size_t count = settings->count;
    struct ftc_gossip_end *end = calloc(1, sizeof(*end));

    if (end == NULL || ftc_set_init(&end->removed, settings->removed->size) != 0 ||
        (end->least = calloc(2 * count + ftc_gossip_end_contributes(count), sizeof(double))) ==
            NULL) {
        ftc_gossip_end_destroy(end);
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for gossip with %zu values", count);
    }
    end->set = *settings;
    end->gossip = gossip;
    ftc_set_copy(&end->removed, settings->removed);
    end->set.removed = NULL;
    end->failed_before = ftc_set_count(&end->removed);
    end->greatest = end->least + count;
    end->pairs = end->greatest + count;
    const double *mass = ftc_gossip_initial(gossip);
    for (size_t i = 0; i < count; i++)
        end->input = fmax(end->input, fabs(mass[i]));
    end->weight = mass[count];
    *out = end;
    return FTC_SUCCESS;
}

void ftc_gossip_end_destroy(struct ftc_gossip_end *end)
{
    if (end == NULL)
        return;
    ftc_set_fini(&end->removed);
    free(end->least);
    free(end);
}

/* --- the judgement of one rank --- */

void ftc_gossip_end_look(struct ftc_gossip_end *end)
{
    const double *estimate = ftc_gossip_estimate(end->gossip);
    double held = ftc_gossip_weight(end->gossip);
    bool before = end->settled;

    end->settled = ftc_gossip_settled(end->gossip);
    if (!before)
        end->since = ftc_gossip_steps(end->gossip);
    end->moved |= end->entered && !end->settled;
    end->held = before && end->settled ? fmin(end->held, held) : held;
    for (size_t i = 0; i < end->set.count; i++) {
        end->least[i] = before && end->settled ? fmin(end->least[i], estimate[i]) : estimate[i];
        end->greatest[i] =
            before && end->settled ? fmax(end->greatest[i], estimate[i]) : estimate[i];
    }
}

void ftc_gossip_end_removed(struct ftc_gossip_end *end, int rank)
{
    ftc_set_add(&end->removed, rank);
    end->hopeless |= !end->set.survives; /* it need not wait until it has settled */
    ftc_gossip_end_look(end);
}

void ftc_gossip_end_give_up(struct ftc_gossip_end *end)
{
    end->hopeless = true;
}

void ftc_gossip_end_late(struct ftc_gossip_end *end)
{
    end->late = true;
}

static bool too_many(const struct ftc_gossip_end *end, uint64_t sent)
{
    return end->set.most_messages > 0 && sent >= end->set.most_messages;
}

static bool is_still(const struct ftc_gossip_end *end)
{
    return end->settled && ftc_gossip_answered(end->gossip, end->since);
}

bool ftc_gossip_end_ready(const struct ftc_gossip_end *end, uint64_t sent)
{
    return is_still(end) || end->hopeless || end->late || too_many(end, sent);
}

void ftc_gossip_end_enter(struct ftc_gossip_end *end, uint64_t sent)
{
    end->entered = true;
    end->moved = !is_still(end);
    if (end->late)
        end->gives_up = FTC_GOSSIP_CAUSE_TIME;
    else if (too_many(end, sent))
        end->gives_up = FTC_GOSSIP_CAUSE_MESSAGES;
    ftc_gossip_mark(end->gossip, (uint32_t)end->attempts + 1);
}

bool ftc_gossip_end_complete(const struct ftc_gossip_end *end)
{
    return ftc_gossip_marked(end->gossip);
}

/* --- the decision of all --- */

/* A digest of 52 bits, which a double can hold. Two different sets have the same digest with a
 * chance of one in 10^15. */
static double digest(const struct ftc_set *set)
{
    uint64_t word = 0;

    for (int i = 0; i < ftc_set_words(set->size); i++)
        word = ftc_mix(word + 0x9e3779b97f4a7c15u) ^ ftc_mix(ftc_set_word(set, i));
    return (double)(word >> 12);
}

/* Adding 0 turns -0 into +0, so that equal numbers have equal bits. */
static void put(double *pairs, size_t at, double least, double greatest)
{
    pairs[2 * at] = -least + 0.0;
    pairs[2 * at + 1] = greatest + 0.0;
}

const double *ftc_gossip_end_freeze(struct ftc_gossip_end *end)
{
    double removed = digest(&end->removed);

    end->attempts++;
    end->moved |= !ftc_gossip_sound(end->gossip);
    put(end->pairs, REMOVED, removed, removed);
    put(end->pairs, MOVED, 0, end->moved || end->hopeless);
    put(end->pairs, GIVES_UP, 0, end->hopeless ? FTC_GOSSIP_CAUSE_HOPELESS : end->gives_up);
    put(end->pairs, INPUT, 0, end->input);
    put(end->pairs, WEIGHT, end->weight, end->weight);
    put(end->pairs, HELD, end->held, ftc_gossip_weight(end->gossip));
    put(end->pairs, KNOWN, -ldexp(0.5, end->gossip->sizes.weight),
        ldexp(0.5, end->gossip->sizes.input));
    for (size_t i = 0; i < end->set.count; i++)
        put(end->pairs, PAIRS + i, end->least[i], end->greatest[i]);
    return end->pairs;
}

static double least(const double *decided, size_t at)
{
    return -decided[2 * at];
}

static double greatest(const double *decided, size_t at)
{
    return decided[2 * at + 1];
}

static enum ftc_gossip_cause cause_of(const double *decided)
{
    double cause = greatest(decided, GIVES_UP);

    return cause > 0 && cause < FTC_GOSSIP_CAUSES ? (enum ftc_gossip_cause)cause
                                                  : FTC_GOSSIP_CAUSE_ATTEMPTS;
}

/* The error that the rounding of such masses leaves in an average whose largest element is `size`
 * (gossip.md, rules 7 and 9). */
static double rounding(const double *decided, double size, double input, double weight)
{
    double held = least(decided, HELD) / 2 + greatest(decided, HELD) / 2;
    double mean = fmax(fmin(held, greatest(decided, WEIGHT)), least(decided, WEIGHT));

    return FTC_GOSSIP_FLOOR * fmax(input, size * weight) / mean;
}

/* May the average be wrong, though all hold the same (gossip.md, rule 10)? A rank holds a negative
 * weight, or the dead have left rounding that is larger than what is tolerated. */
static bool is_doubtful(const double *decided, bool died, double size, double most)
{
    double left = rounding(decided, size, greatest(decided, KNOWN), -least(decided, KNOWN));

    return !FTC_MUTATED(TRUST_WHAT_DEATHS_LEFT) &&
           (!(least(decided, HELD) >= 0) || (died && left > most));
}

/* Are least and greatest of each element near enough? Each comparison is false for a NaN. */
static bool near(struct ftc_gossip_end *end, const double *decided, bool died, double *average)
{
    double size = 0, spread = 0;

    for (size_t i = 0; i < end->set.count; i++) {
        double low = least(decided, PAIRS + i), high = greatest(decided, PAIRS + i);
        average[i] = low / 2 + high / 2;
        if (!isfinite(average[i]) || !(low <= high))
            return false;
        size = fmax(size, fabs(average[i]));
        spread = fmax(spread, high - low);
    }
    double most = fmax(end->set.accuracy * size, rounding(decided, size, greatest(decided, INPUT),
                                                          greatest(decided, WEIGHT)));
    end->error = most / 2;
    return spread <= most && !is_doubtful(decided, died, size, most);
}

static void thaw(struct ftc_gossip_end *end)
{
    ftc_gossip_unsettle(end->gossip);
    end->entered = end->moved = end->settled = false;
}

enum ftc_gossip_verdict ftc_gossip_end_decide(struct ftc_gossip_end *end, const double *decided,
                                              const struct ftc_set *failed, double *average)
{
    bool died = ftc_set_count(failed) != end->failed_before;
    double removed = digest(failed);
    bool same = least(decided, REMOVED) == removed && greatest(decided, REMOVED) == removed;
    bool still = greatest(decided, MOVED) == 0;

    end->cause = cause_of(decided);
    if (died && !end->set.survives) {
        end->cause = FTC_GOSSIP_CAUSE_HOPELESS;
        return FTC_GOSSIP_GIVEN_UP;
    }
    if (greatest(decided, WEIGHT) == 0) {
        end->cause =
            end->cause == FTC_GOSSIP_CAUSE_HOPELESS ? end->cause : FTC_GOSSIP_CAUSE_WEIGHTLESS;
        return FTC_GOSSIP_GIVEN_UP;
    }
    if (same && still && near(end, decided, died, average))
        return FTC_GOSSIP_AGREED;
    if (same && still && died)
        return FTC_GOSSIP_ANEW;
    if (greatest(decided, GIVES_UP) > 0 || end->attempts >= end->set.most_attempts)
        return FTC_GOSSIP_GIVEN_UP;
    thaw(end);
    return FTC_GOSSIP_AGAIN;
}

double ftc_gossip_end_error(const struct ftc_gossip_end *end)
{
    return end->error;
}

enum ftc_gossip_cause ftc_gossip_end_cause(const struct ftc_gossip_end *end)
{
    return end->cause;
}

int ftc_gossip_end_attempts(const struct ftc_gossip_end *end)
{
    return end->attempts;
}
