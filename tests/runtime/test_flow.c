/* Tests flow control between nodes: each question gets one answer, when it is time. */

#include "base/error.h"
#include "collectives/frame.h"
#include "runtime/comm/flow.h"
#include "tests/suite.h"

#define RANKS 4

static struct ftc_flow *near, *far; /* near: rank 0; far: rank 2 */

static void setup(void)
{
    ck_assert_int_eq(ftc_flow_create(&near, RANKS, FTC_COMMUNICATOR_WORLD), 0);
    ck_assert_int_eq(ftc_flow_create(&far, RANKS, FTC_COMMUNICATOR_WORLD), 0);
}

static void teardown(void)
{
    ftc_flow_destroy(near);
    ftc_flow_destroy(far);
}

/* Rank 0 asks rank 2. Returns true if there was something to be sent. */
static bool ask(uint64_t wanted)
{
    struct ftc_buffer *question;

    ck_assert_int_eq(ftc_flow_ask(near, 2, wanted, &question), 0);
    if (question == NULL)
        return false;
    ck_assert(ftc_frame_kind(question) == FTC_FRAME_FLOW);
    ck_assert_int_eq(ftc_flow_receive(far, 0, question), 0);
    ftc_buffer_unref(question);
    return true;
}

/* Rank 2 has called `called` operations. Returns true if it answers. */
static bool answers(uint64_t called)
{
    struct ftc_buffer *answer;
    int rank = ftc_flow_answer(far, called, &answer);

    if (rank < 0)
        return false;
    ck_assert_int_eq(rank, 0);
    ck_assert_int_eq(ftc_flow_receive(near, 2, answer), 0);
    ftc_buffer_unref(answer);
    return true;
}

START_TEST(an_answer_comes_when_it_is_time)
{
    ck_assert(ask(100));
    ck_assert(!answers(99));
    ck_assert_uint_eq(ftc_flow_called(near, 2), 0);
    ck_assert(answers(130));
    ck_assert_uint_eq(ftc_flow_called(near, 2), 130);
    ck_assert(!answers(131));
}
END_TEST

START_TEST(the_rank_that_was_asked_is_awaited_until_it_answers_or_fails)
{
    ck_assert_int_eq(ftc_flow_awaited(near), -1);
    ck_assert(ask(100));
    ck_assert_int_eq(ftc_flow_awaited(near), 2);
    ck_assert(answers(100));
    ck_assert_int_eq(ftc_flow_awaited(near), -1);
    ck_assert(ask(200));
    ftc_flow_notice(near, 2);
    ck_assert_int_eq(ftc_flow_awaited(near), -1);
}
END_TEST

START_TEST(a_question_is_asked_once)
{
    ck_assert(ask(100));
    ck_assert(!ask(100));
    ck_assert(!ask(90));
    /* The caller went on meanwhile, because the rank that it had also waited for failed. */
    ck_assert(ask(101));
    ck_assert(!answers(100));
    ck_assert(answers(101));
    ck_assert(!answers(102));
}
END_TEST

START_TEST(who_has_failed_gets_no_answer)
{
    ck_assert(ask(100));
    ftc_flow_notice(far, 0);
    ck_assert(!answers(100));
    ftc_flow_notice(far, 0);
    ck_assert(!answers(100));
}
END_TEST

START_TEST(nobody_is_forgotten)
{
    struct ftc_buffer *question, *answer;
    unsigned answered = 0;

    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_int_eq(ftc_flow_ask(near, 2, (uint64_t)rank + 1, &question), 0);
        ck_assert_int_eq(ftc_flow_receive(far, rank, question), 0);
        ftc_buffer_unref(question);
    }
    for (int rank; (rank = ftc_flow_answer(far, 3, &answer)) >= 0; ftc_buffer_unref(answer))
        answered |= 1u << rank;
    ck_assert_uint_eq(answered, 7);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
    struct ftc_buffer *question;

    ck_assert_int_eq(ftc_flow_ask(near, 2, 100, &question), 0);
    for (size_t i = 0; i < 8; i++) {
        unsigned char kept = question->data[i];
        question->data[i] = 0xff;
        int rc = ftc_flow_receive(far, 0, question);
        ck_assert(i >= 3 || rc == FTC_ERR_PROTO);
        question->data[i] = kept;
    }
    size_t whole = question->size;
    for (question->size = 2; question->size < whole; question->size++)
        ck_assert_int_lt(ftc_flow_receive(far, 0, question), 0);
    ftc_buffer_unref(question);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("flow");
    TCase *tests = tcase_create("flow");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, an_answer_comes_when_it_is_time);
    tcase_add_test(tests, the_rank_that_was_asked_is_awaited_until_it_answers_or_fails);
    tcase_add_test(tests, a_question_is_asked_once);
    tcase_add_test(tests, who_has_failed_gets_no_answer);
    tcase_add_test(tests, nobody_is_forgotten);
    tcase_add_test(tests, what_makes_no_sense_is_refused);
    suite_add_tcase(suite, tests);
    return test_suite_run(suite);
}
