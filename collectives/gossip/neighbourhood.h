/*
 * Who gossips with whom: the communication graph of gossip aggregation (Wimmer 2016, section
 * 5.2.2), for any number of ranks.
 *
 *   full                all others.
 *   hypercube           ranks that differ in one bit. With n no power of two it is the part of the next larger cube that exists:
 *                       connected, since clearing a bit of a rank gives a smaller one, but the
 *                       largest ranks have fewer neighbours.
 *   directed hypercube  each edge of the cube in one direction: bit k of a rank of parity p is a
 *   way out if k = p (mod 2), else a way
 *                       in (the unidirectional hypercube of Chou, Du 1990; that of the thesis's
 *                       source is acyclic). Strongly connected for n = 4, 8, 16, ...; no others.
 *   torus               a x b x c with the factors of n that lie nearest together; without such ones, for a prime, a ring.
 *                       A side of 2 has one neighbour in it, a side of 1 none.
 *
 * A *link* joins two ranks of which one may send to the other. Pure; any thread.
 */
#ifndef FTC_COLLECTIVES_GOSSIP_NEIGHBOURHOOD_H
#define FTC_COLLECTIVES_GOSSIP_NEIGHBOURHOOD_H

#include <stdbool.h>

enum ftc_neighbourhood_kind {
    FTC_NEIGHBOURHOOD_FULL,
    FTC_NEIGHBOURHOOD_HYPERCUBE,
    FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE,
    FTC_NEIGHBOURHOOD_TORUS,
    FTC_NEIGHBOURHOODS
};
const char *
ftc_neighbourhood_name(enum ftc_neighbourhood_kind kind); /* "full", "directed-hypercube" */

struct ftc_neighbourhood {
    enum ftc_neighbourhood_kind kind;
    int ranks;
    int side[3]; /* torus: ascending */
};

/* FTC_ERR_ARG, with cause and remedy: no ranks, or no directed hypercube of so many. */
int ftc_neighbourhood_init(struct ftc_neighbourhood *neighbourhood,
                           enum ftc_neighbourhood_kind kind, int ranks);

/* The links of a rank are numbered from 0, in an order that is fixed for each rank. */
int ftc_neighbourhood_links(const struct ftc_neighbourhood *neighbourhood, int rank);
int ftc_neighbourhood_peer(const struct ftc_neighbourhood *neighbourhood, int rank, int link);
/* The link to `peer`; -1: there is none. */
int ftc_neighbourhood_link(const struct ftc_neighbourhood *neighbourhood, int rank, int peer);
/* May `rank` send along it? */
bool ftc_neighbourhood_sends(const struct ftc_neighbourhood *neighbourhood, int rank, int link);

/* 1 - lambda_2 of the push matrix (Wimmer 2016, section 5.2.2): closed forms, for a complete graph,
 * a whole hypercube, and a torus of any sides. < 0: none is known (the directed one, parts of
 * cubes). */
double ftc_neighbourhood_gap(const struct ftc_neighbourhood *neighbourhood);

#endif
