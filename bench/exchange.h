/*
 * Messages between pairs of processes, for bench/message_time. They use the transport of jobs, in a
 * node segment of their own, but no runtime and no protocol. The partner of rank r is rank r ^ 1.
 * All pairs exchange messages at once.
 */
#ifndef FTC_BENCH_EXCHANGE_H
#define FTC_BENCH_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#define EXCHANGE_RANKS_MAX 512
#define EXCHANGE_BYTES_MAX (1u << 20)

enum exchange_bind {
    EXCHANGE_BIND_NONE,  /* the kernel places the ranks, as in a job */
    EXCHANGE_BIND_ONE,   /* all ranks are on the first core that may be used */
    EXCHANGE_BIND_CORES, /* rank i is on the i-th core that may be used, in turn */
    EXCHANGE_BINDS
};
const char *exchange_bind_name(enum exchange_bind bind); /* "none", "one", "cores" */

struct exchange_plan {
    int ranks; /* even, 2 to EXCHANGE_RANKS_MAX */
    enum exchange_bind bind;
    size_t bytes; /* size of a message, up to EXCHANGE_BYTES_MAX */
    bool both;    /* both send, then both receive; false: they take turns, there and back */
    double seconds;
};

/* Microseconds of one message. If the ranks take turns, this is half of the time there and back. If
 * both send, it is the time from one message of a rank to its next. */
struct exchange_result {
    long messages; /* messages in each direction, of all pairs */
    double mean, median, p90;
};

/* Run the measurement. Returns false after it has printed the cause on standard error. However it
 * ends, it leaves nothing behind. */
bool exchange_run(const struct exchange_plan *plan, struct exchange_result *result);

#endif
