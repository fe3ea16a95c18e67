/* ftcoll-sim reach: checks what each dissemination with each correction promises without help. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "config/value.h"
#include "sim/model/pair.h"
#include "sim/options.h"
#include "sim/progress.h"
#include "sim/reach/reach.h"

#define DEFAULT_RUNS 10000

struct command {
    uint64_t runs, least, most;
};

/* --- options --- */

static int take_runs(void *command, const char *text)
{
    return ftc_option_number("--runs", text, 1, UINT64_C(1) << 40,
                             &((struct command *)command)->runs);
}

static bool read_ranks(const char *text, uint64_t least, uint64_t *ranks)
{
    return ftc_option_number("-n", text, least, FTC_REACH_RANKS, ranks) == 0;
}

/* "16" or "2-9" */
static int take_ranks(void *command, const char *text)
{
    struct command *c = command;
    const char *dash = strchr(text, '-');
    char least[24];
    size_t length = dash != NULL ? (size_t)(dash - text) : strlen(text);

    snprintf(least, sizeof(least), "%.*s", (int)length, text);
    bool sound = length < sizeof(least) && read_ranks(least, 2, &c->least);
    c->most = c->least;
    if (sound && (dash == NULL || read_ranks(dash + 1, c->least, &c->most)))
        return 0;
    return ftc_error_set(FTC_ERR_ARG, "-n %s: no such number of ranks; give N or MIN-MAX, 2 to %d",
                         text, FTC_REACH_RANKS);
}

static const struct ftc_option options[] = {
    {"runs", 'r', "RUNS",
     "how many runs of each pair; run i has the seed SEED + i (default: 10000)", take_runs},
    {"ranks", 'n', "N|MIN-MAX", "number of ranks (default: 2-64)", take_ranks},
    {NULL, 0, NULL, NULL, NULL},
};

const struct ftc_usage ftc_reach_usage = {
    .synopsis = "ftcoll-sim reach [options]",
    .summary = "Run one broadcast without any help: no rank is told of a death, and no rank that "
               "asks gets an answer. Ranks "
               "die before the broadcast or in the middle of it, datagrams get lost, and events "
               "happen in any order. Checks "
               "that the broadcast reaches what its dissemination and its correction promise by "
               "themselves. Takes every pair, "
               "or those of --dissemination, --tree and --correction; all else is drawn from the "
               "seed. Stops at the first "
               "broken promise.",
    .examples = "  ftcoll-sim reach --runs 1000000 --dissemination gossip\n"
                "  ftcoll-sim reach -n 64 --dissemination lame --correction checked\n",
    .option = options,
};

/* --- which pairs --- */

static bool is_wanted(const struct ftc_setup *setup, struct ftc_pair pair)
{
    const struct ftc_settings *settings = &setup->settings;
    const struct ftc_config *value = &settings->value;
    bool tree_given =
        strcmp(settings->source[ftc_config_find("broadcast", "tree")], "default") != 0;

    if (value->dissemination != FTC_CONFIG_DISSEMINATION_AUTO &&
        setup->member.dissemination != pair.dissemination)
        return false;
    if (pair.dissemination == FTC_DISSEMINATION_TREE && tree_given &&
        setup->member.tree.tree != pair.tree)
        return false;
    return value->correction == FTC_CONFIG_CORRECTION_AUTO ||
           setup->member.correction == pair.correction;
}

/* A setting that is drawn must not be given. */
static int check(const struct ftc_setup *setup)
{
    const struct ftc_settings *settings = &setup->settings;

    if (setup->program.length > 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "reach takes no operation: each run is one broadcast; leave it out");
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        const struct ftc_config_key *key = &ftc_config_schema[i];
        bool chosen = strcmp(key->section, "broadcast") == 0 &&
                      (strcmp(key->key, "dissemination") == 0 || strcmp(key->key, "tree") == 0 ||
                       strcmp(key->key, "correction") == 0);
        if (!chosen && strcmp(settings->source[i], "default") != 0)
            return ftc_error_set(
                FTC_ERR_ARG,
                "%s.%s (%s): reach draws it, or has no use for it; leave it out, or see storm",
                key->section, key->key, settings->source[i]);
    }
    return 0;
}

/* --- running --- */

struct sums {
    /* coloured: runs in which a rank died after it had delivered */
    uint64_t runs, deaths, coloured;
    uint64_t missed, survivors;
};

static void print_broken(const struct command *c, struct ftc_pair pair, uint64_t seed,
                         const char *words)
{
    char name[FTC_PAIR_NAME];

    fprintf(stderr, "ftcoll-sim: %s: a promise is broken: %s\n", ftc_pair_name(pair, name), words);
    fprintf(stderr,
            "again: ftcoll-sim reach --dissemination %s --correction %s -n %" PRIu64 "-%" PRIu64
            " --seed %" PRIu64 " --runs 1\n",
            ftc_pair_dissemination(pair), ftc_correction_name(pair.correction), c->least, c->most,
            seed);
}

/* One run. False: it broke a promise. */
static bool run_one(const struct command *c, struct ftc_pair pair,
                    const struct ftc_member_settings *plain, uint64_t seed, struct sums *sums)
{
    struct ftc_member_settings member = *plain;
    struct ftc_reach_run run;
    struct ftc_reach_result result;

    ftc_pair_apply(pair, &member);
    ftc_reach_draw(&run, &member, (int)c->least, (int)c->most, seed);
    ftc_reach_run(&run, &result);
    sums->runs++;
    sums->deaths += (uint64_t)(run.settings.ranks - result.live);
    sums->coloured += result.coloured_deaths > 0;
    sums->missed += (uint64_t)result.missed;
    sums->survivors += (uint64_t)result.live;
    if (!result.kept)
        print_broken(c, pair, seed, result.words);
    return result.kept;
}

struct report {
    const struct command *command;
    const struct ftc_setup *setup;
    struct ftc_progress progress;
    uint64_t done;
};

static bool run_pair(struct report *r, struct ftc_pair pair)
{
    char name[FTC_PAIR_NAME];
    struct sums sums = {0};
    bool kept = true;

    for (uint64_t run = 0; kept && run < r->command->runs; run++) {
        ftc_progress_show(&r->progress, r->done++, ftc_pair_name(pair, name));
        kept = run_one(r->command, pair, &r->setup->member, r->setup->seed + run, &sums);
    }
    ftc_progress_end(&r->progress);
    printf("%-24s %9" PRIu64 " %10" PRIu64 " %9" PRIu64 " %10" PRIu64 " %11" PRIu64 "  %s\n",
           ftc_pair_name(pair, name), sums.runs, sums.deaths, sums.coloured, sums.missed,
           sums.survivors, kept ? "kept" : "BROKEN");
    fflush(stdout);
    return kept;
}

static int run(const struct command *c, const struct ftc_setup *setup)
{
    struct report r = {.command = c, .setup = setup};
    uint64_t pairs = 0;

    for (int i = 0; i < FTC_PAIRS; i++)
        pairs += is_wanted(setup, ftc_pair_at(i));
    r.progress = ftc_progress_start(stderr, "runs", pairs * c->runs);
    printf("%-24s %9s %10s %9s %10s %11s  %s\n", "pair", "runs", "deaths", "coloured", "missed",
           "survivors", "promise");
    for (int i = 0; i < FTC_PAIRS; i++)
        if (is_wanted(setup, ftc_pair_at(i)) && !run_pair(&r, ftc_pair_at(i)))
            return FTC_SIM_EXIT_VIOLATION;
    puts("deaths: of ranks, before it and during it; coloured: runs in which one of them had it; "
         "missed: "
         "survivors that never got it");
    return FTC_SIM_EXIT_OK;
}

int ftc_command_reach(int argc, char **argv)
{
    struct command command = {.runs = DEFAULT_RUNS, .least = 2, .most = FTC_REACH_RANKS};
    struct ftc_setup setup;
    int code;

    if (!ftc_setup_begin(&setup, &ftc_reach_usage, &command, argc, argv, &code))
        return code;
    if (check(&setup) == 0) {
        code = run(&command, &setup);
    } else {
        fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
        code = FTC_SIM_EXIT_USAGE;
    }
    ftc_setup_fini(&setup);
    return code;
}
