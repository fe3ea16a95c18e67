/* The first promise that was found broken. */
#include <stdarg.h>
#include <stdio.h>

#include "sim/explore/state.h"

void ftc_explore_violate(struct ftc_exploration *x, const char *format, ...)
{
    va_list arguments;

    if (x->violation[0] != '\0')
        return; /* the first violation is the cause of later ones */
    va_start(arguments, format);
    vsnprintf(x->violation, sizeof(x->violation), format, arguments);
    va_end(arguments);
}
