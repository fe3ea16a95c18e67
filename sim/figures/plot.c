/* Figures of a table of broadcasts. */
#include "sim/figures/plot.h"

#include "base/error.h"
#include "base/gnuplot.h"
#include "sim/figures/axes.h"

#define PANEL_WIDTH  400
#define PANEL_HEIGHT 250
#define KEY_HEIGHT   60
#define SKEW_COLUMNS 3

/* One colour per correction, in their order. Baselines use the first colours. */
static const char *const colours[] = {"lt 1", "lt 2", "lt 3", "lt 4",
                                      "lt 5", "lt 6", "lt 7", "lc rgb '#999999'"};

struct drawing {
    const struct ftc_figures *figures;
    enum ftc_figures_kind kind;
};

/* --- the table --- */

typedef bool same_rows(const struct ftc_figures_row *a, const struct ftc_figures_row *b);

/* Are the panels in the same line? A line has one dissemination, or the baselines. */
static bool same_line(const struct ftc_figures_row *a, const struct ftc_figures_row *b)
{
    if (a->way.baseline || b->way.baseline)
        return a->way.baseline && b->way.baseline;
    return a->way.pair.dissemination == b->way.pair.dissemination &&
           a->way.pair.tree == b->way.pair.tree;
}

static bool same_column(const struct ftc_figures_row *a, const struct ftc_figures_row *b)
{
    return a->failed == b->failed && a->cost == b->cost;
}

static int colour_of(const struct ftc_figures_row *row)
{
    return row->way.baseline ? (int)row->way.kind : (int)row->way.pair.correction;
}

static bool same_way(const struct ftc_figures_row *a, const struct ftc_figures_row *b)
{
    return same_line(a, b) && colour_of(a) == colour_of(b);
}

static bool same_curve(const struct ftc_figures_row *a, const struct ftc_figures_row *b)
{
    return same_way(a, b) && same_column(a, b) && a->loss == b->loss;
}

/* Do the rows have the same colour in the key? */
static bool same_colour(const struct ftc_figures_row *a, const struct ftc_figures_row *b)
{
    return a->way.baseline == b->way.baseline && colour_of(a) == colour_of(b);
}

static bool is_first(const struct ftc_figures *figures, int i, same_rows *same)
{
    for (int j = 0; j < i; j++)
        if (same(&figures->row[j], &figures->row[i]))
            return false;
    return true;
}

static int count(const struct ftc_figures *figures, same_rows *same)
{
    int found = 0;

    for (int i = 0; i < figures->rows; i++)
        found += is_first(figures, i, same);
    return found;
}

/* --- the script --- */

static double shown(const struct ftc_figures_row *row, enum ftc_figures_kind kind)
{
    if (kind == FTC_FIGURES_MESSAGES)
        return row->dissemination + row->correction;
    return kind == FTC_FIGURES_SKEW ? row->mean / 1e3 : (double)row->latency / 1e3; /* us */
}

static void write_data(const struct drawing *d, FILE *out)
{
    const struct ftc_figures *figures = d->figures;

    for (int i = 0; i < figures->rows; i++) {
        if (!is_first(figures, i, same_curve))
            continue;
        fprintf(out, "$curve%d << EOD\n", i);
        for (int j = i; j < figures->rows; j++) {
            const struct ftc_figures_row *row = &figures->row[j];
            if (same_curve(&figures->row[i], row))
                fprintf(out, "%d %.4g %.4g %.4g\n", row->n, shown(row, d->kind), row->first / 1e3,
                        (row->first + row->spread) / 1e3);
        }
        fputs("EOD\n", out);
    }
}

/* Latencies differ by orders of magnitude, so their axis is logarithmic. The others are linear. */
static void write_axes(const struct drawing *d, FILE *out)
{
    double most = 0, least = 1e18;
    int n[2] = {1 << 30, 1};

    for (int i = 0; i < d->figures->rows; i++) {
        const struct ftc_figures_row *row = &d->figures->row[i];
        double value = shown(row, d->kind), last = (row->first + row->spread) / 1e3;
        n[0] = row->n < n[0] ? row->n : n[0];
        n[1] = row->n > n[1] ? row->n : n[1];
        least = value > 0 && value < least ? value : least;
        most = value > most ? value : most;
        most = d->kind == FTC_FIGURES_SKEW && last > most ? last : most;
    }
    fprintf(out, "set logscale x 2\nset format x '2^{%%L}'\nset xrange [%g:%g]\n", n[0] / 1.05,
            n[1] * 1.05);
    if (d->kind == FTC_FIGURES_LATENCY)
        fprintf(out, "set logscale y 10\nset yrange [%g:%g]\nset format y '%%.0s %%cs'\n",
                least / 1.3e6, most * 1.3 / 1e6);
    else
        fprintf(out, "set yrange [0:%g]\n%s",
                most * 1.05 * (d->kind == FTC_FIGURES_SKEW ? 1e-6 : 1) + 1e-12,
                d->kind == FTC_FIGURES_SKEW ? "set format y '%.0s %cs'\n" : "");
}

static void write_layout(int lines, int columns, int key, FILE *out)
{
    double height = lines * PANEL_HEIGHT + key;

    fprintf(
        out,
        "set multiplot layout %d,%d rowsfirst margins screen %g,%g,%g,%g spacing screen %g,%g\n",
        lines, columns, 0.1 * 2 / (columns + 1), 0.985, (key + 45) / height, 1 - 30 / height,
        0.2 / (columns + 1), 62 / height);
}

static void write_title(const struct drawing *d, const struct ftc_figures_row *row, FILE *out)
{
    char failed[32];
    const char *what = row->way.baseline ? "acknowledged" : ftc_pair_dissemination(row->way.pair);
    bool costs = false;

    for (int i = 0; i < d->figures->rows; i++)
        costs = costs || d->figures->row[i].cost != row->cost;
    fprintf(out, "set title '{/:Bold %s}, %s failed%s%s' offset 0,-0.6\n", what,
            ftc_figures_failed_name(row->failed, failed), costs ? ", " : "",
            costs ? row->cost->name : "");
}

/* A curve is dashed if its loss differs from the first loss of the panel. */
static void write_panel(const struct drawing *d, int first, FILE *out)
{
    const struct ftc_figures *figures = d->figures;
    const char *separator = "plot";

    write_title(d, &figures->row[first], out);
    for (int i = first; i < figures->rows; i++) {
        const struct ftc_figures_row *row = &figures->row[i];
        if (!same_line(&figures->row[first], row) || !same_column(&figures->row[first], row) ||
            !is_first(figures, i, same_curve))
            continue;
        fprintf(out, "%s $curve%d using 1:($2*%s) with lines %s lw 2 dt %s notitle", separator, i,
                d->kind == FTC_FIGURES_MESSAGES ? "1" : "1e-6", colours[colour_of(row)],
                row->loss > 0 ? "'-'" : "1");
        separator = ", \\\n    ";
    }
    fputc('\n', out);
}

static void write_panels(const struct drawing *d, FILE *out)
{
    const struct ftc_figures *figures = d->figures;

    for (int line = 0; line < figures->rows; line++) {
        if (!is_first(figures, line, same_line))
            continue;
        for (int column = 0; column < figures->rows; column++) {
            if (!is_first(figures, column, same_column))
                continue;
            int i = line;
            while (i < figures->rows && !(same_line(&figures->row[i], &figures->row[line]) &&
                                          same_column(&figures->row[i], &figures->row[column])))
                i++;
            if (i < figures->rows)
                write_panel(d, i, out);
            else
                fputs("set multiplot next\n", out);
        }
    }
}

static const char *colour_name(const struct ftc_figures_row *row)
{
    return row->way.baseline ? ftc_baseline_name(row->way.kind)
                             : ftc_correction_name(row->way.pair.correction);
}

/* One key for all panels. It is in a plot of its own that shows nothing else. */
static void write_key(const struct drawing *d, int lines, FILE *out)
{
    const struct ftc_figures *figures = d->figures;
    double top = (double)KEY_HEIGHT / (lines * PANEL_HEIGHT + KEY_HEIGHT);
    bool lossy = false;

    fprintf(out,
            "set lmargin at screen 0.02\nset rmargin at screen 0.98\nset bmargin at screen 0\nset "
            "tmargin at "
            "screen %g\nunset title\nunset ylabel\nunset border\nunset tics\nunset grid\nunset "
            "logscale\n"
            "set key center center horizontal width 1\nplot [0:1] [0:1] ",
            top * 0.8);
    for (int i = 0; i < figures->rows; i++) {
        lossy = lossy || figures->row[i].loss > 0;
        if (is_first(figures, i, same_colour))
            fprintf(out, "NaN with lines %s lw 2 title '%s', ",
                    colours[colour_of(&figures->row[i])], colour_name(&figures->row[i]));
    }
    fprintf(out, "%sNaN notitle\nunset multiplot\n",
            lossy ? "NaN with lines lc rgb '#606060' lw 2 dt '-' title 'datagrams lost', " : "");
}

/* --- skew --- */

static void write_skew_panel(const struct drawing *d, int i, FILE *out)
{
    const struct ftc_figures_row *row = &d->figures->row[i];
    char name[FTC_PAIR_NAME], failed[32];

    fprintf(out, "set title '{/:Bold %s}", ftc_figures_way_name(&row->way, name));
    if (row->dead > 0)
        fprintf(out, ", %s failed", ftc_figures_failed_name(row->failed, failed));
    if (row->loss > 0)
        fprintf(out, ", %g %% lost", row->loss);
    fprintf(out,
            "' offset 0,-0.6\nplot $curve%d using 1:($3*1e-6):($4*1e-6) with filledcurves lc rgb "
            "'#bcd9ec' "
            "notitle, $curve%d using 1:($2*1e-6) with lines lt 1 lw 2 notitle\n",
            i, i);
}

static void write_skew(const struct drawing *d, FILE *out)
{
    for (int i = 0; i < d->figures->rows; i++)
        if (is_first(d->figures, i, same_curve))
            write_skew_panel(d, i, out);
    fputs("unset multiplot\n", out);
}

/* --- all --- */

/* Number of panels side by side, and of lines of panels. */
static void measure_layout(const struct drawing *d, int *lines, int *columns)
{
    int curves = count(d->figures, same_curve);
    bool skew = d->kind == FTC_FIGURES_SKEW;

    *columns =
        skew ? (curves < SKEW_COLUMNS ? curves : SKEW_COLUMNS) : count(d->figures, same_column);
    *lines = skew ? (curves + *columns - 1) / *columns : count(d->figures, same_line);
}

static void write_script(const void *data, FILE *out)
{
    const struct drawing *d = data;
    bool skew = d->kind == FTC_FIGURES_SKEW;
    int lines, columns;

    measure_layout(d, &lines, &columns);
    write_data(d, out);
    write_axes(d, out);
    write_layout(lines, columns, skew ? 0 : KEY_HEIGHT, out);
    if (skew) {
        write_skew(d, out);
    } else {
        write_panels(d, out);
        write_key(d, lines, out);
    }
}

int ftc_figures_plot(const struct ftc_figures *figures, enum ftc_figures_kind kind,
                     const char *path)
{
    const struct drawing drawing = {.figures = figures, .kind = kind};
    char problem[FTC_GNUPLOT_PROBLEM];
    int lines, columns;

    measure_layout(&drawing, &lines, &columns);
    const struct ftc_gnuplot figure = {
        path, columns * PANEL_WIDTH,
        lines * PANEL_HEIGHT + (kind == FTC_FIGURES_SKEW ? 0 : KEY_HEIGHT), write_script, &drawing};
    int rc = ftc_gnuplot_draw(&figure, problem);

    return rc == 0 ? 0 : ftc_error_set(rc, "%s", problem);
}
