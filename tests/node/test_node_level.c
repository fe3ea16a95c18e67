/* Tests posts and decision words of two levels, as the processes of a node see them. */
#include <string.h>

#include "base/error.h"
#include "base/set.h"
#include "node/board/level.h"
#include "node/segment/board_memory.h"
#include "scratch.h"

#define RANKS        9
#define COMMUNICATOR 7

static struct scratch_job job;
static struct ftc_board_file *file; /* NULL: the records lie in the segment */
static struct ftc_level *one, *two; /* views of ranks 4 and 5, which share a node */

static struct ftc_level *open_level(int rank)
{
    struct ftc_level_setup setup = {.segment = job.segment,
                                    .file = file,
                                    .communicator = COMMUNICATOR,
                                    .rank = rank,
                                    .ranks = RANKS,
                                    .first = 4,
                                    .count = 5};
    struct ftc_level *level;

    ck_assert_int_eq(ftc_level_open(&level, &setup), 0);
    return level;
}

static void make_job(void)
{
    static const struct ftc_node nodes[] = {{.host = "alpha", .first = 0, .count = 4},
                                            {.host = "beta", .first = 4, .count = 5}};
    struct ftc_segment_spec spec = {.host = "beta",
                                    .ranks = RANKS,
                                    .node = 1,
                                    .nodes = 2,
                                    .cluster = "4711.0",
                                    .members = nodes};

    scratch_job_make_as(&job, &spec);
}

static void setup_in_segment(void)
{
    make_job();
    file = NULL;
    one = open_level(4);
    two = open_level(5);
}

static void setup_in_file(void)
{
    make_job();
    ck_assert_int_eq(
        ftc_board_file_open_areas(&file, job.segment, COMMUNICATOR, 4, 5, FTC_LEVEL_HEAD), 0);
    one = open_level(4);
    two = open_level(5);
}

static void teardown(void)
{
    ftc_level_close(one);
    ftc_level_close(two);
    ftc_board_file_close(file);
    scratch_job_remove(&job);
}

static struct ftc_level_record post_of(const void *data, size_t size)
{
    return (struct ftc_level_record){.signature = {.kind = FTC_CALL_ALLREDUCE,
                                                   .type = 3,
                                                   .operator_code = 1,
                                                   .root = -1,
                                                   .size = size},
                                     .epoch = {.op = 41, .ballot = {1, 2}},
                                     .data = data,
                                     .size = size};
}

/* Small records lie beside their mark, others in their own block. */
START_TEST(what_a_rank_posts_the_others_find)
{
    static const size_t sizes[] = {0, 1, 8, 448, 449, 4096, FTC_LEVEL_MOST};
    static unsigned char data[FTC_LEVEL_MOST];
    struct ftc_level_record mine = post_of(data, sizes[_i]), theirs;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(7 * i + 1);
    ck_assert(!ftc_level_marked(two, FTC_LEVEL_POST, 0, 4));
    ck_assert_int_eq(ftc_level_write(one, FTC_LEVEL_POST, 0, &mine), 0);
    ck_assert(ftc_level_marked(two, FTC_LEVEL_POST, 0, 4));
    ck_assert(!ftc_level_marked(two, FTC_LEVEL_WORD, 0, 4));
    ck_assert(!ftc_level_marked(two, FTC_LEVEL_POST, 0, 5));
    ck_assert_int_eq(ftc_level_read(two, FTC_LEVEL_POST, 0, 4, &theirs), 0);
    ck_assert_uint_eq(theirs.size, mine.size);
    ck_assert_uint_eq((uintptr_t)theirs.data % 16, 0);
    ck_assert_int_eq(memcmp(theirs.data, data, mine.size), 0);
    ck_assert_int_eq(memcmp(&theirs.signature, &mine.signature, sizeof(mine.signature)), 0);
    ck_assert_int_eq(memcmp(&theirs.epoch, &mine.epoch, sizeof(mine.epoch)), 0);
}
END_TEST

START_TEST(a_decision_word_says_who_failed_and_which_ballot_decided)
{
    static const size_t sizes[] = {0, 8, FTC_LEVEL_MOST};
    static unsigned char data[FTC_LEVEL_MOST];
    unsigned char set[16] = {0x12, 0x01}; /* bits 1, 4, 8 */
    struct ftc_level_record mine = post_of(data, sizes[_i]), theirs;
    struct ftc_set failed = {0};

    memset(data, 0x5a, sizeof(data));
    mine.ballot = (struct ftc_ballot_id){2, 1};
    mine.set = set;
    ck_assert_int_eq(ftc_level_write(two, FTC_LEVEL_WORD, 7, &mine), 0);
    ck_assert(ftc_level_marked(one, FTC_LEVEL_WORD, 7, 5));
    ck_assert_int_eq(ftc_level_read(one, FTC_LEVEL_WORD, 7, 5, &theirs), 0);
    ck_assert(theirs.ballot.i == 2 && theirs.ballot.s == 1);
    ck_assert_uint_eq(theirs.size, mine.size);
    ck_assert_int_eq(memcmp(theirs.data, data, mine.size), 0);
    ck_assert_int_eq(ftc_set_init(&failed, RANKS), 0);
    ftc_set_add_bytes(&failed, theirs.set);
    ck_assert_int_eq(ftc_set_count(&failed), 3);
    ck_assert(ftc_set_has(&failed, 1) && ftc_set_has(&failed, 4) && ftc_set_has(&failed, 8));
    ftc_set_fini(&failed);
}
END_TEST

/* Several rounds have separate places. A later round takes the place of the first one, whose mark
 * counts no more. */
START_TEST(some_rounds_are_there_at_once)
{
    struct ftc_level_record record;

    for (uint64_t round = 0; round < 3 * FTC_LEVEL_PLACES; round++) {
        record = post_of(&round, sizeof(round));
        ck_assert_int_eq(ftc_level_write(one, FTC_LEVEL_POST, round, &record), 0);
        for (uint64_t r = 0; r < 4 * FTC_LEVEL_PLACES; r++)
            ck_assert(ftc_level_marked(two, FTC_LEVEL_POST, r, 4) ==
                      (r <= round && r + FTC_LEVEL_PLACES > round));
        uint64_t oldest = round < FTC_LEVEL_PLACES ? 0 : round - FTC_LEVEL_PLACES + 1;
        ck_assert_int_eq(ftc_level_read(two, FTC_LEVEL_POST, oldest, 4, &record), 0);
        ck_assert_uint_eq(*record.data, oldest);
    }
}
END_TEST

/* Blocks are fewer than places. So a mark may outlive the data. */
START_TEST(a_post_stands_until_its_data_is_overwritten)
{
    static unsigned char data[4096];
    struct ftc_level_record large = post_of(data, sizeof(data)), small = post_of(data, 8);

    ck_assert_uint_eq(ftc_level_turns(one, FTC_LEVEL_POST, 8), FTC_LEVEL_PLACES);
    ck_assert_uint_eq(ftc_level_turns(one, FTC_LEVEL_POST, sizeof(data)), FTC_LEVEL_BLOCKS);
    ck_assert_int_eq(ftc_level_write(one, FTC_LEVEL_POST, 0, &large), 0);
    for (uint64_t round = 1; round < FTC_LEVEL_BLOCKS; round++)
        ck_assert_int_eq(ftc_level_write(one, FTC_LEVEL_POST, round, &small), 0);
    ck_assert(ftc_level_stands(two, 0, 4) && ftc_level_stands(two, 1, 4));
    ck_assert(!ftc_level_stands(two, FTC_LEVEL_BLOCKS, 4));
    ck_assert_int_eq(ftc_level_write(one, FTC_LEVEL_POST, FTC_LEVEL_BLOCKS, &large), 0);
    ck_assert(ftc_level_marked(two, FTC_LEVEL_POST, 0, 4));
    ck_assert(!ftc_level_stands(two, 0, 4));
    ck_assert(ftc_level_stands(two, 1, 4) && ftc_level_stands(two, FTC_LEVEL_BLOCKS, 4));
}
END_TEST

/* A word without a set has no data, and leaves the data of other words alone. */
START_TEST(a_bare_word_is_a_mark)
{
    unsigned char set[16] = {0x12, 0x01}, value[4096] = {7};
    struct ftc_level_record word = post_of(value, sizeof(value)), bare = post_of(NULL, 0), theirs;

    word.set = set;
    ck_assert_int_eq(ftc_level_write(one, FTC_LEVEL_WORD, FTC_LEVEL_BLOCKS, &word), 0);
    ck_assert_int_eq(ftc_level_write(one, FTC_LEVEL_WORD, 0, &bare), 0);
    ck_assert(ftc_level_marked(two, FTC_LEVEL_WORD, 0, 4));
    ck_assert_int_eq(ftc_level_read(two, FTC_LEVEL_WORD, FTC_LEVEL_BLOCKS, 4, &theirs), 0);
    ck_assert_uint_eq(theirs.data[0], 7);
}
END_TEST

/* The word of a later round proves as much as the one whose place it takes. */
START_TEST(a_word_that_was_overwritten_has_passed)
{
    struct ftc_level_record bare = post_of(NULL, 0);

    ck_assert(!ftc_level_passed(two, 1, 4));
    for (uint64_t round = 1; round < 2 * FTC_LEVEL_PLACES; round += FTC_LEVEL_PLACES) {
        ck_assert_int_eq(ftc_level_write(one, FTC_LEVEL_WORD, round, &bare), 0);
        ck_assert(ftc_level_passed(two, 1, 4));
        ck_assert(!ftc_level_passed(two, round + FTC_LEVEL_PLACES, 4));
    }
}
END_TEST

START_TEST(a_rank_says_for_which_round_it_waits)
{
    ck_assert(!ftc_level_awaits(two, 0, 4));
    ftc_level_await(one, 3);
    ck_assert(ftc_level_awaits(two, 3, 4));
    ck_assert(!ftc_level_awaits(two, 2, 4) && !ftc_level_awaits(two, 3, 5));
}
END_TEST

/* Shared memory must not be trusted. */
START_TEST(a_record_that_claims_too_much_is_refused)
{
    unsigned char *area =
        file != NULL ? ftc_board_file_memory(file)->areas : ftc_segment_board(job.segment).areas;
    struct ftc_level_record record = post_of("12345678", 8);
    uint32_t size = FTC_LEVEL_MOST + 1;

    ck_assert_int_eq(ftc_level_write(one, FTC_LEVEL_POST, 0, &record), 0);
    memcpy(area + 2 * sizeof(uint64_t), &size, sizeof(size)); /* behind mark and communicator */
    ck_assert_int_eq(ftc_level_read(two, FTC_LEVEL_POST, 0, 4, &record), FTC_ERR_PROTO);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "a record of rank 4 claims 131073 bytes"));
}
END_TEST

static void add(Suite *suite, const char *name, void (*setup)(void))
{
    TCase *tests = tcase_create(name);

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, what_a_rank_posts_the_others_find, 0, 7);
    tcase_add_loop_test(tests, a_decision_word_says_who_failed_and_which_ballot_decided, 0, 3);
    tcase_add_test(tests, some_rounds_are_there_at_once);
    tcase_add_test(tests, a_post_stands_until_its_data_is_overwritten);
    tcase_add_test(tests, a_bare_word_is_a_mark);
    tcase_add_test(tests, a_word_that_was_overwritten_has_passed);
    tcase_add_test(tests, a_rank_says_for_which_round_it_waits);
    tcase_add_test(tests, a_record_that_claims_too_much_is_refused);
    suite_add_tcase(suite, tests);
}

int main(void)
{
    Suite *suite = suite_create("node_level");

    add(suite, "in the segment", setup_in_segment);
    add(suite, "in a file of its own", setup_in_file);
    return scratch_run(suite);
}
