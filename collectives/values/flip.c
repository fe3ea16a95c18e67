/* Flips: silent corruption on request. */
#include "collectives/values/flip.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mix.h"

#define FLIP_TEXT 96 /* bytes; the longest flip is shorter */

static const char *const names[FTC_FLIP_VARIABLES] = {
    [FTC_FLIP_INPUT] = "input",
    [FTC_FLIP_FLOW] = "flow",
    [FTC_FLIP_WEIGHT] = "weight",
    [FTC_FLIP_CHECKSUM] = "checksum",
    [FTC_FLIP_ESTIMATE] = "estimate",
    [FTC_FLIP_MESSAGE] = "message",
    [FTC_FLIP_UP] = "up",
    [FTC_FLIP_PARTIAL] = "partial",
    [FTC_FLIP_DECISION] = "decision",
    [FTC_FLIP_HEAD] = "head",
};

const char *ftc_flip_variable_name(enum ftc_flip_variable variable)
{
    return (unsigned)variable < FTC_FLIP_VARIABLES ? names[variable] : "?";
}

static int find_variable(const char *name)
{
    for (int i = 0; i < FTC_FLIP_VARIABLES; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* Reads "RANK:VARIABLE[.ELEMENT]:BIT@". Returns where it ends, or NULL if the text is something
 * else. */
static const char *parse_place(const char *text, struct ftc_flip *flip)
{
    char name[16] = "";
    int used = 0;

    if (sscanf(text, "%6d:%15[a-z]%n", &flip->rank, name, &used) != 2)
        return NULL;
    text += used;
    if (*text == '.' && (sscanf(text, ".%9d%n", &flip->element, &used) != 1 || flip->element < 0))
        return NULL;
    text += *text == '.' ? used : 0;
    int variable = find_variable(name);
    used = 0;
    if (sscanf(text, ":%2d@%n", &flip->bit, &used) != 1 || used == 0 || variable < 0)
        return NULL;
    flip->variable = (enum ftc_flip_variable)variable;
    return text + used;
}

static uint64_t below(uint64_t *state, uint64_t limit)
{
    *state += 0x9e3779b97f4a7c15u;
    return ftc_mix(*state) % limit;
}

/* Half of the draws for messages and heads are among the first four that a rank sends: an agreement
 * is over after a few. */
struct ftc_flip ftc_flips_draw(const struct ftc_flips *flips, uint64_t op, int ranks)
{
    uint64_t state = ftc_mix(flips->seed) ^ ftc_mix(op + 1);
    struct ftc_flip flip = {.op = op, .rank = (int)below(&state, (uint64_t)ranks)};

    flip.variable = (enum ftc_flip_variable)below(&state, FTC_FLIP_VARIABLES);
    flip.element = (int)below(&state, 12);
    flip.bit = (int)below(&state, 64);
    flip.step = below(&state, below(&state, 2) == 0 ? 4 : 40);
    if (flip.variable >= FTC_FLIP_UP && flip.variable <= FTC_FLIP_DECISION)
        flip.step = 0;
    return flip;
}

/* Reads "[OPERATION/]STEP", with nothing after it. */
static bool parse_time(const char *text, struct ftc_flip *flip)
{
    int used = 0;

    if (strchr(text, '-') != NULL || sscanf(text, "%18" SCNu64 "%n", &flip->step, &used) != 1)
        return false;
    text += used;
    if (*text == '\0')
        return true;
    flip->op = flip->step;
    used = 0;
    return sscanf(text, "/%18" SCNu64 "%n", &flip->step, &used) == 1 && text[used] == '\0';
}

int ftc_flip_parse(const char *text, struct ftc_flip *flip)
{
    *flip = (struct ftc_flip){0};
    const char *time = parse_place(text, flip);
    if (time != NULL && parse_time(time, flip) && flip->rank >= 0 && flip->bit >= 0 &&
        flip->bit < 64)
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_ARG,
        "\"%s\" is no flip: RANK:VARIABLE[.ELEMENT]:BIT@[OPERATION/]STEP is, as 3:flow:55@150, "
        "with "
        "BIT 0..63 and VARIABLE input, flow, weight, checksum, estimate, message, up, partial, "
        "decision or head",
        text);
}

/* Reads "random:SEED", with nothing after it. */
static bool parse_seed(const char *text, size_t length, uint64_t *seed)
{
    static const char word[] = "random:";
    size_t before = sizeof(word) - 1;
    int used = 0;

    return strncmp(text, word, before) == 0 && isdigit((unsigned char)text[before]) &&
           sscanf(text + before, "%18" SCNu64 "%n", seed, &used) == 1 &&
           before + (size_t)used == length;
}

int ftc_flips_parse(const char *text, struct ftc_flips *flips)
{
    char item[FLIP_TEXT];
    int rc = FTC_SUCCESS;

    *flips = (struct ftc_flips){0};
    if (*text == '\0')
        return FTC_SUCCESS;
    do {
        size_t length = strcspn(text, ",");
        if (parse_seed(text, length, &flips->seed)) {
            flips->drawn = true;
            text += length;
            continue;
        }
        if (flips->count == FTC_FLIPS)
            return ftc_error_set(FTC_ERR_ARG, "more than %d flips; give fewer", FTC_FLIPS);
        snprintf(item, sizeof(item), "%.*s", (int)length, text);
        rc = ftc_flip_parse(item, &flips->flip[flips->count++]);
        text += length;
    } while (rc == FTC_SUCCESS && *text++ == ',');
    return rc;
}

char *ftc_flips_format(const struct ftc_flips *flips, char *text, size_t size)
{
    FILE *out = fmemopen(text, size, "w");

    text[0] = '\0';
    for (int i = 0; out != NULL && i < flips->count; i++) {
        const struct ftc_flip *flip = &flips->flip[i];
        fprintf(out, "%s%d:%s.%d:%d@%" PRIu64 "/%" PRIu64, i > 0 ? "," : "", flip->rank,
                ftc_flip_variable_name(flip->variable), flip->element, flip->bit, flip->op,
                flip->step);
    }
    if (out != NULL && flips->drawn)
        fprintf(out, "%srandom:%" PRIu64, flips->count > 0 ? "," : "", flips->seed);
    if (out != NULL)
        fclose(out);
    return text;
}

void ftc_flip_double(const struct ftc_flip *flip, double *value)
{
    uint64_t bits;

    memcpy(&bits, value, sizeof(bits));
    bits ^= UINT64_C(1) << flip->bit;
    memcpy(value, &bits, sizeof(bits));
}

bool ftc_flip_bytes(const struct ftc_flip *flip, void *bytes, size_t size)
{
    size_t at = (size_t)flip->element * 8 + (size_t)flip->bit / 8;

    if (at >= size)
        return false;
    ((unsigned char *)bytes)[at] ^= (unsigned char)(1 << flip->bit % 8);
    return true;
}
