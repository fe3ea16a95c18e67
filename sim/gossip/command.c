/* ftcoll-sim gossip: aggregation by gossip, in tables, models and figures. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "sim/gossip/csv.h"
#include "sim/gossip/curve.h"
#include "sim/gossip/plot.h"
#include "sim/gossip/table.h"
#include "sim/options.h"
#include "sim/rows.h"
#include "sim/timed/plot.h"

#define MOST_RANKS 1048576

struct command {
    struct ftc_gossip_axes axes;
    struct ftc_gossip_run run; /* the settings that no axis gives */
    uint64_t repeat, jobs;
    bool fit;
    const char *plot[FTC_GOSSIP_FIGURES], *relative;
    const char *from;
};

/* --- options --- */

static int take_ranks(void *command, const char *text)
{
    struct ftc_axis *axis = &((struct command *)command)->axes.ranks;
    ftc_axis_fini(axis);
    return ftc_axis_read_ranks(axis, text);
}

static int take_algorithms(void *command, const char *text)
{
    return ftc_gossip_read_algorithms(&((struct command *)command)->axes, text);
}

static int take_neighbourhoods(void *command, const char *text)
{
    return ftc_gossip_read_neighbourhoods(&((struct command *)command)->axes, text);
}

static int take_turns(void *command, const char *text)
{
    return ftc_gossip_read_turns(&((struct command *)command)->axes, text);
}

static int take_accuracies(void *command, const char *text)
{
    return ftc_gossip_read_accuracies(&((struct command *)command)->axes, text);
}

static int take_losses(void *command, const char *text)
{
    return ftc_gossip_read_losses(&((struct command *)command)->axes, text);
}

static int take_after_loss(void *command, const char *text)
{
    return ftc_gossip_read_lost(&((struct command *)command)->axes, text);
}

static int take_only_flips(void *command, const char *text)
{
    return ftc_gossip_read_flips(&((struct command *)command)->axes, text);
}

static int take_bits(void *command, const char *text)
{
    return ftc_gossip_read_bits(&((struct command *)command)->axes, text);
}

/* "any:" in place of a rank: each run draws one. */
static int take_flip(void *command, const char *text)
{
    struct ftc_gossip_run *run = &((struct command *)command)->run;
    char line[128];
    bool any = strncmp(text, "any:", 4) == 0;

    snprintf(line, sizeof(line), "%s%s", any ? "0:" : "", any ? text + 4 : text);
    int rc = ftc_flip_parse(line, &run->flip);
    if (any)
        run->flip.rank = -1;
    run->flips = true;
    return rc;
}

static int take_flip_rate(void *command, const char *text)
{
    return ftc_option_real("--flip-rate", text, 0, 1, &((struct command *)command)->run.flip_rate);
}

static int take_crowd(void *command, const char *text)
{
    double percent;
    int rc = ftc_option_real("--crowd", text, 0, 100, &percent);

    ((struct command *)command)->run.crowd = rc == 0 ? percent / 100 : 0;
    return rc;
}

static int take_flips_end(void *command, const char *text)
{
    return ftc_option_number("--flips-end", text, 1, UINT64_MAX,
                             &((struct command *)command)->run.flips_end);
}

static int take_tau(void *command, const char *text)
{
    return ftc_option_real("--tau", text, 0, 1e300, &((struct command *)command)->run.gossip.tau);
}

static int take_count(void *command, const char *text)
{
    uint64_t count;
    int rc = ftc_option_number("--count", text, 1, 1 << 20, &count);
    ((struct command *)command)->run.gossip.count = rc == 0 ? (size_t)count : 1;
    return rc;
}

static int take_inputs(void *command, const char *text)
{
    for (int i = 0; i < FTC_GOSSIP_INPUTS; i++) {
        ((struct command *)command)->run.inputs = (enum ftc_gossip_inputs)i;
        if (strcmp(text, ftc_gossip_inputs_name((enum ftc_gossip_inputs)i)) == 0)
            return 0;
    }
    return ftc_error_set(FTC_ERR_ARG, "--inputs %s: uniform, normal, exponential, linear or spike",
                         text);
}

static int take_cost(void *command, const char *text)
{
    return ftc_gossip_cost_parse(&((struct command *)command)->run.cost, text);
}

static int take_patience(void *command, const char *text)
{
    uint64_t messages;
    int rc = ftc_option_number("--patience", text, 0, 1 << 20, &messages);
    ((struct command *)command)->run.gossip.patience_ns = rc == 0 ? messages * FTC_GOSSIP_TICKS : 0;
    return rc;
}

static int take_schedule(void *command, const char *text)
{
    ((struct command *)command)->run.gossip.permuted = strcmp(text, "permuted") == 0;
    if (strcmp(text, "permuted") == 0 || strcmp(text, "drawn") == 0)
        return 0;
    return ftc_error_set(FTC_ERR_ARG, "--schedule %s: drawn or permuted", text);
}

/* "3@100" */
static int take_kill(void *command, const char *text)
{
    struct ftc_gossip_run *run = &((struct command *)command)->run;
    int used = 0;

    if (sscanf(text, "%9d@%18" SCNu64 "%n", &run->kills, &run->kill_at, &used) == 2 &&
        text[used] == '\0' && run->kills > 0)
        return 0;
    return ftc_error_set(FTC_ERR_ARG, "--kill %s: give RANKS@MESSAGES, as 3@100", text);
}

static int take_sync(void *command, const char *text)
{
    (void)text;
    ((struct command *)command)->run.sync = true;
    return 0;
}

static int take_stop(void *command, const char *text)
{
    ((struct command *)command)->run.first = strcmp(text, "first") == 0;
    if (strcmp(text, "first") == 0 || strcmp(text, "all") == 0)
        return 0;
    return ftc_error_set(FTC_ERR_ARG, "--stop %s: all or first", text);
}

static int take_most(void *command, const char *text)
{
    return ftc_option_number("--most", text, 1, UINT64_C(1) << 40,
                             &((struct command *)command)->run.most);
}

static int take_repeat(void *command, const char *text)
{
    return ftc_option_number("--repeat", text, 1, 1 << 20, &((struct command *)command)->repeat);
}

static int take_jobs(void *command, const char *text)
{
    return ftc_option_number("--jobs", text, 1, 1024, &((struct command *)command)->jobs);
}

static int take_fit(void *command, const char *text)
{
    (void)text;
    ((struct command *)command)->fit = true;
    return 0;
}

static int take_plot_messages(void *command, const char *text)
{
    ((struct command *)command)->plot[FTC_GOSSIP_FIGURE_MESSAGES] = text;
    return 0;
}

static int take_plot_boxes(void *command, const char *text)
{
    ((struct command *)command)->plot[FTC_GOSSIP_FIGURE_BOXES] = text;
    return 0;
}

static int take_plot_time(void *command, const char *text)
{
    ((struct command *)command)->plot[FTC_GOSSIP_FIGURE_TIME] = text;
    return 0;
}

static int take_relative(void *command, const char *text)
{
    ((struct command *)command)->relative = text;
    return 0;
}

static int take_plot_error(void *command, const char *text)
{
    ((struct command *)command)->plot[FTC_GOSSIP_FIGURE_ERROR] = text;
    return 0;
}

static int take_plot_history(void *command, const char *text)
{
    ((struct command *)command)->plot[FTC_GOSSIP_FIGURE_HISTORY] = text;
    return 0;
}

static int take_plot_flows(void *command, const char *text)
{
    ((struct command *)command)->plot[FTC_GOSSIP_FIGURE_FLOWS] = text;
    return 0;
}

static int take_from(void *command, const char *text)
{
    ((struct command *)command)->from = text;
    return 0;
}

static const struct ftc_option options[] = {
    {"ranks", 'n', "LIST", "numbers of ranks, as 32,64 or 2..512", take_ranks},
    {"algorithm", 'a', "LIST",
     "push-sum, push-flow, push-cancel-flow, pflc, pfcc, or all of these; for comparison doubling, "
     "rabenseifner, voted (default: pfcc)",
     take_algorithms},
    {"neighbourhood", 'b', "LIST",
     "full, hypercube, directed-hypercube, torus or all (default: hypercube)", take_neighbourhoods},
    {"turns", 't', "LIST",
     "whether the ends of a link send in turns: on, off, needed (push-cancel-flow alone) (default: "
     "on where it can be)",
     take_turns},
    {"schedule", 0, "KIND",
     "without turns: drawn (a neighbour in each step) or permuted (all neighbours in a permuted "
     "order) (default: drawn)",
     take_schedule},
    {"accuracy", 'e', "LIST", "relative error aimed at (default: 1e-9)", take_accuracies},
    {"count", 0, "VALUES", "length of the vectors (default: 1)", take_count},
    {"inputs", 0, "KIND", "uniform, normal, exponential, linear, spike (default: uniform)",
     take_inputs},
    {"cost", 0, "KIND",
     "time of a message: constant, random, hops on a 3-d torus, fat-tree or fat-tree:RADIX (hops), "
     "or times by distance: 16=2.9,256=3.9,all=5 is 2.9 within each 16 ranks, 3.9 within 256, 5 "
     "elsewhere (default: constant)",
     take_cost},
    {"loss", 0, "LIST", "how many messages get lost, in percent (default: 0)", take_losses},
    {"after-loss", 0, "LIST",
     "what a rank does whose message got lost on its way to it: waits (for its timer, as it has "
     "not "
     "heard of it) or sends (as if it had come) (default: waits)",
     take_after_loss},
    {"patience", 0, "TIMES",
     "the timer of a rank, in times of the most expensive message; 0: none (default: 16)",
     take_patience},
    {"flip", 0, "WHAT",
     "RANK:VARIABLE:BIT@STEP: this bit turns over when the first rank has sent STEP messages; RANK "
     "may be any: it is drawn",
     take_flip},
    {"bits", 0, "LIST", "bits for --flip, for example 0..63; each gives a row", take_bits},
    {"flip-rate", 0, "RATE",
     "for this part of all messages a random bit of a flow turns over before one is taken in",
     take_flip_rate},
    {"crowd", 0, "PERCENT",
     "how often a rank that takes in a message is told that others wait, so that it answers no "
     "repetition (default: 0)",
     take_crowd},
    {"flips-end", 0, "STEP", "from STEP on no bit turns over by --flip-rate", take_flips_end},
    {"only-flips", 0, "LIST",
     "count only the runs in which so many bits turned over, for example 0..4; each gives a row",
     take_only_flips},
    {"tau", 0, "TAU", "the threshold of the checksums (default: from estimate and rounding)",
     take_tau},
    {"kill", 0, "RANKS@STEP", "RANKS ranks die when the first one has sent STEP messages",
     take_kill},
    {"sync", 0, NULL, "run synchronous rounds; each lasts as long as its most expensive message",
     take_sync},
    {"stop", 0, "WHEN", "stop when all ranks, or the first, are within the accuracy (default: all)",
     take_stop},
    {"most", 0, "MESSAGES", "give up when a rank has sent so many messages (default: 5000)",
     take_most},
    {"repeat", 'r', "RUNS", "how many runs of each row; run i has the seed SEED + i (default: 20)",
     take_repeat},
    {"fit", 0, NULL,
     "fit a log2(n + b) / gap + c over the numbers of ranks; --plot-messages draws it. Graphs "
     "without "
     "a model (parts of a hypercube, oblong tori) are left out",
     take_fit},
    {"plot-messages", 0, "FILE", "draw the messages, as SVG", take_plot_messages},
    {"plot-time", 0, "FILE", "draw the time", take_plot_time},
    {"plot-boxes", 0, "FILE",
     "draw the quartiles of the messages; whiskers end within 1.5 times their distance",
     take_plot_boxes},
    {"plot-error", 0, "FILE", "draw the errors at the end", take_plot_error},
    {"plot-history", 0, "FILE", "draw the error during the run, for one run of each row",
     take_plot_history},
    {"plot-flows", 0, "FILE",
     "draw the flow of each link during the run; with more than 64 links, the greatest flow",
     take_plot_flows},
    {"relative", 0, "BASE",
     "draw messages and times relative to BASE: first (the first point of each curve), an "
     "algorithm of "
     "the table, or the CSV file of a table with the same rows",
     take_relative},
    {"from-csv", 0, "FILE",
     "FILE has the table of the same options: run only what --plot-history and --plot-flows show",
     take_from},
    {"jobs", 'j', "PROCESSES", "how many rows at once (default: one for each core)", take_jobs},
    {NULL, 0, NULL, NULL, NULL},
};

const struct ftc_usage ftc_gossip_usage = {
    .synopsis = "ftcoll-sim gossip -n LIST [options]",
    .summary =
        "Run aggregation by gossip (docs/design/gossip.md): the average of the vectors of all "
        "ranks, by messages to "
        "random neighbours. Prints a table as CSV: for each combination the messages until the "
        "ranks are within the "
        "accuracy, and the greatest error. `most` is what the rank that sent most has sent, as the "
        "mean of the runs; "
        "with --sync it counts rounds.",
    .examples =
        "  ftcoll-sim gossip -n 32..512 --neighbourhood full,hypercube --algorithm push-sum,pfcc\n"
        "  ftcoll-sim gossip -n 32 -a pflc,pfcc -e 1e-14 --flip any:flow:0@150 --bits 0..63 "
        "--plot-messages bits.svg\n"
        "  ftcoll-sim gossip -n 128..131072 -b full -a push-sum --sync --fit\n",
    .option = options,
    .alone = true,
};

/* --- printing --- */

struct report {
    struct ftc_gossip_table *table;
    int printed;
    bool failed;
};

static bool print_row(void *arg, const void *any)
{
    struct report *report = arg;
    const struct ftc_gossip_row *row = any;

    report->printed++;
    if (row->rc != 0) {
        fprintf(stderr, "ftcoll-sim: %s, %d ranks: %s\n", ftc_gossip_run_name(&row->run),
                row->run.gossip.neighbourhood.ranks, row->words);
        report->failed = true;
        return false;
    }
    ftc_gossip_csv_print(row);
    return true;
}

static void work(void *arg, void *row)
{
    (void)arg;
    ftc_gossip_row_measure(row);
}

static void lost(void *arg, void *row, const char *words)
{
    struct ftc_gossip_row *r = row;
    (void)arg;
    r->rc = FTC_ERR_SYSTEM;
    snprintf(r->words, sizeof(r->words), "%s", words);
}

/* Print to standard error, so that the table stays CSV. */
static void print_fits(const struct ftc_gossip_table *table)
{
    for (int i = 0; i < table->rows; i++) {
        struct ftc_gossip_fit fit;
        char name[FTC_GOSSIP_CURVE];
        bool first = true;
        for (int j = 0; j < i; j++)
            first = first && !ftc_gossip_same_curve(&table->row[j], &table->row[i]);
        if (!first)
            continue;
        ftc_gossip_curve_name(table, &table->row[i], false, name);
        if (ftc_gossip_fit(table, i, &fit))
            fprintf(stderr,
                    "%s: %.4f log2(n %+.4f) / gap %+.4f, R^2 %.4f over %d numbers of ranks\n", name,
                    fit.a, fit.b, fit.c, fit.r_squared, fit.points);
        else
            fprintf(stderr,
                    "%s: no fit: it needs a known spectral gap, and 4 numbers of ranks that "
                    "converged\n",
                    name);
    }
}

/* --- a table from a file --- */

static int read_and_print(struct ftc_gossip_table *table, const char *path, struct report *report)
{
    int rc = ftc_gossip_csv_read(table, path);

    for (int i = 0; rc == 0 && i < table->rows; i++)
        print_row(report, &table->row[i]);
    return rc;
}

/* --- the command --- */

static int complain(int code)
{
    fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
    return code;
}

/* The agreement core has no part in it, so its options are refused. */
static int check_settings(const struct ftc_setup *setup)
{
    if (setup->program.length > 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "gossip takes no operation: each run is one; leave it out");
    if (setup->f_given)
        return ftc_error_set(
            FTC_ERR_ARG,
            "gossip has no use for -f: any number of deaths is survived; leave it out");
    for (size_t i = 0; i < ftc_config_schema_size; i++)
        if (strcmp(setup->settings.source[i], "default") != 0)
            return ftc_error_set(FTC_ERR_ARG, "gossip has no use for %s.%s (%s): leave it out",
                                 ftc_config_schema[i].section, ftc_config_schema[i].key,
                                 setup->settings.source[i]);
    return 0;
}

static int check(const struct ftc_setup *setup, const struct command *c)
{
    int rc = check_settings(setup);

    if (rc != 0)
        return rc;
    if (c->axes.ranks.count == 0)
        return ftc_error_set(FTC_ERR_ARG, "the numbers of ranks are missing; give -n 32..512");
    if (c->axes.bit[0] >= 0 && !c->run.flips)
        return ftc_error_set(FTC_ERR_ARG,
                             "--bits says which; give --flip any:flow:0@150 for what and when");
    if (c->run.flips && c->run.flip.rank >= c->axes.ranks.value[0])
        return ftc_error_set(FTC_ERR_ARG, "--flip: there is no rank %d of %d", c->run.flip.rank,
                             c->axes.ranks.value[0]);
    for (int i = 0; rc == 0 && i < FTC_GOSSIP_FIGURES; i++)
        if (c->plot[i] != NULL)
            rc = ftc_plot_check(c->plot[i]);
    return rc;
}

static int measure(const struct command *c, struct ftc_gossip_table *table,
                   const struct ftc_gossip_relative *relative)
{
    struct report report = {.table = table};
    const struct ftc_rows rows = {.row = table->row,
                                  .size = sizeof(*table->row),
                                  .count = table->rows,
                                  .arg = &report,
                                  .work = work,
                                  .lost = lost,
                                  .report = print_row};

    if (table->left_out > 0)
        fprintf(stderr, "ftcoll-sim: %d combinations are left out: they cannot be (%s)\n",
                table->left_out, table->reason);
    ftc_gossip_csv_print_head();
    int rc = c->from != NULL ? read_and_print(table, c->from, &report)
                             : ftc_rows_run(&rows, (int)c->jobs);
    if (rc == 0 && !report.failed && c->fit)
        print_fits(table);
    for (int i = 0; rc == 0 && !report.failed && i < FTC_GOSSIP_FIGURES; i++)
        if (c->plot[i] != NULL)
            rc = ftc_gossip_plot(table, (enum ftc_gossip_figure)i, relative, c->fit, c->plot[i]);
    if (rc != 0)
        return complain(FTC_SIM_EXIT_ERROR);
    return report.failed ? FTC_SIM_EXIT_ERROR : FTC_SIM_EXIT_OK;
}

static int run(const struct ftc_setup *setup, struct command *c)
{
    struct ftc_gossip_table table = {0};
    struct ftc_gossip_relative relative = {0};
    int rc = check(setup, c);

    c->run.seed = setup->seed;
    if (rc == 0)
        rc = ftc_gossip_table_make(&table, &c->axes, &c->run, (int)c->repeat, c->fit);
    if (rc == 0)
        rc = ftc_gossip_relative_read(&relative, &table, c->relative);
    int code = rc != 0 ? complain(rc == FTC_ERR_ARG ? FTC_SIM_EXIT_USAGE : FTC_SIM_EXIT_ERROR)
                       : measure(c, &table, &relative);
    ftc_gossip_relative_fini(&relative);
    ftc_gossip_table_fini(&table);
    return code;
}

static int init(struct command *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    *c = (struct command){.repeat = 20, .jobs = cores > 0 ? (uint64_t)cores : 1};
    c->run = (struct ftc_gossip_run){.most = 5000};
    c->run.gossip.count = 1;
    c->run.gossip.patience_ns = 16 * FTC_GOSSIP_TICKS;
    c->axes.bits = c->axes.flipses = c->axes.lost_sendses = 1;
    c->axes.bit[0] = c->axes.flips[0] = -1;
    int rc = ftc_gossip_read_algorithms(&c->axes, "pfcc");
    if (rc == 0)
        rc = ftc_gossip_read_neighbourhoods(&c->axes, "hypercube");
    if (rc == 0)
        rc = ftc_gossip_read_accuracies(&c->axes, "1e-9");
    return rc == 0 ? ftc_gossip_read_losses(&c->axes, "0") : rc;
}

int ftc_command_gossip(int argc, char **argv)
{
    struct ftc_setup setup;
    struct command command;
    int code = FTC_SIM_EXIT_ERROR;

    if (init(&command) != 0) {
        complain(code);
    } else if (ftc_setup_begin(&setup, &ftc_gossip_usage, &command, argc, argv, &code)) {
        code = run(&setup, &command);
        ftc_setup_fini(&setup);
    }
    ftc_axis_fini(&command.axes.ranks);
    return code;
}
