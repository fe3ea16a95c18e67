/* Shows progress on standard error. */
#include "sim/progress.h"

#include <unistd.h>

#include "base/clock.h"

#define BAR_WIDTH       30
#define REDRAW_NS       (200 * FTC_NS_PER_MS)
#define LINE_NS         (5 * FTC_NS_PER_S)
#define SECONDS_FOREVER 359999.0 /* 99:59:59 */

struct ftc_progress ftc_progress_start(FILE *out, const char *unit, uint64_t total)
{
    uint64_t now = ftc_clock_now();
    return (struct ftc_progress){.out = out,
                                 .unit = unit,
                                 .terminal = isatty(fileno(out)) == 1,
                                 .total = total,
                                 .started = now,
                                 .last = now};
}

double ftc_progress_seconds(const struct ftc_progress *progress)
{
    return (double)(ftc_clock_now() - progress->started) / (double)FTC_NS_PER_S;
}

static void print_bar(const struct ftc_progress *p, uint64_t done)
{
    int filled = p->total == 0 || done >= p->total ? BAR_WIDTH : (int)(BAR_WIDTH * done / p->total);

    fputs("\r[", p->out);
    for (int i = 0; i < BAR_WIDTH; i++)
        fputc(i < filled ? '#' : '.', p->out);
    fputs("] ", p->out);
}

static void print_eta(const struct ftc_progress *p, uint64_t done, double rate)
{
    double left = done < p->total ? (double)(p->total - done) / rate : 0;
    unsigned seconds = (unsigned)(left < SECONDS_FOREVER ? left : SECONDS_FOREVER);

    fprintf(p->out, ", %u:%02u:%02u left", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

void ftc_progress_show(struct ftc_progress *progress, uint64_t done, const char *more)
{
    uint64_t now = ftc_clock_now();

    if (now - progress->last < (progress->terminal ? REDRAW_NS : LINE_NS))
        return;
    progress->last = now;
    double rate = (double)done / ftc_progress_seconds(progress);
    if (progress->terminal)
        print_bar(progress, done);
    fprintf(progress->out, "%llu", (unsigned long long)done);
    if (progress->total > 0)
        fprintf(progress->out, " of %llu", (unsigned long long)progress->total);
    fprintf(progress->out, " %s, %.0f/s", progress->unit, rate);
    if (more[0] != '\0')
        fprintf(progress->out, ", %s", more);
    if (progress->total > 0 && done > 0)
        print_eta(progress, done, rate);
    fputs(progress->terminal ? "\033[K" : "\n", progress->out);
    fflush(progress->out);
    progress->shown = progress->terminal;
}

void ftc_progress_end(struct ftc_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", progress->out);
    progress->shown = false;
    fflush(progress->out);
}
