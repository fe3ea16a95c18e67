/* Prints a run as lines of text. */
#include "sim/timed/trace.h"

#include <inttypes.h>
#include <stdarg.h>

struct ftc_trace ftc_trace_new(FILE *out, int ranks, bool graph)
{
    struct ftc_trace trace = {.out = out, .ranks = ranks, .width = 1, .graph = graph};

    for (int most = ranks - 1; most >= 10; most /= 10)
        trace.width++;
    if (out != NULL && graph)
        fputs("digraph contributions {\n    rankdir=BT\n    node [shape=circle]\n", out);
    return trace;
}

static void begin(const struct ftc_trace *trace, uint64_t ns, int rank)
{
    fprintf(trace->out, "%10" PRIu64 ".%03" PRIu64 " us  rank %-*d  ", ns / 1000, ns % 1000,
            trace->width, rank);
}

void ftc_trace_message(const struct ftc_trace *trace, uint64_t ns, int rank, const char *verb,
                       const char *preposition, int peer, const struct ftc_buffer *message,
                       uint64_t size)
{
    struct ftc_message_head head;

    if (trace->graph || ftc_message_peek(message, &head) != 0)
        return;
    begin(trace, ns, rank);
    fprintf(trace->out, "%s %s %s %d  %s %" PRIu64 " ballot (%" PRIu32 ",%" PRIu32 ")", verb,
            ftc_message_kind_name(head.kind), preposition, peer,
            ftc_op_is_settlement(head.op) ? "settlement" : "op", head.op & ~FTC_SETTLEMENT,
            head.ballot.i, head.ballot.s);
    if (size > 0)
        fprintf(trace->out, "  %" PRIu64 " bytes", size);
    fputc('\n', trace->out);
}

void ftc_trace_line(const struct ftc_trace *trace, uint64_t ns, int rank, const char *format, ...)
{
    va_list arguments;

    if (trace->graph)
        return;
    begin(trace, ns, rank);
    va_start(arguments, format);
    vfprintf(trace->out, format, arguments);
    va_end(arguments);
    fputc('\n', trace->out);
}

void ftc_trace_contribution(const struct ftc_trace *trace, const struct ftc_ledger *ledger,
                            int from, int to, struct ftc_buffer *message, size_t offset)
{
    struct ftc_value value = {.buffer = message, .offset = offset};
    struct ftc_message_head head;
    const char *comma = "";

    if (!trace->graph || ftc_message_peek(message, &head) != 0 || ftc_op_is_settlement(head.op) ||
        (head.kind != FTC_MESSAGE_UP && head.kind != FTC_MESSAGE_TREE))
        return;
    value.size = message->size - offset;
    fprintf(trace->out, "    %d -> %d [%slabel=\"", from, to,
            head.kind == FTC_MESSAGE_UP ? "style=dashed, constraint=false, " : "");
    for (int rank = 0; rank < trace->ranks; rank++)
        if (ftc_ledger_counts_in(ledger, (int)head.op, &value, rank) > 0) {
            fprintf(trace->out, "%s%d", comma, rank);
            comma = ",";
        }
    fprintf(trace->out, "\"]\n");
}

void ftc_trace_death(const struct ftc_trace *trace, uint64_t ns, int rank)
{
    if (trace->graph)
        fprintf(trace->out, "    %d [style=filled]\n", rank);
    ftc_trace_line(trace, ns, rank, "dies");
}

void ftc_trace_end(const struct ftc_trace *trace)
{
    if (trace->out != NULL && trace->graph)
        fputs("}\n", trace->out);
}
