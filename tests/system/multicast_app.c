/*
 * Broadcasts from each rank in turn. A barrier follows each broadcast, so that no root runs ahead
 * of its receivers. Every rank checks every byte. multicast.bats runs it under ftrun, whose report
 * counts how the pieces came.
 *
 *   multicast_app TIMES SIZE...    the sizes in turn, in bytes
 *
 * When a broadcast has no root, because the root has failed, the buffer stays as it was. The lowest
 * survivor prints how many broadcasts were delivered, and how many had no root.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ftcoll.h"

#define UNTOUCHED 0xee
#define LARGEST   (16u << 20) /* bytes */

struct app {
    ftc_comm *world;
    int rank, size;
    unsigned char *value;
    unsigned long delivered, rootless;
};

static _Noreturn void wrong(const struct app *app, unsigned long i, const char *what)
{
    fprintf(stderr, "multicast: rank %d, broadcast %lu: %s (%s)\n", app->rank, i, what,
            ftc_last_error());
    ftc_abort(app->world, 99);
    exit(99);
}

/* The bytes differ from broadcast to broadcast, and repeat with no period that a piece could
 * have. */
static unsigned char byte_of(unsigned long i, size_t at)
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15ull + at * 0xbf58476d1ce4e5b9ull;

    return (unsigned char)((z ^ z >> 29) >> 8);
}

static void check(const struct app *app, unsigned long i, size_t size, bool came)
{
    for (size_t at = 0; at < size; at++)
        if (app->value[at] != (came ? byte_of(i, at) : UNTOUCHED))
            wrong(app, i,
                  came ? "the value is damaged" : "without its root it has changed the buffer");
}

static void broadcast(struct app *app, unsigned long i, size_t size)
{
    int root = (int)(i % (unsigned long)app->size);

    memset(app->value, UNTOUCHED, size);
    for (size_t at = 0; at < size && app->rank == root; at++)
        app->value[at] = byte_of(i, at);
    int status = ftc_bcast(app->value, size, FTC_UINT8, root, app->world);
    if (status != FTC_SUCCESS && status != FTC_ERR_ROOT_FAILED)
        wrong(app, i, "it failed");
    check(app, i, size, status == FTC_SUCCESS);
    app->delivered += status == FTC_SUCCESS;
    app->rootless += status != FTC_SUCCESS;
    if (ftc_barrier(app->world) != FTC_SUCCESS)
        wrong(app, i, "the barrier after it failed");
}

static bool lowest_survivor(const struct app *app)
{
    ftc_report report = {.struct_size = sizeof(report)};
    int lowest = 0;

    if (ftc_last_report(app->world, &report) != FTC_SUCCESS)
        wrong(app, 0, "there is no report");
    while (lowest < report.failed_count && report.failed[lowest] == lowest)
        lowest++;
    return app->rank == lowest;
}

int main(int argc, char **argv)
{
    struct app app = {.value = malloc(LARGEST)};

    if (argc < 3 || app.value == NULL)
        return 2;
    if (ftc_init(NULL, &app.world) != FTC_SUCCESS) {
        fprintf(stderr, "multicast: %s\n", ftc_last_error());
        return 99;
    }
    app.rank = ftc_rank(app.world);
    app.size = ftc_size(app.world);
    for (unsigned long i = 0; i < strtoul(argv[1], NULL, 10); i++) {
        size_t size = strtoul(argv[2 + i % (unsigned long)(argc - 2)], NULL, 10);
        if (size > LARGEST)
            wrong(&app, i, "the size is too large");
        broadcast(&app, i, size);
    }
    if (lowest_survivor(&app))
        printf("%lu delivered, %lu without a root\n", app.delivered, app.rootless);
    free(app.value);
    return ftc_finalize(app.world) == FTC_SUCCESS ? 0 : 1;
}
