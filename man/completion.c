/* Prints the tables of options and settings as arrays of bash. */
#include "man/completion.h"

#include <ctype.h>
#include <string.h>

#include "cli/perf/operation.h"
#include "include/ftcoll.h"
#include "man/programs.h"
#include "sim/model/program.h"
#include "sim/options.h"

/* --- the values of a setting --- */

static void print_values(const struct ftc_config_key *key, FILE *out)
{
    if (key->type == FTC_CONFIG_BOOL)
        fputs("on off", out);
    for (int i = 0; key->names != NULL && key->names[i] != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", key->names[i]);
    if (key->type == FTC_CONFIG_PERCENT)
        fputs("preset", out);
}

static void print_key(const struct ftc_config_key *key, FILE *out)
{
    fprintf(out, "    [%s.%s]='", key->section, key->key);
    print_values(key, out);
    fputs("'\n", out);
}

static void print_keys(FILE *out)
{
    fputs("# Settings, and their values where these are words.\ndeclare -gA _ftcoll_key=(\n", out);
    for (size_t i = 0; i < ftc_config_schema_size; i++)
        print_key(&ftc_config_schema[i], out);
    print_key(&ftc_config_alias, out);
    fputs(")\n", out);
}

/* --- the arguments of options --- */

/* Does the argument name its words, as "none|core" does? "N|MIN-MAX" does not. */
static bool is_choice(const char *argument)
{
    for (const char *c = argument; *c != '\0'; c++)
        if (isupper((unsigned char)*c))
            return false;
    return strchr(argument, '|') != NULL;
}

static void print_choice(const char *argument, FILE *out)
{
    for (; *argument != '\0'; argument++)
        fputc(*argument == '|' ? ' ' : *argument, out);
}

static void print_argument(const struct ftc_option_text *option, FILE *out)
{
    if (strcmp(option->argument, "FILE") == 0) {
        fputs("file", out);
    } else if (strcmp(option->argument, "DIR") == 0) {
        fputs("directory", out);
    } else if (strcmp(option->argument, "SECTION.KEY=VALUE") == 0) {
        fputs("setting", out);
    } else if (strncmp(option->argument, "VAR", 3) == 0) {
        fputs("variable", out);
    } else {
        fputs("words ", out);
        if (is_choice(option->argument))
            print_choice(option->argument, out);
        if (option->key != NULL)
            print_values(ftc_man_key(option->key), out);
        for (const char *const *word = option->words; word != NULL && *word != NULL; word++)
            fprintf(out, " %s", *word);
    }
}

/* --- tables --- */

/* The name is the key of an entry in the array: a program, or "ftcoll-sim COMMAND". */
struct table {
    const char *name;
    int command; /* the command of ftcoll-sim; -1: none */
    const struct ftc_man_program *program;
};

static bool option_at(const struct table *table, int i, struct ftc_option_text *option)
{
    return table->command >= 0 ? ftc_man_sim_option(table->command, i, option)
                               : table->program->option(i, option);
}

static void print_names(const struct table *table, FILE *out)
{
    struct ftc_option_text option;

    fprintf(out, "    ['%s']='", table->name);
    for (int i = 0; option_at(table, i, &option); i++) {
        if (option.letter != 0)
            fprintf(out, "-%c ", option.letter);
        if (option.name != NULL && table->program->single != NULL &&
            strcmp(option.name, table->program->single) == 0)
            fprintf(out, "-%s ", option.name);
        if (option.name != NULL)
            fprintf(out, "--%s ", option.name);
    }
    fputs("'\n", out);
}

static void print_arguments(const struct table *table, FILE *out)
{
    struct ftc_option_text option;

    for (int i = 0; option_at(table, i, &option); i++) {
        if (option.argument == NULL)
            continue;
        if (option.letter != 0) {
            fprintf(out, "    ['%s -%c']='", table->name, option.letter);
            print_argument(&option, out);
            fputs("'\n", out);
        }
        if (option.name != NULL) {
            fprintf(out, "    ['%s --%s']='", table->name, option.name);
            print_argument(&option, out);
            fputs("'\n", out);
        }
    }
}

static void for_each_table(void (*print)(const struct table *table, FILE *out), FILE *out)
{
    char name[64];

    for (const struct ftc_man_program *program = ftc_man_programs; program->name != NULL;
         program++) {
        struct table table = {.name = program->name, .command = -1, .program = program};
        print(&table, out);
        if (strcmp(program->name, "ftcoll-sim") != 0)
            continue;
        for (int i = 0; ftc_sim_commands[i].name != NULL; i++) {
            snprintf(name, sizeof(name), "%s %s", program->name, ftc_sim_commands[i].name);
            table = (struct table){.name = name, .command = i, .program = program};
            print(&table, out);
        }
    }
}

/* Can a program of ftcoll-sim make this kind of call? Some kinds are internal. */
static bool is_call(const char *name)
{
    struct ftc_program program = {0};
    bool known = ftc_program_parse(&program, name, 1) == FTC_SUCCESS;

    ftc_program_fini(&program);
    return known;
}

static void print_words(FILE *out)
{
    fputs("declare -g _ftcoll_commands='", out);
    for (int i = 0; ftc_sim_commands[i].name != NULL; i++)
        fprintf(out, "%s ", ftc_sim_commands[i].name);
    fputs("' _ftcoll_callers='", out);
    for (int i = 0; ftc_sim_commands[i].name != NULL; i++)
        if (strstr(ftc_sim_commands[i].usage->synopsis, "OPERATION") != NULL)
            fprintf(out, "%s ", ftc_sim_commands[i].name);
    fputs("' _ftcoll_calls='", out);
    for (int kind = FTC_CALL_NONE + 1; kind < FTC_CALL_KINDS; kind++)
        if (is_call(ftc_call_kind_name(kind)))
            fprintf(out, "%s ", ftc_call_kind_name(kind));
    fputs("' _ftcoll_operations='all comm messages ", out);
    for (int i = 0; i < FTC_PERF_OPERATIONS; i++)
        fprintf(out, "%s ", ftc_perf_operations[i].name);
    fputs("'\n", out);
}

void ftc_completion_print(FILE *out)
{
    fputs("# bash completion of ftrun, ftcoll-status, ftcoll-perf and ftcoll-sim.\n# shellcheck "
          "shell=bash\n\n"
          "# Options of each program, and of each command of ftcoll-sim.\ndeclare -gA "
          "_ftcoll_option=(\n",
          out);
    for_each_table(print_names, out);
    fputs(")\n# What options take.\ndeclare -gA _ftcoll_argument=(\n", out);
    for_each_table(print_arguments, out);
    fputs(")\n", out);
    print_keys(out);
    print_words(out);
}
