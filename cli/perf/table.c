/* Tables for people, printed a line at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/perf/output.h"

double ftc_perf_bandwidth(const struct ftc_perf_row *row)
{
    return (double)row->bytes / row->median;
}

double ftc_perf_message_rate(const struct ftc_perf_row *row)
{
    return row->ranks / 2 * 1e6 / row->median;
}

int ftc_perf_summarise(const struct ftc_perf_table *table, struct ftc_perf_summary *summary)
{
    double *last = calloc((size_t)table->kills, sizeof(last[0]));

    if (last == NULL)
        return ftc_perf_fail("out of memory");
    for (int i = 0; i < table->kills; i++)
        last[i] = table->kill[i].last;
    ftc_perf_sort(last, table->kills);
    *summary = (struct ftc_perf_summary){ftc_perf_quantile(last, table->kills, 0.5),
                                         ftc_perf_quantile(last, table->kills, 0.99),
                                         last[table->kills - 1]};
    free(last);
    return 0;
}

/* How many ranks lived when the first figure was taken. */
static int ranks_at_first(const struct ftc_perf_table *table)
{
    return table->kills > 0 ? table->kill[0].survivors + 1 : table->row[0].ranks;
}

/* Print `before`, and then such as "gossip + checked" or "binomial tree + none". An exchange and a
 * ring use neither tree nor correction, and are often the algorithm, too. */
static void print_spread(const char *before, const struct ftc_perf_how *how)
{
    if (how->dissemination == NULL)
        return;
    bool tree = strcmp(how->dissemination, "tree") == 0;
    if (strcmp(how->tree, "none") != 0)
        printf("%s%s%s%s + %s", before, tree ? how->tree : "", tree ? " " : "", how->dissemination,
               how->correction);
    else if (strcmp(how->dissemination, how->algorithm) != 0)
        printf("%s%s", before, how->dissemination);
}

static void print_title(const struct ftc_perf_results *results, const struct ftc_perf_table *table)
{
    const struct ftc_perf_job *job = results->job;
    int ranks = ranks_at_first(table);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    printf("%s# ftcoll-perf %s: %s", results->tables > 1 ? "\n" : "", ftc_version(),
           table->operation->what);
    if (results->options->kills > 0 && table->operation->sized)
        printf(", %zu bytes", results->options->sizes.first);
    printf("; %d rank%s", job->size, job->size == 1 ? "" : "s");
    if (ranks < job->size)
        printf(" (%d failed)", job->size - ranks);
    printf(" on %ld core%s; algorithm %s", cores, cores == 1 ? "" : "s", table->how.algorithm);
    print_spread(", ", &table->how);
    printf("; f %d\n", table->how.f);
}

static void print_bytes(const struct ftc_perf_row *row)
{
    if (row->bytes > 0)
        printf("%11zu", row->bytes);
    else
        printf("%11s", "");
}

static void print_ranks_head(const struct ftc_perf_results *results,
                             const struct ftc_perf_table *table)
{
    print_title(results, table);
    printf("# us from the call of rank %d until a rank has returned, all called together\n"
           "# %9s %11s %11s %11s %15s\n",
           results->job->lead, table->operation->sized ? "bytes" : "", "rank", "median", "p99",
           "samples");
}

/* A line for each living rank, and one that sums up. */
static void print_ranks(const struct ftc_perf_results *results, const struct ftc_perf_table *table,
                        const struct ftc_perf_row *row)
{
    if (table->rows == 1)
        print_ranks_head(results, table);
    for (int rank = 0; rank < results->job->size; rank++)
        if (row->rank[rank].median >= 0) {
            print_bytes(row);
            printf(" %11d %11.2f %11.2f %15d\n", rank, row->rank[rank].median, row->rank[rank].p99,
                   row->samples);
        }
    printf("# slowest rank: median %.2f, p99 %.2f; spread %.2f\n", row->median, row->p99,
           row->spread);
}

static void print_head(const struct ftc_perf_results *results, const struct ftc_perf_table *table)
{
    unsigned long long under_way = results->options->under_way;
    const char *how = results->options->synchronise ? "a barrier before each"
                      : table->operation->overlaps  ? "overlapping"
                                                    : "one after the other";

    print_title(results, table);
    if (under_way > 0)
        printf(
            "# us for one operation at the slowest rank, started and waited for, %llu under way\n",
            under_way);
    else
        printf("# us for one %s at the slowest rank, %s\n",
               table->operation->messages > 0 ? "message" : "operation", how);
    printf("# %9s %11s %11s %11s %11s %11s", table->operation->sized ? "bytes" : "", "median",
           "p99", "min", "max", table->operation->sized ? "MB/s" : "");
    if (under_way > 0)
        printf(" %11s %11s %11s", "compute", "overlapped", "overlap %");
    if (table->operation->messages > 0)
        printf(" %11s", "messages/s");
    printf(" %15s\n", "samples");
}

int ftc_perf_print_row(void *arg)
{
    const struct ftc_perf_results *results = arg;
    const struct ftc_perf_table *table = &results->table[results->tables - 1];
    const struct ftc_perf_row *row = &table->row[table->rows - 1];

    if (row->rank != NULL) {
        print_ranks(results, table, row);
        return 0;
    }
    if (table->rows == 1)
        print_head(results, table);
    print_bytes(row);
    printf(" %11.2f %11.2f %11.2f %11.2f", row->median, row->p99, row->least, row->most);
    if (row->bytes > 0)
        printf(" %11.2f", ftc_perf_bandwidth(row));
    else
        printf(" %11s", "");
    if (results->options->under_way > 0)
        printf(" %11.2f %11.2f %11.1f", row->overlap.compute, row->overlap.both,
               row->overlap.percent);
    if (table->operation->messages > 0)
        printf(" %11.0f", ftc_perf_message_rate(row));
    char samples[32];
    snprintf(samples, sizeof(samples), row->batch > 1 ? "%d x %d" : "%d", row->samples, row->batch);
    printf(" %15s", samples);
    if (strcmp(row->how.algorithm, table->how.algorithm) != 0)
        printf("  %s", row->how.algorithm);
    if (!ftc_perf_same_spread(&row->how, &table->how))
        print_spread("  ", &row->how);
    if (row->ranks != ranks_at_first(table))
        printf("  %d rank%s", row->ranks, row->ranks == 1 ? "" : "s");
    if (row->gossip.algorithm != NULL)
        printf("  %s, %s, %g: %.0f messages, gossip %.1f, barrier %.1f, agreement %.1f",
               row->gossip.algorithm, row->gossip.neighbourhood, row->gossip.accuracy,
               row->gossip.messages, row->gossip.gossip_us, row->gossip.barrier_us,
               row->gossip.agreement_us);
    putchar('\n');
    return 0;
}

static void print_kill_head(const struct ftc_perf_results *results,
                            const struct ftc_perf_table *table)
{
    print_title(results, table);
    printf("# us from the SIGKILL of a rank to the end of the first operation that knows it; seed "
           "%llu\n"
           "# an operation takes %.2f us without deaths\n",
           (unsigned long long)results->options->seed, table->undisturbed);
    printf("# %9s %11s %11s %15s %15s\n", "kill", "rank", "survivors", "first survivor",
           "last survivor");
}

int ftc_perf_print_kill(void *arg)
{
    const struct ftc_perf_results *results = arg;
    const struct ftc_perf_table *table = &results->table[results->tables - 1];
    const struct ftc_perf_kill *kill = &table->kill[table->kills - 1];

    if (table->kills == 1)
        print_kill_head(results, table);
    printf("%11d %11d %11d %15.2f %15.2f\n", table->kills, kill->rank, kill->survivors, kill->first,
           kill->last);
    return 0;
}

int ftc_perf_print_summary(void *arg)
{
    const struct ftc_perf_results *results = arg;
    const struct ftc_perf_table *table = &results->table[results->tables - 1];
    struct ftc_perf_summary summary;

    if (ftc_perf_summarise(table, &summary) != 0)
        return -1;
    printf("# last survivor: median %.2f, p99 %.2f, max %.2f\n", summary.median, summary.p99,
           summary.most);
    return 0;
}
