/* The time of each rank: memory, table. */
#include "sim/figures/ranks.h"

#include <limits.h>
#include <sys/mman.h>

#include "base/error.h"

const char ftc_figures_ranks_head[] =
    "combination,cost,n,failed,dead,loss_percent,rank,runs,reached,time_ns";

static size_t count_all(const struct ftc_figures *figures)
{
    size_t all = 0;

    for (int i = 0; i < figures->rows; i++)
        all += (size_t)figures->row[i].n;
    return all;
}

int ftc_figures_ranks_init(struct ftc_figures *figures)
{
    size_t all = count_all(figures), used = 0;
    void *memory = mmap(NULL, all * sizeof(struct ftc_figures_rank), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return ftc_error_set(FTC_ERR_NOMEM,
                             "out of memory for the times of %zu ranks; give fewer -n", all);
    figures->rank = memory;
    for (int i = 0; i < figures->rows; i++) {
        figures->row[i].rank = figures->rank + used;
        used += (size_t)figures->row[i].n;
    }
    return 0;
}

void ftc_figures_ranks_fini(struct ftc_figures *figures)
{
    if (figures->rank != NULL)
        munmap(figures->rank, count_all(figures) * sizeof(struct ftc_figures_rank));
    figures->rank = NULL;
}

void ftc_figures_ranks_add(struct ftc_figures_row *row, const uint64_t *delivery)
{
    for (int i = 0; i < row->n; i++) {
        struct ftc_figures_rank *rank = &row->rank[i];
        if (delivery[i] == UINT64_MAX)
            continue;
        rank->reached++;
        rank->time += ((double)delivery[i] - rank->time) / rank->reached;
    }
}

void ftc_figures_ranks_print(const struct ftc_figures_row *row, const char *key)
{
    for (int i = 1; i < row->n; i++) {
        const struct ftc_figures_rank *rank = &row->rank[i];
        printf("%s%d,%d,%u,", key, i, row->runs, rank->reached);
        if (rank->reached > 0)
            printf("%.0f", rank->time);
        putchar('\n');
    }
}

int ftc_figures_ranks_read(struct ftc_csv *csv, struct ftc_figures_row *row, const char *key)
{
    char begin[FTC_CSV_KEY];
    int rc = 0;

    for (int i = 1; rc == 0 && i < row->n; i++) {
        struct ftc_figures_rank *rank = &row->rank[i];
        snprintf(begin, sizeof(begin), "%s%d,", key, i);
        rc = ftc_csv_begin_row(csv, begin);
        if (rc != 0)
            break;
        row->runs = (int)ftc_csv_count(csv, INT_MAX);
        rank->reached = (uint32_t)ftc_csv_count(csv, UINT32_MAX);
        if (!ftc_csv_skip_empty(csv))
            rank->time = ftc_csv_real(csv);
        rc = ftc_csv_end_row(csv);
    }
    return rc;
}
