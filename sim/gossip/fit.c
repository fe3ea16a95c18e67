/* Fits the cost model of Wimmer 2016, equation 5.2, to a table. */
#include <math.h>
#include <string.h>

#include "sim/gossip/table.h"

struct points {
    const struct ftc_gossip_table *table;
    int first;
};

bool ftc_gossip_same_curve(const struct ftc_gossip_row *a, const struct ftc_gossip_row *b)
{
    const struct ftc_gossip_settings *x = &a->run.gossip, *y = &b->run.gossip;

    return strcmp(ftc_gossip_run_name(&a->run), ftc_gossip_run_name(&b->run)) == 0 &&
           x->neighbourhood.kind == y->neighbourhood.kind && x->turns == y->turns &&
           x->accuracy == y->accuracy && a->run.loss == b->run.loss &&
           a->run.lost_sends == b->run.lost_sends && a->bit == b->bit &&
           a->flips_wanted == b->flips_wanted;
}

bool ftc_gossip_is_regular(const struct ftc_neighbourhood *neighbourhood)
{
    return ftc_neighbourhood_gap(neighbourhood) > 0 &&
           (neighbourhood->kind != FTC_NEIGHBOURHOOD_TORUS ||
            neighbourhood->side[0] == neighbourhood->side[2]);
}

static bool in_fit(const struct points *points, const struct ftc_gossip_row *row)
{
    return ftc_gossip_same_curve(&points->table->row[points->first], row) &&
           row->converged == row->repeat;
}

static double base_of(const struct ftc_neighbourhood *h, double b)
{
    return log2(h->ranks + b) / ftc_neighbourhood_gap(h);
}

double ftc_gossip_model(const struct ftc_gossip_fit *fit, const struct ftc_neighbourhood *of)
{
    return fit->a * base_of(of, fit->b) + fit->c;
}

/* Least squares of y = a x + c with x = log2(n + b) / gap. Returns the sum of squared residuals. */
static double fit_line(const struct points *points, double b, struct ftc_gossip_fit *fit)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;

    for (int i = points->first; i < points->table->rows; i++) {
        const struct ftc_gossip_row *row = &points->table->row[i];
        if (!in_fit(points, row))
            continue;
        double x = base_of(&row->run.gossip.neighbourhood, b), y = row->most;
        n++;
        sx += x, sy += y, sxx += x * x, sxy += x * y, syy += y * y;
    }
    double spread = n * sxx - sx * sx, total = syy - sy * sy / n;
    fit->points = (int)n;
    fit->b = b;
    fit->a = spread > 0 ? (n * sxy - sx * sy) / spread : 0;
    fit->c = (sy - fit->a * sx) / n;
    double residual = syy - fit->a * sxy - fit->c * sy;
    fit->r_squared = total > 0 ? 1 - residual / total : 0;
    return residual;
}

static int least_ranks(const struct points *points)
{
    int least = 1 << 30;

    for (int i = points->first; i < points->table->rows; i++) {
        const struct ftc_gossip_row *row = &points->table->row[i];
        if (in_fit(points, row) && row->run.gossip.neighbourhood.ranks < least)
            least = row->run.gossip.neighbourhood.ranks;
    }
    return least;
}

bool ftc_gossip_fit(const struct ftc_gossip_table *table, int first, struct ftc_gossip_fit *fit)
{
    const struct points points = {table, first};
    struct ftc_gossip_fit tried;
    double best, least = least_ranks(&points);

    if (table->row[first].run.deterministic ||
        ftc_neighbourhood_gap(&table->row[first].run.gossip.neighbourhood) <= 0)
        return false;
    best = fit_line(&points, 0, fit);
    if (fit->points < 4)
        return false;
    /* b runs from just above -least to far beyond; n + b grows in steps of 2 % for the least number
     * of ranks */
    for (double shifted = least * 1e-3; shifted < least * 1e7; shifted *= 1.02) {
        double residual = fit_line(&points, shifted - least, &tried);
        if (residual < best) {
            best = residual;
            *fit = tried;
        }
    }
    return true;
}
