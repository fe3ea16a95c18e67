/* Plans a run of the kill storms. */
#include "tests/system/storm_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/record.h"

/* How decisions spread. The numbers are indices into the names below. */
struct spread {
    unsigned tree, dissemination, correction;
};

static uint64_t pick(struct run *run, uint64_t below)
{
    return record_random(&run->state) % below;
}

void storm_argument(struct run *run, const char *format, ...)
{
    va_list list;

    if (run->argc == STORM_ARGUMENTS)
        abort();
    va_start(list, format);
    vsnprintf(run->text[run->argc], sizeof(run->text[0]), format, list);
    va_end(list);
    run->argv[run->argc] = run->text[run->argc];
    run->argv[++run->argc] = NULL;
}

void storm_setting(struct run *run, const char *format, ...)
{
    char text[160];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    storm_argument(run, "--set");
    storm_argument(run, "%s", text);
}

/* On the board, only gossip sends messages. */
static void plan_transport(struct run *run, uint64_t dice)
{
    static const char *const orders[] = {"shm", "tcp", "shm,tcp", "tcp,shm"};
    const char *forced = getenv("STORM_TRANSPORT");
    /* Other nodes are reached by tcp only. */
    const char *order = run->nodes > 1 ? orders[1 + dice % 3] : orders[dice % 4];

    storm_setting(run, "transport.order=%s", forced != NULL ? forced : order);
}

/* Does not use the run's own random numbers, so that a seed has the same deaths with either
 * algorithm. */
static void plan_board(struct run *run)
{
    const char *forced = getenv("STORM_ALGORITHM");
    uint64_t state = ~run->seed;

    run->board = forced != NULL ? strcmp(forced, "board") == 0 : record_random(&state) % 2 == 0;
    if (getenv("STORM_BROADCAST") != NULL || run->kind > STORM_GOSSIP)
        run->board = false;
}

static void plan_algorithm(struct run *run)
{
    uint64_t state = ~run->seed;

    (void)record_random(&state); /* the number that plan_board() has used */
    storm_setting(run, "collectives.algorithm=%s", run->board ? "board" : "corrected");
    storm_setting(run, "collectives.direct_copies=%s",
                  record_random(&state) % 4 == 0 ? "off" : "on");
    plan_transport(run, record_random(&state));
}

/* --- how decisions spread --- */

static const char *const trees[] = {"binomial", "kary", "lame"};
static const char *const disseminations[] = {"tree", "gossip", "multicast"};
static const char *const corrections[] = {"none",      "opportunistic", "optimised", "checked",
                                          "throttled", "failure-proof", "delayed",   "ring"};
#define COUNT(names) (sizeof(names) / sizeof((names)[0]))

static unsigned find(const char *name, const char *const names[], unsigned count)
{
    unsigned i = 0;

    while (i < count && strcmp(name, names[i]) != 0)
        i++;
    return i;
}

/* Parses STORM_BROADCAST: "gossip+checked", "kary+none". */
static void force_broadcast(const char *text, struct spread *spread)
{
    char dissemination[16], correction[16];

    if (sscanf(text, "%15[a-z]+%15[a-z-]", dissemination, correction) != 2)
        dissemination[0] = correction[0] = '\0';
    unsigned tree = find(dissemination, trees, COUNT(trees));
    if (tree < COUNT(trees))
        spread->tree = tree;
    spread->dissemination =
        tree < COUNT(trees) ? 0 : find(dissemination, disseminations, COUNT(disseminations));
    spread->correction = find(correction, corrections, COUNT(corrections));
    if (spread->dissemination < COUNT(disseminations) && spread->correction < COUNT(corrections))
        return;
    fprintf(stderr,
            "storm: STORM_BROADCAST=%s: wanted is one such as gossip+checked or kary+none\n", text);
    exit(2);
}

/* If no rank is sure to be reached, a rank that was missed must ask at some time. */
static bool may_wait_for_ever(const struct spread *spread)
{
    static const char *const sure[] = {"checked", "throttled", "failure-proof", "ring"};

    return spread->dissemination == 0 ||
           find(corrections[spread->correction], sure, COUNT(sure)) < COUNT(sure);
}

static void plan_correction(struct run *run, const struct spread *spread, uint64_t *state)
{
    static const int delays[] = {0, 10, 100, 1000};
    int patience_ms = 1 + (int)(record_random(state) % 20);

    if (record_random(state) % 4 == 0 && may_wait_for_ever(spread))
        patience_ms = 0;
    storm_setting(run, "broadcast.patience_us=%d", patience_ms * 1000);
    storm_setting(run, "broadcast.correction_delay_us=%d", delays[record_random(state) % 4]);
    storm_setting(run, "broadcast.distance=%d", (int)(record_random(state) % 7));
}

static void plan_gossip(struct run *run, uint64_t *state)
{
    storm_setting(run, "broadcast.gossip_bound=%s", record_random(state) % 2 ? "rounds" : "time");
    storm_setting(run, "broadcast.gossip_rounds=%d", (int)(record_random(state) % 12));
    storm_setting(run, "broadcast.gossip_hop=%d", 1 + (int)(record_random(state) % 5));
    storm_setting(run, "broadcast.seed=%d", (int)(record_random(state) % 1000));
}

/* In half of the runs something happens to the datagrams. */
static void plan_multicast(struct run *run, uint64_t *state)
{
    static const char *const drills[] = {"loss", "duplicate", "reorder", "corrupt", "foreign"};
    static const int percents[] = {0, 0, 0, 1, 10, 50, 100};
    bool drilled = record_random(state) % 2;

    storm_setting(run, "multicast.least_ranks=2");
    storm_setting(run, "multicast.most_bytes=%d", record_random(state) % 4 ? 8 << 20 : 1000);
    storm_setting(run, "multicast.receives=%d", 1 + (int)(record_random(state) % 8));
    storm_setting(run, "drill.seed=%d", (int)(record_random(state) % 1000));
    for (unsigned i = 0; i < COUNT(drills); i++)
        storm_setting(run, "drill.multicast_%s=%d%%", drills[i],
                      drilled ? percents[record_random(state) % COUNT(percents)] : 0);
}

/* Draws any combination, from separate random numbers, so that a seed has the same deaths with
 * each. `plain`: the tree alone. */
static void plan_broadcast(struct run *run, unsigned tree, bool plain)
{
    const char *forced = getenv("STORM_BROADCAST");
    uint64_t state = run->seed ^ 0x62726f6164636173u;
    struct spread spread = {.tree = tree};

    if (!plain) {
        spread.dissemination = (unsigned)(record_random(&state) % COUNT(disseminations));
        spread.correction = (unsigned)(record_random(&state) % COUNT(corrections));
    }
    if (forced != NULL)
        force_broadcast(forced, &spread);
    storm_setting(run, "broadcast.tree=%s", trees[spread.tree]);
    if (run->board)
        return;
    storm_setting(run, "broadcast.dissemination=%s", disseminations[spread.dissemination]);
    storm_setting(run, "broadcast.correction=%s", corrections[spread.correction]);
    plan_correction(run, &spread, &state);
    plan_gossip(run, &state);
    plan_multicast(run, &state);
}

/* Uses separate random numbers, so that a seed has the same deaths with either choice. STORM_LARGE
 * gives the number of bytes from which an allreduce is large; 0: never. */
static void plan_large(struct run *run)
{
    static const int at[] = {0, 1, 1000, 65536};
    const char *forced = getenv("STORM_LARGE");
    uint64_t state = run->seed ^ 0x6c61726765000000u;
    int bytes = forced != NULL ? atoi(forced) : at[record_random(&state) % COUNT(at)];

    storm_setting(run, "collectives.large=%s", bytes > 0 ? "ring" : "off");
    storm_setting(run, "collectives.large_at=%d", bytes);
}

static void plan_settings(struct run *run)
{
    static const char *const schemes[] = {"list", "count", "bit"};
    static const char *const takes[] = {"auto", "first", "lowest"};
    uint64_t scheme = pick(run, 3);
    bool levels = getenv("STORM_LEVELS") !=
                  NULL; /* operations over two levels need this (docs/design/nodes.md) */

    if (run->kind == STORM_VOTE || levels)
        scheme = 0; /* a list says whose results can be compared */

    run->list = scheme == 0;
    run->piggyback = pick(run, 4) > 0 || levels;
    storm_setting(run, "failure_info.scheme=%s", schemes[scheme]);
    storm_setting(run, "failure_info.share=%s", run->piggyback ? "piggyback" : "off");
    storm_setting(run, "collectives.rotation=%s", pick(run, 2) ? "first" : "spread");
    storm_setting(run, "collectives.prepare=%s", pick(run, 2) ? "direct" : "tree");
    unsigned tree = (unsigned)pick(run, 3);
    storm_setting(run, "broadcast.arity=%d", 2 + (int)pick(run, 2));
    plan_broadcast(run, tree, pick(run, 4) == 0 || levels);
    storm_setting(run, "broadcast.settle_every=%d", (int)pick(run, 5));
    storm_setting(run, "reduce.arity=%d", 1 + (int)pick(run, 3));
    storm_setting(run, "reduce.take=%s", takes[run->seed / 3 % 3]);
    storm_setting(run, "reduce.direct=%d", (int)pick(run, 12));
    storm_setting(run, "reduce.doubling=%d", run->seed % 3 == 0 ? 1 : run->seed % 3 == 1 ? 16 : 0);
    storm_setting(run, "detector.heartbeat_period_ms=50");
    storm_setting(run, "detector.heartbeat_timeout_ms=1500");
    if (getenv("STORM_NOTICES") != NULL)
        storm_setting(run, "detector.exit_notices=%s", getenv("STORM_NOTICES"));
}

/* Draws the ranks that may die: some of the first ranks (coordinators) with more than their share,
 * two in a row, or all ranks but one. */
static void plan_victims(struct run *run)
{
    uint64_t dice = pick(run, 10);
    int wanted = 1 + (int)pick(run, (uint64_t)(run->n - 1));

    if (dice < 2)
        wanted = run->n - 1;
    else if (dice < 6 && wanted > 4)
        wanted = 1 + (int)pick(run, 4);
    run->planned = dice % 3 == 0 ? 1 : dice % 3 == 1 && wanted > 1 ? 3 : 0;
    while (__builtin_popcountll(run->planned) < wanted)
        run->planned |= 1ull << pick(run, (uint64_t)run->n);
    if (__builtin_popcountll(run->planned) == run->n)
        run->planned &= run->planned - 1;
    run->victims = __builtin_popcountll(run->planned);
}

static const char *pick_way(struct run *run)
{
    static const char *const ways[] = {"kill", "kill", "kill", "exit", "abort", "segv", "stop"};

    return ways[pick(run, 7)];
}

/* Plans a death at an exact point of the library, by the library's drill variable. */
static void plan_point(struct run *run, int rank)
{
    static const struct {
        const char *name;
        int most;
    } points[] = {{"attached", 1}, {"joined", 1},  {"call", 40}, {"send", 200}, {"send", 60},
                  {"deliver", 40}, {"return", 40}, {"mark", 1},  {"marked", 1}, {"linger", 1}};
    uint64_t point = pick(run, sizeof(points) / sizeof(points[0]));
    size_t used = strlen(run->die);

    snprintf(run->die + used, sizeof(run->die) - used, "%s%d@%s:%d=%s", used > 0 ? "," : "", rank,
             points[point].name, 1 + (int)pick(run, (uint64_t)points[point].most), pick_way(run));
}

static void plan_deaths(struct run *run)
{
    int points = 0;

    for (int rank = 0; rank < run->n; rank++) {
        if (!(run->planned >> rank & 1))
            continue;
        uint64_t dice = pick(run, 10);
        if (dice < 4 && points < 20) {
            plan_point(run, rank);
            points++;
        } else if (dice < 7) {
            storm_argument(run, "%d:%d:%s", rank, (int)pick(run, (uint64_t)run->operations),
                           pick_way(run));
        } else {
            int us = 1 + (int)pick(run, 60000);
            if (run->kind == STORM_GROUPS || run->kind == STORM_MESSAGES)
                us *= 8; /* these runs take longer */
            storm_argument(run, "%d:%d:%s", rank, -us, pick_way(run));
        }
    }
}

/* In some runs a third of the ranks learn of failures late, each at its own time. */
static void plan_deaf(struct run *run)
{
    if (pick(run, 10) < 6)
        return;
    for (int rank = 0; rank < run->n; rank++) {
        size_t used = strlen(run->deaf);
        if (pick(run, 3) == 0)
            snprintf(run->deaf + used, sizeof(run->deaf) - used, "%s%d@%d", used > 0 ? "," : "",
                     rank, 1 + (int)pick(run, 60));
    }
}

static int draw_size(struct run *run)
{
    static const int sizes[] = {2, 3, 4, 5, 7, 8, 16, 33, 64};
    const char *most = getenv("STORM_RANKS");
    int size = sizes[pick(run, 9)];

    return most != NULL && atoi(most) >= 2 && size > atoi(most) ? atoi(most) : size;
}

void storm_plan(struct run *run)
{
    run->state = run->seed;
    run->n = draw_size(run);
    run->f = (int)pick(run, run->n < 4 ? (uint64_t)run->n : 4);
    run->operations = 20 + (int)pick(run, 40);
    plan_victims(run);
    storm_kind(run);
    plan_board(run);
    storm_argument(run, "%s", getenv("FTRUN"));
    storm_nodes(run);
    storm_argument(run, "-np");
    storm_argument(run, "%d", run->n);
    storm_argument(run, "-f");
    storm_argument(run, "%d", run->f);
    plan_algorithm(run);
    plan_large(run);
    plan_settings(run);
    storm_nodes_settings(run);
    storm_strikes(run);
    storm_argument(run, "--report");
    storm_argument(run, "%s", run->report);
    storm_argument(run, "--");
    storm_argument(run, "%s", getenv("STORM_APP"));
    storm_argument(run, "%llu", (unsigned long long)run->seed);
    storm_argument(run, "%d", run->operations);
    storm_argument(run, "%s", run->directory);
    plan_deaths(run);
    storm_tell_strikes(run);
    plan_deaf(run);
}
