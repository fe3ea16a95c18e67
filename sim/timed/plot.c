/* A figure of a sweep: the script and its data go to gnuplot's standard input. */
#include "sim/timed/plot.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

#define PANEL_WIDTH  460
#define PANEL_HEIGHT 330
#define KEY_HEIGHT   70

int ftc_plot_check(const char *path)
{
    if (system("command -v gnuplot >/dev/null 2>&1") != 0)
        return ftc_error_set(FTC_ERR_UNSUPPORTED,
                             "--plot needs gnuplot, which is not installed; install it (Debian: "
                             "gnuplot-nox) or leave out --plot");
    FILE *out = fopen(path, "a"); /* gnuplot would draw to standard output, into the table */
    if (out == NULL)
        return ftc_error_set(FTC_ERR_SYSTEM, "--plot %s: %m; give a file that can be written", path);
    fclose(out);
    struct stat file;
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == 0)
        unlink(path); /* nothing is left behind if the sweep fails */
    return 0;
}

/* --- what is in the sweep --- */

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

/* ns, 0: there is none to show */
static uint64_t shown(const struct ftc_sweep_row *row)
{
    return row->operation->kind == FTC_CALL_REDUCE ? row->root_latency : row->latency;
}

/* --- the script --- */

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

static void write_style(const struct ftc_sweep *sweep, int columns, int lines, const char *path, FILE *out)
{
    struct range range = range_of(sweep);

    fprintf(out, "set terminal svg size %d,%d dynamic font 'Helvetica,13' background rgb 'white'\n",
            columns * PANEL_WIDTH, lines * PANEL_HEIGHT + KEY_HEIGHT);
    fputs("set output ", out);
    write_quoted(path, out);
    /* Okabe and Ito's colours, which the colour-blind can tell apart. */
    fputs(
        "\nset linetype 1 lc rgb '#0072B2'\nset linetype 2 lc rgb '#D55E00'\nset linetype 3 lc rgb "
        "'#009E73'\n"
        "set linetype 4 lc rgb '#CC79A7'\nset linetype 5 lc rgb '#E69F00'\nset linetype 6 lc rgb '#56B4E9'\n"
        "set linetype 7 lc rgb '#000000'\nset linetype cycle 7\n"
        "set border 3 lc rgb '#606060'\nset grid xtics ytics lc rgb '#e4e4e4' lt 1 lw 1\nset tics nomirror\n"
        "set logscale x 2\nset logscale y 10\nset format x '2^{%L}'\nset format y '%.0s %cs'\nset mytics 1\n",
        out);
    fprintf(out, "set xrange [%g:%g]\nset yrange [%g:%g]\n", range.n[0] / 1.05, range.n[1] * 1.05,
            range.us[0] / 1e6 / 1.5, range.us[1] / 1e6 * 1.5);
    fprintf(out, "set multiplot layout %d,%d columnsfirst margins screen %g,%g,%g,%g spacing screen %g,%g\n",
            lines, columns, 0.09 * 2 / (columns + 1), 0.985,
            1.0 - (lines * PANEL_HEIGHT - 30.0) / (lines * PANEL_HEIGHT + KEY_HEIGHT), 0.94, 0.07, 0.11);
}

static void write_panel(const struct ftc_sweep *sweep, int first, bool bottom, FILE *out)
{
    const struct ftc_sweep_row *panel = &sweep->row[first];
    const char *separator = "plot";

    fprintf(out, "set title '{/:Bold %s}, %s: latency%s' offset 0,-0.6\nset xlabel '%s'\n",
            ftc_call_kind_name(panel->operation->kind), panel->cost->name,
            panel->operation->kind == FTC_CALL_REDUCE ? " at the root" : "", bottom ? "ranks" : "");
    for (int i = first; i < sweep->rows; i++) {
        const struct ftc_sweep_row *row = &sweep->row[i];
        if (!same_panel(panel, row) || !is_first(sweep, i, same_curve))
            continue;
        fprintf(out, "%s $curve%d using 1:($2*1e-6) with lines lt %d lw 2 dt %s notitle", separator, i,
                row->f % 7 + 1, row->kills > 0 ? "'-'" : "1");
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

/* One key for all panels, in a plot of its own that shows nothing else. */
static void write_key(const struct ftc_sweep *sweep, int lines, FILE *out)
{
    double top = (double)KEY_HEIGHT / (lines * PANEL_HEIGHT + KEY_HEIGHT);
    bool deaths = false;

    fprintf(out,
            "set lmargin at screen 0.02\nset rmargin at screen 0.98\nset bmargin at screen 0.01\nset tmargin "
            "at screen %g\n"
            "unset title\nunset xlabel\nunset ylabel\nunset border\nunset tics\nunset grid\nunset logscale\n"
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

/* gnuplot does not say that the disk is full. */
static bool is_whole(const char *path)
{
    static const char end[] = "</svg>";
    char tail[64] = {0};
    FILE *in = fopen(path, "r");

    if (in == NULL)
        return false;
    bool seekable = fseek(in, -(long)sizeof(tail) + 1, SEEK_END) == 0;
    size_t size = seekable ? fread(tail, 1, sizeof(tail) - 1, in) : 0;
    fclose(in);
    return !seekable || memmem(tail, size, end, sizeof(end) - 1) != NULL;
}

static int draw(const struct ftc_sweep *sweep, const char *path)
{
    FILE *out = popen("gnuplot -", "w");
    int lines = count(sweep, same_operation);

    if (out == NULL)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot run gnuplot: %m");
    write_data(sweep, out);
    write_style(sweep, count(sweep, same_cost), lines, path, out);
    write_panels(sweep, out);
    write_key(sweep, lines, out);
    int status = pclose(out);
    if (status != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "gnuplot could not make %s (status %d); what it said is above",
                             path, WIFEXITED(status) ? WEXITSTATUS(status) : status);
    if (!is_whole(path))
        return ftc_error_set(FTC_ERR_SYSTEM, "%s is not complete; is the disk full?", path);
    return 0;
}

int ftc_plot(const struct ftc_sweep *sweep, const char *path)
{
    bool any = false;
    for (int i = 0; i < sweep->rows; i++)
        any = any || shown(&sweep->row[i]) > 0;
    if (!any)
        return ftc_error_set(FTC_ERR_ARG,
                             "there is nothing to draw: no root survived; try --kill-kind others");
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* of a gnuplot that ends early */
    int rc = draw(sweep, path);
    signal(SIGPIPE, before);
    return rc;
}
