/*
 * Figures as SVG by gnuplot: what ftcoll-sim and ftcoll-perf share, the look among it. The words of
 * an error go to `problem`, not to base/error.h: a program on libftcoll has the library's
 * ftc_last_error() and must not bring another.
 */
#ifndef FTC_BASE_GNUPLOT_H
#define FTC_BASE_GNUPLOT_H

#include <stdio.h>

#define FTC_GNUPLOT_PROBLEM 512

/* Before the work: is gnuplot to be found, and can the file be made? Else FTC_ERR_UNSUPPORTED or
 * FTC_ERR_SYSTEM, with cause and remedy in `problem`. Leaves no file behind that was not there. */
int ftc_gnuplot_check(const char *path, char problem[FTC_GNUPLOT_PROBLEM]);

struct ftc_gnuplot {
    const char *path;
    int width, height; /* pixels */
    /* Data and plot commands: terminal, output and style are set. */
    void (*write_script)(const void *data, FILE *out);
    const void *data;
};

/* FTC_ERR_SYSTEM if gnuplot fails or leaves the file incomplete; `problem` says so. */
int ftc_gnuplot_draw(const struct ftc_gnuplot *figure, char problem[FTC_GNUPLOT_PROBLEM]);

#endif
