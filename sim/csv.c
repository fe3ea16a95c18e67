/* Reads back tables that were printed. */
#include "sim/csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool read_line(struct ftc_csv *csv)
{
    ssize_t size = getline(&csv->line, &csv->room, csv->in);

    if (size < 0)
        return false;
    csv->line[strcspn(csv->line, "\r\n")] = '\0';
    csv->number++;
    csv->next = csv->line;
    csv->bad = false;
    return true;
}

int ftc_csv_open(struct ftc_csv *csv, const char *path, const char *head)
{
    *csv = (struct ftc_csv){.in = fopen(path, "r"), .path = path};
    if (csv->in == NULL)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "--from-csv %s: %m; give a table that was written before", path);
    if (read_line(csv) && strcmp(csv->line, head) == 0)
        return 0;
    return ftc_csv_close(
        csv, ftc_error_set(FTC_ERR_ARG,
                           "--from-csv %s: its first line is not that of this table; give "
                           "one that this command has written",
                           path));
}

int ftc_csv_begin_row(struct ftc_csv *csv, const char *key)
{
    if (!read_line(csv))
        return ftc_error_set(
            FTC_ERR_ARG,
            "--from-csv %s: the row \"%s\" is missing after line %u; give the options that the "
            "table was made with",
            csv->path, key, csv->number);
    if (strncmp(csv->line, key, strlen(key)) != 0)
        return ftc_error_set(
            FTC_ERR_ARG,
            "--from-csv %s: line %u should begin with \"%s\"; give the options that the table "
            "was made with",
            csv->path, csv->number, key);
    csv->next = csv->line + strlen(key);
    return 0;
}

/* NULL, and csv->bad is set: there is no field, or it is too long for a number. */
static const char *take_field(struct ftc_csv *csv, char text[64])
{
    size_t size = csv->next != NULL ? strcspn(csv->next, ",") : 0;

    if (csv->next == NULL || size == 0 || size >= 64) {
        csv->bad = true;
        return NULL;
    }
    memcpy(text, csv->next, size);
    text[size] = '\0';
    csv->next = csv->next[size] == ',' ? csv->next + size + 1 : NULL;
    return text;
}

uint64_t ftc_csv_count(struct ftc_csv *csv, uint64_t most)
{
    char text[64], *end;

    if (take_field(csv, text) == NULL)
        return 0;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno == 0 && *end == '\0' && strspn(text, "0123456789") > 0 && value <= most)
        return value;
    csv->bad = true;
    return 0;
}

double ftc_csv_real(struct ftc_csv *csv)
{
    char text[64], *end;

    if (take_field(csv, text) == NULL)
        return 0;
    double value = strtod(text, &end); /* infinity and NaN are valid results */
    if (*end == '\0')
        return value;
    csv->bad = true;
    return 0;
}

bool ftc_csv_skip_empty(struct ftc_csv *csv)
{
    if (csv->next == NULL || (csv->next[0] != ',' && csv->next[0] != '\0'))
        return false;
    csv->next = csv->next[0] == ',' ? csv->next + 1 : NULL;
    return true;
}

int ftc_csv_end_row(struct ftc_csv *csv)
{
    if (!csv->bad && csv->next == NULL)
        return 0;
    return ftc_error_set(FTC_ERR_ARG, "--from-csv %s: line %u is damaged; make the table again",
                         csv->path, csv->number);
}

int ftc_csv_close(struct ftc_csv *csv, int rc)
{
    if (rc == 0 && read_line(csv))
        rc = ftc_error_set(
            FTC_ERR_ARG,
            "--from-csv %s: line %u is of no row; give the options that the table was made with",
            csv->path, csv->number);
    fclose(csv->in);
    free(csv->line);
    csv->in = NULL;
    csv->line = NULL;
    return rc;
}
