/* The command line of ftrun. One table gives the parser and --help. */
#ifndef FTC_LAUNCHER_OPTIONS_H
#define FTC_LAUNCHER_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/option.h"
#include "config/config.h"
#include "launcher/hosts.h"

#define FTC_EXIT_USAGE          2
#define FTC_EXIT_TIMEOUT        124
#define FTC_EXIT_NOT_EXECUTABLE 126
#define FTC_EXIT_NOT_FOUND      127

/* --kill RANK@SECONDS */
struct ftc_kill_order {
    int rank;
    double after_s; /* since the last rank was started */
};

/* A setting given on the command line. Settings are kept in the order in which they were given. */
struct ftc_assignment {
    char *text; /* "section.key=value", owned */
    const char *source;
};

/* What starts the ranks or agents, and on which hosts. */
enum ftc_engine {
    FTC_ENGINE_AUTO,
    FTC_ENGINE_LOCAL, /* this ftrun starts all ranks on this machine */
    FTC_ENGINE_SLURM, /* srun starts an ftrun on each host */
    FTC_ENGINE_SSH,   /* ssh starts an ftrun on each host */
    FTC_ENGINE_GUEST, /* this ftrun was started so: a front has invited it */
    FTC_ENGINE_PMIX,  /* this ftrun is one of several that a launcher with PMIx has started */
    FTC_ENGINE_ADOPT, /* a rank that PMIx has started called this ftrun (launcher/job/adopt.h) */
};

enum ftc_action {
    FTC_ACTION_RUN,
    FTC_ACTION_HELP,
    FTC_ACTION_VERSION,
    FTC_ACTION_PRINT_CONFIG,
    FTC_ACTION_PRINT_ALGORITHMS
};

struct ftc_invitation;

struct ftc_command {
    enum ftc_action action;
    bool all; /* --all */
    int np;
    enum ftc_engine engine;
    int nodes, ranks_per_node;               /* 0: not given */
    const char *host_list, *hostfile, *ssh;  /* NULL: not given */
    struct ftc_hosts hosts;                  /* with FTC_ENGINE_SSH: of ftc_engine_choose() */
    const struct ftc_invitation *invitation; /* with FTC_ENGINE_GUEST */
    int max_failures;                        /* np - 1 if not given */
    double timeout_s;                        /* 0: none */
    bool tag, timestamp, bind_core;
    const char *config, *output_directory, *working_directory, *report,
        *trace;             /* NULL: not given */
    const char **variables; /* -x, as given */
    int variable_count;
    struct ftc_assignment *assignments;
    int assignment_count;
    struct ftc_kill_order *kills;
    int kill_count;
    char **program; /* argv of the ranks, NULL-terminated, inside argv */
};

/* Read argv. Strings of `command` point into argv. ftc_command_fini() is legal for a zeroed struct,
 * and after an error. FTC_ERR_ARG, with cause and remedy; FTC_ERR_NOMEM. */
int ftc_command_parse(struct ftc_command *command, int argc, char **argv);
void ftc_command_fini(struct ftc_command *command);
void ftc_command_help(FILE *out);
/* The i-th option, in the order of --help. False: there is no such option. */
bool ftc_command_option(int i, struct ftc_option_text *text);

/*
 * Read all sources of settings in their order of precedence. Then apply the rules between settings
 * and the number of ranks: a default f is cut to what np allows, but an f that was asked for is an
 * error. The caller must finish `settings`, also after an error. FTC_ERR_CONFIG, FTC_ERR_ARG.
 */
int ftc_command_settings(const struct ftc_command *command, char *const environment[],
                         struct ftc_settings *settings);

#endif
