/*
 * --trace FILE: all operations of all ranks, with deaths, notices and ballots, in the Trace Event
 * Format, which Perfetto and chrome://tracing open.
 *
 * The ranks record their operations in rings of the segment (node/segment/history.h). The ftrun of
 * each node copies what is new there a hundred times a second, and once more at the end, to a file
 * of its own, FILE.node<N>. An entry that was overwritten before it was copied is counted. At the
 * end one ftrun puts the files of all nodes together (merge.c). So what a lost node has written is
 * there if its file can be seen.
 *
 * Times in a file are microseconds after the start of the job on that node. The merge moves them by
 * how far the starts are apart by CLOCK_REALTIME.
 */
#ifndef FTC_LAUNCHER_TRACE_TRACE_H
#define FTC_LAUNCHER_TRACE_TRACE_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "launcher/ranks.h"
#include "launcher/sink.h"
#include "node/segment/history.h"

#define FTC_TRACE_PATH 4096

struct ftc_trace_rank;

struct ftc_trace {
    FILE *file;       /* NULL: there is no trace, or it is finished */
    const char *path; /* as the user gave it; NULL: no trace */
    int node;
    struct ev_loop *loop;
    struct ev_timer tick;
    struct ftc_segment *segment;
    const struct ftc_ranks *ranks;
    struct ftc_trace_rank *at; /* one for each rank of the job */
    struct ftc_history_clock clock;
    uint64_t started_ns;
    bool speaks; /* this node tells the deaths of ranks of lost nodes */
};

/* Make the file of this node. FTC_ERR_SYSTEM: it cannot be written, or `path` is neither new nor a
 * regular file. FTC_ERR_NOMEM. ftc_trace_fini() of a zeroed struct is legal. */
int ftc_trace_open(struct ftc_trace *trace, const char *path, struct ftc_segment *segment,
                   const struct ftc_ranks *ranks);
/* Begin to copy. */
void ftc_trace_start(struct ftc_trace *trace, struct ev_loop *loop);
/* Copy what is new. */
void ftc_trace_drain(struct ftc_trace *trace);
/* Copy the rest, and close the file. Call it when all ranks of this node have ended. */
void ftc_trace_finish(struct ftc_trace *trace);
void ftc_trace_fini(struct ftc_trace *trace);

/* What the merge of the files has found. */
struct ftc_trace_sum {
    int nodes;            /* files that were put together */
    int missing;          /* a node whose file was not there; -1: none */
    uint64_t overwritten; /* entries that were overwritten before they were copied */
};

/* Put the files of all nodes together, and remove them. Nothing happens if another node does it, or
 * has done it. FTC_ERR_SYSTEM: a file cannot be read or written. */
int ftc_trace_merge(const struct ftc_trace *trace, struct ftc_trace_sum *sum);

/* "FILE.node<N>". */
void ftc_trace_part(const char *path, int node, char part[FTC_TRACE_PATH]);

#endif
