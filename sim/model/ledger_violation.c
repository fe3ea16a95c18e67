/* The first promise that was found broken. */
#include <stdarg.h>
#include <stdio.h>

#include "sim/model/ledger_record.h"

void ftc_ledger_violate(struct ftc_ledger *l, const char *format, ...)
{
    va_list arguments;

    if (ftc_ledger_broken(l))
        return; /* the first violation is the cause of later ones */
    va_start(arguments, format);
    vsnprintf(l->violation, sizeof(l->violation), format, arguments);
    va_end(arguments);
}

const char *ftc_ledger_violation(const struct ftc_ledger *l)
{
    return l->violation;
}
