/* Printing the choice of algorithms, and settings that have no effect. */
#include "launcher/choices.h"

#include <string.h>

#include "base/error.h"
#include "collectives/values/blocks.h"
#include "collectives/values/flip.h"
#include "config/value.h"
#include "node/board/level.h"
#include "runtime/choice/choice.h"
#include "runtime/choice/effect.h"

#define SIZES 4

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
    const struct ftc_call_traits *traits = &ftc_call_table[kind];

    return traits->reduces || traits->rooted || traits->gathers;
}

/* The sizes at which an algorithm or what it masks may change, ascending. Where contributions stay
 * apart they are sizes of one of them. */
static void list_sizes(const struct ftc_choice_job *job, enum ftc_call_kind kind,
                       uint64_t sizes[SIZES])
{
    uint64_t small = FTC_LEVEL_MOST + 1, large = (uint64_t)job->config->large_at;
    uint64_t ranks = (uint64_t)job->member.ranks;

    if (ftc_call_table[kind].gathers) {
        uint64_t head = ftc_blocks_most(job->member.ranks, 0);
        small = head < small ? (small - 1 - head) / ranks + 1 : 1;
        large = (large + ranks - 1) / ranks;
    }

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

/* How one operation runs, by its size. */
struct plan {
    enum ftc_call_kind kind;
    int count;
    struct range ranges[SIZES];
};

static struct plan list_ranges(const struct ftc_choice_job *job, enum ftc_call_kind kind)
{
    struct plan plan = {.kind = kind, .count = 1};
    struct range *ranges = plan.ranges;
    uint64_t sizes[SIZES];

    list_sizes(job, kind, sizes);
    ranges[0] = range_at(job, kind, sizes[1]);
    ranges[0].first = 0;
    for (int i = 2; i < SIZES && has_sizes(kind); i++) {
        struct range next = range_at(job, kind, sizes[i]), *last = &ranges[plan.count - 1];
        if (sizes[i] == sizes[i - 1] ||
            (next.id == last->id && strcmp(next.masks, last->masks) == 0))
            continue;
        last->last = sizes[i] - 1;
        ranges[plan.count++] = next;
    }
    return plan;
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

/* Why the algorithm before it does not take such calls, in words. */
static const char *refusal(const struct ftc_choice_job *job, const struct plan *plan,
                           const struct range *range, int id)
{
    struct ftc_signature signature = signature_of(plan->kind, range->first > 0 ? range->first : 1);

    return ftc_choices[id].refuses(job, &signature);
}

static bool same_range(const struct ftc_choice_job *job, const struct plan *a, const struct plan *b,
                       int i)
{
    const struct range *x = &a->ranges[i], *y = &b->ranges[i];
    bool same = x->first == y->first && x->last == y->last && x->id == y->id &&
                strcmp(x->masks, y->masks) == 0;

    for (int id = 0; same && id < (int)x->id; id++)
        same = strcmp(refusal(job, a, x, id), refusal(job, b, y, id)) == 0;
    return same;
}

/* Do both operations run alike, and for the same reasons? */
static bool same_plan(const struct ftc_choice_job *job, const struct plan *a, const struct plan *b)
{
    bool same = a->count == b->count && has_sizes(a->kind) == has_sizes(b->kind);

    for (int i = 0; same && i < a->count; i++)
        same = same_range(job, a, b, i);
    return same;
}

static void print_range_of(const struct ftc_choice_job *job, const struct plan *plan,
                           const char *names, const struct range *range, FILE *out)
{
    char sizes[96];

    print_range(sizes, range, has_sizes(plan->kind));
    fprintf(out, "\n%s%s%s: %s\n", names, sizes[0] != '\0' ? ", " : "", sizes,
            ftc_choices[range->id].name);
    fprintf(out, "  masks without another round: %s\n", range->masks);
    for (int id = 0; id < (int)range->id; id++)
        fprintf(out, "  not %s: %s\n", ftc_choices[id].name, refusal(job, plan, range, id));
}

static const enum ftc_call_kind kinds[] = {
    FTC_CALL_ALLREDUCE, FTC_CALL_REDUCE, FTC_CALL_REDUCE_SCATTER, FTC_CALL_BCAST,
    FTC_CALL_SCATTER,   FTC_CALL_GATHER, FTC_CALL_ALLGATHER,      FTC_CALL_ALLTOALL,
    FTC_CALL_SCAN,      FTC_CALL_EXSCAN, FTC_CALL_BARRIER,        FTC_CALL_VALIDATE};
#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

/* Operations that run alike are one paragraph, at the place of the first one. */
static void print_plans(const struct ftc_choice_job *job, FILE *out)
{
    bool printed[KINDS] = {false};

    for (int k = 0; k < KINDS; k++) {
        struct plan plan = list_ranges(job, kinds[k]);
        char names[256] = "";
        for (int other = k; !printed[k] && other < KINDS; other++) {
            struct plan next = list_ranges(job, kinds[other]);
            if (printed[other] || !same_plan(job, &plan, &next))
                continue;
            size_t length = strlen(names);
            snprintf(names + length, sizeof(names) - length, "%s%s", length > 0 ? ", " : "",
                     ftc_call_kind_name(kinds[other]));
            printed[other] = other > k;
        }
        for (int i = 0; !printed[k] && i < plan.count; i++)
            print_range_of(job, &plan, names, &plan.ranges[i], out);
    }
}

static void print(const struct ftc_choice_job *job, FILE *out)
{
    fprintf(out,
            "Job of %d ranks on %d host%s, f = %d. An operation runs by the first of these "
            "that takes it:\n",
            job->member.ranks, job->nodes, job->nodes > 1 ? "s" : "", job->member.f);
    for (int id = 0; id < FTC_CHOICES; id++)
        fprintf(out, "  %-9s %s\n", ftc_choices[id].name, ftc_choices[id].summary);
    print_plans(job, out);
}

/* `flips` must outlive the job. ftc_flips_parse() does not fail: the settings were checked. */
static struct ftc_choice_job make_job(const struct ftc_command *command,
                                      const struct ftc_config *config, int nodes,
                                      struct ftc_flips *flips)
{
    bool any = ftc_flips_parse(config->drill_flip, flips) == FTC_SUCCESS && ftc_flips_any(flips);

    return (struct ftc_choice_job){
        .config = config,
        .nodes = nodes,
        .member = ftc_choice_member(config, command->np, nodes, 0, any ? flips : NULL)};
}

int ftc_command_print_algorithms(const struct ftc_command *command, const struct ftc_config *config,
                                 FILE *out)
{
    int ranks = command->np, nodes = command->nodes;
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
    struct ftc_choice_job job = make_job(command, &settings->value, command->nodes, &flips);

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
