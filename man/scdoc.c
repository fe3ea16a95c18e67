#include "man/scdoc.h"

#include <string.h>

#include "man/programs.h"

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

/* Where a backslash alone has a meaning. */
static void print_literal(const char *text, FILE *out)
{
    for (; *text != '\0'; text++)
        fputs(*text == '\\' ? "\\\\" : (char[]){*text, '\0'}, out);
}

void ftc_scdoc_lines(const char *lines, FILE *out)
{
    bool literal = false;

    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        bool blank = *lines == ' ';
        char line[256];
        snprintf(line, sizeof(line), "%.*s", (int)length, lines);
        if (blank != literal)
            fputs(blank ? "\n```\n" : "```\n\n", out);
        literal = blank;
        if (literal)
            print_literal(line, out);
        else
            ftc_scdoc_text(line, out);
        fputc('\n', out);
        lines += length + (lines[length] == '\n');
    }
    fputs(literal ? "```\n\n" : "\n", out);
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
    ftc_scdoc_text(option->help != NULL ? option->help : key->help, out);
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
    ftc_scdoc_text(key->help, out);
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
