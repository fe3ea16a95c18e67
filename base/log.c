/* Log lines. One write(2) writes each, so that the lines of many processes on one standard error
 * never mix. */
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* Below PIPE_BUF (4096), so that a write to a pipe is atomic. */
#define LINE_SIZE  2048
#define LONGEST_MS 100 /* how long a line may wait for a slow reader */

static const char *const level_names[] = {
    [FTC_LOG_ERROR] = "error", [FTC_LOG_WARN] = "warn",   [FTC_LOG_INFO] = "info",
    [FTC_LOG_DEBUG] = "debug", [FTC_LOG_TRACE] = "trace",
};
#define LEVELS ((int)(sizeof(level_names) / sizeof(level_names[0])))

const char *ftc_log_level_name(enum ftc_log_level level)
{
    return (unsigned)level < (unsigned)LEVELS ? level_names[level] : "?";
}

int ftc_log_level_parse(const char *name)
{
    for (int level = 0; level < LEVELS; level++)
        if (strcmp(name, level_names[level]) == 0)
            return level;
    return -1;
}

/* A line that cannot be written soon is dropped. A full disk, a closed pipe or a reader that has
 * paused must not stop a process, and a progress thread that waited here would be fenced as
 * stalled. */
static void write_line(const char *line, size_t size)
{
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    ssize_t written;

    if (poll(&ready, 1, LONGEST_MS) == 0)
        return;
    do {
        written = write(STDERR_FILENO, line, size);
    } while (written < 0 && errno == EINTR);
}

/* How many characters an snprintf() into `room` bytes has stored. `written` is what it returned. */
static size_t stored(int written, size_t room)
{
    if (written < 0)
        return 0;
    return (size_t)written < room ? (size_t)written : room - 1;
}

void ftc_log_write(const struct ftc_log *log, enum ftc_log_level level, const char *format, ...)
{
    char line[LINE_SIZE];
    int saved = errno;
    size_t room = sizeof(line) - 1; /* one byte stays for the newline */
    size_t used = stored(snprintf(line, room, "ftcoll: %.*s%s%s: ", (int)sizeof(log->who), log->who,
                                  log->who[0] != '\0' ? ": " : "", ftc_log_level_name(level)),
                         room);
    va_list args;
    va_start(args, format);
    errno = saved; /* for %m */
    int written = vsnprintf(line + used, room - used, format, args);
    va_end(args);
    size_t size = used + stored(written, room - used);
    if (written > 0 && (size_t)written >= room - used)
        memcpy(line + size - 3, "...", 3);
    ftc_text_clean(line, sizeof(line), line, size); /* it may quote input from outside */
    size = strlen(line);
    line[size++] = '\n';
    write_line(line, size);
    errno = saved;
}
