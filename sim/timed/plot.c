/* A figure of a sweep. */
#include "sim/timed/plot.h"

#include "base/error.h"
#include "base/gnuplot.h"

#define PANEL_WIDTH  460
#define PANEL_HEIGHT 330
#define KEY_HEIGHT   70

int ftc_plot_check(const char *path)
{
    char problem[FTC_GNUPLOT_PROBLEM];
    int rc = ftc_gnuplot_check(path, problem);

    return rc == 0 ? 0 : ftc_error_set(rc, "%s", problem);
}

/* --- the sweep --- */

static bool same_panel(const struct ftc_sweep_row *a, const struct ftc_sweep_row *b)
{
    return a->operation == b->operation && a->cost == b->cost;
}

static bool same_curve(const struct ftc_sweep_row *a, const struct ftc_sweep_row *b)
{
    return same_panel(a, b) && a->f == b->f && (a->kills > 0) == (b->kills > 0) &&
           (a->kills == b->kills || (a->kills == a->f && b->kills == b->f));
}

/* Is row i the first of its curve, or panel? */
static bool is_first(const struct ftc_sweep *sweep, int i,
                     bool (*same)(const struct ftc_sweep_row *, const struct ftc_sweep_row *))
{
    for (int j = 0; j < i; j++)
        if (same(&sweep->row[j], &sweep->row[i]))
            return false;
    return true;
}

static bool same_operation(const struct ftc_sweep_row *a, const struct ftc_sweep_row *b)
{
    return a->operation == b->operation;
}

static bool same_cost(const struct ftc_sweep_row *a, const struct ftc_sweep_row *b)
{
    return a->cost == b->cost;
}

static int count(const struct ftc_sweep *sweep,
                 bool (*same)(const struct ftc_sweep_row *, const struct ftc_sweep_row *))
{
    int found = 0;

    for (int i = 0; i < sweep->rows; i++)
        found += is_first(sweep, i, same);
    return found;
}

/* The latency to show, ns; 0: there is none. */
static uint64_t shown(const struct ftc_sweep_row *row)
{
    return ftc_call_to_root(row->operation->kind) ? row->root_latency : row->latency;
}

/* --- the script --- */

static void write_data(const struct ftc_sweep *sweep, FILE *out)
{
    for (int i = 0; i < sweep->rows; i++) {
        if (!is_first(sweep, i, same_curve))
            continue;
        fprintf(out, "$curve%d << EOD\n", i);
        for (int j = i; j < sweep->rows; j++)
            if (same_curve(&sweep->row[i], &sweep->row[j]) && shown(&sweep->row[j]) > 0)
                fprintf(out, "%d %.3f\n", sweep->row[j].n, (double)shown(&sweep->row[j]) / 1e3);
        fputs("EOD\n", out);
    }
}

struct range {
    double n[2], us[2]; /* least and most */
};

static void widen(double range[2], double value)
{
    range[0] = value < range[0] ? value : range[0];
    range[1] = value > range[1] ? value : range[1];
}

static struct range range_of(const struct ftc_sweep *sweep)
{
    struct range range = {{1e18, 0}, {1e18, 0}};

    for (int i = 0; i < sweep->rows; i++) {
        widen(range.n, sweep->row[i].n);
        if (shown(&sweep->row[i]) > 0)
            widen(range.us, (double)shown(&sweep->row[i]) / 1e3);
    }
    return range;
}

static void write_axes(const struct ftc_sweep *sweep, int columns, int lines, FILE *out)
{
    struct range range = range_of(sweep);

    fputs("set logscale x 2\nset logscale y 10\nset format x '2^{%L}'\nset format y '%.0s "
          "%cs'\nset mytics 1\n",
          out);
    fprintf(out, "set xrange [%g:%g]\nset yrange [%g:%g]\n", range.n[0] / 1.05, range.n[1] * 1.05,
            range.us[0] / 1e6 / 1.5, range.us[1] / 1e6 * 1.5);
    fprintf(
        out,
        "set multiplot layout %d,%d columnsfirst margins screen %g,%g,%g,%g spacing screen %g,%g\n",
        lines, columns, 0.09 * 2 / (columns + 1), 0.985,
        1.0 - (lines * PANEL_HEIGHT - 30.0) / (lines * PANEL_HEIGHT + KEY_HEIGHT), 0.94, 0.07,
        0.11);
}

static void write_panel(const struct ftc_sweep *sweep, int first, bool bottom, FILE *out)
{
    const struct ftc_sweep_row *panel = &sweep->row[first];
    const char *separator = "plot";

    fprintf(out, "set title '{/:Bold %s}, %s: latency%s' offset 0,-0.6\nset xlabel '%s'\n",
            ftc_call_kind_name(panel->operation->kind), panel->cost->name,
            ftc_call_to_root(panel->operation->kind) ? " at the root" : "", bottom ? "ranks" : "");
    for (int i = first; i < sweep->rows; i++) {
        const struct ftc_sweep_row *row = &sweep->row[i];
        if (!same_panel(panel, row) || !is_first(sweep, i, same_curve))
            continue;
        fprintf(out, "%s $curve%d using 1:($2*1e-6) with lines lt %d lw 2 dt %s notitle", separator,
                i, row->f % 7 + 1, row->kills > 0 ? "'-'" : "1");
        separator = ", \\\n    ";
    }
    fputc('\n', out);
}

static void write_panels(const struct ftc_sweep *sweep, FILE *out)
{
    for (int c = 0; c < sweep->rows; c++) {
        if (!is_first(sweep, c, same_cost))
            continue;
        for (int i = 0; i < sweep->rows; i++) {
            const struct ftc_sweep_row *row = &sweep->row[i];
            if (row->cost == sweep->row[c].cost && is_first(sweep, i, same_panel))
                write_panel(sweep, i, row->operation == sweep->row[sweep->rows - 1].operation, out);
        }
    }
}

static bool same_f(const struct ftc_sweep_row *a, const struct ftc_sweep_row *b)
{
    return a->f == b->f;
}

/* One key for all panels. It is in a plot of its own that shows nothing else. */
static void write_key(const struct ftc_sweep *sweep, int lines, FILE *out)
{
    double top = (double)KEY_HEIGHT / (lines * PANEL_HEIGHT + KEY_HEIGHT);
    bool deaths = false;

    fprintf(out,
            "set lmargin at screen 0.02\nset rmargin at screen 0.98\nset bmargin at screen "
            "0.01\nset tmargin "
            "at screen %g\n"
            "unset title\nunset xlabel\nunset ylabel\nunset border\nunset tics\nunset grid\nunset "
            "logscale\n"
            "set key center center horizontal width 2\nplot [0:1] [0:1] ",
            top * 0.6);
    for (int i = 0; i < sweep->rows; i++) {
        deaths = deaths || sweep->row[i].kills > 0;
        if (is_first(sweep, i, same_f))
            fprintf(out, "NaN with lines lt %d lw 2 title 'f = %d', ", sweep->row[i].f % 7 + 1,
                    sweep->row[i].f);
    }
    fprintf(out, "NaN with lines lc rgb '#606060' lw 2 dt 1 title 'no deaths'");
    if (deaths)
        fprintf(out, ", NaN with lines lc rgb '#606060' lw 2 dt '-' title 'deaths'");
    fputs("\nunset multiplot\n", out);
}

static int columns_of(const struct ftc_sweep *sweep)
{
    return count(sweep, same_cost);
}

static int lines_of(const struct ftc_sweep *sweep)
{
    return count(sweep, same_operation);
}

static void write_script(const void *data, FILE *out)
{
    const struct ftc_sweep *sweep = data;

    write_data(sweep, out);
    write_axes(sweep, columns_of(sweep), lines_of(sweep), out);
    write_panels(sweep, out);
    write_key(sweep, lines_of(sweep), out);
}

int ftc_plot(const struct ftc_sweep *sweep, const char *path)
{
    const struct ftc_gnuplot figure = {path, columns_of(sweep) * PANEL_WIDTH,
                                       lines_of(sweep) * PANEL_HEIGHT + KEY_HEIGHT, write_script,
                                       sweep};
    char problem[FTC_GNUPLOT_PROBLEM];
    bool any = false;

    for (int i = 0; i < sweep->rows; i++)
        any = any || shown(&sweep->row[i]) > 0;
    if (!any)
        return ftc_error_set(FTC_ERR_ARG,
                             "there is nothing to draw: no root survived; try --kill-kind others");
    int rc = ftc_gnuplot_draw(&figure, problem);
    return rc == 0 ? 0 : ftc_error_set(rc, "%s", problem);
}
