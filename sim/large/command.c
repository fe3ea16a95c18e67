/* ftcoll-sim large: random runs of large values, until one breaks a promise. */
#include <inttypes.h>

#include "sim/large/large.h"
#include "sim/seeded.h"

#define DEFAULT_RUNS 100000

struct command {
    struct ftc_seeded seeded;
    struct ftc_large_sums sums;
};

static const struct ftc_option options[] = {
    {"runs", 'r', "RUNS", "how many runs; run i has the seed SEED + i (default: 100000)",
     ftc_seeded_take_runs},
    {"trace", 0, NULL, "print each step of the first run, and end", ftc_seeded_take_trace},
    {NULL, 0, NULL, NULL, NULL},
};

const struct ftc_usage ftc_large_usage = {
    .synopsis = "ftcoll-sim large [options]",
    .summary =
        "Run collectives of large values (docs/design/nodes.md). The ranks exchange what they "
        "need, and no death is survived; "
        "then the exchange is committed, or run again, or left to the agreement core. There "
        "are 2 to 6 ranks. They die between any two "
        "messages, and hear of deaths at different times. Checks that survivors have what "
        "each collective promises them, with the input of every live rank, and the same of "
        "that of a dead one, and that no "
        "rank waits for ever. Stops at the first broken promise.",
    .examples = "  ftcoll-sim large --runs 1000000 --seed 7\n"
                "  ftcoll-sim large --seed 812 --trace\n",
    .option = options,
    .alone = true,
};

static bool run(struct ftc_seeded *seeded, uint64_t seed)
{
    struct ftc_large_sums *sums = &((struct command *)seeded)->sums;
    char violation[FTC_LARGE_SIM_WORDS];
    struct ftc_large_story story;

    ftc_large_draw(&story, seed);
    bool kept = ftc_large_run(&story, sums, seeded->trace ? stdout : NULL, violation);
    seeded->done = sums->runs;
    seeded->events = sums->events;
    if (kept)
        return true;
    printf("seed %" PRIu64 " breaks a promise: %s\n", seed, violation);
    printf("the whole run: ftcoll-sim large --seed %" PRIu64 " --trace\n", seed);
    return false;
}

static void report_results(const struct ftc_large_sums *s)
{
    const char *between = "  ";

    for (int kind = 0; kind < FTC_CALL_KINDS; kind++) {
        if (s->results[kind] == 0)
            continue;
        printf("%s%" PRIu64 " %s", between, s->results[kind], ftc_call_kind_name(kind));
        between = ", ";
    }
    printf("\n");
}

static void report(const struct ftc_seeded *seeded)
{
    const struct ftc_large_sums *s = &((const struct command *)seeded)->sums;

    report_results(s);
    printf("  %" PRIu64 " deaths; at all ranks: %" PRIu64 " attempts committed, %" PRIu64
           " not, %" PRIu64 " left to the agreement core\n",
           s->deaths, s->committed, s->again, s->fallbacks);
    printf("  %" PRIu64 " blocks came before their attempt, %" PRIu64 " after it, %" PRIu64
           " of another history\n",
           s->early, s->late, s->foreign);
}

int ftc_command_large(int argc, char **argv)
{
    static const struct ftc_seeded_ops ops = {run, report, NULL};
    struct command command = {.seeded.runs = DEFAULT_RUNS};

    return ftc_seeded_command(&command.seeded, &ftc_large_usage, &ops, argc, argv);
}
