/*
 * The front: the ftrun that the user calls, while another program starts the agents: one srun for
 * all hosts, or a remote shell for each host. The front passes on output and signals, and learns
 * from an agent how the job ended.
 */
#ifndef FTC_LAUNCHER_FRONT_FRONT_H
#define FTC_LAUNCHER_FRONT_FRONT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "launcher/options.h"
#include "launcher/output.h"
#include "launcher/signals.h"
#include "launcher/sink.h"

#define FTC_FRONT_LINE 1024

struct ftc_front;

/* A program that the front has started: srun, or a remote shell. */
struct ftc_starter {
    struct ftc_front *front;
    const char *host;          /* that of a remote shell; NULL: srun */
    pid_t pid;                 /* 0: not started */
    struct ev_io from;         /* its standard error */
    struct ftc_sink orders;    /* its standard input, if it is a remote shell */
    char line[FTC_FRONT_LINE]; /* what may be an agent's last line */
    size_t used;
    char *endpoint; /* of a remote shell: what its agent has answered; NULL: nothing */
    bool spoke;     /* an ftrun, not the remote shell, has complained */
    bool silent;    /* it will say nothing more */
    bool ended;
    int status; /* if `ended` */
};

/* What srun and remote shells do differently. */
struct ftc_front_kind {
    const char *name;
    /* True: keep a line of standard error until it is whole, though it begins with no mark. */
    bool (*keeps)(const struct ftc_starter *starter);
    /* A whole line that was kept, without its newline. True: it has been dealt with. */
    bool (*take)(struct ftc_starter *starter);
    void (*ended)(struct ftc_starter *starter); /* may be NULL */
    void (*forward)(struct ftc_front *front, int number);
    void (*kill_all)(struct ftc_front *front, int number); /* the signal came again */
};

struct ftc_front {
    const struct ftc_front_kind *kind;
    void *arg; /* of the kind */
    struct ev_loop *loop;
    struct ftc_starter *starters;
    int count, running;
    struct ev_signal child;
    struct ev_timer hurry, drain;
    struct ftc_sink err;
    struct ftc_output output; /* of remote shells */
    struct ftc_signals signals;
    char token[33];
    bool termed;
    bool over;     /* nothing more will be started, so the front ends when nothing is running */
    bool summed;   /* the front has written its own last line, too */
    int signalled; /* the last signal to the front that ends programs; 0: none */
    int code;      /* exit code of the job; -1: no agent that knows it has told it */
    /* Of the agent that knows most: the exit code, the number of ranks whose ends it does not know
     * (INT_MAX: no agent has told), and the summary. */
    int told, unknown;
    char summary[FTC_FRONT_LINE];
};

/* Prepare a front of `count` starters. It must be zeroed before. Signals are blocked from here on.
 * ftc_front_fini() is legal after an error. FTC_ERR_*. */
int ftc_front_init(struct ftc_front *front, const struct ftc_front_kind *kind, int count);
void ftc_front_fini(struct ftc_front *front);

/* Start a program whose standard error the front reads. `piped`: the front also writes its standard
 * input, and passes on its standard output in whole lines. Without that both are the front's own.
 * FTC_ERR_SYSTEM. */
int ftc_front_start(struct ftc_starter *starter, char *const words[], bool piped);

/* Run until all starters have ended. Returns the exit code of the job. */
int ftc_front_run(struct ftc_front *front);

/* The job has ended with this code. What runs after `wait_s` is ended by SIGTERM, and 5 s later by
 * SIGKILL. */
void ftc_front_close(struct ftc_front *front, int code, double wait_s);
/* Close the standard input of a remote shell: its agent ends. */
void ftc_front_hang_up(struct ftc_starter *starter);
/* Send a signal to all starters that are running. */
void ftc_front_signal(struct ftc_front *front, int number);
/* Pass the line that was kept on to standard error. */
void ftc_front_pass_on(struct ftc_starter *starter);

/* The path of this ftrun's own file. FTC_ERR_SYSTEM. */
int ftc_front_own_file(char *path, size_t size);

/* Run a job by srun, or by a remote shell. Print errors. Returns the exit code of ftrun. */
int ftc_slurm_run(const struct ftc_command *command, char **argv);
int ftc_ssh_run(const struct ftc_command *command, char **argv);

#endif
