/* The arithmetic of ftcoll-perf, and its command line. */
#include <string.h>

#include "cli/perf/numbers.h"
#include "cli/perf/options.h"
#include "tests/suite.h"

/* --- sizes --- */

START_TEST(sizes_are_written_with_suffixes)
{
    static const struct {
        const char *text;
        size_t size;
    } good[] = {{"0", 0},           {"8", 8},        {"64K", 65536},
                {"64k", 65536},     {"1M", 1 << 20}, {"1G", FTC_PERF_SIZE_MAX},
                {"1024M", 1 << 30}, {"007", 7},      {"1073741824", FTC_PERF_SIZE_MAX}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        size_t size = 1;
        ck_assert_msg(ftc_perf_size_read(good[i].text, &size), "%s", good[i].text);
        ck_assert_uint_eq(size, good[i].size);
    }
}
END_TEST

START_TEST(what_is_no_size_is_refused_and_changes_nothing)
{
    static const char *const bad[] = {"",
                                      "K",
                                      "-8",
                                      "+8",
                                      " 8",
                                      "8 ",
                                      "8KB",
                                      "8T",
                                      "1.5K",
                                      "0x10",
                                      "2G",
                                      "1025M",
                                      "1073741825",
                                      "18446744073709551624",
                                      "18014398509481985K"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t size = 42;
        ck_assert_msg(!ftc_perf_size_read(bad[i], &size), "%s", bad[i]);
        ck_assert_uint_eq(size, 42);
    }
}
END_TEST

START_TEST(a_range_has_a_first_and_a_last)
{
    struct ftc_perf_sizes sizes;
    ck_assert(ftc_perf_sizes_read("8:1M", &sizes));
    ck_assert_uint_eq(sizes.first, 8);
    ck_assert_uint_eq(sizes.last, 1 << 20);
    ck_assert(ftc_perf_sizes_read("64K", &sizes));
    ck_assert_uint_eq(sizes.first, 65536);
    ck_assert_uint_eq(sizes.last, 65536);
    static const char *const bad[] = {"",    ":",       "8:",   ":8",   "16:8",
                                      "0:8", "8:16:32", "8-16", "8:16x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(!ftc_perf_sizes_read(bad[i], &sizes), "%s", bad[i]);
    ck_assert_uint_eq(sizes.first, 65536);
}
END_TEST

/* --- quantiles and chance --- */

START_TEST(quantiles_are_observed_values)
{
    double values[100];
    for (int i = 0; i < 100; i++)
        values[i] = 100 - i;
    ftc_perf_sort(values, 100);
    ck_assert_double_eq(values[0], 1);
    ck_assert_double_eq(ftc_perf_quantile(values, 100, 0.5), 50);
    ck_assert_double_eq(ftc_perf_quantile(values, 100, 0.99), 99);
    ck_assert_double_eq(ftc_perf_quantile(values, 100, 1), 100);
    ck_assert_double_eq(ftc_perf_quantile(values, 100, 0), 1);
    ck_assert_double_eq(ftc_perf_quantile(values, 3, 0.5), 2);
    ck_assert_double_eq(ftc_perf_quantile(values, 3, 0.99), 3);
    ck_assert_double_eq(ftc_perf_quantile(values, 1, 0.5), 1);
}
END_TEST

START_TEST(the_seed_decides_the_sequence)
{
    uint64_t one = 7, same = 7, other = 8;
    int differ = 0, seen = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t value = ftc_perf_random(&one, 10);
        ck_assert_uint_lt(value, 10);
        ck_assert_uint_eq(value, ftc_perf_random(&same, 10));
        differ += value != ftc_perf_random(&other, 10);
        seen |= 1 << value;
    }
    ck_assert_int_gt(differ, 500);
    ck_assert_int_eq(seen, (1 << 10) - 1);
}
END_TEST

/* --- results --- */

#define COUNT 20

START_TEST(a_wrong_element_of_a_result_is_found)
{
    bool failed[3] = {false, true, false}; /* the sum over ranks 0 and 2: 1 + 3, and 2 (i mod 7) */
    struct ftc_perf_job job = {.rank = 2, .size = 3, .living = 2, .lead = 0, .failed = failed};
    struct ftc_perf_buffers buffers;
    const struct ftc_perf_operation *allreduce = &ftc_perf_operations[0],
                                    *bcast = &ftc_perf_operations[2];

    ck_assert_int_eq(ftc_perf_buffers_init(&buffers, COUNT * sizeof(double), 3, 1), 0);
    ftc_perf_operation_fill(allreduce, &job, &buffers, COUNT);
    ck_assert_double_eq(buffers.send[8], 3 + 1);
    ck_assert_uint_eq(ftc_perf_operation_wrong(allreduce, &job, &buffers, COUNT), 0);
    ck_assert_uint_eq(ftc_perf_operation_wrong(bcast, &job, &buffers, COUNT), 0);
    for (int i = 0; i < COUNT; i++) {
        buffers.recv[i] = 4 + 2 * (i % 7);
        buffers.send[i] = 1 + i % 7;
    }
    ck_assert_uint_eq(ftc_perf_operation_wrong(allreduce, &job, &buffers, COUNT), COUNT);
    ck_assert_uint_eq(ftc_perf_operation_wrong(bcast, &job, &buffers, COUNT), COUNT);
    buffers.recv[13] += 1;
    ck_assert_uint_eq(ftc_perf_operation_wrong(allreduce, &job, &buffers, COUNT), 13);
    ftc_perf_buffers_fini(&buffers);
}
END_TEST

/* --- the command line --- */

#define WORDS_MAX 12

/* Parses `line`, split at blanks, as the command line. */
static bool parse(struct ftc_perf_options *options, const char *line)
{
    static char text[256]; /* options point into it */
    char *argv[WORDS_MAX + 1] = {"ftcoll-perf"};
    int argc = 1;

    snprintf(text, sizeof(text), "%s", line);
    for (char *word = strtok(text, " "); word != NULL && argc < WORDS_MAX; word = strtok(NULL, " "))
        argv[argc++] = word;
    return ftc_perf_options_parse(options, argc, argv);
}

START_TEST(defaults_are_a_full_table_or_one_size_to_die_in)
{
    struct ftc_perf_options options;
    ck_assert(parse(&options, "allreduce"));
    ck_assert_uint_eq(options.sizes.first, 8);
    ck_assert_uint_eq(options.sizes.last, 1 << 20);
    ck_assert_int_eq(options.operations, 1);
    ck_assert_str_eq(options.operation[0]->name, "allreduce");
    ck_assert(parse(&options, "--kill 3 allreduce"));
    ck_assert_uint_eq(options.kills, 3);
    ck_assert_uint_eq(options.sizes.last, 8);
}
END_TEST

START_TEST(operations_keep_their_order_and_may_stand_before_options)
{
    struct ftc_perf_options options;
    ck_assert(parse(&options, "barrier -m 64K bcast --seed=9 -t 0.25 -w0"));
    ck_assert_int_eq(options.operations, 2);
    ck_assert_str_eq(options.operation[0]->name, "barrier");
    ck_assert_str_eq(options.operation[1]->name, "bcast");
    ck_assert_uint_eq(options.sizes.first, 65536);
    ck_assert(options.seed_given);
    ck_assert_uint_eq(options.seed, 9);
    ck_assert_double_eq(options.seconds, 0.25);
    ck_assert(options.warm_up_given);
    ck_assert_uint_eq(options.warm_up, 0);
    ck_assert(parse(&options, "all"));
    ck_assert_int_eq(options.operations, 17);
    for (int i = 0; i < options.operations; i++)
        ck_assert(!options.operation[i]->apart);
}
END_TEST

START_TEST(wrong_use_names_the_word_and_the_remedy)
{
    static const struct {
        const char *line, *problem;
    } wrong[] = {
        {"", "which operation? Give allreduce"},
        {"allreduc", "\"allreduc\" is no operation; give"},
        {"all all", "at most"},
        {"-m 8:1X allreduce", "--sizes \"8:1X\": give 8:1M or 64K"},
        {"-m 12 allreduce", "a multiple of 8"},
        {"-m", "option -m needs an argument"},
        {"--sizes", "option --sizes needs an argument"},
        {"-t 0 bcast", "--time \"0\": give seconds"},
        {"-t nan bcast", "--time \"nan\": give seconds"},
        {"-t 1x bcast", "--time \"1x\": give seconds"},
        {"-i 0 bcast", "--iterations \"0\": give"},
        {"-i 100001 bcast", "--iterations \"100001\": give"},
        {"-w -1 bcast", "--warm-up \"-1\": give"},
        {"-k 0 bcast", "--kill \"0\": give"},
        {"-x bcast", "unknown option -x"},
        {"--fast bcast", "unknown, ambiguous or overfull option --fast"},
        {"--json --csv bcast", "exclude each other"},
        {"--kill 1 -m 8:64 bcast", "give it as -m 8"},
        {"--kill 1 -b bcast", "leave it out"},
        {"--plot x.svg barrier", "needs an operation that has sizes"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct ftc_perf_options options;
        ck_assert_msg(!parse(&options, wrong[i].line), "%s", wrong[i].line);
        ck_assert_msg(strstr(options.problem, wrong[i].problem) != NULL, "%s: %s", wrong[i].line,
                      options.problem);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("perf_numbers");
    TCase *numbers = tcase_create("numbers"), *line = tcase_create("command line");

    tcase_add_test(numbers, sizes_are_written_with_suffixes);
    tcase_add_test(numbers, what_is_no_size_is_refused_and_changes_nothing);
    tcase_add_test(numbers, a_range_has_a_first_and_a_last);
    tcase_add_test(numbers, quantiles_are_observed_values);
    tcase_add_test(numbers, the_seed_decides_the_sequence);
    tcase_add_test(numbers, a_wrong_element_of_a_result_is_found);
    tcase_add_test(line, defaults_are_a_full_table_or_one_size_to_die_in);
    tcase_add_test(line, operations_keep_their_order_and_may_stand_before_options);
    tcase_add_test(line, wrong_use_names_the_word_and_the_remedy);
    suite_add_tcase(suite, numbers);
    suite_add_tcase(suite, line);
    return test_suite_run(suite);
}
