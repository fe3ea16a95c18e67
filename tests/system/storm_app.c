/*
 * The program that kill storms run: a loop of mixed operations that checks what one rank can check, and writes a record
 * of each for the driver, which compares the survivors'.
 *
 *   storm_app SEED OPERATIONS DIRECTORY [RANK:OP:HOW ...]     HOW: kill stop exit abort segv
 *
 * RANK dies before operation OP, or, if OP is negative, in the middle of one, about -OP microseconds after the start.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "ftcoll.h"
#include "tests/system/record.h"

#define LARGE 40000 /* doubles: 320 kB, more than any ring */

struct app {
    ftc_comm *world;
    uint64_t seed;
    int rank, size, operations;
    struct record *records;
    double *large;
    int die_before, die_how;
};

static _Noreturn void wrong(const struct app *app, uint32_t op, const char *what)
{
    fprintf(stderr, "storm: rank %d, operation %u: %s (%s)\n", app->rank, op, what, ftc_last_error());
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

static void die(int how)
{
    if (how == 0)
        exit(3);
    if (how == SIGSEGV)
        signal(SIGSEGV, SIG_DFL);
    raise(how);
}

static int way(const char *name)
{
    static const struct {
        const char *name;
        int how;
    } ways[] = {{"kill", SIGKILL}, {"stop", SIGSTOP}, {"exit", 0}, {"abort", SIGABRT}, {"segv", SIGSEGV}};

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(name, ways[i].name) == 0)
            return ways[i].how;
    exit(2);
}

static int alarm_how;

static void on_alarm(int signal)
{
    (void)signal;
    if (alarm_how == 0)
        _exit(3);
    kill(getpid(), alarm_how);
}

static void plan_death(struct app *app, int count, char **orders)
{
    app->die_before = -1;
    for (int i = 0; i < count; i++) {
        int rank, op;
        char how[8];
        if (sscanf(orders[i], "%d:%d:%7s", &rank, &op, how) != 3)
            exit(2);
        if (rank != app->rank)
            continue;
        if (op >= 0) {
            app->die_before = op;
            app->die_how = way(how);
        } else {
            struct itimerval timer = {.it_value = {.tv_sec = -op / 1000000, .tv_usec = -op % 1000000}};
            alarm_how = way(how);
            if (alarm_how == SIGSEGV) /* a sanitizer's handler may wait for a lock that was held just now */
                signal(SIGSEGV, SIG_DFL);
            signal(SIGALRM, on_alarm);
            setitimer(ITIMER_REAL, &timer, NULL);
        }
    }
}

static uint64_t report_failed(const struct app *app)
{
    ftc_report report = {.struct_size = sizeof(report)};
    uint64_t failed = 0;

    ftc_last_report(app->world, &report);
    for (int i = 0; i < report.failed_count; i++)
        failed |= 1ull << report.failed[i];
    return failed;
}

/* Multiplicities: each rank adds one at its own place. */
static uint64_t counted(const struct app *app, uint32_t op, const int32_t *sums)
{
    uint64_t ranks = 0;

    for (int r = 0; r < app->size; r++) {
        if (sums[r] < 0 || sums[r] > 1)
            wrong(app, op, "an input was counted twice");
        if (sums[r] == 1)
            ranks |= 1ull << r;
    }
    return ranks;
}

static void do_allreduce(struct app *app, uint32_t op, struct record *record)
{
    int32_t in[64] = {0}, out[64];

    in[app->rank] = 1;
    record->status = ftc_allreduce(in, out, (size_t)app->size, FTC_INT32, FTC_SUM, app->world);
    if (record->status != FTC_SUCCESS)
        wrong(app, op, "allreduce failed");
    record->counted = counted(app, op, out);
    record->hash = hash_bytes(out, (size_t)app->size * sizeof(out[0]));
    if (!(record->counted >> app->rank & 1))
        wrong(app, op, "the own input is missing");
}

/* Values whose sum depends on the order: the same bits everywhere, or the hashes differ. */
static void do_large(struct app *app, uint32_t op, struct record *record)
{
    uint64_t state = app->seed + op * 131u + (uint64_t)app->rank;

    for (int i = 0; i < LARGE; i++)
        app->large[i] = (double)record_random(&state) / 1e3 - (double)i;
    record->status = ftc_allreduce(FTC_IN_PLACE, app->large, LARGE, FTC_DOUBLE, FTC_SUM, app->world);
    if (record->status != FTC_SUCCESS)
        wrong(app, op, "large allreduce failed");
    record->counted = ~0ull;
    record->hash = hash_bytes(app->large, LARGE * sizeof(double));
}

static void do_reduce(struct app *app, uint32_t op, int root, struct record *record)
{
    int32_t in[64] = {0}, out[64] = {0};

    in[app->rank] = 1;
    record->status = ftc_reduce(in, out, (size_t)app->size, FTC_INT32, FTC_SUM, root, app->world);
    record->counted = ~0ull;
    if (app->rank == root && record->status == FTC_SUCCESS)
        record->counted = counted(app, op, out);
    else if (record->status != FTC_SUCCESS &&
             (app->rank != root || record->status != FTC_ERR_TOO_MANY_FAILURES))
        wrong(app, op, "reduce failed");
}

static void do_bcast(struct app *app, uint32_t op, int root, struct record *record)
{
    uint64_t state = app->seed ^ op, values[33], mine[33];

    for (int i = 0; i < 33; i++)
        values[i] = record_random(&state);
    memset(mine, 0, sizeof(mine));
    if (app->rank == root)
        memcpy(mine, values, sizeof(mine));
    record->counted = ~0ull;
    record->status = ftc_bcast(mine, 33, FTC_UINT64, root, app->world);
    if (record->status == FTC_SUCCESS && memcmp(mine, values, sizeof(mine)) != 0)
        wrong(app, op, "the broadcast value is damaged");
    if (record->status != FTC_SUCCESS && record->status != FTC_ERR_ROOT_FAILED)
        wrong(app, op, "bcast failed");
    record->hash = hash_bytes(mine, sizeof(mine));
}

static void do_validate(struct app *app, uint32_t op, struct record *record)
{
    int agreed = -1, count = -1;
    ftc_rank_info infos[64];

    record->counted = ~0ull;
    record->status = ftc_validate_global(app->world, &agreed);
    if (record->status != FTC_SUCCESS ||
        ftc_get_state_global(app->world, FTC_RANK_NULL, 64, &count, infos) != FTC_SUCCESS || count != agreed)
        wrong(app, op, "validate failed");
    record->hash = hash_bytes(infos, (size_t)count * sizeof(infos[0]));
    for (int i = 0; i < count; i++)
        if (infos[i].rank == app->rank)
            wrong(app, op, "the own rank is in G");
}

static void run_one(struct app *app, uint32_t op)
{
    struct record *record = &app->records[op];
    int root;
    enum record_kind kind = record_pick(app->seed, op, app->size, &root);

    record->op = op;
    record->kind = kind;
    record->root = root;
    if (kind == RECORD_ALLREDUCE)
        do_allreduce(app, op, record);
    else if (kind == RECORD_LARGE)
        do_large(app, op, record);
    else if (kind == RECORD_REDUCE)
        do_reduce(app, op, root, record);
    else if (kind == RECORD_BCAST)
        do_bcast(app, op, root, record);
    else if (kind == RECORD_VALIDATE)
        do_validate(app, op, record);
    else if ((record->status = ftc_barrier(app->world)) != FTC_SUCCESS)
        wrong(app, op, "barrier failed");
    if (kind == RECORD_BARRIER)
        record->counted = ~0ull;
    if (kind != RECORD_REDUCE)
        record->failed = report_failed(app);
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
    app->large = malloc(LARGE * sizeof(double));
    if (app->records == MAP_FAILED || app->large == NULL)
        wrong(app, 0, "cannot map the record file");
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
    plan_death(&app, argc - 4, argv + 4);
    for (int op = 0; op < app.operations; op++) {
        if (op == app.die_before)
            die(app.die_how);
        run_one(&app, (uint32_t)op);
    }
    if (ftc_finalize(app.world) != FTC_SUCCESS) {
        fprintf(stderr, "storm: finalize: %s\n", ftc_last_error());
        return 99;
    }
    free(app.large);
    return 0;
}
