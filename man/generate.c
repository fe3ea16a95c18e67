/* Prints what the manual pages and the completion take from the tables in the code:
 *
 *   generate PROGRAM       the options of a program, as scdoc
 *   generate keys          the settings, as scdoc
 *   generate completion    the tables of the bash completion
 */
#include <stdio.h>
#include <string.h>

#include "man/completion.h"
#include "man/programs.h"
#include "man/scdoc.h"
#include "sim/options.h"

static void print_options(const struct ftc_man_program *program)
{
    struct ftc_option_text option;

    for (int i = 0; program->option(i, &option); i++)
        ftc_scdoc_option(&option, program->single, stdout);
}

/* Print which of the common options a command takes. */
static void print_common_of(const struct ftc_usage *usage)
{
    if (usage->alone)
        puts("Of the common options it takes *--seed*, *--help* and *--version* alone.\n");
    else if (usage->seedless)
        puts("Nothing is random: it takes no *--seed*.\n");
    if (usage->most_ranks > 0)
        printf("At most %d ranks.\n\n", usage->most_ranks);
}

static void print_command(int n)
{
    const struct ftc_sim_command *command = &ftc_sim_commands[n];
    const struct ftc_option *own = command->usage->option;
    struct ftc_option_text option;

    printf("## %s\n\n", command->name);
    ftc_scdoc_bold(command->usage->synopsis, stdout);
    fputs("\n\n", stdout);
    ftc_scdoc_lines(command->usage->summary, stdout);
    print_common_of(command->usage);
    for (int i = 0; own != NULL && own[i].name != NULL && ftc_man_sim_option(n, i, &option); i++)
        ftc_scdoc_option(&option, NULL, stdout);
    if (command->usage->examples != NULL)
        fputs("Examples:\n\n", stdout);
    if (command->usage->examples != NULL)
        ftc_scdoc_commands(command->usage->examples, stdout);
}

static void print_sim(void)
{
    static const struct ftc_usage any;
    struct ftc_option_text option;

    fputs("# COMMON OPTIONS\n\n"
          "They describe the communicator, and set what *ftcoll.ini*(5) describes. An option that "
          "a command "
          "has of "
          "its own hides the common one of the same name.\n\n",
          stdout);
    for (int i = 0; ftc_setup_common(&any, i, &option); i++)
        ftc_scdoc_option(&option, NULL, stdout);
    fputs("# COMMANDS\n\n", stdout);
    for (int i = 0; ftc_sim_commands[i].name != NULL; i++)
        print_command(i);
}

static bool generate(const char *what)
{
    const struct ftc_man_program *program = ftc_man_programs;

    while (program->name != NULL && strcmp(what, program->name) != 0)
        program++;
    if (strcmp(what, "keys") == 0)
        ftc_scdoc_keys(stdout);
    else if (strcmp(what, "completion") == 0)
        ftc_completion_print(stdout);
    else if (strcmp(what, "ftcoll-sim") == 0)
        print_sim();
    else if (program->name != NULL)
        print_options(program);
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 2 || !generate(argv[1])) {
        fputs("usage: generate ftrun|ftcoll-status|ftcoll-perf|ftcoll-sim|keys|completion\n",
              stderr);
        return 2;
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
