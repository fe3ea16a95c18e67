/* The programs with the options of their own tables. */
#ifndef FTC_MAN_PROGRAMS_H
#define FTC_MAN_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/option.h"
#include "config/config.h"

struct ftc_man_program {
    const char *name;
    /* Give the i-th option. Returns false if there is none. ftcoll-sim has the options of `run`. */
    bool (*option)(int i, struct ftc_option_text *text);
    const char *single; /* the long option that takes one dash; NULL: none */
};
extern const struct ftc_man_program ftc_man_programs[]; /* ends with a NULL name */

/* Give the i-th option of the n-th command of ftcoll-sim. Its own options come before the common
 * ones. Returns false if there is none. */
bool ftc_man_sim_option(int n, int i, struct ftc_option_text *text);

/* Find the key "section.key" of the schema; `name` may also be the alias. */
const struct ftc_config_key *ftc_man_key(const char *name);

#endif
