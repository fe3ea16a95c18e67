/*
 * A table whose rows are worked out by processes of their own, several at once: memory is returned
 * after each, and what kills one is an error of that row.
 */
#ifndef FTC_SIM_ROWS_H
#define FTC_SIM_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct ftc_rows {
    void *row;   /* an array; what its pointers point to is there before */
    size_t size; /* of one, at most a page: it fits a pipe */
    int count;
    void *arg;
    void (*work)(void *arg, void *row); /* in a process of its own: fill in the results */
    void (*lost)(void *arg, void *row,
                 const char *words);            /* that process died of what the words say */
    bool (*report)(void *arg, const void *row); /* in the order of rows; false: stop */
};

/* Up to `jobs` at once. FTC_ERR_SYSTEM (no process can be made), FTC_ERR_NOMEM. Leaves no process
 * behind. */
int ftc_rows_run(const struct ftc_rows *rows, int jobs);

#endif
