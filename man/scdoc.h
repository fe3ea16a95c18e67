/* The language of the pages' sources, scdoc: texts and lists of options and settings in it. */
#ifndef FTC_MAN_SCDOC_H
#define FTC_MAN_SCDOC_H

#include <stdbool.h>
#include <stdio.h>

#include "base/option.h"
#include "config/config.h"

/* Plain text, so that nothing in it is taken for markup. */
void ftc_scdoc_text(const char *text, FILE *out);
/* In bold. */
void ftc_scdoc_bold(const char *text, FILE *out);
/* Lines of a text; those that begin with a blank are a list, what stands behind two more blanks
 * belongs to it. */
void ftc_scdoc_lines(const char *lines, FILE *out);
/* Commands, a line for each, as literal text; long ones are broken as a shell takes it. */
void ftc_scdoc_commands(const char *lines, FILE *out);

/* An entry of a list. `single` is the long option that takes one dash; NULL: none. */
void ftc_scdoc_option(const struct ftc_option_text *option, const char *single, FILE *out);
/* All settings, a heading for each section. */
void ftc_scdoc_keys(FILE *out);

#endif
