/*
 * Which engine starts the ranks. With Slurm this ftrun starts no rank: it has srun start one ftrun
 * on each host (`--engine pmix`), passes on output and signals, and learns the job's end from a
 * line that an agent which knows it writes to standard error.
 */
#ifndef FTC_LAUNCHER_ENGINE_H
#define FTC_LAUNCHER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/options.h"

#define FTC_ENGINE_TOKEN "FTRUN_FRONT" /* environment of agents: what their last line must show */
#define FTC_ENGINE_MARK  '\036'        /* begins that line */

/* Make `auto` one of the others, and check what they need; command->nodes becomes their number
 * (slurm). FTC_ERR_ARG, FTC_ERR_UNSUPPORTED, each with cause and remedy. */
int ftc_engine_choose(struct ftc_command *command);

/* How the job ended, as an agent says it. */
struct ftc_engine_end {
    int code;
    unsigned wait_ms; /* the other agents may take so long to end */
    const char *text; /* the summary */
};

/* The line of an agent, with its newline; and reading it, without: false: it is none. `text` lies
 * in the line. */
void ftc_engine_format_end(char *line, size_t size, const char *token,
                           const struct ftc_engine_end *job);
bool ftc_engine_parse_end(const char *line, const char *token, struct ftc_engine_end *job);

/* Run a job by srun; ftrun's exit code. Errors are printed. */
int ftc_slurm_run(const struct ftc_command *command, char **argv);

#endif
