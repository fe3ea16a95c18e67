/*
 * Standard input goes to rank 0. If it is a file or a pipe, rank 0 inherits it, so that nothing
 * reads more of it than the rank does. Rank 0 cannot inherit a terminal: its process group is in
 * the background, so that reading would stop it. Then ftrun reads the terminal, and passes on what
 * it reads.
 */
#ifndef FTC_LAUNCHER_INPUT_H
#define FTC_LAUNCHER_INPUT_H

#include <ev.h>
#include <stddef.h>

struct ftc_input {
    struct ev_loop *loop;
    int child_fd; /* standard input of rank 0; -1: /dev/null */
    int pipe_fd;  /* ftrun's end of the pipe to rank 0; -1: none */
    int read_end; /* end of rank 0, until the rank is started; -1: none */
    struct ev_io reader, writer;
    char kept[4096];
    size_t start, used;
};

int ftc_input_init(struct ftc_input *input, struct ev_loop *loop); /* FTC_ERR_SYSTEM */
/* Rank 0 has been started. */
void ftc_input_started(struct ftc_input *input);
/* ftrun has come to the foreground, so it can read the terminal again. */
void ftc_input_resume(struct ftc_input *input);
void ftc_input_fini(struct ftc_input *input);

#endif
