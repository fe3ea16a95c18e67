/*
 * Calls every collective that gathers, scatters, exchanges or combines, and checks each result:
 * contributions of ranks outside the reported failed set are there, entirely, and the places of the
 * others are as they were. blocks.bats runs it.
 *
 *   blocks_app COUNT           with COUNT elements in each block
 *   blocks_app COUNT RANK CALL the same; RANK kills itself before its call number CALL
 */
#include "tests/system/blocks_app.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 64u

/* --- the surroundings --- */

_Noreturn void app_wrong(const struct app *app, const char *what)
{
    fprintf(stderr, "blocks_app: rank %d, call %d, %s of %zu elements of %zu bytes%s: %s (%s)\n",
            app->rank, app->call, app->what, app->count, app->element,
            app->in_place ? ", in place" : "", what, ftc_last_error());
    ftc_abort(app->world, 99);
    exit(99);
}

int app_step(struct app *app, const char *what)
{
    app->what = what;
    if (app->call++ == app->dies)
        raise(SIGKILL);
    return app->call % app->size;
}

void app_learn(struct app *app)
{
    ftc_report report = {.struct_size = sizeof(report)};

    if (ftc_last_report(app->world, &report) != FTC_SUCCESS)
        app_wrong(app, "there is no report");
    memset(app->failed, 0, sizeof(app->failed));
    for (int i = 0; i < report.failed_count; i++)
        app->failed[report.failed[i]] = true;
    if (app->failed[app->rank])
        app_wrong(app, "the own rank is in the failed set");
}

unsigned char *app_buffer(const struct app *app, size_t bytes)
{
    unsigned char *buffer = malloc(bytes + GUARD);

    if (buffer == NULL)
        app_wrong(app, "out of memory");
    memset(buffer, UNTOUCHED, bytes + GUARD);
    return buffer;
}

bool app_is_untouched(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != UNTOUCHED)
            return false;
    return true;
}

void app_free(const struct app *app, unsigned char *buffer, size_t bytes)
{
    if (!app_is_untouched(buffer + bytes, GUARD))
        app_wrong(app, "bytes behind the end of a buffer were written");
    free(buffer);
}

static void must(const struct app *app, int rc)
{
    if (rc != FTC_SUCCESS)
        app_wrong(app, "the call failed");
}

/* --- blocks --- */

/* Byte i of what `from` sends to `to`. */
static unsigned char byte_of(int from, int to, size_t i)
{
    return (unsigned char)((unsigned)from * 131u + (unsigned)to * 31u + (unsigned)i * 7u +
                           (unsigned)(i >> 8) * 13u + 1u);
}

static void fill(unsigned char *at, int from, int to, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = byte_of(from, to, i);
}

static void check_block(const struct app *app, const unsigned char *at, int from, int to,
                        size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (at[i] != byte_of(from, to, i))
            app_wrong(app, "a block is not what its rank has sent");
}

/* A block of `from`, at its place in recv. */
static void check_place(const struct app *app, const unsigned char *at, int from, int to,
                        size_t size)
{
    if (!app->failed[from])
        check_block(app, at, from, to, size);
    else if (!app_is_untouched(at, size))
        app_wrong(app, "the place of a failed rank has changed");
}

/* The places of blocks, in elements. */
struct layout {
    size_t counts[BLOCKS_RANKS], displs[BLOCKS_RANKS], end; /* end in bytes */
};

static struct layout even_layout(const struct app *app)
{
    struct layout l = {.end = (size_t)app->size * app->count * app->element};

    for (int rank = 0; rank < app->size; rank++) {
        l.counts[rank] = app->count;
        l.displs[rank] = app->count * (size_t)rank;
    }
    return l;
}

/* What `from` sends to `to` where counts differ. Some are 0. */
static size_t uneven(const struct app *app, int from, int to)
{
    return (from + 2 * to) % 3 == 1 ? 0 : app->count + (size_t)from + 2 * (size_t)to;
}

/* The blocks stand in the opposite order, with a gap before each. `sends`: those of this rank to
 * the others, or the other way round. */
static struct layout uneven_layout(const struct app *app, bool sends, bool to_all)
{
    struct layout l = {.end = 0};
    size_t at = 0;

    for (int rank = app->size - 1; rank >= 0; rank--) {
        int from = sends ? app->rank : rank, to = sends ? rank : app->rank;
        l.counts[rank] = uneven(app, from, to_all ? 0 : to);
        l.displs[rank] = at + 2;
        at += 2 + l.counts[rank];
    }
    l.end = at * app->element;
    return l;
}

static unsigned char *place(const struct app *app, const struct layout *l, unsigned char *buffer,
                            int rank)
{
    return buffer + l->displs[rank] * app->element;
}

static size_t size_of(const struct app *app, const struct layout *l, int rank)
{
    return l->counts[rank] * app->element;
}

static void check_places(const struct app *app, const struct layout *l, unsigned char *recv,
                         bool to_all)
{
    for (int rank = 0; rank < app->size; rank++)
        check_place(app, place(app, l, recv, rank), rank, to_all ? 0 : app->rank,
                    size_of(app, l, rank));
}

/* --- gathering --- */

enum shape { ALL, ALL_V, ROOT, ROOT_V };

static int call_gather(const struct app *app, enum shape shape, const void *send, void *recv,
                       const struct layout *l, int root)
{
    size_t count = l->counts[app->rank];
    bool is_root = app->rank == root;

    switch (shape) {
    case ALL:
        return ftc_allgather(send, recv, app->count, app->type, app->world);
    case ALL_V:
        return ftc_allgatherv(send, count, recv, l->counts, l->displs, app->type, app->world);
    case ROOT:
        return ftc_gather(send, recv, app->count, app->type, root, app->world);
    case ROOT_V:
        return ftc_gatherv(send, count, recv, is_root ? l->counts : NULL,
                           is_root ? l->displs : NULL, app->type, root, app->world);
    }
    return FTC_ERR_ARG;
}

static void gather(struct app *app, enum shape shape, const char *what)
{
    int root = app_step(app, what);
    bool v = shape == ALL_V || shape == ROOT_V, gets = shape < ROOT || app->rank == root;
    struct layout l = v ? uneven_layout(app, false, true) : even_layout(app);
    size_t size = size_of(app, &l, app->rank);
    unsigned char *send = app_buffer(app, size), *recv = app_buffer(app, gets ? l.end : 0);
    bool in_place = app->in_place && gets;

    fill(send, app->rank, 0, size);
    if (in_place)
        memcpy(place(app, &l, recv, app->rank), send, size);
    must(app,
         call_gather(app, shape, in_place ? FTC_IN_PLACE : send, gets ? recv : NULL, &l, root));
    app_learn(app);
    if (gets)
        check_places(app, &l, recv, true);
    app_free(app, send, size);
    app_free(app, recv, gets ? l.end : 0);
}

/* --- scattering --- */

static void scatter(struct app *app, bool v, const char *what)
{
    int root = app_step(app, what), me = app->rank;
    bool sends = me == root, in_place = app->in_place && sends;
    struct layout l = v ? uneven_layout(app, true, false) : even_layout(app);
    size_t count = v ? uneven(app, root, me) : app->count, size = count * app->element;
    unsigned char *send = app_buffer(app, sends ? l.end : 0), *recv = app_buffer(app, size);
    void *to = in_place ? FTC_IN_PLACE : recv;

    for (int rank = 0; rank < app->size && sends; rank++)
        fill(place(app, &l, send, rank), root, rank, size_of(app, &l, rank));
    int rc = v ? ftc_scatterv(sends ? send : NULL, sends ? l.counts : NULL, sends ? l.displs : NULL,
                              to, count, app->type, root, app->world)
               : ftc_scatter(sends ? send : NULL, to, app->count, app->type, root, app->world);
    app_learn(app);
    if (rc != FTC_ERR_ROOT_FAILED)
        must(app, rc);
    else if (!app->failed[root] || !app_is_untouched(recv, size))
        app_wrong(app, "a scatter without its root");
    if (rc == FTC_SUCCESS && !in_place)
        check_block(app, recv, root, me, size);
    app_free(app, send, sends ? l.end : 0);
    app_free(app, recv, size);
}

/* --- exchanging --- */

static void alltoall(struct app *app, bool v, const char *what)
{
    (void)app_step(app, what);
    bool same = app->in_place; /* in place this rank sends as much as it gets */
    struct layout out = v && !same ? uneven_layout(app, true, false) : even_layout(app);
    struct layout in = v && !same ? uneven_layout(app, false, false) : even_layout(app);
    unsigned char *send = app_buffer(app, out.end), *recv = app_buffer(app, in.end);

    for (int rank = 0; rank < app->size; rank++) {
        fill(place(app, &out, send, rank), app->rank, rank, size_of(app, &out, rank));
        if (same)
            fill(place(app, &in, recv, rank), app->rank, rank, size_of(app, &in, rank));
    }
    const void *from = same ? FTC_IN_PLACE : send;
    must(app, v ? ftc_alltoallv(from, same ? NULL : out.counts, same ? NULL : out.displs, recv,
                                in.counts, in.displs, app->type, app->world)
                : ftc_alltoall(from, recv, app->count, app->type, app->world));
    app_learn(app);
    for (int rank = 0; rank < app->size; rank++) {
        bool own = same && app->failed[rank]; /* what this rank would have sent is still there */
        const unsigned char *at = place(app, &in, recv, rank);
        if (own)
            check_block(app, at, app->rank, rank, size_of(app, &in, rank));
        else
            check_place(app, at, rank, app->rank, size_of(app, &in, rank));
    }
    app_free(app, send, out.end);
    app_free(app, recv, in.end);
}

/* --- all --- */

static void move_blocks(struct app *app)
{
    gather(app, ALL, "ftc_allgather()");
    gather(app, ALL_V, "ftc_allgatherv()");
    gather(app, ROOT, "ftc_gather()");
    gather(app, ROOT_V, "ftc_gatherv()");
    scatter(app, false, "ftc_scatter()");
    scatter(app, true, "ftc_scatterv()");
    alltoall(app, false, "ftc_alltoall()");
    alltoall(app, true, "ftc_alltoallv()");
}

static void run(struct app *app)
{
    static const ftc_type types[] = {FTC_INT8, FTC_DOUBLE, FTC_DOUBLE_INT32};
    static const size_t elements[] = {1, 8, sizeof(ftc_double_int32)};

    for (int i = 0; i < 8; i++) {
        app->in_place = i % 2 == 1;
        app->type = types[i / 2 % 3];
        app->element = elements[i / 2 % 3];
        if (i / 2 == 3 && ftc_type_create(app->element = 11, &app->type) != FTC_SUCCESS)
            app_wrong(app, "no type");
        move_blocks(app);
    }
    for (int i = 0; i < 2; i++) {
        app->in_place = i == 1;
        app_reductions(app);
    }
}

int main(int argc, char **argv)
{
    struct app app = {.dies = -1};

    if (argc < 2 || ftc_init(NULL, &app.world) != FTC_SUCCESS)
        return 98;
    app.count = (size_t)atol(argv[1]);
    app.rank = ftc_rank(app.world);
    app.size = ftc_size(app.world);
    if (argc > 3 && atoi(argv[2]) == app.rank)
        app.dies = atoi(argv[3]);
    run(&app);
    printf("rank %d: %d calls\n", app.rank, app.call);
    return ftc_finalize(app.world) == FTC_SUCCESS ? 0 : 1;
}
