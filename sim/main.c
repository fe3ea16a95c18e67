/* ftcoll-sim: the product's protocol code on a virtual machine of any size. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/wrap.h"
#include "include/ftcoll.h"
#include "sim/options.h"

static void print_usage(const void *arg, FILE *out)
{
    (void)arg;
    fputs("usage: ftcoll-sim [options] OPERATION...\n"
          "       ftcoll-sim COMMAND [options] [OPERATION...]\n\n",
          out);
    for (const struct ftc_sim_command *command = ftc_sim_commands; command->name != NULL; command++)
        fprintf(out, "  %-9s  %s\n", command->name, command->summary);
    fputs("\nftcoll-sim COMMAND --help explains its options. Operations: allreduce, reduce, bcast, "
          "barrier, "
          "validate, allgather,\ngather, scatter, alltoall, reduce_scatter, scan, exscan, "
          "finalize.\n"
          "\n  ftcoll-sim -n 65536 -f 3 allreduce --kill 5 --seed 7\n",
          out);
}

/* Output that could not be written is an error, too: a full disk, a closed pipe. */
static int finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "ftcoll-sim: cannot write to standard output: %s\n", strerror(errno));
    return code != FTC_SIM_EXIT_OK ? code : FTC_SIM_EXIT_ERROR;
}

/* True for a word like "stomr": it is not a command, and the part before ":" or the like is not an
 * operation. */
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
    fprintf(stderr, "ftcoll-sim: \"%s\" is no operation and no command; see --help for both\n",
            word);
    return true;
}

/* A first argument that names no command begins the arguments of `run`. */
static int dispatch(int argc, char **argv)
{
    for (const struct ftc_sim_command *command = ftc_sim_commands; command->name != NULL; command++)
        if (strcmp(argv[1], command->name) == 0)
            return command->main(argc - 1, argv + 1);
    return is_unknown(argv[1]) ? FTC_SIM_EXIT_USAGE : ftc_command_run(argc, argv);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        ftc_wrap(print_usage, NULL, stderr);
        return FTC_SIM_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        ftc_wrap(print_usage, NULL, stdout);
        return finish(FTC_SIM_EXIT_OK);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("ftcoll-sim %s\n", ftc_version());
        return finish(FTC_SIM_EXIT_OK);
    }
    return finish(dispatch(argc, argv));
}
