/*
 * The program that kill storms run. It runs a loop of mixed operations, and checks what one rank
 * can check. It writes a record of each operation, and the driver compares the survivors' records.
 *
 *   storm_app SEED OPERATIONS DIRECTORY [gossip] [flips] [flipped:OP ...] [RANK:OP:HOW ...]
 *
 *   RANK:OP:HOW  RANK dies before operation OP. If OP is negative, it dies in the middle of an
 *                operation, about -OP microseconds after the start. HOW: kill stop exit abort segv
 *   gossip       some operations are aggregations by gossip
 *   flips        bits flip in these
 *   flipped:OP   a bit flips in OP, a reduce or allreduce whose results are compared
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ftcoll.h"
#include "tests/system/record.h"
#include "tests/system/storm_blocks.h"
#include "tests/system/storm_death.h"
#include "tests/system/storm_gossip.h"

#define LARGEST   ((4u << 20) + 70000u) /* bytes */
#define UNTOUCHED 0xeeeeeeeeeeeeeeeeull

struct app {
    ftc_comm *world;
    uint64_t seed;
    int rank, size, operations;
    struct record *records;
    void *input, *result; /* LARGEST bytes each */
    struct death death;
    bool gossip, flips;
    uint64_t flipped; /* bit set of operations */
};

static _Noreturn void wrong(const struct app *app, uint32_t op, const char *what)
{
    fprintf(stderr, "storm: rank %d, operation %u: %s (%s)\n", app->rank, op, what,
            ftc_last_error());
    ftc_abort(app->world, 99);
    exit(99);
}

static uint64_t hash_bytes(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t hash = 0xcbf29ce484222325ull;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3ull;
    return hash | 1;
}

static bool take_word(struct app *app, const char *word)
{
    unsigned op;

    if (strcmp(word, "gossip") == 0)
        return app->gossip = true;
    if (strcmp(word, "flips") == 0)
        return app->flips = true;
    if (sscanf(word, "flipped:%u", &op) != 1)
        return false;
    app->flipped |= 1ull << op;
    return true;
}

static void take_orders(struct app *app, int count, char **orders)
{
    app->death.step = -1;
    for (int i = 0; i < count; i++)
        if (!take_word(app, orders[i]))
            death_order(&app->death, app->rank, orders[i]);
}

static void take_report(const struct app *app, uint32_t op, struct record *record)
{
    ftc_report report = {.struct_size = sizeof(report)};
    ftc_report failed = {.struct_size = offsetof(ftc_report, ballots)}; /* the failed set alone */

    if (ftc_last_report(app->world, &report) != FTC_SUCCESS ||
        ftc_last_report(app->world, &failed) != FTC_SUCCESS)
        wrong(app, op, "there is no report");
    if (failed.failed_count != report.failed_count)
        wrong(app, op, "the report of the failed set alone has other ranks");
    record->board = strcmp(report.algorithm, "board") == 0 || strcmp(report.algorithm, "pair") == 0;
    for (int i = 0; i < report.failed_count && !record_is_reduce(record->kind); i++)
        record->failed |= 1ull << report.failed[i];
}

/* Does a bit flip in this operation? The vote says what comes of the flip. */
static bool is_flipped(const struct app *app, uint32_t op)
{
    return app->flipped >> op & 1;
}

static bool is_unchecked(const struct app *app, uint32_t op)
{
    ftc_report report = {.struct_size = sizeof(report)};

    if (ftc_last_report(app->world, &report) != FTC_SUCCESS)
        wrong(app, op, "there is no report");
    return report.compared == 0;
}

/* Multiplicities: each rank adds one at its own place, and the vector repeats the places. */
static void mark_own(const struct app *app, int32_t *in, size_t count)
{
    memset(in, 0, count * sizeof(*in));
    for (size_t i = (size_t)app->rank; i < count; i += (size_t)app->size)
        in[i] = 1;
}

/* A flip gets through a vote that had nothing to compare. Then the result is ~0, which stands for
 * "not known". */
static uint64_t counted(const struct app *app, uint32_t op, const int32_t *sums, size_t count)
{
    uint64_t ranks = 0;

    if (is_flipped(app, op) && is_unchecked(app, op)) {
        app->records[op].unchecked = 1;
        return ~0ull;
    }
    for (int r = 0; r < app->size; r++) {
        if (sums[r] < 0 || sums[r] > 1)
            wrong(app, op, "an input was counted twice");
        if (sums[r] == 1)
            ranks |= 1ull << r;
    }
    for (size_t i = (size_t)app->size; i < count; i++)
        if (sums[i] != sums[i - (size_t)app->size])
            wrong(app, op, "an input is in the result in part");
    return ranks;
}

/* The buffer must be all zero, as before the call. */
static void expect_untouched(const struct app *app, uint32_t op, const int32_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (out[i] != 0)
            wrong(app, op, "a vote without a result has changed the buffer");
}

static void do_allreduce(struct app *app, uint32_t op, struct record *record)
{
    int32_t in[64], out[64] = {0};

    mark_own(app, in, (size_t)app->size);
    record->status = ftc_allreduce(in, out, (size_t)app->size, FTC_INT32, FTC_SUM, app->world);
    if (is_flipped(app, op) && record->status == FTC_ERR_CORRUPT) {
        expect_untouched(app, op, out, (size_t)app->size);
        record->counted = ~0ull;
        return;
    }
    if (record->status != FTC_SUCCESS)
        wrong(app, op, "allreduce failed");
    record->counted = counted(app, op, out, (size_t)app->size);
    record->hash = hash_bytes(out, (size_t)app->size * sizeof(out[0]));
    if (!(record->counted >> app->rank & 1))
        wrong(app, op, "the own input is missing");
}

static int reduce(struct app *app, uint32_t op, int root, uint64_t *ranks)
{
    int32_t in[64], out[64] = {0};

    mark_own(app, in, (size_t)app->size);
    int status = ftc_reduce(in, out, (size_t)app->size, FTC_INT32, FTC_SUM, root, app->world);
    if (app->rank == root && status == FTC_SUCCESS)
        *ranks &= counted(app, op, out, (size_t)app->size);
    else if (app->rank == root && is_flipped(app, op) && status == FTC_ERR_CORRUPT)
        expect_untouched(app, op, out, (size_t)app->size);
    else if (status != FTC_SUCCESS && (app->rank != root || status != FTC_ERR_TOO_MANY_FAILURES))
        wrong(app, op, "reduce failed");
    return status;
}

/* One reduce, or several in a row with one root, so that the senders run ahead. */
static void do_reduces(struct app *app, uint32_t op, int root, struct record *record)
{
    int count = record->kind == RECORD_REDUCE ? 1 : RECORD_TRAIN;

    record->counted = ~0ull;
    for (int i = 0; i < count; i++) {
        int status = reduce(app, op, root, &record->counted);
        if (status != FTC_SUCCESS)
            record->status = status;
    }
}

static int bcast(struct app *app, uint32_t op, int root, uint64_t seed, uint64_t *mine,
                 size_t count)
{
    uint64_t state = seed;

    memset(mine, 0xee, count * sizeof(*mine));
    for (size_t i = 0; i < count && app->rank == root; i++)
        mine[i] = record_random(&state);
    int status = ftc_bcast(mine, count, FTC_UINT64, root, app->world);
    if (status != FTC_SUCCESS && status != FTC_ERR_ROOT_FAILED)
        wrong(app, op, "bcast failed");
    state = seed;
    for (size_t i = 0; i < count; i++)
        if (mine[i] != (status == FTC_SUCCESS ? record_random(&state) : UNTOUCHED))
            wrong(app, op,
                  status == FTC_SUCCESS ? "the broadcast value is damaged"
                                        : "a broadcast without its root has changed the buffer");
    return status;
}

static void do_bcasts(struct app *app, uint32_t op, int root, struct record *record)
{
    static const size_t counts[] = {33, 1, 13, 256};
    uint64_t mine[256];
    int count = record->kind == RECORD_BCAST ? 1 : RECORD_TRAIN;

    record->counted = ~0ull;
    for (int i = 0; i < count; i++) {
        int status = bcast(app, op, root, (app->seed ^ op) + (uint64_t)i, mine, counts[i % 4]);
        if (status != FTC_SUCCESS)
            record->status = status;
        record->hash = record->hash * 31 + hash_bytes(mine, counts[i % 4] * sizeof(mine[0]));
    }
}

/* --- more than one block --- */

/* In bytes. On the board a block is 128 KiB, and 4 MiB for a broadcast. Such large broadcasts are
 * rare, and never run among many ranks. */
static size_t large_size(const struct app *app, uint64_t *state, bool is_bcast)
{
    static const size_t sizes[] = {131080, 131080, 131080, 393216, 393216, 320000, 131072, 65544};
    uint64_t dice = record_random(state) % 16;

    if (dice < 8)
        return sizes[dice];
    if (dice == 15 && is_bcast && app->size <= 8)
        return LARGEST;
    return dice >= 14 && app->size <= 16 ? 1000000 : 131080;
}

/* The sum of these values depends on the order. So all ranks have the same bits, or the hashes
 * differ. */
static void fill_doubles(double *to, size_t count, uint64_t state)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (double)record_random(&state) / 1e3 - (double)i;
}

/* An allreduce, or a plain reduce, of numbers that are counted or of doubles; in place or not. */
static void do_large(struct app *app, uint32_t op, int root, struct record *record)
{
    uint64_t state = app->seed + op * 131u;
    size_t size = large_size(app, &state, false);
    bool doubles = record_random(&state) % 2, in_place = record_random(&state) % 2;
    bool gets = record->kind == RECORD_LARGE || app->rank == root;
    ftc_type type = doubles ? FTC_DOUBLE : FTC_INT32;
    size_t count = size / (doubles ? sizeof(double) : sizeof(int32_t));
    void *input = in_place ? app->result : app->input;
    const void *send = in_place ? FTC_IN_PLACE : input;

    if (doubles)
        fill_doubles(input, count, state + (uint64_t)app->rank);
    else
        mark_own(app, input, count);
    record->status = record->kind == RECORD_LARGE
                         ? ftc_allreduce(send, app->result, count, type, FTC_SUM, app->world)
                         : ftc_reduce(send, app->result, count, type, FTC_SUM, root, app->world);
    record->counted = ~0ull;
    if (record->status == FTC_ERR_TOO_MANY_FAILURES && record->kind == RECORD_LARGE_REDUCE && gets)
        return;
    if (is_flipped(app, op) && record->status == FTC_ERR_CORRUPT && gets)
        return;
    if (record->status != FTC_SUCCESS)
        wrong(app, op, "a large operation failed");
    if (gets && !doubles)
        record->counted = counted(app, op, app->result, count);
    if (gets)
        record->hash = hash_bytes(app->result, size);
}

static void do_large_bcast(struct app *app, uint32_t op, int root, struct record *record)
{
    uint64_t state = app->seed + op * 131u;
    size_t size = large_size(app, &state, true);

    record->counted = ~0ull;
    record->status = bcast(app, op, root, state, app->result, size / sizeof(uint64_t));
    record->hash = hash_bytes(app->result, size);
}

static void do_validate(struct app *app, uint32_t op, struct record *record)
{
    int agreed = -1, count = -1;
    ftc_rank_info infos[64];

    record->counted = ~0ull;
    record->status = ftc_validate_global(app->world, &agreed);
    if (record->status != FTC_SUCCESS ||
        ftc_get_state_global(app->world, FTC_RANK_NULL, 64, &count, infos) != FTC_SUCCESS ||
        count != agreed)
        wrong(app, op, "validate failed");
    record->hash = hash_bytes(infos, (size_t)count * sizeof(infos[0]));
    for (int i = 0; i < count; i++)
        if (infos[i].rank == app->rank)
            wrong(app, op, "the own rank is in G");
}

static void do_gossip(struct app *app, uint32_t op, struct record *record)
{
    struct storm_gossip done = storm_gossip(app->world, app->seed, op, app->flips);

    if (done.what != NULL)
        wrong(app, op, done.what);
    record->status = done.status;
    record->hash = done.hash;
    record->counted = ~0ull;
}

static void do_blocks(struct app *app, uint32_t op, int root, struct record *record)
{
    struct storm_blocks done =
        storm_blocks(app->world, app->seed, op, (enum record_kind)record->kind, root);
    bool gathers = record_is_reduce(record->kind);

    if (done.what != NULL)
        wrong(app, op, done.what);
    if (done.status != FTC_SUCCESS && done.status != FTC_ERR_ROOT_FAILED &&
        !(gathers && done.status == FTC_ERR_TOO_MANY_FAILURES))
        wrong(app, op, "a call of blocks failed");
    record->status = done.status;
    record->hash = gathers ? 0 : done.hash;
    record->counted = gathers ? ~0ull : done.counted;
}

static void run_one(struct app *app, uint32_t op)
{
    struct record *record = &app->records[op];
    int root;
    enum record_kind kind = record_pick(app->seed, op, app->size, app->gossip, &root);

    record->op = op;
    record->kind = kind;
    record->root = root;
    if (kind == RECORD_ALLREDUCE)
        do_allreduce(app, op, record);
    else if (kind == RECORD_LARGE || kind == RECORD_LARGE_REDUCE)
        do_large(app, op, root, record);
    else if (kind == RECORD_REDUCE || kind == RECORD_REDUCES)
        do_reduces(app, op, root, record);
    else if (kind == RECORD_LARGE_BCAST)
        do_large_bcast(app, op, root, record);
    else if (kind == RECORD_BCAST || kind == RECORD_BCASTS)
        do_bcasts(app, op, root, record);
    else if (kind == RECORD_VALIDATE)
        do_validate(app, op, record);
    else if (kind >= RECORD_BLOCKS && kind <= RECORD_SIZED_GATHER)
        do_blocks(app, op, root, record);
    else if (kind == RECORD_GOSSIP)
        do_gossip(app, op, record);
    else if ((record->status = ftc_barrier(app->world)) != FTC_SUCCESS)
        wrong(app, op, "barrier failed");
    if (kind == RECORD_BARRIER)
        record->counted = ~0ull;
    take_report(app, op, record);
    record->done = 1;
}

static void open_records(struct app *app, const char *directory)
{
    char path[512];
    size_t size = (size_t)app->operations * sizeof(struct record);

    snprintf(path, sizeof(path), "%s/%d", directory, app->rank);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        wrong(app, 0, "cannot make the record file");
    app->records = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    app->input = malloc(LARGEST);
    app->result = malloc(LARGEST);
    if (app->records == MAP_FAILED || app->input == NULL || app->result == NULL)
        wrong(app, 0, "cannot map the record file");
}

/* Writes RANK.end: the rank has come to its end, whatever becomes of the process. */
static void write_end(const struct app *app, const char *directory)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%d.end", directory, app->rank);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    struct app app = {0};

    if (argc < 4)
        return 2;
    if (ftc_init(NULL, &app.world) != FTC_SUCCESS) {
        fprintf(stderr, "storm: %s\n", ftc_last_error());
        return 99;
    }
    app.seed = strtoull(argv[1], NULL, 10);
    app.operations = atoi(argv[2]);
    app.rank = ftc_rank(app.world);
    app.size = ftc_size(app.world);
    open_records(&app, argv[3]);
    take_orders(&app, argc - 4, argv + 4);
    for (int op = 0; op < app.operations; op++) {
        if (op == app.death.step)
            death_now(app.death.how);
        run_one(&app, (uint32_t)op);
    }
    if (ftc_finalize(app.world) != FTC_SUCCESS) {
        fprintf(stderr, "storm: finalize: %s\n", ftc_last_error());
        return 99;
    }
    write_end(&app, argv[3]);
    free(app.input);
    free(app.result);
    return 0;
}
