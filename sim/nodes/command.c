/* ftcoll-sim nodes: random runs of several nodes, until one breaks a promise. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "sim/nodes/beats.h"
#include "sim/nodes/nodes.h"
#include "sim/nodes/spread.h"
#include "sim/seeded.h"

#define DEFAULT_RUNS 10000

struct command {
    struct ftc_seeded seeded;
    uint64_t least, most;
    uint64_t spread, beats; /* 0, 0: runs are wanted */
    struct ftc_cost cost;
    enum ftc_nodes_fault fault;
    struct ftc_nodes_sums sums;
};

/* --- options --- */

static bool read_nodes(const char *text, uint64_t least, uint64_t *nodes)
{
    return ftc_option_number("--nodes", text, least, FTC_NODES_MOST, nodes) == FTC_SUCCESS;
}

/* "4" or "2-5" */
static int take_nodes(void *command, const char *text)
{
    struct command *c = command;
    const char *dash = strchr(text, '-');
    char least[24];
    size_t length = dash != NULL ? (size_t)(dash - text) : strlen(text);

    snprintf(least, sizeof(least), "%.*s", (int)length, text);
    bool sound = length < sizeof(least) && read_nodes(least, 2, &c->least);
    c->most = c->least;
    if (sound && (dash == NULL || read_nodes(dash + 1, c->least, &c->most)))
        return FTC_SUCCESS;
    return ftc_error_set(FTC_ERR_ARG,
                         "--nodes %s: no such number of nodes; give N or MIN-MAX, 2 to %d", text,
                         FTC_NODES_MOST);
}

static int take_fault(void *command, const char *text)
{
    for (int fault = 0; fault < FTC_NODES_FAULTS; fault++) {
        ((struct command *)command)->fault = (enum ftc_nodes_fault)fault;
        if (strcmp(ftc_nodes_fault_name((enum ftc_nodes_fault)fault), text) == 0)
            return FTC_SUCCESS;
    }
    return ftc_error_set(FTC_ERR_ARG, "--fault %s: no such fault; --help lists them", text);
}

static int take_spread(void *command, const char *text)
{
    return ftc_option_number("--spread", text, 2, FTC_SPREAD_MOST,
                             &((struct command *)command)->spread);
}

static int take_beats(void *command, const char *text)
{
    return ftc_option_number("--beats", text, 4, FTC_BEATS_MOST,
                             &((struct command *)command)->beats);
}

static int take_cost(void *command, const char *text)
{
    return ftc_cost_parse(&((struct command *)command)->cost, text);
}

static const struct ftc_option options[] = {
    {"runs", 'r', "RUNS", "how many runs; run i has the seed SEED + i (default: 10000)",
     ftc_seeded_take_runs},
    {"nodes", 0, "N|MIN-MAX",
     "number of nodes, 2 to 12, of 1 to 3 ranks (default: 2-7, sometimes up to 12)", take_nodes},
    {"trace", 0, NULL, "print each step of the first run but beats and echoes, and end",
     ftc_seeded_take_trace},
    {"fault", 0, "FAULT",
     "a mutation that is to be found: unchecked, stays; by-l is harmless (default: sound)",
     take_fault},
    {"spread", 0, "NODES",
     "no runs, but a table (CSV): how notices spread over 2, 4, ... NODES nodes", take_spread},
    {"beats", 0, "NODES",
     "no runs, but a table (CSV): messages of leases at the busiest of 4, 16, ... NODES agents",
     take_beats},
    {"cost", 'c', "MODEL",
     "with --spread and --beats: the cost model, see run --help (default: tcp)", take_cost},
    {NULL, 0, NULL, NULL, NULL},
};

const struct ftc_usage ftc_nodes_usage = {
    .synopsis = "ftcoll-sim nodes [options]",
    .summary =
        "Run leases and the agreement core together (docs/design/nodes.md), on a few nodes. Each "
        "node has a clock of "
        "its own, an agent, and ranks. Ways between nodes are slow, or are cut. Nodes, agents and "
        "ranks are paused and "
        "die between any two steps. Checks that no rank is declared failed that may still return "
        "from a call, or is "
        "heard; that survivors agree; that those who were cut off end; that a quorum that can talk "
        "goes on. Stops at "
        "the first broken promise.",
    .examples = "  ftcoll-sim nodes --runs 100000 --seed 7\n"
                "  ftcoll-sim nodes --nodes 3 --seed 812 --trace\n"
                "  ftcoll-sim nodes --fault unchecked\n"
                "  ftcoll-sim nodes --spread 16384 --cost rdma\n",
    .option = options,
    .alone = true,
};

/* --- reports --- */

static void report(const struct ftc_seeded *seeded)
{
    const struct ftc_nodes_sums *s = &((const struct command *)seeded)->sums;

    printf("  %" PRIu64 " nodes, %" PRIu64 " ranks; %" PRIu64 " cuts, %" PRIu64 " pauses, %" PRIu64
           " ranks killed\n",
           s->nodes, s->ranks, s->cuts, s->pauses, s->ranks_died);
    printf("  %" PRIu64 " leaders were elected, %" PRIu64 " refusals, %" PRIu64
           " nodes declared failed, %" PRIu64 " fenced themselves, and %" PRIu64
           " ranks with them\n",
           s->leaders, s->refused, s->declared, s->fenced, s->ranks_ended);
    printf("  %" PRIu64 " operations decided, %" PRIu64
           " of them once more when all were gone who had returned; %" PRIu64
           " messages of refused nodes dropped\n",
           s->decided, s->forgotten, s->late);
    printf("  at the end: cut in two %" PRIu64 ", pairs cut %" PRIu64
           ", a quorum had to go on %" PRIu64 ", somebody had lost %" PRIu64
           ", nobody was left %" PRIu64 "\n",
           s->cut, s->apart, s->went_on, s->lost, s->none);
}

static void print_broken(const struct command *c, uint64_t seed, const char *violation)
{
    printf("seed %" PRIu64 " breaks a promise: %s\n", seed, violation);
    printf("the whole run: ftcoll-sim nodes");
    if (c->least > 0)
        printf(" --nodes %" PRIu64 "-%" PRIu64, c->least, c->most);
    if (c->fault != FTC_NODES_SOUND)
        printf(" --fault %s", ftc_nodes_fault_name(c->fault));
    printf(" --seed %" PRIu64 " --trace\n", seed);
}

/* --- running --- */

static bool run(struct ftc_seeded *seeded, uint64_t seed)
{
    struct command *c = (struct command *)seeded;
    struct ftc_nodes_frame frame = {(int)c->least, (int)c->most, c->fault};
    char violation[FTC_NODES_WORDS];
    struct ftc_nodes_story story;

    ftc_nodes_draw(&story, &frame, seed);
    bool kept = ftc_nodes_run(&story, &c->sums, seeded->trace ? stdout : NULL, violation);
    seeded->done = c->sums.runs;
    seeded->events = c->sums.events;
    if (!kept)
        print_broken(c, seed, violation);
    return kept;
}

static bool table(struct ftc_seeded *seeded, uint64_t seed, int *code)
{
    const struct command *c = (const struct command *)seeded;

    if (c->spread == 0 && c->beats == 0)
        return false;
    int rc = c->spread != 0 ? ftc_spread_table(&c->cost, (int)c->spread, seed, stdout) : 0;
    if (rc == FTC_SUCCESS && c->beats != 0)
        rc = ftc_beats_table(&c->cost, (int)c->beats, seed, stdout);
    if (rc != FTC_SUCCESS)
        fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
    *code = rc == FTC_SUCCESS ? FTC_SIM_EXIT_OK : FTC_SIM_EXIT_ERROR;
    return true;
}

int ftc_command_nodes(int argc, char **argv)
{
    static const struct ftc_seeded_ops ops = {run, report, table};
    struct command command = {.seeded.runs = DEFAULT_RUNS};

    if (ftc_cost_parse(&command.cost, "tcp") != FTC_SUCCESS)
        return FTC_SIM_EXIT_ERROR;

    return ftc_seeded_command(&command.seeded, &ftc_nodes_usage, &ops, argc, argv);
}
