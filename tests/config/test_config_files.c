/* INI files: what is accepted, what is refused and with which words, which source wins, and that
 * the output of print can be read back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "config/config.h"
#include "tests/suite.h"

static struct ftc_settings settings;
static char folder[64];
static char path[256];

static void begin(void)
{
    ck_assert_int_eq(ftc_settings_init(&settings), FTC_SUCCESS);
    strcpy(folder, "/tmp/ftcoll-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/ftcoll.ini", folder);
}

static void end(void)
{
    unlink(path);
    rmdir(folder);
    ftc_settings_fini(&settings);
}

static int read_text(const char *text)
{
    return ftc_settings_read_text(&settings, text, strlen(text), "a.ini");
}

static void accept(const char *text)
{
    ck_assert_msg(read_text(text) == FTC_SUCCESS, "%s", ftc_last_error());
}

static void refuse(const char *text, const char *words)
{
    char *before = ftc_settings_dump(&settings);
    ck_assert_int_eq(read_text(text), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(), words);
    char *after = ftc_settings_dump(&settings);
    ck_assert_str_eq(before, after); /* a file is taken as a whole or not at all */
    free(before);
    free(after);
}

static void write_file(const char *text)
{
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs(text, out), 0);
    ck_assert_int_eq(fclose(out), 0);
}

static const char *source_of(const char *section, const char *key)
{
    for (size_t i = 0; i < ftc_config_schema_size; i++)
        if (strcmp(ftc_config_schema[i].section, section) == 0 &&
            strcmp(ftc_config_schema[i].key, key) == 0)
            return settings.source[i];
    return NULL;
}

/* --- what is accepted --- */

START_TEST(an_ordinary_file)
{
    accept("; ours\n"
           "[job]\n"
           "f = 3\n"
           "\n"
           "# another comment\n"
           "[detector] ; of failures\n"
           "heartbeat_timeout_ms=1000 ; a second\r\n"
           "  fence: off\n"
           "[log]\n"
           "level = debug");
    ck_assert_int_eq(settings.value.f, 3);
    ck_assert_int_eq(settings.value.heartbeat_timeout_ms, 1000);
    ck_assert(!settings.value.fence);
    ck_assert_int_eq(settings.value.log_level, FTC_LOG_DEBUG);
    ck_assert_str_eq(source_of("job", "f"), "a.ini:3");
    ck_assert_str_eq(source_of("detector", "fence"), "a.ini:8");
    ck_assert_str_eq(source_of("log", "level"), "a.ini:10");
    ck_assert_str_eq(source_of("reduce", "tree"), "default");
}
END_TEST

START_TEST(nothing_is_a_file_too)
{
    accept("");
    accept("\n\n");
    accept("[job]");
    accept("# only a comment");
}
END_TEST

START_TEST(the_last_of_two_wins)
{
    accept("[job]\nf = 3\n[log]\nlevel=info\n[job]\nf = 4\n");
    ck_assert_int_eq(settings.value.f, 4);
    ck_assert_str_eq(source_of("job", "f"), "a.ini:6");
}
END_TEST

START_TEST(a_byte_order_mark_is_skipped_at_the_start_only)
{
    accept("\xef\xbb\xbf[job]\nf = 3\n");
    ck_assert_int_eq(settings.value.f, 3);
    ck_assert_int_eq(read_text("[job]\n\xef\xbb\xbf"
                               "f = 4\n"),
                     FTC_ERR_CONFIG);
    ck_assert_int_eq(settings.value.f, 3);
}
END_TEST

START_TEST(indented_keys_are_keys)
{
    accept("[detector]\n"
           "    heartbeat_period_ms = 100\n"
           "    heartbeat_timeout_ms = 900\n"
           "    [job]\n"
           "\tf = 2\n");
    ck_assert_int_eq(settings.value.heartbeat_period_ms, 100);
    ck_assert_int_eq(settings.value.heartbeat_timeout_ms, 900);
    ck_assert_int_eq(settings.value.f, 2);
}
END_TEST

/* Writes a line of the given length: "f = 3" behind as many blanks as it takes. */
static void padded_line(char *text, size_t size, size_t length)
{
    snprintf(text, size, "[job]\nf =%*s3\nf_none = 1\n", (int)(length - 4), "");
}

/* Whatever the limit of inih is: up to it a line is taken whole. A longer line is an error with its
 * number. */
START_TEST(a_line_is_taken_whole_or_refused)
{
    char text[2048], expected[128];
    size_t limit = 0;
    for (size_t length = 10; length < 1500; length++) {
        padded_line(text, sizeof(text), length);
        ck_assert_int_eq(read_text(text), FTC_ERR_CONFIG);
        if (strstr(ftc_last_error(), "a.ini:3: \"job.f_none\"") == NULL)
            break;
        limit = length;
    }
    ck_assert_uint_ge(limit, 100);
    ck_assert_uint_lt(limit, 1499);
    snprintf(expected, sizeof(expected), "a.ini:2: the line is too long (allowed: %zu characters)",
             limit);
    ck_assert_str_eq(ftc_last_error(), expected);
}
END_TEST

START_TEST(comments_may_be_long)
{
    char text[5000];
    memset(text, 'x', sizeof(text));
    text[0] = '#';
    strcpy(text + 4000, "\n[job]\nf = 3\n");
    accept(text);
    ck_assert_int_eq(settings.value.f, 3);
    ck_assert_str_eq(source_of("job", "f"), "a.ini:3");
}
END_TEST

/* --- what is refused --- */

START_TEST(wrong_values_have_file_and_line)
{
    refuse("[detector]\n\nheartbeat_timeout_ms = soon\n",
           "a.ini:3: detector.heartbeat_timeout_ms: \"soon\" is not an integer (allowed: 2..600000 "
           "ms)");
    refuse("[detector]\nheartbeat_timeout_ms = 700000\n",
           "a.ini:2: detector.heartbeat_timeout_ms: \"700000\" is out of range (allowed: 2..600000 "
           "ms)");
    refuse("[job]\nf =\n", "a.ini:2: job.f: the value is empty (allowed: 0..4095)");
    refuse("[job]\nf = ; 3\n", "a.ini:2: job.f: the value is empty (allowed: 0..4095)");
    refuse("[job]\nf = 1 # one\n",
           "a.ini:2: job.f: \"1 # one\" is not an integer (allowed: 0..4095)");
}
END_TEST

START_TEST(unknown_names_are_refused)
{
    refuse("[job]\nff = 1\n", "a.ini:2: \"job.ff\": no such key; did you mean job.f?");
    refuse("[detecter]\n", "a.ini:1: \"detecter\": no such section; did you mean [detector]?");
    refuse("[colours]\n",
           "a.ini:1: \"colours\": no such section; `ftrun --print-config --all` lists them");
    refuse("colour = 1\n",
           "a.ini:1: \"colour\": a key without a section; begin with a line like [job]");
    refuse("[]\n", "a.ini:1: \"\": no such section; `ftrun --print-config --all` lists them");
    refuse("f = 1\n", "a.ini:1: \"f\": a key without a section; did you mean [job]?");
    refuse("heartbeat_period_ms = 1\n",
           "a.ini:1: \"heartbeat_period_ms\": a key without a section; did you mean [detector]?");
    refuse("[job]\n= 1\n", "a.ini:2: \"job.\": no such key; did you mean job.f?");
}
END_TEST

/* inih keeps 49 characters of the name of a section. */
START_TEST(a_long_section_is_not_cut_into_a_known_one)
{
    char text[256], name[150];
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(text, sizeof(text), "[%s]\n", name);
    ck_assert_int_eq(read_text(text), FTC_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "aaa...\": no such section"));
}
END_TEST

START_TEST(lines_that_are_nothing_are_refused)
{
    refuse("[job]\nf\n", "a.ini:2: neither \"key = value\", \"[section]\" nor a comment");
    refuse("[job]\nf\nf = x\n", "a.ini:2: neither \"key = value\", \"[section]\" nor a comment");
    refuse("[job]\nf = x\nf\n", "a.ini:2: job.f: \"x\" is not an integer (allowed: 0..4095)");
    refuse("[job\nf = 1\n", "a.ini:1: \"[job\": the ] of a section is missing");
    refuse("[job] f = 1\n",
           "a.ini:1: \"[job] f = 1\": put what follows the section on a line of its own");
    refuse("[job]\nf = 1\n  2\n", "a.ini:3: neither \"key = value\", \"[section]\" nor a comment");
}
END_TEST

START_TEST(zero_bytes_are_refused)
{
    static const char text[] = "[job]\nf = 1\0002\n";
    ck_assert_int_eq(ftc_settings_read_text(&settings, text, sizeof(text) - 1, "a.ini"),
                     FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(), "a.ini:2: a zero byte: this is not a text file");
}
END_TEST

/* --- files --- */

START_TEST(a_missing_file_is_an_error_if_it_was_asked_for)
{
    char expected[512];
    ck_assert_int_eq(ftc_settings_read_file(&settings, path, false), FTC_SUCCESS);
    ck_assert_int_eq(ftc_settings_read_file(&settings, path, true), FTC_ERR_CONFIG);
    snprintf(expected, sizeof(expected),
             "%s: cannot open the configuration file: No such file or directory", path);
    ck_assert_str_eq(ftc_last_error(), expected);
}
END_TEST

START_TEST(a_directory_is_an_error_always)
{
    char expected[512];
    ck_assert_int_eq(ftc_settings_read_file(&settings, folder, false), FTC_ERR_CONFIG);
    snprintf(expected, sizeof(expected), "%s: cannot read the configuration file: Is a directory",
             folder);
    ck_assert_str_eq(ftc_last_error(), expected);
}
END_TEST

START_TEST(an_unreadable_file_is_an_error_always)
{
    write_file("[job]\nf = 3\n");
    ck_assert_int_eq(chmod(path, 0), 0);
    if (access(path, R_OK) == 0)
        return; /* the superuser may read everything */
    ck_assert_int_eq(ftc_settings_read_file(&settings, path, false), FTC_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "Permission denied"));
}
END_TEST

START_TEST(an_endless_file_is_refused)
{
    ck_assert_int_eq(ftc_settings_read_file(&settings, "/dev/zero", true), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(),
                     "/dev/zero: longer than 1048576 bytes: not a configuration file");
}
END_TEST

START_TEST(the_users_file_is_where_the_environment_says)
{
    char home[300];
    snprintf(home, sizeof(home), "%s/.config", folder);
    ck_assert_int_eq(mkdir(home, 0700), 0);
    write_file("[job]\nf = 3\n");
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("HOME", "/nonexistent", 1);
    ck_assert_msg(ftc_settings_read_standard(&settings) == FTC_SUCCESS, "%s", ftc_last_error());
    ck_assert_int_eq(settings.value.f, 3);

    unlink(path);
    snprintf(path, sizeof(path), "%s/.config/ftcoll.ini", folder);
    write_file("[job]\nf = 4\n");
    setenv("XDG_CONFIG_HOME", "relative", 1); /* it must be ignored */
    setenv("HOME", folder, 1);
    ck_assert_int_eq(ftc_settings_read_standard(&settings), FTC_SUCCESS);
    ck_assert_int_eq(settings.value.f, 4);
    unlink(path);
    rmdir(home);
}
END_TEST

START_TEST(a_variable_names_a_file_which_has_to_be_there)
{
    char named[300];
    char *const none[] = {"FTCOLL_CONFIG=", NULL}, *const one[] = {named, NULL};
    snprintf(named, sizeof(named), "FTCOLL_CONFIG=%s", path);
    ck_assert_int_eq(ftc_settings_read_named(&settings, none), FTC_SUCCESS);
    ck_assert_int_eq(ftc_settings_read_named(&settings, one), FTC_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "FTCOLL_CONFIG: /"));
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "No such file"));
    write_file("[job]\nf = 3\n");
    ck_assert_int_eq(ftc_settings_read_named(&settings, one), FTC_SUCCESS);
    ck_assert_int_eq(settings.value.f, 3);
    write_file("[job]\nf = x\n");
    ck_assert_int_eq(ftc_settings_read_named(&settings, one), FTC_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "ftcoll.ini:2: job.f"));
    ck_assert_int_eq(settings.value.f, 3);
}
END_TEST

START_TEST(later_sources_win)
{
    char *const environment[] = {"FTCOLL_BROADCAST_ARITY=11", "FTCOLL_LOG_LEVEL=info", NULL};
    char expected[512];
    accept("[job]\nf = 2\n[reduce]\narity = 3\n[broadcast]\narity = 4\n[log]\nlevel = error\n");
    write_file("[reduce]\narity = 5\n[broadcast]\narity = 6\n[log]\nlevel = debug\n");
    ck_assert_int_eq(ftc_settings_read_file(&settings, path, true), FTC_SUCCESS);
    ck_assert_int_eq(ftc_settings_read_environment(&settings, environment), FTC_SUCCESS);
    ck_assert_int_eq(ftc_settings_set(&settings, "log.level=trace", "--set"), FTC_SUCCESS);

    ck_assert_int_eq(settings.value.heartbeat_period_ms, 250);
    ck_assert_int_eq(settings.value.f, 2);
    ck_assert_int_eq(settings.value.reduce_arity, 5);
    ck_assert_int_eq(settings.value.arity, 11);
    ck_assert_int_eq(settings.value.log_level, FTC_LOG_TRACE);
    snprintf(expected, sizeof(expected), "%s:2", path);
    ck_assert_str_eq(source_of("reduce", "arity"), expected);
    ck_assert_str_eq(source_of("broadcast", "arity"), "FTCOLL_BROADCAST_ARITY");
    ck_assert_str_eq(source_of("log", "level"), "--set");
}
END_TEST

/* --- print --- */

static char *printed(void)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    ftc_settings_print(&settings, true, NULL, NULL, out);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

START_TEST(print_tells_all_about_a_key)
{
    ck_assert_int_eq(ftc_settings_set(&settings, "detector.heartbeat_timeout_ms=900", "b.ini:7"),
                     FTC_SUCCESS);
    char *text = printed();
    ck_assert_ptr_nonnull(
        strstr(text, "\n# A process without a heartbeat for so long is suspected; at least two "
                     "periods, and 20 in a job of several hosts.\n"
                     "# Allowed: 2..600000 ms. Default: 5000. Variable: "
                     "FTCOLL_DETECTOR_HEARTBEAT_TIMEOUT_MS. Set "
                     "by: b.ini:7\n"
                     "heartbeat_timeout_ms = 900\n"));
    ck_assert_ptr_eq(strstr(text, "[job]\n"), text);
    ck_assert_ptr_nonnull(strstr(text, "\n\n[detector]\n"));
    free(text);
}
END_TEST

START_TEST(an_empty_string_is_printed_and_read)
{
    accept("[multicast]\ninterface =\n");
    char *text = printed();
    ck_assert_ptr_nonnull(
        strstr(text, " Default: empty. Variable: FTCOLL_MULTICAST_INTERFACE. Set by: a.ini:2\n"
                     "interface =\n"));
    accept("[multicast]\ninterface = eth0\n");
    accept(text);
    ck_assert_str_eq(settings.value.multicast_interface, "");
    free(text);
}
END_TEST

START_TEST(print_reads_back_as_the_same_values)
{
    accept("[job]\nf = 9\n[detector]\nfence = no\n[broadcast]\ntree = lame\n[multicast]\n"
           "interface = eth0,eth1 ; two\n[drill]\nmulticast_loss = preset\n[log]\nlevel = info\n");
    /* A caller or a path gives the name of a source. The name must not break out of its comment. */
    ck_assert_int_eq(ftc_settings_set(&settings, "broadcast.arity=5", "dir\n[job]\nf = 1"),
                     FTC_SUCCESS);
    char *text = printed(), *dump = ftc_settings_dump(&settings);
    ftc_settings_fini(&settings);
    ck_assert_int_eq(ftc_settings_init(&settings), FTC_SUCCESS);
    accept(text);
    char *again = ftc_settings_dump(&settings);
    ck_assert_str_eq(dump, again);
    ck_assert_int_eq(settings.value.f, 9);
    ck_assert_str_eq(settings.value.multicast_interface, "eth0,eth1");
    ck_assert_int_eq(settings.value.drill_loss_ppm, FTC_CONFIG_PRESET_PPM);
    free(text);
    free(dump);
    free(again);
}
END_TEST

static void add_tests(Suite *suite)
{
    TCase *text = tcase_create("text");
    tcase_add_checked_fixture(text, begin, end);
    tcase_add_test(text, an_ordinary_file);
    tcase_add_test(text, nothing_is_a_file_too);
    tcase_add_test(text, the_last_of_two_wins);
    tcase_add_test(text, a_byte_order_mark_is_skipped_at_the_start_only);
    tcase_add_test(text, indented_keys_are_keys);
    tcase_add_test(text, a_line_is_taken_whole_or_refused);
    tcase_add_test(text, comments_may_be_long);
    tcase_add_test(text, wrong_values_have_file_and_line);
    tcase_add_test(text, unknown_names_are_refused);
    tcase_add_test(text, a_long_section_is_not_cut_into_a_known_one);
    tcase_add_test(text, lines_that_are_nothing_are_refused);
    tcase_add_test(text, zero_bytes_are_refused);
    suite_add_tcase(suite, text);
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, begin, end);
    tcase_add_test(files, a_missing_file_is_an_error_if_it_was_asked_for);
    tcase_add_test(files, a_directory_is_an_error_always);
    tcase_add_test(files, an_unreadable_file_is_an_error_always);
    tcase_add_test(files, an_endless_file_is_refused);
    tcase_add_test(files, the_users_file_is_where_the_environment_says);
    tcase_add_test(files, a_variable_names_a_file_which_has_to_be_there);
    tcase_add_test(files, later_sources_win);
    tcase_add_test(files, print_tells_all_about_a_key);
    tcase_add_test(files, an_empty_string_is_printed_and_read);
    tcase_add_test(files, print_reads_back_as_the_same_values);
    suite_add_tcase(suite, files);
}

int main(void)
{
    Suite *suite = suite_create("config: files");
    add_tests(suite);
    return test_suite_run(suite);
}
