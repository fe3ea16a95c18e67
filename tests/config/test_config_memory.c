/* Settings when memory is short. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "config/config.h"
#include "tests/base/fail_alloc.h"
#include "tests/suite.h"

static struct ftc_settings settings;

static void begin(void)
{
    ck_assert_int_eq(ftc_settings_init(&settings), FTC_SUCCESS);
}

static void end(void)
{
    ftc_settings_fini(&settings);
}

static int init_again(void)
{
    struct ftc_settings other;
    int rc = ftc_settings_init(&other);
    if (rc == FTC_SUCCESS)
        ftc_settings_fini(&other);
    return rc;
}

static int read_variables(void)
{
    char *const environment[] = {"FTCOLL_JOB_F=7", "FTCOLL_LOG_LEVEL=info", NULL};
    return ftc_settings_read_environment(&settings, environment);
}

static int assign(void)
{
    return ftc_settings_set(&settings, "job.f=7", "--set");
}

static int read_text(void)
{
    static const char text[] = "[job]\nf = 7\n[log]\nlevel = info\n";
    return ftc_settings_read_text(&settings, text, strlen(text), "a.ini");
}

static int read_no_file(void)
{
    return ftc_settings_read_file(&settings, "/nonexistent", false);
}

static int read_standard(void)
{
    return ftc_settings_read_standard(&settings);
}

/* The file has locks. Nothing is locked if reading fails. */
static int read_system(void)
{
    return ftc_settings_read_system(&settings, "locks.ini");
}

static void write_system(void)
{
    FILE *out = fopen("locks.ini", "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs("[log]\nlevel = info\n[locked]\nkeys = drill, log.level\n", out), 0);
    ck_assert_int_eq(fchmod(fileno(out), 0644), 0);
    ck_assert_int_eq(fclose(out), 0);
}

static int dump_and_load(void)
{
    char *text = ftc_settings_dump(&settings);
    int rc = text != NULL ? ftc_settings_load(&settings, text) : FTC_ERR_NOMEM;
    free(text);
    return rc;
}

/* Lets the n-th allocation fail, for every n. The call gives an error, changes nothing and leaks
 * nothing (a sanitizer would report a leak). */
static void fail_everywhere(int (*call)(void))
{
    int n = 0, rc;
    for (;; n++) {
        fail_alloc_at(n);
        rc = call();
        if (!fail_alloc_stop())
            break;
        ck_assert_int_eq(rc, FTC_ERR_NOMEM);
        ck_assert_int_eq(settings.value.f, 1);
        ck_assert_str_eq(settings.source[0], "default"); /* the source of job.f */
        for (size_t i = 0; i < ftc_config_schema_size; i++)
            ck_assert_ptr_null(settings.lock[i]);
    }
    ck_assert_int_eq(rc, FTC_SUCCESS);
    ck_assert_int_gt(n, 0);
}

START_TEST(every_allocation_may_fail)
{
    int (*const calls[])(void) = {init_again,   read_variables, assign,        read_text,
                                  read_no_file, read_standard,  dump_and_load, read_system};
    char folder[] = "/tmp/ftcoll-test-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    write_system();
    setenv("HOME", "/nonexistent", 1);
    unsetenv("XDG_CONFIG_HOME");
    fail_everywhere(calls[_i]);
    ck_assert_int_eq(unlink("locks.ini"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config: memory");
    TCase *memory = tcase_create("memory");

    tcase_add_checked_fixture(memory, begin, end);
    tcase_add_loop_test(memory, every_allocation_may_fail, 0, 8);
    suite_add_tcase(suite, memory);
    return test_suite_run(suite);
}
