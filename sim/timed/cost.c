/* The presets and their sources; docs/simulation.md has the same table. */
#include "sim/timed/cost.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/*
 * Sources of the presets:
 * - rdma: as LogGOPSim is run for a machine with 200 Gbit/s links in ATLAHS (ETH Zurich,
 *   github.com/spcl/atlahs, scripts/run_case_studies.py).
 * - tcp: L and o as measured over TCP for AllConcur (Poke, Hoefler, Glass, HPDC 2017), quoted from
 *   memory, not checked against the text. G is that of a 10 Gbit/s link. g = o, because the kernel
 *   takes messages one by one.
 * - shared-memory: L is the time of a cache line to another core (20..115 ns, median, by processor:
 *   github.com/nviennot/core-to-core-latency). o is the protocol's own work on a message, measured
 *   with this program (0.7 us for sending it, receiving it, the engine and the checks together). G
 *   is a copy at 10 GB/s.
 * - c: one pass over two operands at 10 GB/s.
 * - detect, jitter: measured on one machine (bench/README.md: notices 0.5 to 1.0 ms after a
 *   SIGKILL). The additional time to other nodes is an assumption.
 */
static const struct ftc_cost presets[] = {
    {"shared-memory", 100, 200, 0, 0.1, 0.1, 500e3, 500e3},
    {"rdma", 3700, 200, 5, 0.04, 0.1, 600e3, 500e3},
    {"tcp", 12000, 1800, 1800, 0.8, 0.1, 1000e3, 500e3},
};
#define PRESETS (sizeof(presets) / sizeof(presets[0]))

#define COST_MAX 1e12 /* ns: upper limit of a value, 17 minutes */
#define TIME_MAX 1e15 /* ns: upper limit of the time of a message */

static int refuse(const char *text)
{
    return ftc_error_set(
        FTC_ERR_ARG,
        "--cost %s: not a cost model; give shared-memory, rdma or tcp, or values in ns such as "
        "L=2000,o=300,g=0,G=0.1,c=0.1, or both: tcp,G=0.1",
        text);
}

static int take_preset(struct ftc_cost *cost, const char *word)
{
    for (size_t i = 0; i < PRESETS; i++)
        if (strcmp(presets[i].name, word) == 0) {
            *cost = presets[i];
            return 0;
        }
    return FTC_ERR_ARG;
}

static int take_value(struct ftc_cost *cost, const char *word)
{
    double *const fields[] = {&cost->L, &cost->o, &cost->g, &cost->G, &cost->c};
    const char *at = word[0] != '\0' ? strchr("LogGc", word[0]) : NULL;
    char *end;

    if (at == NULL || word[1] != '=')
        return FTC_ERR_ARG;
    double value = strtod(word + 2, &end);
    if (end == word + 2 || *end != '\0' || !(value >= 0 && value <= COST_MAX))
        return FTC_ERR_ARG;
    *fields[at - "LogGc"] = value;
    return 0;
}

static void name_after(struct ftc_cost *cost, const char *text)
{
    snprintf(cost->name, sizeof(cost->name), "%s", text);
    for (char *comma = cost->name; (comma = strchr(comma, ',')) != NULL;)
        *comma = ';';
}

int ftc_cost_parse(struct ftc_cost *cost, const char *text)
{
    char copy[256], *rest = copy, *word;
    bool first = true;

    if (strlen(text) >= sizeof(copy))
        return refuse(text);
    strcpy(copy, text);
    *cost = (struct ftc_cost){.detect = presets[0].detect, .jitter = presets[0].jitter};
    while ((word = strsep(&rest, ",")) != NULL) {
        int rc = first ? take_preset(cost, word) : FTC_ERR_ARG;
        if (rc != 0)
            rc = take_value(cost, word);
        if (rc != 0)
            return refuse(text);
        first = false;
    }
    name_after(cost, text);
    return 0;
}

char *ftc_cost_time(double ns, char *text, size_t size)
{
    if (ns < 1e3)
        snprintf(text, size, "%.4g ns", ns);
    else if (ns < 1e6)
        snprintf(text, size, "%.4g us", ns / 1e3);
    else if (ns < 1e9)
        snprintf(text, size, "%.4g ms", ns / 1e6);
    else
        snprintf(text, size, "%.4g s", ns / 1e9);
    return text;
}

char *ftc_cost_format(const struct ftc_cost *cost, char *text, size_t size)
{
    char L[32], o[32], g[32];

    snprintf(text, size, "L %s, o %s, g %s, G %g ns/B, c %g ns/B",
             ftc_cost_time(cost->L, L, sizeof(L)), ftc_cost_time(cost->o, o, sizeof(o)),
             ftc_cost_time(cost->g, g, sizeof(g)), cost->G, cost->c);
    return text;
}

static uint64_t whole(double ns)
{
    return (uint64_t)llround(ns < TIME_MAX ? ns : TIME_MAX);
}

/* (k-1)G */
static double stream(const struct ftc_cost *cost, uint64_t bytes)
{
    return bytes > 0 ? (double)(bytes - 1) * cost->G : 0;
}

uint64_t ftc_cost_overhead(const struct ftc_cost *cost)
{
    return whole(cost->o);
}

uint64_t ftc_cost_flight(const struct ftc_cost *cost, uint64_t bytes)
{
    return whole(cost->o) + whole(stream(cost, bytes) + cost->L);
}

uint64_t ftc_cost_gap(const struct ftc_cost *cost, uint64_t bytes)
{
    return whole(cost->g + stream(cost, bytes));
}

uint64_t ftc_cost_combine(const struct ftc_cost *cost, uint64_t bytes)
{
    return whole(cost->c * (double)bytes);
}
