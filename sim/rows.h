/*
 * Works out each row of a table in a process of its own, several at once. So the memory of a row is
 * returned when the row is done, and a crash is an error of one row only.
 */
#ifndef FTC_SIM_ROWS_H
#define FTC_SIM_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct ftc_rows {
    void *row;   /* the array of rows; what they point to must exist before */
    size_t size; /* of one row; at most a page, so that a row fits into a pipe */
    int count;
    void *arg;
    /* runs in a process of its own: fill in the results of the row */
    void (*work)(void *arg, void *row);
    /* the process of this row died; `words` say why */
    void (*lost)(void *arg, void *row, const char *words);
    bool (*report)(void *arg, const void *row); /* called in the order of the rows; false: stop */
};

/* Work out all rows, up to `jobs` at once. FTC_ERR_SYSTEM: no process can be made; FTC_ERR_NOMEM.
 * Leaves no process behind. */
int ftc_rows_run(const struct ftc_rows *rows, int jobs);

#endif
