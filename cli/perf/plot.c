/* --plot: latency against size; the script and its data go to gnuplot's standard input. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/perf/output.h"

int ftc_perf_plot_check(const char *path)
{
    if (system("command -v gnuplot >/dev/null 2>&1") != 0)
        return ftc_perf_fail("--plot needs gnuplot, which is not installed; install it (Debian: gnuplot-nox) "
                             "or leave out --plot");
    FILE *out = fopen(path, "a"); /* gnuplot would draw to standard output, into the table */
    if (out == NULL)
        return ftc_perf_fail("--plot %s: %s; give a file that can be written", path, strerror(errno));
    fclose(out);
    struct stat file;
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == 0)
        unlink(path); /* nothing is left behind if the measurement fails */
    return 0;
}

static void write_quoted(const char *text, FILE *out)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void write_style(const struct ftc_perf_results *results, FILE *out)
{
    fputs("set terminal svg size 760,480 dynamic font 'Helvetica,13' background rgb 'white'\nset output ",
          out);
    write_quoted(results->options->plot, out);
    /* Okabe and Ito's colours, which the colour-blind can tell apart. */
    fputs("\nset linetype 1 lc rgb '#0072B2'\nset linetype 2 lc rgb '#D55E00'\n"
          "set linetype 3 lc rgb '#009E73'\nset border 3 lc rgb '#606060'\n"
          "set grid xtics ytics lc rgb '#e4e4e4' lt 1 lw 1\nset tics nomirror\nset logscale x 2\n"
          "set logscale y 10\nset format x '%.0b%BB'\nset format y '%.0s %cs'\nset key below height 1\n"
          "set xlabel 'size'\n",
          out);
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

static void write_script(const struct ftc_perf_results *results, FILE *out)
{
    const char *separator = "plot";

    write_style(results, out);
    for (int i = 0; i < results->tables; i++)
        if (results->table[i].operation->sized)
            write_data(&results->table[i], i, out);
    for (int i = 0; i < results->tables; i++) {
        if (!results->table[i].operation->sized)
            continue;
        fprintf(out,
                "%s $rows%d using 1:2 with linespoints lt %d pt 7 ps 0.4 lw 2 title '%s', "
                "$rows%d using 1:3 with lines lt %d lw 0.7 notitle",
                separator, i, i % 3 + 1, results->table[i].operation->name, i, i % 3 + 1);
        separator = ",";
    }
    fputc('\n', out);
}

int ftc_perf_plot(void *arg)
{
    const struct ftc_perf_results *results = arg;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* of a gnuplot that ends early */
    FILE *out = popen("gnuplot -", "w");
    int status = -1;

    if (out != NULL) {
        write_script(results, out);
        status = pclose(out);
    }
    signal(SIGPIPE, before);
    return status == 0 ? 0 : ftc_perf_fail("gnuplot could not make %s", results->options->plot);
}
