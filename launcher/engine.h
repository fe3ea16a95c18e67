/*
 * Choice of the engine. With Slurm or ssh this ftrun starts no rank: it is the front
 * (launcher/front/front.h), and has one ftrun started on each host, the agent. An agent that leaves
 * writes a line to standard error, from which the front learns how the job ended.
 */
#ifndef FTC_LAUNCHER_ENGINE_H
#define FTC_LAUNCHER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/options.h"

#define FTC_ENGINE_TOKEN "FTRUN_FRONT" /* variable of agents; their last line shows its value */
#define FTC_ENGINE_MARK  '\036'        /* begins that line */

/* Replace `auto` by a real engine, and check what that engine needs. With Slurm and
 * ssh command->nodes becomes the number of hosts, and with ssh command->hosts has their ranks.
 * FTC_ERR_ARG, FTC_ERR_UNSUPPORTED, FTC_ERR_NOMEM, each with cause and remedy. */
int ftc_engine_choose(struct ftc_command *command);

/* The same for a job that is only described (--print-config, --print-algorithms). Without -np it
 * has 4 ranks. command->nodes becomes the number of its hosts: those of --hosts or --hostfile, else
 * of --nodes, else of the allocation, else 1. */
int ftc_engine_describe(struct ftc_command *command);

/* How the job ended, as an agent tells the front. */
struct ftc_engine_end {
    int code;
    int unknown;      /* number of ranks whose ends the agent does not know: they count as failed */
    unsigned wait_ms; /* how long the other agents may still take to end */
    const char *text; /* the summary */
};

/* ftc_engine_format_end() writes the line of an agent, with its newline. ftc_engine_parse_end()
 * reads a line without its newline. It returns false if this is no such line. job->text points into
 * the line. */
void ftc_engine_format_end(char *line, size_t size, const char *token,
                           const struct ftc_engine_end *job);
bool ftc_engine_parse_end(const char *line, const char *token, struct ftc_engine_end *job);

#endif
