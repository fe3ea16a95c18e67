/* One value: how it may be written, how it comes back, what is refused and with which words. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "config/config.h"
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

static void set(const char *assignment)
{
    ck_assert_msg(ftc_settings_set(&settings, assignment, "--set") == FTC_SUCCESS, "%s",
                  ftc_last_error());
}

static void refuse(const char *assignment, const char *words)
{
    struct ftc_config before = settings.value;
    ck_assert_int_eq(ftc_settings_set(&settings, assignment, "--set"), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(), words);
    ck_assert_mem_eq(&before, &settings.value, sizeof(before));
}

START_TEST(booleans_have_many_words)
{
    static const char *const yes[] = {"on", "true", "yes", "1"}, *const no[] = {"off", "false",
                                                                                "no", "0"};
    char assignment[64];
    for (size_t i = 0; i < 4; i++) {
        snprintf(assignment, sizeof(assignment), "detector.fence=%s", no[i]);
        set(assignment);
        ck_assert(!settings.value.fence);
        snprintf(assignment, sizeof(assignment), "detector.fence=%s", yes[i]);
        set(assignment);
        ck_assert(settings.value.fence);
    }
}
END_TEST

/* --- percentages --- */

START_TEST(percentages_are_kept_to_a_part_in_a_million)
{
    static const struct {
        const char *text;
        int64_t ppm;
        const char *again;
    } row[] = {
        {"0", 0, "0"},
        {"50", 500000, "50"},
        {"100", 1000000, "100"},
        {"100.0000%", 1000000, "100"},
        {"0.287", 2870, "0.287"},
        {"0.287%", 2870, "0.287"},
        {"preset", 2870, "0.287"},
        {"0.0001", 1, "0.0001"},
        {"99.9999", 999999, "99.9999"},
        {"007.50", 75000, "7.5"},
        {"10.05%", 100500, "10.05"},
    };
    char assignment[64], line[80];
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        snprintf(assignment, sizeof(assignment), "drill.multicast_loss=%s", row[i].text);
        set(assignment);
        ck_assert_int_eq(settings.value.drill_loss_ppm, row[i].ppm);
        snprintf(line, sizeof(line), "\ndrill.multicast_loss=%s\n", row[i].again);
        char *dump = ftc_settings_dump(&settings);
        ck_assert_msg(strstr(dump, line) != NULL, "%s does not come back as %s", row[i].text,
                      row[i].again);
        free(dump);
    }
}
END_TEST

START_TEST(what_is_no_percentage_is_refused)
{
    static const char *const wrong[] = {"some",    "5.",  ".5",   "-1",  "+1",
                                        "1e1",     "1,5", " 1",   "1 %", "1%%",
                                        "0.00001", "%",   "0x10", "nan", "Preset"};
    char assignment[64], words[160];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(assignment, sizeof(assignment), "drill.multicast_loss=%s", wrong[i]);
        snprintf(words, sizeof(words),
                 "--set: drill.multicast_loss: \"%s\" is no percentage of at most four decimals "
                 "(allowed: "
                 "0..100 %%, preset (0.287 %%))",
                 wrong[i]);
        refuse(assignment, words);
    }
    refuse("drill.multicast_loss=100.0001", "--set: drill.multicast_loss: \"100.0001\" is out of "
                                            "range (allowed: 0..100 %, preset (0.287 %))");
    refuse("drill.multicast_loss=99999999999999999999999",
           "--set: drill.multicast_loss: \"99999999999999999999999\" is out of range (allowed: "
           "0..100 %, "
           "preset (0.287 %))");
    refuse(
        "drill.message_loss=99.5",
        "--set: drill.message_loss: \"99.5\" is out of range (allowed: 0..99 %, preset (0.287 %))");
    refuse("drill.multicast_loss=",
           "--set: drill.multicast_loss: the value is empty (allowed: 0..100 %, preset (0.287 %))");
}
END_TEST

/* --- fractions --- */

START_TEST(a_fraction_comes_back_as_the_same_number)
{
    static const struct {
        const char *text;
        double value;
    } row[] = {{"1e-9", 1e-9}, {"0.001", 0.001}, {"2.5e-7", 2.5e-7},
               {"00.9", 0.9},  {"3e-12", 3e-12}, {"0.123456789e-13", 0.123456789e-13}};
    char assignment[64];
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        snprintf(assignment, sizeof(assignment), "gossip.accuracy=%s", row[i].text);
        set(assignment);
        ck_assert(settings.value.gossip_accuracy == row[i].value);
        char *dump = ftc_settings_dump(&settings);
        set("gossip.accuracy=0.5");
        ck_assert_int_eq(ftc_settings_load(&settings, dump), FTC_SUCCESS);
        ck_assert(settings.value.gossip_accuracy == row[i].value);
        free(dump);
    }
}
END_TEST

/* gossip.tau: a word stands for 0, and the number may be great. */
START_TEST(a_threshold_is_auto_or_any_number)
{
    static const struct {
        const char *text, *dumped;
        double value;
    } row[] = {{"auto", "auto", 0},
               {"1e-11", "1e-11", 1e-11},
               {"2.5e+6", "2500000", 2.5e6},
               {"1e14", "100000000000000", 1e14}};
    char assignment[64], line[64];
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        snprintf(assignment, sizeof(assignment), "gossip.tau=%s", row[i].text);
        snprintf(line, sizeof(line), "gossip.tau=%s\n", row[i].dumped);
        set(assignment);
        ck_assert(settings.value.gossip_tau == row[i].value);
        char *dump = ftc_settings_dump(&settings);
        ck_assert_ptr_nonnull(strstr(dump, line));
        set("gossip.tau=0.5");
        ck_assert_int_eq(ftc_settings_load(&settings, dump), FTC_SUCCESS);
        ck_assert(settings.value.gossip_tau == row[i].value);
        free(dump);
    }
    refuse("gossip.tau=0", "--set: gossip.tau: \"0\" is out of range (allowed: auto, or a number "
                           "above 0 and below 1e+15, as 1e-9 or 0.001)");
    refuse("gossip.tau=1e15", "--set: gossip.tau: \"1e15\" is out of range (allowed: auto, or a "
                              "number above 0 and below 1e+15, as 1e-9 or 0.001)");
}
END_TEST

START_TEST(what_is_no_fraction_is_refused)
{
    static const char *const wrong[] = {
        "some",   "1.",    ".5",  "-0.1", "+0.1", "1ex",  "1e-",
        "1e-100", "1e-23", "0,5", "0x1",  "nan",  "0.1 ", "0.1234567890123456"};
    static const char *const outside[] = {"0", "1", "1.5", "0e-9", "12", "1e5"};
    char assignment[64], words[160];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(assignment, sizeof(assignment), "gossip.accuracy=%s", wrong[i]);
        snprintf(words, sizeof(words),
                 "--set: gossip.accuracy: \"%s\" is no such number (allowed: a number above 0 and "
                 "below 1, "
                 "as 1e-9 or 0.001)",
                 wrong[i]);
        refuse(assignment, words);
    }
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        snprintf(assignment, sizeof(assignment), "gossip.accuracy=%s", outside[i]);
        snprintf(words, sizeof(words),
                 "--set: gossip.accuracy: \"%s\" is out of range (allowed: a number above 0 and "
                 "below 1, as "
                 "1e-9 or 0.001)",
                 outside[i]);
        refuse(assignment, words);
    }
}
END_TEST

/* --- strings --- */

START_TEST(a_string_may_be_empty_or_long)
{
    char text[FTC_CONFIG_STRING_MAX + 1], assignment[sizeof(text) + 40];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    snprintf(assignment, sizeof(assignment), "multicast.interface=%s", text);
    set(assignment);
    ck_assert_str_eq(settings.value.multicast_interface, text);
    set("multicast.interface=eth0,192.168.0.1,fe80::1%eth0,a=b,\"#\"");
    ck_assert_str_eq(settings.value.multicast_interface, "eth0,192.168.0.1,fe80::1%eth0,a=b,\"#\"");
    set("multicast.interface=");
    ck_assert_str_eq(settings.value.multicast_interface, "");
}
END_TEST

/* These characters would be changed on the way, by a file, a dump or the end of a line. */
START_TEST(a_string_is_one_printable_word)
{
    static const char *const wrong[] = {"a b",  " a",    "a ",       "a\tb",
                                        "a\nb", "a\x7f", "\xc3\xa4", "a;b"};
    char assignment[FTC_CONFIG_STRING_MAX + 40], *value = assignment;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(assignment, sizeof(assignment), "multicast.interface=%s", wrong[i]);
        ck_assert_int_eq(ftc_settings_set(&settings, assignment, "--set"), FTC_ERR_CONFIG);
        ck_assert_ptr_nonnull(strstr(ftc_last_error(),
                                     "\" has a character that is not allowed (allowed: at most "
                                     "127 printable characters without blanks and semicolons)"));
        ck_assert_str_eq(settings.value.multicast_interface, "");
    }
    value += sprintf(assignment, "multicast.interface=");
    memset(value, 'x', FTC_CONFIG_STRING_MAX + 1);
    value[FTC_CONFIG_STRING_MAX + 1] = '\0';
    ck_assert_int_eq(ftc_settings_set(&settings, assignment, "--set"), FTC_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "xxx...\" is too long (allowed: at most 127 "));
}
END_TEST

/* --- lists --- */

START_TEST(a_list_keeps_its_order)
{
    static const char *const texts[] = {"tcp", "tcp,shm", "shm,verbs,tcp", "verbs,tcp,shm"};
    static const int8_t lists[][FTC_CONFIG_LIST_MAX] = {
        {2, -1, -1, -1}, {2, 0, -1, -1}, {0, 1, 2, -1}, {1, 2, 0, -1}};
    char assignment[64], line[80];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        snprintf(assignment, sizeof(assignment), "transport.order=%s", texts[i]);
        set(assignment);
        ck_assert_mem_eq(settings.value.transport_order, lists[i], sizeof(lists[i]));
        snprintf(line, sizeof(line), "\n%s\n", assignment);
        char *dump = ftc_settings_dump(&settings);
        ck_assert_ptr_nonnull(strstr(dump, line));
        free(dump);
    }
}
END_TEST

START_TEST(a_list_names_what_there_is_and_each_once)
{
    static const char *const wrong[][2] = {
        {"udp", "has a word that is not one of its values"},
        {"tcp,", "has a word that is not one of its values"},
        {",tcp", "has a word that is not one of its values"},
        {"tcp,,shm", "has a word that is not one of its values"},
        {"tcp, shm", "has a word that is not one of its values"},
        {"TCP", "has a word that is not one of its values"},
        {"tc", "has a word that is not one of its values"},
        {"tcp,shm,tcp", "names one twice"},
        {"shm,verbs,tcp,shm", "names one twice"},
    };
    char assignment[64], words[256];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(assignment, sizeof(assignment), "transport.order=%s", wrong[i][0]);
        snprintf(words, sizeof(words),
                 "--set: transport.order: \"%s\" %s (allowed: shm, verbs, tcp; one or more, "
                 "separated by commas, "
                 "each once)",
                 wrong[i][0], wrong[i][1]);
        refuse(assignment, words);
    }
    refuse("transport.order=",
           "--set: transport.order: the value is empty (allowed: shm, verbs, tcp; one or more, "
           "separated by commas, each once)");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config: values");
    TCase *values = tcase_create("values");
    tcase_add_checked_fixture(values, begin, end);
    tcase_add_test(values, booleans_have_many_words);
    tcase_add_test(values, percentages_are_kept_to_a_part_in_a_million);
    tcase_add_test(values, what_is_no_percentage_is_refused);
    tcase_add_test(values, a_fraction_comes_back_as_the_same_number);
    tcase_add_test(values, a_threshold_is_auto_or_any_number);
    tcase_add_test(values, what_is_no_fraction_is_refused);
    tcase_add_test(values, a_string_may_be_empty_or_long);
    tcase_add_test(values, a_string_is_one_printable_word);
    tcase_add_test(values, a_list_keeps_its_order);
    tcase_add_test(values, a_list_names_what_there_is_and_each_once);
    suite_add_tcase(suite, values);
    return test_suite_run(suite);
}
