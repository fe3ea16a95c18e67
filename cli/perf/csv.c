/* --csv: a line with the names of the columns, then a line for each row or kill of all operations.
 * Columns may be added at the end. */
#include <stdio.h>

#include "cli/perf/output.h"

static void print_size(size_t bytes)
{
    if (bytes > 0)
        printf("%zu", bytes);
    putchar(',');
}

static void print_how(const struct ftc_perf_how *how)
{
    printf(",%d", how->f);
    if (how->dissemination != NULL)
        printf(",%s,%s,%s", how->dissemination, how->tree, how->correction);
    else
        fputs(",,,", stdout);
}

/* --nonblocking: `under_way` is 0 without it. */
static void print_overlap(const struct ftc_perf_overlap *overlap, int under_way)
{
    if (under_way > 0)
        printf(",%d,%.3f,%.3f,%.1f", under_way, overlap->compute, overlap->both, overlap->percent);
}

static void print_rows(const struct ftc_perf_table *table, int under_way)
{
    for (int i = 0; i < table->rows; i++) {
        const struct ftc_perf_row *row = &table->row[i];
        printf("%s,%s,%d,", table->operation->name, row->how.algorithm, row->ranks);
        print_size(row->bytes);
        printf("%d,%d,%.3f,%.3f,%.3f,%.3f,", row->samples, row->batch, row->median, row->p99,
               row->least, row->most);
        if (row->bytes > 0)
            printf("%.3f", ftc_perf_bandwidth(row));
        print_how(&row->how);
        print_overlap(&row->overlap, under_way);
        putchar('\n');
    }
}

/* --per-rank: a line for each living rank. */
static void print_ranks(const struct ftc_perf_job *job, const struct ftc_perf_table *table)
{
    for (int i = 0; i < table->rows; i++) {
        const struct ftc_perf_row *row = &table->row[i];
        for (int rank = 0; rank < job->size; rank++) {
            if (row->rank[rank].median < 0)
                continue;
            printf("%s,%s,%d,", table->operation->name, row->how.algorithm, row->ranks);
            print_size(row->bytes);
            printf("%d,%d,%.3f,%.3f,%.3f,%.3f", row->samples, rank, row->rank[rank].median,
                   row->rank[rank].p99, row->median, row->spread);
            print_how(&row->how);
            putchar('\n');
        }
    }
}

#define PLAIN_HEAD                                                                                 \
    "operation,algorithm,ranks,bytes,samples,batch,median_us,p99_us,min_us,max_us,mb_per_s,"       \
    "f,dissemination,tree,correction"

static const char *head_of(const struct ftc_perf_options *options)
{
    if (options->kills > 0)
        return "operation,algorithm,bytes,rank,survivors,first_us,last_us,f,dissemination,tree,"
               "correction";
    if (options->per_rank)
        return "operation,algorithm,ranks,bytes,samples,rank,median_us,p99_us,slowest_us,spread_us,"
               "f,dissemination,tree,correction";
    if (options->under_way > 0)
        return PLAIN_HEAD ",under_way,compute_us,overlapped_us,overlap_percent";
    return PLAIN_HEAD;
}

static void print_kills(const struct ftc_perf_table *table, size_t bytes)
{
    for (int i = 0; i < table->kills; i++) {
        const struct ftc_perf_kill *kill = &table->kill[i];
        printf("%s,%s,", table->operation->name, table->how.algorithm);
        print_size(table->operation->sized ? bytes : 0);
        printf("%d,%d,%.3f,%.3f", kill->rank, kill->survivors, kill->first, kill->last);
        print_how(&table->how);
        putchar('\n');
    }
}

int ftc_perf_print_csv(void *arg)
{
    const struct ftc_perf_results *results = arg;
    const struct ftc_perf_options *options = results->options;

    puts(head_of(options));
    for (int i = 0; i < results->tables; i++)
        if (options->kills > 0)
            print_kills(&results->table[i], options->sizes.first);
        else if (options->per_rank)
            print_ranks(results->job, &results->table[i]);
        else
            print_rows(&results->table[i], (int)options->under_way);
    return 0;
}
