/* Buffered writing that never blocks the event loop, whatever the reader does. */
#include "launcher/sink.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

#define FULL     (1u << 20)
#define RELIEVED (FULL / 4)

static void on_writable(struct ev_loop *loop, struct ev_io *watcher, int events)
{
    (void)loop;
    (void)events;
    ftc_sink_flush(watcher->data);
}

void ftc_sink_init(struct ftc_sink *sink, struct ev_loop *loop, int fd, const char *name)
{
    struct stat st;
    *sink = (struct ftc_sink){.loop = loop, .fd = fd, .name = name};
    sink->regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ev_io_init(&sink->writer, on_writable, fd, EV_WRITE);
    sink->writer.data = sink;
    ev_set_priority(&sink->writer, EV_MINPRI);
}

void ftc_sink_fini(struct ftc_sink *sink)
{
    if (sink->loop != NULL)
        ev_io_stop(sink->loop, &sink->writer);
    free(sink->data);
    *sink = (struct ftc_sink){.fd = -1};
}

/* Make room for `size` more bytes after those that are kept. */
static bool reserve(struct ftc_sink *sink, size_t size)
{
    if (sink->start + sink->used + size <= sink->room)
        return true;
    if (sink->used > 0)
        memmove(sink->data, sink->data + sink->start, sink->used);
    sink->start = 0;
    if (sink->used + size <= sink->room)
        return true;
    size_t room = 2 * (sink->used + size);
    char *grown = realloc(sink->data, room);
    if (grown == NULL)
        return false;
    sink->data = grown;
    sink->room = room;
    return true;
}

/* Nothing more can be written. Say why, once; but say nothing if the reason is that nobody reads
 * any more. */
static void give_up(struct ftc_sink *sink, int error)
{
    sink->dead = true;
    sink->used = 0;
    ev_io_stop(sink->loop, &sink->writer);
    if (error == EPIPE || sink->fd == STDERR_FILENO)
        return;
    char line[160];
    errno = error;
    int length =
        snprintf(line, sizeof(line), "ftrun: writing %s: %m; the rest of it is lost\n", sink->name);
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (length > 0 && poll(&ready, 1, 0) == 1)
        (void)!write(STDERR_FILENO, line,
                     (size_t)length < sizeof(line) ? (size_t)length : sizeof(line) - 1);
}

void ftc_sink_put(struct ftc_sink *sink, const char *bytes, size_t size)
{
    if (sink->dead || size == 0)
        return;
    if (!reserve(sink, size)) {
        give_up(sink, ENOMEM);
        return;
    }
    memcpy(sink->data + sink->start + sink->used, bytes, size);
    sink->used += size;
}

/* How much to write at once. A pipe that polls writable takes PIPE_BUF bytes as a whole, and
 * without waiting. */
static size_t next_piece(const struct ftc_sink *sink)
{
    if (sink->regular || sink->used <= PIPE_BUF)
        return sink->used;
    const char *data = sink->data + sink->start;
    const char *newline = memrchr(data, '\n', PIPE_BUF);
    return newline != NULL ? (size_t)(newline - data) + 1 : PIPE_BUF;
}

static bool writable(const struct ftc_sink *sink)
{
    struct pollfd ready = {.fd = sink->fd, .events = POLLOUT};
    return sink->regular || poll(&ready, 1, 0) == 1;
}

void ftc_sink_flush(struct ftc_sink *sink)
{
    while (sink->used > 0 && writable(sink)) {
        ssize_t written = write(sink->fd, sink->data + sink->start, next_piece(sink));
        if (written < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (written < 0) {
            give_up(sink, errno);
            break;
        }
        sink->start += (size_t)written;
        sink->used -= (size_t)written;
    }
    if (sink->used == 0) {
        sink->start = 0;
        ev_io_stop(sink->loop, &sink->writer);
    } else {
        ev_io_start(sink->loop, &sink->writer);
    }
    if (sink->was_full && sink->used <= RELIEVED) {
        sink->was_full = false;
        if (sink->relieved != NULL)
            sink->relieved(sink->relieved_arg);
    }
}

void ftc_sink_say(struct ftc_sink *sink, const char *format, ...)
{
    char line[1024] = "ftrun: ";
    size_t head = strlen(line);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line + head, sizeof(line) - head - 1, format, args);
    va_end(args);
    ftc_text_clean(line, sizeof(line) - 1, line,
                   sizeof(line)); /* the text may quote input from outside */
    size_t end = strlen(line);
    line[end++] = '\n';
    ftc_sink_put(sink, line, end);
    ftc_sink_flush(sink);
}

bool ftc_sink_full(struct ftc_sink *sink)
{
    if (sink->used >= FULL)
        sink->was_full = true;
    return sink->was_full;
}
