/* Prints a run as lines of text. */
#include "sim/timed/trace.h"

#include <inttypes.h>
#include <stdarg.h>

struct ftc_trace ftc_trace_new(FILE *out, int ranks)
{
    struct ftc_trace trace = {.out = out, .width = 1};

    for (int most = ranks - 1; most >= 10; most /= 10)
        trace.width++;
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

    if (ftc_message_peek(message, &head) != 0)
        return;
    begin(trace, ns, rank);
    fprintf(trace->out, "%s %s %s %d  op %" PRIu64 " ballot (%" PRIu32 ",%" PRIu32 ")", verb,
            ftc_message_kind_name(head.kind), preposition, peer, head.op, head.ballot.i,
            head.ballot.s);
    if (size > 0)
        fprintf(trace->out, "  %" PRIu64 " bytes", size);
    fputc('\n', trace->out);
}

void ftc_trace_line(const struct ftc_trace *trace, uint64_t ns, int rank, const char *format, ...)
{
    va_list arguments;

    begin(trace, ns, rank);
    va_start(arguments, format);
    vfprintf(trace->out, format, arguments);
    va_end(arguments);
    fputc('\n', trace->out);
}
