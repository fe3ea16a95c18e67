/* --plot: latency against size, or with --per-rank against rank. */
#include "base/gnuplot.h"
#include "cli/perf/output.h"

#define WIDTH  760
#define HEIGHT 480

int ftc_perf_plot_check(const char *path)
{
    char problem[FTC_GNUPLOT_PROBLEM];

    return ftc_gnuplot_check(path, problem) == 0 ? 0 : ftc_perf_fail("%s", problem);
}

static void write_axes(const struct ftc_perf_results *results, FILE *out)
{
    const struct ftc_perf_sizes *sizes = &results->options->sizes;

    fputs("set logscale x 2\nset logscale y 10\nset format x '%.0b%BB'\nset format y '%.0s %cs'\n"
          "set key below height 1\nset xlabel 'size'\n",
          out);
    fprintf(out, "set xrange [%g:%g]\n", (double)sizes->first / 1.05, (double)sizes->last * 1.05);
    fprintf(out, "set title 'ftcoll %s, %d ranks: latency, median and (thin) 99th percentile'\n",
            ftc_version(), results->job->size);
}

static void write_data(const struct ftc_perf_table *table, int i, FILE *out)
{
    fprintf(out, "$rows%d << EOD\n", i);
    for (int row = 0; row < table->rows; row++)
        fprintf(out, "%zu %.9f %.9f\n", table->row[row].bytes, table->row[row].median / 1e6,
                table->row[row].p99 / 1e6);
    fputs("EOD\n", out);
}

/* --- against rank --- */

static void write_ranks_data(const struct ftc_perf_results *results, FILE *out)
{
    for (int i = 0; i < results->tables; i++)
        for (int row = 0; row < results->table[i].rows; row++) {
            const struct ftc_perf_rank *rank = results->table[i].row[row].rank;
            fprintf(out, "$ranks%d_%d << EOD\n", i, row);
            for (int r = 0; r < results->job->size; r++)
                if (rank[r].median >= 0)
                    fprintf(out, "%d %.9f\n", r, rank[r].median / 1e6);
            fputs("EOD\n", out);
        }
}

static void write_ranks(const struct ftc_perf_results *results, FILE *out)
{
    const char *separator = "plot";
    int colour = 0;

    write_ranks_data(results, out);
    fprintf(out,
            "set format y '%%.0s %%cs'\nset key below height 1\nset xlabel 'rank'\n"
            "set xrange [-0.5:%d.5]\nset yrange [0:*]\n"
            "set title 'ftcoll %s, %d ranks: latency of each rank, median'\n",
            results->job->size - 1, ftc_version(), results->job->size);
    for (int i = 0; i < results->tables; i++)
        for (int row = 0; row < results->table[i].rows; row++) {
            fprintf(out,
                    "%s $ranks%d_%d using 1:2 with linespoints lt %d pt 7 ps 0.4 lw 2 title '%s",
                    separator, i, row, ++colour, results->table[i].operation->name);
            if (results->table[i].operation->sized)
                fprintf(out, ", %zu bytes", results->table[i].row[row].bytes);
            fputc('\'', out);
            separator = ",";
        }
    fputc('\n', out);
}

static void write_script(const void *data, FILE *out)
{
    const struct ftc_perf_results *results = data;
    const char *separator = "plot";

    if (results->options->per_rank) {
        write_ranks(results, out);
        return;
    }
    write_axes(results, out);
    for (int i = 0; i < results->tables; i++)
        if (results->table[i].operation->sized)
            write_data(&results->table[i], i, out);
    for (int i = 0; i < results->tables; i++) {
        const struct ftc_perf_operation *operation = results->table[i].operation;
        int colour = (int)(operation - ftc_perf_operations) + 1;
        if (!operation->sized)
            continue;
        fprintf(out,
                "%s $rows%d using 1:2 with linespoints lt %d pt 7 ps 0.4 lw 2 title '%s', "
                "$rows%d using 1:3 with lines lt %d lw 0.7 notitle",
                separator, i, colour, operation->name, i, colour);
        separator = ",";
    }
    fputc('\n', out);
}

int ftc_perf_plot(void *arg)
{
    const struct ftc_perf_results *results = arg;
    const struct ftc_gnuplot figure = {results->options->plot, WIDTH, HEIGHT, write_script,
                                       results};
    char problem[FTC_GNUPLOT_PROBLEM];

    return ftc_gnuplot_draw(&figure, problem) == 0 ? 0 : ftc_perf_fail("%s", problem);
}
