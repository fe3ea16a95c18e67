/* Error texts, log lines and the clock. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "tests/suite.h"

/* --- errors --- */

START_TEST(set_gives_code_and_words)
{
    ck_assert_str_eq(ftc_last_error(), "");
    ck_assert_int_eq(ftc_error_set(FTC_ERR_ARG, "count %d overflows", 7), FTC_ERR_ARG);
    ck_assert_str_eq(ftc_last_error(), "count 7 overflows");
}
END_TEST

START_TEST(set_names_the_system_error_and_keeps_it)
{
    errno = ENOENT;
    ftc_error_set(FTC_ERR_SYSTEM, "cannot open x: %m");
    ck_assert_str_eq(ftc_last_error(), "cannot open x: No such file or directory");
    ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(set_may_quote_the_last_error)
{
    ftc_error_set(FTC_ERR_ARG, "inner");
    ftc_error_set(FTC_ERR_ARG, "outer: %s", ftc_last_error());
    ck_assert_str_eq(ftc_last_error(), "outer: inner");
}
END_TEST

START_TEST(wrap_puts_context_in_front)
{
    ftc_error_set(FTC_ERR_SYSTEM, "no such segment");
    ck_assert_int_eq(ftc_error_wrap(FTC_ERR_STATE, "while attaching to job %d", 7), FTC_ERR_STATE);
    ck_assert_str_eq(ftc_last_error(), "while attaching to job 7: no such segment");
}
END_TEST

START_TEST(wrap_of_nothing_is_the_context)
{
    ftc_error_wrap(FTC_ERR_STATE, "alone");
    ck_assert_str_eq(ftc_last_error(), "alone");
}
END_TEST

START_TEST(long_words_are_cut_at_the_end)
{
    char many[5000];
    memset(many, 'a', sizeof(many) - 1);
    many[sizeof(many) - 1] = '\0';
    ftc_error_set(FTC_ERR_ARG, "%s", many);
    size_t length = strlen(ftc_last_error());
    ck_assert_uint_gt(length, 500);
    ck_assert_uint_lt(length, sizeof(many) - 1);
    for (int i = 0; i < 3; i++)
        ftc_error_wrap(FTC_ERR_ARG, "while testing");
    ck_assert_uint_eq(strlen(ftc_last_error()), length);
    ck_assert_ptr_eq(strstr(ftc_last_error(), "while testing: while testing: while testing: aaa"),
                     ftc_last_error());
    ftc_error_wrap(FTC_ERR_ARG, "%s", many);
    ck_assert_uint_eq(strlen(ftc_last_error()), length);
}
END_TEST

static void *fail_elsewhere(void *arg)
{
    (void)arg;
    ftc_error_set(FTC_ERR_ARG, "of another thread");
    return NULL;
}

START_TEST(each_thread_has_its_own)
{
    pthread_t thread;
    ftc_error_set(FTC_ERR_ARG, "of this thread");
    ck_assert_int_eq(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_str_eq(ftc_last_error(), "of this thread");
}
END_TEST

START_TEST(every_code_has_a_text)
{
    ck_assert_str_eq(ftc_strerror(FTC_SUCCESS), "success");
    ck_assert_str_eq(ftc_strerror(FTC_ERR_ROOT_FAILED),
                     "the root of the broadcast or scatter failed");
#define HAS_TEXT(name, value, text) ck_assert_str_eq(ftc_strerror(value), text);
    FTC_ERRORS(HAS_TEXT)
    ck_assert_str_eq(ftc_strerror(-1000), "unknown error code");
    ck_assert_str_eq(ftc_strerror(1), "unknown error code");
    ck_assert_str_eq(ftc_version(), "0.1.0");
}
END_TEST

/* --- log --- */

/* Standard error of this process goes into a pipe. (Each test is a process of its own.) */
static int pipe_end[2];

static void catch_stderr(void)
{
    ck_assert_int_eq(pipe(pipe_end), 0);
    ck_assert_int_eq(dup2(pipe_end[1], STDERR_FILENO), STDERR_FILENO);
    close(pipe_end[1]);
}

/* Returns all that was written until now. */
static const char *caught(char *text, size_t size)
{
    ck_assert_int_eq(close(STDERR_FILENO), 0);
    size_t used = 0;
    for (ssize_t got;
         used < size - 1 && (got = read(pipe_end[0], text + used, size - 1 - used)) > 0;)
        used += (size_t)got;
    text[used] = '\0';
    return text;
}

START_TEST(a_line_names_who_and_level)
{
    struct ftc_log log = {.level = FTC_LOG_TRACE, .who = "job 1234.1 rank 12"};
    char text[4096];
    catch_stderr();
    errno = EPIPE;
    FTC_LOG(&log, FTC_LOG_WARN, "peer %d is late: %m", 3);
    ck_assert_int_eq(errno, EPIPE);
    ck_assert_str_eq(caught(text, sizeof(text)),
                     "ftcoll: job 1234.1 rank 12: warn: peer 3 is late: Broken pipe\n");
}
END_TEST

START_TEST(levels_above_are_silent_and_so_is_no_log)
{
    struct ftc_log log = {.level = FTC_LOG_INFO};
    const struct ftc_log *none = NULL;
    char text[4096];
    catch_stderr();
    FTC_LOG(&log, FTC_LOG_DEBUG, "unheard");
    FTC_LOG(none, FTC_LOG_ERROR, "unheard");
    FTC_LOG(&log, FTC_LOG_INFO, "heard");
    ck_assert_str_eq(caught(text, sizeof(text)), "ftcoll: info: heard\n");
}
END_TEST

START_TEST(control_characters_cannot_forge_lines)
{
    struct ftc_log log = {.level = FTC_LOG_INFO, .who = "a\nb"};
    char text[4096];
    catch_stderr();
    ftc_log_write(&log, FTC_LOG_INFO, "x\ny\x1b[2J\x7f");
    ck_assert_str_eq(caught(text, sizeof(text)), "ftcoll: a?b: info: x?y?[2J?\n");
}
END_TEST

/* Some terminals take C1 controls for an escape, both as UTF-8 and as single bytes. */
START_TEST(c1_controls_do_not_reach_a_terminal_and_letters_do)
{
    struct ftc_log log = {.level = FTC_LOG_INFO};
    char text[4096];
    catch_stderr();
    ftc_log_write(&log, FTC_LOG_INFO, "%s",
                  "\xc2\x9b"
                  "31m \x9b"
                  "2J \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xc0\xaf \xed\xa0\x80 \xe2\x82");
    ck_assert_str_eq(caught(text, sizeof(text)),
                     "ftcoll: info: ??31m ?2J \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 ?? ??? ??\n");
}
END_TEST

START_TEST(a_clean_copy_ends_before_a_character_that_does_not_fit)
{
    char text[8];
    ftc_text_clean(text, sizeof(text), "abcdef\xc3\xa4", 8);
    ck_assert_str_eq(text, "abcdef");
    ftc_text_clean(text, sizeof(text), "ab\xc3\xa4", 3);
    ck_assert_str_eq(text, "ab?");
}
END_TEST

START_TEST(a_long_line_is_cut_and_says_so)
{
    struct ftc_log log = {.level = FTC_LOG_INFO};
    static char many[10000];
    char text[16384];
    memset(many, 'a', sizeof(many) - 1);
    memset(log.who, 'w', sizeof(log.who)); /* not even terminated */
    catch_stderr();
    ftc_log_write(&log, FTC_LOG_INFO, "%s", many);
    size_t length = strlen(caught(text, sizeof(text)));
    ck_assert_uint_lt(length, 4096);
    ck_assert_str_eq(text + length - 5, "a...\n");
}
END_TEST

enum {
    WRITERS = 8,
    LINES = 150
}; /* all lines fit into the pipe: a line that has to wait for a slow reader is lost */

static void write_lines(int writer)
{
    struct ftc_log log = {.level = FTC_LOG_INFO};
    snprintf(log.who, sizeof(log.who), "rank %d", writer);
    for (int line = 0; line < LINES; line++)
        ftc_log_write(&log, FTC_LOG_INFO, "line %d of %d", line, LINES);
}

START_TEST(lines_of_many_processes_do_not_tear)
{
    catch_stderr();
    for (int writer = 0; writer < WRITERS; writer++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            write_lines(writer);
            _exit(0);
        }
    }
    close(STDERR_FILENO);
    FILE *in = fdopen(pipe_end[0], "r");
    char line[256], expected[256];
    int next[WRITERS] = {0}, writer;
    while (fgets(line, sizeof(line), in) != NULL) {
        ck_assert_int_eq(sscanf(line, "ftcoll: rank %d: ", &writer), 1);
        ck_assert(writer >= 0 && writer < WRITERS);
        snprintf(expected, sizeof(expected), "ftcoll: rank %d: info: line %d of %d\n", writer,
                 next[writer]++, LINES);
        ck_assert_str_eq(line, expected);
    }
    fclose(in);
    for (writer = 0; writer < WRITERS; writer++) {
        ck_assert_int_eq(next[writer], LINES);
        ck_assert_int_gt(wait(NULL), 0);
    }
}
END_TEST

START_TEST(level_names_come_back)
{
    for (int level = FTC_LOG_ERROR; level <= FTC_LOG_TRACE; level++)
        ck_assert_int_eq(ftc_log_level_parse(ftc_log_level_name((enum ftc_log_level)level)), level);
    ck_assert_int_eq(ftc_log_level_parse("loud"), -1);
    ck_assert_int_eq(ftc_log_level_parse(""), -1);
    ck_assert_str_eq(ftc_log_level_name((enum ftc_log_level)17), "?");
}
END_TEST

START_TEST(clocks_go_forward_in_nanoseconds)
{
    uint64_t before = ftc_clock_now(), real = ftc_clock_realtime();
    while (ftc_clock_now() - before < FTC_NS_PER_MS)
        ;
    ck_assert_uint_ge(ftc_clock_now(), before + FTC_NS_PER_MS);
    ck_assert_uint_gt(real, 1600000000 * FTC_NS_PER_S); /* later than 2020 */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base: errors, log, clock");
    TCase *errors = tcase_create("errors");
    tcase_add_test(errors, set_gives_code_and_words);
    tcase_add_test(errors, set_names_the_system_error_and_keeps_it);
    tcase_add_test(errors, set_may_quote_the_last_error);
    tcase_add_test(errors, wrap_puts_context_in_front);
    tcase_add_test(errors, wrap_of_nothing_is_the_context);
    tcase_add_test(errors, long_words_are_cut_at_the_end);
    tcase_add_test(errors, each_thread_has_its_own);
    tcase_add_test(errors, every_code_has_a_text);
    suite_add_tcase(suite, errors);
    TCase *log = tcase_create("log");
    tcase_add_test(log, a_line_names_who_and_level);
    tcase_add_test(log, levels_above_are_silent_and_so_is_no_log);
    tcase_add_test(log, control_characters_cannot_forge_lines);
    tcase_add_test(log, c1_controls_do_not_reach_a_terminal_and_letters_do);
    tcase_add_test(log, a_clean_copy_ends_before_a_character_that_does_not_fit);
    tcase_add_test(log, a_long_line_is_cut_and_says_so);
    tcase_add_test(log, lines_of_many_processes_do_not_tear);
    tcase_add_test(log, level_names_come_back);
    tcase_add_test(log, clocks_go_forward_in_nanoseconds);
    suite_add_tcase(suite, log);

    return test_suite_run(suite);
}
