/* Operators of the program. */
#ifndef FTC_RUNTIME_API_USER_OPERATOR_H
#define FTC_RUNTIME_API_USER_OPERATOR_H

#include <stdbool.h>

/* Does this thread run the function of an operator? Then it may hold the lock of the process, so it
 * must not call the library. */
bool ftc_user_operator_runs(void);

#endif
