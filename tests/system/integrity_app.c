/*
 * Sums small whole numbers, which floating point adds exactly. So every survivor knows which
 * results may be right for the failed set that it is told. integrity.bats runs it under ftrun.
 *
 *   integrity_app TIMES [reduce]    allreduces, or reduces to rank 0
 *
 * The lowest survivor that has results prints a line for each operation that was not right and
 * unanimous: "operation 3: right, 3 compared, wrong: 1" or "operation 3: corrupt, 2 compared,
 * wrong: 1 2". At the end it prints how many operations of each kind it counted: "20 right, 0
 * corrupt, 0 wrong".
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ftcoll.h"

#define ELEMENTS  3
#define UNTOUCHED (-77.0)

struct app {
    ftc_comm *world;
    int rank, size;
    bool reduces;
    long right, corrupt, wrong;
};

static _Noreturn void fail(const struct app *app, long i, const char *what)
{
    fprintf(stderr, "integrity: rank %d, operation %ld: %s (%s)\n", app->rank, i, what,
            ftc_last_error());
    ftc_abort(app->world, 99);
    exit(99);
}

static double input(int rank, long i, int element)
{
    return (double)((rank + 1) * (element + 1)) + (double)i;
}

/* Is `sum` the sum of all ranks but those failed ranks that `out` has a bit for? */
static bool is_sum(const struct app *app, long i, const double *sum, const ftc_report *report,
                   unsigned out)
{
    for (int e = 0; e < ELEMENTS; e++) {
        double expected = 0;
        for (int rank = 0; rank < app->size; rank++)
            expected += input(rank, i, e);
        for (int f = 0; f < report->failed_count; f++)
            expected -= out >> f & 1 ? input(report->failed[f], i, e) : 0;
        if (sum[e] != expected)
            return false;
    }
    return true;
}

/* Checks that the contribution of a failed rank is in the sum entirely or not at all. */
static bool is_right(const struct app *app, long i, const double *sum, const ftc_report *report)
{
    for (unsigned out = 0; out < 1u << report->failed_count; out++)
        if (is_sum(app, i, sum, report, out))
            return true;
    return false;
}

static bool has_results(const struct app *app, const ftc_report *report)
{
    int lowest = 0;

    while (lowest < report->failed_count && report->failed[lowest] == lowest)
        lowest++;
    return app->rank == lowest;
}

static void tell(long i, const char *what, const ftc_report *report)
{
    printf("operation %ld: %s, %d compared, wrong:", i, what, report->compared);
    for (int c = 0; c < report->corrupt_count; c++)
        printf(" %d", report->corrupt[c]);
    putchar('\n');
}

static void judge(struct app *app, long i, int status, const double *sum, const ftc_report *report)
{
    const char *what = "right";

    if (status == FTC_ERR_CORRUPT) {
        for (int e = 0; e < ELEMENTS; e++)
            if (sum[e] != UNTOUCHED)
                fail(app, i, "it has changed the buffer");
        what = "corrupt";
        app->corrupt++;
    } else if (!is_right(app, i, sum, report)) {
        what = "wrong";
        app->wrong++;
    } else {
        app->right++;
    }
    if (has_results(app, report) && (strcmp(what, "right") != 0 || report->corrupt_count > 0))
        tell(i, what, report);
}

static void sum_up(struct app *app, long i)
{
    ftc_report report = {.struct_size = sizeof(report)};
    double mine[ELEMENTS], sum[ELEMENTS] = {UNTOUCHED, UNTOUCHED, UNTOUCHED};

    for (int e = 0; e < ELEMENTS; e++)
        mine[e] = input(app->rank, i, e);
    int status = app->reduces ? ftc_reduce(mine, sum, ELEMENTS, FTC_DOUBLE, FTC_SUM, 0, app->world)
                              : ftc_allreduce(mine, sum, ELEMENTS, FTC_DOUBLE, FTC_SUM, app->world);
    if (status != FTC_SUCCESS && status != FTC_ERR_CORRUPT)
        fail(app, i, "it failed");
    if (ftc_last_report(app->world, &report) != FTC_SUCCESS)
        fail(app, i, "there is no report");
    if (!app->reduces || app->rank == 0)
        judge(app, i, status, sum, &report);
    if (app->reduces && ftc_barrier(app->world) != FTC_SUCCESS)
        fail(app, i, "the barrier after it failed");
}

int main(int argc, char **argv)
{
    struct app app = {.reduces = argc > 2 && strcmp(argv[2], "reduce") == 0};
    ftc_report report = {.struct_size = sizeof(report)};

    if (argc < 2)
        return 2;
    if (ftc_init(NULL, &app.world) != FTC_SUCCESS) {
        fprintf(stderr, "integrity: %s\n", ftc_last_error());
        return 99;
    }
    app.rank = ftc_rank(app.world);
    app.size = ftc_size(app.world);
    for (long i = 0; i < strtol(argv[1], NULL, 10); i++)
        sum_up(&app, i);
    if (ftc_last_report(app.world, &report) == FTC_SUCCESS && has_results(&app, &report))
        printf("%ld right, %ld corrupt, %ld wrong; integrity %s\n", app.right, app.corrupt,
               app.wrong, report.integrity);
    return ftc_finalize(app.world) == FTC_SUCCESS ? 0 : 1;
}
