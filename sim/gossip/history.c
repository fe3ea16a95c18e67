/* How runs of gossip aggregation go on. */
#include "sim/gossip/history.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/gnuplot.h"
#include "sim/gossip/curve.h"

#define WIDTH       760
#define HEIGHT      420
#define SAMPLES     4096
#define POINTS      60 /* of a curve: more are not seen, but no peak is left out */
#define LEAST_ERROR 1e-17
#define MOST_ERROR  1e20

struct series {
    struct ftc_gossip_sample *sample;
    double *link_flow;
    int samples, links;
};

struct drawing {
    const struct ftc_gossip_table *table;
    bool flows;
    struct series *series; /* of each row */
};

double ftc_gossip_drawable(double error)
{
    return isfinite(error) ? fmin(fmax(error, LEAST_ERROR), MOST_ERROR) : MOST_ERROR;
}

static int sample_row(const struct ftc_gossip_row *row, bool flows, struct series *series)
{
    struct ftc_gossip_run run = row->run;
    struct ftc_gossip_outcome outcome;
    int links = flows ? ftc_gossip_run_links(&run) : 0;

    series->links = links <= FTC_GOSSIP_LINKS_SHOWN ? links : 0;
    series->sample = calloc(SAMPLES, sizeof(*series->sample));
    series->link_flow = calloc((size_t)SAMPLES * (size_t)(series->links + 1), sizeof(double));
    if (series->sample == NULL || series->link_flow == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for the samples of a run");
    run.sample = series->sample;
    run.link_flow = series->links > 0 ? series->link_flow : NULL;
    run.sample_room = SAMPLES;
    int rc = ftc_gossip_run(&run, &outcome);
    series->samples = rc == 0 ? outcome.samples : 0;
    return rc;
}

static bool is_drawn(const struct drawing *d, int i)
{
    return !d->table->row[i].run.deterministic;
}

/* --- errors --- */

static void write_errors(const struct drawing *d, FILE *out)
{
    char name[FTC_GOSSIP_CURVE];
    const char *separator = "plot";
    int curve = 0;

    for (int i = 0; i < d->table->rows; i++) {
        if (!is_drawn(d, i))
            continue;
        fprintf(out, "$curve%d << EOD\n", i);
        for (int s = 0; s < d->series[i].samples; s++)
            fprintf(out, "%llu %.6g\n", (unsigned long long)d->series[i].sample[s].most,
                    ftc_gossip_drawable(d->series[i].sample[s].error));
        fputs("EOD\n", out);
    }
    fputs("set ylabel 'greatest relative error'\nset key outside below center horizontal\n", out);
    for (int i = 0; i < d->table->rows; i++) {
        if (!is_drawn(d, i))
            continue;
        ftc_gossip_curve_name(d->table, &d->table->row[i], true, name);
        fprintf(out, "%s $curve%d using 1:2 with lines lt %d lw 2 dt %d title '%s'", separator, i,
                curve + 1, curve % 5 + 1, name);
        separator = ", \\\n    ";
        curve++;
    }
    fputc('\n', out);
}

/* --- flows --- */

/* The flow of a link, or the greatest of all: the greatest of the samples from `first` to before
 * `end`. */
static double flow_of(const struct series *series, int first, int end, int link)
{
    double most = 0;

    for (int s = first; s < end && s < series->samples; s++)
        most = fmax(most, series->links > 0
                              ? series->link_flow[(size_t)s * (size_t)series->links + (size_t)link]
                              : series->sample[s].flow);
    return ftc_gossip_drawable(most);
}

static int curves_of(const struct series *series)
{
    return series->links > 0 ? series->links : 1;
}

static void write_flow_data(const struct series *series, int row, FILE *out)
{
    int each = series->samples / POINTS + 1;

    fprintf(out, "$flows%d << EOD\n", row);
    for (int s = 0; s < series->samples; s += each) {
        fprintf(out, "%llu", (unsigned long long)series->sample[s].most);
        for (int link = 0; link < curves_of(series); link++)
            fprintf(out, " %.4g", flow_of(series, s, s + each, link));
        fputc('\n', out);
    }
    fputs("EOD\n", out);
}

/* All panels have the same scale. */
static void write_scale(const struct drawing *d, FILE *out)
{
    double most = 1;
    uint64_t messages = 1;

    for (int i = 0; i < d->table->rows; i++) {
        for (int s = 0; is_drawn(d, i) && s < d->series[i].samples; s++) {
            const struct ftc_gossip_sample *sample = &d->series[i].sample[s];
            most = fmax(most, ftc_gossip_drawable(sample->flow));
            messages = sample->most > messages ? sample->most : messages;
        }
    }
    fprintf(out, "set xrange [0:%llu]\nset yrange [1e-3:%g]\n", (unsigned long long)messages,
            most * 10);
}

static void write_flows(const struct drawing *d, FILE *out)
{
    char name[FTC_GOSSIP_CURVE];
    int panels = 0, links = 0;

    for (int i = 0; i < d->table->rows; i++) {
        if (!is_drawn(d, i))
            continue;
        panels++;
        links = d->series[i].links;
        write_flow_data(&d->series[i], i, out);
    }
    fprintf(out, "set key off\nset xlabel 'messages'\nset ylabel '%s'\n",
            links > 0 ? "greatest entry of the flow of each link" : "greatest entry of a flow");
    write_scale(d, out);
    fprintf(out, "set multiplot layout 1,%d\n", panels > 0 ? panels : 1);
    for (int i = 0; i < d->table->rows; i++) {
        if (!is_drawn(d, i))
            continue;
        ftc_gossip_curve_name(d->table, &d->table->row[i], true, name);
        fprintf(out,
                "set title '%s'\nplot for [link=2:%d] $flows%d using 1:link with lines lw 1.5\n",
                name, curves_of(&d->series[i]) + 1, i);
        fputs("unset ylabel\n", out);
    }
    fputs("unset multiplot\n", out);
}

/* --- both --- */

static void write_script(const void *data, FILE *out)
{
    const struct drawing *d = data;

    fputs("set xlabel 'messages sent by the rank that sent most'\nset autoscale xfix\n"
          "set logscale y 10\nset format y '10^{%L}'\n",
          out);
    if (d->flows)
        write_flows(d, out);
    else
        write_errors(d, out);
}

int ftc_gossip_history_plot(const struct ftc_gossip_table *table, bool flows, const char *path)
{
    struct drawing d = {.table = table, .flows = flows};
    const struct ftc_gnuplot svg = {path, WIDTH, HEIGHT, write_script, &d};
    char problem[FTC_GNUPLOT_PROBLEM];
    int rc = 0;

    d.series = calloc((size_t)table->rows, sizeof(*d.series));
    if (d.series == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a figure");
    for (int i = 0; i < table->rows && rc == 0; i++)
        if (is_drawn(&d, i))
            rc = sample_row(&table->row[i], flows, &d.series[i]);
    if (rc == 0 && (rc = ftc_gnuplot_draw(&svg, problem)) != 0)
        ftc_error_set(rc, "%s", problem);
    for (int i = 0; i < table->rows; i++) {
        free(d.series[i].sample);
        free(d.series[i].link_flow);
    }
    free(d.series);
    return rc;
}
