/* Prints texts, lists of options and lists of settings as scdoc. */
#include "man/scdoc.h"

#include <string.h>

#include "man/programs.h"

#define LINE_SIZE       256
#define COMMAND_COLUMNS 66 /* fits a page of 80 columns, with room for a backslash */

void ftc_scdoc_text(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (strchr("\\*_`#.+[]|-", *text) != NULL)
            fputc('\\', out);
        fputc(*text, out);
    }
}

void ftc_scdoc_bold(const char *text, FILE *out)
{
    fputc('*', out);
    ftc_scdoc_text(text, out);
    fputc('*', out);
}

/* Print an item of a list, "name,name  what they are". An item of names alone takes one line. */
static void print_item(const char *line, FILE *out)
{
    const char *gap = strstr(line, "  ");
    char names[LINE_SIZE];

    snprintf(names, sizeof(names), "%.*s", gap != NULL ? (int)(gap - line) : (int)strlen(line),
             line);
    ftc_scdoc_bold(names, out);
    if (gap != NULL) {
        fputs("\n\t", out);
        ftc_scdoc_text(gap + strspn(gap, " "), out);
    }
    fputs("\n\n", out);
}

/* Take the next line from *lines, without its leading blanks. Returns false if there is none. */
static bool next_line(const char **lines, char line[LINE_SIZE], bool *indented)
{
    size_t length = strcspn(*lines, "\n"), blanks = strspn(*lines, " ");

    if (**lines == '\0')
        return false;
    *indented = blanks > 0;
    snprintf(line, LINE_SIZE, "%.*s", (int)(length - blanks), *lines + blanks);
    *lines += length + ((*lines)[length] == '\n');
    return true;
}

void ftc_scdoc_lines(const char *lines, FILE *out)
{
    char line[LINE_SIZE];
    bool indented, before = false;

    while (next_line(&lines, line, &indented)) {
        if (indented && !before)
            fputc('\n', out);
        before = indented;
        if (indented) {
            print_item(line, out);
        } else {
            ftc_scdoc_text(line, out);
            fputc('\n', out);
        }
    }
    fputc('\n', out);
}

/* In a literal block only the backslash has a meaning. */
static void print_command(char *line, FILE *out)
{
    size_t column = 0;
    char *rest = line;

    for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        size_t length = strlen(word);
        if (column > 0 && column + 1 + length > COMMAND_COLUMNS) {
            fputs(" \\\\\n    ", out);
            column = 4;
        } else if (column > 0) {
            fputc(' ', out);
            column++;
        }
        fputs(word, out);
        column += length;
    }
    fputc('\n', out);
}

void ftc_scdoc_commands(const char *lines, FILE *out)
{
    char line[LINE_SIZE];
    bool indented;

    fputs("```\n", out);
    while (next_line(&lines, line, &indented))
        print_command(line, out);
    fputs("```\n\n", out);
}

static void print_name(const char *dashes, const char *name, const char *argument, FILE *out)
{
    char word[64];

    snprintf(word, sizeof(word), "%s%s", dashes, name);
    ftc_scdoc_bold(word, out);
    if (argument == NULL)
        return;
    fputs(" _", out);
    ftc_scdoc_text(argument, out);
    fputc('_', out);
}

static void print_allowed(const struct ftc_config_key *key, const char *const *more, FILE *out)
{
    char allowed[128];

    ftc_scdoc_text(ftc_config_allowed(key, allowed, sizeof(allowed)), out);
    for (; more != NULL && *more != NULL; more++) {
        fputs(", ", out);
        ftc_scdoc_text(*more, out);
    }
    if (key->fallback[0] != '\0') {
        fputs("; default ", out);
        ftc_scdoc_bold(key->fallback, out);
    } else if (key->type == FTC_CONFIG_STRING) {
        fputs("; default empty", out);
    }
}

void ftc_scdoc_option(const struct ftc_option_text *option, const char *single, FILE *out)
{
    const struct ftc_config_key *key = option->key != NULL ? ftc_man_key(option->key) : NULL;
    char letter[2] = {option->letter, '\0'};
    bool one = single != NULL && option->name != NULL && strcmp(option->name, single) == 0;

    if (option->letter != 0)
        print_name("-", letter, option->argument, out);
    if (option->letter != 0 && option->name != NULL)
        fputs(", ", out);
    if (option->name != NULL)
        print_name(one ? "-" : "--", option->name, option->argument, out);
    fputs("\n\t", out);
    ftc_scdoc_text(option->help != NULL ? option->help : ftc_config_help(key), out);
    fputs("\n\n", out);
    if (option->help != NULL || key == NULL)
        return;
    fputs("\tSets ", out);
    ftc_scdoc_bold(option->key, out);
    fputs(": ", out);
    print_allowed(key, option->words, out);
    fputs(".\n\n", out);
}

static void print_key(const struct ftc_config_key *key, FILE *out)
{
    ftc_scdoc_bold(key->key, out);
    fputs("\n\t", out);
    ftc_scdoc_text(ftc_config_help(key), out);
    fputs("\n\n\tAllowed: ", out);
    print_allowed(key, NULL, out);
    fputs(".\n\n", out);
}

static void print_alias(FILE *out)
{
    print_key(&ftc_config_alias, out);
    for (int i = 0; ftc_config_alias.names[i] != NULL; i++) {
        fputs("\t- ", out);
        ftc_scdoc_bold(ftc_config_alias.names[i], out);
        fputs(": dissemination ", out);
        ftc_scdoc_text(ftc_config_combinations[i].dissemination, out);
        fputs(", correction ", out);
        ftc_scdoc_text(ftc_config_combinations[i].correction, out);
        fputc('\n', out);
    }
    fputc('\n', out);
}

void ftc_scdoc_keys(FILE *out)
{
    const char *section = "";

    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        const struct ftc_config_key *key = &ftc_config_schema[i];
        if (strcmp(key->section, section) != 0) {
            section = key->section;
            fprintf(out, "## [%s]\n\n", section);
            if (strcmp(section, ftc_config_alias.section) == 0)
                print_alias(out);
        }
        print_key(key, out);
    }
}
