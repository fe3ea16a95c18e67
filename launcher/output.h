/* Forwarding the ranks' standard output and error, line by line. */
#ifndef FTC_LAUNCHER_OUTPUT_H
#define FTC_LAUNCHER_OUTPUT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "launcher/sink.h"

/* One of the two output pipes of a rank. */
struct ftc_stream {
    struct ftc_output *output;
    struct ev_io reader;
    int rank;
    bool open, waiting; /* waiting: its sink is full */
    char *partial;      /* the beginning of a line that has not ended yet */
    size_t used, room;
    struct ftc_sink *sink;
    struct ftc_sink file; /* with --output-filename */
    int file_fd;          /* -1 */
    char *file_name;
};

struct ftc_output {
    struct ev_loop *loop;
    bool tag, timestamp;
    const char *directory; /* NULL: ftrun's own output */
    struct ftc_sink out, err;
    /* &err; or &out if both are one file, so that lines do not tear each other. */
    struct ftc_sink *err_sink;
    struct ftc_stream *streams; /* two per rank: out, err */
    int count, open;
    size_t budget; /* bytes that may still be read in this turn of the loop */
    struct ev_prepare turn;
    bool moved;                /* something was read since ftc_output_idle() */
    void (*closed)(void *arg); /* the last stream ended */
    void *closed_arg;
};

/* ftc_output_fini() of a zeroed struct is legal. FTC_ERR_NOMEM; FTC_ERR_SYSTEM if `directory`
 * cannot be made. */
int ftc_output_init(struct ftc_output *output, struct ev_loop *loop, int np, bool tag,
                    bool timestamp, const char *directory);
void ftc_output_fini(struct ftc_output *output);

/* Take over the read ends of a rank's pipes. `err_fd` may be -1: there is none. FTC_ERR_SYSTEM: the
 * file for its output cannot be made. The descriptors are closed then. */
int ftc_output_add(struct ftc_output *output, int rank, int out_fd, int err_fd);

/* True if nothing was read since the last call, and nothing is kept for a slow reader. */
bool ftc_output_idle(struct ftc_output *output);
/* Stop reading. This is for pipes that a process outside of the job still holds. */
void ftc_output_close(struct ftc_output *output);
/* Has everything been written? */
bool ftc_output_empty(const struct ftc_output *output);

#endif
