/*
 * Standard input goes to rank 0. A file or a pipe is simply inherited, so nobody reads more of it
 * than the rank does. A terminal is not: rank 0 is in a background process group and would be
 * stopped; ftrun reads it and passes it on.
 */
#ifndef FTC_LAUNCHER_INPUT_H
#define FTC_LAUNCHER_INPUT_H

#include <ev.h>
#include <stddef.h>

struct ftc_input {
    struct ev_loop *loop;
    int child_fd; /* for rank 0; -1: /dev/null */
    int pipe_fd;  /* ftrun's end of the pipe to rank 0; -1: none */
    int read_end; /* rank 0's end, until it is started; -1 */
    struct ev_io reader, writer;
    char kept[4096];
    size_t start, used;
};

int ftc_input_init(struct ftc_input *input, struct ev_loop *loop); /* FTC_ERR_SYSTEM */
/* Rank 0 has been started. */
void ftc_input_started(struct ftc_input *input);
/* ftrun came to the foreground: the terminal can be read again. */
void ftc_input_resume(struct ftc_input *input);
void ftc_input_fini(struct ftc_input *input);

#endif
