/* Neighbourhoods of gossip are symmetric and connected, and have the sizes that they should have.
 * Spectral gaps are compared with those by iteration. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collectives/gossip/neighbourhood.h"
#include "include/ftcoll.h"
#include "tests/random.h"
#include "tests/suite.h"

static struct ftc_neighbourhood make(enum ftc_neighbourhood_kind kind, int ranks)
{
    struct ftc_neighbourhood h;

    ck_assert_msg(ftc_neighbourhood_init(&h, kind, ranks) == 0, "%s", ftc_last_error());
    return h;
}

static bool exists(enum ftc_neighbourhood_kind kind, int ranks)
{
    return kind != FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE ||
           (ranks >= 4 && (ranks & (ranks - 1)) == 0);
}

static int reached_from_0(const struct ftc_neighbourhood *h)
{
    bool *reached = calloc((size_t)h->ranks, sizeof(bool));
    int *stack = calloc((size_t)h->ranks, sizeof(int)), height = 1, count = 1;

    reached[0] = true;
    while (height > 0) {
        int rank = stack[--height];
        for (int link = 0; link < ftc_neighbourhood_links(h, rank); link++) {
            int peer = ftc_neighbourhood_peer(h, rank, link);
            if (!ftc_neighbourhood_sends(h, rank, link) || reached[peer])
                continue;
            reached[peer] = true;
            stack[height++] = peer;
            count++;
        }
    }
    free(reached);
    free(stack);
    return count;
}

static void check_links(const struct ftc_neighbourhood *h, int rank)
{
    for (int link = 0; link < ftc_neighbourhood_links(h, rank); link++) {
        int peer = ftc_neighbourhood_peer(h, rank, link);
        if (peer < 0 || peer >= h->ranks || peer == rank ||
            ftc_neighbourhood_link(h, rank, peer) != link)
            ck_abort_msg("%s of %d: link %d of %d", ftc_neighbourhood_name(h->kind), h->ranks, link,
                         rank);
        int back = ftc_neighbourhood_link(h, peer, rank);
        if (back < 0 ||
            (!ftc_neighbourhood_sends(h, rank, link) && !ftc_neighbourhood_sends(h, peer, back)))
            ck_abort_msg("%s of %d: nobody uses the link of %d and %d",
                         ftc_neighbourhood_name(h->kind), h->ranks, rank, peer);
        if (h->kind == FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE &&
            ftc_neighbourhood_sends(h, rank, link) == ftc_neighbourhood_sends(h, peer, back))
            ck_abort_msg("both ways: %d and %d", rank, peer);
    }
}

START_TEST(links_join_two_and_everyone_is_reached)
{
    for (int kind = 0; kind < FTC_NEIGHBOURHOODS; kind++) {
        for (int ranks = 1; ranks <= 130; ranks++) {
            if (!exists((enum ftc_neighbourhood_kind)kind, ranks))
                continue;
            struct ftc_neighbourhood h = make((enum ftc_neighbourhood_kind)kind, ranks);
            for (int rank = 0; rank < ranks; rank++)
                check_links(&h, rank);
            if (reached_from_0(&h) !=
                ranks) /* strongly connected: the directed hypercube looks alike from every rank */
                ck_abort_msg("%s of %d ranks", ftc_neighbourhood_name(h.kind), ranks);
        }
    }
}
END_TEST

START_TEST(a_directed_hypercube_has_as_many_ways_in_as_out)
{
    struct ftc_neighbourhood h = make(FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE, 64);

    for (int rank = 0; rank < 64; rank++) {
        int out = 0;
        ck_assert_int_eq(ftc_neighbourhood_links(&h, rank), 6);
        for (int link = 0; link < 6; link++)
            out += ftc_neighbourhood_sends(&h, rank, link);
        ck_assert_int_eq(out, 3);
    }
}
END_TEST

START_TEST(a_torus_is_as_even_as_the_factors_allow)
{
    static const int sides[][4] = {
        {1, 1, 1, 1},  {7, 1, 1, 7},   {8, 2, 2, 2},  {27, 3, 3, 3},  {30, 2, 3, 5},
        {64, 4, 4, 4}, {512, 8, 8, 8}, {60, 3, 4, 5}, {97, 1, 1, 97}, {1 << 20, 64, 128, 128}};

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        struct ftc_neighbourhood h = make(FTC_NEIGHBOURHOOD_TORUS, sides[i][0]);
        ck_assert_mem_eq(h.side, &sides[i][1], sizeof(h.side));
    }
    struct ftc_neighbourhood cube = make(FTC_NEIGHBOURHOOD_TORUS, 8);
    ck_assert_int_eq(ftc_neighbourhood_links(&cube, 5), 3); /* up and down are the same link */
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    struct ftc_neighbourhood h;

    ck_assert_int_eq(ftc_neighbourhood_init(&h, FTC_NEIGHBOURHOOD_FULL, 0), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_neighbourhood_init(&h, FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE, 2),
                     FTC_ERR_ARG);
    ck_assert_int_eq(ftc_neighbourhood_init(&h, FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE, 48),
                     FTC_ERR_ARG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "48 ranks"));
    struct ftc_neighbourhood torus = make(FTC_NEIGHBOURHOOD_TORUS, 27);
    ck_assert_int_eq(ftc_neighbourhood_link(&torus, 0, 13), -1);
    ck_assert_int_eq(ftc_neighbourhood_link(&torus, 0, 0), -1);
    ck_assert_int_eq(ftc_neighbourhood_link(&torus, 0, 27), -1);
}
END_TEST

/* y := C x, where C is the expected push matrix. */
static void push(const struct ftc_neighbourhood *h, const double *x, double *y)
{
    for (int rank = 0; rank < h->ranks; rank++)
        y[rank] = x[rank] / 2;
    for (int rank = 0; rank < h->ranks; rank++) {
        int links = ftc_neighbourhood_links(h, rank);
        for (int link = 0; link < links; link++)
            y[ftc_neighbourhood_peer(h, rank, link)] += x[rank] / 2 / links;
    }
}

/* Finds the second eigenvalue by power iteration. Each step removes the part along the first
 * eigenvector, which is all ones in a regular graph. */
static double gap_by_iteration(const struct ftc_neighbourhood *h)
{
    struct test_random random = test_random_start();
    double *x = calloc((size_t)h->ranks, sizeof(double)),
           *y = calloc((size_t)h->ranks, sizeof(double)), size = 1;

    for (int i = 0; i < h->ranks; i++)
        x[i] = test_random_between(&random, -1000, 1000);
    for (int step = 0; step < 4000; step++) {
        double mean = 0;
        for (int i = 0; i < h->ranks; i++)
            mean += x[i] / h->ranks;
        size = 0;
        for (int i = 0; i < h->ranks; i++) {
            x[i] -= mean;
            size += x[i] * x[i];
        }
        for (int i = 0; i < h->ranks; i++)
            x[i] /= sqrt(fmax(size, 1e-300)); /* x vanishes if all other eigenvalues are 0 */
        push(h, x, y);
        size = 0;
        for (int i = 0; i < h->ranks; i++)
            size += x[i] * y[i];
        memcpy(x, y, (size_t)h->ranks * sizeof(double));
    }
    free(x);
    free(y);
    return 1 - size;
}

START_TEST(spectral_gaps_are_the_closed_forms)
{
    static const int ranks[] = {2, 4, 8, 16, 27, 30, 60, 64, 97, 125, 128, 216};

    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        for (int kind = 0; kind < FTC_NEIGHBOURHOODS; kind++) {
            if (!exists((enum ftc_neighbourhood_kind)kind, ranks[i]))
                continue;
            struct ftc_neighbourhood h = make((enum ftc_neighbourhood_kind)kind, ranks[i]);
            double closed = ftc_neighbourhood_gap(&h);
            if (closed < 0)
                continue;
            ck_assert_double_eq_tol(closed, gap_by_iteration(&h), 1e-5);
        }
    }
    struct ftc_neighbourhood torus =
        make(FTC_NEIGHBOURHOOD_TORUS, 512); /* (1 - cos(2 pi / n)) / 2d */
    ck_assert_double_eq_tol(ftc_neighbourhood_gap(&torus), (1 - cos(acos(-1) / 4)) / 6, 1e-12);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gossip_neighbourhood");
    TCase *tcase = tcase_create("neighbourhood");

    tcase_add_test(tcase, links_join_two_and_everyone_is_reached);
    tcase_add_test(tcase, a_directed_hypercube_has_as_many_ways_in_as_out);
    tcase_add_test(tcase, a_torus_is_as_even_as_the_factors_allow);
    tcase_add_test(tcase, what_cannot_be_is_refused);
    tcase_add_test(tcase, spectral_gaps_are_the_closed_forms);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
