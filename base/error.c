/* The texts of error codes, and the last error of each thread. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ERROR_SIZE 1024

static _Thread_local char last_error[ERROR_SIZE];

/* The text is made in a buffer of its own, because arguments may point into last_error ("...: %s",
 * ftc_last_error()). errno is kept, because callers read it afterwards. */
int ftc_error_set(int code, const char *format, ...)
{
    char text[ERROR_SIZE];
    int saved = errno;
    va_list args;
    va_start(args, format);
    int written = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    snprintf(last_error, sizeof(last_error), "%s", written < 0 ? ftc_strerror(code) : text);
    errno = saved;
    return code;
}

/* Append to the `used` characters of text[ERROR_SIZE] as much of `more` as fits. Returns the new
 * length. */
static size_t append(char *text, size_t used, const char *more)
{
    size_t size = strnlen(more, ERROR_SIZE - 1 - used);
    memcpy(text + used, more, size);
    text[used + size] = '\0';
    return used + size;
}

int ftc_error_wrap(int code, const char *format, ...)
{
    char text[ERROR_SIZE];
    int saved = errno;
    va_list args;
    va_start(args, format);
    int written = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (written > 0) {
        /* The context is kept whole; the end of the older text is cut if both do not fit. */
        size_t used = (size_t)written < sizeof(text) ? (size_t)written : sizeof(text) - 1;
        if (last_error[0] != '\0') {
            used = append(text, used, ": ");
            append(text, used, last_error);
        }
        memcpy(last_error, text, sizeof(text));
    }
    errno = saved;
    return code;
}

const char *ftc_last_error(void)
{
    return last_error;
}

const char *ftc_strerror(int error)
{
    switch (error) {
    case FTC_SUCCESS:
        return "success";
#define ERROR_CASE(name, value, text)                                                              \
    case name:                                                                                     \
        return text;
        FTC_ERRORS(ERROR_CASE)
#undef ERROR_CASE
    default:
        return "unknown error code";
    }
}

#define AS_TEXT_(number)              #number
#define AS_TEXT(number)               AS_TEXT_(number)
#define VERSION_(major, minor, patch) AS_TEXT(major) "." AS_TEXT(minor) "." AS_TEXT(patch)

const char *ftc_version(void)
{
    return VERSION_(FTC_VERSION_MAJOR, FTC_VERSION_MINOR, FTC_VERSION_PATCH);
}
