/* Makes the n-th allocation fail. The linker option --wrap redirects the calls to here. */
#include "tests/base/fail_alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A test need not wrap all of these functions. Those that it does not wrap stay undefined. */
void *__real_malloc(size_t size) __attribute__((weak));
void *__real_calloc(size_t count, size_t size) __attribute__((weak));
char *__real_strdup(const char *text) __attribute__((weak));
char *__real_strndup(const char *text, size_t size) __attribute__((weak));
FILE *__real_open_memstream(char **text, size_t *size) __attribute__((weak));

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
FILE *__wrap_open_memstream(char **text, size_t *size);

static int remaining = -1; /* -1: no allocation is to fail */
static bool failed;

void fail_alloc_at(int n)
{
    remaining = n;
    failed = false;
}

bool fail_alloc_stop(void)
{
    remaining = -1;
    return failed;
}

static bool fails_now(void)
{
    if (remaining < 0 || remaining-- > 0)
        return false;
    failed = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
    return fails_now() ? NULL : __real_strndup(text, size);
}

int __wrap_asprintf(char **text, const char *format, ...)
{
    if (fails_now())
        return -1;
    va_list args;
    va_start(args, format);
    int length = vasprintf(text, format, args);
    va_end(args);
    return length;
}

FILE *__wrap_open_memstream(char **text, size_t *size)
{
    return fails_now() ? NULL : __real_open_memstream(text, size);
}
