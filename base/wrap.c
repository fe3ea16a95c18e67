/* Wrapping of help texts. */
#include "base/wrap.h"

#include <stdlib.h>
#include <string.h>

#define INDENT_MOST 44

/* Where the line goes on: the column of the text after its gap, or of its first word. */
static size_t indent_of(const char *line, size_t length)
{
    size_t first = 0, at;

    while (first < length && line[first] == ' ')
        first++;
    for (at = first; at + 2 < length && (line[at] != ' ' || line[at + 1] != ' ');)
        at++;
    if (at + 2 >= length)
        return first;
    while (at < length && line[at] == ' ')
        at++;
    return at <= INDENT_MOST ? at : first;
}

/* The last blank up to column `most` at which the line can be broken, or else the first one after
 * it; `length` if there is none. Blanks up to column `from` do not count. */
static size_t break_at(const char *line, size_t length, size_t from, size_t most)
{
    size_t found = length;

    for (size_t at = from; at + 1 < length && (at <= most || found == length); at++)
        if (line[at] == ' ' && line[at + 1] != ' ' && line[at + 1] != '-')
            found = at;
    return found;
}

static void wrap_line(const char *line, size_t length, FILE *out)
{
    size_t indent = indent_of(line, length), column = 0, from = indent;

    while (column + length > FTC_WRAP_COLUMNS) {
        size_t at = break_at(line, length, from, FTC_WRAP_COLUMNS - column);
        if (at == length)
            break;
        fprintf(out, "%.*s\n%*s", (int)at, line, (int)indent, "");
        line += at + 1;
        length -= at + 1;
        column = indent;
        from = 0;
    }
    fprintf(out, "%.*s\n", (int)length, line);
}

void ftc_wrap(ftc_wrap_fn *print, const void *arg, FILE *out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);

    if (memory == NULL) {
        print(arg, out);
        return;
    }
    print(arg, memory);
    if (fclose(memory) != 0) {
        free(text);
        print(arg, out);
        return;
    }
    for (const char *line = text; *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        wrap_line(line, (size_t)(end - line), out);
        line = *end != '\0' ? end + 1 : end;
    }
    free(text);
}
