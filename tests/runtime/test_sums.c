/* Posts of reduces whose senders go on: when a place may be used again, and when the root says that
 * it has a sum (docs/design/nodes.md, S6 to S7b). The test plays the rest of the runtime. */
#include "runtime/algorithms/sums.h"

#include "base/error.h"
#include "collectives/frame.h"
#include "include/ftcoll.h"
#include "tests/node/scratch.h"
#include "tests/suite.h"

#define RANKS 4 /* two nodes of two ranks each: this one has 2 and 3 */
#define SELF  2
#define OTHER 3
#define ROOT  0
#define HALF  (FTC_LEVEL_PLACES / 2)

enum { SMALL = 8, IN_BLOCK = 4096 }; /* bytes of a post */

static struct scratch_job job;
static struct ftc_comm comm;
static struct ftc_levels levels;
static struct ftc_level *other; /* the records as rank OTHER sees them */
static struct ftc_reduction reduction;
static unsigned char data[IN_BLOCK];

static struct ftc_level *open_level(int rank)
{
    const struct ftc_level_setup setup = {.segment = job.segment,
                                          .communicator = FTC_COMMUNICATOR_WORLD,
                                          .rank = rank,
                                          .ranks = RANKS,
                                          .first = SELF,
                                          .count = 2};
    struct ftc_level *level;

    ck_assert_int_eq(ftc_level_open(&level, &setup), FTC_SUCCESS);
    return level;
}

static void setup(void)
{
    static const struct ftc_node nodes[] = {{.host = "alpha", .first = 0, .count = 2},
                                            {.host = "beta", .first = SELF, .count = 2}};
    const struct ftc_segment_spec spec = {.host = "beta",
                                          .ranks = RANKS,
                                          .node = 1,
                                          .nodes = 2,
                                          .cluster = "4711.0",
                                          .members = nodes};
    const struct ftc_member_settings settings = {
        .self = SELF, .ranks = RANKS, .f = 1, .reduce_arity = 2};

    scratch_job_make_as(&job, &spec);
    other = open_level(OTHER);
    levels = (struct ftc_levels){.shared = open_level(SELF), .first = SELF, .end = RANKS};
    comm = (struct ftc_comm){.rank = SELF, .size = RANKS, .levels = &levels};
    ck_assert_int_eq(ftc_member_create(&comm.member, &settings), FTC_SUCCESS);
    ck_assert_int_eq(ftc_reduction_init(&reduction, FTC_UINT64, FTC_SUM), FTC_SUCCESS);
}

static void teardown(void)
{
    ftc_member_destroy(comm.member);
    ftc_level_close(levels.shared);
    ftc_level_close(other);
    scratch_job_remove(&job);
}

static struct ftc_signature reduce_of(size_t size)
{
    return (struct ftc_signature){.kind = FTC_CALL_REDUCE,
                                  .type = FTC_UINT64,
                                  .operator_code = 1,
                                  .root = ROOT,
                                  .size = size};
}

/* This rank posts for its next round. */
static void post(size_t size)
{
    const struct ftc_call call = {.signature = reduce_of(size), .combine_arg = &reduction};
    const struct ftc_level_record record = {
        .signature = call.signature, .data = data, .size = size};

    ck_assert_msg(ftc_sums_has_room(&comm, size), "round %u waits", (unsigned)levels.round);
    ftc_sums_overwritten(&levels);
    ck_assert_int_eq(ftc_level_write(levels.shared, FTC_LEVEL_POST, levels.round, &record), 0);
    ftc_sums_posted(&comm, &call);
    levels.round++;
}

/* The next round waits for this one. */
static void assert_waits_for(uint64_t round, size_t size)
{
    ck_assert_msg(!ftc_sums_has_room(&comm, size), "round %u does not wait",
                  (unsigned)levels.round);
    ck_assert_int_eq(levels.wants, ROOT);
    ck_assert(ftc_level_awaits(other, round, SELF));
}

/* The other rank of the node hears that the root has the sums of the rounds [from, end). */
static void take(uint64_t from, uint64_t end)
{
    const struct ftc_level_record word = {.signature = reduce_of(SMALL)};

    for (uint64_t round = from; round < end; round++)
        ck_assert_int_eq(ftc_level_write(other, FTC_LEVEL_WORD, round, &word), 0);
}

START_TEST(a_root_answers_when_it_ends_a_half_of_the_places)
{
    for (levels.round = 0; levels.round < 3 * FTC_LEVEL_PLACES; levels.round++)
        ck_assert_int_eq(ftc_sums_must_answer(&levels, SMALL), levels.round % HALF == HALF - 1);
}
END_TEST

START_TEST(a_root_answers_each_sum_whose_posts_lie_in_blocks)
{
    for (levels.round = 0; levels.round < 3 * FTC_LEVEL_PLACES; levels.round++)
        ck_assert(ftc_sums_must_answer(&levels, IN_BLOCK));
}
END_TEST

START_TEST(a_rank_goes_on_by_half_of_the_places_after_each_wait)
{
    for (uint64_t taken = 0; taken < 6 * HALF; taken += HALF) {
        while (levels.round < taken + FTC_LEVEL_PLACES)
            post(SMALL);
        assert_waits_for(taken + HALF - 1, SMALL);
        take(taken, taken + HALF - 1);
        assert_waits_for(taken + HALF - 1, SMALL); /* all sums of the half must be taken */
        take(taken + HALF - 1, taken + HALF);
    }
    post(SMALL);
    ck_assert_int_eq(levels.wants, -1);
}
END_TEST

START_TEST(posts_in_blocks_wait_for_half_of_the_blocks)
{
    for (uint64_t taken = 0; taken < 6; taken += FTC_LEVEL_BLOCKS / 2) {
        while (levels.round < taken + FTC_LEVEL_BLOCKS)
            post(IN_BLOCK);
        assert_waits_for(taken + FTC_LEVEL_BLOCKS / 2 - 1, IN_BLOCK);
        take(taken, taken + FTC_LEVEL_BLOCKS / 2);
    }
    post(IN_BLOCK);
}
END_TEST

/* Small posts have places of their own. */
START_TEST(only_posts_in_blocks_wait_for_blocks)
{
    for (unsigned round = 0; round < FTC_LEVEL_BLOCKS; round++)
        post(SMALL);
    post(IN_BLOCK);
    post(IN_BLOCK);
    for (unsigned round = 0; round < FTC_LEVEL_BLOCKS; round++)
        post(SMALL);
    assert_waits_for(FTC_LEVEL_BLOCKS + 1, IN_BLOCK);
    post(SMALL);
}
END_TEST

START_TEST(nobody_waits_for_a_root_that_has_failed)
{
    for (unsigned round = 0; round < FTC_LEVEL_PLACES; round++)
        post(SMALL);
    assert_waits_for(HALF - 1, SMALL);
    ck_assert_int_eq(ftc_member_notice(comm.member, ROOT), FTC_SUCCESS);
    post(SMALL);
}
END_TEST

START_TEST(an_operation_that_gathers_from_all_frees_all_places)
{
    for (unsigned round = 0; round < FTC_LEVEL_PLACES; round++)
        post(SMALL);
    ftc_sums_collected(&comm);
    for (unsigned round = 0; round < FTC_LEVEL_PLACES; round++)
        post(SMALL);
    assert_waits_for(FTC_LEVEL_PLACES + HALF - 1, SMALL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sums of nodes");
    TCase *tcase = tcase_create("places");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_root_answers_when_it_ends_a_half_of_the_places);
    tcase_add_test(tcase, a_root_answers_each_sum_whose_posts_lie_in_blocks);
    tcase_add_test(tcase, a_rank_goes_on_by_half_of_the_places_after_each_wait);
    tcase_add_test(tcase, posts_in_blocks_wait_for_half_of_the_blocks);
    tcase_add_test(tcase, only_posts_in_blocks_wait_for_blocks);
    tcase_add_test(tcase, nobody_waits_for_a_root_that_has_failed);
    tcase_add_test(tcase, an_operation_that_gathers_from_all_frees_all_places);
    suite_add_tcase(suite, tcase);
    return scratch_run(suite);
}
