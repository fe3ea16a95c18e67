/* Replay lines: finds the options that give a communicator and its program. */
#include "sim/options.h"

#include <stdlib.h>
#include <string.h>

/* Write auto for a value that auto would choose. */
static void unmap_choices(struct ftc_config *c, const struct ftc_member_settings *member)
{
    bool gossip = member->dissemination == FTC_DISSEMINATION_GOSSIP;

    c->dissemination = FTC_CONFIG_DISSEMINATION_AUTO;
    if (member->dissemination != FTC_DISSEMINATION_TREE)
        c->dissemination = (enum ftc_config_dissemination)(member->dissemination + 1);
    c->correction = FTC_CONFIG_CORRECTION_AUTO;
    if (ftc_config_member(c, member->ranks, 0).correction != member->correction)
        c->correction = (enum ftc_config_correction)(member->correction + 1);
    /* A shrunk storm has fewer ranks than its rounds were chosen for. Without gossip rounds have no
     * effect. */
    c->gossip_rounds = 0;
    if (gossip && ftc_config_member(c, member->ranks, 0).gossip_rounds != member->gossip_rounds)
        c->gossip_rounds = member->gossip_rounds;
    c->distance = 0;
    if (ftc_config_member(c, member->ranks, 0).distance != member->distance)
        c->distance = member->distance;
}

static void unmap_settings(struct ftc_config *c, const struct ftc_member_settings *member)
{
    c->f = member->f;
    c->scheme = member->scheme;
    c->share = member->share;
    c->rotation = member->rotation;
    c->reduce_arity = member->reduce_arity;
    c->reduce_direct = member->direct;
    c->reduce_doubling = member->doubling;
    c->reduce_take = member->take;
    c->tree = member->tree.tree;
    c->arity = member->tree.arity;
    c->correction_delay_us = (int64_t)(member->correction_delay_ns / 1000);
    c->patience_us = (int64_t)(member->patience_ns / 1000);
    c->gossip_bound = member->gossip_bound;
    c->gossip_hop = member->gossip_hop;
    c->broadcast_seed = (int64_t)member->seed;
    c->multicast_least_ranks = member->multicast_least;
    c->multicast_most_bytes = (int64_t)member->multicast_most;
    c->settle_every = member->settle_every;
    c->prepare = member->prepare;
    c->integrity = member->integrity;
    if (member->flips != NULL)
        ftc_flips_format(member->flips, c->drill_flip, sizeof(c->drill_flip));
    unmap_choices(c, member);
}

/* Print a line "section.key=value" of a dump as an option. */
static void print_setting(const char *line, size_t length, FILE *out)
{
    size_t key = strcspn(line, "=");
    const char *option = ftc_setup_option(line, key);

    if (option != NULL)
        fprintf(out, " --%s %.*s", option, (int)(length - key - 1), line + key + 1);
    else
        fprintf(out, " --set %.*s", (int)length, line);
}

static const char *next_line(const char *line)
{
    return strchr(line, '\n') + 1;
}

/* Both dumps have the same keys, one per line. The first key, job.f, is -f. */
static void print_differences(const char *standard, const char *given, FILE *out)
{
    for (standard = next_line(standard), given = next_line(given); *given != '\0';
         standard = next_line(standard), given = next_line(given)) {
        size_t before = strcspn(standard, "\n"), after = strcspn(given, "\n");
        if (before != after || strncmp(standard, given, after) != 0)
            print_setting(given, after, out);
    }
}

char *ftc_setup_format(const struct ftc_member_settings *settings,
                       const struct ftc_program *program)
{
    struct ftc_settings values = {0};
    char *text = NULL, *standard = NULL, *given = NULL;
    size_t size = 0;
    char *ops = ftc_program_format(program);
    FILE *out = open_memstream(&text, &size);

    if (ops != NULL && out != NULL && ftc_settings_init(&values) == 0) {
        standard = ftc_settings_dump(&values);
        unmap_settings(&values.value, settings);
        given = ftc_settings_dump(&values);
    }
    if (standard != NULL && given != NULL) {
        fprintf(out, "-n %d -f %d", settings->ranks, settings->f);
        print_differences(standard, given, out);
        if (settings->fragment != FTC_SETUP_FRAGMENT)
            fprintf(out, " --fragment %u", settings->fragment);
        if (ops[0] != '\0')
            fprintf(out, strchr(ops, '*') != NULL ? " --ops '%s'" : " --ops %s", ops);
    }
    bool good = out != NULL && fclose(out) == 0 && standard != NULL && given != NULL;
    free(standard);
    free(given);
    free(ops);
    ftc_settings_fini(&values);
    if (good)
        return text;
    free(text);
    return NULL;
}
