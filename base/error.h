/* Errors. The codes are those of ftcoll.h. The text of the last error is in a thread-local
 * buffer. */
#ifndef FTC_BASE_ERROR_H
#define FTC_BASE_ERROR_H

#include "include/ftcoll.h"

/* Store the text as this thread's last error and return `code`, so that a function can write
 * `return ftc_error_set(FTC_ERR_ARG, "count %zu overflows", count);`. The function that finds the
 * error calls this, with cause and remedy in the text; its callers only pass the code on. `%m` puts
 * in the text of a system error. */
int ftc_error_set(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Put context before the last error: "while attaching to job 7: <older text>". Returns `code`. */
int ftc_error_wrap(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
