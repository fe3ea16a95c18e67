/* The figure of the times of single ranks. */
#include <string.h>

#include "base/error.h"
#include "base/gnuplot.h"
#include "sim/figures/axes.h"
#include "sim/figures/ranks.h"

#define WIDTH  1200
#define HEIGHT 340

static bool same_curve(const struct ftc_figures_row *a, const struct ftc_figures_row *b)
{
    char one[FTC_PAIR_NAME], other[FTC_PAIR_NAME];

    return a->cost == b->cost && a->failed == b->failed && a->loss == b->loss &&
           strcmp(ftc_figures_way_name(&a->way, one), ftc_figures_way_name(&b->way, other)) == 0;
}

/* The rows of a curve lie together. */
static bool begins(const struct ftc_figures *figures, int i)
{
    return i == 0 || !same_curve(&figures->row[i - 1], &figures->row[i]);
}

static void write_point(const struct ftc_figures_row *row, int rank, int x, FILE *out)
{
    if (row->rank[rank].reached > 0)
        fprintf(out, "%d %.9g\n", x, row->rank[rank].time / 1e9);
}

/* For the curve that begins with row i: every rank of its largest row; rank 1 and the last rank of
 * each row. */
static void write_curve(const struct ftc_figures *figures, int i, FILE *out)
{
    const struct ftc_figures_row *row = figures->row, *largest = &row[i];
    int end = i + 1;

    for (; end < figures->rows && !begins(figures, end); end++)
        largest = row[end].n > largest->n ? &row[end] : largest;
    fprintf(out, "$each%d << EOD\n", i);
    for (int rank = 1; rank < largest->n; rank++)
        write_point(largest, rank, rank, out);
    fprintf(out, "EOD\n$first%d << EOD\n", i);
    for (int j = i; j < end; j++)
        write_point(&row[j], 1, row[j].n, out);
    fprintf(out, "EOD\n$last%d << EOD\n", i);
    for (int j = i; j < end; j++)
        write_point(&row[j], row[j].n - 1, row[j].n, out);
    fputs("EOD\n", out);
}

static void write_axes(const struct ftc_figures *figures, FILE *out)
{
    double most = 0;
    int largest = 0;

    for (int i = 0; i < figures->rows; i++) {
        const struct ftc_figures_row *row = &figures->row[i];
        largest = row->n > largest ? row->n : largest;
        for (int rank = 1; rank < row->n; rank++)
            most = row->rank[rank].time > most ? row->rank[rank].time : most;
    }
    fprintf(out,
            "set xrange [0:%d]\nset yrange [0:%g]\nset format y '%%.0s %%cs'\n"
            "set multiplot layout 1,3 margins screen 0.06,0.985,0.24,0.9 spacing screen 0.055,0\n",
            largest + 1, most * 1.05e-9 + 1e-12);
}

/* "multicast+ring, 10 % lost" */
static void write_name(const struct ftc_figures *figures, const struct ftc_figures_row *row,
                       FILE *out)
{
    char name[FTC_PAIR_NAME], failed[32];

    fprintf(out, "title '%s", ftc_figures_way_name(&row->way, name));
    if (row->loss > 0)
        fprintf(out, ", %g %% lost", row->loss);
    if (row->dead > 0)
        fprintf(out, ", %s failed", ftc_figures_failed_name(row->failed, failed));
    if (row->cost != figures->row[0].cost)
        fprintf(out, ", %s", row->cost->name);
    fputc('\'', out);
}

static void write_panel(const struct ftc_figures *figures, const char *data, FILE *out)
{
    const char *separator = "plot";
    int colour = 0;

    for (int i = 0; i < figures->rows; i++) {
        if (!begins(figures, i))
            continue;
        fprintf(out, "%s $%s%d using 1:2 with linespoints lt %d lw 1.5 pt 7 ps 0.3 notitle",
                separator, data, i, ++colour);
        separator = ",";
    }
    fputc('\n', out);
}

/* One key for all panels, in a plot of its own that shows nothing else. */
static void write_key(const struct ftc_figures *figures, FILE *out)
{
    int colour = 0;

    fputs("set lmargin at screen 0.02\nset rmargin at screen 0.98\nset bmargin at screen 0\n"
          "set tmargin at screen 0.1\nunset title\nunset xlabel\nunset border\nunset tics\n"
          "unset grid\nset key center center horizontal width 1\nplot [0:1] [0:1] ",
          out);
    for (int i = 0; i < figures->rows; i++) {
        if (!begins(figures, i))
            continue;
        fprintf(out, "NaN with lines lt %d lw 2 ", ++colour);
        write_name(figures, &figures->row[i], out);
        fputs(", ", out);
    }
    fputs("NaN notitle\nunset multiplot\n", out);
}

static void write_script(const void *data, FILE *out)
{
    const struct ftc_figures *figures = data;
    int largest = 0;

    for (int i = 0; i < figures->rows; i++) {
        if (begins(figures, i))
            write_curve(figures, i, out);
        largest = figures->row[i].n > largest ? figures->row[i].n : largest;
    }
    write_axes(figures, out);
    fprintf(out,
            "set title '{/:Bold each rank} of %d' offset 0,-0.6\nset xlabel 'rank' offset 0,0.5\n",
            largest);
    write_panel(figures, "each", out);
    fputs("set title '{/:Bold rank 1}'\nset xlabel 'number of ranks n'\n", out);
    write_panel(figures, "first", out);
    fputs("set title '{/:Bold rank n - 1}'\n", out);
    write_panel(figures, "last", out);
    write_key(figures, out);
}

int ftc_figures_plot_ranks(const struct ftc_figures *figures, const char *path)
{
    const struct ftc_gnuplot figure = {path, WIDTH, HEIGHT, write_script, figures};
    char problem[FTC_GNUPLOT_PROBLEM];
    int rc = ftc_gnuplot_draw(&figure, problem);

    return rc == 0 ? 0 : ftc_error_set(rc, "%s", problem);
}
