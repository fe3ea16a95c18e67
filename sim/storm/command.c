/* ftcoll-sim storm: random runs of random communicators, until one breaks a promise. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "sim/options.h"
#include "sim/storm/report.h"

#define DEFAULT_RUNS 100000
#define MOST_JOBS    1024

struct storm_command {
    uint64_t runs, jobs, least, most;
    bool rules, json;
};

/* --- options --- */

static int take_runs(void *command, const char *text)
{
    return ftc_option_number("--runs", text, 1, UINT64_MAX / 2,
                             &((struct storm_command *)command)->runs);
}

static int take_jobs(void *command, const char *text)
{
    return ftc_option_number("--jobs", text, 1, MOST_JOBS,
                             &((struct storm_command *)command)->jobs);
}

static bool read_ranks(const char *text, uint64_t least, uint64_t *ranks)
{
    return ftc_option_number("-n", text, least, FTC_SCHEDULE_RANKS, ranks) == FTC_SUCCESS;
}

/* "16" or "2-9" */
static int take_ranks(void *command, const char *text)
{
    struct storm_command *c = command;
    const char *dash = strchr(text, '-');
    char least[24];
    size_t length = dash != NULL ? (size_t)(dash - text) : strlen(text);

    snprintf(least, sizeof(least), "%.*s", (int)length, text);
    bool sound = length < sizeof(least) && read_ranks(least, 1, &c->least);
    c->most = c->least;
    if (sound && (dash == NULL || read_ranks(dash + 1, c->least, &c->most)))
        return FTC_SUCCESS;
    return ftc_error_set(FTC_ERR_ARG, "-n %s: no such number of ranks; give N or MIN-MAX, 1 to %d",
                         text, FTC_SCHEDULE_RANKS);
}

static int take_rules(void *command, const char *text)
{
    (void)text;
    ((struct storm_command *)command)->rules = true;
    return FTC_SUCCESS;
}

static int take_json(void *command, const char *text)
{
    (void)text;
    ((struct storm_command *)command)->json = true;
    return FTC_SUCCESS;
}

static const struct ftc_option options[] = {
    {"runs", 'r', "RUNS", "how many runs; run i has the seed SEED + i (default: 100000)",
     take_runs},
    {"ranks", 'n', "N|MIN-MAX", "number of ranks (default: mostly 1 to 9, some 16 to 64)",
     take_ranks},
    {"jobs", 'j', "JOBS", "worker processes (default: one for each core)", take_jobs},
    {"rules", 0, NULL, "list how often each rule of the protocol was used", take_rules},
    {"json", 0, NULL, "print the report as JSON", take_json},
    {NULL, 0, NULL, NULL, NULL},
};

const struct ftc_usage ftc_storm_usage = {
    .synopsis = "ftcoll-sim storm [options] [OPERATION...]",
    .summary =
        "Draw communicators, operations, deaths and orders of events at random, and check every "
        "promise at "
        "each step. At the first broken promise, stop, shrink the run to the smallest that can be "
        "found, and "
        "print the command that replays it. What an option or an argument sets is not drawn.",
    .examples = "  ftcoll-sim storm --runs 1000000 --seed 7\n"
                "  ftcoll-sim storm -n 3-5 -f 1 --scheme bit allreduce bcast:1 allreduce\n",
    .option = options,
};

/* --- what is given --- */

static const struct {
    const char *section, *key;
    unsigned pin;
} pins[] = {
    {"job", "f", FTC_STORM_PIN_F},
    {"failure_info", "scheme", FTC_STORM_PIN_SCHEME},
    {"failure_info", "share", FTC_STORM_PIN_SHARE},
    {"collectives", "rotation", FTC_STORM_PIN_ROTATION},
    {"reduce", "tree", FTC_STORM_PIN_REDUCE_ARITY},
    {"reduce", "arity", FTC_STORM_PIN_REDUCE_ARITY},
    {"reduce", "direct", FTC_STORM_PIN_DIRECT},
    {"reduce", "doubling", FTC_STORM_PIN_DOUBLING},
    {"reduce", "take", FTC_STORM_PIN_TAKE},
    {"broadcast", "tree", FTC_STORM_PIN_TREE},
    {"broadcast", "arity", FTC_STORM_PIN_ARITY},
    {"broadcast", "correction", FTC_STORM_PIN_CORRECTION},
    {"broadcast", "settle_every", FTC_STORM_PIN_SETTLE_EVERY},
    {"broadcast", "dissemination", FTC_STORM_PIN_DISSEMINATION},
    {"broadcast", "distance", FTC_STORM_PIN_DISTANCE},
    {"broadcast", "correction_delay_us", FTC_STORM_PIN_PACE},
    {"broadcast", "patience_us", FTC_STORM_PIN_PATIENCE},
    {"broadcast", "gossip_bound", FTC_STORM_PIN_GOSSIP_BOUND},
    {"broadcast", "gossip_rounds", FTC_STORM_PIN_GOSSIP_ROUNDS},
    {"broadcast", "gossip_hop", FTC_STORM_PIN_GOSSIP_HOP},
    {"broadcast", "seed", FTC_STORM_PIN_SEED},
    {"multicast", "least_ranks", FTC_STORM_PIN_MULTICAST_LEAST},
    {"multicast", "most_bytes", FTC_STORM_PIN_MULTICAST_MOST},
    {"collectives", "prepare", FTC_STORM_PIN_PREPARE},
    {"integrity", "mode", FTC_STORM_PIN_INTEGRITY},
    {"drill", "flip", FTC_STORM_PIN_FLIP},
};

static unsigned pin_of(const struct ftc_config_key *key)
{
    for (size_t p = 0; p < sizeof(pins) / sizeof(pins[0]); p++)
        if (strcmp(key->section, pins[p].section) == 0 && strcmp(key->key, pins[p].key) == 0)
            return pins[p].pin;
    return 0;
}

static unsigned given_pins(const struct ftc_settings *settings)
{
    unsigned pinned = 0;

    for (size_t i = 0; i < ftc_config_schema_size; i++)
        if (strcmp(settings->source[i], "default") != 0)
            pinned |= pin_of(&ftc_config_schema[i]);
    return pinned;
}

/* f and the roots need enough ranks. Without -n the storm draws enough of them, if it may. */
static int check_ranks(const struct storm_command *c, const struct ftc_setup *setup,
                       unsigned pinned)
{
    uint64_t ranks = c->least > 0 ? c->least : FTC_SCHEDULE_RANKS;

    if ((pinned & FTC_STORM_PIN_F) != 0 && (uint64_t)setup->member.f >= ranks)
        return ftc_error_set(
            FTC_ERR_ARG, "f is %d, but there may be only %llu ranks; give a smaller f%s",
            setup->member.f, (unsigned long long)ranks, c->least > 0 ? " or more ranks" : "");
    for (int op = 0; op < setup->program.length; op++)
        if (setup->program.operation[op].root >= (int)ranks)
            return ftc_error_set(
                FTC_ERR_ARG,
                "operation %d has root %d, but there may be only %llu ranks; give a smaller "
                "root%s",
                op, setup->program.operation[op].root, (unsigned long long)ranks,
                c->least > 0 ? " or more ranks" : "");
    return FTC_SUCCESS;
}

/* Seeds are also numbers of JSON, which end at INT64_MAX. */
static int check_seeds(const struct ftc_storm_plan *plan)
{
    if (plan->runs - 1 <= INT64_MAX - plan->seed)
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_ARG,
        "%llu runs from seed %llu pass the last seed, %lld; give fewer --runs or a smaller "
        "--seed",
        (unsigned long long)plan->runs, (unsigned long long)plan->seed, (long long)INT64_MAX);
}

static int make_plan(const struct storm_command *c, const struct ftc_setup *setup,
                     struct ftc_storm_plan *plan)
{
    unsigned pinned = given_pins(&setup->settings);
    int rc = check_ranks(c, setup, pinned);

    *plan = (struct ftc_storm_plan){
        .frame = {.least = (int)c->least,
                  .most = (int)c->most,
                  .pinned = pinned,
                  .settings = setup->member,
                  .program = setup->program.length > 0 ? &setup->program : NULL},
        .seed = setup->seed,
        .runs = c->runs,
        .jobs = (int)c->jobs,
    };
    if (rc == FTC_SUCCESS)
        rc = check_seeds(plan);
    return rc == FTC_SUCCESS ? ftc_storm_check(&plan->frame) : rc;
}

/* --- commands that repeat a run --- */

/* Quote the word for a shell. */
static void print_word(FILE *out, const char *word)
{
    bool plain = word[0] != '\0';

    for (const char *p = word; *p != '\0'; p++)
        plain &= isalnum((unsigned char)*p) || strchr("-_=.,:/@+", *p) != NULL;
    if (plain) {
        fprintf(out, " %s", word);
        return;
    }
    fputs(" '", out);
    for (const char *p = word; *p != '\0'; p++)
        fputs(*p == '\'' ? "'\\''" : (const char[]){*p, '\0'}, out);
    fputc('\'', out);
}

/* The same command for one run. If an option is given twice, the later one counts. */
static char *format_again(int argc, char **argv, uint64_t seed)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    int options_end = 1;

    if (out == NULL)
        return NULL;
    fputs("ftcoll-sim storm", out);
    while (options_end < argc && strcmp(argv[options_end], "--") != 0)
        print_word(out, argv[options_end++]);
    fprintf(out, " --seed %llu --runs 1", (unsigned long long)seed);
    for (int i = options_end; i < argc; i++)
        print_word(out, argv[i]);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static char *format_replay(const struct ftc_shrunk *shrunk)
{
    char *setup = ftc_setup_format(&shrunk->settings, &shrunk->program);
    char *schedule = ftc_schedule_format(&shrunk->schedule);
    char *text = NULL;

    if (setup != NULL && schedule != NULL &&
        asprintf(&text, "ftcoll-sim replay %s%s%s", setup, schedule[0] != '\0' ? " " : "",
                 schedule) < 0)
        text = NULL;
    free(setup);
    free(schedule);
    return text;
}

/* --- running --- */

static void record_storm(struct ftc_storm_record *record, void *arg)
{
    struct ftc_storm_sums sums = {0};

    ftc_storm_run(arg, NULL, &sums, record, NULL, record->violation);
}

/* Repeat the run that broke a promise, record it, and shrink it. */
static int shrink(const struct ftc_storm_plan *plan, const struct ftc_storm_outcome *outcome,
                  struct ftc_shrunk *shrunk)
{
    struct ftc_storm storm;
    struct ftc_storm_record *record = ftc_storm_record_new();

    if (record == NULL)
        return FTC_ERR_NOMEM;
    ftc_storm_draw(&storm, &plan->frame, outcome->seed);
    struct ftc_program program = ftc_storm_program(&storm);
    struct ftc_member_settings plain = plan->frame.settings;
    ftc_config_fit(&plain, storm.settings.ranks);
    int rc = ftc_storm_record_try(record, record_storm, &storm);
    if (rc == FTC_SUCCESS && record->violation[0] != '\0' && !record->hung)
        rc = ftc_shrink(shrunk, &storm.settings, &plain, &program, record, NULL);
    ftc_storm_record_free(record);
    return rc;
}

/* Say on standard error what takes so long. */
static int explain(const struct ftc_storm_plan *plan, struct ftc_storm_report *report,
                   struct ftc_shrunk *shrunk, int argc, char **argv)
{
    fprintf(stderr, "seed %llu breaks a promise; looking for a smaller run\n",
            (unsigned long long)report->outcome->seed);
    int rc = shrink(plan, report->outcome, shrunk);
    if (rc != FTC_SUCCESS)
        return rc;
    report->again = format_again(argc, argv, report->outcome->seed);
    if (shrunk->violation[0] != '\0') {
        report->replay = format_replay(shrunk);
        report->shrunk = shrunk;
    }
    if (report->again == NULL || (report->shrunk != NULL && report->replay == NULL))
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a report; run seed %llu alone",
                             (unsigned long long)report->outcome->seed);
    return FTC_SUCCESS;
}

static int exit_code(const struct ftc_storm_outcome *outcome)
{
    if (outcome->violated)
        return FTC_SIM_EXIT_VIOLATION;
    return outcome->interrupted ? FTC_SIM_EXIT_ERROR : FTC_SIM_EXIT_OK;
}

static int run(const struct storm_command *c, struct ftc_storm_plan *plan, int argc, char **argv)
{
    struct ftc_progress progress = ftc_progress_start(stderr, "runs", plan->runs);
    struct ftc_storm_outcome outcome;
    struct ftc_shrunk shrunk = {0};
    struct ftc_storm_report report = {.seed = plan->seed,
                                      .runs = plan->runs,
                                      .jobs = plan->jobs,
                                      .rules = c->rules,
                                      .outcome = &outcome};

    plan->progress = &progress;
    int rc = ftc_storm_pool_run(plan, &outcome);
    report.seconds = ftc_progress_seconds(&progress);
    ftc_progress_end(&progress);
    if (rc == FTC_SUCCESS && outcome.violated)
        rc = explain(plan, &report, &shrunk, argc, argv);
    if (rc == FTC_SUCCESS && c->json)
        rc = ftc_storm_report_json(&report, stdout);
    else if (rc == FTC_SUCCESS)
        ftc_storm_report_print(&report, stdout);
    free(report.again);
    free(report.replay);
    ftc_shrunk_fini(&shrunk);
    if (rc == FTC_SUCCESS)
        return exit_code(&outcome);
    fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
    return FTC_SIM_EXIT_ERROR;
}

int ftc_command_storm(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct storm_command command = {.runs = DEFAULT_RUNS, .jobs = cores > 0 ? (uint64_t)cores : 1};
    struct ftc_setup setup;
    struct ftc_storm_plan plan;
    int code;

    if (!ftc_setup_begin(&setup, &ftc_storm_usage, &command, argc, argv, &code))
        return code;
    if (make_plan(&command, &setup, &plan) == FTC_SUCCESS) {
        code = run(&command, &plan, argc, argv);
    } else {
        fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
        code = FTC_SIM_EXIT_USAGE;
    }
    ftc_setup_fini(&setup);
    return code;
}
