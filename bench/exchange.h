/*
 * Messages between pairs of processes by the transport of jobs, in a node segment of their own, and
 * nothing else: no runtime, no protocol. For bench/message_time. Rank r has r ^ 1 for a partner;
 * all pairs are at it at once.
 */
#ifndef FTC_BENCH_EXCHANGE_H
#define FTC_BENCH_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#define EXCHANGE_RANKS_MAX 512
#define EXCHANGE_BYTES_MAX (1u << 20)

enum exchange_bind {
    EXCHANGE_BIND_NONE,  /* where the kernel puts them, as in a job */
    EXCHANGE_BIND_ONE,   /* all on the first core that may be used */
    EXCHANGE_BIND_CORES, /* rank i on the i-th of them, in turn */
    EXCHANGE_BINDS
};
const char *exchange_bind_name(enum exchange_bind bind); /* "none", "one", "cores" */

struct exchange_plan {
    int ranks; /* even, 2 to EXCHANGE_RANKS_MAX */
    enum exchange_bind bind;
    size_t bytes; /* of a message, up to EXCHANGE_BYTES_MAX */
    bool both;    /* both send, then both receive; false: in turns, there and back */
    double seconds;
};

/* Microseconds of one message. In turns: half of the way there and back. Both: from one message of
 * a rank to its next. */
struct exchange_result {
    long messages; /* in each direction, of all pairs */
    double mean, median, p90;
};

/* False: it has said why on standard error. Leaves nothing behind, however it ends. */
bool exchange_run(const struct exchange_plan *plan, struct exchange_result *result);

#endif
