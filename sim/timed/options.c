/* The options of runs in virtual time. */
#include "sim/timed/options.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define BYTES_MAX   (UINT64_C(1) << 40)
#define TIME_MAX_NS 1e12 /* 17 minutes */

int ftc_timed_read_time(const char *option, const char *text, uint64_t *out)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    double number = strtod(text, &end);

    for (size_t i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++) {
        double ns = number * units[i].ns;
        if (strcmp(end, units[i].unit) != 0 || !(ns >= 0 && ns <= TIME_MAX_NS))
            continue;
        *out = (uint64_t)llround(ns);
        return 0;
    }
    return ftc_error_set(
        FTC_ERR_ARG,
        "%s %s: not a time of at most 1000 s; give one such as 800ns, 1.5us, 2ms or 1s", option,
        text);
}

/* "1us" or "1us..8ms". Changes `word`. */
static int read_lengths(char *word, uint64_t lengths[], int most, int *count)
{
    char *dots = strstr(word, "..");
    uint64_t first = 0, last;

    if (dots != NULL)
        *dots = '\0';
    int rc = ftc_timed_read_time("--stall", word, &first);
    last = first;
    if (rc == 0 && dots != NULL)
        rc = ftc_timed_read_time("--stall", dots + 2, &last);
    if (rc == 0 && (first == 0 || last < first))
        return ftc_error_set(FTC_ERR_ARG, "--stall %s: a stall has a length, and a range goes up",
                             word);
    for (uint64_t length = first; rc == 0 && length <= last; length *= 2) {
        if (*count == most)
            return ftc_error_set(FTC_ERR_ARG, "--stall: give at most %d length%s", most,
                                 most == 1 ? "" : "s");
        lengths[(*count)++] = length;
    }
    return rc;
}

int ftc_timed_read_stall(const char *text, struct ftc_timed_settings *settings, uint64_t lengths[],
                         int most, int *count)
{
    char rank[16] = "", at[32] = "", list[256] = "", *rest = list, *word;
    uint64_t number = 0;

    if (sscanf(text, "%15[0-9]@%31[^:]:%255s", rank, at, list) != 3)
        return ftc_error_set(FTC_ERR_ARG, "--stall %s: not RANK@TIME:LENGTH, such as 1@2us:5ms",
                             text);
    int rc = ftc_option_number("--stall", rank, 0, INT32_MAX, &number);
    if (rc == 0)
        rc = ftc_timed_read_time("--stall", at, &settings->stall_at_ns);
    *count = 0;
    while (rc == 0 && (word = strsep(&rest, ",")) != NULL)
        rc = read_lengths(word, lengths, most, count);
    settings->stall_rank = (int)number;
    settings->stall_ns = rc == 0 ? lengths[0] : 0;
    return rc;
}

static struct ftc_timed_settings *settings_of(void *command)
{
    return &((struct ftc_timed_options *)command)->timed;
}

int ftc_timed_take_bytes(void *command, const char *text)
{
    return ftc_option_number("--bytes", text, 0, BYTES_MAX, &settings_of(command)->bytes);
}

int ftc_timed_take_topology(void *command, const char *text)
{
    return ftc_distance_parse(&settings_of(command)->distance, text);
}

int ftc_timed_take_hop(void *command, const char *text)
{
    return ftc_timed_read_time("--hop", text, &settings_of(command)->distance.hop_ns);
}

int ftc_timed_take_think(void *command, const char *text)
{
    return ftc_timed_read_time("--think", text, &settings_of(command)->think_ns);
}

int ftc_timed_take_detect(void *command, const char *text)
{
    ((struct ftc_timed_options *)command)->detect_given = true;
    return ftc_timed_read_time("--detect", text, &settings_of(command)->detect_ns);
}

int ftc_timed_take_jitter(void *command, const char *text)
{
    ((struct ftc_timed_options *)command)->jitter_given = true;
    return ftc_timed_read_time("--jitter", text, &settings_of(command)->jitter_ns);
}

int ftc_timed_take_victims(void *command, const char *text)
{
    for (enum ftc_victims victims = FTC_VICTIMS_ANY; victims <= FTC_VICTIMS_LAST_GROUP; victims++)
        if (strcmp(text, ftc_victims_name(victims)) == 0) {
            settings_of(command)->victims = victims;
            return 0;
        }
    return ftc_error_set(
        FTC_ERR_ARG, "--kill-kind %s: not known; give any, others, coordinator, head or last-group",
        text);
}

int ftc_timed_take_when(void *command, const char *text)
{
    bool start = strcmp(text, "start") == 0;

    if (!start && strcmp(text, "run") != 0)
        return ftc_error_set(FTC_ERR_ARG, "--kill-at %s: not known; give start or run", text);
    settings_of(command)->at_start = start;
    return 0;
}

int ftc_timed_take_burst(void *command, const char *text)
{
    (void)text;
    settings_of(command)->burst = true;
    return 0;
}

void ftc_timed_options_init(struct ftc_timed_options *options)
{
    *options = (struct ftc_timed_options){.timed = {.bytes = 8, .distance = {.hop_ns = 150}}};
}

/* If only --detect is given, there is no jitter. */
struct ftc_timed_settings ftc_timed_options_settings(const struct ftc_timed_options *options,
                                                     const struct ftc_cost *cost, uint64_t seed)
{
    struct ftc_timed_settings settings = options->timed;

    settings.cost = *cost;
    settings.seed = seed;
    if (!options->detect_given)
        settings.detect_ns = (uint64_t)llround(cost->detect);
    if (!options->jitter_given && !options->detect_given)
        settings.jitter_ns = (uint64_t)llround(cost->jitter);
    return settings;
}

void ftc_timed_options_write(const struct ftc_timed_settings *settings, FILE *out)
{
    const struct ftc_cost *c = &settings->cost;
    const struct ftc_distance_settings *d = &settings->distance;

    fprintf(out,
            " --seed %" PRIu64 " --cost L=%.15g,o=%.15g,g=%.15g,G=%.15g,c=%.15g --bytes %" PRIu64,
            settings->seed, c->L, c->o, c->g, c->G, c->c, settings->bytes);
    if (d->kind == FTC_DISTANCE_FAT_TREE)
        fprintf(out, " --topology fat-tree:%d", d->radix);
    else if (d->kind != FTC_DISTANCE_FLAT)
        fprintf(out, " --topology %s", ftc_distance_name(d->kind));
    if (d->kind != FTC_DISTANCE_FLAT)
        fprintf(out, " --hop %" PRIu64 "ns", d->hop_ns);
    if (settings->think_ns > 0)
        fprintf(out, " --think %" PRIu64 "ns", settings->think_ns);
    if (settings->stall_ns > 0)
        fprintf(out, " --stall %d@%" PRIu64 "ns:%" PRIu64 "ns", settings->stall_rank,
                settings->stall_at_ns, settings->stall_ns);
    if (settings->kills > 0)
        fprintf(out, " --kill %d --kill-kind %s%s%s --detect %" PRIu64 "ns --jitter %" PRIu64 "ns",
                settings->kills, ftc_victims_name(settings->victims),
                settings->at_start ? " --kill-at start" : "", settings->burst ? " --burst" : "",
                settings->detect_ns, settings->jitter_ns);
}
