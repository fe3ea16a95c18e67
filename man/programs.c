/* The table of options of each program, and the settings by name. */
#include "man/programs.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "cli/perf/options.h"
#include "launcher/options.h"
#include "sim/options.h"

static bool run_option(int i, struct ftc_option_text *text)
{
    return ftc_man_sim_option(0, i, text);
}

const struct ftc_man_program ftc_man_programs[] = {
    {"ftrun", ftc_command_option, "np"},
    {"ftcoll-status", ftc_status_option, NULL},
    {"ftcoll-perf", ftc_perf_option, NULL},
    {"ftcoll-sim", run_option, NULL},
    {NULL, NULL, NULL},
};

bool ftc_man_sim_option(int n, int i, struct ftc_option_text *text)
{
    const struct ftc_usage *usage = ftc_sim_commands[n].usage;
    int own = 0;

    while (usage->option != NULL && usage->option[own].name != NULL)
        own++;
    if (i >= own)
        return ftc_setup_common(usage, i - own, text);
    const struct ftc_option *option = &usage->option[i];
    *text = (struct ftc_option_text){.name = option->name,
                                     .letter = option->letter,
                                     .argument = option->argument,
                                     .help = option->help};
    return true;
}

static bool has_name(const struct ftc_config_key *key, const char *name)
{
    char text[64];

    snprintf(text, sizeof(text), "%s.%s", key->section, key->key);
    return strcmp(text, name) == 0;
}

const struct ftc_config_key *ftc_man_key(const char *name)
{
    if (has_name(&ftc_config_alias, name))
        return &ftc_config_alias;
    for (size_t i = 0; i < ftc_config_schema_size; i++)
        if (has_name(&ftc_config_schema[i], name))
            return &ftc_config_schema[i];
    assert(!"a key that the schema does not have");
    return NULL;
}
