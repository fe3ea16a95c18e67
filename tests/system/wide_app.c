/*
 * An allreduce loop for wide jobs that checks every result. Each rank adds one at its own place, so
 * the result says whose inputs are in it, and how often.
 *
 *   wide_app SECONDS
 *
 * Each survivor checks that no input is counted twice, that its own input and those of all live
 * ranks are there, and that every missing input belongs to a rank of the failed set. At the end all
 * survivors compare a hash of all results.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ftcoll.h"
#include "tests/clock.h"

#define MOST 4096 /* ranks */

struct app {
    ftc_comm *world;
    int rank, size;
    uint64_t hash;
    int32_t in[MOST + 1], sum[MOST + 1]; /* last element: the number of ranks whose time is over */
};

static _Noreturn void wrong(const struct app *app, const char *what)
{
    fprintf(stderr, "wide_app: rank %d: %s (%s)\n", app->rank, what, ftc_last_error());
    ftc_abort(app->world, 99);
    exit(99);
}

static void check(struct app *app)
{
    ftc_report report = {.struct_size = sizeof(report)};
    unsigned char failed[MOST] = {0};
    if (ftc_last_report(app->world, &report) != FTC_SUCCESS)
        wrong(app, "no report");
    for (int i = 0; i < report.failed_count; i++)
        failed[report.failed[i]] = 1;
    if (failed[app->rank])
        wrong(app, "the failed set names this rank");
    for (int r = 0; r < app->size; r++) {
        if (app->sum[r] != 1 && app->sum[r] != 0)
            wrong(app, "an input was counted twice");
        if (app->sum[r] == 0 && !failed[r])
            wrong(app, "an input is missing whose rank is not in the failed set");
    }
    for (int r = 0; r < app->size; r++)
        app->hash = (app->hash ^ (uint64_t)(app->sum[r] * 2 + failed[r])) * 0x100000001b3ull;
}

static void compare(struct app *app)
{
    uint64_t least = 0, most = 0;
    if (ftc_allreduce(&app->hash, &least, 1, FTC_UINT64, FTC_MIN, app->world) != FTC_SUCCESS ||
        ftc_allreduce(&app->hash, &most, 1, FTC_UINT64, FTC_MAX, app->world) != FTC_SUCCESS)
        wrong(app, "allreduce failed");
    if (least != most)
        wrong(app, "survivors saw different results");
}

int main(int argc, char **argv)
{
    static struct app app; /* too large for a stack */
    int operations = 0;
    if (argc != 2)
        return 2;
    if (ftc_init(NULL, &app.world) != FTC_SUCCESS) {
        fprintf(stderr, "wide_app: %s\n", ftc_last_error());
        return 99;
    }
    app.rank = ftc_rank(app.world);
    app.size = ftc_size(app.world);
    double end = 0; /* counted from the first result: by then all ranks have been started */
    do {
        app.in[app.rank] = 1;
        app.in[app.size] = operations > 0 && test_now() >= end;
        if (ftc_allreduce(app.in, app.sum, (size_t)app.size + 1, FTC_INT32, FTC_SUM, app.world) !=
            FTC_SUCCESS)
            wrong(&app, "allreduce failed");
        check(&app);
        if (operations++ == 0)
            end = test_now() + atof(argv[1]);
    } while (app.sum[app.size] == 0);
    compare(&app);
    printf("checked %d\n", operations);
    return ftc_finalize(app.world) == FTC_SUCCESS ? 0 : 1;
}
