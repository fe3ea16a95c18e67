/*
 * Prints a run as lines of text, in the order of virtual time:
 *      12.345 us  rank   3  sends UP to 4  op 0 ballot (0,0)
 * or its contributions as the edges of a graph for Graphviz, with the ranks that each counts:
 *     3 -> 4 [style=dashed, constraint=false, label="3"]
 */
#ifndef FTC_SIM_TIMED_TRACE_H
#define FTC_SIM_TIMED_TRACE_H

#include <stdint.h>
#include <stdio.h>

#include "collectives/message.h"
#include "sim/model/ledger.h"

struct ftc_trace {
    FILE *out;
    int ranks, width; /* width: digits of a rank */
    bool graph;       /* edges, not lines */
};

struct ftc_trace ftc_trace_new(FILE *out, int ranks, bool graph); /* out NULL: prints nothing */
void ftc_trace_end(const struct ftc_trace *trace);
void ftc_trace_death(const struct ftc_trace *trace, uint64_t ns, int rank);
/* Draw an UP (dashed) or a TREE. Its value begins at `offset` of the message. */
void ftc_trace_contribution(const struct ftc_trace *trace, const struct ftc_ledger *ledger,
                            int from, int to, struct ftc_buffer *message, size_t offset);
/* Print "sends UP to 4", "has UP from 4" or "loses UP from 4". `size` is in bytes as the cost model
 * has them; 0 leaves it out. */
void ftc_trace_message(const struct ftc_trace *trace, uint64_t ns, int rank, const char *verb,
                       const char *preposition, int peer, const struct ftc_buffer *message,
                       uint64_t size);
void ftc_trace_line(const struct ftc_trace *trace, uint64_t ns, int rank, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
