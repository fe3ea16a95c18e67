/* Aggregations by gossip in kill storms. */
#include "tests/system/storm_gossip.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/system/record.h"

#define MOST      300
#define UNTOUCHED (-77.0)

struct aggregation {
    ftc_comm *world;
    uint64_t seed; /* seed of this operation's inputs */
    size_t count;
    double accuracy;
    bool sum, in_place, flips;
};

static struct aggregation draw(ftc_comm *world, uint64_t seed, uint32_t op, bool flips)
{
    static const size_t counts[] = {1, 3, 40, MOST};
    static const double accuracies[] = {1e-3, 1e-6, 1e-9, 1e-11};
    uint64_t state = seed * 7919u + op;
    struct aggregation a = {.world = world, .flips = flips};

    a.seed = record_random(&state);
    a.count = counts[record_random(&state) % 4];
    a.accuracy = accuracies[record_random(&state) % 4];
    a.sum = record_random(&state) % 2;
    a.in_place = record_random(&state) % 2;
    return a;
}

/* Inputs have both signs and different sizes, the largest below 1.5e3. */
static double input(const struct aggregation *a, int rank, size_t element)
{
    uint64_t state = a->seed + (uint64_t)rank * 1000u + element;
    double value = (double)(record_random(&state) % 2000001u) / 1e6 - 0.5;

    return element % 3 == 1 ? value * 1e3 : value;
}

static bool failed(const ftc_report *report, int rank)
{
    for (int i = 0; i < report->failed_count; i++)
        if (report->failed[i] == rank)
            return true;
    return false;
}

static double average(const struct aggregation *a, const ftc_report *report, size_t element)
{
    long double sum = 0;
    int size = ftc_size(a->world);

    for (int rank = 0; rank < size; rank++)
        sum += failed(report, rank) ? 0 : (long double)input(a, rank, element);
    return (double)(sum / (size - report->failed_count));
}

/* A result may be off by half the accuracy at most, relative to the largest element
 * (docs/design/gossip.md, "Guarantee"). Flips that are too small for a checksum may add as much.
 * The rounding of the inputs comes on top. */
static bool is_near(const struct aggregation *a, const double *result)
{
    ftc_report report = {.struct_size = sizeof(report)};
    double size = 0, off = 0;

    if (ftc_last_report(a->world, &report) != FTC_SUCCESS)
        return false;
    int living = ftc_size(a->world) - report.failed_count;
    for (size_t i = 0; i < a->count; i++) {
        double right = average(a, &report, i),
               error = fabs(result[i] / (a->sum ? living : 1) - right);
        size = fmax(size, fabs(right));
        off = error <= off ? off : error;
    }
    return off <= a->accuracy * size * (1 + a->accuracy) * (a->flips ? 1 : 0.5) + 0x1p-46 * 1.5e3;
}

static bool is_untouched(const struct aggregation *a, const double *result)
{
    int rank = ftc_rank(a->world);

    for (size_t i = 0; i < a->count; i++)
        if (result[i] != (a->in_place ? input(a, rank, i) : UNTOUCHED))
            return false;
    return true;
}

static uint64_t hash(const double *values, size_t count)
{
    uint64_t sum = 1;

    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof(bits));
        sum = record_random(&sum) ^ bits;
    }
    return sum | 1;
}

struct storm_gossip storm_gossip(ftc_comm *world, uint64_t seed, uint32_t op, bool flips)
{
    struct aggregation a = draw(world, seed, op, flips);
    ftc_gossip_options options = {.struct_size = sizeof(options), .accuracy = a.accuracy};
    double mine[MOST], result[MOST];

    for (size_t i = 0; i < a.count; i++) {
        mine[i] = input(&a, ftc_rank(world), i);
        result[i] = a.in_place ? mine[i] : UNTOUCHED;
    }
    struct storm_gossip done = {
        .status = ftc_gossip_allreduce(a.in_place ? (const double *)FTC_IN_PLACE : mine, result,
                                       a.count, a.sum ? FTC_SUM : FTC_AVG, &options, world)};
    if (done.status == FTC_SUCCESS && !is_near(&a, result))
        done.what = "the gossip's result is not that of the survivors";
    else if (done.status == FTC_ERR_NOT_CONVERGED && !is_untouched(&a, result))
        done.what = "gossip without a result has changed the buffer";
    else if (done.status != FTC_SUCCESS && done.status != FTC_ERR_NOT_CONVERGED)
        done.what = "gossip failed";
    if (done.status == FTC_ERR_NOT_CONVERGED)
        fprintf(stderr, "operation %u, %zu values, accuracy %g: %s\n", op, a.count, a.accuracy,
                ftc_last_error());
    done.hash = hash(result, done.status == FTC_SUCCESS ? a.count : 0);
    return done;
}
