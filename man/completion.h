/* The tables of the completion in bash; man/completion.bash uses them. */
#ifndef FTC_MAN_COMPLETION_H
#define FTC_MAN_COMPLETION_H

#include <stdio.h>

void ftc_completion_print(FILE *out);

#endif
