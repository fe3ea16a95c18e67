/* The programs and their options, as their own tables have them. */
#ifndef FTC_MAN_PROGRAMS_H
#define FTC_MAN_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/option.h"
#include "config/config.h"

struct ftc_man_program {
    const char *name;
    /* The i-th option; false: there is none. ftcoll-sim: those of `run`. */
    bool (*option)(int i, struct ftc_option_text *text);
    const char *single; /* the long option that takes one dash; NULL: none */
};
extern const struct ftc_man_program ftc_man_programs[]; /* ends with a NULL name */

/* The i-th option of the n-th command of ftcoll-sim, its own before the common ones; false: there
 * is none. */
bool ftc_man_sim_option(int n, int i, struct ftc_option_text *text);

/* Of "section.key", a key of the schema or the alias. */
const struct ftc_config_key *ftc_man_key(const char *name);

#endif
