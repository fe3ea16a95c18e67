/* --plot: latency against size. */
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

static void write_script(const void *data, FILE *out)
{
    const struct ftc_perf_results *results = data;
    const char *separator = "plot";

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
