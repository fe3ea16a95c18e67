/* ftcoll-sim messages: random sends and receives, until one breaks a promise. */
#include <inttypes.h>

#include "sim/point_to_point/messages.h"
#include "sim/seeded.h"

#define DEFAULT_RUNS 100000

struct command {
    struct ftc_seeded seeded;
    struct ftc_messages_sums sums;
};

static const struct ftc_option options[] = {
    {"runs", 'r', "RUNS", "how many runs; run i has the seed SEED + i (default: 100000)",
     ftc_seeded_take_runs},
    {"trace", 0, NULL, "print each step of the first run, and end", ftc_seeded_take_trace},
    {NULL, 0, NULL, NULL, NULL},
};

const struct ftc_usage ftc_messages_usage = {
    .synopsis = "ftcoll-sim messages [options]",
    .summary =
        "Run sends and receives (docs/design/point-to-point.md) among 1 to 4 ranks: small and "
        "large ones, with tags, from any rank, cancelled, and too long for their receives. Ranks "
        "die between any two messages, and hear of deaths and of a revoke at different times. "
        "Checks that each message is received once at most, whole and in order, that each "
        "transfer ends if its other end has failed, and that memory has its bound. Stops at the "
        "first broken promise.",
    .examples = "  ftcoll-sim messages --runs 1000000 --seed 7\n"
                "  ftcoll-sim messages --seed 812 --trace\n",
    .option = options,
    .alone = true,
};

static bool run(struct ftc_seeded *seeded, uint64_t seed)
{
    struct ftc_messages_sums *sums = &((struct command *)seeded)->sums;
    char violation[FTC_MESSAGES_WORDS];
    struct ftc_messages_story story;

    ftc_messages_draw(&story, seed);
    bool kept = ftc_messages_run(&story, sums, seeded->trace ? stdout : NULL, violation);
    seeded->done = sums->runs;
    seeded->events = sums->events;
    if (kept)
        return true;
    printf("seed %" PRIu64 " breaks a promise: %s\n", seed, violation);
    printf("the whole run: ftcoll-sim messages --seed %" PRIu64 " --trace\n", seed);
    return false;
}

static void report(const struct ftc_seeded *seeded)
{
    const struct ftc_messages_sums *s = &((const struct command *)seeded)->sums;

    printf("  %" PRIu64 " messages sent, %" PRIu64 " received, %" PRIu64 " of these cut short; "
           "%" PRIu64 " copies, %" PRIu64 " refused\n",
           s->sent, s->received, s->truncated, s->copied, s->refused);
    printf("  %" PRIu64 " deaths, %" PRIu64 " revokes; transfers that ended so: %" PRIu64
           " and %" PRIu64 "\n",
           s->deaths, s->revokes, s->failed, s->revoked);
    printf("  %" PRIu64 " cancelled, %" PRIu64
           " of these withdrawn by their receivers, which kept %" PRIu64 "; %" PRIu64
           " ranks left\n",
           s->cancelled, s->withdrawn, s->kept, s->left);
    printf("  %" PRIu64 " waits interrupted, %" PRIu64 " transfers without a partner\n",
           s->interrupted, s->lonely);
}

int ftc_command_messages(int argc, char **argv)
{
    static const struct ftc_seeded_ops ops = {run, report, NULL};
    struct command command = {.seeded.runs = DEFAULT_RUNS};

    return ftc_seeded_command(&command.seeded, &ftc_messages_usage, &ops, argc, argv);
}
