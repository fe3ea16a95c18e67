/* ftcoll-sim large: random runs of large allreduces, until one breaks a promise. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "sim/large/large.h"
#include "sim/options.h"
#include "sim/progress.h"

#define DEFAULT_RUNS 100000

struct command {
    uint64_t runs;
    bool trace;
};

static int take_runs(void *command, const char *text)
{
    return ftc_option_number("--runs", text, 1, UINT64_C(1) << 40, &((struct command *)command)->runs);
}

static int take_trace(void *command, const char *text)
{
    (void)text;
    ((struct command *)command)->trace = true;
    return FTC_SUCCESS;
}

static const struct ftc_option options[] = {
    {"runs", 'r', "RUNS", "how many; run i has the seed SEED + i (default: 100000)", take_runs},
    {"trace", 0, NULL, "print each step of the first run, and end", take_trace},
    {NULL, 0, NULL, NULL, NULL},
};

const struct ftc_usage ftc_large_usage = {
    .synopsis = "ftcoll-sim large [options]",
    .summary = "Large allreduces (docs/design/nodes.md): round a ring that survives nothing, then committed, "
               "run again or left to\n"
               "the agreement core. 2 to 6 ranks die between any two messages, and hear of it at different "
               "times. Checks that\n"
               "survivors have the same result, that it has the input of everybody alive and of the dead all "
               "or nothing, that\n"
               "nobody waits for ever. Stops at the first broken promise.",
    .examples = "  ftcoll-sim large --runs 1000000 --seed 7\n"
                "  ftcoll-sim large --seed 812 --trace\n",
    .option = options,
    .alone = true,
};

static int check(const struct command *c, const struct ftc_setup *setup)
{
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        const struct ftc_config_key *key = &ftc_config_schema[i];
        if (strcmp(setup->settings.source[i], "default") != 0)
            return ftc_error_set(FTC_ERR_ARG, "%s.%s (%s): each run draws it; leave it out", key->section,
                                 key->key, setup->settings.source[i]);
    }
    if (setup->program.length > 0 || setup->ranks_given)
        return ftc_error_set(FTC_ERR_ARG, "each run draws its ranks and operations; leave them out");
    if (c->runs - 1 > INT64_MAX - setup->seed)
        return ftc_error_set(FTC_ERR_ARG,
                             "the runs pass the last seed; give fewer --runs or a smaller --seed");
    return FTC_SUCCESS;
}

static bool run_one(const struct command *c, uint64_t seed, struct ftc_large_sums *sums)
{
    char violation[FTC_LARGE_SIM_WORDS];
    struct ftc_large_story story;

    ftc_large_draw(&story, seed);
    if (ftc_large_run(&story, sums, c->trace ? stdout : NULL, violation))
        return true;
    printf("seed %" PRIu64 " breaks a promise: %s\n", seed, violation);
    printf("the whole run: ftcoll-sim large --seed %" PRIu64 " --trace\n", seed);
    return false;
}

static void print_sums(const struct ftc_large_sums *s)
{
    printf("  %" PRIu64 " large allreduces, %" PRIu64 " deaths; at all ranks: %" PRIu64
           " attempts committed, %" PRIu64 " not, %" PRIu64 " left to the agreement core\n",
           s->results, s->deaths, s->committed, s->again, s->fallbacks);
    printf("  %" PRIu64 " blocks came before their attempt, %" PRIu64 " after it, %" PRIu64
           " of another history\n",
           s->early, s->late, s->foreign);
}

static int run(const struct command *c, uint64_t seed)
{
    struct ftc_progress progress = ftc_progress_start(stderr, "runs", c->runs);
    struct ftc_large_sums sums = {0};
    uint64_t runs = c->trace ? 1 : c->runs;
    bool kept = true;

    for (uint64_t i = 0; i < runs && kept; i++) {
        ftc_progress_show(&progress, i, "");
        kept = run_one(c, seed + i, &sums);
    }
    double seconds = ftc_progress_seconds(&progress);
    ftc_progress_end(&progress);
    printf("%" PRIu64 " of %" PRIu64 " runs from seed %" PRIu64 ", %.0f runs/s (%.1f s), %" PRIu64
           " events\n",
           sums.runs, runs, seed, seconds > 0 ? (double)sums.runs / seconds : 0, seconds, sums.events);
    print_sums(&sums);
    if (kept)
        puts("no promise was broken");
    return kept ? FTC_SIM_EXIT_OK : FTC_SIM_EXIT_VIOLATION;
}

int ftc_command_large(int argc, char **argv)
{
    struct command command = {.runs = DEFAULT_RUNS};
    struct ftc_setup setup;
    int code;

    if (!ftc_setup_begin(&setup, &ftc_large_usage, &command, argc, argv, &code))
        return code;
    if (check(&command, &setup) == FTC_SUCCESS) {
        code = run(&command, setup.seed);
    } else {
        fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
        code = FTC_SIM_EXIT_USAGE;
    }
    ftc_setup_fini(&setup);
    return code;
}
