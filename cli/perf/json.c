/* --json. Schema 1: fields may be added, but are never changed or removed. Times are in
 * microseconds. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/perf/output.h"

#define DIGITS 12

/* Round to nanoseconds: the clock gives no finer time. */
static double rounded(double value)
{
    return round(value * 1e3) / 1e3;
}

/* Returns null if the result did not spread by messages. */
static json_t *spread_json(const struct ftc_perf_how *how)
{
    if (how->dissemination == NULL)
        return json_null();
    return json_pack("{s:s, s:s, s:s}", "dissemination", how->dissemination, "tree", how->tree,
                     "correction", how->correction);
}

static json_t *gossip_json(const struct ftc_perf_gossip *gossip)
{
    if (gossip->algorithm == NULL)
        return NULL;
    return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "algorithm", gossip->algorithm,
                     "neighbourhood", gossip->neighbourhood, "accuracy", gossip->accuracy,
                     "messages", gossip->messages, "attempts", gossip->attempts, "gossip_us",
                     rounded(gossip->gossip_us), "barrier_us", rounded(gossip->barrier_us),
                     "agreement_us", rounded(gossip->agreement_us));
}

static json_t *ranks_json(const struct ftc_perf_job *job, const struct ftc_perf_row *row)
{
    if (row->rank == NULL)
        return NULL;
    json_t *ranks = json_array();
    for (int rank = 0; rank < job->size; rank++)
        if (row->rank[rank].median >= 0)
            json_array_append_new(ranks, json_pack("{s:i, s:f, s:f}", "rank", rank, "median_us",
                                                   rounded(row->rank[rank].median), "p99_us",
                                                   rounded(row->rank[rank].p99)));
    return ranks;
}

/* NULL without --nonblocking, where there are no such times. */
static json_t *overlap_json(const struct ftc_perf_overlap *overlap)
{
    if (overlap->both == 0)
        return NULL;
    return json_pack("{s:f, s:f, s:f}", "compute_us", rounded(overlap->compute), "overlapped_us",
                     rounded(overlap->both), "percent", rounded(overlap->percent));
}

static json_t *row_json(const struct ftc_perf_job *job, const struct ftc_perf_operation *operation,
                        const struct ftc_perf_row *row)
{
    return json_pack(
        "{s:o*, s:s, s:o, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:o*, s:o*, s:o*, s:o*, s:o*, "
        "s:o*}",                                                               //
        "bytes", row->bytes > 0 ? json_integer((json_int_t)row->bytes) : NULL, //
        "algorithm", row->how.algorithm, "broadcast", spread_json(&row->how),  //
        "f", row->how.f,                                                       //
        "ranks", row->ranks, "samples", row->samples, "batch", row->batch,     //
        "median_us", rounded(row->median), "p99_us", rounded(row->p99),        //
        "min_us", rounded(row->least), "max_us", rounded(row->most),           //
        "mb_per_s", row->bytes > 0 ? json_real(rounded(ftc_perf_bandwidth(row))) : NULL, "gossip",
        gossip_json(&row->gossip), "spread_us",
        row->rank != NULL ? json_real(rounded(row->spread)) : NULL, "by_rank", ranks_json(job, row),
        "overlap", overlap_json(&row->overlap), "messages_per_s",
        operation->messages > 0 ? json_real(rounded(ftc_perf_message_rate(row))) : NULL);
}

static json_t *kill_json(const struct ftc_perf_kill *kill)
{
    return json_pack("{s:i, s:i, s:f, s:f}", "rank", kill->rank, "survivors", kill->survivors,
                     "first_us", rounded(kill->first), "last_us", rounded(kill->last));
}

static json_t *rows_json(const struct ftc_perf_job *job, const struct ftc_perf_table *table)
{
    json_t *rows = json_array();

    for (int i = 0; i < table->rows; i++)
        json_array_append_new(rows, row_json(job, table->operation, &table->row[i]));
    return json_pack("{s:s, s:s, s:o}", "operation", table->operation->name, "algorithm",
                     table->how.algorithm, "rows", rows);
}

static json_t *kills_json(const struct ftc_perf_table *table, size_t bytes)
{
    struct ftc_perf_summary summary;
    json_t *kills = json_array();

    if (ftc_perf_summarise(table, &summary) != 0)
        return NULL;
    for (int i = 0; i < table->kills; i++)
        json_array_append_new(kills, kill_json(&table->kill[i]));
    return json_pack("{s:s, s:s, s:o*, s:f, s:f, s:f, s:f, s:o}", "operation",
                     table->operation->name, "algorithm", table->how.algorithm, "bytes",
                     table->operation->sized ? json_integer((json_int_t)bytes) : NULL, //
                     "undisturbed_us", rounded(table->undisturbed),                    //
                     "median_us", rounded(summary.median), "p99_us", rounded(summary.p99), "max_us",
                     rounded(summary.most), "kills", kills);
}

int ftc_perf_print_json(void *arg)
{
    const struct ftc_perf_results *results = arg;
    const struct ftc_perf_options *options = results->options;
    json_t *tables = json_array();

    for (int i = 0; i < results->tables; i++)
        json_array_append_new(tables, options->kills > 0
                                          ? kills_json(&results->table[i], options->sizes.first)
                                          : rows_json(results->job, &results->table[i]));
    const ftc_report *set = &results->job->settings;
    struct ftc_perf_how as_set = {set->algorithm, set->dissemination, set->tree, set->correction,
                                  set->f};
    json_t *document = json_pack(
        "{s:i, s:s, s:i, s:i, s:i, s:o, s:b, s:o*, s:o*, s:o}", "schema", 1, "version",
        ftc_version(), "ranks", results->job->size, "living", results->job->living, "f", set->f,
        "broadcast", spread_json(&as_set), "synchronise", options->synchronise, "under_way",
        options->under_way > 0 ? json_integer((json_int_t)options->under_way) : NULL, "seed",
        options->kills > 0 ? json_integer((json_int_t)options->seed) : NULL, "tables", tables);
    bool good = document != NULL && json_array_size(tables) == (size_t)results->tables &&
                json_dumpf(document, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS)) == 0;
    json_decref(document);
    putchar('\n');
    return good ? 0
                : ftc_perf_fail("cannot write JSON: out of memory, or standard output is closed");
}
