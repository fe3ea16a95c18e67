/* ftcoll-perf: latency tables of the collective operations, and the time from a death until the
 * survivors go on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/perf/output.h"
#include "cli/perf/ranks.h"

enum { EXIT_OK = 0, EXIT_ERROR = 1, EXIT_USAGE = 2 };

/* With --per-rank a row has room for the times of the ranks. */
static int give_ranks(const struct ftc_perf_results *results, struct ftc_perf_row *row)
{
    if (!results->options->per_rank)
        return 0;
    row->rank = calloc((size_t)results->job->size, sizeof(row->rank[0]));
    return row->rank != NULL ? 0 : ftc_perf_fail("out of memory");
}

static int measure_rows(struct ftc_perf_results *results, struct ftc_perf_bench *bench)
{
    const struct ftc_perf_options *options = results->options;
    struct ftc_perf_table *table = &results->table[results->tables - 1];
    const struct ftc_perf_sizes none = {0, 0};
    struct ftc_perf_sizes sizes = table->operation->sized ? options->sizes : none;
    size_t blocks = ftc_perf_operation_blocks(table->operation, bench->job);
    int rc;

    bench->bytes = sizes.first;
    do {
        struct ftc_perf_row *row = &table->row[table->rows];
        rc = give_ranks(results, row);
        if (rc == 0)
            rc = ftc_perf_measure(bench, row);
        if (rc != 0)
            return rc;
        if (table->rows++ == 0)
            table->how = row->how;
        if (!options->json && !options->csv)
            rc = ftc_perf_job_print(bench->job, ftc_perf_print_row, results);
        bench->bytes *= 2;
    } while (rc == 0 && bench->bytes > 0 && bench->bytes <= sizes.last / blocks);
    return rc;
}

static int measure_kills(struct ftc_perf_results *results, struct ftc_perf_bench *bench,
                         struct ftc_perf_deaths *deaths, uint64_t *random)
{
    const struct ftc_perf_options *options = results->options;
    struct ftc_perf_table *table = &results->table[results->tables - 1];
    bool tables = !options->json && !options->csv;

    bench->bytes = table->operation->sized ? options->sizes.first : 0;
    table->kill = calloc(options->kills, sizeof(table->kill[0]));
    if (table->kill == NULL)
        return ftc_perf_fail("out of memory");
    int rc = ftc_perf_warm_up(bench, &table->undisturbed);
    table->how = bench->how;
    while (rc == 0 && table->kills < (int)options->kills) {
        rc = ftc_perf_kill(bench, deaths, table->undisturbed, random, &table->kill[table->kills]);
        if (rc != 0)
            return rc;
        table->kills++;
        if (tables)
            rc = ftc_perf_job_print(bench->job, ftc_perf_print_kill, results);
    }
    return rc == 0 && tables ? ftc_perf_job_print(bench->job, ftc_perf_print_summary, results) : rc;
}

/* All blocks of a buffer together take the largest size, or as many the smallest one. */
static size_t room(const struct ftc_perf_options *options, const struct ftc_perf_job *job)
{
    size_t least = options->sizes.first;

    for (int i = 0; i < options->operations; i++) {
        size_t bytes = options->sizes.first * ftc_perf_operation_blocks(options->operation[i], job);
        least = bytes > least ? bytes : least;
    }
    return least > options->sizes.last ? least : options->sizes.last;
}

static int measure_all(struct ftc_perf_results *results, struct ftc_perf_job *job)
{
    const struct ftc_perf_options *options = results->options;
    struct ftc_perf_bench bench = {.job = job, .options = options};
    struct ftc_perf_deaths *deaths = NULL;
    uint64_t random = options->seed;
    int rc = ftc_perf_buffers_init(&bench.buffers, room(options, job), job->size,
                                   options->under_way > 0 ? (int)options->under_way : 1);

    if (rc == 0 && options->kills > 0)
        rc = ftc_perf_deaths_init(job, &deaths);
    for (int i = 0; rc == 0 && i < options->operations; i++) {
        bench.operation = results->table[i].operation = options->operation[i];
        results->tables++;
        rc = options->kills > 0 ? measure_kills(results, &bench, deaths, &random)
                                : measure_rows(results, &bench);
    }
    ftc_perf_deaths_fini(deaths);
    ftc_perf_buffers_fini(&bench.buffers);
    return rc;
}

static int print_rest(struct ftc_perf_results *results, struct ftc_perf_job *job)
{
    const struct ftc_perf_options *options = results->options;
    int rc = 0;

    if (options->json)
        rc = ftc_perf_job_print(job, ftc_perf_print_json, results);
    if (options->csv)
        rc = ftc_perf_job_print(job, ftc_perf_print_csv, results);
    if (rc == 0 && options->plot != NULL)
        rc = ftc_perf_job_print(job, ftc_perf_plot, results);
    return rc;
}

/* Agree on one seed, so that all ranks draw the same victims. */
static int agree_on_seed(struct ftc_perf_options *options, struct ftc_perf_job *job)
{
    double seed = (double)options->seed; /* exact: a fresh seed is less than 2^30 */
    int rc = options->seed_given ? 0 : ftc_perf_job_max(job, &seed, 1);

    if (!options->seed_given)
        options->seed = (uint64_t)seed;
    return rc;
}

static void results_free(struct ftc_perf_results *results)
{
    for (int i = 0; i < results->tables; i++) {
        free(results->table[i].kill);
        for (int row = 0; row < FTC_PERF_ROWS_MAX; row++)
            free(results->table[i].row[row].rank);
    }
    free(results);
}

static int measure(struct ftc_perf_options *options, struct ftc_perf_job *job)
{
    struct ftc_perf_results *results = calloc(1, sizeof(*results));

    if (results == NULL)
        return ftc_perf_fail("rank %d: out of memory", job->rank);
    results->job = job;
    results->options = options;
    int rc = ftc_perf_job_any_failed(job, job->rank == job->lead && options->plot != NULL &&
                                              ftc_perf_plot_check(options->plot) != 0);
    if (rc == 0 && options->per_rank)
        rc = ftc_perf_ranks_check(job);
    if (rc == 0)
        rc = agree_on_seed(options, job);
    if (rc == 0)
        rc = measure_all(results, job);
    if (rc == 0)
        rc = print_rest(results, job);
    results_free(results);
    return rc;
}

/* Checked after ftc_init(), because it takes the size of the job. */
static bool check_ranks(struct ftc_perf_options *options, const ftc_comm *world)
{
    int kills = (int)options->kills * options->operations;

    if (kills > 0 && kills + 2 > ftc_size(world))
        snprintf(options->problem, sizeof(options->problem),
                 "%d kill%s would leave fewer than 2 of %d rank%s; give ftrun -np %d or more, or "
                 "kill fewer",
                 kills, kills == 1 ? "" : "s", ftc_size(world), ftc_size(world) == 1 ? "" : "s",
                 kills + 2);
    for (int i = 0; i < options->operations; i++)
        if (options->operation[i]->messages > 0 && ftc_size(world) == 1)
            snprintf(options->problem, sizeof(options->problem),
                     "%s goes between two ranks; give ftrun -np 2 or more",
                     options->operation[i]->name);
    return options->problem[0] == '\0';
}

/* Returns the exit code. */
static int run(struct ftc_perf_options *options, ftc_comm *world)
{
    struct ftc_perf_job job;

    if (options->problem[0] != '\0' || !check_ranks(options, world)) {
        if (ftc_rank(world) == 0)
            ftc_perf_fail("%s", options->problem);
        return EXIT_USAGE;
    }
    int rc = ftc_perf_job_init(&job, world);
    if (rc == 0)
        rc = measure(options, &job);
    if (rc < 0)
        ftc_abort(world, EXIT_ERROR);
    ftc_perf_job_fini(&job);
    return rc == 0 ? EXIT_OK : EXIT_ERROR;
}

/* Print help or version. This needs no ftc_init(). All ranks have the same command line, so only
 * one of them prints. */
static int show_text(const struct ftc_perf_options *options)
{
    const char *rank = getenv("FTCOLL_RANK");

    if (rank != NULL && strcmp(rank, "0") != 0)
        return EXIT_OK;
    if (options->help)
        ftc_perf_options_help(stdout);
    else
        printf("ftcoll-perf %s\n", ftc_version());
    if (fflush(stdout) == 0)
        return EXIT_OK;
    ftc_perf_fail("cannot write to standard output: %s", strerror(errno));
    return EXIT_ERROR;
}

int main(int argc, char **argv)
{
    struct ftc_perf_options options;
    bool good = ftc_perf_options_parse(&options, argc, argv);
    ftc_comm *world;

    setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* whole lines: all ranks may write to it */
    if (good && (options.help || options.version))
        return show_text(&options);
    if (ftc_init(NULL, &world) != FTC_SUCCESS) {
        ftc_perf_fail("%s", good ? ftc_last_error() : options.problem);
        return good ? EXIT_ERROR : EXIT_USAGE;
    }
    int code = run(&options, world);
    if (ftc_finalize(world) != FTC_SUCCESS) {
        ftc_perf_fail("%s", ftc_last_error());
        return EXIT_ERROR;
    }
    return code;
}
