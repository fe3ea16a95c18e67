/*
 * Runs gossip aggregations one after the other. Every rank checks each result against the exact one
 * of the ranks that are in it. It also checks that all survivors have the same bits. gossip.bats
 * runs it under ftrun.
 *
 *   gossip_app TIMES COUNT [NAME=VALUE...]
 *
 *   algorithm, neighbourhood, accuracy, turns (1, -1), messages
 *                      as in ftc_gossip_options
 *   op=sum|avg         the operator
 *   mix=1              an exact allreduce after each aggregation
 *   late=RANK          that rank calls each aggregation 50 ms late, or pause=MS late
 *   why=1              each rank says why there is no result
 *   nan=RANK           an input of that rank is not a number
 *   weights=NUMBER     rank r has the weight r modulo NUMBER
 *   cancel=1           to the inputs of ranks 1 and 2, 1e7 is added and subtracted
 *   other=RANK         that rank gossips about twice as many values
 *   barrier=RANK       that rank calls a barrier instead
 *   least=RANKS        stop when fewer ranks are left
 *   unchecked=1        results need not be right, but must be the same at every rank
 *
 * The lowest survivor prints how many aggregations converged, the greatest relative error, the
 * error bound of the last one, and how many messages a rank sent in it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ftcoll.h"

struct app {
    ftc_comm *world;
    int rank, size;
    size_t count;
    ftc_gossip_options options;
    bool sum, mix, why, unchecked, cancel;
    int weights;
    double weight; /* of this rank, if there are weights */
    int late, pause_ms, nan, other, barrier, least;
    double accuracy; /* results are checked against it */
    double *send, *recv;
    unsigned long converged, given_up;
    double worst;
};

static _Noreturn void wrong(const struct app *app, unsigned long i, const char *what)
{
    fprintf(stderr, "gossip: rank %d, operation %lu: %s (%s)\n", app->rank, i, what,
            ftc_last_error());
    ftc_abort(app->world, 99);
    exit(99);
}

/* Inputs have both signs and very different sizes, and differ from operation to operation. */
static double input(const struct app *app, int rank, unsigned long i, size_t element)
{
    double size = (element % 3 == 0) ? 1e3 : 1;
    double large = !app->cancel ? 0 : rank == 1 ? 1e7 : rank == 2 ? -1e7 : 0;

    return large + size * (sin((double)rank * 1.7 + (double)i) + 1.5 + (double)(element % 7));
}

static double weight_of(const struct app *app, int rank)
{
    return app->weights > 0 ? rank % app->weights : 1;
}

/* Is `rank` in the failed set of the last operation? */
static bool failed(const ftc_report *report, int rank)
{
    for (int i = 0; i < report->failed_count; i++)
        if (report->failed[i] == rank)
            return true;
    return false;
}

static double expected(const struct app *app, const ftc_report *report, unsigned long i,
                       size_t element)
{
    double sum = 0, weights = 0;

    for (int rank = 0; rank < app->size; rank++) {
        double weight = failed(report, rank) ? 0 : weight_of(app, rank);
        sum += weight * input(app, rank, i, element);
        weights += weight;
    }
    return app->sum ? sum : sum / weights;
}

static void check_value(struct app *app, unsigned long i)
{
    ftc_report report = {.struct_size = sizeof(report)};
    double size = 0, worst = 0;

    if (ftc_last_report(app->world, &report) != FTC_SUCCESS)
        wrong(app, i, "it has no report");
    for (size_t k = 0; k < app->count; k++) {
        double right = expected(app, &report, i, k);
        double error = fabs(app->recv[k] - right);
        size = fmax(size, fabs(right));
        worst = error <= worst ? worst : error;
    }
    app->worst = fmax(app->worst, worst / size);
    if (app->unchecked)
        return;
    /* Inputs are rounded; the largest of them is not above 10^4, or 10^7. */
    double rounding = 0x1p-50 * (app->cancel ? 2e7 : 1e4) * (app->sum ? app->size : 1);
    ftc_gossip_report gossip = {.struct_size = sizeof(gossip)};
    if (ftc_last_gossip_report(app->world, &gossip) != FTC_SUCCESS ||
        !(worst <= gossip.error_bound + rounding) ||
        !(gossip.error_bound <= app->accuracy * size + (app->cancel ? 1e-7 : rounding))) {
        fprintf(stderr, "gossip: relative error %g, bound %g\n", worst / size, gossip.error_bound);
        wrong(app, i, "the result is not within the accuracy");
    }
}

/* Checks that all ranks have the same bits: taken as whole numbers, their minimum equals their
 * maximum. */
static void check_same(const struct app *app, unsigned long i)
{
    int64_t both[2] = {0, 0}, all[2];

    for (size_t k = 0; k < app->count; k++) {
        int64_t bits;
        memcpy(&bits, &app->recv[k], sizeof(bits));
        both[0] = (int64_t)((uint64_t)both[0] * 31u + (uint64_t)bits) & INT64_MAX;
    }
    both[1] = -both[0];
    if (ftc_allreduce(both, all, 2, FTC_INT64, FTC_MAX, app->world) != FTC_SUCCESS ||
        all[0] != -all[1])
        wrong(app, i, "ranks have different results");
}

static void mixed_in(const struct app *app, unsigned long i)
{
    int64_t one = 1, ranks;

    if (ftc_allreduce(&one, &ranks, 1, FTC_INT64, FTC_SUM, app->world) != FTC_SUCCESS ||
        ranks < 1 || ranks > app->size)
        wrong(app, i, "an allreduce in between went wrong");
}

static void aggregate(struct app *app, unsigned long i)
{
    for (size_t k = 0; k < app->count; k++) {
        app->send[k] = input(app, app->rank, i, k);
        app->recv[k] = -1;
    }
    if (app->rank == app->nan)
        app->send[app->count - 1] = NAN;
    if (app->rank == app->barrier)
        ftc_barrier(app->world);
    if (app->rank == app->late)
        nanosleep(&(struct timespec){.tv_sec = app->pause_ms / 1000,
                                     .tv_nsec = app->pause_ms % 1000 * 1000000L},
                  NULL);
    int rc =
        ftc_gossip_allreduce(app->send, app->recv, app->count * (app->rank == app->other ? 2 : 1),
                             app->sum ? FTC_SUM : FTC_AVG, &app->options, app->world);
    if (rc == FTC_SUCCESS) {
        app->converged++;
        check_value(app, i);
    } else if (rc == FTC_ERR_NOT_CONVERGED) {
        app->given_up++;
        if (app->why)
            fprintf(stderr, "gossip: rank %d: %s\n", app->rank, ftc_last_error());
        if (app->recv[0] != -1)
            wrong(app, i, "it has no result, and has changed the buffer");
    } else {
        wrong(app, i, "it failed");
    }
    if (!app->mix)
        check_same(app, i);
    else
        mixed_in(app, i);
}

static void read_option(struct app *app, const char *name, const char *value)
{
    if (strcmp(name, "algorithm") == 0)
        app->options.algorithm = value;
    else if (strcmp(name, "neighbourhood") == 0)
        app->options.neighbourhood = value;
    else if (strcmp(name, "accuracy") == 0)
        app->accuracy = app->options.accuracy = atof(value);
    else if (strcmp(name, "turns") == 0)
        app->options.turns = atoi(value);
    else if (strcmp(name, "messages") == 0)
        app->options.max_messages = strtoull(value, NULL, 10);
    else if (strcmp(name, "op") == 0)
        app->sum = strcmp(value, "sum") == 0;
    else if (strcmp(name, "mix") == 0)
        app->mix = atoi(value) != 0;
    else if (strcmp(name, "late") == 0)
        app->late = atoi(value);
    else if (strcmp(name, "pause") == 0)
        app->pause_ms = atoi(value);
    else if (strcmp(name, "why") == 0)
        app->why = atoi(value) != 0;
    else if (strcmp(name, "nan") == 0)
        app->nan = atoi(value);
    else if (strcmp(name, "weights") == 0)
        app->weights = atoi(value);
    else if (strcmp(name, "cancel") == 0)
        app->cancel = atoi(value) != 0;
    else if (strcmp(name, "other") == 0)
        app->other = atoi(value);
    else if (strcmp(name, "barrier") == 0)
        app->barrier = atoi(value);
    else if (strcmp(name, "least") == 0)
        app->least = atoi(value);
    else if (strcmp(name, "unchecked") == 0)
        app->unchecked = atoi(value) != 0;
}

static void read_options(struct app *app, int argc, char **argv)
{
    for (int i = 3; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (value == NULL)
            continue;
        *value = '\0';
        read_option(app, argv[i], value + 1);
    }
}

/* Asks the decision of the last operation, so the answer is the same at all ranks. */
static bool enough_left(const struct app *app)
{
    ftc_report report = {.struct_size = sizeof(report)};

    return ftc_last_report(app->world, &report) == FTC_SUCCESS &&
           app->size - report.failed_count >= app->least;
}

static void say(const struct app *app)
{
    ftc_gossip_report gossip = {.struct_size = sizeof(gossip)};
    ftc_report report = {.struct_size = sizeof(report)};
    int first = 0;

    ftc_last_report(app->world, &report);
    ftc_last_gossip_report(app->world, &gossip);
    while (failed(&report, first))
        first++;
    if (app->rank == first)
        printf(
            "gossip: %lu converged, %lu not, of %d ranks; error %.2g, bound %.2g; by %s: %" PRIu64
            " messages, "
            "%d attempts, %" PRIu64 " corrupt, %" PRIu64 " repairs\n",
            app->converged, app->given_up, app->size - report.failed_count, app->worst,
            gossip.error_bound, gossip.algorithm, gossip.messages, gossip.attempts, gossip.corrupt,
            gossip.repairs);
}

int main(int argc, char **argv)
{
    struct app app = {.accuracy = 1e-9,
                      .late = -1,
                      .pause_ms = 50,
                      .nan = -1,
                      .other = -1,
                      .barrier = -1,
                      .options = {.struct_size = sizeof(ftc_gossip_options)}};
    unsigned long times = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;

    app.count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    read_options(&app, argc, argv);
    app.send = calloc(2 * app.count, sizeof(double));
    app.recv = calloc(2 * app.count, sizeof(double));
    if (app.send == NULL || app.recv == NULL || ftc_init(NULL, &app.world) != FTC_SUCCESS) {
        fprintf(stderr, "gossip: %s\n", ftc_last_error());
        return 1;
    }
    app.rank = ftc_rank(app.world);
    app.size = ftc_size(app.world);
    app.weight = weight_of(&app, app.rank);
    app.options.weight = app.weights > 0 ? &app.weight : NULL;
    for (unsigned long i = 0; i < times && enough_left(&app); i++)
        aggregate(&app, i);
    ftc_barrier(app.world);
    say(&app);
    free(app.send);
    free(app.recv);
    return ftc_finalize(app.world) == FTC_SUCCESS ? 0 : 1;
}
