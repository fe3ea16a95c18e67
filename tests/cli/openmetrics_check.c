/*
 * Checks that standard input is OpenMetrics 1.0 text. It reads by the ABNF of the specification and
 * by the rules of its text, and is strict. It knows the types that ftcoll writes: counter and
 * gauge, without timestamps and exemplars. It exits with 0, or prints the first line that is wrong.
 *
 *   exposition = *family "# EOF" LF
 *   family     = *descriptor *sample
 *   descriptor = "# " ("TYPE" / "HELP" / "UNIT") SP name SP text LF
 *   sample     = name ["{" [label *("," label)] "}"] SP number LF
 *   label      = label-name "=" DQUOTE escaped DQUOTE
 *
 * Rules beside the ABNF:
 * - The text is UTF-8.
 * - Families are not interleaved. A family is not described twice, and not after its samples.
 * - A type comes before the samples.
 * - A counter ends in _total, and is finite and not negative.
 * - A family with a unit ends in that unit.
 * - A sample has no label twice, and no sample comes twice.
 */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FAMILIES 256
#define MOST_LABELS   32

struct names { /* an array that grows */
    char **at;
    int count, room;
};

struct reader {
    const char *at; /* the next character of the line */
    int line;
    char family[128], type[32], unit[32];
    bool help, sampled;
    struct names families, samples; /* families seen before; samples of this family, as written */
};

static _Noreturn void refuse(const struct reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("line %d: ", reader->line);
    vprintf(format, arguments);
    printf(", at: %.60s\n", reader->at);
    va_end(arguments);
    exit(1);
}

/* Returns false if the name is there already. */
static bool add_name(struct names *names, const char *name, size_t length)
{
    for (int i = 0; i < names->count; i++)
        if (strlen(names->at[i]) == length && memcmp(names->at[i], name, length) == 0)
            return false;
    if (names->count == names->room) {
        names->room = 2 * names->room + 64;
        names->at = realloc(names->at, (size_t)names->room * sizeof(char *));
        if (names->at == NULL)
            abort();
    }
    names->at[names->count++] = strndup(name, length);
    return true;
}

static void forget_names(struct names *names)
{
    for (int i = 0; i < names->count; i++)
        free(names->at[i]);
    names->count = 0;
}

static void expect(struct reader *reader, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(reader->at, text, length) != 0)
        refuse(reader, "expected \"%s\"", text);
    reader->at += length;
}

static bool takes(struct reader *reader, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(reader->at, text, length) != 0)
        return false;
    reader->at += length;
    return true;
}

/* Reads the name of a metric, or the name of a label, which has no colon. */
static void read_name(struct reader *reader, bool colon, char *name, size_t size)
{
    const char *start = reader->at;
    while (isalnum((unsigned char)*reader->at) || *reader->at == '_' ||
           (colon && *reader->at == ':'))
        reader->at++;
    size_t length = (size_t)(reader->at - start);
    if (length == 0 || isdigit((unsigned char)*start) || length >= size)
        refuse(reader, "expected a name");
    memcpy(name, start, length);
    name[length] = '\0';
}

/* Reads one character of UTF-8. It must be in the shortest form, and no surrogate. */
static void read_character(struct reader *reader)
{
    const unsigned char *s = (const unsigned char *)reader->at;
    int length = s[0] < 0x80                   ? 1
                 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                               : 0;
    bool good = length > 0 && s[0] != 0;
    for (int i = 1; good && i < length; i++)
        good = (s[i] & 0xc0) == 0x80;
    good = good && !(s[0] == 0xe0 && s[1] < 0xa0) && !(s[0] == 0xed && s[1] >= 0xa0) &&
           !(s[0] == 0xf0 && s[1] < 0x90) && !(s[0] == 0xf4 && s[1] >= 0x90);
    if (!good)
        refuse(reader, "no UTF-8");
    reader->at += length;
}

/* Reads up to `end`, which stays unread. A backslash stands before n, a backslash or a quote. */
static void read_escaped(struct reader *reader, char end)
{
    while (*reader->at != end) {
        if (*reader->at == '\0')
            refuse(reader, "a text without end");
        if (*reader->at == '\\' && strchr("n\\\"", reader->at[1]) == NULL)
            refuse(reader, "no such escape");
        if (*reader->at == '\\')
            reader->at++;
        read_character(reader);
    }
}

static void read_labels(struct reader *reader)
{
    struct names labels = {0};
    while (!takes(reader, "}")) {
        char name[128];
        if (labels.count > 0)
            expect(reader, ",");
        read_name(reader, false, name, sizeof(name));
        if (!add_name(&labels, name, strlen(name)) || labels.count > MOST_LABELS)
            refuse(reader, "label %s twice", name);
        expect(reader, "=\"");
        read_escaped(reader, '"');
        expect(reader, "\"");
    }
    forget_names(&labels);
    free(labels.at);
}

/* Accepts only a realnumber: ftcoll writes no infinity and no NaN. */
static double read_number(struct reader *reader)
{
    const char *start = reader->at;
    int digits = 0;
    if (*reader->at == '+' || *reader->at == '-')
        reader->at++;
    for (; isdigit((unsigned char)*reader->at); digits++)
        reader->at++;
    if (*reader->at == '.')
        for (reader->at++; isdigit((unsigned char)*reader->at); digits++)
            reader->at++;
    if (digits == 0)
        refuse(reader, "expected a number");
    if (*reader->at == 'e' || *reader->at == 'E') {
        reader->at += reader->at[1] == '+' || reader->at[1] == '-' ? 2 : 1;
        if (!isdigit((unsigned char)*reader->at))
            refuse(reader, "expected an exponent");
        while (isdigit((unsigned char)*reader->at))
            reader->at++;
    }
    return strtod(start, NULL);
}

static bool ends_in(const char *name, const char *unit)
{
    size_t length = strlen(name), tail = strlen(unit);
    return length > tail + 1 && name[length - tail - 1] == '_' &&
           strcmp(name + length - tail, unit) == 0;
}

static void begin_family(struct reader *reader, const char *name)
{
    if (strcmp(name, reader->family) == 0) {
        if (reader->sampled)
            refuse(reader, "%s is described after its samples", name);
        return;
    }
    if (!add_name(&reader->families, name, strlen(name)) || reader->families.count > MOST_FAMILIES)
        refuse(reader, "%s comes twice, or too many families", name);
    snprintf(reader->family, sizeof(reader->family), "%s", name);
    reader->type[0] = reader->unit[0] = '\0';
    reader->help = reader->sampled = false;
    forget_names(&reader->samples);
}

static void read_descriptor(struct reader *reader)
{
    char name[128], what[8];
    read_name(reader, false, what, sizeof(what));
    expect(reader, " ");
    read_name(reader, true, name, sizeof(name));
    begin_family(reader, name);
    expect(reader, " ");
    if (strcmp(what, "TYPE") == 0 && reader->type[0] == '\0') {
        read_name(reader, false, reader->type, sizeof(reader->type));
        if (strcmp(reader->type, "counter") != 0 && strcmp(reader->type, "gauge") != 0)
            refuse(reader, "no type of ftcoll: %s", reader->type);
        if (strcmp(reader->type, "counter") == 0 && ends_in(name, "total"))
            refuse(reader, "_total is of samples, not of %s", name);
    } else if (strcmp(what, "UNIT") == 0 && reader->unit[0] == '\0') {
        read_name(reader, true, reader->unit, sizeof(reader->unit));
        if (!ends_in(name, reader->unit))
            refuse(reader, "%s does not end in its unit", name);
    } else if (strcmp(what, "HELP") == 0 && !reader->help) {
        reader->help = true;
        read_escaped(reader, '\0');
    } else {
        refuse(reader, "%s twice, or unknown", what);
    }
    if (*reader->at != '\0')
        refuse(reader, "more than a description");
}

static void read_sample(struct reader *reader)
{
    const char *start = reader->at;
    char name[128], wanted[160];
    read_name(reader, true, name, sizeof(name));
    bool counter = strcmp(reader->type, "counter") == 0;
    snprintf(wanted, sizeof(wanted), "%s%s", reader->family, counter ? "_total" : "");
    if (reader->type[0] == '\0' || strcmp(name, wanted) != 0)
        refuse(reader, "%s is no sample of the family %s", name, reader->family);
    if (takes(reader, "{"))
        read_labels(reader);
    if (!add_name(&reader->samples, start, (size_t)(reader->at - start)))
        refuse(reader, "the same sample again");
    reader->sampled = true;
    expect(reader, " ");
    double value = read_number(reader);
    if (counter && !(value >= 0 && isfinite(value)))
        refuse(reader, "a counter of %g", value);
    if (*reader->at != '\0')
        refuse(reader, "more than a sample");
}

int main(void)
{
    struct reader reader = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    bool ended = false;
    while ((length = getline(&line, &room, stdin)) > 0) {
        reader.line++;
        reader.at = line;
        if (ended || line[length - 1] != '\n')
            refuse(&reader, ended ? "more after the end" : "the line does not end");
        line[length - 1] = '\0';
        if (strlen(line) != (size_t)length - 1)
            refuse(&reader, "a NUL");
        if (strcmp(line, "# EOF") == 0)
            ended = true;
        else if (takes(&reader, "# "))
            read_descriptor(&reader);
        else
            read_sample(&reader);
    }
    reader.at = "";
    if (!ended)
        refuse(&reader, "no # EOF");
    printf("%d families\n", reader.families.count);
    forget_names(&reader.families);
    forget_names(&reader.samples);
    free(reader.families.at);
    free(reader.samples.at);
    free(line);
    return 0;
}
