/*
 * The cost model of communication: LogGP (Culler et al. 1993; Alexandrov et al. 1995), with a cost
 * of combining.
 *
 * A process is busy for o with each message that it sends, and for o with each that it receives. A
 * message of k bytes leaves over (k-1)G and travels for L. So it reaches its receiver o + (k-1)G +
 * L after the start of its send. The receiver has it another o later (L + 2o in LogP, for a small
 * message). Between the starts of two sends of a process lie at least g + (k-1)G and at least o;
 * the same holds for its receives. Combining k bytes into a contribution takes another c * k.
 */
#ifndef FTC_SIM_TIMED_COST_H
#define FTC_SIM_TIMED_COST_H

#include <stddef.h>
#include <stdint.h>

struct ftc_cost {
    char name[64];  /* name of the preset, or the text that was parsed, with ; in place of , */
    double L, o, g; /* ns */
    double G, c;    /* ns per byte */
    double detect;  /* ns from a death to the first possible notice; the default of --detect */
    double jitter;  /* ns: each observer's notice comes later by a random time up to this */
};

/* "rdma", "L=2000,o=300" (the rest 0) or "tcp,G=0.1"; FTC_ERR_ARG. */
int ftc_cost_parse(struct ftc_cost *cost, const char *text);
/* "L 2 us, o 300 ns, g 5 ns, G 0.04 ns/B, c 0.1 ns/B". Returns text. */
char *ftc_cost_format(const struct ftc_cost *cost, char *text, size_t size);

uint64_t ftc_cost_overhead(const struct ftc_cost *cost);                /* o */
uint64_t ftc_cost_flight(const struct ftc_cost *cost, uint64_t bytes);  /* o + (k-1)G + L */
uint64_t ftc_cost_gap(const struct ftc_cost *cost, uint64_t bytes);     /* g + (k-1)G */
uint64_t ftc_cost_combine(const struct ftc_cost *cost, uint64_t bytes); /* c * k */

/* "12 ns", "3.42 us", "1.6 ms". Returns text. */
char *ftc_cost_time(double ns, char *text, size_t size);

#endif
