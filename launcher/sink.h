/*
 * A file that ftrun writes to, never waiting for its reader: what cannot be written now is kept.
 * Writes end at line ends wherever lines are shorter than PIPE_BUF, so that lines stay whole next
 * to other writers too.
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
    bool regular; /* a file: never waits */
    bool dead;    /* its reader went away, or an error: everything is dropped */
    char *data;   /* [start, start + used) is to be written */
    size_t start, used, room;
    struct ev_io writer;
    void (*relieved)(void *arg); /* it was full and is not any more; may be NULL */
    void *relieved_arg;
    bool was_full;
};

/* `fd` stays the caller's. */
void ftc_sink_init(struct ftc_sink *sink, struct ev_loop *loop, int fd, const char *name);
void ftc_sink_fini(struct ftc_sink *sink); /* drops what is left; legal when zeroed */

/* Keep bytes for writing. Out of memory: they are dropped, and said so once. */
void ftc_sink_put(struct ftc_sink *sink, const char *bytes, size_t size);
/* "ftrun: ..." with a newline; written at once if possible. */
void ftc_sink_say(struct ftc_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Write what can be written without waiting. */
void ftc_sink_flush(struct ftc_sink *sink);

/* So much is kept that its sources should wait. */
bool ftc_sink_full(struct ftc_sink *sink);

#endif
