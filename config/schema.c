/* The schema: every setting with its type, range and default, and how to find a row. Nothing but
 * its rows knows the names of settings. */
#include "config/config.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/value.h"

static const char *const scheme_names[] = {"list", "count", "bit", NULL};
static const char *const share_names[] = {"piggyback", "off", NULL};
static const char *const reduce_tree_names[] = {"heap", "chain", NULL};
static const char *const reduce_take_names[] = {"auto", "first", "lowest", NULL};
static const char *const tree_names[] = {"binomial", "kary", "lame", NULL};
static const char *const dissemination_names[] = {"auto", "tree", "gossip", "multicast", NULL};
static const char *const correction_names[] = {"auto",    "none",      "opportunistic", "optimised",
                                               "checked", "throttled", "failure-proof", "delayed",
                                               "ring",    NULL};
static const char *const bound_names[] = {"rounds", "time", NULL};
static const char *const mpi_failures_names[] = {"auto", "mask", "raise", NULL};
static const char *const rotation_names[] = {"first", "spread", NULL};
static const char *const prepare_names[] = {"direct", "tree", NULL};
static const char *const algorithm_names[] = {"auto", "board", "corrected", NULL};
static const char *const large_names[] = {"auto", "ring", "off", NULL};
static const char *const levels_names[] = {"auto", "1", NULL};
static const char *const transport_names[] = {"udp", "verbs", "off", NULL};
static const char *const carrier_names[] = {"shm", "verbs", "tcp", NULL};
static const char *const seal_names[] = {"off", "authenticate", "encrypt", NULL};
static const char *const integrity_names[] = {"none", "checksum", "vote", NULL};
static const char *const gossip_algorithm_names[] = {"push-sum", "push-flow", "push-cancel-flow",
                                                     "pflc",     "pfcc",      NULL};
static const char *const neighbourhood_names[] = {"full", "hypercube", "directed-hypercube",
                                                  "torus", NULL};
static const char *const auto_names[] = {"auto", NULL};
static const char *const level_names[] = {"error", "warn", "info", "debug", "trace", NULL};

#define COMMON                       true
#define IS_COMMON(help, common, ...) common

#define FIELD(name) offsetof(struct ftc_config, name), sizeof(((struct ftc_config *)NULL)->name)
#define INT(section, key, needs, field, minimum, maximum, fallback, unit, ...)                     \
    {                                                                                              \
        section, key, FTC_CONFIG_INT, FIELD(field), minimum, maximum, NULL, fallback, unit,        \
            IS_COMMON(__VA_ARGS__, false, false), FTC_NEEDS_##needs                                \
    }
#define BOOL(section, key, needs, field, fallback, ...)                                            \
    {                                                                                              \
        section, key, FTC_CONFIG_BOOL, FIELD(field), 0, 0, NULL, fallback, "",                     \
            IS_COMMON(__VA_ARGS__, false, false), FTC_NEEDS_##needs                                \
    }
#define ENUM(section, key, needs, field, names, fallback, ...)                                     \
    {                                                                                              \
        section, key, FTC_CONFIG_ENUM, FIELD(field), 0, 0, names, fallback, "",                    \
            IS_COMMON(__VA_ARGS__, false, false), FTC_NEEDS_##needs                                \
    }
#define PERCENT(section, key, needs, field, maximum, fallback, ...)                                \
    {                                                                                              \
        section, key, FTC_CONFIG_PERCENT, FIELD(field), 0, maximum, NULL, fallback, "%",           \
            IS_COMMON(__VA_ARGS__, false, false), FTC_NEEDS_##needs                                \
    }
#define STRING(section, key, needs, field, fallback, ...)                                          \
    {                                                                                              \
        section, key, FTC_CONFIG_STRING, FIELD(field), 0, 0, NULL, fallback, "",                   \
            IS_COMMON(__VA_ARGS__, false, false), FTC_NEEDS_##needs                                \
    }

#define LIST(section, key, needs, field, names, fallback, ...)                                     \
    {                                                                                              \
        section, key, FTC_CONFIG_LIST, FIELD(field), 0, 0, names, fallback, "",                    \
            IS_COMMON(__VA_ARGS__, false, false), FTC_NEEDS_##needs                                \
    }

#define REAL(section, key, needs, field, maximum, names, fallback, ...)                            \
    {                                                                                              \
        section, key, FTC_CONFIG_REAL, FIELD(field), 0, maximum, names, fallback, "",              \
            IS_COMMON(__VA_ARGS__, false, false), FTC_NEEDS_##needs                                \
    }

const struct ftc_config_key ftc_config_schema[] = {
#include "config/rows.h"
};

const size_t ftc_config_schema_size = sizeof(ftc_config_schema) / sizeof(ftc_config_schema[0]);

_Static_assert(sizeof(ftc_config_schema) / sizeof(ftc_config_schema[0]) <=
                   sizeof(((struct ftc_settings *)NULL)->source) / sizeof(char *),
               "more keys than ftc_settings has sources");

static const char *const combination_names[] = {"corrected-tree", "ocg", "ccg", "fcg",
                                                "multicast-ring", NULL};
const struct ftc_config_combination ftc_config_combinations[] = {
    {"tree", "checked"},         {"gossip", "opportunistic"}, {"gossip", "checked"},
    {"gossip", "failure-proof"}, {"multicast", "ring"},
};
_Static_assert(sizeof(combination_names) / sizeof(combination_names[0]) ==
                   sizeof(ftc_config_combinations) / sizeof(ftc_config_combinations[0]) + 1,
               "a combination without a name, or the other way round");

const struct ftc_config_key ftc_config_alias = {
    .section = "broadcast",
    .key = "algorithm",
    .type = FTC_CONFIG_ENUM,
    .names = combination_names,
    .fallback = "",
    .unit = "",
};

int ftc_config_find(const char *section, const char *key)
{
    for (size_t i = 0; i < ftc_config_schema_size; i++)
        if (strcmp(ftc_config_schema[i].section, section) == 0 &&
            strcmp(ftc_config_schema[i].key, key) == 0)
            return (int)i;
    return -1;
}

bool ftc_config_has_section(const char *section)
{
    for (size_t i = 0; i < ftc_config_schema_size; i++)
        if (strcmp(ftc_config_schema[i].section, section) == 0)
            return true;
    return false;
}

char *ftc_config_variable(const struct ftc_config_key *key, char *text, size_t size)
{
    snprintf(text, size, "FTCOLL_%s_%s", key->section, key->key);
    for (char *c = text; size > 0 && *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    return text;
}

/* Append `more` to text[size] as far as it fits. */
static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

char *ftc_config_allowed(const struct ftc_config_key *key, char *text, size_t size)
{
    if (size == 0)
        return text;
    text[0] = '\0';
    switch (key->type) {
    case FTC_CONFIG_INT:
        snprintf(text, size, "%lld..%lld%s%s", (long long)key->minimum, (long long)key->maximum,
                 key->unit[0] != '\0' ? " " : "", key->unit);
        break;
    case FTC_CONFIG_BOOL:
        append(text, size, "on, off, true, false, yes, no, 1, 0");
        break;
    case FTC_CONFIG_ENUM:
    case FTC_CONFIG_LIST:
        for (size_t i = 0; key->names[i] != NULL; i++) {
            append(text, size, i > 0 ? ", " : "");
            append(text, size, key->names[i]);
        }
        if (key->type == FTC_CONFIG_LIST)
            append(text, size, "; one or more, separated by commas, each once");
        break;
    case FTC_CONFIG_PERCENT:
        snprintf(text, size, "0..%lld %%, preset (0.287 %%)", (long long)key->maximum);
        break;
    case FTC_CONFIG_REAL:
        snprintf(text, size, "%s%sa number above 0 and below %g, as 1e-9 or 0.001",
                 key->names != NULL ? key->names[0] : "", key->names != NULL ? ", or " : "",
                 (double)key->maximum);
        break;
    case FTC_CONFIG_STRING:
        snprintf(text, size, "at most %d printable characters without blanks and semicolons",
                 FTC_CONFIG_STRING_MAX);
        break;
    }
    return text;
}

/* --- what was probably meant
 * ------------------------------------------------------------------------- */

#define NEAR_DISTANCE 3  /* edits; more is another word */
#define NEAR_LENGTH   64 /* longer names are near to nothing */
#define CANDIDATES    (ftc_config_schema_size + 1)

/* Every key, and the alias. */
static const struct ftc_config_key *candidate_at(size_t i)
{
    return i < ftc_config_schema_size ? &ftc_config_schema[i] : &ftc_config_alias;
}

static int smallest(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edit distance (Levenshtein), INT_MAX if one of the words is too long. One row of the table at a
 * time. */
static int distance(const char *a, const char *b)
{
    int row[NEAR_LENGTH + 1];
    size_t columns = strnlen(b, NEAR_LENGTH + 1);
    if (columns > NEAR_LENGTH || strnlen(a, NEAR_LENGTH + 1) > NEAR_LENGTH)
        return INT_MAX;
    for (size_t j = 0; j <= columns; j++)
        row[j] = (int)j;
    for (int i = 1; a[i - 1] != '\0'; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            int above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[columns];
}

/* Is `candidate` nearer to `word` than *best edits? Words of which little would be left are not
 * near. */
static bool nearer(const char *word, const char *candidate, int *best)
{
    int edits = distance(word, candidate);
    if (edits >= *best || (size_t)edits * 2 > strlen(candidate))
        return false;
    *best = edits;
    return true;
}

const struct ftc_config_key *ftc_config_nearest(const char *section, const char *key)
{
    const struct ftc_config_key *nearest = NULL;
    char word[FTC_CONFIG_TEXT], candidate[FTC_CONFIG_TEXT];
    int best = NEAR_DISTANCE + 1;
    snprintf(word, sizeof(word), "%s.%s", section, key);
    for (size_t i = 0; i < CANDIDATES; i++) {
        const struct ftc_config_key *row = candidate_at(i);
        snprintf(candidate, sizeof(candidate), "%s.%s", row->section, row->key);
        if (nearer(word, candidate, &best))
            nearest = row;
    }
    for (size_t i = 0; nearest == NULL && i < ftc_config_schema_size; i++)
        if (strcmp(ftc_config_schema[i].key, key) == 0) /* the right key in a wrong section */
            nearest = &ftc_config_schema[i];
    return nearest;
}

const char *ftc_config_nearest_section(const char *section)
{
    const char *nearest = NULL;
    int best = NEAR_DISTANCE + 1;
    for (size_t i = 0; i < ftc_config_schema_size; i++)
        if (nearer(section, ftc_config_schema[i].section, &best))
            nearest = ftc_config_schema[i].section;
    return nearest;
}

const struct ftc_config_key *ftc_config_nearest_variable(const char *name)
{
    const struct ftc_config_key *nearest = NULL;
    char variable[FTC_CONFIG_TEXT];
    int best = NEAR_DISTANCE + 1;
    for (size_t i = 0; i < CANDIDATES; i++)
        if (nearer(name, ftc_config_variable(candidate_at(i), variable, sizeof(variable)), &best))
            nearest = candidate_at(i);
    return nearest;
}
