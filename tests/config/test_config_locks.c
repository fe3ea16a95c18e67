/* The file of the administrator locks keys: no later source can give them another value. */
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
static char path[96];

static void begin(void)
{
    ck_assert_int_eq(ftc_settings_init(&settings), FTC_SUCCESS);
    strcpy(folder, "/tmp/ftcoll-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/system.ini", folder);
}

static void end(void)
{
    unlink(path);
    rmdir(folder);
    ftc_settings_fini(&settings);
}

static int read_system(const char *text)
{
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs(text, out), 0);
    ck_assert_int_eq(fchmod(fileno(out), 0644), 0);
    ck_assert_int_eq(fclose(out), 0);
    return ftc_settings_read_system(&settings, path);
}

static void administer(const char *text)
{
    ck_assert_msg(read_system(text) == FTC_SUCCESS, "%s", ftc_last_error());
}

/* A mistake of the administrator is refused with these words, behind the name of the file. */
static void misadminister(const char *text, const char *words)
{
    ck_assert_int_eq(read_system(text), FTC_ERR_CONFIG);
    ck_assert_mem_eq(ftc_last_error(), path, strlen(path));
    ck_assert_str_eq(ftc_last_error() + strlen(path), words);
}

static int set(const char *assignment)
{
    return ftc_settings_set(&settings, assignment, "--set");
}

static int read_text(const char *text)
{
    return ftc_settings_read_text(&settings, text, strlen(text), "user.ini");
}

START_TEST(a_locked_key_has_the_value_of_the_file_that_locks_it)
{
    char expected[512];
    administer("[locked]\nkeys = transport.order\n[transport]\norder = shm,tcp\n");
    ck_assert_int_eq(set("transport.order=verbs"), FTC_ERR_CONFIG);
    snprintf(expected, sizeof(expected),
             "--set: transport.order: \"verbs\" is not allowed: the administrator has locked it "
             "(%s:2) at shm,tcp; leave this setting out",
             path);
    ck_assert_str_eq(ftc_last_error(), expected);
    ck_assert_int_eq(set("transport.tcp_port=7000"), FTC_SUCCESS);
}
END_TEST

START_TEST(no_source_of_the_user_passes_a_lock)
{
    char *const environment[] = {"FTCOLL_MULTICAST_TRANSPORT=udp", NULL};
    administer("[multicast]\ntransport = off\n[locked]\nkeys = multicast.transport\n");
    ck_assert_int_eq(set("multicast.transport=udp"), FTC_ERR_CONFIG);
    ck_assert_int_eq(read_text("[multicast]\ntransport = udp\n"), FTC_ERR_CONFIG);
    ck_assert_mem_eq(ftc_last_error(), "user.ini:2: ", 12);
    ck_assert_int_eq(ftc_settings_read_environment(&settings, environment), FTC_ERR_CONFIG);
    ck_assert_int_eq(settings.value.multicast_transport, FTC_MULTICAST_OFF);
}
END_TEST

START_TEST(a_section_can_be_locked_at_its_defaults)
{
    administer("[locked]\nkeys = drill\nkeys = transport.tcp_address,transport.tcp_port\n");
    ck_assert_int_eq(set("drill.flip=0:input:3@1"), FTC_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "at the empty value"));
    ck_assert_int_eq(set("drill.message_loss=1"), FTC_ERR_CONFIG);
    ck_assert_int_eq(set("transport.tcp_address=lo"), FTC_ERR_CONFIG);
    ck_assert_int_eq(set("transport.tcp_port=1"), FTC_ERR_CONFIG);
    ck_assert_int_eq(set("transport.tcp_port_last=1"), FTC_SUCCESS);
}
END_TEST

START_TEST(an_alias_gives_no_way_round_a_lock)
{
    administer("[locked]\nkeys = broadcast.dissemination\n");
    ck_assert_int_eq(set("broadcast.algorithm=ccg"), FTC_ERR_CONFIG);
    ck_assert_int_eq(settings.value.correction, FTC_CONFIG_CORRECTION_AUTO); /* both keys or none */
    ck_assert_int_eq(set("broadcast.correction=ring"), FTC_SUCCESS);
}
END_TEST

START_TEST(an_alias_locks_both_of_its_keys)
{
    administer("[locked]\nkeys = broadcast.algorithm\n[broadcast]\nalgorithm = corrected-tree\n");
    ck_assert_int_eq(set("broadcast.dissemination=multicast"), FTC_ERR_CONFIG);
    ck_assert_int_eq(set("broadcast.correction=ring"), FTC_ERR_CONFIG);
    ck_assert_int_eq(set("broadcast.algorithm=corrected-tree"), FTC_SUCCESS);
}
END_TEST

START_TEST(the_locked_value_itself_is_accepted_in_any_words)
{
    administer("[locked]\nkeys = detector.fence, detector.heartbeat_period_ms\n");
    ck_assert_int_eq(set("detector.fence=yes"), FTC_SUCCESS);
    ck_assert_int_eq(set("detector.heartbeat_period_ms=0250"), FTC_SUCCESS);
    ck_assert_int_eq(set("detector.fence=no"), FTC_ERR_CONFIG);
    ck_assert_int_eq(set("detector.fence=perhaps"), FTC_ERR_CONFIG); /* values are checked first */
    ck_assert_ptr_null(strstr(ftc_last_error(), "locked"));
}
END_TEST

START_TEST(print_names_the_lock_and_reads_back)
{
    char expected[512], *text;
    size_t size;
    administer("[log]\nlevel = info\n[locked]\nkeys = log.level, drill.seed\n");
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    ftc_settings_print(&settings, true, NULL, NULL, out);
    ck_assert_int_eq(fclose(out), 0);
    snprintf(expected, sizeof(expected), "Set by: %s:2. Locked by: %s:4\nlevel = info\n", path,
             path);
    ck_assert_ptr_nonnull(strstr(text, expected));
    snprintf(expected, sizeof(expected), "Set by: default. Locked by: %s:4\nseed = 1\n", path);
    ck_assert_ptr_nonnull(strstr(text, expected));
    ck_assert_msg(read_text(text) == FTC_SUCCESS, "%s", ftc_last_error());
    free(text);
}
END_TEST

START_TEST(only_the_system_can_lock)
{
    ck_assert_int_eq(read_text("[job]\nf = 2\n[locked]\nkeys = job.f\n"), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(), "user.ini:3: [locked]: only /etc/ftcoll.ini can lock keys");
    ck_assert_int_eq(set("locked.keys=job.f"), FTC_ERR_CONFIG);
    ck_assert_int_eq(settings.value.f, 1);
}
END_TEST

START_TEST(mistakes_of_the_administrator_are_errors)
{
    misadminister("[locked]\nkeys = transport.oder\n",
                  ":2: \"transport.oder\": no such section or key to lock; did you mean "
                  "transport.order?");
    misadminister(
        "[locked]\nkeys = job, elsewhere\n",
        ":2: \"elsewhere\": no such section or key to lock; `ftrun --print-config --all` lists "
        "them");
    misadminister("[locked]\njob.f = 1\n", ":2: \"job.f\": no such key; [locked] has `keys` alone");
    ck_assert_int_eq(set("job.f=2"), FTC_SUCCESS); /* a file is taken as a whole or not at all */
}
END_TEST

START_TEST(no_file_locks_nothing)
{
    ck_assert_int_eq(ftc_settings_read_system(&settings, path), FTC_SUCCESS);
    administer("[locked]\nkeys =\n");
    ck_assert_int_eq(set("job.f=2"), FTC_SUCCESS);
}
END_TEST

START_TEST(a_file_that_others_can_write_is_refused)
{
    static const mode_t modes[] = {0664, 0646, 0666};
    administer("[job]\nf = 2\n");
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        ck_assert_int_eq(chmod(path, modes[i]), 0);
        ck_assert_int_eq(ftc_settings_read_system(&settings, path), FTC_ERR_CONFIG);
        ck_assert_ptr_nonnull(strstr(ftc_last_error(), "others than root could change it"));
    }
    ck_assert_int_eq(ftc_settings_read_file(&settings, path, true), FTC_SUCCESS);
}
END_TEST

START_TEST(a_file_of_another_user_is_refused)
{
    administer("[job]\nf = 2\n");
    if (chown(path, 65534, (gid_t)-1) != 0)
        return; /* only the superuser can do it */
    ck_assert_int_eq(ftc_settings_read_system(&settings, path), FTC_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), ": uid 65534 owns it and its mode is 0644"));
}
END_TEST

START_TEST(multicast_that_is_off_is_refused)
{
    administer("[multicast]\ntransport = off\n");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
    ck_assert_int_eq(set("broadcast.algorithm=multicast-ring"), FTC_SUCCESS);
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "multicast (--set) needs datagrams"));
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "/system.ini:2): set another dissemination"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config: locks");
    TCase *locks = tcase_create("locks");
    tcase_add_checked_fixture(locks, begin, end);
    tcase_add_test(locks, a_locked_key_has_the_value_of_the_file_that_locks_it);
    tcase_add_test(locks, no_source_of_the_user_passes_a_lock);
    tcase_add_test(locks, a_section_can_be_locked_at_its_defaults);
    tcase_add_test(locks, an_alias_gives_no_way_round_a_lock);
    tcase_add_test(locks, an_alias_locks_both_of_its_keys);
    tcase_add_test(locks, the_locked_value_itself_is_accepted_in_any_words);
    tcase_add_test(locks, print_names_the_lock_and_reads_back);
    tcase_add_test(locks, only_the_system_can_lock);
    tcase_add_test(locks, mistakes_of_the_administrator_are_errors);
    tcase_add_test(locks, no_file_locks_nothing);
    tcase_add_test(locks, a_file_that_others_can_write_is_refused);
    tcase_add_test(locks, a_file_of_another_user_is_refused);
    tcase_add_test(locks, multicast_that_is_off_is_refused);
    suite_add_tcase(suite, locks);
    return test_suite_run(suite);
}
