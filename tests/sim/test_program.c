/* Tests programs as text: which text is understood, how it is formatted again, which is refused and
 * how. */
#include "sim/model/program.h"

#include <string.h>

#include "include/ftcoll.h"
#include "tests/suite.h"

static struct ftc_program program;

static void teardown(void)
{
    ftc_program_fini(&program);
}

static void expect(int op, enum ftc_call_kind kind, int root)
{
    ck_assert_int_lt(op, program.length);
    ck_assert_int_eq(program.operation[op].kind, kind);
    ck_assert_int_eq(program.operation[op].root, root);
    ck_assert(!program.operation[op].floating);
}

START_TEST(every_kind_is_understood)
{
    ck_assert_int_eq(
        ftc_program_parse(&program,
                          "allreduce,reduce:3,bcast:2,barrier,validate,reduce,bcast,finalize", 4),
        FTC_SUCCESS);
    ck_assert_int_eq(program.length, 8);
    expect(0, FTC_CALL_ALLREDUCE, -1);
    expect(1, FTC_CALL_REDUCE, 3);
    expect(2, FTC_CALL_BCAST, 2);
    expect(3, FTC_CALL_BARRIER, -1);
    expect(4, FTC_CALL_VALIDATE, -1);
    expect(5, FTC_CALL_REDUCE, 0);
    expect(6, FTC_CALL_BCAST, 0);
    expect(7, FTC_CALL_FINALIZE, -1);
}
END_TEST

START_TEST(a_star_repeats)
{
    ck_assert_int_eq(ftc_program_parse(&program, "bcast:1*3,barrier*1", 2), FTC_SUCCESS);
    ck_assert_int_eq(program.length, 4);
    for (int op = 0; op < 3; op++)
        expect(op, FTC_CALL_BCAST, 1);
    expect(3, FTC_CALL_BARRIER, -1);
}
END_TEST

/* The text that is given, and the text that comes back. */
static const char *const texts[][2] = {
    {"allreduce", "allreduce"},
    {"bcast,bcast:0,reduce:1,reduce:2", "bcast:0*2,reduce:1,reduce:2"},
    {"barrier*2,barrier,finalize", "barrier*3,finalize"},
    {"validate,allreduce*12,bcast:1*2,finalize", "validate,allreduce*12,bcast:1*2,finalize"},
    {"allgather,alltoall,scan,exscan,sizes", "allgather,alltoall,scan,exscan,sizes"},
    {"gather,gather:0,scatter:2", "gather:0*2,scatter:2"},
    {"reduce_scatter,reduce_scatter-ordered*2", "reduce_scatter,reduce_scatter-ordered*2"},
    {"allreduce-ordered,allreduce,reduce-ordered:1",
     "allreduce-ordered,allreduce,reduce-ordered:1"},
};

START_TEST(what_was_read_is_written_and_read_again)
{
    ck_assert_int_eq(ftc_program_parse(&program, texts[_i][0], 3), FTC_SUCCESS);
    char *text = ftc_program_format(&program);
    ck_assert_str_eq(text, texts[_i][1]);

    struct ftc_program again;
    ck_assert_int_eq(ftc_program_parse(&again, text, 3), FTC_SUCCESS);
    ck_assert_int_eq(again.length, program.length);
    for (int op = 0; op < again.length; op++) {
        expect(op, again.operation[op].kind, again.operation[op].root);
        ck_assert_int_eq(again.operation[op].ordered, program.operation[op].ordered);
    }
    ftc_program_fini(&again);
    free(text);
}
END_TEST

/* The text, and a word of the message. */
static const char *const wrong[][2] = {
    {"", "no such operation"},
    {"allreduce,", "no such operation"},
    {",barrier", "no such operation"},
    {"collect", "\"collect\""},
    {"gather:3", "root"},
    {"allgather:0", "only a reduce"},
    {"allgather-ordered", "no such operation"},
    {"-ordered", "no such operation"},
    {"all", "no such operation"},
    {"none", "no such operation"},
    {"bcast:", "root"},
    {"bcast:3", "root"},
    {"reduce:-1", "root"},
    {"bcast:99999999999999999999", "root"},
    {"barrier:0", "only a reduce"},
    {"barrier*", "repetitions"},
    {"barrier*0", "repetitions"},
    {"barrier*1000001", "repetitions"},
    {"barrier*99999999999999999999", "repetitions"},
    {"barrier*700000,validate*700000", "1000000"},
    {"bcast:1x", "trailing"},
    {"barrier*2*2", "trailing"},
    {"barrier barrier", "no such operation"},
    {"finalize,barrier", "last"},
    {"finalize*2", "last"},
};

START_TEST(what_is_wrong_is_named)
{
    ck_assert_int_eq(ftc_program_parse(&program, wrong[_i][0], 3), FTC_ERR_ARG);
    ck_assert_msg(strstr(ftc_last_error(), wrong[_i][1]) != NULL, "\"%s\" gives: %s", wrong[_i][0],
                  ftc_last_error());
    ck_assert_ptr_null(program.operation);
    ck_assert_int_eq(program.length, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("program");
    TCase *text = tcase_create("text");

    tcase_add_checked_fixture(text, NULL, teardown);
    tcase_add_test(text, every_kind_is_understood);
    tcase_add_test(text, a_star_repeats);
    tcase_add_loop_test(text, what_was_read_is_written_and_read_again, 0,
                        sizeof(texts) / sizeof(texts[0]));
    tcase_add_loop_test(text, what_is_wrong_is_named, 0, sizeof(wrong) / sizeof(wrong[0]));
    suite_add_tcase(suite, text);
    return test_suite_run(suite);
}
