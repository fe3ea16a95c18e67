/*
 * Places where a tracer can look on (docs/tracing.md): USDT probes of the provider "ftcoll". A
 * probe that nobody watches is one instruction that does nothing. Without <sys/sdt.h> at build time
 * there are none, and what they would say costs nothing.
 *
 * The names and arguments are an interface: arguments may be added at the end.
 */
#ifndef FTC_BASE_PROBES_H
#define FTC_BASE_PROBES_H

#ifndef FTC_PROBES
#define FTC_PROBES 0 /* 1: they are there */
#endif

#if FTC_PROBES
#include <sys/sdt.h>
#else
#define DTRACE_PROBE2(provider, probe, a, b)       ((void)(a), (void)(b))
#define DTRACE_PROBE3(provider, probe, a, b, c)    ((void)(a), (void)(b), (void)(c))
#define DTRACE_PROBE4(provider, probe, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

/* Of a function that holds a probe: neither inlined nor cloned, so that the probe is at one place.
 * perf 6.1 takes none that is at two, and no argument that is a constant there or a byte. */
#ifdef __clang__
#define FTC_ONE_PLACE __attribute__((noinline))
#else
#define FTC_ONE_PLACE __attribute__((noipa))
#endif

/* A collective was called, and returns. kind: enum ftc_call_kind; number: of the operation, from 0
 * on; size: bytes of its value. */
#define FTC_PROBE_OPERATION_START(kind, number, size)                                              \
    DTRACE_PROBE3(ftcoll, operation__start, kind, number, size)
#define FTC_PROBE_OPERATION_END(kind, number, size, status)                                        \
    DTRACE_PROBE4(ftcoll, operation__end, kind, number, size, status)

/* Entered ballot (i, s) of an operation; `entered`: ballots entered so far, as several in a row are
 * one hit. */
#define FTC_PROBE_BALLOT(operation, i, s, entered)                                                 \
    DTRACE_PROBE4(ftcoll, ballot, operation, i, s, entered)

/* A failure is taken in, so long after its first sign; cause: enum ftc_failure_cause. */
#define FTC_PROBE_FAILURE(rank, after_ns, cause)                                                   \
    DTRACE_PROBE3(ftcoll, failure, rank, after_ns, cause)

/* This process has learnt that it was declared failed, or may have been, and leaves. why: text. */
#define FTC_PROBE_FENCED(rank, why) DTRACE_PROBE2(ftcoll, fenced, rank, why)

#endif
