/* The figure of a sweep in which a rank stalls. */
#include <inttypes.h>

#include "base/error.h"
#include "base/gnuplot.h"
#include "sim/timed/plot.h"

#define WIDTH  640
#define HEIGHT 400

/* The rows of a curve lie together. */
static bool begins(const struct ftc_sweep *sweep, int i)
{
    const struct ftc_sweep_row *b = &sweep->row[i], *a = i > 0 ? b - 1 : NULL;

    return a == NULL || a->take != b->take || a->operation != b->operation || a->cost != b->cost ||
           a->n != b->n || a->f != b->f || a->kills != b->kills;
}

/* ns; 0: there is none */
static uint64_t shown(const struct ftc_sweep_row *row)
{
    return row->root_runs > 0 ? row->root_latency : row->latency;
}

static void write_data(const struct ftc_sweep *sweep, FILE *out)
{
    for (int i = 0; i < sweep->rows; i++) {
        const struct ftc_sweep_row *row = &sweep->row[i];
        if (begins(sweep, i))
            fprintf(out, "%s$curve%d << EOD\n", i > 0 ? "EOD\n" : "", i);
        if (shown(row) > 0)
            fprintf(out, "%.9g %.9g\n", (double)row->stall_ns / 1e9, (double)shown(row) / 1e9);
    }
    fputs("EOD\n", out);
}

static void write_curves(const struct ftc_sweep *sweep, FILE *out)
{
    const char *separator = "plot";

    for (int i = 0; i < sweep->rows; i++) {
        const struct ftc_sweep_row *row = &sweep->row[i];
        if (!begins(sweep, i))
            continue;
        fprintf(out,
                "%s $curve%d using 1:2 with linespoints lt %d lw 2 pt 7 ps 0.4 title "
                "'%s, n = %d, f = %d: %s'",
                separator, i, row->take + 1, ftc_call_kind_name(row->operation->kind), row->n,
                row->f, ftc_take_name(row->take));
        separator = ", \\\n    ";
    }
    fputc('\n', out);
}

static void write_script(const void *data, FILE *out)
{
    const struct ftc_sweep *sweep = data;

    write_data(sweep, out);
    fputs("set logscale xy 10\nset format xy '%.0s %cs'\nset mxtics 1\nset mytics 1\n"
          "set xlabel 'length of the stall'\nset ylabel 'latency at the root'\n"
          "set key left top\n",
          out);
    write_curves(sweep, out);
}

int ftc_plot_stall(const struct ftc_sweep *sweep, const char *path)
{
    const struct ftc_gnuplot figure = {path, WIDTH, HEIGHT, write_script, sweep};
    char problem[FTC_GNUPLOT_PROBLEM];
    int rc = ftc_gnuplot_draw(&figure, problem);

    return rc == 0 ? 0 : ftc_error_set(rc, "%s", problem);
}
