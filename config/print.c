/* Settings as text, for the ranks (dump, load) and for people (print). */
#include "config/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "config/value.h"

#define LOADED_FROM "launcher"

char *ftc_settings_dump(const struct ftc_settings *settings)
{
    char *text = NULL, value[FTC_CONFIG_TEXT];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        const struct ftc_config_key *key = &ftc_config_schema[i];
        fprintf(out, "%s.%s=%s\n", key->section, key->key,
                ftc_config_format(key, &settings->value, value, sizeof(value)));
    }
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

/* `line` is a line of a dump, without its newline. */
static int load_line(struct ftc_settings *settings, const char *line, size_t size)
{
    char *copy = strndup(line, size);
    if (copy == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory while reading the settings");
    int rc = ftc_settings_set(settings, copy, LOADED_FROM);
    free(copy);
    return rc;
}

/* A dump names every key. If one is missing, the dump was cut or is of another version. */
static int check_complete(const struct ftc_settings *settings)
{
    for (size_t i = 0; i < ftc_config_schema_size; i++)
        if (settings->source[i] == NULL)
            return ftc_error_set(
                FTC_ERR_CONFIG,
                "%s: %s.%s is missing: use a launcher and a library of the same version",
                LOADED_FROM, ftc_config_schema[i].section, ftc_config_schema[i].key);
    return FTC_SUCCESS;
}

int ftc_settings_load(struct ftc_settings *settings, const char *text)
{
    struct ftc_settings loaded = {0};
    int rc = FTC_SUCCESS;
    while (rc == FTC_SUCCESS && *text != '\0') {
        const char *end = strchrnul(text, '\n');
        rc = load_line(&loaded, text, (size_t)(end - text));
        text = *end != '\0' ? end + 1 : end;
    }
    if (rc == FTC_SUCCESS)
        rc = check_complete(&loaded);
    return ftc_settings_conclude(settings, &loaded, rc);
}

/* A source can hold any character that a path can hold. A newline would end the comment. */
static void print_source(const char *source, FILE *out)
{
    for (; *source != '\0'; source++)
        fputc((unsigned char)*source < 0x20 ? '?' : *source, out);
}

bool ftc_settings_named(const struct ftc_settings *settings, size_t index)
{
    return strcmp(settings->source[index], "default") != 0;
}

bool ftc_settings_chosen(const struct ftc_settings *settings, size_t index)
{
    const struct ftc_config_key *key = &ftc_config_schema[index];
    char text[FTC_CONFIG_TEXT], fallback[FTC_CONFIG_TEXT];
    struct ftc_config defaults = {0};

    if (!ftc_settings_named(settings, index) || settings->common[index] ||
        ftc_config_parse(key, key->fallback, "default", &defaults) != FTC_SUCCESS)
        return false;
    ftc_config_format(key, &settings->value, text, sizeof(text));
    ftc_config_format(key, &defaults, fallback, sizeof(fallback));
    return strcmp(text, fallback) != 0;
}

static void print_key(const struct ftc_settings *settings, size_t index, const char *idle,
                      FILE *out)
{
    const struct ftc_config_key *key = &ftc_config_schema[index];
    char text[FTC_CONFIG_TEXT];
    fprintf(out, "\n# %s\n", ftc_config_help(key));
    fprintf(out, "# Allowed: %s. ", ftc_config_allowed(key, text, sizeof(text)));
    fprintf(out, "Default: %s. Variable: ", key->fallback[0] != '\0' ? key->fallback : "empty");
    fprintf(out, "%s. Set by: ", ftc_config_variable(key, text, sizeof(text)));
    print_source(settings->source[index], out);
    if (settings->lock[index] != NULL) {
        fputs(". Locked by: ", out);
        print_source(settings->lock[index], out);
    }
    if (idle != NULL)
        fprintf(out, "\n# No effect in this job: %s.", idle);
    ftc_config_format(key, &settings->value, text, sizeof(text));
    fprintf(out, "\n%s =%s%s\n", key->key, text[0] != '\0' ? " " : "", text);
}

/* The alias appears in a comment only, because the file has its two keys. */
static void print_alias(FILE *out)
{
    char variable[FTC_CONFIG_TEXT];
    fprintf(out, "# %s = NAME: %s\n", ftc_config_alias.key, ftc_config_help(&ftc_config_alias));
    for (size_t i = 0; ftc_config_alias.names[i] != NULL; i++)
        fprintf(out, "#   %s: %s, %s\n", ftc_config_alias.names[i],
                ftc_config_combinations[i].dissemination, ftc_config_combinations[i].correction);
    fprintf(out, "# Variable: %s\n",
            ftc_config_variable(&ftc_config_alias, variable, sizeof(variable)));
}

static bool is_shown(const struct ftc_settings *settings, size_t index)
{
    return ftc_config_schema[index].common || settings->lock[index] != NULL ||
           ftc_settings_named(settings, index);
}

void ftc_settings_print(const struct ftc_settings *settings, bool all, ftc_settings_idle_fn *idle,
                        void *arg, FILE *out)
{
    const char *section = "";
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        if (!all && !is_shown(settings, i))
            continue;
        if (strcmp(section, ftc_config_schema[i].section) != 0) {
            bool first = section[0] == '\0';
            section = ftc_config_schema[i].section;
            fprintf(out, "%s[%s]\n", !first ? "\n" : "", section);
            if (strcmp(section, ftc_config_alias.section) == 0)
                print_alias(out);
        }
        bool asks = idle != NULL && ftc_settings_named(settings, i);
        print_key(settings, i, asks ? idle(ftc_config_schema[i].need, arg) : NULL, out);
    }
}
