/* Runs a Check suite; the main() of each test ends with it. Set CK_FORK=no to run the tests under a
 * debugger or valgrind. */
#ifndef FTC_TEST_SUITE_H
#define FTC_TEST_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Under a sanitizer everything takes ten times as long, and the sanitizer manages the memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#else
#define TEST_SANITIZED 0
#endif

/* Check writes to a file at each assertion that holds: where a test crashes, the last one is shown.
 * A test that asserts a million times spends most of its time on this, so the later assertions of a
 * test are not noted. */
#define TEST_MARKS 1000

static inline void test_mark(const char *file, int line)
{
    static _Thread_local int marks; /* Check forks for each test */

    if (marks < TEST_MARKS) {
        marks++;
        _mark_point(file, line);
    }
}
#define _mark_point test_mark

static inline int test_suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
