/* Errors: codes are those of ftcoll.h; the words live in a thread-local buffer. */
#ifndef FTC_BASE_ERROR_H
#define FTC_BASE_ERROR_H

#include "include/ftcoll.h"

/* Remember `format` as this thread's last error and return `code`, so that callers write `return
 * ftc_error_set(FTC_ERR_ARG, "count %zu overflows", count);`. Whoever decides that something is an
 * error calls it, with cause and remedy; callers pass the code on. A system error's text goes in by
 * %m. */
int ftc_error_set(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prepend context to the last error: "while attaching to job 7: <what was there>". Returns
 * `code`. */
int ftc_error_wrap(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
