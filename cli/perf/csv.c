/* --csv: a line of names, then one for each row or kill of all operations. */
#include <stdio.h>

#include "cli/perf/output.h"

static void print_size(size_t bytes)
{
    if (bytes > 0)
        printf("%zu", bytes);
    putchar(',');
}

static void print_rows(const struct ftc_perf_table *table)
{
    for (int i = 0; i < table->rows; i++) {
        const struct ftc_perf_row *row = &table->row[i];
        printf("%s,%s,%d,", table->operation->name, row->algorithm, row->ranks);
        print_size(row->bytes);
        printf("%d,%d,%.3f,%.3f,%.3f,%.3f,", row->samples, row->batch, row->median, row->p99, row->least,
               row->most);
        if (row->bytes > 0)
            printf("%.3f", ftc_perf_bandwidth(row));
        putchar('\n');
    }
}

static void print_kills(const struct ftc_perf_table *table, size_t bytes)
{
    for (int i = 0; i < table->kills; i++) {
        const struct ftc_perf_kill *kill = &table->kill[i];
        printf("%s,%s,", table->operation->name, table->algorithm);
        print_size(table->operation->sized ? bytes : 0);
        printf("%d,%d,%.3f,%.3f\n", kill->rank, kill->survivors, kill->first, kill->last);
    }
}

int ftc_perf_print_csv(void *arg)
{
    const struct ftc_perf_results *results = arg;
    const struct ftc_perf_options *options = results->options;

    puts(options->kills > 0 ? "operation,algorithm,bytes,rank,survivors,first_us,last_us"
                            : "operation,algorithm,ranks,bytes,samples,batch,median_us,p99_us,min_us,max_us,"
                              "mb_per_s");
    for (int i = 0; i < results->tables; i++)
        if (options->kills > 0)
            print_kills(&results->table[i], options->sizes.first);
        else
            print_rows(&results->table[i]);
    return 0;
}
