/*
 * The command lines of ftcoll-sim. All commands share the options for the communicator, the
 * operations and the seed; each command has a table of its own options. The parser and --help use
 * these tables.
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

/* What the options common to all commands set: -n, -f, --ops, --seed, --config FILE, --set
 * section.key=value, and short forms of settings: --scheme, --dissemination, --correction and
 * more. */
struct ftc_setup {
    /* every key of the configuration, and where its value came from */
    struct ftc_settings settings;
    /* of every member, except self; without -n see ftc_config_fit() */
    struct ftc_member_settings member;
    struct ftc_program program;
    struct ftc_flips flips; /* `member` points to them, if there are any */
    const char *ops;        /* as given; NULL: not given */
    uint64_t seed;
    bool seed_given, ranks_given, f_given;
};

/* One option of a command. `take` gets the command's own struct. It returns 0, or FTC_ERR_ARG with
 * a message. An option hides a common option of the same name ("ranks" is -n, "masked" is -f). */
struct ftc_option {
    const char *name;
    char letter;          /* 0: none */
    const char *argument; /* NULL: a flag; `take` then gets NULL */
    const char *help;
    int (*take)(void *command, const char *text);
};

struct ftc_usage {
    const char *synopsis; /* "ftcoll-sim [options] OPERATION..." */
    const char *summary;  /* what the command does, one or more lines */
    const char *examples; /* lines, each indented by two */
    /* the command's own options; a NULL name ends them; NULL: none */
    const struct ftc_option *option;
    int most_ranks; /* upper limit of -n; 0: 1048576 */
    bool seedless;  /* nothing is random, so there is no --seed */
    bool alone; /* takes no communicator: --help does not offer one, and the command refuses it */
};

#define FTC_SETUP_FRAGMENT 4096 /* bytes in a datagram, unless --fragment says otherwise */

enum ftc_parsed { FTC_PARSED_RUN, FTC_PARSED_HELP, FTC_PARSED_VERSION };

/* Read argv[1..]. An argument that is not an option is an operation, and is appended to --ops.
 * FTC_ERR_ARG or FTC_ERR_CONFIG, with cause and remedy in ftc_last_error(). fini() is legal for a
 * zeroed struct and after an error. */
int ftc_setup_parse(struct ftc_setup *setup, const struct ftc_usage *usage, void *command, int argc,
                    char **argv, enum ftc_parsed *parsed);
void ftc_setup_fini(struct ftc_setup *setup);
/* The start of every command: parse the command line, and answer --help, --version and errors.
 * True: go on, and call fini() later. False: return *code. */
bool ftc_setup_begin(struct ftc_setup *setup, const struct ftc_usage *usage, void *command,
                     int argc, char **argv, int *code);
void ftc_setup_help(const struct ftc_usage *usage, FILE *out);
/* The i-th common option that --help of a command offers. False: there is none. */
bool ftc_setup_common(const struct ftc_usage *usage, int i, struct ftc_option_text *text);
/* The option for a key "section.key" of this length. NULL: only --set can set the key. */
const char *ftc_setup_option(const char *key, size_t length);
/* The options that give this communicator and program again, for a replay line: "-n 4 -f 1 --scheme
 * bit --ops ...". Values that equal the defaults are left out. malloc'ed; NULL: out of memory. In
 * options_format.c. */
char *ftc_setup_format(const struct ftc_member_settings *settings,
                       const struct ftc_program *program);

/* Read a number, for `take` functions. FTC_ERR_ARG names the option if the text is not a number, or
 * if the number is out of range. */
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
        4, /* explore reached a limit before it found a violation or a proof */
};

/* The commands. argv[0] is the name of the command. Each returns an exit code. */
int ftc_command_run(int argc, char **argv);           /* timed/run.c */
int ftc_command_explore(int argc, char **argv);       /* explore/command.c */
int ftc_command_storm(int argc, char **argv);         /* storm/command.c */
int ftc_command_replay(int argc, char **argv);        /* replay.c */
int ftc_command_reach(int argc, char **argv);         /* reach/command.c */
int ftc_command_broadcast(int argc, char **argv);     /* figures/command.c */
int ftc_command_gossip(int argc, char **argv);        /* gossip/command.c */
int ftc_command_nodes(int argc, char **argv);         /* nodes/command.c */
int ftc_command_large(int argc, char **argv);         /* large/command.c */
int ftc_command_messages(int argc, char **argv);      /* point_to_point/command.c */
int ftc_command_communicators(int argc, char **argv); /* communicators/command.c */
int ftc_command_sweep(int argc, char **argv);         /* timed/sweep_command.c */

/* Synopsis, help and options of each command. */
extern const struct ftc_usage ftc_run_usage, ftc_explore_usage, ftc_storm_usage, ftc_replay_usage,
    ftc_reach_usage, ftc_broadcast_usage, ftc_gossip_usage, ftc_nodes_usage, ftc_large_usage,
    ftc_messages_usage, ftc_communicators_usage, ftc_sweep_usage;

struct ftc_sim_command {
    const char *name;
    int (*main)(int argc, char **argv);
    const struct ftc_usage *usage;
    const char *summary;
};
extern const struct ftc_sim_command ftc_sim_commands[]; /* a NULL name ends it */

#endif
