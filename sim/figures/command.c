/* ftcoll-sim broadcast: CSV and figures. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "config/value.h"
#include "sim/csv.h"
#include "sim/figures/axes.h"
#include "sim/figures/plot.h"
#include "sim/figures/ranks.h"
#include "sim/rows.h"
#include "sim/timed/axes.h"
#include "sim/timed/options.h"
#include "sim/timed/plot.h"

#define REPEAT_MAX 1000000
#define JOBS_MAX   1024
#define BYTES_MAX  (UINT64_C(1) << 40)

struct command {
    struct ftc_figures_axes axes;
    struct ftc_axis ranks;
    struct ftc_cost cost[FTC_AXIS_COSTS];
    int costs;
    uint64_t repeat, jobs, bytes, noise_ns;
    bool per_rank;
    const char *plot[FTC_FIGURES_KINDS], *plot_ranks;
    const char *from;
};

/* --- options --- */

static int take_ranks(void *command, const char *text)
{
    return ftc_axis_read_ranks(&((struct command *)command)->ranks, text);
}

static int take_ways(void *command, const char *text)
{
    return ftc_figures_read_ways(&((struct command *)command)->axes, text);
}

static int take_failed(void *command, const char *text)
{
    return ftc_figures_read_failed(&((struct command *)command)->axes, text);
}

static int take_losses(void *command, const char *text)
{
    return ftc_figures_read_losses(&((struct command *)command)->axes, text);
}

static int take_cost(void *command, const char *text)
{
    struct command *c = command;

    return ftc_axis_read_costs(c->cost, &c->costs, text);
}

static int take_noise(void *command, const char *text)
{
    return ftc_timed_read_time("--noise", text, &((struct command *)command)->noise_ns);
}

static int take_bytes(void *command, const char *text)
{
    return ftc_option_number("--bytes", text, 0, BYTES_MAX, &((struct command *)command)->bytes);
}

static int take_repeat(void *command, const char *text)
{
    return ftc_option_number("--repeat", text, 1, REPEAT_MAX, &((struct command *)command)->repeat);
}

static int take_jobs(void *command, const char *text)
{
    return ftc_option_number("--jobs", text, 1, JOBS_MAX, &((struct command *)command)->jobs);
}

static int take_per_rank(void *command, const char *text)
{
    (void)text;
    ((struct command *)command)->per_rank = true;
    return 0;
}

static int take_path(const char **path, const char *text)
{
    if (text[0] == '\0')
        return ftc_error_set(FTC_ERR_ARG, "a figure has an empty path; give one");
    *path = text;
    return 0;
}

static int take_latency(void *command, const char *text)
{
    return take_path(&((struct command *)command)->plot[FTC_FIGURES_LATENCY], text);
}

static int take_messages(void *command, const char *text)
{
    return take_path(&((struct command *)command)->plot[FTC_FIGURES_MESSAGES], text);
}

static int take_skew(void *command, const char *text)
{
    return take_path(&((struct command *)command)->plot[FTC_FIGURES_SKEW], text);
}

static int take_ranks_plot(void *command, const char *text)
{
    return take_path(&((struct command *)command)->plot_ranks, text);
}

static int take_from(void *command, const char *text)
{
    ((struct command *)command)->from = text;
    return 0;
}

static const struct ftc_option options[] = {
    {"ranks", 'n', "LIST", "numbers of ranks: 64..65536 doubles, 4,100,1000 is a list", take_ranks},
    {"combination", 'C', "LIST",
     "all (default), or a list as lame+checked,ocg,multicast+ring; baselines, or ack-linear, ...",
     take_ways},
    {"failed", 'k', "LIST", "failed ranks: 0,1,1% (default: 0)", take_failed},
    {"loss", 0, "LIST", "datagrams lost by each receiver, in percent: 0,0.287,10 (default: 0)",
     take_losses},
    {"cost", 'c', "LIST", "cost models, see run --help (default: L=2000,o=1000)", take_cost},
    {"noise", 0, "TIME", "each channel takes up to so much longer, at random (default: 0)",
     take_noise},
    {"bytes", 'b', "B", "size of a value for the cost model (default: 8)", take_bytes},
    {"repeat", 'r', "R",
     "how many runs, with seeds SEED, SEED+1, ..., where chance has a say (default: 5)",
     take_repeat},
    {"jobs", 'J', "JOBS", "how many rows at once (default: one for each core)", take_jobs},
    {"per-rank", 0, NULL, "print the time of each rank instead, a line each", take_per_rank},
    {"plot-latency", 0, "FILE", "also draw when the last rank is reached, as SVG (needs gnuplot)",
     take_latency},
    {"plot-messages", 0, "FILE", "also draw the messages for each live process", take_messages},
    {"plot-skew", 0, "FILE", "also draw the first, mean and last time of a rank", take_skew},
    {"plot-ranks", 0, "FILE",
     "with --per-rank: also draw every rank of the largest -n, rank 1, and rank n - 1",
     take_ranks_plot},
    {"from-csv", 0, "FILE", "run nothing: FILE has the table of the same options", take_from},
    {NULL, 0, NULL, NULL, NULL},
};

const struct ftc_usage ftc_broadcast_usage = {
    .synopsis = "ftcoll-sim broadcast -n LIST [options]",
    .summary =
        "Run one broadcast from rank 0 by each dissemination with each correction, without "
        "any help: the failed ranks, "
        "drawn at random, are dead before, no rank is told of them, and no rank asks. "
        "Checks that the broadcast reaches "
        "what the pair promises. What no option sets is chosen as in the papers: "
        "corrections go as fast as a process "
        "can send, Lame trees have the order (L + 2o) / o, k-ary trees the order 4, and "
        "gossip is bound in time, with "
        "the rounds and the distance that miss a rank once in a million. Prints CSV. Times "
        "of ranks are those of the "
        "ranks that were reached, without the root:\n"
        "  combination,cost,n,failed,dead,loss_percent,runs\n"
        "  latency_ns,latency_min_ns,latency_max_ns  until the last rank is reached: "
        "median, least, most of the runs\n"
        "  first_ns,mean_ns,spread_ns,quiet_ns   means: first rank; all ranks; last - "
        "first; until no message is left\n"
        "  dissemination,correction              messages for each live process\n"
        "  missed,missed_runs                    survivors missed, mean; runs that missed "
        "any\n"
        "  rounds,distance,arity                 parameters, where there are any\n"
        "  formula_missed,formula_messages       for gossip: what its mean field gives\n"
        "With --per-rank a line for each rank but the root follows loss_percent with\n"
        "  rank,runs,reached,time_ns             reached: in so many runs, after a mean time of",
    .examples =
        "  ftcoll-sim broadcast -n 64..65536 --failed 0,1,1% > out.csv\n"
        "  ftcoll-sim broadcast -n 4096 --combination ocg,lame+checked --noise 2us --repeat 1000\n"
        "  ftcoll-sim broadcast -n 8..4096 -C multicast+ring,baselines --loss 0,1 --plot-skew "
        "out.svg\n"
        "  ftcoll-sim broadcast -n 8,16,116 -C lame+none,multicast+ring --per-rank --plot-ranks "
        "ranks.svg\n",
    .option = options,
};

static unsigned given(const struct ftc_settings *settings)
{
    static const struct {
        const char *key;
        enum ftc_figures_given what;
    } keys[] = {
        {"arity", FTC_FIGURES_ARITY},
        {"distance", FTC_FIGURES_DISTANCE},
        {"correction_delay_us", FTC_FIGURES_PACE},
        {"patience_us", FTC_FIGURES_PATIENCE},
        {"gossip_bound", FTC_FIGURES_BOUND},
        {"gossip_rounds", FTC_FIGURES_ROUNDS},
        {"gossip_hop", FTC_FIGURES_HOP},
    };
    unsigned all = 0;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(settings->source[ftc_config_find("broadcast", keys[i].key)], "default") != 0)
            all |= keys[i].what;
    return all;
}

/* --- rows --- */

static int add_row(struct ftc_figures *figures, const struct ftc_figures_row *row)
{
    struct ftc_figures_row *grown =
        realloc(figures->row, ((size_t)figures->rows + 1) * sizeof(*grown));

    if (grown == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the rows of the table");
    figures->row = grown;
    figures->row[figures->rows++] = *row;
    return 0;
}

/* Add the rows of one curve: all sizes for one way, cost model, number of failed ranks and loss. */
static int add_curve(struct ftc_figures *figures, const struct command *c,
                     struct ftc_figures_row row)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < c->ranks.count; i++) {
        row.n = c->ranks.value[i];
        row.dead = ftc_figures_failed_of(row.failed, row.n);
        if (row.n > 1 && row.dead < row.n)
            rc = add_row(figures, &row);
    }
    return rc;
}

/* Only datagrams get lost, so a way without datagrams has one curve. */
static int add_losses(struct ftc_figures *figures, const struct command *c,
                      struct ftc_figures_row row)
{
    bool datagrams = row.way.baseline || row.way.pair.dissemination == FTC_DISSEMINATION_MULTICAST;
    int rc = 0;

    for (int i = 0; rc == 0 && i < (datagrams ? c->axes.losses : 1); i++) {
        row.loss = datagrams ? c->axes.loss[i] : 0;
        rc = add_curve(figures, c, row);
    }
    return rc;
}

static int add_rows(struct ftc_figures *figures, const struct command *c)
{
    int rc = 0;

    for (int way = 0; way < c->axes.ways; way++)
        for (int cost = 0; cost < c->costs; cost++)
            for (int failed = 0; rc == 0 && failed < c->axes.faileds; failed++)
                rc = add_losses(figures, c,
                                (struct ftc_figures_row){.way = c->axes.way[way],
                                                         .cost = &c->cost[cost],
                                                         .failed = &c->axes.failed[failed]});
    if (rc == 0 && figures->rows == 0)
        return ftc_error_set(
            FTC_ERR_ARG, "nothing to run: failed ranks must be fewer than ranks; give larger -n");
    return rc;
}

/* --- output --- */

static const char head[] =
    "combination,cost,n,failed,dead,loss_percent,runs,latency_ns,latency_min_ns,"
    "latency_max_ns,first_ns,mean_ns,spread_ns,quiet_ns,dissemination,correction,"
    "missed,missed_runs,rounds,distance,arity,formula_missed,formula_messages";

static const char *head_of(const struct ftc_figures *figures)
{
    return figures->rank != NULL ? ftc_figures_ranks_head : head;
}

struct table {
    const struct ftc_figures *figures;
    int argc;
    char **argv;
    int code;
};

static void work(void *arg, void *row)
{
    const struct table *table = arg;

    ftc_figures_measure(table->figures, row);
}

static void lost(void *arg, void *row, const char *words)
{
    struct ftc_figures_row *r = row;

    (void)arg;
    r->code = FTC_SIM_EXIT_ERROR;
    snprintf(r->words, sizeof(r->words), "%s", words);
}

/* Print the same command for one run. If an option is given twice, the later one counts. */
static void print_again(const struct table *table, const struct ftc_figures_row *row)
{
    char name[FTC_PAIR_NAME];
    const struct ftc_cost *c = row->cost;

    fputs("again: ftcoll-sim broadcast", stderr);
    for (int i = 1; i < table->argc; i++) {
        const char *word = table->argv[i];
        bool plain = word[0] != '\0' && word[strcspn(word, " \t\n'\"\\$&|;<>()*?[]{}~#!`")] == '\0';
        fprintf(stderr, plain ? " %s" : " '%s'", word);
    }
    fprintf(stderr,
            " --combination %s -n %d --failed %d --loss %.10g --cost "
            "L=%.15g,o=%.15g,g=%.15g,G=%.15g --seed "
            "%" PRIu64 " --repeat 1\n",
            ftc_figures_way_name(&row->way, name), row->n, row->dead, row->loss, c->L, c->o, c->g,
            c->G, row->bad_seed);
}

static void print_failure(const struct table *table, const struct ftc_figures_row *row)
{
    const char *what = row->code == FTC_SIM_EXIT_VIOLATION ? "a promise is broken: " : "";
    char name[FTC_PAIR_NAME];

    fprintf(stderr, "ftcoll-sim: %s, %d ranks, %d failed, %s: %s%s\n",
            ftc_figures_way_name(&row->way, name), row->n, row->dead, row->cost->name, what,
            row->words);
    if (row->code == FTC_SIM_EXIT_VIOLATION)
        print_again(table, row);
}

static void print_known(double value)
{
    if (value >= 0)
        printf(",%.4g", value);
    else
        putchar(',');
}

static void print_parameter(int value)
{
    if (value > 0)
        printf(",%d", value);
    else
        putchar(',');
}

static char *row_key(const struct ftc_figures_row *row, char key[FTC_CSV_KEY])
{
    char name[FTC_PAIR_NAME], failed[32];

    snprintf(key, FTC_CSV_KEY, "%s,%s,%d,%s,%d,%.10g,", ftc_figures_way_name(&row->way, name),
             row->cost->name, row->n, ftc_figures_failed_name(row->failed, failed), row->dead,
             row->loss);
    return key;
}

static bool print_row(void *arg, const void *any)
{
    struct table *table = arg;
    const struct ftc_figures_row *row = any;
    char key[FTC_CSV_KEY];

    if (row->code != FTC_SIM_EXIT_OK) {
        print_failure(table, row);
        table->code = row->code;
        return false;
    }
    if (row->rank != NULL) {
        ftc_figures_ranks_print(row, row_key(row, key));
        fflush(stdout);
        return true;
    }
    printf("%s%d", row_key(row, key), row->runs);
    printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.0f,%.0f,%.0f", row->latency, row->least,
           row->most, row->first, row->mean, row->spread);
    if (row->endless_runs > 0)
        putchar(',');
    else
        printf(",%.0f", row->quiet);
    printf(",%.4g,%.4g,%.4g,%d", row->dissemination, row->correction, row->missed,
           row->missed_runs);
    print_parameter(row->rounds);
    print_parameter(row->distance);
    print_parameter(row->arity);
    print_known(row->formula_missed);
    print_known(row->formula_messages);
    putchar('\n');
    fflush(stdout); /* a table may take long, so finished rows are shown at once */
    return true;
}

/* --- a table from a file --- */

static int read_parameter(struct ftc_csv *csv)
{
    return ftc_csv_skip_empty(csv) ? 0 : (int)ftc_csv_count(csv, INT_MAX);
}

static double read_known(struct ftc_csv *csv)
{
    return ftc_csv_skip_empty(csv) ? -1 : ftc_csv_real(csv);
}

static int read_row(struct ftc_csv *csv, struct ftc_figures_row *row)
{
    char key[FTC_CSV_KEY];

    if (row->rank != NULL)
        return ftc_figures_ranks_read(csv, row, row_key(row, key));
    int rc = ftc_csv_begin_row(csv, row_key(row, key));
    if (rc != 0)
        return rc;
    row->runs = (int)ftc_csv_count(csv, REPEAT_MAX);
    row->latency = ftc_csv_count(csv, UINT64_MAX);
    row->least = ftc_csv_count(csv, UINT64_MAX);
    row->most = ftc_csv_count(csv, UINT64_MAX);
    row->first = ftc_csv_real(csv);
    row->mean = ftc_csv_real(csv);
    row->spread = ftc_csv_real(csv);
    row->endless_runs = ftc_csv_skip_empty(csv);
    if (row->endless_runs == 0)
        row->quiet = ftc_csv_real(csv);
    row->dissemination = ftc_csv_real(csv);
    row->correction = ftc_csv_real(csv);
    row->missed = ftc_csv_real(csv);
    row->missed_runs = (int)ftc_csv_count(csv, REPEAT_MAX);
    row->rounds = read_parameter(csv);
    row->distance = read_parameter(csv);
    row->arity = read_parameter(csv);
    row->formula_missed = read_known(csv);
    row->formula_messages = read_known(csv);
    return ftc_csv_end_row(csv);
}

static int read_and_print(struct ftc_figures *figures, const char *path, struct table *table)
{
    struct ftc_csv csv;
    int rc = ftc_csv_open(&csv, path, head_of(figures));

    if (rc != 0)
        return rc;
    for (int i = 0; rc == 0 && i < figures->rows; i++)
        if ((rc = read_row(&csv, &figures->row[i])) == 0)
            print_row(table, &figures->row[i]);
    return ftc_csv_close(&csv, rc);
}

/* --- the command --- */

static int complain(int code)
{
    fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
    return code;
}

static bool has_baseline(const struct command *c)
{
    for (int i = 0; i < c->axes.ways; i++)
        if (c->axes.way[i].baseline)
            return true;
    return false;
}

/* A table of single ranks has no other figures, and baselines tell nothing of single ranks. */
static int check_per_rank(const struct command *c)
{
    bool others = false;

    for (int kind = 0; kind < FTC_FIGURES_KINDS; kind++)
        others = others || c->plot[kind] != NULL;
    if (c->plot_ranks != NULL && !c->per_rank)
        return ftc_error_set(FTC_ERR_ARG, "--plot-ranks draws single ranks; add --per-rank");
    if (c->per_rank && others)
        return ftc_error_set(FTC_ERR_ARG,
                             "--per-rank prints single ranks, and --plot-ranks draws them; leave "
                             "out the other figures");
    if (c->per_rank && has_baseline(c))
        return ftc_error_set(FTC_ERR_ARG, "baselines have no --per-rank; leave one of them out");
    return c->plot_ranks != NULL ? ftc_plot_check(c->plot_ranks) : 0;
}

/* A setting that the rows choose must not be given. */
static int check_settings(const struct ftc_setup *setup)
{
    const struct ftc_config *value = &setup->settings.value;
    const char *tree = setup->settings.source[ftc_config_find("broadcast", "tree")];

    if (setup->program.length > 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "broadcast takes no operation: each run is one; leave it out");
    if (value->dissemination != FTC_CONFIG_DISSEMINATION_AUTO ||
        value->correction != FTC_CONFIG_CORRECTION_AUTO || strcmp(tree, "default") != 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "dissemination, tree and correction are an axis here; give "
                             "--combination lame+checked");
    return 0;
}

static int check(const struct ftc_setup *setup, const struct command *c)
{
    int rc = check_settings(setup);

    if (rc == 0 && c->ranks.count == 0)
        return ftc_error_set(FTC_ERR_ARG, "the numbers of ranks are missing; give -n 64..4096");
    if (rc == 0 && c->noise_ns > 0 && has_baseline(c))
        return ftc_error_set(FTC_ERR_ARG, "baselines have no noise; leave one of them out");
    for (int kind = 0; rc == 0 && kind < FTC_FIGURES_KINDS; kind++)
        if (c->plot[kind] != NULL)
            rc = ftc_plot_check(c->plot[kind]);
    return rc == 0 ? check_per_rank(c) : rc;
}

static int measure_and_print(const struct command *c, struct ftc_figures *figures,
                             struct table *table)
{
    const struct ftc_rows rows = {.row = figures->row,
                                  .size = sizeof(*figures->row),
                                  .count = figures->rows,
                                  .arg = table,
                                  .work = work,
                                  .lost = lost,
                                  .report = print_row};

    puts(head_of(figures));
    fflush(stdout); /* before fork(), or each child would write the same text again */
    int rc = c->from != NULL ? read_and_print(figures, c->from, table)
                             : ftc_rows_run(&rows, (int)c->jobs);
    for (int kind = 0; rc == 0 && table->code == FTC_SIM_EXIT_OK && kind < FTC_FIGURES_KINDS;
         kind++)
        if (c->plot[kind] != NULL)
            rc = ftc_figures_plot(figures, (enum ftc_figures_kind)kind, c->plot[kind]);
    if (rc == 0 && table->code == FTC_SIM_EXIT_OK && c->plot_ranks != NULL)
        rc = ftc_figures_plot_ranks(figures, c->plot_ranks);
    return rc != 0 ? complain(FTC_SIM_EXIT_ERROR) : table->code;
}

static int run(const struct ftc_setup *setup, const struct command *c, int argc, char **argv)
{
    struct ftc_figures figures = {.member = setup->member,
                                  .given = given(&setup->settings),
                                  .bytes = c->bytes,
                                  .noise_ns = c->noise_ns,
                                  .seed = setup->seed,
                                  .repeat = (int)c->repeat};
    struct table table = {.figures = &figures, .argc = argc, .argv = argv};
    int rc = check(setup, c);

    if (rc == 0)
        rc = add_rows(&figures, c);
    if (rc == 0 && c->per_rank)
        rc = ftc_figures_ranks_init(&figures);
    int code = rc != 0 ? complain(rc == FTC_ERR_ARG ? FTC_SIM_EXIT_USAGE : FTC_SIM_EXIT_ERROR)
                       : measure_and_print(c, &figures, &table);
    ftc_figures_ranks_fini(&figures);
    free(figures.row);
    return code;
}

static int init(struct command *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    *c = (struct command){.repeat = 5, .bytes = 8, .jobs = cores > 0 ? (uint64_t)cores : 1};
    int rc = ftc_figures_read_ways(&c->axes, "all");
    if (rc == 0)
        rc = ftc_figures_read_failed(&c->axes, "0");
    if (rc == 0)
        rc = ftc_figures_read_losses(&c->axes, "0");
    return rc == 0 ? ftc_axis_read_costs(c->cost, &c->costs, "L=2000,o=1000") : rc;
}

int ftc_command_broadcast(int argc, char **argv)
{
    struct ftc_setup setup;
    struct command command;
    int code = FTC_SIM_EXIT_ERROR;

    if (init(&command) != 0) {
        complain(code);
    } else if (ftc_setup_begin(&setup, &ftc_broadcast_usage, &command, argc, argv, &code)) {
        code = run(&setup, &command, argc, argv);
        ftc_setup_fini(&setup);
    }
    ftc_axis_fini(&command.ranks);
    return code;
}
