/* ftcoll-sim communicators: storms over several communicators, one after the other. */
#include <inttypes.h>
#include <stdio.h>

#include "sim/communicators/communicators.h"
#include "sim/seeded.h"

#define DEFAULT_RUNS 100000

struct command {
    struct ftc_seeded seeded;
    struct ftc_comms_sums sums;
};

static const struct ftc_option options[] = {
    {"runs", 'r', "RUNS", "how many runs; run i has the seed SEED + i (default: 100000)",
     ftc_seeded_take_runs},
    {"trace", 0, NULL, "print each step of the first run, and end", ftc_seeded_take_trace},
    {NULL, 0, NULL, NULL, NULL},
};

const struct ftc_usage ftc_communicators_usage = {
    .synopsis = "ftcoll-sim communicators [options]",
    .summary = "Run programs over several communicators (docs/design/communicators.md). They are "
               "made by dup, split, shrink and create, used, revoked and freed. There are 2 to 16 "
               "ranks with one or two threads. The ranks die between any two messages, and hear of "
               "deaths at different times. Checks that survivors have the same communicators and "
               "the same results in each, that no two of them have one number, that no rank waits "
               "for ever, and that nothing is retained in the end. Stops at the first broken "
               "promise.",
    .examples = "  ftcoll-sim communicators --runs 1000000 --seed 7\n"
                "  ftcoll-sim communicators --seed 812 --trace\n",
    .option = options,
    .alone = true,
};

static bool run(struct ftc_seeded *seeded, uint64_t seed)
{
    struct ftc_comms_sums *sums = &((struct command *)seeded)->sums;
    char violation[FTC_COMMS_WORDS];
    struct ftc_comms_story story;

    ftc_comms_draw(&story, seed);
    bool kept = ftc_comms_run(&story, sums, seeded->trace ? stdout : NULL, violation);
    seeded->done = sums->runs;
    seeded->events = sums->events;
    if (kept)
        return true;
    printf("seed %" PRIu64 " breaks a promise: %s\n", seed, violation);
    printf("the whole run: ftcoll-sim communicators --seed %" PRIu64 " --trace\n", seed);
    return false;
}

static void report(const struct ftc_seeded *seeded)
{
    const struct ftc_comms_sums *s = &((const struct command *)seeded)->sums;
    const uint64_t *event = s->event;

    printf("  %" PRIu64 " deaths; at all ranks: %" PRIu64 " results, %" PRIu64
           " communicators made, %" PRIu64 " of them by create, %" PRIu64 " forgotten\n",
           s->deaths, s->results, s->children, s->groups, s->forgotten);
    printf("  %" PRIu64 " calls cut off by a revoke, %" PRIu64 " agreements after one, %" PRIu64
           " openings cut off, %" PRIu64 " REVOKE sent again\n",
           s->cut_off, s->agreements, event[FTC_COMMUNICATORS_EVENT_ABANDONED],
           event[FTC_COMMUNICATORS_EVENT_REVOKE_AGAIN]);
    printf("  %" PRIu64 " answers of GONE, %" PRIu64 " taken; %" PRIu64
           " messages kept before their communicator was known, %" PRIu64 " dropped after it\n",
           event[FTC_COMMUNICATORS_EVENT_GONE_ANSWERED], event[FTC_COMMUNICATORS_EVENT_GONE_TAKEN],
           event[FTC_COMMUNICATORS_EVENT_EARLY_KEPT], event[FTC_COMMUNICATORS_EVENT_DROPPED]);
}

int ftc_command_communicators(int argc, char **argv)
{
    static const struct ftc_seeded_ops ops = {run, report, NULL};
    struct command command = {.seeded.runs = DEFAULT_RUNS};

    return ftc_seeded_command(&command.seeded, &ftc_communicators_usage, &ops, argc, argv);
}
