/* The tables of the bash completion. man/completion.bash uses them. */
#ifndef FTC_MAN_COMPLETION_H
#define FTC_MAN_COMPLETION_H

#include <stdio.h>

void ftc_completion_print(FILE *out);

#endif
