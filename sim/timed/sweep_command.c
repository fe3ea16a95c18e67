/* ftcoll-sim sweep: CSV and a figure. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "sim/csv.h"
#include "sim/timed/axes.h"
#include "sim/timed/options.h"
#include "sim/timed/plot.h"

#define REPEAT_MAX 10000
#define JOBS_MAX   1024
#define KILLS_MAX  4096 /* most numbers of deaths for one f */
#define STALLS_MAX 64   /* most lengths of a stall */

struct command {
    struct ftc_timed_options common;
    struct ftc_axis ranks, f, kills;
    struct ftc_cost cost[FTC_AXIS_COSTS];
    int costs;
    uint64_t repeat, jobs;
    uint64_t stall[STALLS_MAX]; /* lengths, ns */
    int stalls;
    const char *plot, *from;
};

static int take_ranks(void *command, const char *text)
{
    return ftc_axis_read_ranks(&((struct command *)command)->ranks, text);
}

static int take_f(void *command, const char *text)
{
    return ftc_axis_read_f(&((struct command *)command)->f, text);
}

static int take_kills(void *command, const char *text)
{
    return ftc_axis_read_kills(&((struct command *)command)->kills, text);
}

static int take_cost(void *command, const char *text)
{
    struct command *c = command;

    return ftc_axis_read_costs(c->cost, &c->costs, text);
}

static int take_repeat(void *command, const char *text)
{
    return ftc_option_number("--repeat", text, 1, REPEAT_MAX, &((struct command *)command)->repeat);
}

static int take_jobs(void *command, const char *text)
{
    return ftc_option_number("--jobs", text, 1, JOBS_MAX, &((struct command *)command)->jobs);
}

static int take_stall(void *command, const char *text)
{
    struct command *c = command;

    return ftc_timed_read_stall(text, &c->common.timed, c->stall, STALLS_MAX, &c->stalls);
}

static int take_plot(void *command, const char *text)
{
    if (text[0] == '\0')
        return ftc_error_set(FTC_ERR_ARG, "--plot has an empty argument; give a path");
    ((struct command *)command)->plot = text;
    return 0;
}

static int take_from(void *command, const char *text)
{
    ((struct command *)command)->from = text;
    return 0;
}

static const struct ftc_option options[] = {
    {"ranks", 'n', "LIST", "numbers of ranks: 2..1024 doubles, 4,100,1000 is a list", take_ranks},
    {"masked", 'f', "LIST", "failures masked: 0..3 or a list (default: 1); rows need f < n",
     take_f},
    {"kills", 'k', "LIST", "deaths: 0..f, 0,f or numbers (default: 0); rows need fewer than n",
     take_kills},
    {"cost", 'c', "LIST", "cost models: rdma,tcp; or tcp,G=0.1; see run --help (default: rdma)",
     take_cost},
    FTC_TIMED_OPTIONS,
    {"stall", 0, "RANK@TIME:LIST",
     "the rank stands still: 1us..5s doubles, 1ms,1s is a list; with each [reduce] take",
     take_stall},
    {"repeat", 'r', "R",
     "how many runs, with seeds SEED, SEED+1, ..., where chance has a say (default: 5)",
     take_repeat},
    {"jobs", 'J', "JOBS", "how many runs at once (default: one for each core)", take_jobs},
    {"plot", 0, "FILE",
     "also draw latency against ranks, or against the stall, as SVG (needs gnuplot)", take_plot},
    {"from-csv", 0, "FILE", "run nothing: FILE has the table of the same options", take_from},
    {NULL, 0, NULL, NULL, NULL},
};

const struct ftc_usage ftc_sweep_usage = {
    .synopsis = "ftcoll-sim sweep -n LIST [options] OPERATION...",
    .summary =
        "Run each operation at each size, f, number of deaths and cost model. Prints CSV:\n"
        "  operation,cost,n,f,kills,runs        what was run, and how often; with --stall "
        "take,stall_ns follow kills\n"
        "  latency_ns,latency_min_ns,latency_max_ns  until the last survivor delivers: median, "
        "least, most\n"
        "  root_latency_ns                      until the root delivers: median; empty if there is "
        "no root\n"
        "  up,tree,decide,prepare,poke,pull,fragment,bytes,ballots,retries  counts of the run with "
        "the median latency",
    .examples =
        "  ftcoll-sim sweep -n 2..65536 -f 0..3 --kills 0..f --cost rdma,tcp allreduce reduce > "
        "out.csv\n"
        "  ftcoll-sim sweep -n 2..65536 -f 0..3 --kills 0,f --plot out.svg allreduce > out.csv\n"
        "  ftcoll-sim sweep -n 512 --stall 1@100us:1us..5s --plot out.svg reduce > out.csv\n",
    .option = options,
};

/* --- rows --- */

static int add_row(struct ftc_sweep *sweep, const struct ftc_sweep_row *row)
{
    struct ftc_sweep_row *grown = realloc(sweep->row, ((size_t)sweep->rows + 1) * sizeof(*grown));

    if (grown == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the rows of the sweep");
    sweep->row = grown;
    sweep->row[sweep->rows++] = *row;
    return 0;
}

static bool stalls(const struct ftc_sweep *sweep)
{
    return sweep->options.timed.stall_ns > 0;
}

/* Which subtree is taken matters where a rank stands still: then add a curve for each way. */
static int add_stalls(struct ftc_sweep *sweep, const struct command *c, struct ftc_sweep_row row)
{
    int rc = 0;

    if (!stalls(sweep)) {
        row.take = sweep->member.take;
        return add_row(sweep, &row);
    }
    for (row.take = FTC_TAKE_AUTO; row.take <= FTC_TAKE_LOWEST; row.take++)
        for (int i = 0; rc == 0 && i < c->stalls; i++) {
            row.stall_ns = c->stall[i];
            rc = add_row(sweep, &row);
        }
    return rc;
}

/* Add the rows curve by curve: all sizes of one operation, cost model and f. */
static int add_curves(struct ftc_sweep *sweep, const struct command *c, struct ftc_sweep_row row)
{
    int kills[KILLS_MAX];
    int count = ftc_axis_kills(&c->kills, row.f, kills, KILLS_MAX);
    int rc = 0;

    for (int k = 0; k < count; k++)
        for (int i = 0; rc == 0 && i < c->ranks.count; i++) {
            row.n = c->ranks.value[i];
            row.kills = kills[k];
            if (row.f < row.n && row.kills < row.n)
                rc = add_stalls(sweep, c, row);
        }
    return rc;
}

static int add_rows(struct ftc_sweep *sweep, const struct command *c,
                    const struct ftc_program *program)
{
    int rc = 0;

    for (int op = 0; op < program->length; op++)
        for (int cost = 0; cost < c->costs; cost++)
            for (int f = 0; rc == 0 && f < c->f.count; f++)
                rc = add_curves(sweep, c,
                                (struct ftc_sweep_row){.operation = &program->operation[op],
                                                       .cost = &c->cost[cost],
                                                       .f = c->f.value[f]});
    if (rc == 0 && sweep->rows == 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "nothing to run: f and deaths must be less than n; give larger -n");
    return rc;
}

/* --- output --- */

#define HEAD(more)                                                                                 \
    "operation,cost,n,f,kills," more                                                               \
    "runs,latency_ns,latency_min_ns,latency_max_ns,root_latency_ns,"                               \
    "up,tree,decide,prepare,poke,pull,fragment,bytes,ballots,retries"

static const char *head_of(const struct ftc_sweep *sweep)
{
    return stalls(sweep) ? HEAD("take,stall_ns,") : HEAD("");
}

struct printer {
    const struct ftc_setup *setup;
    const struct ftc_sweep *sweep;
    int code;
};

static void print_counts(const struct ftc_timed_operation *o)
{
    for (int kind = 0; kind < FTC_MESSAGES_ONE_LEVEL; kind++)
        printf(",%" PRIu64, o->sent[kind]);
    printf(",%" PRIu64 ",%u,%u\n", o->bytes, o->ballots, o->retries);
}

static void print_failure(const struct printer *printer, const struct ftc_sweep_row *row)
{
    const char *what = row->code == FTC_SIM_EXIT_VIOLATION ? "a promise is broken: " : "";

    fprintf(stderr, "ftcoll-sim: %s of %d ranks, f = %d, %d deaths, %s: %s%s\n",
            ftc_call_kind_name(row->operation->kind), row->n, row->f, row->kills, row->cost->name,
            what, row->words);
    if (row->code != FTC_SIM_EXIT_VIOLATION)
        return;
    struct ftc_member_settings member = printer->setup->member;
    struct ftc_program_operation operation = *row->operation;
    struct ftc_program program = {.operation = &operation, .length = 1};
    ftc_config_fit(&member, row->n);
    member.f = row->f;
    struct ftc_timed_settings timed =
        ftc_timed_options_settings(&printer->sweep->options, row->cost, row->bad_seed);
    timed.kills = row->kills;
    timed.stall_ns = row->stall_ns;
    member.take = row->take;
    char *line = ftc_setup_format(&member, &program);
    fprintf(stderr, "replay: ftcoll-sim %s", line != NULL ? line : "");
    ftc_timed_options_write(&timed, stderr);
    fputc('\n', stderr);
    free(line);
}

static char *row_key(const struct ftc_sweep_row *row, char key[FTC_CSV_KEY])
{
    int size =
        snprintf(key, FTC_CSV_KEY, "%s,%s,%d,%d,%d,", ftc_call_kind_name(row->operation->kind),
                 row->cost->name, row->n, row->f, row->kills);

    if (row->stall_ns > 0)
        snprintf(key + size, FTC_CSV_KEY - (size_t)size, "%s,%" PRIu64 ",",
                 ftc_take_name(row->take), row->stall_ns);
    return key;
}

static bool print_row(void *arg, const struct ftc_sweep_row *row)
{
    struct printer *printer = arg;
    char key[FTC_CSV_KEY];

    if (row->code != FTC_SIM_EXIT_OK) {
        print_failure(printer, row);
        printer->code = row->code;
        return false;
    }
    printf("%s%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", row_key(row, key), row->runs, row->latency,
           row->least, row->most);
    if (row->root_runs > 0)
        printf("%" PRIu64, row->root_latency);
    print_counts(&row->median);
    fflush(stdout); /* a sweep may take hours, so finished rows are shown at once */
    return true;
}

/* --- a table from a file --- */

static int read_row(struct ftc_csv *csv, struct ftc_sweep_row *row)
{
    struct ftc_timed_operation *median = &row->median;
    char key[FTC_CSV_KEY];
    int rc = ftc_csv_begin_row(csv, row_key(row, key));

    if (rc != 0)
        return rc;
    row->runs = (int)ftc_csv_count(csv, REPEAT_MAX);
    row->latency = ftc_csv_count(csv, UINT64_MAX);
    row->least = ftc_csv_count(csv, UINT64_MAX);
    row->most = ftc_csv_count(csv, UINT64_MAX);
    row->root_runs = !ftc_csv_skip_empty(csv);
    if (row->root_runs > 0)
        row->root_latency = ftc_csv_count(csv, UINT64_MAX);
    for (int kind = 0; kind < FTC_MESSAGES_ONE_LEVEL; kind++)
        median->sent[kind] = ftc_csv_count(csv, UINT64_MAX);
    median->bytes = ftc_csv_count(csv, UINT64_MAX);
    median->ballots = (unsigned)ftc_csv_count(csv, UINT_MAX);
    median->retries = (unsigned)ftc_csv_count(csv, UINT_MAX);
    return ftc_csv_end_row(csv);
}

static int read_and_print(struct ftc_sweep *sweep, const char *path, struct printer *printer)
{
    struct ftc_csv csv;
    int rc = ftc_csv_open(&csv, path, head_of(sweep));

    if (rc != 0)
        return rc;
    for (int i = 0; rc == 0 && i < sweep->rows; i++)
        if ((rc = read_row(&csv, &sweep->row[i])) == 0)
            print_row(printer, &sweep->row[i]);
    return ftc_csv_close(&csv, rc);
}

/* --- the command --- */

static int complain(int code)
{
    fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
    return code;
}

static int check(const struct ftc_setup *setup, const struct command *c)
{
    if (c->ranks.count == 0)
        return ftc_error_set(FTC_ERR_ARG, "the numbers of ranks are missing; give -n 2..1024");
    if (setup->program.length == 0)
        return ftc_error_set(FTC_ERR_ARG, "no operation is named; give one, such as allreduce");
    for (int op = 0; op < setup->program.length; op++)
        for (int i = 0; i < c->ranks.count; i++)
            if (setup->program.operation[op].root >= c->ranks.value[i])
                return ftc_error_set(FTC_ERR_ARG,
                                     "root %d is no rank where -n is %d; give a smaller root",
                                     setup->program.operation[op].root, c->ranks.value[i]);
    return c->plot != NULL ? ftc_plot_check(c->plot) : 0;
}

static int sweep_and_print(const struct ftc_setup *setup, const struct command *c,
                           struct ftc_sweep *sweep)
{
    struct printer printer = {.setup = setup, .sweep = sweep};

    puts(head_of(sweep));
    fflush(stdout); /* before fork(), or each child would write the same text again */
    int rc = c->from != NULL ? read_and_print(sweep, c->from, &printer)
                             : ftc_sweep_run_all(sweep, (int)c->jobs, print_row, &printer);
    if (rc == 0 && printer.code == FTC_SIM_EXIT_OK && c->plot != NULL)
        rc = stalls(sweep) ? ftc_plot_stall(sweep, c->plot) : ftc_plot(sweep, c->plot);
    return rc != 0 ? complain(FTC_SIM_EXIT_ERROR) : printer.code;
}

static int run(const struct ftc_setup *setup, struct command *c)
{
    struct ftc_sweep sweep = {.member = setup->member,
                              .options = c->common,
                              .seed = setup->seed,
                              .repeat = (int)c->repeat};
    int rc = check(setup, c);

    if (rc == 0)
        rc = add_rows(&sweep, c, &setup->program);
    int code = rc != 0 ? complain(rc == FTC_ERR_ARG ? FTC_SIM_EXIT_USAGE : FTC_SIM_EXIT_ERROR)
                       : sweep_and_print(setup, c, &sweep);
    free(sweep.row);
    return code;
}

static int init(struct command *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    *c = (struct command){.repeat = 5, .jobs = cores > 0 ? (uint64_t)cores : 1};
    ftc_timed_options_init(&c->common);
    int rc = ftc_axis_read_f(&c->f, "1");
    if (rc == 0)
        rc = ftc_axis_read_kills(&c->kills, "0");
    return rc == 0 ? ftc_axis_read_costs(c->cost, &c->costs, "rdma") : rc;
}

int ftc_command_sweep(int argc, char **argv)
{
    struct ftc_setup setup;
    struct command command;
    int code = FTC_SIM_EXIT_ERROR;

    if (init(&command) != 0) {
        complain(code);
    } else if (ftc_setup_begin(&setup, &ftc_sweep_usage, &command, argc, argv, &code)) {
        code = run(&setup, &command);
        ftc_setup_fini(&setup);
    }
    ftc_axis_fini(&command.ranks);
    ftc_axis_fini(&command.f);
    ftc_axis_fini(&command.kills);
    return code;
}
