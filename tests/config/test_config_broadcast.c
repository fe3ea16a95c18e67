/* The settings of broadcasts: what `auto` becomes for a member, the names of combinations, and
 * settings that cannot go together. */
#include <stdlib.h>
#include <string.h>

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

static const char *source_of(const char *key)
{
    for (size_t i = 0; i < ftc_config_schema_size; i++)
        if (strcmp(ftc_config_schema[i].section, "broadcast") == 0 &&
            strcmp(ftc_config_schema[i].key, key) == 0)
            return settings.source[i];
    ck_abort_msg("no key broadcast.%s", key);
    return NULL;
}

static void set(const char *assignment)
{
    ck_assert_msg(ftc_settings_set(&settings, assignment, "--set") == FTC_SUCCESS, "%s",
                  ftc_last_error());
}

static struct ftc_member_settings member(int ranks)
{
    return ftc_config_member(&settings.value, ranks, 0);
}

/* --- the settings that a member gets --- */

START_TEST(a_member_gets_the_defaults)
{
    struct ftc_member_settings m = ftc_config_member(&settings.value, 8, 5);
    ck_assert_int_eq(m.ranks, 8);
    ck_assert_int_eq(m.self, 5);
    ck_assert_int_eq(m.dissemination, FTC_DISSEMINATION_TREE);
    ck_assert_int_eq(m.correction, FTC_CORRECTION_NONE);
    ck_assert_int_eq(m.distance, 2);
    ck_assert_uint_eq(m.correction_delay_ns, 1000000);
    ck_assert_uint_eq(m.patience_ns, 10000000);
    ck_assert_int_eq(m.gossip_bound, FTC_GOSSIP_ROUNDS);
    ck_assert_int_eq(m.gossip_rounds, 8);
    ck_assert_int_eq(m.gossip_hop, 4);
    ck_assert_uint_eq(m.seed, 1);
    ck_assert_int_eq(m.multicast_least, 8);
    ck_assert_uint_eq(m.multicast_most, 65536);
    ck_assert_uint_eq(m.fragment, 0); /* the runtime sets it */
}
END_TEST

START_TEST(a_member_gets_what_is_set)
{
    static const char *const given[] = {
        "broadcast.distance=9",
        "broadcast.correction_delay_us=0",
        "broadcast.patience_us=600000000",
        "broadcast.gossip_hop=3",
        "broadcast.gossip_bound=time",
        "broadcast.gossip_rounds=17",
        "multicast.least_ranks=2",
        "multicast.most_bytes=1099511627776",
        "broadcast.seed=4611686018427387904",
    };
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
        set(given[i]);
    struct ftc_member_settings m = member(64);
    ck_assert_int_eq(m.distance, 9);
    ck_assert_uint_eq(m.correction_delay_ns, 0);
    ck_assert_uint_eq(m.patience_ns, UINT64_C(600000000000));
    ck_assert_int_eq(m.gossip_hop, 3);
    ck_assert_int_eq(m.gossip_bound, FTC_GOSSIP_TIME);
    ck_assert_int_eq(m.gossip_rounds, 17);
    ck_assert_int_eq(m.multicast_least, 2);
    ck_assert_uint_eq(m.multicast_most, UINT64_C(1) << 40);
    ck_assert_uint_eq(m.seed, UINT64_C(1) << 62);
}
END_TEST

/* Each name of both keys, as it stands in a file. */
START_TEST(every_pair_reaches_a_member)
{
    static const char *const disseminations[] = {"tree", "gossip", "multicast"};
    static const char *const corrections[] = {"none",      "opportunistic", "optimised", "checked",
                                              "throttled", "failure-proof", "delayed",   "ring"};
    char assignment[64];
    for (int d = 0; d < 3; d++)
        for (int c = 0; c < 8; c++) {
            snprintf(assignment, sizeof(assignment), "broadcast.dissemination=%s",
                     disseminations[d]);
            set(assignment);
            snprintf(assignment, sizeof(assignment), "broadcast.correction=%s", corrections[c]);
            set(assignment);
            ck_assert_int_eq((int)member(8).dissemination, d);
            ck_assert_int_eq((int)member(8).correction, c);
            ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
        }
}
END_TEST

START_TEST(auto_fits_the_dissemination)
{
    static const struct {
        const char *dissemination;
        enum ftc_correction correction;
        int distance;
    } row[] = {
        {"broadcast.dissemination=auto", FTC_CORRECTION_NONE, 2},
        {"broadcast.dissemination=tree", FTC_CORRECTION_NONE, 2},
        {"broadcast.dissemination=gossip", FTC_CORRECTION_CHECKED, 4},
        {"broadcast.dissemination=multicast", FTC_CORRECTION_RING, 2},
    };
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        set(row[i].dissemination);
        ck_assert_int_eq(member(8).correction, row[i].correction);
        ck_assert_int_eq(member(8).distance, row[i].distance);
    }
}
END_TEST

/* ceil(2 log2(ranks)) + 2 */
START_TEST(gossip_has_more_rounds_with_more_ranks)
{
    static const struct {
        int ranks, rounds;
    } row[] = {{1, 2}, {2, 4}, {3, 6},     {4, 6},     {5, 7},
               {6, 8}, {8, 8}, {1024, 22}, {1025, 23}, {1048576, 42}};
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        ck_assert_int_eq(member(row[i].ranks).gossip_rounds, row[i].rounds);
}
END_TEST

START_TEST(ranks_may_be_known_later)
{
    set("broadcast.dissemination=gossip");
    struct ftc_member_settings later = member(0), now = member(100);
    ck_assert_int_eq(later.gossip_rounds, 0);
    ftc_config_fit(&later, 100);
    ck_assert_int_eq(later.ranks, 100);
    ck_assert_int_eq(later.gossip_rounds, now.gossip_rounds);
    ck_assert_int_eq(later.distance, now.distance);
    set("broadcast.gossip_rounds=3");
    set("broadcast.distance=5");
    later = member(0);
    ftc_config_fit(&later, 100);
    ck_assert_int_eq(later.gossip_rounds, 3);
    ck_assert_int_eq(later.distance, 5);
}
END_TEST

/* --- names of combinations --- */

START_TEST(a_combination_has_a_name)
{
    static const struct {
        const char *name;
        enum ftc_dissemination dissemination;
        enum ftc_correction correction;
    } row[] = {
        {"corrected-tree", FTC_DISSEMINATION_TREE, FTC_CORRECTION_CHECKED},
        {"ocg", FTC_DISSEMINATION_GOSSIP, FTC_CORRECTION_OPPORTUNISTIC},
        {"ccg", FTC_DISSEMINATION_GOSSIP, FTC_CORRECTION_CHECKED},
        {"fcg", FTC_DISSEMINATION_GOSSIP, FTC_CORRECTION_FAILURE_PROOF},
        {"multicast-ring", FTC_DISSEMINATION_MULTICAST, FTC_CORRECTION_RING},
    };
    char assignment[64];
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        snprintf(assignment, sizeof(assignment), "broadcast.algorithm=%s", row[i].name);
        set(assignment);
        ck_assert_int_eq(member(8).dissemination, row[i].dissemination);
        ck_assert_int_eq(member(8).correction, row[i].correction);
        ck_assert_str_eq(source_of("dissemination"), "--set");
        ck_assert_str_eq(source_of("correction"), "--set");
    }
    ck_assert_int_ne(settings.value.dissemination, FTC_CONFIG_DISSEMINATION_AUTO);
}
END_TEST

START_TEST(a_file_may_name_a_combination)
{
    static const char text[] =
        "[broadcast]\nalgorithm = ccg ; corrected gossip\ncorrection = delayed\n";
    ck_assert_int_eq(ftc_settings_read_text(&settings, text, strlen(text), "a.ini"), FTC_SUCCESS);
    ck_assert_int_eq(member(8).dissemination, FTC_DISSEMINATION_GOSSIP);
    ck_assert_int_eq(member(8).correction, FTC_CORRECTION_DELAYED); /* the later line wins */
    ck_assert_str_eq(source_of("dissemination"), "a.ini:2");
    ck_assert_str_eq(source_of("correction"), "a.ini:3");
    set("broadcast.algorithm=ocg");
    ck_assert_int_eq(member(8).correction, FTC_CORRECTION_OPPORTUNISTIC);
}
END_TEST

/* Variables have no order. */
START_TEST(a_variable_for_one_key_beats_that_of_the_combination)
{
    char *const environments[][3] = {
        {"FTCOLL_BROADCAST_ALGORITHM=fcg", "FTCOLL_BROADCAST_CORRECTION=checked", NULL},
        {"FTCOLL_BROADCAST_CORRECTION=checked", "FTCOLL_BROADCAST_ALGORITHM=fcg", NULL},
    };
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ftc_settings_read_environment(&settings, environments[i]), FTC_SUCCESS);
        ck_assert_int_eq(member(8).dissemination, FTC_DISSEMINATION_GOSSIP);
        ck_assert_int_eq(member(8).correction, FTC_CORRECTION_CHECKED);
        ck_assert_str_eq(source_of("dissemination"), "FTCOLL_BROADCAST_ALGORITHM");
        ck_assert_str_eq(source_of("correction"), "FTCOLL_BROADCAST_CORRECTION");
    }
}
END_TEST

static void refuse(const char *assignment, const char *words)
{
    struct ftc_config before = settings.value;
    ck_assert_int_eq(ftc_settings_set(&settings, assignment, "--set"), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(), words);
    ck_assert_mem_eq(&before, &settings.value, sizeof(before));
    ck_assert_str_eq(source_of("dissemination"), "default");
}

START_TEST(unknown_combinations_are_refused)
{
    refuse("broadcast.algorithm=cgg",
           "--set: broadcast.algorithm: \"cgg\" is not one of its values (allowed: "
           "corrected-tree, ocg, ccg, fcg, multicast-ring)");
    refuse("broadcast.algorithm=",
           "--set: broadcast.algorithm: the value is empty (allowed: corrected-tree, ocg, "
           "ccg, fcg, multicast-ring)");
    refuse("broadcast.algoritm=ccg",
           "--set: \"broadcast.algoritm\": no such key; did you mean broadcast.algorithm?");
    char *const typo[] = {"FTCOLL_BROADCAST_ALGORITM=ccg", NULL};
    ck_assert_int_eq(ftc_settings_read_environment(&settings, typo), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(),
                     "environment variable \"FTCOLL_BROADCAST_ALGORITM\": no such setting; did "
                     "you mean FTCOLL_BROADCAST_ALGORITHM?");
}
END_TEST

/* A combination is printed for people to read. Only the two keys keep it. */
START_TEST(a_combination_is_no_key)
{
    char *text;
    size_t size;
    set("broadcast.algorithm=fcg");
    FILE *out = open_memstream(&text, &size);
    ftc_settings_print(&settings, true, NULL, NULL, out);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_ptr_nonnull(strstr(text, "\n[broadcast]\n# algorithm = NAME: "));
    ck_assert_ptr_nonnull(strstr(text, "\n#   fcg: gossip, failure-proof\n"));
    ck_assert_ptr_nonnull(strstr(text, "FTCOLL_BROADCAST_ALGORITHM"));
    ck_assert_ptr_nonnull(strstr(text, "\ndissemination = gossip\n"));
    ck_assert_ptr_nonnull(strstr(text, "\ncorrection = failure-proof\n"));
    char *dump = ftc_settings_dump(&settings);
    ck_assert_ptr_null(strstr(dump, "broadcast.algorithm"));
    set("broadcast.algorithm=ocg");
    ck_assert_int_eq(ftc_settings_read_text(&settings, text, size, "print"), FTC_SUCCESS);
    char *again = ftc_settings_dump(&settings);
    ck_assert_str_eq(dump, again);
    free(again);
    free(dump);
    free(text);
}
END_TEST

START_TEST(a_combination_is_set_whole_or_not_at_all)
{
    int n = 0, rc;
    for (;; n++) {
        fail_alloc_at(n);
        rc = ftc_settings_set(&settings, "broadcast.algorithm=ccg", "--set");
        if (!fail_alloc_stop())
            break;
        ck_assert_int_eq(rc, FTC_ERR_NOMEM);
        ck_assert_int_eq(settings.value.dissemination, FTC_CONFIG_DISSEMINATION_AUTO);
        ck_assert_int_eq(settings.value.correction, FTC_CONFIG_CORRECTION_AUTO);
    }
    ck_assert_int_eq(rc, FTC_SUCCESS);
    ck_assert_int_gt(n, 3);
}
END_TEST

/* --- settings that cannot go together --- */

START_TEST(shared_memory_sends_no_messages)
{
    set("collectives.algorithm=board");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
    set("broadcast.dissemination=tree");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(),
                     "broadcast.dissemination: tree (--set) needs messages, but "
                     "collectives.algorithm is board (--set): set one of them to auto");
    set("collectives.algorithm=auto");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
}
END_TEST

START_TEST(who_was_missed_must_be_repaired_or_ask)
{
    set("broadcast.patience_us=0");
    set("broadcast.correction=none");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS); /* a tree leaves nobody out */
    set("broadcast.dissemination=multicast");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    set("broadcast.dissemination=gossip");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    ck_assert_str_eq(
        ftc_last_error(),
        "broadcast.patience_us: 0 (--set) with broadcast.dissemination gossip (--set) and "
        "broadcast.correction none (--set): a rank that was missed would wait for ever; set a "
        "patience, "
        "or checked correction");
    static const struct {
        const char *correction;
        int rc;
    } row[] = {
        {"opportunistic", FTC_ERR_CONFIG},
        {"optimised", FTC_ERR_CONFIG},
        {"checked", FTC_SUCCESS},
        {"throttled", FTC_SUCCESS},
        {"failure-proof", FTC_SUCCESS},
        {"delayed", FTC_ERR_CONFIG},
        {"ring", FTC_SUCCESS},
        {"auto", FTC_SUCCESS},
    };
    char assignment[64];
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        snprintf(assignment, sizeof(assignment), "broadcast.correction=%s", row[i].correction);
        set(assignment);
        ck_assert_int_eq(ftc_settings_check(&settings), row[i].rc);
    }
    set("broadcast.correction=none");
    set("broadcast.patience_us=1");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
}
END_TEST

START_TEST(only_tcp_can_be_sealed)
{
    set("transport.seal=encrypt");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
    set("transport.order=verbs");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(),
                     "transport.seal: encrypt (--set) cannot protect messages by verbs, and "
                     "transport.order (--set) has nothing else: add tcp to the order, or set seal "
                     "to off");
    set("transport.order=verbs,tcp");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
    set("broadcast.dissemination=multicast");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    set("transport.seal=off");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
}
END_TEST

static void add_tests(Suite *suite)
{
    TCase *made = tcase_create("member");
    tcase_add_checked_fixture(made, begin, end);
    tcase_add_test(made, a_member_gets_the_defaults);
    tcase_add_test(made, a_member_gets_what_is_set);
    tcase_add_test(made, every_pair_reaches_a_member);
    tcase_add_test(made, auto_fits_the_dissemination);
    tcase_add_test(made, gossip_has_more_rounds_with_more_ranks);
    tcase_add_test(made, ranks_may_be_known_later);
    suite_add_tcase(suite, made);
    TCase *names = tcase_create("names");
    tcase_add_checked_fixture(names, begin, end);
    tcase_add_test(names, a_combination_has_a_name);
    tcase_add_test(names, a_file_may_name_a_combination);
    tcase_add_test(names, a_variable_for_one_key_beats_that_of_the_combination);
    tcase_add_test(names, unknown_combinations_are_refused);
    tcase_add_test(names, a_combination_is_no_key);
    tcase_add_test(names, a_combination_is_set_whole_or_not_at_all);
    suite_add_tcase(suite, names);
    TCase *rules = tcase_create("rules");
    tcase_add_checked_fixture(rules, begin, end);
    tcase_add_test(rules, shared_memory_sends_no_messages);
    tcase_add_test(rules, only_tcp_can_be_sealed);
    tcase_add_test(rules, who_was_missed_must_be_repaired_or_ask);
    suite_add_tcase(suite, rules);
}

int main(void)
{
    Suite *suite = suite_create("config: broadcast");
    add_tests(suite);
    return test_suite_run(suite);
}
