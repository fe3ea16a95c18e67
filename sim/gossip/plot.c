/* Figures of gossip aggregation. */
#include "sim/gossip/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/gnuplot.h"

#define WIDTH       760
#define HEIGHT      420
#define SAMPLES     4096
#define LEAST_ERROR 1e-17 /* an exact result is drawn here */
#define MOST_ERROR  1e20  /* a larger or not finite result is drawn here */

enum axis { AXIS_BITS, AXIS_LOSS, AXIS_ACCURACY, AXIS_RANKS, AXES };

struct series {
    struct ftc_gossip_sample *sample;
    int samples;
};

struct drawing {
    const struct ftc_gossip_table *table;
    enum ftc_gossip_figure figure;
    enum axis axis;
    struct series *series; /* series of each row, for histories */
};

/* --- what varies --- */

static double place_of(const struct ftc_gossip_row *row, enum axis axis)
{
    switch (axis) {
    case AXIS_BITS:
        return row->bit;
    case AXIS_LOSS:
        return row->run.loss * 100;
    case AXIS_ACCURACY:
        return row->run.gossip.accuracy;
    default:
        return row->run.gossip.neighbourhood.ranks;
    }
}

static bool varies(const struct ftc_gossip_table *table, enum axis axis)
{
    for (int i = 1; i < table->rows; i++)
        if (place_of(&table->row[i], axis) != place_of(&table->row[0], axis))
            return true;
    return false;
}

static enum axis find_axis(const struct ftc_gossip_table *table)
{
    for (int axis = 0; axis < AXES; axis++)
        if (varies(table, (enum axis)axis))
            return (enum axis)axis;
    return AXIS_RANKS;
}

static bool same_but_axis(const struct drawing *d, int i, int j)
{
    const struct ftc_gossip_row *a = &d->table->row[i], *b = &d->table->row[j];
    const struct ftc_gossip_settings *x = &a->run.gossip, *y = &b->run.gossip;

    if (strcmp(ftc_gossip_run_name(&a->run), ftc_gossip_run_name(&b->run)) != 0 ||
        x->neighbourhood.kind != y->neighbourhood.kind || x->turns != y->turns)
        return false;
    for (int axis = 0; axis < AXES; axis++)
        if (axis != (int)d->axis && place_of(a, (enum axis)axis) != place_of(b, (enum axis)axis))
            return false;
    return true;
}

static bool is_history(enum ftc_gossip_figure figure)
{
    return figure == FTC_GOSSIP_FIGURE_HISTORY || figure == FTC_GOSSIP_FIGURE_FLOWS;
}

/* Does a curve begin with row i? In a history each row is a curve. A deterministic algorithm has no
 * curve there: it gives no result before it ends. */
static bool begins_curve(const struct drawing *d, int i)
{
    if (is_history(d->figure))
        return !d->table->row[i].run.deterministic;
    for (int j = 0; j < i; j++)
        if (same_but_axis(d, i, j))
            return false;
    return true;
}

static void append(char name[FTC_GOSSIP_CURVE], const char *text)
{
    size_t used = strlen(name);
    snprintf(name + used, FTC_GOSSIP_CURVE - used, "%s%s", used > 0 ? ", " : "", text);
}

static void append_place(char name[FTC_GOSSIP_CURVE], const struct ftc_gossip_row *row,
                         enum axis axis)
{
    static const char *const formats[AXES] = {"bit %g", "%g %% lost", "accuracy %g", "%g ranks"};
    char text[48];

    snprintf(text, sizeof(text), formats[axis], place_of(row, axis)); // NOLINT(*-nonliteral)
    append(name, text);
}

void ftc_gossip_curve_name(const struct ftc_gossip_table *table, const struct ftc_gossip_row *row,
                           char name[FTC_GOSSIP_CURVE])
{
    const struct ftc_gossip_settings *mine = &row->run.gossip;
    enum axis axis = find_axis(table);
    bool neighbourhoods = false, turns = false;

    name[0] = '\0';
    for (int i = 0; i < table->rows; i++) {
        const struct ftc_gossip_settings *other = &table->row[i].run.gossip;
        neighbourhoods |= mine->neighbourhood.kind != other->neighbourhood.kind;
        turns |= mine->turns != other->turns && !row->run.deterministic &&
                 mine->algorithm == other->algorithm;
    }
    append(name, ftc_gossip_run_name(&row->run));
    if (neighbourhoods && !row->run.deterministic)
        append(name, ftc_neighbourhood_name(mine->neighbourhood.kind));
    if (turns)
        append(name, mine->turns ? "in turns" : "free");
    for (int other = 0; other < AXES; other++)
        if (other != (int)axis && varies(table, (enum axis)other))
            append_place(name, row, (enum axis)other);
}

/* --- histories --- */

static int sample_row(const struct ftc_gossip_row *row, struct series *series)
{
    struct ftc_gossip_run run = row->run;
    struct ftc_gossip_outcome outcome;

    series->sample = calloc(SAMPLES, sizeof(*series->sample));
    if (series->sample == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for the samples of a run");
    run.sample = series->sample;
    run.sample_room = SAMPLES;
    int rc = ftc_gossip_run(&run, &outcome);
    series->samples = rc == 0 ? outcome.samples : 0;
    return rc;
}

/* --- the script --- */

static double shown(const struct drawing *d, const struct ftc_gossip_row *row)
{
    return d->figure == FTC_GOSSIP_FIGURE_MESSAGES ? row->most : row->error;
}

static double drawable(double error)
{
    return isfinite(error) ? fmin(fmax(error, LEAST_ERROR), MOST_ERROR) : MOST_ERROR;
}

static void write_samples(const struct drawing *d, int i, FILE *out)
{
    for (int s = 0; s < d->series[i].samples; s++) {
        const struct ftc_gossip_sample *sample = &d->series[i].sample[s];
        double value = d->figure == FTC_GOSSIP_FIGURE_FLOWS ? sample->flow : sample->error;
        fprintf(out, "%llu %.6g\n", (unsigned long long)sample->most, drawable(value));
    }
}

static void write_data(const struct drawing *d, FILE *out)
{
    for (int i = 0; i < d->table->rows; i++) {
        bool history = is_history(d->figure);
        if (!begins_curve(d, i))
            continue;
        fprintf(out, "$curve%d << EOD\n", i);
        if (history)
            write_samples(d, i, out);
        for (int j = i; j < d->table->rows && !history; j++)
            if (same_but_axis(d, i, j))
                fprintf(out, "%.6g %.6g\n", place_of(&d->table->row[j], d->axis),
                        d->figure == FTC_GOSSIP_FIGURE_ERROR ? drawable(shown(d, &d->table->row[j]))
                                                             : shown(d, &d->table->row[j]));
        fputs("EOD\n", out);
    }
}

static void write_axes(const struct drawing *d, FILE *out)
{
    static const char *const labels[AXES] = {"flipped bit", "messages lost (%)",
                                             "accuracy aimed at", "ranks"};

    if (is_history(d->figure))
        fputs("set xlabel 'messages sent by the rank that sent most'\n", out);
    else
        fprintf(out, "set xlabel '%s'\n", labels[d->axis]);
    if (!is_history(d->figure) && d->axis == AXIS_RANKS)
        fputs("set logscale x 2\nset format x '2^{%L}'\n", out);
    if (!is_history(d->figure) && d->axis == AXIS_ACCURACY)
        fputs("set logscale x 10\nset format x '10^{%L}'\nset xrange [] reverse\n", out);
    if (d->figure == FTC_GOSSIP_FIGURE_MESSAGES) {
        fputs("set ylabel 'messages of a rank, at most'\nset yrange [0:]\n", out);
        return;
    }
    fprintf(out, "set logscale y 10\nset format y '10^{%%L}'\nset ylabel '%s'\n",
            d->figure == FTC_GOSSIP_FIGURE_FLOWS ? "greatest entry of a flow"
                                                 : "greatest relative error");
}

static void write_script(const void *data, FILE *out)
{
    const struct drawing *d = data;
    const char *separator = "plot";
    char name[FTC_GOSSIP_CURVE];
    int curve = 0;

    write_data(d, out);
    write_axes(d, out);
    fputs("set key outside below center horizontal\nset autoscale xfix\n", out);
    for (int i = 0; i < d->table->rows; i++) {
        if (!begins_curve(d, i))
            continue;
        ftc_gossip_curve_name(d->table, &d->table->row[i], name);
        if (is_history(d->figure) && varies(d->table, d->axis))
            append_place(name, &d->table->row[i], d->axis);
        /* each curve has its own dashes, so that curves that lie on each other stay visible */
        fprintf(out, "%s $curve%d using 1:2 with lines lt %d lw 2 dt %d title '%s'", separator, i,
                curve + 1, curve % 5 + 1, name);
        separator = ", \\\n    ";
        curve++;
    }
    fputc('\n', out);
}

int ftc_gossip_plot(const struct ftc_gossip_table *table, enum ftc_gossip_figure figure,
                    const char *path)
{
    struct drawing d = {.table = table, .figure = figure, .axis = find_axis(table)};
    const struct ftc_gnuplot svg = {path, WIDTH, HEIGHT, write_script, &d};
    char problem[FTC_GNUPLOT_PROBLEM];
    int rc = 0;

    d.series = calloc((size_t)table->rows, sizeof(*d.series));
    if (d.series == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a figure");
    for (int i = 0; i < table->rows && rc == 0 && is_history(figure); i++)
        rc = sample_row(&table->row[i], &d.series[i]);
    if (rc == 0 && (rc = ftc_gnuplot_draw(&svg, problem)) != 0)
        ftc_error_set(rc, "%s", problem);
    for (int i = 0; i < table->rows; i++)
        free(d.series[i].sample);
    free(d.series);
    return rc;
}
