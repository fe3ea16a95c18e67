/* Help texts that fit a terminal of 80 columns. */
#ifndef FTC_BASE_WRAP_H
#define FTC_BASE_WRAP_H

#include <stdio.h>

#define FTC_WRAP_COLUMNS 80

/* Writes what print(arg, ...) prints, in lines of at most 80 columns. A line goes on below the text
 * that comes after its first gap of two blanks, and if it has no gap, below its beginning. No line
 * goes on with a word that begins with "-", as options do. Without memory nothing is wrapped. */
typedef void ftc_wrap_fn(const void *arg, FILE *out);
void ftc_wrap(ftc_wrap_fn *print, const void *arg, FILE *out);

#endif
