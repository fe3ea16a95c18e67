/*
 * Counts the messages of single operations in a running job and compares them with agreement.md,
 * "Cost without failures". counts.bats runs it under ftrun.
 *
 *   counts_app healthy COLLECTS  runs every kind of operation, and nobody dies. COLLECTS says
 *                                whether broadcasts collect
 *   counts_app after DEAD        the ranks in the bit set DEAD (0 to 63) die; then every kind of
 *                                operation runs without them
 *   counts_app reduce DEAD       the first operation is a plain reduce to the last rank. The ranks
 *                                in DEAD die in it (by FTCOLL_TEST_DIE). It must take no more
 *                                messages than without failures
 *   counts_app bytes DEAD        prints the bytes of one reduce with share = off after DEAD have
 *                                died
 *
 * The *window* of an operation at a rank reaches from its call to the next call. An allreduce at
 * the end adds up the counts of all ranks. It is in no window.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectives/agreement/member.h"
#include "collectives/message.h"
#include "ftcoll.h"
#include "node/segment/segment.h"

#define ROUNDS 3
#define KINDS  5
#define OPS    (ROUNDS * KINDS)

enum kind { REDUCE, ALLREDUCE, BARRIER, VALIDATE, BCAST };
static const char *const kind_names[KINDS] = {"reduce", "allreduce", "barrier", "validate",
                                              "bcast"};

/* The sums of these counts over all ranks are the cost of an operation. */
enum {
    SENT = 0,
    BYTES = FTC_MESSAGES, /* follows the counts by kind */
    WRITTEN_OFF,          /* dead ranks that the rank had waited for */
    RETRIES,
    COUNTS
};
struct window {
    int64_t count[COUNTS];
};

struct app {
    ftc_comm *world;
    struct ftc_segment *segment;
    int rank, size, f;
    uint64_t dead;
    struct window start, windows[OPS], sums[OPS];
    enum kind kinds[OPS];
    int ops;
};

static _Noreturn void wrong(const struct app *app, const char *what)
{
    fprintf(stderr, "counts: rank %d: %s (%s)\n", app->rank, what, ftc_last_error());
    ftc_abort(app->world, 99);
    exit(99);
}

static struct window sample(const struct app *app, int rank)
{
    const struct ftc_counters *counters = &ftc_segment_slot(app->segment, rank)->counters;
    struct window now = {0};
    for (int i = 0; i < FTC_MESSAGES; i++)
        now.count[SENT + i] = (int64_t)atomic_load(&counters->sent[i]);
    now.count[BYTES] = (int64_t)atomic_load(&counters->bytes);
    now.count[WRITTEN_OFF] = (int64_t)(atomic_load(&counters->rules[FTC_RULE_WRITE_OFF_GROUP]) +
                                       atomic_load(&counters->rules[FTC_RULE_WRITE_OFF_CHILD]));
    now.count[RETRIES] = (int64_t)atomic_load(&counters->rules[FTC_RULE_RETRY]);
    return now;
}

static void add(struct window *sum, const struct window *more, int64_t factor)
{
    for (int i = 0; i < COUNTS; i++)
        sum->count[i] += factor * more->count[i];
}

/* Ends the window of the last operation. Called before the next call and at the end. */
static void close_window(struct app *app)
{
    struct window now = sample(app, app->rank);
    if (app->ops > 0) {
        app->windows[app->ops - 1] = now;
        add(&app->windows[app->ops - 1], &app->start, -1);
    }
    app->start = now;
}

static bool is_dead(const struct app *app, int rank)
{
    return rank < 64 && (app->dead >> rank & 1);
}

/* The lowest survivor whose rank is at least `from`. */
static int survivor(const struct app *app, int from)
{
    while (is_dead(app, from % app->size))
        from++;
    return from % app->size;
}

static int run(struct app *app, enum kind kind, int root)
{
    int32_t in = app->rank, out = 0;
    int failed;
    if (kind == REDUCE)
        return ftc_reduce(&in, &out, 1, FTC_INT32, FTC_SUM, root, app->world);
    if (kind == ALLREDUCE)
        return ftc_allreduce(&in, &out, 1, FTC_INT32, FTC_SUM, app->world);
    if (kind == BARRIER)
        return ftc_barrier(app->world);
    if (kind == VALIDATE)
        return ftc_validate_global(app->world, &failed);
    return ftc_bcast(&in, 1, FTC_INT32, root, app->world);
}

static void run_windows(struct app *app)
{
    for (int i = 0; i < OPS; i++) {
        close_window(app);
        app->kinds[app->ops++] = (enum kind)(i % KINDS);
        if (run(app, (enum kind)(i % KINDS), survivor(app, i * 7)) != FTC_SUCCESS)
            wrong(app, "an operation failed");
    }
    close_window(app);
    if (ftc_allreduce(app->windows, app->sums, OPS * COUNTS, FTC_INT64, FTC_SUM, app->world) !=
        FTC_SUCCESS)
        wrong(app, "adding up failed");
}

/* agreement.md, "Cost without failures", for `m` participants. */
static int64_t up_messages(int m, int f)
{
    int64_t a = (m - 1) % (f + 1) + 1;
    return (int64_t)f * (f + 1) * ((m - 1) / (f + 1)) + a * (a - 1);
}

static void judge(const struct app *app, int op, int m, bool broadcasts_collect)
{
    enum kind kind = app->kinds[op];
    const int64_t *count = app->sums[op].count;
    bool collects = kind != BCAST || broadcasts_collect;
    int64_t up = collects ? up_messages(m, app->f) : 0, tree = collects ? m - 1 : 0;
    int64_t decide = kind == REDUCE ? 0 : m - 1;
    bool tree_exact = kind == REDUCE || app->f == 0 || !collects;
    bool good =
        count[FTC_MESSAGE_UP] == up && count[FTC_MESSAGE_DECIDE] == decide &&
        (tree_exact ? count[FTC_MESSAGE_TREE] == tree : count[FTC_MESSAGE_TREE] <= tree) &&
        count[FTC_MESSAGE_PREPARE] + count[FTC_MESSAGE_POKE] + count[FTC_MESSAGE_PULL] == 0 &&
        count[WRITTEN_OFF] == 0 && count[RETRIES] == 0;
    if (good)
        return;
    fprintf(stderr,
            "counts: operation %d (%s), %d participants, f %d: UP %" PRId64 " (expected %" PRId64
            ") TREE %" PRId64 " (%s %" PRId64 ") DECIDE %" PRId64 " (expected %" PRId64
            ") PREPARE %" PRId64 " POKE %" PRId64 " PULL %" PRId64 " written off %" PRId64
            " retries %" PRId64 "\n",
            op, kind_names[kind], m, app->f, count[FTC_MESSAGE_UP], up, count[FTC_MESSAGE_TREE],
            tree_exact ? "expected" : "at most", tree, count[FTC_MESSAGE_DECIDE], decide,
            count[FTC_MESSAGE_PREPARE], count[FTC_MESSAGE_POKE], count[FTC_MESSAGE_PULL],
            count[WRITTEN_OFF], count[RETRIES]);
    wrong(app, "the numbers of messages are not those of the formula");
}

static void judge_windows(const struct app *app, int participants, bool broadcasts_collect)
{
    for (int op = 0; op < OPS; op++)
        judge(app, op, participants, broadcasts_collect);
}

static int failed_count(const struct app *app)
{
    ftc_report report = {.struct_size = sizeof(report)};
    ftc_last_report(app->world, &report);
    return report.failed_count;
}

/* Runs operations until one has delivered all of the dead as failed. Runs one more, after which all
 * repair is over. */
static void die_and_agree(struct app *app)
{
    if (run(app, BARRIER, 0) != FTC_SUCCESS)
        wrong(app, "the first barrier failed");
    if (is_dead(app, app->rank))
        raise(SIGKILL);
    do
        if (run(app, ALLREDUCE, 0) != FTC_SUCCESS)
            wrong(app, "an allreduce after the deaths failed");
    while (failed_count(app) < __builtin_popcountll(app->dead));
    if (run(app, BARRIER, 0) != FTC_SUCCESS)
        wrong(app, "the second barrier failed");
}

static void healthy(struct app *app, bool broadcasts_collect)
{
    run_windows(app);
    judge_windows(app, app->size, broadcasts_collect);
}

static void after(struct app *app)
{
    die_and_agree(app);
    run_windows(app);
    judge_windows(app, app->size - __builtin_popcountll(app->dead), false);
}

/* The slots of the dead ranks still hold the counts of what they sent. */
static void reduce(struct app *app)
{
    struct window mine, sum;
    int rc = run(app, REDUCE, app->size - 1);
    if (rc != FTC_SUCCESS && rc != FTC_ERR_TOO_MANY_FAILURES)
        wrong(app, "the reduce failed");
    mine = sample(app, app->rank);
    if (ftc_allreduce(&mine, &sum, COUNTS, FTC_INT64, FTC_SUM, app->world) != FTC_SUCCESS)
        wrong(app, "adding up failed");
    for (int rank = 0; rank < app->size; rank++) {
        struct window left = sample(app, rank);
        if (is_dead(app, rank))
            add(&sum, &left, 1);
    }
    if (sum.count[FTC_MESSAGE_UP] > up_messages(app->size, app->f) ||
        sum.count[FTC_MESSAGE_TREE] > app->size - 1 ||
        sum.count[FTC_MESSAGE_DECIDE] + sum.count[FTC_MESSAGE_PREPARE] +
                sum.count[FTC_MESSAGE_POKE] + sum.count[FTC_MESSAGE_PULL] !=
            0)
        wrong(app, "a reduce with failures sent more than one without");
}

/* Uses a plain reduce, because there every TREE is sent, whatever the timing. */
static void bytes(struct app *app)
{
    int64_t least = INT64_MAX;
    if (run(app, BARRIER, 0) != FTC_SUCCESS)
        wrong(app, "the first barrier failed");
    if (is_dead(app, app->rank))
        raise(SIGKILL);
    for (int i = 0; i < 3; i++)
        if (run(app, ALLREDUCE, 0) != FTC_SUCCESS)
            wrong(app, "an allreduce after the deaths failed");
    run_windows(app);
    for (int op = 0; op < OPS; op++)
        if (app->kinds[op] == REDUCE && app->sums[op].count[BYTES] < least)
            least = app->sums[op].count[BYTES];
    if (app->rank == survivor(app, 0))
        printf("%" PRId64 "\n", least);
}

int main(int argc, char **argv)
{
    struct app app = {0};
    if (argc != 3)
        return 2;
    if (ftc_init(NULL, &app.world) != FTC_SUCCESS) {
        fprintf(stderr, "counts: %s\n", ftc_last_error());
        return 99;
    }
    app.rank = ftc_rank(app.world);
    app.size = ftc_size(app.world);
    if (getenv("FTCOLL_JOB_SEGMENT") == NULL ||
        ftc_segment_attach(&app.segment, getenv("FTCOLL_JOB_SEGMENT"), false) != FTC_SUCCESS)
        wrong(&app, "cannot look at the node segment");
    app.f = ftc_segment_header(app.segment)->f;
    app.dead = strtoull(argv[2], NULL, 0);
    if (strcmp(argv[1], "healthy") == 0) {
        app.dead = 0;
        healthy(&app, atoi(argv[2]));
    } else if (strcmp(argv[1], "after") == 0) {
        after(&app);
    } else if (strcmp(argv[1], "reduce") == 0) {
        reduce(&app);
    } else {
        bytes(&app);
    }
    ftc_segment_detach(app.segment);
    return ftc_finalize(app.world) == FTC_SUCCESS ? 0 : 1;
}
