/* Converts a value from text into its field, and back. */
#include "config/value.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

char *ftc_config_quote(const char *input, char text[FTC_CONFIG_TEXT])
{
    enum { KEPT = 60 };
    size_t used = 0;
    text[used++] = '"';
    for (; *input != '\0' && used <= KEPT; input++)
        text[used++] = iscntrl((unsigned char)*input) ? '?' : *input;
    strcpy(text + used, *input != '\0' ? "...\"" : "\"");
    return text;
}

/* --- from text --- */

static int refuse_value(const struct ftc_config_key *key, const char *value, const char *source,
                        const char *why)
{
    char quoted[FTC_CONFIG_TEXT], allowed[FTC_CONFIG_TEXT];
    return ftc_error_set(FTC_ERR_CONFIG, "%s: %s.%s: %s%s%s (allowed: %s)", source, key->section,
                         key->key, value[0] != '\0' ? ftc_config_quote(value, quoted) : "",
                         value[0] != '\0' ? " " : "", why,
                         ftc_config_allowed(key, allowed, sizeof(allowed)));
}

/* The schema guarantees that the field has the type of its key. */
static int store(const struct ftc_config_key *key, struct ftc_config *config, const void *value,
                 size_t size)
{
    assert(key->size == size);
    memcpy((char *)config + key->offset, value, size);
    return FTC_SUCCESS;
}

static int parse_int(const struct ftc_config_key *key, const char *value, const char *source,
                     struct ftc_config *config)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    /* strtoll() skips leading blanks. */
    if (end == value || *end != '\0' || isspace((unsigned char)value[0]))
        return refuse_value(key, value, source, "is not an integer");
    if (errno == ERANGE || number < key->minimum || number > key->maximum)
        return refuse_value(key, value, source, "is out of range");
    int64_t stored = number;
    return store(key, config, &stored, sizeof(stored));
}

/* The index of value in a NULL-terminated list, or -1. */
static int index_of(const char *value, const char *const *names)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(value, names[i]) == 0)
            return i;
    return -1;
}

static int parse_bool(const struct ftc_config_key *key, const char *value, const char *source,
                      struct ftc_config *config)
{
    static const char *const names[] = {"off", "on", "false", "true", "no", "yes", "0", "1", NULL};
    int index = index_of(value, names);
    if (index < 0)
        return refuse_value(key, value, source, "is neither on nor off");
    bool flag = index % 2 != 0; /* every other name means on */
    return store(key, config, &flag, sizeof(flag));
}

int ftc_config_choose(const struct ftc_config_key *key, const char *value, const char *source,
                      int *choice)
{
    if (value[0] == '\0')
        return refuse_value(key, value, source, "the value is empty");
    int index = index_of(value, key->names);
    if (index < 0)
        return refuse_value(key, value, source, "is not one of its values");
    *choice = index;
    return FTC_SUCCESS;
}

static int parse_enum(const struct ftc_config_key *key, const char *value, const char *source,
                      struct ftc_config *config)
{
    int choice = 0;
    int rc = ftc_config_choose(key, value, source, &choice);
    return rc == FTC_SUCCESS ? store(key, config, &choice, sizeof(choice)) : rc;
}

/* Parse "0.287" or "50", with or without "%", into parts per million. strtod() would depend on the
 * locale. */
static bool read_percent(const char *value, int64_t *ppm)
{
    static const char digits[] = "0123456789";
    const char *point = value + strspn(value, digits);
    size_t decimals = *point == '.' ? strspn(point + 1, digits) : 0;
    const char *end = point + (decimals > 0 ? decimals + 1 : 0);
    if (point == value || decimals > 4 || (*end != '\0' && strcmp(end, "%") != 0))
        return false;
    long long whole = strtoll(value, NULL, 10);
    *ppm = (whole <= 100 ? whole : 101) * (FTC_CONFIG_PPM / 100);
    int64_t scale = FTC_CONFIG_PPM / 1000;
    for (const char *c = point + 1; c < end; c++, scale /= 10)
        *ppm += (*c - '0') * scale;
    return true;
}

static int parse_percent(const struct ftc_config_key *key, const char *value, const char *source,
                         struct ftc_config *config)
{
    int64_t ppm = FTC_CONFIG_PRESET_PPM;
    if (strcmp(value, "preset") != 0 && !read_percent(value, &ppm))
        return refuse_value(key, value, source, "is no percentage of at most four decimals");
    if (ppm > key->maximum * (FTC_CONFIG_PPM / 100))
        return refuse_value(key, value, source, "is out of range");
    return store(key, config, &ppm, sizeof(ppm));
}

/* 10^POWER_MAX and every integer of DIGITS_MAX digits are exact in a double. So their quotient and
 * their product are rounded only once. */
#define POWER_MAX  22
#define DIGITS_MAX 15

/* The decimal places that "e-9", "e6" or "e+6" at *text adds; 0 if there is none. Advances *text
 * past it. */
static int read_places(const char **text)
{
    const char *sign = *text + (**text == 'e'), *number = sign + (*sign == '-' || *sign == '+');
    size_t length = strspn(number, "0123456789");
    if (**text != 'e' || length == 0 || length > 2)
        return 0;
    *text = number + length;
    int places = (int)strtol(number, NULL, 10);
    return *sign == '-' ? places : -places;
}

/* Parse "0.001", "2.5e-7" or "1e6" to the nearest double. strtod() would depend on the locale. */
static bool read_real(const char *value, double *real)
{
    static const char digits[] = "0123456789";
    size_t whole = strspn(value, digits), decimals = 0;
    const char *rest = value + whole;
    double mantissa = 0, power = 1;
    if (*rest == '.')
        decimals = strspn(++rest, digits);
    const char *end = rest + decimals;
    if (whole == 0 || whole + decimals > DIGITS_MAX || (rest > value + whole && decimals == 0))
        return false;
    for (const char *c = value; c < end; c++)
        mantissa = *c == '.' ? mantissa : 10 * mantissa + (*c - '0');
    int places = (int)decimals + read_places(&end);
    if (*end != '\0' || abs(places) > POWER_MAX)
        return false;
    for (int i = 0; i < abs(places); i++)
        power *= 10;
    *real = places < 0 ? mantissa * power : mantissa / power;
    return true;
}

static int parse_real(const struct ftc_config_key *key, const char *value, const char *source,
                      struct ftc_config *config)
{
    double real = 0;
    bool word = key->names != NULL && strcmp(value, key->names[0]) == 0;
    if (!word && !read_real(value, &real))
        return refuse_value(key, value, source, "is no such number");
    if (!word && !(real > 0 && real < (double)key->maximum))
        return refuse_value(key, value, source, "is out of range");
    return store(key, config, &real, sizeof(real));
}

/* Blanks and ';' are not allowed, because reading the value from a file would cut blanks at its
 * ends and take a ';' for a comment. */
static bool is_word(const char *value)
{
    for (; *value != '\0'; value++)
        if (*value <= ' ' || *value > '~' || *value == ';')
            return false;
    return true;
}

static int parse_string(const struct ftc_config_key *key, const char *value, const char *source,
                        struct ftc_config *config)
{
    if (!is_word(value))
        return refuse_value(key, value, source, "has a character that is not allowed");
    if (strlen(value) > FTC_CONFIG_STRING_MAX)
        return refuse_value(key, value, source, "is too long");
    char text[FTC_CONFIG_STRING_MAX + 1] = "";
    memcpy(text, value, strlen(value));
    return store(key, config, text, sizeof(text));
}

/* The index of the name from *value to the next comma, and advance *value past the comma. -1: there
 * is no such name. */
static int next_name(const struct ftc_config_key *key, const char **value)
{
    size_t length = strcspn(*value, ",");
    int found = -1;
    for (int i = 0; key->names[i] != NULL; i++)
        if (strlen(key->names[i]) == length && strncmp(*value, key->names[i], length) == 0)
            found = i;
    *value += length + ((*value)[length] == ',');
    return found;
}

static int parse_list(const struct ftc_config_key *key, const char *value, const char *source,
                      struct ftc_config *config)
{
    const char *rest = value;
    int8_t list[FTC_CONFIG_LIST_MAX];
    int count = 0;
    memset(list, -1, sizeof(list));
    do {
        int index = next_name(key, &rest);
        if (index < 0 || (*rest == '\0' && rest[-1] == ','))
            return refuse_value(key, value, source, "has a word that is not one of its values");
        if (memchr(list, index, sizeof(list)) != NULL)
            return refuse_value(key, value, source, "names one twice");
        list[count++] = (int8_t)index; /* fits, because each name is in the list once at most */
    } while (*rest != '\0');
    return store(key, config, list, sizeof(list));
}

int ftc_config_parse(const struct ftc_config_key *key, const char *value, const char *source,
                     struct ftc_config *config)
{
    if (value[0] == '\0' && key->type != FTC_CONFIG_STRING)
        return refuse_value(key, value, source, "the value is empty");
    switch (key->type) {
    case FTC_CONFIG_INT:
        return parse_int(key, value, source, config);
    case FTC_CONFIG_BOOL:
        return parse_bool(key, value, source, config);
    case FTC_CONFIG_ENUM:
        return parse_enum(key, value, source, config);
    case FTC_CONFIG_PERCENT:
        return parse_percent(key, value, source, config);
    case FTC_CONFIG_STRING:
        return parse_string(key, value, source, config);
    case FTC_CONFIG_REAL:
        return parse_real(key, value, source, config);
    case FTC_CONFIG_LIST:
        return parse_list(key, value, source, config);
    }
    assert(!"a type that the schema does not have");
    return FTC_ERR_CONFIG;
}

/* --- to text --- */

static void format_percent(int64_t ppm, char *text, size_t size)
{
    int64_t whole = ppm / (FTC_CONFIG_PPM / 100), rest = ppm % (FTC_CONFIG_PPM / 100);
    int decimals = 4;
    for (; decimals > 0 && rest % 10 == 0; decimals--)
        rest /= 10;
    if (decimals > 0)
        snprintf(text, size, "%" PRId64 ".%0*" PRId64, whole, decimals, rest);
    else
        snprintf(text, size, "%" PRId64, whole);
}

static void format_list(const struct ftc_config_key *key, const int8_t *list, char *text,
                        size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < key->size && list[i] >= 0 && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? "," : "",
                                 key->names[list[i]]);
}

char *ftc_config_format(const struct ftc_config_key *key, const struct ftc_config *config,
                        char *text, size_t size)
{
    const void *field = (const char *)config + key->offset;
    switch (key->type) {
    case FTC_CONFIG_INT:
        snprintf(text, size, "%" PRId64, *(const int64_t *)field);
        break;
    case FTC_CONFIG_BOOL:
        snprintf(text, size, "%s", *(const bool *)field ? "on" : "off");
        break;
    case FTC_CONFIG_ENUM:
        snprintf(text, size, "%s", key->names[*(const int *)field]);
        break;
    case FTC_CONFIG_PERCENT:
        format_percent(*(const int64_t *)field, text, size);
        break;
    case FTC_CONFIG_STRING:
        snprintf(text, size, "%s", (const char *)field);
        break;
    case FTC_CONFIG_REAL:
        if (key->names != NULL && *(const double *)field == 0)
            snprintf(text, size, "%s", key->names[0]);
        else
            snprintf(text, size, "%.15g", *(const double *)field);
        break;
    case FTC_CONFIG_LIST:
        format_list(key, field, text, size);
        break;
    }
    return text;
}
