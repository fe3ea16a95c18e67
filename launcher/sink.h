/*
 * A file that ftrun writes to. ftrun never waits for the reader: a sink keeps what cannot be
 * written now. Where lines are shorter than PIPE_BUF, each write ends at the end of a line, so that
 * lines stay whole even when other processes write to the same file.
 */
#ifndef FTC_LAUNCHER_SINK_H
#define FTC_LAUNCHER_SINK_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct ftc_sink {
    struct ev_loop *loop;
    const char *name; /* for messages */
    int fd;
    bool regular; /* a regular file: writing to it never waits */
    bool dead;    /* its reader is gone, or an error occurred: everything is dropped */
    char *data;   /* bytes [start, start + used) are still to be written */
    size_t start, used, room;
    struct ev_io writer;
    void (*relieved)(void *arg); /* it was full, and is not full any more; may be NULL */
    void *relieved_arg;
    bool was_full;
};

/* The caller still owns `fd`. */
void ftc_sink_init(struct ftc_sink *sink, struct ev_loop *loop, int fd, const char *name);
void ftc_sink_fini(struct ftc_sink *sink); /* drops what is left; legal when zeroed */

/* Keep bytes for writing. If memory runs out, they are dropped, and a message says so once. */
void ftc_sink_put(struct ftc_sink *sink, const char *bytes, size_t size);
/* Write "ftrun: ..." with a newline, at once if possible. */
void ftc_sink_say(struct ftc_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Write what can be written without waiting. */
void ftc_sink_flush(struct ftc_sink *sink);

/* True: the sink keeps so much that its sources should wait. */
bool ftc_sink_full(struct ftc_sink *sink);

#endif
