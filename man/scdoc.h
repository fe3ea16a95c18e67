/* Prints texts, lists of options and lists of settings in scdoc, the language of the pages. */
#ifndef FTC_MAN_SCDOC_H
#define FTC_MAN_SCDOC_H

#include <stdbool.h>
#include <stdio.h>

#include "base/option.h"
#include "config/config.h"

/* Print plain text, escaped so that nothing in it is taken for markup. */
void ftc_scdoc_text(const char *text, FILE *out);
/* Print the same in bold. */
void ftc_scdoc_bold(const char *text, FILE *out);
/* Print the lines of a text. Lines that begin with a blank are items of a list: a name, and behind
 * two more blanks its description. */
void ftc_scdoc_lines(const char *lines, FILE *out);
/* Print commands, one on each line, as literal text. A long command is broken by a backslash. */
void ftc_scdoc_commands(const char *lines, FILE *out);

/* Print an option as an entry of a list. `single` is the long option that takes one dash, or NULL
 * for none. */
void ftc_scdoc_option(const struct ftc_option_text *option, const char *single, FILE *out);
/* Print all settings, with a heading for each section. */
void ftc_scdoc_keys(FILE *out);

#endif
