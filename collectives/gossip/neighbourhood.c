/* Neighbourhoods of gossip aggregation. */
#include "collectives/gossip/neighbourhood.h"

#include <math.h>
#include <stddef.h>

#include "base/error.h"

const char *ftc_neighbourhood_name(enum ftc_neighbourhood_kind kind)
{
    static const char *const names[] = {"full", "hypercube", "directed-hypercube", "torus"};

    return kind < FTC_NEIGHBOURHOODS ? names[kind] : "?";
}

/* Chooses three factors that lie nearest together: those with the least sum. */
static void choose_sides(int ranks, int side[3])
{
    long best = 3L * ranks + 1;

    for (int a = 1; (long)a * a * a <= ranks; a++) {
        if (ranks % a != 0)
            continue;
        for (int b = a; (long)b * b <= ranks / a; b++) {
            int c = ranks / a / b;
            if (ranks / a % b != 0 || (long)a + b + c >= best)
                continue;
            best = (long)a + b + c;
            side[0] = a;
            side[1] = b;
            side[2] = c;
        }
    }
}

static bool is_power_of_two(int n)
{
    return (n & (n - 1)) == 0;
}

int ftc_neighbourhood_init(struct ftc_neighbourhood *neighbourhood,
                           enum ftc_neighbourhood_kind kind, int ranks)
{
    if (ranks < 1)
        return ftc_error_set(FTC_ERR_ARG, "%d ranks cannot gossip", ranks);
    if (kind == FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE && (ranks < 4 || !is_power_of_two(ranks)))
        return ftc_error_set(
            FTC_ERR_ARG,
            "no directed hypercube has %d ranks: take 4, 8, 16, ... of them, or a hypercube",
            ranks);
    *neighbourhood = (struct ftc_neighbourhood){.kind = kind, .ranks = ranks};
    choose_sides(ranks, neighbourhood->side);
    return 0;
}

/* --- hypercube: the links are in the order of the bits --- */

static int cube_next(const struct ftc_neighbourhood *h, int rank, int bit)
{
    while ((1L << bit) < h->ranks && (rank ^ 1 << bit) >= h->ranks)
        bit++;
    return (1L << bit) < h->ranks ? bit : -1;
}

static int cube_links(const struct ftc_neighbourhood *h, int rank)
{
    int links = 0;

    for (int bit = cube_next(h, rank, 0); bit >= 0; bit = cube_next(h, rank, bit + 1))
        links++;
    return links;
}

static int cube_bit(const struct ftc_neighbourhood *h, int rank, int link)
{
    int bit = cube_next(h, rank, 0);

    while (link-- > 0)
        bit = cube_next(h, rank, bit + 1);
    return bit;
}

static int parity(int rank)
{
    int ones = 0;

    for (; rank != 0; rank &= rank - 1)
        ones ^= 1;
    return ones;
}

/* --- torus: a link up and one down along each side that has another rank --- */

static int side_links(int side)
{
    return side < 3 ? side - 1 : 2;
}

static int torus_links(const struct ftc_neighbourhood *h)
{
    return side_links(h->side[0]) + side_links(h->side[1]) + side_links(h->side[2]);
}

static int torus_peer(const struct ftc_neighbourhood *h, int rank, int link)
{
    int stride = 1, direction = 0;

    while (link >= side_links(h->side[direction])) {
        link -= side_links(h->side[direction]);
        stride *= h->side[direction++];
    }
    int side = h->side[direction], at = rank / stride % side;
    int to = link == 0 ? (at + 1) % side : (at + side - 1) % side;
    return rank + (to - at) * stride;
}

/* --- all neighbourhoods --- */

int ftc_neighbourhood_links(const struct ftc_neighbourhood *neighbourhood, int rank)
{
    switch (neighbourhood->kind) {
    case FTC_NEIGHBOURHOOD_HYPERCUBE:
    case FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE:
        return cube_links(neighbourhood, rank);
    case FTC_NEIGHBOURHOOD_TORUS:
        return torus_links(neighbourhood);
    default:
        return neighbourhood->ranks - 1;
    }
}

int ftc_neighbourhood_peer(const struct ftc_neighbourhood *neighbourhood, int rank, int link)
{
    switch (neighbourhood->kind) {
    case FTC_NEIGHBOURHOOD_HYPERCUBE:
    case FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE:
        return rank ^ 1 << cube_bit(neighbourhood, rank, link);
    case FTC_NEIGHBOURHOOD_TORUS:
        return torus_peer(neighbourhood, rank, link);
    default:
        return link < rank ? link : link + 1;
    }
}

int ftc_neighbourhood_link(const struct ftc_neighbourhood *neighbourhood, int rank, int peer)
{
    if (peer < 0 || peer >= neighbourhood->ranks || peer == rank)
        return -1;
    if (neighbourhood->kind == FTC_NEIGHBOURHOOD_FULL)
        return peer < rank ? peer : peer - 1;
    for (int link = 0; link < ftc_neighbourhood_links(neighbourhood, rank); link++)
        if (ftc_neighbourhood_peer(neighbourhood, rank, link) == peer)
            return link;
    return -1;
}

bool ftc_neighbourhood_sends(const struct ftc_neighbourhood *neighbourhood, int rank, int link)
{
    return neighbourhood->kind != FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE || parity(rank) == link % 2;
}

static double torus_gap(const struct ftc_neighbourhood *h)
{
    double slowest = 1;

    /* Along side s alone, the mean of the links has the eigenvalues cos(2 pi k / s). The slowest
     * mode lies along one side. */
    for (int i = 0; i < 3; i++) {
        int links = side_links(h->side[i]);
        double moves = links * (1 - cos(2 * acos(-1) / h->side[i])) / torus_links(h) / 2;
        if (links > 0 && moves < slowest)
            slowest = moves;
    }
    return slowest;
}

double ftc_neighbourhood_gap(const struct ftc_neighbourhood *neighbourhood)
{
    int n = neighbourhood->ranks;

    if (n == 1)
        return 1;
    if (neighbourhood->kind == FTC_NEIGHBOURHOOD_FULL)
        return n / (2. * n - 2);
    if (neighbourhood->kind == FTC_NEIGHBOURHOOD_TORUS)
        return torus_gap(neighbourhood);
    if (neighbourhood->kind == FTC_NEIGHBOURHOOD_HYPERCUBE && is_power_of_two(n))
        return 1 / log2(n);
    return -1;
}
