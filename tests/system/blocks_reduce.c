/* The reductions of blocks_app.c: numbers commute, texts and matrices do not. */
#include "tests/system/blocks_app.h"

#include <stdint.h>
#include <string.h>

#define MODULUS 1000003u

/* What an operator works on, and how its elements are made. */
struct kind {
    const char *name;
    size_t bytes;
    ftc_op_fn *combine; /* NULL: FTC_SUM of FTC_INT64 */
    void (*make)(void *element, int rank, size_t i);
};

/* --- texts: "b" and "d" give "bd" --- */

struct text {
    char length, letters[10];
};

static void append(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    const struct text *left = in;
    struct text *right = inout;

    (void)type, (void)arg;
    for (size_t i = 0; i < count; i++) {
        struct text both = left[i];
        memcpy(both.letters + (size_t)both.length, right[i].letters, (size_t)right[i].length);
        both.length = (char)(both.length + right[i].length);
        right[i] = both;
    }
}

static void make_text(void *element, int rank, size_t i)
{
    struct text *text = element;

    *text = (struct text){.length = 1, .letters = {(char)((i % 2 == 0 ? 'a' : 'A') + rank)}};
}

/* --- matrices --- */

struct matrix {
    uint64_t at[2][2];
};

static void multiply(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    const struct matrix *left = in;
    struct matrix *right = inout;

    (void)type, (void)arg;
    for (size_t i = 0; i < count; i++) {
        struct matrix product;
        for (int row = 0; row < 2; row++)
            for (int column = 0; column < 2; column++)
                product.at[row][column] = (left[i].at[row][0] * right[i].at[0][column] +
                                           left[i].at[row][1] * right[i].at[1][column]) %
                                          MODULUS;
        right[i] = product;
    }
}

static void make_matrix(void *element, int rank, size_t i)
{
    uint64_t x = (uint64_t)rank + 2, y = i % 1009;

    *(struct matrix *)element = (struct matrix){{{x, y + 1}, {x + y, 3}}};
}

/* --- numbers --- */

static void make_number(void *element, int rank, size_t i)
{
    *(int64_t *)element = (int64_t)(rank + 1) * 1000 + (int64_t)(i % 1009);
}

static void add(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    (void)type, (void)arg;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)inout)[i] += ((const int64_t *)in)[i];
}

static const struct kind kinds[] = {
    {"numbers", sizeof(int64_t), NULL, make_number},
    {"texts", sizeof(struct text), append, make_text},
    {"matrices", sizeof(struct matrix), multiply, make_matrix},
};

/* --- checks --- */

/* Element `from + i` of ranks up to `highest`, combined in their order. False: there is none. */
static bool expected(const struct app *app, const struct kind *kind, int highest, size_t i,
                     unsigned char *element)
{
    _Alignas(16) unsigned char lower[64];
    ftc_op_fn *combine = kind->combine != NULL ? kind->combine : add;
    bool any = false;

    for (int rank = highest; rank >= 0; rank--) {
        if (app->failed[rank])
            continue;
        kind->make(any ? lower : element, rank, i);
        if (any)
            combine(lower, element, 1, app->type, NULL);
        any = true;
    }
    return any;
}

static void check(const struct app *app, const struct kind *kind, const unsigned char *result,
                  int highest, size_t from, size_t count, const unsigned char *unchanged)
{
    _Alignas(16) unsigned char element[64];

    for (size_t i = 0; i < count; i++) {
        const unsigned char *at = result + i * kind->bytes;
        bool any = expected(app, kind, highest, from + i, element);
        if (memcmp(at, any ? element : unchanged + i * kind->bytes, kind->bytes) != 0)
            app_wrong(app, any ? "the result is wrong" : "the result has changed");
    }
}

enum operation { ALLREDUCE, REDUCE, SCATTER_BLOCK, SCATTER, SCAN, EXSCAN, OPERATIONS };

/* One call, its vectors, and the slice of the result that this rank gets. */
struct reduction {
    enum operation operation;
    int root, highest;
    size_t count, from, slice; /* elements */
    size_t counts[BLOCKS_RANKS];
    bool gets;
};

static struct reduction plan(const struct app *app, enum operation operation, int root)
{
    struct reduction r = {.operation = operation,
                          .root = root,
                          .highest = app->size - 1,
                          .count = app->count,
                          .slice = app->count,
                          .gets = operation != REDUCE || app->rank == root};

    if (operation == SCAN)
        r.highest = app->rank;
    if (operation == EXSCAN)
        r.highest = app->rank - 1;
    if (operation != SCATTER && operation != SCATTER_BLOCK)
        return r;
    r.count = 0;
    for (int rank = 0; rank < app->size; rank++) {
        r.counts[rank] = operation == SCATTER_BLOCK ? app->count
                         : rank % 3 == 1            ? 0
                                                    : app->count + (size_t)rank;
        r.from = rank == app->rank ? r.count : r.from;
        r.count += r.counts[rank];
    }
    r.slice = r.counts[app->rank];
    return r;
}

static int call(const struct app *app, const struct reduction *r, const void *send, void *recv,
                ftc_op op)
{
    switch (r->operation) {
    case ALLREDUCE:
        return ftc_allreduce(send, recv, r->count, app->type, op, app->world);
    case REDUCE:
        return ftc_reduce(send, recv, r->count, app->type, op, r->root, app->world);
    case SCATTER_BLOCK:
        return ftc_reduce_scatter_block(send, recv, app->count, app->type, op, app->world);
    case SCATTER:
        return ftc_reduce_scatter(send, recv, r->counts, app->type, op, app->world);
    case SCAN:
        return ftc_scan(send, recv, r->count, app->type, op, app->world);
    case EXSCAN:
        return ftc_exscan(send, recv, r->count, app->type, op, app->world);
    case OPERATIONS:
        break;
    }
    return FTC_ERR_ARG;
}

static void reduce(struct app *app, enum operation operation, const struct kind *kind, ftc_op op)
{
    static const char *const names[OPERATIONS] = {
        "ftc_allreduce()",      "ftc_reduce()", "ftc_reduce_scatter_block()",
        "ftc_reduce_scatter()", "ftc_scan()",   "ftc_exscan()"};
    int root = app_step(app, names[operation]);
    struct reduction r = plan(app, operation, root);
    size_t size = r.count * kind->bytes, room = app->in_place ? size : r.slice * kind->bytes;
    unsigned char *send = app_buffer(app, size), *recv = app_buffer(app, room);
    unsigned char *before = app_buffer(app, room);

    for (size_t i = 0; i < r.count; i++)
        kind->make(send + i * kind->bytes, app->rank, i);
    if (app->in_place)
        memcpy(recv, send, size);
    memcpy(before, recv, room);
    int rc = call(app, &r, app->in_place ? FTC_IN_PLACE : send, recv, op);
    app_learn(app);
    if (rc != FTC_SUCCESS && (operation != REDUCE || rc != FTC_ERR_TOO_MANY_FAILURES))
        app_wrong(app, "the call failed");
    if (r.gets && rc == FTC_SUCCESS)
        check(app, kind, recv, r.highest, r.from, r.slice, before);
    app_free(app, send, size);
    app_free(app, recv, room);
    app_free(app, before, room);
}

void app_reductions(struct app *app)
{
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const struct kind *kind = &kinds[k];
        ftc_op op = FTC_SUM;
        app->type = FTC_INT64;
        app->element = kind->bytes;
        if (kind->combine != NULL &&
            (ftc_type_create(kind->bytes, &app->type) != FTC_SUCCESS ||
             ftc_op_create_ordered(kind->combine, NULL, &op) != FTC_SUCCESS))
            app_wrong(app, "no operator");
        for (int operation = 0; operation < OPERATIONS; operation++)
            reduce(app, (enum operation)operation, kind, op);
        if (kind->combine != NULL && ftc_op_free(&op) != FTC_SUCCESS)
            app_wrong(app, "an operator that cannot be freed");
    }
}
