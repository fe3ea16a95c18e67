/* ftcoll-sim: the product's protocol code on a virtual machine of any size. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "include/ftcoll.h"
#include "sim/options.h"

struct command {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *summary;
};

static const struct command commands[] = {
    {"run", ftc_command_run, "one run under a cost model: latency, messages, retries (the default)"},
    {"explore", ftc_command_explore, "every interleaving and every crash point of a few ranks"},
    {"storm", ftc_command_storm, "random communicators, operations, deaths and schedules by the million"},
    {"replay", ftc_command_replay, "one run again, exactly, from the line that storm or explore printed"},
    {"reach", ftc_command_reach, "what each way to broadcast promises without a detector, at random"},
    {"broadcast", ftc_command_broadcast, "a table and figures of each way to broadcast without a detector"},
    {"gossip", ftc_command_gossip,
     "aggregation by gossip: messages and errors, with loss, deaths and flipped bits"},
    {"nodes", ftc_command_nodes, "random storms of nodes that are cut off, paused and die, with leases"},
    {"large", ftc_command_large, "random deaths during large allreduces, and what commits them"},
    {"sweep", ftc_command_sweep, "a table of latency and messages over sizes, f, deaths and cost models"},
};
#define COMMANDS ((int)(sizeof(commands) / sizeof(commands[0])))

static void print_usage(FILE *out)
{
    fputs("usage: ftcoll-sim [options] OPERATION...\n"
          "       ftcoll-sim COMMAND [options] [OPERATION...]\n\n",
          out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\nftcoll-sim COMMAND --help explains its options. Operations: allreduce, reduce, bcast, barrier, "
          "validate, finalize.\n"
          "\n  ftcoll-sim -n 65536 -f 3 allreduce --kill 5 --seed 7\n",
          out);
}

/* Output that did not arrive is an error too: a full disk, a closed pipe. */
static int finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "ftcoll-sim: cannot write to standard output: %s\n", strerror(errno));
    return code != FTC_SIM_EXIT_OK ? code : FTC_SIM_EXIT_ERROR;
}

/* "stomr": neither a command nor, before ":" and the like, an operation. */
static bool is_unknown(const char *word)
{
    struct ftc_program program;
    size_t length = strcspn(word, ",:*");
    char name[32];

    if (word[0] == '-' || word[0] == '\0')
        return false;
    snprintf(name, sizeof(name), "%.*s", (int)length, word);
    if (length < sizeof(name) && ftc_program_parse(&program, name, 1) == 0) {
        ftc_program_fini(&program);
        return false;
    }
    fprintf(stderr, "ftcoll-sim: \"%s\" is no operation and no command; see --help for both\n", word);
    return true;
}

/* What names no command is the beginning of a run. */
static int dispatch(int argc, char **argv)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].main(argc - 1, argv + 1);
    return is_unknown(argv[1]) ? FTC_SIM_EXIT_USAGE : ftc_command_run(argc, argv);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return FTC_SIM_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_usage(stdout);
        return finish(FTC_SIM_EXIT_OK);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("ftcoll-sim %s\n", ftc_version());
        return finish(FTC_SIM_EXIT_OK);
    }
    return finish(dispatch(argc, argv));
}
