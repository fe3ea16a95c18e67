/*
 * Neighbourhoods: the communication graphs of gossip aggregation, which say who may send to whom
 * (Wimmer 2016, section 5.2.2). n is the number of ranks; any n will do unless the list says
 * otherwise.
 *
 * - full: all other ranks are neighbours.
 * - hypercube: the neighbours are the ranks whose number differs in one bit, as far as they exist.
 *   If n is no power of two, the largest ranks have fewer neighbours. The graph is connected all
 *   the same, since clearing a bit of a rank gives a lower rank, which exists.
 * - directed hypercube: the same, but each edge carries messages in one direction. Edge k leads out
 *   of a rank whose parity is k mod 2, and into the others (Chou, Du 1990; the one that the thesis
 *   names has no cycles). It is strongly connected. n must be 4, 8, 16, ...
 * - torus: a 3-d torus. Its sides are the three factors of n that lie nearest together; for a prime
 *   n it is a ring. A rank has one neighbour along a side of 2, and none along a side of 1.
 *
 * A *link* joins two ranks of which at least one may send to the other. The functions are pure, and
 * any thread may call them.
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
/* "full", "directed-hypercube", ... */
const char *ftc_neighbourhood_name(enum ftc_neighbourhood_kind kind);

struct ftc_neighbourhood {
    enum ftc_neighbourhood_kind kind;
    int ranks;
    int side[3]; /* of a torus, ascending */
};

/* Error: FTC_ERR_ARG, with cause and remedy: there are no ranks, or there is no directed hypercube
 * of so many. */
int ftc_neighbourhood_init(struct ftc_neighbourhood *neighbourhood,
                           enum ftc_neighbourhood_kind kind, int ranks);

/* The links of a rank are numbered from 0, in an order that is fixed for each rank. */
int ftc_neighbourhood_links(const struct ftc_neighbourhood *neighbourhood, int rank);
int ftc_neighbourhood_peer(const struct ftc_neighbourhood *neighbourhood, int rank, int link);
/* The number of the link to `peer`; -1: there is none. */
int ftc_neighbourhood_link(const struct ftc_neighbourhood *neighbourhood, int rank, int peer);
/* May `rank` send over this link? */
bool ftc_neighbourhood_sends(const struct ftc_neighbourhood *neighbourhood, int rank, int link);

/* The spectral gap 1 - lambda_2 of the push matrix (Wimmer 2016, section 5.2.2). There are closed
 * forms for a full graph, a whole hypercube and a torus. < 0: no closed form is known (directed
 * hypercubes, parts of a hypercube). */
double ftc_neighbourhood_gap(const struct ftc_neighbourhood *neighbourhood);

#endif
