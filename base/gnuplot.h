/*
 * SVG figures by gnuplot: the code and the style that ftcoll-sim and ftcoll-perf share. The text of
 * an error goes to `problem`, not to base/error.h, because a program that links with libftcoll has
 * the ftc_last_error() of the library and must not bring a second one.
 */
#ifndef FTC_BASE_GNUPLOT_H
#define FTC_BASE_GNUPLOT_H

#include <stdio.h>

#define FTC_GNUPLOT_PROBLEM 512

/* Call this before the work whose result is to be drawn. FTC_ERR_UNSUPPORTED: gnuplot is not
 * installed. FTC_ERR_SYSTEM: the file cannot be written. `problem` then has cause and remedy. A
 * file that did not exist before does not exist afterwards. */
int ftc_gnuplot_check(const char *path, char problem[FTC_GNUPLOT_PROBLEM]);

struct ftc_gnuplot {
    const char *path;
    int width, height; /* pixels */
    /* Writes data and plot commands. Terminal, output and style are already set. */
    void (*write_script)(const void *data, FILE *out);
    const void *data;
};

/* FTC_ERR_SYSTEM if gnuplot fails or leaves the file incomplete; `problem` says so. */
int ftc_gnuplot_draw(const struct ftc_gnuplot *figure, char problem[FTC_GNUPLOT_PROBLEM]);

#endif
