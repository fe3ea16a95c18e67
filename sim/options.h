/*
 * The command lines of ftcoll-sim: what all commands take (the communicator, the operations, the
 * seed), and a table of its own for each command. The tables give parser and --help.
 */
#ifndef FTC_SIM_OPTIONS_H
#define FTC_SIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/option.h"
#include "collectives/agreement/member.h"
#include "collectives/values/flip.h"
#include "config/config.h"
#include "sim/model/program.h"

/* Common to all commands: -n, -f, --ops, --seed, --config FILE, --set section.key=value, and short
 * forms of the settings that matter here: --scheme, --dissemination, --correction and more. */
struct ftc_setup {
    struct ftc_settings settings; /* every key of the configuration and where it came from */
    struct ftc_member_settings
        member; /* of every member, but self; without -n see ftc_config_fit() */
    struct ftc_program program;
    struct ftc_flips flips; /* that `member` points to, if there are any */
    const char *ops;        /* as given, NULL: not */
    uint64_t seed;
    bool seed_given, ranks_given, f_given;
};

/* One option of a command. `take` gets the command's own struct; it returns 0 or FTC_ERR_ARG with a
 * message. An option hides a common one of the same name ("ranks" is -n, "masked" is -f). */
struct ftc_option {
    const char *name;
    char letter;          /* 0: none */
    const char *argument; /* NULL: a flag; `take` then gets NULL */
    const char *help;
    int (*take)(void *command, const char *text);
};

struct ftc_usage {
    const char *synopsis;            /* "ftcoll-sim [options] OPERATION..." */
    const char *summary;             /* what the command does, one or more lines */
    const char *examples;            /* lines, each indented by two */
    const struct ftc_option *option; /* own ones, ends with a NULL name; NULL: none */
    int most_ranks;                  /* of -n; 0: 1048576 */
    bool seedless;                   /* nothing is random: no --seed */
    bool alone; /* no communicator: --help does not offer one (the command refuses it) */
};

#define FTC_SETUP_FRAGMENT 4096 /* bytes in a datagram, unless --fragment says otherwise */

enum ftc_parsed { FTC_PARSED_RUN, FTC_PARSED_HELP, FTC_PARSED_VERSION };

/* Read argv[1..]. What is no option is an operation and joins --ops. FTC_ERR_ARG or
 * FTC_ERR_CONFIG with cause and remedy in ftc_last_error(). fini() of a zeroed struct and after
 * an error is legal. */
int ftc_setup_parse(struct ftc_setup *setup, const struct ftc_usage *usage, void *command, int argc,
                    char **argv, enum ftc_parsed *parsed);
void ftc_setup_fini(struct ftc_setup *setup);
/* What every command begins with: parse, and answer --help, --version and errors. True: go on, and
 * fini() later; false: nothing is left to do but to return *code. */
bool ftc_setup_begin(struct ftc_setup *setup, const struct ftc_usage *usage, void *command,
                     int argc, char **argv, int *code);
void ftc_setup_help(const struct ftc_usage *usage, FILE *out);
/* The i-th common option that --help of a command offers; false: there is none. */
bool ftc_setup_common(const struct ftc_usage *usage, int i, struct ftc_option_text *text);
/* Name of the option for a key, "section.key" of this length; NULL: none but --set. */
const char *ftc_setup_option(const char *key, size_t length);
/* The options that give this communicator and program again, for a replay line: "-n 4 -f 1 --scheme
 * bit --ops ...". Only what differs from the defaults. malloc'ed; NULL: out of memory. In
 * options_format.c. */
char *ftc_setup_format(const struct ftc_member_settings *settings,
                       const struct ftc_program *program);

/* Numbers for `take` functions: all of the text, within the range, or FTC_ERR_ARG naming the
 * option. */
int ftc_option_number(const char *option, const char *text, uint64_t minimum, uint64_t maximum,
                      uint64_t *out);
int ftc_option_real(const char *option, const char *text, double minimum, double maximum,
                    double *out);

/* Exit codes of ftcoll-sim. */
enum {
    FTC_SIM_EXIT_OK = 0,
    FTC_SIM_EXIT_ERROR = 1,
    FTC_SIM_EXIT_USAGE = 2,
    FTC_SIM_EXIT_VIOLATION = 3,
    FTC_SIM_EXIT_INCOMPLETE =
        4, /* explore: neither a violation nor a proof, a limit was reached first */
};

/* The commands; argv[0] is the command's name. Each returns an exit code. */
int ftc_command_run(int argc, char **argv);       /* timed/run.c */
int ftc_command_explore(int argc, char **argv);   /* explore/command.c */
int ftc_command_storm(int argc, char **argv);     /* storm/command.c */
int ftc_command_replay(int argc, char **argv);    /* replay.c */
int ftc_command_reach(int argc, char **argv);     /* reach/command.c */
int ftc_command_broadcast(int argc, char **argv); /* figures/command.c */
int ftc_command_gossip(int argc, char **argv);    /* gossip/command.c */
int ftc_command_nodes(int argc, char **argv);     /* nodes/command.c */
int ftc_command_large(int argc, char **argv);     /* large/command.c */
int ftc_command_sweep(int argc, char **argv);     /* timed/sweep_command.c */

/* What each of them says of itself. */
extern const struct ftc_usage ftc_run_usage, ftc_explore_usage, ftc_storm_usage, ftc_replay_usage,
    ftc_reach_usage, ftc_broadcast_usage, ftc_gossip_usage, ftc_nodes_usage, ftc_large_usage,
    ftc_sweep_usage;

struct ftc_sim_command {
    const char *name;
    int (*main)(int argc, char **argv);
    const struct ftc_usage *usage;
    const char *summary;
};
extern const struct ftc_sim_command ftc_sim_commands[]; /* ends with a NULL name */

#endif
