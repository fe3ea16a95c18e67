/*
 * The output of the ranks: two pipes per rank, which lead into two sinks or into files.
 *
 * Only whole lines go on, so lines of different ranks never tear each other. The beginning of a
 * line waits in its stream. In a turn of the loop, all streams together read at most TURN bytes, so
 * that a flood of output cannot delay the news of a death. A full sink stops its streams, and the
 * full pipes then stop the ranks.
 */
#include "launcher/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define PIECE     16384
#define TURN      (8 * PIECE)
#define LONG_LINE 65536

static void on_turn(struct ev_loop *loop, struct ev_prepare *watcher, int events)
{
    struct ftc_output *output = watcher->data;
    (void)loop;
    (void)events;
    output->budget = TURN;
}

/* --- lines --- */

static void put_prefix(struct ftc_stream *stream)
{
    const struct ftc_output *output = stream->output;
    char text[64];
    size_t length = 0;
    if (output->timestamp) {
        struct timespec now;
        struct tm local;
        clock_gettime(CLOCK_REALTIME, &now);
        localtime_r(&now.tv_sec, &local);
        length = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &local);
        length += (size_t)snprintf(text + length, sizeof(text) - length, ".%03ld ",
                                   now.tv_nsec / 1000000);
    }
    if (output->tag)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "[%d] ", stream->rank);
    ftc_sink_put(stream->sink, text, length);
}

static bool prefixed(const struct ftc_stream *stream)
{
    return stream->output->tag || stream->output->timestamp;
}

/* Hand on what waits, and `size` more bytes. `complete`: these bytes end a line. */
static void put_line(struct ftc_stream *stream, const char *bytes, size_t size, bool complete)
{
    if (prefixed(stream))
        put_prefix(stream);
    ftc_sink_put(stream->sink, stream->partial, stream->used);
    ftc_sink_put(stream->sink, bytes, size);
    stream->used = 0;
    if (!complete && prefixed(stream))
        ftc_sink_put(stream->sink, "\n", 1);
}

/* Keep the beginning of a line. If it grows too long, hand it on as it is. */
static void keep(struct ftc_stream *stream, const char *bytes, size_t size)
{
    if (stream->used + size > stream->room) {
        size_t room = stream->used + size < 256 ? 256 : 2 * (stream->used + size);
        char *grown = stream->used + size > LONG_LINE ? NULL : realloc(stream->partial, room);
        if (grown == NULL) {
            put_line(stream, bytes, size, false);
            return;
        }
        stream->partial = grown;
        stream->room = room;
    }
    memcpy(stream->partial + stream->used, bytes, size);
    stream->used += size;
}

static void feed(struct ftc_stream *stream, const char *bytes, size_t size)
{
    const char *last = memrchr(bytes, '\n', size);
    size_t whole = last != NULL ? (size_t)(last - bytes) + 1 : 0;
    if (whole > 0 && !prefixed(stream)) {
        put_line(stream, bytes, whole, true);
    } else {
        for (size_t at = 0; at < whole;) {
            const char *end = memchr(bytes + at, '\n', whole - at);
            size_t length = (size_t)(end - bytes) + 1 - at;
            put_line(stream, bytes + at, length, true);
            at += length;
        }
    }
    if (whole < size)
        keep(stream, bytes + whole, size - whole);
}

/* --- streams --- */

static void end_stream(struct ftc_stream *stream)
{
    struct ftc_output *output = stream->output;
    if (!stream->open)
        return;
    if (stream->used > 0)
        put_line(stream, "", 0, false);
    ftc_sink_flush(stream->sink);
    ev_io_stop(output->loop, &stream->reader);
    close(stream->reader.fd);
    stream->open = false;
    output->open--;
    if (output->open == 0 && output->closed != NULL)
        output->closed(output->closed_arg);
}

static void on_readable(struct ev_loop *loop, struct ev_io *watcher, int events)
{
    struct ftc_stream *stream = watcher->data;
    struct ftc_output *output = stream->output;
    char piece[PIECE];
    (void)events;
    if (output->budget < PIECE)
        return; /* read on in the next turn: the descriptor stays readable */
    if (ftc_sink_full(stream->sink)) {
        stream->waiting = true;
        ev_io_stop(loop, watcher);
        return;
    }
    ssize_t size = read(watcher->fd, piece, sizeof(piece));
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        end_stream(stream);
        return;
    }
    output->moved = true;
    output->budget -= (size_t)size;
    feed(stream, piece, (size_t)size);
    ftc_sink_flush(stream->sink);
}

/* A sink has room again. */
static void on_relieved(void *arg)
{
    struct ftc_output *output = arg;
    for (int i = 0; i < output->count; i++) {
        struct ftc_stream *stream = &output->streams[i];
        if (stream->open && stream->waiting && !stream->sink->was_full) {
            stream->waiting = false;
            ev_io_start(output->loop, &stream->reader);
        }
    }
}

/* Other users may be able to write to the directory, too. So no link is followed, and no FIFO makes
 * ftrun wait. -1: the file was not opened; errno 0 then means that it is no regular file. */
static int open_regular(const char *path)
{
    struct stat info;
    int fd = open(
        path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);

    if (fd < 0) {
        errno = errno == ELOOP || errno == ENXIO ? 0 : errno;
        return -1;
    }
    bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    if (regular && ftruncate(fd, 0) == 0)
        return fd;
    int saved = regular ? errno : 0;
    close(fd);
    errno = saved;
    return -1;
}

static int open_file(struct ftc_stream *stream, const char *suffix)
{
    struct ftc_output *output = stream->output;
    if (asprintf(&stream->file_name, "%s/rank.%d.%s", output->directory, stream->rank, suffix) <
        0) {
        stream->file_name = NULL;
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    }
    stream->file_fd = open_regular(stream->file_name);
    if (stream->file_fd < 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot write %s: %s; give another --output-filename",
                             stream->file_name,
                             errno == 0 ? "it is no regular file" : strerror(errno));
    ftc_sink_init(&stream->file, output->loop, stream->file_fd, stream->file_name);
    stream->sink = &stream->file;
    return FTC_SUCCESS;
}

int ftc_output_add(struct ftc_output *output, int rank, int out_fd, int err_fd)
{
    for (int i = 0; i < 2; i++) {
        if (i == 1 && err_fd < 0)
            continue;
        struct ftc_stream *stream = &output->streams[2 * rank + i];
        stream->rank = rank;
        stream->sink = i == 0 ? &output->out : output->err_sink;
        int rc =
            output->directory != NULL ? open_file(stream, i == 0 ? "out" : "err") : FTC_SUCCESS;
        if (rc != FTC_SUCCESS) {
            if (i == 0)
                close(out_fd);
            close(err_fd);
            return rc;
        }
        ev_io_init(&stream->reader, on_readable, i == 0 ? out_fd : err_fd, EV_READ);
        ev_set_priority(&stream->reader, EV_MINPRI);
        stream->reader.data = stream;
        stream->open = true;
        output->open++;
        ev_io_start(output->loop, &stream->reader);
    }
    return FTC_SUCCESS;
}

/* --- all of it --- */

static bool same_file(int a, int b)
{
    struct stat first, second;
    return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

int ftc_output_init(struct ftc_output *output, struct ev_loop *loop, int np, bool tag,
                    bool timestamp, const char *directory)
{
    *output = (struct ftc_output){
        .loop = loop, .tag = tag, .timestamp = timestamp, .directory = directory, .count = 2 * np};
    if (directory != NULL && mkdir(directory, 0777) != 0 && errno != EEXIST)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot make the directory %s: %m; give another --output-filename",
                             directory);
    output->streams = calloc(2 * (size_t)np, sizeof(*output->streams));
    if (output->streams == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %d ranks", np);
    for (int i = 0; i < 2 * np; i++) {
        output->streams[i].output = output;
        output->streams[i].file_fd = -1;
    }
    ftc_sink_init(&output->out, loop, STDOUT_FILENO, "standard output");
    ftc_sink_init(&output->err, loop, STDERR_FILENO, "standard error");
    output->err_sink = same_file(STDOUT_FILENO, STDERR_FILENO) ? &output->out : &output->err;
    output->out.relieved = output->err.relieved = on_relieved;
    output->out.relieved_arg = output->err.relieved_arg = output;
    ev_prepare_init(&output->turn, on_turn);
    output->turn.data = output;
    ev_prepare_start(loop, &output->turn);
    return FTC_SUCCESS;
}

void ftc_output_fini(struct ftc_output *output)
{
    if (output->streams == NULL)
        return;
    ftc_output_close(output);
    for (int i = 0; i < output->count; i++) {
        struct ftc_stream *stream = &output->streams[i];
        free(stream->partial);
        ftc_sink_fini(&stream->file);
        if (stream->file_fd >= 0)
            close(stream->file_fd);
        free(stream->file_name);
    }
    free(output->streams);
    ftc_sink_fini(&output->out);
    ftc_sink_fini(&output->err);
    ev_prepare_stop(output->loop, &output->turn);
    *output = (struct ftc_output){0};
}

void ftc_output_close(struct ftc_output *output)
{
    output->closed = NULL;
    for (int i = 0; i < output->count; i++)
        end_stream(&output->streams[i]);
}

bool ftc_output_empty(const struct ftc_output *output)
{
    return output->out.used == 0 && output->err.used == 0;
}

bool ftc_output_idle(struct ftc_output *output)
{
    bool moved = output->moved;
    output->moved = false;
    return !moved && ftc_output_empty(output);
}
