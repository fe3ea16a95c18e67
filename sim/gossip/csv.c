/* The CSV of tables of gossip aggregation. */
#include "sim/gossip/csv.h"

#include <limits.h>
#include <stdio.h>

#include "sim/csv.h"

static const char head[] =
    "algorithm,neighbourhood,turns,n,accuracy,loss_percent,bit,after_loss,only_flips,runs,"
    "converged,most,most_deviation,most_low,most_q1,most_median,most_q3,most_high,mean,error,time,"
    "flips,corrupt,resets,repairs";

void ftc_gossip_csv_print_head(void)
{
    puts(head);
    fflush(stdout); /* before fork(), or each child would write the same text again */
}

static const char *number_or_none(int number, char text[16])
{
    text[0] = '\0';
    if (number >= 0)
        snprintf(text, 16, "%d", number);
    return text;
}

static char *row_key(const struct ftc_gossip_row *row, char key[FTC_CSV_KEY])
{
    const struct ftc_gossip_run *run = &row->run;
    const struct ftc_gossip_settings *g = &run->gossip;
    char bit[16], flips[16];

    snprintf(key, FTC_CSV_KEY, "%s,%s,%s,%d,%g,%g,%s,%s,%s,", ftc_gossip_run_name(run),
             run->deterministic ? "" : ftc_neighbourhood_name(g->neighbourhood.kind),
             g->turns ? "on" : "off", g->neighbourhood.ranks, g->accuracy, run->loss * 100,
             number_or_none(row->bit, bit), run->lost_sends ? "sends" : "waits",
             number_or_none(row->flips_wanted, flips));
    return key;
}

/* The results of a row, in the order of the columns; `places`: digits behind the point, -1: three
 * digits in all. */
struct column {
    double *value;
    int places;
};
enum { COLUMNS = 14 };

static void list_columns(struct ftc_gossip_row *row, struct column column[COLUMNS])
{
    const struct column all[COLUMNS] = {
        {&row->most, 1},        {&row->deviation, 1},   {&row->low, 0},    {&row->quartile[0], 1},
        {&row->quartile[1], 1}, {&row->quartile[2], 1}, {&row->high, 0},   {&row->mean, 1},
        {&row->error, -1},      {&row->time, 1},        {&row->flips, -1}, {&row->corrupt, -1},
        {&row->resets, -1},     {&row->repairs, -1},
    };

    for (int i = 0; i < COLUMNS; i++)
        column[i] = all[i];
}

void ftc_gossip_csv_print(const struct ftc_gossip_row *row)
{
    struct ftc_gossip_row copy = *row;
    struct column column[COLUMNS];
    char key[FTC_CSV_KEY];

    list_columns(&copy, column);
    printf("%s%d,%d", row_key(row, key), row->repeat, row->converged);
    for (int i = 0; i < COLUMNS; i++) {
        if (column[i].places < 0)
            printf(",%.3g", *column[i].value);
        else
            printf(",%.*f", column[i].places, *column[i].value);
    }
    putchar('\n');
    fflush(stdout);
}

static int read_row(struct ftc_csv *csv, struct ftc_gossip_row *row)
{
    struct column column[COLUMNS];
    char key[FTC_CSV_KEY];
    int rc = ftc_csv_begin_row(csv, row_key(row, key));

    if (rc != 0)
        return rc;
    list_columns(row, column);
    row->repeat = (int)ftc_csv_count(csv, INT_MAX);
    row->converged = (int)ftc_csv_count(csv, INT_MAX);
    for (int i = 0; i < COLUMNS; i++)
        *column[i].value = ftc_csv_real(csv);
    return ftc_csv_end_row(csv);
}

int ftc_gossip_csv_read(struct ftc_gossip_table *table, const char *path)
{
    struct ftc_csv csv;
    int rc = ftc_csv_open(&csv, path, head);

    if (rc != 0)
        return rc;
    for (int i = 0; rc == 0 && i < table->rows; i++)
        rc = read_row(&csv, &table->row[i]);
    return ftc_csv_close(&csv, rc);
}
