/* Figures of gossip aggregation. */
#include "sim/gossip/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/gnuplot.h"
#include "sim/gossip/csv.h"
#include "sim/gossip/curve.h"
#include "sim/gossip/history.h"

#define WIDTH  760
#define HEIGHT 420
#define WIDE   40 /* if the greatest value is so many times the least, the scale is logarithmic */

struct drawing {
    const struct ftc_gossip_table *table;
    enum ftc_gossip_figure figure;
    enum ftc_gossip_axis axis;
    const struct ftc_gossip_relative *relative;
    bool fit;
};

/* --- what is shown --- */

int ftc_gossip_relative_read(struct ftc_gossip_relative *relative,
                             const struct ftc_gossip_table *table, const char *text)
{
    const size_t size = (size_t)table->rows * sizeof(*table->row);

    *relative = (struct ftc_gossip_relative){.kind = FTC_GOSSIP_TO_ALGORITHM, .algorithm = text};
    if (text == NULL)
        relative->kind = FTC_GOSSIP_ABSOLUTE;
    else if (strcmp(text, "first") == 0)
        relative->kind = FTC_GOSSIP_TO_FIRST;
    if (relative->kind != FTC_GOSSIP_TO_ALGORITHM)
        return 0;
    for (int i = 0; i < table->rows; i++)
        if (strcmp(ftc_gossip_run_name(&table->row[i].run), text) == 0)
            return 0;
    relative->kind = FTC_GOSSIP_TO_TABLE;
    relative->other = *table;
    relative->other.row = malloc(size);
    if (relative->other.row == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for %d rows", table->rows);
    memcpy(relative->other.row, table->row, size);
    if (ftc_gossip_csv_read(&relative->other, text) == 0)
        return 0;
    char cause[256];
    snprintf(cause, sizeof(cause), "%s", ftc_last_error());
    return ftc_error_set(FTC_ERR_ARG,
                         "--relative %s: not \"first\", no algorithm of this table, and no file of "
                         "such a table: %s",
                         text, cause);
}

void ftc_gossip_relative_fini(struct ftc_gossip_relative *relative)
{
    free(relative->other.row);
}

/* The row that row i is divided by. NULL: none. */
static const struct ftc_gossip_row *base_of(const struct drawing *d, int i)
{
    const struct ftc_gossip_table *table = d->table;

    switch (d->relative->kind) {
    case FTC_GOSSIP_TO_TABLE:
        return &d->relative->other.row[i];
    case FTC_GOSSIP_TO_FIRST:
        for (int j = 0; j <= i; j++)
            if (ftc_gossip_same_but_axis(&table->row[j], &table->row[i], d->axis))
                return &table->row[j];
        return NULL;
    case FTC_GOSSIP_TO_ALGORITHM:
        for (int j = 0; j < table->rows; j++)
            if (strcmp(ftc_gossip_run_name(&table->row[j].run), d->relative->algorithm) == 0 &&
                ftc_gossip_same_places(&table->row[j], &table->row[i]))
                return &table->row[j];
        return NULL;
    default:
        return NULL;
    }
}

static double absolute(const struct drawing *d, const struct ftc_gossip_row *row)
{
    return d->figure == FTC_GOSSIP_FIGURE_TIME ? row->time : row->most;
}

/* Divide a value of row i, which may be of a model. */
static double relative(const struct drawing *d, int i, double value)
{
    const struct ftc_gossip_row *base = base_of(d, i);

    return base != NULL ? value / absolute(d, base) : value;
}

static double shown(const struct drawing *d, int i)
{
    const struct ftc_gossip_row *row = &d->table->row[i];

    if (d->figure == FTC_GOSSIP_FIGURE_ERROR)
        return ftc_gossip_drawable(row->error);
    return relative(d, i, absolute(d, row));
}

static bool begins_curve(const struct drawing *d, int i)
{
    for (int j = 0; j < i; j++)
        if (ftc_gossip_same_but_axis(&d->table->row[i], &d->table->row[j], d->axis))
            return false;
    return true;
}

/* The next row of the curve of row `first`, from row i on; -1: there is none. A row without runs is
 * no point. */
static int next_of_curve(const struct drawing *d, int first, int i)
{
    for (; i < d->table->rows; i++)
        if (d->table->row[i].repeat > 0 &&
            ftc_gossip_same_but_axis(&d->table->row[first], &d->table->row[i], d->axis))
            return i;
    return -1;
}

static bool has_model(const struct drawing *d, int first, struct ftc_gossip_fit *fit)
{
    return d->fit && d->figure == FTC_GOSSIP_FIGURE_MESSAGES && d->axis == FTC_GOSSIP_AXIS_RANKS &&
           ftc_gossip_fit(d->table, first, fit);
}

/* --- data --- */

static void write_model(const struct drawing *d, int first, FILE *out)
{
    struct ftc_gossip_fit fit;

    if (!has_model(d, first, &fit))
        return;
    fprintf(out, "$model%d << EOD\n", first);
    for (int i = next_of_curve(d, first, first); i >= 0; i = next_of_curve(d, first, i + 1)) {
        const struct ftc_neighbourhood *h = &d->table->row[i].run.gossip.neighbourhood;
        fprintf(out, "%d %.6g\n", h->ranks, relative(d, i, ftc_gossip_model(&fit, h)));
    }
    fputs("EOD\n", out);
}

static int count_curves(const struct drawing *d)
{
    int curves = 0;

    for (int i = 0; i < d->table->rows; i++)
        curves += begins_curve(d, i);
    return curves;
}

/* The boxes of the curves stand beside each other. */
static void write_boxes(const struct drawing *d, int first, int curve, int curves, FILE *out)
{
    double at = 0.8 * (curve + 0.5) / curves - 0.4;

    for (int i = next_of_curve(d, first, first); i >= 0; i = next_of_curve(d, first, i + 1)) {
        const struct ftc_gossip_row *row = &d->table->row[i];
        fprintf(out, "%.4g %.6g %.6g %.6g %.6g %.6g\n", at++, row->low, row->quartile[0],
                row->quartile[1], row->quartile[2], row->high);
    }
}

static void write_data(const struct drawing *d, FILE *out)
{
    int curve = 0, curves = count_curves(d);

    for (int i = 0; i < d->table->rows; i++) {
        if (!begins_curve(d, i))
            continue;
        fprintf(out, "$curve%d << EOD\n", i);
        if (d->figure == FTC_GOSSIP_FIGURE_BOXES) {
            write_boxes(d, i, curve++, curves, out);
        } else {
            for (int j = next_of_curve(d, i, i); j >= 0; j = next_of_curve(d, i, j + 1))
                fprintf(out, "%.6g %.6g\n", ftc_gossip_place(&d->table->row[j], d->axis),
                        shown(d, j));
        }
        fputs("EOD\n", out);
        write_model(d, i, out);
    }
}

/* --- axes --- */

static void write_x_axis(const struct drawing *d, FILE *out)
{
    static const char *const labels[FTC_GOSSIP_AXES_COUNT] = {
        "flipped bits of a run", "flipped bit", "messages lost (%)", "accuracy aimed at", "ranks"};
    int at = 0;

    fprintf(out, "set xlabel '%s'\n", labels[d->axis]);
    if (d->figure == FTC_GOSSIP_FIGURE_BOXES) {
        fputs("set xtics ()\n", out);
        for (int i = next_of_curve(d, 0, 0); i >= 0; i = next_of_curve(d, 0, i + 1))
            fprintf(out, "set xtics add ('%g' %d)\n", ftc_gossip_place(&d->table->row[i], d->axis),
                    at++);
        fprintf(out, "set xrange [-0.6:%g]\n", at - 0.4);
        return;
    }
    fputs("set autoscale xfix\n", out);
    if (d->axis == FTC_GOSSIP_AXIS_RANKS)
        fputs("set logscale x 2\nset format x '2^{%L}'\n", out);
    if (d->axis == FTC_GOSSIP_AXIS_ACCURACY)
        fputs("set logscale x 10\nset format x '10^{%L}'\nset xrange [] reverse\n", out);
}

static bool is_wide(const struct drawing *d)
{
    double least = INFINITY, most = 0;

    for (int i = 0; i < d->table->rows; i++) {
        if (d->table->row[i].repeat == 0)
            continue;
        least = fmin(least, shown(d, i));
        most = fmax(most, shown(d, i));
    }
    return least > 0 && most > WIDE * least;
}

static void write_y_axis(const struct drawing *d, FILE *out)
{
    static const char *const bases[] = {"", ", relative to the first point", ", relative to ",
                                        ", relative to the other table"};
    const struct ftc_gossip_relative *r = d->relative;

    if (d->figure == FTC_GOSSIP_FIGURE_ERROR) {
        fputs("set logscale y 10\nset format y '10^{%L}'\nset ylabel 'greatest relative error'\n",
              out);
        return;
    }
    fprintf(out, "set ylabel '%s%s%s'\n",
            d->figure == FTC_GOSSIP_FIGURE_TIME
                ? (r->kind == FTC_GOSSIP_ABSOLUTE ? "time, in units of cost" : "time")
            : r->kind == FTC_GOSSIP_ABSOLUTE ? "messages of a rank, at most"
                                             : "messages",
            d->figure != FTC_GOSSIP_FIGURE_BOXES ? bases[r->kind] : "",
            r->kind == FTC_GOSSIP_TO_ALGORITHM ? r->algorithm : "");
    if (d->figure != FTC_GOSSIP_FIGURE_BOXES)
        fputs(is_wide(d) ? "set logscale y 10\n" : "set yrange [0:]\n", out);
}

/* --- curves --- */

/* Each curve has its own dashes, so that curves that lie on each other stay visible. A curve with a
 * model is points, and its model the line. */
static void write_curve(const struct drawing *d, int first, int curve, const char *name, FILE *out)
{
    struct ftc_gossip_fit fit;
    int colour = curve + 1, dashes = curve % 5 + 1;

    if (d->figure == FTC_GOSSIP_FIGURE_BOXES)
        fprintf(
            out,
            "$curve%d using 1:3:2:6:5 with candlesticks whiskerbars 0.5 lt %d lw 1.5 title '%s', "
            "$curve%d using 1:4:4:4:4 with candlesticks lt %d lw 3 notitle",
            first, colour, name, first, colour);
    else if (has_model(d, first, &fit))
        fprintf(out,
                "$curve%d using 1:2 with points lt %d pt %d title '%s', "
                "$model%d using 1:2 with lines lt %d lw 2 dt %d notitle",
                first, colour, 2 * colour + 3, name, first, colour, dashes);
    else
        fprintf(out, "$curve%d using 1:2 with lines lt %d lw 2 dt %d title '%s'", first, colour,
                dashes, name);
}

static void write_script(const void *data, FILE *out)
{
    const struct drawing *d = data;
    const char *separator = "plot ";
    char name[FTC_GOSSIP_CURVE];
    int curve = 0;

    write_data(d, out);
    write_x_axis(d, out);
    write_y_axis(d, out);
    fprintf(out, "set boxwidth %g\nset key outside below center horizontal\n",
            0.6 / count_curves(d));
    for (int i = 0; i < d->table->rows; i++) {
        if (!begins_curve(d, i))
            continue;
        ftc_gossip_curve_name(d->table, &d->table->row[i], false, name);
        fputs(separator, out);
        write_curve(d, i, curve++, name, out);
        separator = ", \\\n    ";
    }
    /* the source's lower bound of what loss costs */
    if (d->axis == FTC_GOSSIP_AXIS_LOSS && d->relative->kind == FTC_GOSSIP_TO_FIRST &&
        d->figure == FTC_GOSSIP_FIGURE_MESSAGES)
        fputs(", \\\n    1 / (1 - x / 100) with lines lc rgb '#606060' lw 1 title '1 / (1 - p)'",
              out);
    fputc('\n', out);
}

int ftc_gossip_plot(const struct ftc_gossip_table *table, enum ftc_gossip_figure figure,
                    const struct ftc_gossip_relative *relative, bool fit, const char *path)
{
    const struct drawing d = {table, figure, ftc_gossip_find_axis(table), relative, fit};
    const struct ftc_gnuplot svg = {path, WIDTH, HEIGHT, write_script, &d};
    char problem[FTC_GNUPLOT_PROBLEM];

    if (figure == FTC_GOSSIP_FIGURE_HISTORY || figure == FTC_GOSSIP_FIGURE_FLOWS)
        return ftc_gossip_history_plot(table, figure == FTC_GOSSIP_FIGURE_FLOWS, path);
    int rc = ftc_gnuplot_draw(&svg, problem);
    return rc != 0 ? ftc_error_set(rc, "%s", problem) : 0;
}
