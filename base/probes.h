/*
 * USDT probes of the provider "ftcoll", for tracers (docs/tracing.md). A probe that nobody traces
 * is one instruction that does nothing. A build without <sys/sdt.h> has no probes.
 *
 * The names and arguments are an interface. New arguments may only be added at the end.
 */
#ifndef FTC_BASE_PROBES_H
#define FTC_BASE_PROBES_H

#ifndef FTC_PROBES
#define FTC_PROBES 0 /* 1: this build has probes */
#endif

#if FTC_PROBES
#include <sys/sdt.h>
#else
#define DTRACE_PROBE2(provider, probe, a, b)       ((void)(a), (void)(b))
#define DTRACE_PROBE3(provider, probe, a, b, c)    ((void)(a), (void)(b), (void)(c))
#define DTRACE_PROBE4(provider, probe, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

/* For a function that holds a probe. The compiler neither inlines nor clones the function, so that
 * the probe is at one place only. perf 6.1 rejects a probe that is at two places, and a probe with
 * an argument that is a constant or a byte. */
#ifdef __clang__
#define FTC_ONE_PLACE __attribute__((noinline))
#else
#define FTC_ONE_PLACE __attribute__((noipa))
#endif

/* A collective was called, and it returns. kind: enum ftc_call_kind. number: the number of the
 * operation, from 0. size: the bytes of its value. */
#define FTC_PROBE_OPERATION_START(kind, number, size)                                              \
    DTRACE_PROBE3(ftcoll, operation__start, kind, number, size)
#define FTC_PROBE_OPERATION_END(kind, number, size, status)                                        \
    DTRACE_PROBE4(ftcoll, operation__end, kind, number, size, status)

/* This process entered ballot (i, s) of an operation. entered: the ballots entered so far. One hit
 * may stand for several ballots in a row, and `entered` shows that. */
#define FTC_PROBE_BALLOT(operation, i, s, entered)                                                 \
    DTRACE_PROBE4(ftcoll, ballot, operation, i, s, entered)

/* This process learnt of a failure, after_ns after its first sign. cause: enum
 * ftc_failure_cause. */
#define FTC_PROBE_FAILURE(rank, after_ns, cause)                                                   \
    DTRACE_PROBE3(ftcoll, failure, rank, after_ns, cause)

/* This process ends because it was declared failed, or may have been. why: text. */
#define FTC_PROBE_FENCED(rank, why) DTRACE_PROBE2(ftcoll, fenced, rank, why)

#endif
