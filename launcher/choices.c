/* Printing the choice of algorithms, and settings that have no effect. */
#include "launcher/choices.h"

#include <string.h>

#include "base/error.h"
#include "collectives/values/flip.h"
#include "config/value.h"
#include "node/board/level.h"
#include "runtime/choice/choice.h"
#include "runtime/choice/effect.h"

#define RANKS_DEFAULT 4
#define SIZES         4

/* Sizes of one operation, from first to last byte count, that run alike. */
struct range {
    uint64_t first, last; /* last UINT64_MAX: no end */
    enum ftc_choice_id id;
    const char *masks;
};

static struct ftc_signature signature_of(enum ftc_call_kind kind, uint64_t size)
{
    return (struct ftc_signature){
        .kind = (uint8_t)kind, .root = ftc_call_table[kind].rooted ? 0 : -1, .size = size};
}

static bool has_sizes(enum ftc_call_kind kind)
{
    return ftc_call_table[kind].reduces || ftc_call_table[kind].rooted;
}

/* The sizes at which an algorithm or what it masks may change, ascending. */
static void list_sizes(const struct ftc_choice_job *job, uint64_t sizes[SIZES])
{
    uint64_t small = FTC_LEVEL_MOST + 1, large = (uint64_t)job->config->large_at;

    sizes[0] = 0;
    sizes[1] = 1;
    sizes[2] = small < large ? small : large;
    sizes[3] = small < large ? large : small;
}

static struct range range_at(const struct ftc_choice_job *job, enum ftc_call_kind kind,
                             uint64_t size)
{
    struct ftc_signature signature = signature_of(kind, size);
    enum ftc_choice_id id = ftc_choice_of(job, &signature, FTC_CHOICE_BOARD);

    return (struct range){.first = size,
                          .last = UINT64_MAX,
                          .id = id,
                          .masks = ftc_choices[id].masks(job, &signature)};
}

/* Returns the number of ranges of sizes of this operation. */
static int list_ranges(const struct ftc_choice_job *job, enum ftc_call_kind kind,
                       struct range ranges[SIZES])
{
    uint64_t sizes[SIZES];
    int count = 1;

    list_sizes(job, sizes);
    ranges[0] = range_at(job, kind, sizes[1]);
    ranges[0].first = 0;
    for (int i = 2; i < SIZES && has_sizes(kind); i++) {
        struct range next = range_at(job, kind, sizes[i]), *last = &ranges[count - 1];
        if (sizes[i] == sizes[i - 1] ||
            (next.id == last->id && strcmp(next.masks, last->masks) == 0))
            continue;
        last->last = sizes[i] - 1;
        ranges[count++] = next;
    }
    return count;
}

/* --- text --- */

static void print_bytes(char text[32], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;

    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, 32, "%llu %s", (unsigned long long)bytes, units[unit]);
}

/* A range begins after a limit that it does not include, or at a round number. */
static void print_range(char text[96], const struct range *range, bool sized)
{
    bool after = range->first % 1024 == 1, below = range->last % 1024 == 1023;
    char first[32], last[32];

    print_bytes(first, after ? range->first - 1 : range->first);
    print_bytes(last, below ? range->last + 1 : range->last);
    if (!sized)
        text[0] = '\0';
    else if (range->first == 0 && range->last == UINT64_MAX)
        strcpy(text, "any size");
    else if (range->first == 0)
        snprintf(text, 96, "%s %s", below ? "below" : "up to", last);
    else if (range->last == UINT64_MAX)
        snprintf(text, 96, after ? "over %s" : "%s and more", first);
    else
        snprintf(text, 96, "%s %s, %s %s", after ? "over" : "from", first,
                 below ? "below" : "up to", last);
}

static void print_row(const struct ftc_choice_job *job, enum ftc_call_kind kind,
                      const struct range *range, FILE *out)
{
    struct ftc_signature signature = signature_of(kind, range->first > 0 ? range->first : 1);
    char sizes[96];

    print_range(sizes, range, has_sizes(kind));
    fprintf(out, "\n%s%s%s: %s\n", ftc_call_kind_name(kind), sizes[0] != '\0' ? ", " : "", sizes,
            ftc_choices[range->id].name);
    fprintf(out, "  masks without another round: %s\n", range->masks);
    for (int id = 0; id < (int)range->id; id++)
        fprintf(out, "  not %s: %s\n", ftc_choices[id].name,
                ftc_choices[id].refuses(job, &signature));
}

static void print(const struct ftc_choice_job *job, FILE *out)
{
    static const enum ftc_call_kind kinds[] = {FTC_CALL_ALLREDUCE, FTC_CALL_REDUCE, FTC_CALL_BCAST,
                                               FTC_CALL_BARRIER, FTC_CALL_VALIDATE};

    fprintf(out,
            "Job of %d ranks on %d host%s, f = %d. An operation runs by the first of these "
            "that takes it:\n",
            job->member.ranks, job->nodes, job->nodes > 1 ? "s" : "", job->member.f);
    for (int id = 0; id < FTC_CHOICES; id++)
        fprintf(out, "  %-9s %s\n", ftc_choices[id].name, ftc_choices[id].summary);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        struct range ranges[SIZES];
        int count = list_ranges(job, kinds[k], ranges);
        for (int i = 0; i < count; i++)
            print_row(job, kinds[k], &ranges[i], out);
    }
}

/* `flips` must outlive the job. ftc_flips_parse() does not fail: the settings were checked. */
static struct ftc_choice_job make_job(const struct ftc_command *command,
                                      const struct ftc_config *config, int nodes,
                                      struct ftc_flips *flips)
{
    int ranks = command->np > 0 ? command->np : RANKS_DEFAULT;
    bool any = ftc_flips_parse(config->drill_flip, flips) == FTC_SUCCESS && ftc_flips_any(flips);

    return (struct ftc_choice_job){
        .config = config,
        .nodes = nodes,
        .member = ftc_choice_member(config, ranks, nodes, 0, any ? flips : NULL)};
}

int ftc_command_print_algorithms(const struct ftc_command *command, const struct ftc_config *config,
                                 FILE *out)
{
    int ranks = command->np > 0 ? command->np : RANKS_DEFAULT;
    int nodes = command->nodes > 0 ? command->nodes : 1;
    struct ftc_flips flips;

    if (nodes > ranks)
        return ftc_error_set(FTC_ERR_ARG, "%d ranks cannot be on %d hosts; give a greater -np",
                             ranks, nodes);
    if (config->algorithm == FTC_ALGORITHM_BOARD && nodes > 1)
        return ftc_error_set(FTC_ERR_CONFIG,
                             "collectives.algorithm is board, in memory of one host, and there are "
                             "%d: set it to auto",
                             nodes);
    struct ftc_choice_job job = make_job(command, config, nodes, &flips);
    print(&job, out);
    return FTC_SUCCESS;
}

/* --- settings without effect --- */

static const char *idle(enum ftc_config_need need, void *arg)
{
    return ftc_choice_idle(arg, need);
}

void ftc_command_print_config(const struct ftc_command *command,
                              const struct ftc_settings *settings, FILE *out)
{
    struct ftc_flips flips;
    struct ftc_choice_job job =
        make_job(command, &settings->value, command->nodes > 0 ? command->nodes : 1, &flips);

    ftc_settings_print(settings, command->all, idle, &job, out);
}

void ftc_command_tell_idle(const struct ftc_command *command, const struct ftc_settings *settings,
                           int nodes, FILE *out)
{
    const char *why[sizeof(settings->source) / sizeof(settings->source[0])] = {0};
    char value[FTC_CONFIG_TEXT];
    struct ftc_flips flips;
    struct ftc_choice_job job = make_job(command, &settings->value, nodes, &flips);

    for (size_t i = 0; i < ftc_config_schema_size; i++)
        if (ftc_settings_chosen(settings, i))
            why[i] = ftc_choice_idle(&job, ftc_config_schema[i].need);
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        const char *cause = why[i], *between = "ftrun: no effect in this job: ";
        for (size_t j = i; cause != NULL && j < ftc_config_schema_size; j++) {
            if (why[j] == NULL || strcmp(why[j], cause) != 0)
                continue;
            const struct ftc_config_key *key = &ftc_config_schema[j];
            ftc_config_format(key, &settings->value, value, sizeof(value));
            fprintf(out, "%s%s.%s = %s (%s)", between, key->section, key->key, value,
                    settings->source[j]);
            between = ", ";
            why[j] = NULL;
        }
        if (cause != NULL)
            fprintf(out, ": %s\n", cause);
    }
}
