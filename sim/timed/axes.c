/* The axes of a sweep. */
#include "sim/timed/axes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/options.h"

#define RANKS_MAX  1048576
#define F_MAX      4095
#define VALUES_MAX 4096 /* most values of an axis */

void ftc_axis_fini(struct ftc_axis *axis)
{
    free(axis->value);
    *axis = (struct ftc_axis){0};
}

static int add(struct ftc_axis *axis, int value)
{
    if (axis->count == VALUES_MAX)
        return ftc_error_set(FTC_ERR_ARG, "an axis of more than %d values; sweep in parts",
                             VALUES_MAX);
    int *grown = realloc(axis->value, ((size_t)axis->count + 1) * sizeof(*grown));
    if (grown == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the axes of the sweep");
    axis->value = grown;
    axis->value[axis->count++] = value;
    return 0;
}

/* Read one number, or two with ".." between them. Changes `word`. */
static int read_range(const char *option, char *word, int least, int most, int *from, int *to)
{
    char *dots = strstr(word, "..");
    uint64_t first, last;

    if (dots != NULL)
        *dots = '\0';
    int rc = ftc_option_number(option, word, (uint64_t)least, (uint64_t)most, &first);
    last = first;
    if (rc == 0 && dots != NULL)
        rc = ftc_option_number(option, dots + 2, first, (uint64_t)most, &last);
    *from = (int)first;
    *to = (int)last;
    return rc;
}

typedef int take_word(struct ftc_axis *axis, char *word);

static int each_word(struct ftc_axis *axis, const char *text, take_word *take)
{
    char *copy = strdup(text), *rest = copy, *word;
    int rc = copy != NULL ? 0 : FTC_ERR_NOMEM;

    ftc_axis_fini(axis);
    while (rc == 0 && (word = strsep(&rest, ",")) != NULL)
        rc = take(axis, word);
    free(copy);
    return rc;
}

static int take_ranks(struct ftc_axis *axis, char *word)
{
    int from = 0, to = 0;
    int rc = read_range("-n", word, 1, RANKS_MAX, &from, &to);

    for (long n = from; rc == 0 && n <= to; n *= 2)
        rc = add(axis, (int)n);
    return rc;
}

static int take_f(struct ftc_axis *axis, char *word)
{
    int from = 0, to = 0;
    int rc = read_range("-f", word, 0, F_MAX, &from, &to);

    for (int f = from; rc == 0 && f <= to; f++)
        rc = add(axis, f);
    return rc;
}

static int take_kills(struct ftc_axis *axis, char *word)
{
    char *dots = strstr(word, "..f");
    int from = 0, to = 0;

    if (strcmp(word, "f") == 0)
        return add(axis, FTC_AXIS_F);
    bool to_f = dots != NULL && dots[3] == '\0';
    if (to_f)
        *dots = '\0';
    int rc = read_range("--kills", word, 0, RANKS_MAX, &from, &to);
    if (rc == 0 && to_f)
        rc = add(axis, FTC_AXIS_RANGE);
    for (int kills = from; rc == 0 && kills <= to; kills++)
        rc = add(axis, kills);
    return rc;
}

int ftc_axis_read_ranks(struct ftc_axis *axis, const char *text)
{
    return each_word(axis, text, take_ranks);
}

int ftc_axis_read_f(struct ftc_axis *axis, const char *text)
{
    return each_word(axis, text, take_f);
}

int ftc_axis_read_kills(struct ftc_axis *axis, const char *text)
{
    return each_word(axis, text, take_kills);
}

static bool means(const struct ftc_axis *axis, int f, int kills)
{
    for (int i = 0; i < axis->count; i++) {
        int value = axis->value[i];
        if (value == FTC_AXIS_RANGE) {
            value = axis->value[++i];
            if (kills >= value && kills <= f)
                return true;
        } else if (kills == (value == FTC_AXIS_F ? f : value)) {
            return true;
        }
    }
    return false;
}

int ftc_axis_kills(const struct ftc_axis *axis, int f, int kills[], int room)
{
    int count = 0, most = f;

    for (int i = 0; i < axis->count; i++)
        most = axis->value[i] > most ? axis->value[i] : most;
    for (int k = 0; k <= most && count < room; k++)
        if (means(axis, f, k))
            kills[count++] = k;
    return count;
}

int ftc_axis_read_costs(struct ftc_cost costs[FTC_AXIS_COSTS], int *count, const char *text)
{
    const char *at = text;

    *count = 0;
    while (*at != '\0' || *count == 0) {
        char model[256];
        size_t size = strcspn(at, ",");
        while (at[size] == ',' && memchr(at + size + 1, '=', strcspn(at + size + 1, ",")) != NULL)
            size += 1 + strcspn(at + size + 1, ",");
        if (*count == FTC_AXIS_COSTS || size >= sizeof(model))
            return ftc_error_set(FTC_ERR_ARG, "--cost %s: too long; give at most %d models", text,
                                 FTC_AXIS_COSTS);
        memcpy(model, at, size);
        model[size] = '\0';
        int rc = ftc_cost_parse(&costs[*count], model);
        if (rc != 0)
            return rc;
        ++*count;
        at += size + (at[size] == ',');
    }
    return 0;
}
