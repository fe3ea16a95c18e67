/* Reads back a table of rows that a command printed, so that a figure can be drawn from a file
 * without running anything. The file is untrusted input: a file that is not the table that the
 * command line describes is refused. */
#ifndef FTC_SIM_CSV_H
#define FTC_SIM_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FTC_CSV_KEY 256 /* bytes of the fields with which a row begins */

struct ftc_csv {
    FILE *in;
    const char *path;
    char *line;       /* owned */
    size_t room;      /* bytes allocated for `line` */
    unsigned number;  /* number of the line in the file, from 1 */
    const char *next; /* the next field; NULL: at the end of the line */
    bool bad;         /* a field of this row could not be read */
};

/* Open the file and check that its first line is `head`. FTC_ERR_SYSTEM or FTC_ERR_ARG, with cause
 * and remedy; then there is nothing to close. */
int ftc_csv_open(struct ftc_csv *csv, const char *path, const char *head);
/* Read the next row, which must begin with the fields `key` ("allreduce,rdma,2,"). FTC_ERR_ARG. */
int ftc_csv_begin_row(struct ftc_csv *csv, const char *key);
/* Read the fields of the row, one after the other. A field of another kind reads as 0, and
 * ftc_csv_end_row() then fails. A count must not exceed `most`. */
uint64_t ftc_csv_count(struct ftc_csv *csv, uint64_t most);
double ftc_csv_real(struct ftc_csv *csv);
/* Skip the next field if it is empty, and tell whether it was. */
bool ftc_csv_skip_empty(struct ftc_csv *csv);
/* FTC_ERR_ARG: a field of the row was wrong, or the row has more fields. */
int ftc_csv_end_row(struct ftc_csv *csv);
/* Close the file in any case. Returns `rc` if that is not 0; otherwise FTC_ERR_ARG if the file has
 * more rows. */
int ftc_csv_close(struct ftc_csv *csv, int rc);

#endif
