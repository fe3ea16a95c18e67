/* A table of rows that was printed before, read again: figures are drawn from what is in a file,
 * and nothing is run. A file is input like any other: what is not the table that the command line
 * describes is refused. */
#ifndef FTC_SIM_CSV_H
#define FTC_SIM_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FTC_CSV_KEY 256 /* of what a row begins with */

struct ftc_csv {
    FILE *in;
    const char *path;
    char *line;       /* owned */
    size_t room;      /* of line */
    unsigned number;  /* of the line in the file */
    const char *next; /* field; NULL: the line is over */
    bool bad;         /* a field of this row was none */
};

/* The first line is `head`. FTC_ERR_SYSTEM, FTC_ERR_ARG with cause and remedy; then there is
 * nothing to close. */
int ftc_csv_open(struct ftc_csv *csv, const char *path, const char *head);
/* The next row, which begins with the fields `key` ("allreduce,rdma,2,"). FTC_ERR_ARG. */
int ftc_csv_begin_row(struct ftc_csv *csv, const char *key);
/* Its fields, one after the other. What is none of that kind is 0, and an error of
 * ftc_csv_end_row(). */
uint64_t ftc_csv_count(struct ftc_csv *csv, uint64_t most);
double ftc_csv_real(struct ftc_csv *csv);
/* Is the next field empty? Then it is passed over. */
bool ftc_csv_skip_empty(struct ftc_csv *csv);
/* FTC_ERR_ARG: a field was wrong, or there are more. */
int ftc_csv_end_row(struct ftc_csv *csv);
/* In any case closed. FTC_ERR_ARG: there are more rows; not after `rc`, which it then returns. */
int ftc_csv_close(struct ftc_csv *csv, int rc);

#endif
