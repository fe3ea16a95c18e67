/* Tests multicast made reliable by acknowledgements: messages and times that are counted by hand,
 * loss, dead ranks, large groups. */
#include "sim/baseline/baseline.h"

#include <string.h>

#include "include/ftcoll.h"
#include "tests/random.h"
#include "tests/suite.h"

#define LATENCY  2000
#define OVERHEAD 1000

static struct ftc_baseline_result result;

static struct ftc_baseline_settings settings(enum ftc_baseline kind, int ranks)
{
    return (struct ftc_baseline_settings){.kind = kind,
                                          .ranks = ranks,
                                          .fragments = 1,
                                          .bytes = 1024,
                                          .cost = {.L = LATENCY, .o = OVERHEAD},
                                          .seed = 1};
}

static void run(const struct ftc_baseline_settings *set)
{
    ck_assert_msg(ftc_baseline_run(set, &result) == 0, "%s", ftc_last_error());
    ck_assert_int_eq(result.receivers, set->ranks - 1 - set->dead);
}

static bool positive(enum ftc_baseline kind)
{
    return kind != FTC_BASELINE_NEGATIVE;
}

static const char *where(const struct ftc_baseline_settings *set)
{
    static char text[200];

    snprintf(text, sizeof(text), "%s, %d ranks, %d fragments, loss %g, %d dead, seed %llu",
             ftc_baseline_name(set->kind), set->ranks, set->fragments, set->loss, set->dead,
             (unsigned long long)set->seed);
    return text;
}

/* --- without loss: by hand --- */

START_TEST(messages_without_loss_are_counted)
{
    for (int kind = 0; kind < FTC_BASELINES; kind++)
        for (int ranks = 1; ranks <= 70; ranks++)
            for (int fragments = 1; fragments <= 9; fragments += 4) {
                struct ftc_baseline_settings set = settings(kind, ranks);
                set.fragments = fragments;
                run(&set);
                ck_assert_uint_eq(result.count.datagrams, ranks > 1 ? fragments : 0);
                ck_assert_uint_eq(result.count.acks, positive(kind) ? ranks - 1 : 0);
                ck_assert_uint_eq(result.count.naks + result.count.repairs + result.count.lost, 0);
                ck_assert_int_eq(result.served, ranks - 1);
                ck_assert_int_eq(result.complete, positive(kind));
            }
}
END_TEST

/* All ranks have the value at once, whatever the size of the group: after L + 2o, and o more for
 * each further fragment. */
START_TEST(all_have_the_value_at_once)
{
    for (int kind = 0; kind < FTC_BASELINES; kind++)
        for (int ranks = 2; ranks <= 3000; ranks = 3 * ranks + 1)
            for (int fragments = 1; fragments <= 4; fragments++) {
                struct ftc_baseline_settings set = settings(kind, ranks);
                set.fragments = fragments;
                run(&set);
                ck_assert_double_eq(result.mean,
                                    LATENCY + 2 * OVERHEAD + (fragments - 1) * OVERHEAD);
                ck_assert_uint_eq(result.first, result.last);
                ck_assert_uint_eq(result.last, LATENCY + 2 * OVERHEAD + (fragments - 1) * OVERHEAD);
            }
}
END_TEST

static uint64_t root_free(enum ftc_baseline kind, int ranks)
{
    struct ftc_baseline_settings set = settings(kind, ranks);

    run(&set);
    return result.root_free;
}

/* The root takes n - 1 acknowledgements, one after the other. All of them arrive at the same
 * time. */
START_TEST(linear_completion_is_linear)
{
    for (int ranks = 2; ranks <= 5000; ranks *= 2)
        ck_assert_uint_eq(root_free(FTC_BASELINE_LINEAR, ranks),
                          2 * LATENCY + 3 * OVERHEAD + (ranks - 1) * OVERHEAD);
}
END_TEST

/* Rank 0 of a binomial tree over 2^k ranks has k children. The last child is done one message later
 * than the one before it. */
START_TEST(tree_completion_is_logarithmic)
{
    for (int k = 1; k <= 12; k++)
        ck_assert_uint_eq(root_free(FTC_BASELINE_TREE, 1 << k),
                          (uint64_t)(k + 1) * (LATENCY + 2 * OVERHEAD));
}
END_TEST

/* There are s groups of s ranks. The co-roots have their s - 1 acknowledgements when the root has
 * its own s - 1. Their own acknowledgements reach the root then. */
START_TEST(co_root_completion_is_a_square_root)
{
    for (int s = 2; s <= 64; s *= 2)
        ck_assert_uint_eq(root_free(FTC_BASELINE_CO_ROOT, s * s),
                          3 * LATENCY + 4 * OVERHEAD + 2 * (s - 1) * OVERHEAD);
}
END_TEST

START_TEST(the_timeout_is_twice_the_calm_time)
{
    for (int kind = 0; kind < FTC_BASELINES; kind++) {
        struct ftc_baseline_settings set = settings(kind, 256);
        run(&set);
        uint64_t end = positive(kind) ? result.root_free : result.last;
        set.loss = 0.2;
        run(&set);
        ck_assert_uint_eq(result.timeout, 2 * end);
        set.timeout_ns = 12345;
        run(&set);
        ck_assert_uint_eq(result.timeout, 12345);
    }
}
END_TEST

/* --- loss --- */

static void check_lossy(const struct ftc_baseline_settings *set)
{
    run(set);
    ck_assert_msg(result.served == result.receivers, "%s: %d of %d", where(set), result.served,
                  result.receivers);
    ck_assert_msg(result.complete == positive(set->kind), "%s: completion", where(set));
    ck_assert_double_ge(result.mean, (double)result.first);
    ck_assert_double_le(result.mean, (double)result.last);
    if (result.complete)
        ck_assert_uint_ge(result.root_free, result.last);
    if (!positive(set->kind)) {
        ck_assert_uint_ge(result.count.naks, result.count.lost);
        if (set->fragments == 1) /* with more fragments, delayed ones are asked for in vain */
            ck_assert_uint_eq(result.count.naks, result.count.lost);
        ck_assert_uint_eq(result.count.repairs, result.count.naks);
    } else {
        ck_assert_uint_eq(result.count.acks, (uint64_t)set->ranks - 1);
    }
}

START_TEST(everyone_gets_everything_at_any_loss)
{
    static const double losses[] = {0, 0.00287, 0.01, 0.1, 0.5, 0.9};
    struct test_random random = test_random_start();

    for (int kind = 0; kind < FTC_BASELINES; kind++)
        for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
            for (int round = 0; round < 40; round++) {
                struct ftc_baseline_settings set =
                    settings(kind, (int)test_random_between(&random, 1, 300));
                set.fragments = (int)test_random_between(&random, 1, 20);
                set.loss = losses[i];
                set.seed = test_random_bits(&random);
                check_lossy(&set);
            }
}
END_TEST

START_TEST(as_many_are_lost_as_asked_for)
{
    for (int kind = 0; kind < FTC_BASELINES; kind++) {
        struct ftc_baseline_settings set = settings(kind, 1001);
        set.fragments = 100;
        set.loss = 0.1;
        run(&set);
        ck_assert_double_eq_tol((double)result.count.lost / ((double)result.count.datagrams * 1000),
                                0.1, 0.005);
    }
}
END_TEST

/* One receiver loses one datagram. The fragment comes again, by the scheme's way and after its
 * timeout. */
START_TEST(one_lost_datagram_is_repaired)
{
    for (int kind = 0; kind < FTC_BASELINES; kind++) {
        struct ftc_baseline_settings set = settings(kind, 3);
        set.loss = 0.3;
        do {
            set.seed++;
            run(&set);
        } while (result.count.lost != 1);
        uint64_t repair = kind == FTC_BASELINE_NEGATIVE
                              ? LATENCY + 2 * OVERHEAD
                              : OVERHEAD; /* asked for; or timed from the end of the send */
        uint64_t timeouts = kind == FTC_BASELINE_CO_ROOT ? 2 : 1;
        ck_assert_uint_eq(result.first, LATENCY + 2 * OVERHEAD);
        ck_assert_uint_eq(result.last, timeouts * result.timeout + repair + LATENCY + 2 * OVERHEAD);
        bool multicast = kind == FTC_BASELINE_LINEAR || kind == FTC_BASELINE_TREE;
        ck_assert_uint_eq(result.count.datagrams, multicast ? 2 : 1);
        ck_assert_uint_eq(result.count.repairs, !multicast);
    }
}
END_TEST

/* Of three fragments the first one is lost. The second one shows the loss, so no receiver waits for
 * the timeout. */
START_TEST(a_later_fragment_tells_of_a_lost_one)
{
    struct ftc_baseline_settings set = settings(FTC_BASELINE_NEGATIVE, 2);

    set.fragments = 100;
    set.loss = 0.01;
    set.timeout_ns = 1000000000;
    do {
        set.seed++;
        run(&set);
    } while (result.count.lost != 1);
    ck_assert_uint_eq(result.count.naks, 1);
    ck_assert_uint_lt(result.last, 1000000);
}
END_TEST

START_TEST(certain_loss_ends)
{
    for (int kind = 0; kind < FTC_BASELINES; kind++) {
        struct ftc_baseline_settings set = settings(kind, 100);
        bool multicast = kind == FTC_BASELINE_LINEAR || kind == FTC_BASELINE_TREE;
        set.loss = 1;
        set.fragments = 3;
        run(&set);
        ck_assert_int_eq(result.served, multicast ? 0 : 99);
        ck_assert_int_eq(result.complete, kind == FTC_BASELINE_CO_ROOT);
    }
}
END_TEST

/* A timeout before anything can have come costs messages, and does no other harm. */
START_TEST(a_short_timeout_harms_nobody)
{
    for (int kind = 0; kind < FTC_BASELINES; kind++) {
        struct ftc_baseline_settings set = settings(kind, 200);
        set.fragments = 2;
        set.loss = 0.2;
        set.timeout_ns = 3 * OVERHEAD;
        run(&set);
        ck_assert_int_eq(result.served, result.receivers);
        ck_assert_int_eq(result.complete, positive(kind));
    }
}
END_TEST

START_TEST(the_seed_is_the_run)
{
    for (int kind = 0; kind < FTC_BASELINES; kind++) {
        struct ftc_baseline_settings set = settings(kind, 500);
        set.loss = 0.1;
        set.fragments = 4;
        run(&set);
        struct ftc_baseline_result first = result;
        run(&set);
        ck_assert_mem_eq(&first.count, &result.count, sizeof(first.count));
        ck_assert_double_eq(first.mean, result.mean);
        ck_assert_uint_eq(first.root_free, result.root_free);
        set.seed++;
        run(&set);
        ck_assert_uint_ne(first.count.lost, result.count.lost);
    }
}
END_TEST

/* --- the dead --- */

START_TEST(who_waits_for_the_dead_waits_for_ever)
{
    for (int kind = 0; kind < FTC_BASELINES; kind++)
        for (int dead = 1; dead <= 50; dead += 7) {
            struct ftc_baseline_settings set = settings(kind, 100);
            set.dead = dead;
            run(&set);
            ck_assert(!result.complete);
            ck_assert_int_eq(result.served, result.receivers);
            ck_assert_uint_eq(result.last, LATENCY + 2 * OVERHEAD);
            if (kind == FTC_BASELINE_LINEAR) /* a later arrival does not count */
                ck_assert_uint_eq(result.count.datagrams, 1);
            ck_assert_uint_le(result.count.acks, 99 - (uint64_t)dead);
        }
}
END_TEST

/* A dead co-root does not repair the members of its group that lost the datagram. */
START_TEST(nobody_repairs_the_group_of_a_dead_co_root)
{
    struct ftc_baseline_settings set = settings(FTC_BASELINE_CO_ROOT, 16);
    int stranded = 0;

    set.loss = 1;
    set.dead = 1;
    for (set.seed = 0; set.seed < 200; set.seed++) {
        run(&set);
        ck_assert(result.served == 14 || result.served == 11);
        stranded += result.served == 11;
    }
    ck_assert_int_gt(stranded, 10); /* 200 / 5 are expected: three of fifteen are co-roots */
    ck_assert_int_lt(stranded, 80);
}
END_TEST

START_TEST(a_detector_lets_everyone_go_on)
{
    struct test_random random = test_random_start();

    for (int kind = 0; kind < FTC_BASELINES; kind++)
        for (int round = 0; round < 200; round++) {
            struct ftc_baseline_settings set =
                settings(kind, (int)test_random_between(&random, 2, 200));
            set.fragments = (int)test_random_between(&random, 1, 5);
            set.loss = (double)test_random_between(&random, 0, 6) / 10;
            set.dead = (int)test_random_between(&random, 1, set.ranks - 1);
            set.detector = true;
            set.detect_ns = (uint64_t)test_random_between(&random, 0, 1000000);
            set.seed = test_random_bits(&random);
            run(&set);
            ck_assert_msg(result.served == result.receivers, "%s: %d of %d", where(&set),
                          result.served, result.receivers);
            ck_assert_msg(result.complete == positive(kind), "%s: completion", where(&set));
            if (result.complete)
                ck_assert_uint_ge(result.root_free, set.detect_ns);
        }
}
END_TEST

/* --- large --- */

START_TEST(large_groups_fit)
{
    static const double losses[] = {0, 0.01, 0.5};
    const int ranks = TEST_SANITIZED ? 4096 : 65536;

    for (int kind = 0; kind < FTC_BASELINES; kind++)
        for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
            struct ftc_baseline_settings set = settings(kind, ranks);
            set.loss = losses[i];
            set.fragments = 4;
            check_lossy(&set);
            printf("%s: mean %.0f, last %llu, root free %llu ns, %llu datagrams, %llu repairs\n",
                   where(&set), result.mean, (unsigned long long)result.last,
                   (unsigned long long)result.root_free, (unsigned long long)result.count.datagrams,
                   (unsigned long long)result.count.repairs);
        }
}
END_TEST

START_TEST(nonsense_is_refused)
{
    struct ftc_baseline_settings good = settings(FTC_BASELINE_LINEAR, 4), bad;

#define REFUSED(change)                                                                            \
    do {                                                                                           \
        bad = good;                                                                                \
        bad.change;                                                                                \
        ck_assert_int_eq(ftc_baseline_run(&bad, &result), FTC_ERR_ARG);                            \
        ck_assert_ptr_nonnull(strstr(ftc_last_error(), "give"));                                   \
    } while (0)
    REFUSED(ranks = 0);
    REFUSED(ranks = FTC_BASELINE_RANKS_MAX + 1);
    REFUSED(fragments = 0);
    REFUSED(fragments = FTC_BASELINE_FRAGMENTS_MAX + 1);
    REFUSED(loss = -0.1);
    REFUSED(loss = 1.1);
    REFUSED(loss = 0.0 / 0.0);
    REFUSED(dead = 4);
    REFUSED(dead = -1);
    REFUSED(timeout_ns = UINT64_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("baseline");
    TCase *calm = tcase_create("calm"), *loss = tcase_create("loss"), *rest = tcase_create("rest");

    test_seed_announce();
    tcase_add_test(calm, messages_without_loss_are_counted);
    tcase_add_test(calm, all_have_the_value_at_once);
    tcase_add_test(calm, linear_completion_is_linear);
    tcase_add_test(calm, tree_completion_is_logarithmic);
    tcase_add_test(calm, co_root_completion_is_a_square_root);
    tcase_add_test(calm, the_timeout_is_twice_the_calm_time);
    suite_add_tcase(suite, calm);
    tcase_add_test(loss, everyone_gets_everything_at_any_loss);
    tcase_add_test(loss, as_many_are_lost_as_asked_for);
    tcase_add_test(loss, one_lost_datagram_is_repaired);
    tcase_add_test(loss, a_later_fragment_tells_of_a_lost_one);
    tcase_add_test(loss, certain_loss_ends);
    tcase_add_test(loss, a_short_timeout_harms_nobody);
    tcase_add_test(loss, the_seed_is_the_run);
    suite_add_tcase(suite, loss);
    tcase_add_test(rest, who_waits_for_the_dead_waits_for_ever);
    tcase_add_test(rest, nobody_repairs_the_group_of_a_dead_co_root);
    tcase_add_test(rest, a_detector_lets_everyone_go_on);
    tcase_add_test(rest, large_groups_fit);
    tcase_add_test(rest, nonsense_is_refused);
    suite_add_tcase(suite, rest);
    return test_suite_run(suite);
}
