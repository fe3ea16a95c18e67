/* Tests the command line of ftcoll-sim: which options it understands, how they map to the members'
 * settings, which it refuses and how. Also tests that a replay line gives the same communicator
 * again. */
#include "sim/options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/agreement/member.h"
#include "include/ftcoll.h"
#include "sim/model/pair.h"
#include "tests/suite.h"

#define WORDS 40

static struct ftc_setup setup;
static enum ftc_parsed parsed;

/* A command with a flag, an option with a letter, and an option that hides a common one. */
struct own {
    bool loud;
    uint64_t speed;
    const char *ranks;
};
static struct own own;

static int take_loud(void *command, const char *text)
{
    ck_assert_ptr_null(text);
    ((struct own *)command)->loud = true;
    return 0;
}

static int take_speed(void *command, const char *text)
{
    return ftc_option_number("--speed", text, 1, 9, &((struct own *)command)->speed);
}

static int take_ranks(void *command, const char *text)
{
    ((struct own *)command)->ranks = text;
    return 0;
}

static const struct ftc_option plain_options[] = {
    {"loud", 0, NULL, "say more", take_loud},
    {"speed", 'q', "N", "how fast", take_speed},
    {NULL, 0, NULL, NULL, NULL},
};
static const struct ftc_option hiding_options[] = {
    {"ranks", 'n', "LIST", "numbers of ranks", take_ranks},
    {NULL, 0, NULL, NULL, NULL},
};
static const struct ftc_usage plain = {
    .synopsis = "test", .summary = "A test.", .option = plain_options};
static const struct ftc_usage hiding = {
    .synopsis = "test", .summary = "A test.", .option = hiding_options};
static const struct ftc_usage bounded = {
    .synopsis = "test", .summary = "A test.", .most_ranks = 8, .seedless = true};

static void teardown(void)
{
    ftc_setup_fini(&setup);
}

/* Parses the words of `line`, separated by blanks, after the command's name. */
static int parse(const struct ftc_usage *usage, const char *line)
{
    static char text[400];
    static char name[] = "test";
    char *words[WORDS] = {name}, *rest = text, *word;
    int count = 1;

    ftc_setup_fini(&setup);
    own = (struct own){0};
    snprintf(text, sizeof(text), "%s", line);
    while ((word = strsep(&rest, " ")) != NULL)
        if (word[0] != '\0' && count < WORDS - 1)
            words[count++] = word;
    return ftc_setup_parse(&setup, usage, &own, count, words, &parsed);
}

static void accept(const char *line)
{
    int rc = parse(&plain, line);

    ck_assert_msg(rc == 0, "'%s' was refused: %s", line, ftc_last_error());
}

/* The line must be refused with an error that names cause and remedy. */
static void refuse(const char *line, const char *cause, const char *remedy)
{
    ck_assert_msg(parse(&plain, line) != 0, "'%s' was accepted", line);
    ck_assert_msg(strstr(ftc_last_error(), cause) != NULL, "'%s': '%s' names no cause '%s'", line,
                  ftc_last_error(), cause);
    ck_assert_msg(strstr(ftc_last_error(), remedy) != NULL, "'%s': '%s' names no remedy '%s'", line,
                  ftc_last_error(), remedy);
    ck_assert_ptr_null(strchr(ftc_last_error(), '\n'));
}

START_TEST(defaults_are_those_of_the_configuration)
{
    accept("-n 8 allreduce");
    ck_assert_int_eq(setup.member.ranks, 8);
    ck_assert_int_eq(setup.member.f, 1);
    ck_assert_int_eq(setup.member.scheme, FTC_SCHEME_LIST);
    ck_assert_int_eq(setup.member.share, FTC_SHARE_PIGGYBACK);
    ck_assert_int_eq(setup.member.rotation, FTC_ROTATION_FIRST);
    ck_assert_int_eq(setup.member.reduce_arity, 2);
    ck_assert_int_eq(setup.member.take, FTC_TAKE_AUTO);
    ck_assert_uint_eq(setup.member.straggler_ns, 500000000); /* two heartbeat periods */
    ck_assert_int_eq(setup.member.tree.tree, FTC_TREE_BINOMIAL);
    ck_assert_int_eq(setup.member.dissemination, FTC_DISSEMINATION_TREE);
    ck_assert_int_eq(setup.member.correction, FTC_CORRECTION_NONE);
    ck_assert_uint_eq(setup.member.correction_delay_ns, 1000000);
    ck_assert_int_eq(setup.member.distance, 2);
    ck_assert_uint_eq(setup.member.patience_ns, 10000000);
    ck_assert_int_eq(setup.member.gossip_bound, FTC_GOSSIP_ROUNDS);
    ck_assert_int_eq(setup.member.gossip_rounds, 8);
    ck_assert_int_eq(setup.member.gossip_hop, 4);
    ck_assert_uint_eq(setup.member.seed, 1);
    ck_assert_uint_eq(setup.member.fragment, 4096);
    ck_assert_int_eq(setup.member.multicast_least, 8);
    ck_assert_uint_eq(setup.member.multicast_most, 65536);
    ck_assert_uint_eq(setup.member.settle_every, 64);
    ck_assert_int_eq(setup.member.prepare, FTC_PREPARE_DIRECT);
    ck_assert_uint_eq(setup.seed, 1);
    ck_assert(setup.ranks_given && !setup.f_given && !setup.seed_given);
    ck_assert_int_eq(setup.program.length, 1);
}
END_TEST

START_TEST(every_short_form_reaches_the_members)
{
    accept("-n 9 -f 2 -s 77 --scheme bit --share off --rotation spread --reduce-tree chain "
           "--take first --dissemination lame "
           "--arity 3 --correction checked --correction-delay 5 --prepare tree --settle-every 0 "
           "barrier");
    ck_assert_int_eq(setup.member.f, 2);
    ck_assert_int_eq(setup.member.scheme, FTC_SCHEME_BIT);
    ck_assert_int_eq(setup.member.share, FTC_SHARE_OFF);
    ck_assert_int_eq(setup.member.rotation, FTC_ROTATION_SPREAD);
    ck_assert_int_eq(setup.member.reduce_arity, 1);
    ck_assert_int_eq(setup.member.take, FTC_TAKE_FIRST);
    ck_assert_int_eq(setup.member.tree.tree, FTC_TREE_LAME);
    ck_assert_int_eq(setup.member.tree.arity, 3);
    ck_assert_int_eq(setup.member.correction, FTC_CORRECTION_CHECKED);
    ck_assert_uint_eq(setup.member.correction_delay_ns, 5000);
    ck_assert_int_eq(setup.member.prepare, FTC_PREPARE_TREE);
    ck_assert_uint_eq(setup.member.settle_every, 0);
    ck_assert_uint_eq(setup.seed, 77);
    ck_assert(setup.f_given && setup.seed_given);
}
END_TEST

START_TEST(short_forms_of_broadcasts_reach_the_members)
{
    accept(
        "-n 9 --dissemination gossip --tree kary --correction failure-proof --distance 6 "
        "--correction-delay 0 "
        "--patience 20 --gossip-bound time --gossip-rounds 11 --gossip-hop 3 --broadcast-seed 99 "
        "--fragment 1500 --set multicast.least_ranks=3 --set multicast.most_bytes=0 bcast");
    ck_assert_int_eq(setup.member.dissemination, FTC_DISSEMINATION_GOSSIP);
    ck_assert_int_eq(setup.member.tree.tree, FTC_TREE_KARY);
    ck_assert_int_eq(setup.member.correction, FTC_CORRECTION_FAILURE_PROOF);
    ck_assert_int_eq(setup.member.distance, 6);
    ck_assert_uint_eq(setup.member.correction_delay_ns, 0);
    ck_assert_uint_eq(setup.member.patience_ns, 20000);
    ck_assert_int_eq(setup.member.gossip_bound, FTC_GOSSIP_TIME);
    ck_assert_int_eq(setup.member.gossip_rounds, 11);
    ck_assert_int_eq(setup.member.gossip_hop, 3);
    ck_assert_uint_eq(setup.member.seed, 99);
    ck_assert_uint_eq(setup.member.fragment, 1500);
    ck_assert_int_eq(setup.member.multicast_least, 3);
    ck_assert_uint_eq(setup.member.multicast_most, 0);
}
END_TEST

START_TEST(a_tree_is_a_word_for_dissemination_too)
{
    accept("-n 4 bcast --dissemination tree --correction checked");
    ck_assert_int_eq(setup.member.dissemination, FTC_DISSEMINATION_TREE);
    ck_assert_int_eq(setup.member.tree.tree, FTC_TREE_BINOMIAL);
    accept("-n 4 bcast --dissemination gossip --dissemination lame");
    ck_assert_int_eq(setup.member.dissemination, FTC_DISSEMINATION_TREE);
    ck_assert_int_eq(setup.member.tree.tree, FTC_TREE_LAME);
    accept("-n 4 bcast --dissemination kary --dissemination binomial");
    ck_assert_int_eq(setup.member.tree.tree, FTC_TREE_BINOMIAL);
    /* A rank that was missed asks along the kary tree. */
    accept("-n 4 bcast --dissemination kary --dissemination multicast");
    ck_assert_int_eq(setup.member.dissemination, FTC_DISSEMINATION_MULTICAST);
    ck_assert_int_eq(setup.member.tree.tree, FTC_TREE_KARY);
}
END_TEST

START_TEST(a_combination_has_a_name)
{
    accept("-n 4 bcast --algorithm ocg");
    ck_assert_int_eq(setup.member.dissemination, FTC_DISSEMINATION_GOSSIP);
    ck_assert_int_eq(setup.member.correction, FTC_CORRECTION_OPPORTUNISTIC);
    accept("-n 4 bcast --algorithm multicast-ring --correction none");
    ck_assert_int_eq(setup.member.dissemination, FTC_DISSEMINATION_MULTICAST);
    ck_assert_int_eq(setup.member.correction, FTC_CORRECTION_NONE);
}
END_TEST

/* Two rooms have these names. Users take them from reports and put them into settings. */
START_TEST(reports_and_settings_name_things_alike)
{
    struct ftc_settings settings;
    char words[96], name[FTC_PAIR_NAME];

    for (int i = 0; i < FTC_PAIRS; i++) {
        struct ftc_pair pair = ftc_pair_at(i);
        const char *const values[] = {ftc_dissemination_name(pair.dissemination),
                                      ftc_tree_name(pair.tree),
                                      ftc_correction_name(pair.correction)};
        const char *const keys[] = {"dissemination", "tree", "correction"};
        ck_assert_int_eq(ftc_settings_init(&settings), 0);
        for (int k = 0; k < 3; k++) {
            snprintf(words, sizeof(words), "broadcast.%s=%s", keys[k], values[k]);
            ck_assert_msg(ftc_settings_set(&settings, words, "--set") == 0, "%s", ftc_last_error());
        }
        struct ftc_member_settings member = ftc_config_member(&settings.value, 8, 0);
        ftc_pair_name(pair, name);
        ck_assert_msg(member.dissemination == pair.dissemination && member.tree.tree == pair.tree &&
                          member.correction == pair.correction,
                      "%s", name);
        ftc_settings_fini(&settings);
    }
}
END_TEST

START_TEST(a_command_may_choose_the_ranks)
{
    ck_assert_int_eq(parse(&hiding, "-n 2..8 bcast --dissemination gossip"), 0);
    ck_assert_int_eq(setup.member.gossip_rounds, 0);
    ftc_config_fit(&setup.member, 1024);
    ck_assert_int_eq(setup.member.gossip_rounds, 22);
}
END_TEST

START_TEST(operations_stand_anywhere_and_add_up)
{
    accept("allreduce -n 4 --ops bcast:2,barrier*2 reduce:3 -- validate");
    ck_assert_str_eq(setup.ops, "allreduce,bcast:2,barrier*2,reduce:3,validate");
    ck_assert_int_eq(setup.program.length, 6);
    ck_assert_int_eq(setup.program.operation[4].kind, FTC_CALL_REDUCE);
    ck_assert_int_eq(setup.program.operation[4].root, 3);
}
END_TEST

START_TEST(a_default_f_is_cut_a_given_one_is_not)
{
    accept("-n 1 barrier");
    ck_assert_int_eq(setup.member.f, 0);
    refuse("-n 4 -f 4 barrier", "f is 4 (-f) but there are only 4 ranks", "give f 0 to 3");
    refuse("-n 4 --set job.f=9 barrier", "f is 9 (--set)", "give f 0 to 3");
}
END_TEST

START_TEST(flags_beat_the_file_wherever_it_stands)
{
    char path[] = "/tmp/ftcoll-options-XXXXXX", line[100];
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");

    ck_assert_ptr_nonnull(file);
    fputs("[failure_info]\nscheme = count\n[broadcast]\narity = 7\n", file);
    fclose(file);
    snprintf(line, sizeof(line), "-n 4 --scheme bit --config %s barrier", path);
    accept(line);
    unlink(path);
    ck_assert_int_eq(setup.member.scheme, FTC_SCHEME_BIT);
    ck_assert_int_eq(setup.member.tree.arity, 7);
}
END_TEST

START_TEST(wrong_words_name_cause_and_remedy)
{
    refuse("-n 0 barrier", "-n 0", "give 1 to 1048576");
    refuse("-n 12x barrier", "-n 12x", "give 1 to 1048576");
    refuse("-n -3 barrier", "-n -3", "give 1 to 1048576");
    refuse("-n 4 --scheme lisst barrier", "\"lisst\"", "allowed: list, count, bit");
    refuse("-n 4 --scheme", "needs an argument", "--help");
    refuse("-n 4 --nonsense barrier", "--nonsense", "--help");
    refuse("-n 4 -z barrier", "-z", "--help");
    refuse("-n 4 --seed x barrier", "--seed x", "give 0 to");
    refuse("-n 4 --seed 9223372036854775808 barrier", "--seed", "give 0 to 9223372036854775807");
    refuse("-n 4 --set broadcast.tre=kary barrier", "no such key", "did you mean broadcast.tree?");
    refuse("-n 4 --config /nowhere/x.ini barrier", "/nowhere/x.ini", "");
    refuse("-n 4 frobnicate", "\"frobnicate\"", "allreduce");
    refuse("-n 4 bcast:4", "bcast:4", "");
    refuse("-n 4 --dissemination kary --arity 1 bcast", "too small", "at least 2");
    refuse("-n 4 --dissemination rumour bcast", "\"rumour\"",
           "allowed: auto, tree, gossip, multicast");
    refuse("-n 4 --algorithm ogc bcast", "--algorithm: broadcast.algorithm: \"ogc\"",
           "ocg, ccg, fcg");
    refuse("-n 4 --gossip-hop 0 bcast", "--gossip-hop", "allowed: 1..1000");
    refuse("-n 4 --fragment 0 bcast", "--fragment 0", "give 1 to 65536");
    refuse("-n 4 --fragment 65537 bcast", "--fragment 65537", "give 1 to 65536");
    refuse("-n 4 --dissemination gossip --correction none --patience 0 bcast",
           "would wait for ever", "set a patience");
    refuse("-n 4 --speed 10 bcast", "--speed 10", "give 1 to 9");
}
END_TEST

START_TEST(a_command_adds_options_and_hides_some)
{
    accept("-n 4 --loud -q 3 barrier");
    ck_assert(own.loud);
    ck_assert_uint_eq(own.speed, 3);
    ck_assert_int_eq(parse(&hiding, "-n 2..8 bcast:1000"), 0);
    ck_assert_str_eq(own.ranks, "2..8");
    ck_assert(!setup.ranks_given);
    ck_assert_int_eq(setup.member.ranks, 0);
    ck_assert_int_eq(setup.program.operation[0].root, 1000);
}
END_TEST

START_TEST(a_command_has_a_limit_and_no_seed)
{
    ck_assert_int_eq(parse(&bounded, "-n 8 barrier"), 0);
    ck_assert_int_ne(parse(&bounded, "-n 9 barrier"), 0);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "give 1 to 8"));
    ck_assert_int_ne(parse(&bounded, "-n 8 --seed 3 barrier"), 0);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "--seed"));
}
END_TEST

START_TEST(help_and_version_come_first)
{
    ck_assert_int_eq(parse(&plain, "--help --nonsense"), 0);
    ck_assert_int_eq(parsed, FTC_PARSED_HELP);
    ck_assert_int_eq(parse(&plain, "-V"), 0);
    ck_assert_int_eq(parsed, FTC_PARSED_VERSION);
}
END_TEST

static char *help_of(const struct ftc_usage *usage)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    ftc_setup_help(usage, out);
    fclose(out);
    return text;
}

/* Removes what wrapping has put in. */
static void join_lines(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++)
        if (*from != ' ' && *from != '\n')
            *to++ = *from;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    *to = '\0';
}

/* The help has the command's words, with every row of the two tables. */
START_TEST(help_lists_every_option)
{
    static const char *const wanted[] = {
        "--loud",
        "-q, --speed N",
        "-n, --ranks N",
        "--scheme SCHEME",
        "list, count, bit",
        "broadcast.correction_delay_us",
        "broadcast.dissemination (auto: auto, tree, gossip, multicast, binomial, kary, lame)",
        "broadcast.algorithm (corrected-tree, ocg, ccg, fcg, multicast-ring)",
        "--fragment BYTES",
        "1 to 1048576",
        "--seed",
        "Exit code"};
    char *text = help_of(&plain), *short_text = help_of(&bounded);

    join_lines(text);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        ck_assert_msg(strstr(text, wanted[i]) != NULL, "--help does not say %s", wanted[i]);
    ck_assert_ptr_nonnull(strstr(short_text, "number of ranks, 1 to 8\n"));
    ck_assert_ptr_null(strstr(short_text, "--seed"));
    free(short_text);
    free(text);
}
END_TEST

START_TEST(a_replay_line_says_what_is_not_default)
{
    accept("-n 4 -f 1 --scheme bit --set reduce.arity=3 barrier barrier bcast:2");
    char *line = ftc_setup_format(&setup.member, &setup.program);
    ck_assert_str_eq(line, "-n 4 -f 1 --scheme bit --reduce-arity 3 --ops 'barrier*2,bcast:2'");
    free(line);
}
END_TEST

static void assert_same(const struct ftc_member_settings *a, const struct ftc_member_settings *b)
{
#define SAME(field) ck_assert_msg(a->field == b->field, "another " #field)
    SAME(ranks);
    SAME(f);
    SAME(scheme);
    SAME(share);
    SAME(rotation);
    SAME(reduce_arity);
    SAME(direct);
    SAME(doubling);
    SAME(take);
    SAME(tree.tree);
    SAME(tree.arity);
    SAME(dissemination);
    SAME(correction);
    SAME(distance);
    SAME(correction_delay_ns);
    SAME(patience_ns);
    SAME(gossip_bound);
    SAME(gossip_rounds);
    SAME(gossip_hop);
    SAME(seed);
    SAME(fragment);
    SAME(multicast_least);
    SAME(multicast_most);
    SAME(settle_every);
    SAME(prepare);
    SAME(integrity);
#undef SAME
}

START_TEST(a_replay_line_gives_the_same_again)
{
    static const char *const lines[] = {
        "-n 1 -f 0 allreduce",
        "-n 16 -f 3 --share off --take lowest --rotation spread --reduce-tree chain --prepare tree "
        "validate",
        "-n 5 --dissemination kary --arity 4 --correction checked --correction-delay 7 "
        "--settle-every 3 "
        "bcast:4",
        "-n 7 --dissemination gossip bcast",
        "-n 7 --dissemination multicast --correction ring --fragment 9000 bcast",
        "-n 7 --dissemination tree --tree lame --correction delayed --patience 0 --distance 9 "
        "bcast",
        "-n 7 --dissemination gossip --tree kary --correction throttled --distance 5 "
        "--correction-delay 0 "
        "--patience 123 --gossip-bound time --gossip-rounds 9 --gossip-hop 2 --broadcast-seed "
        "4611686018427387904 "
        "--fragment 1 bcast",
        "-n 7 --algorithm ocg --gossip-rounds 1 bcast",
        "-n 7 -f 2 --integrity vote --flip 3:up:62@1/0,0:partial.2:1@0/0 allreduce reduce:1",
        "-n 7 --algorithm multicast-ring --set multicast.least_ranks=4 --set "
        "multicast.most_bytes=1099511627776 "
        "bcast",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        accept(lines[i]);
        struct ftc_member_settings before = setup.member;
        char *line = ftc_setup_format(&setup.member, &setup.program);
        accept(line);
        free(line);
        assert_same(&before, &setup.member);
    }
}
END_TEST

static void assert_line(const char *given, const char *wanted)
{
    accept(given);
    char *line = ftc_setup_format(&setup.member, &setup.program);
    ck_assert_str_eq(line, wanted);
    free(line);
}

START_TEST(a_replay_line_has_the_flips)
{
    assert_line(
        "-n 8 allreduce --integrity vote --flip 3:up:62@1/0,0:message.2:1@0/4",
        "-n 8 -f 1 --integrity vote --flip 3:up.0:62@1/0,0:message.2:1@0/4 --ops allreduce");
}
END_TEST

START_TEST(a_replay_line_leaves_out_what_auto_chooses)
{
    assert_line("-n 8 bcast --dissemination tree --correction none --distance 2",
                "-n 8 -f 1 --ops bcast:0");
    assert_line("-n 8 bcast --algorithm ccg --gossip-rounds 8 --distance 4",
                "-n 8 -f 1 --dissemination gossip --ops bcast:0");
    assert_line("-n 8 bcast --algorithm corrected-tree",
                "-n 8 -f 1 --correction checked --ops bcast:0");
    assert_line(
        "-n 8 bcast --algorithm fcg --dissemination multicast --set multicast.least_ranks=2",
        "-n 8 -f 1 --dissemination multicast --correction failure-proof --set "
        "multicast.least_ranks=2 "
        "--ops bcast:0");
}
END_TEST

START_TEST(real_numbers_have_a_range)
{
    double value = 0;

    ck_assert_int_eq(ftc_option_real("--x", "2.5e3", 0, 1e6, &value), 0);
    ck_assert_double_eq(value, 2500);
    ck_assert_int_ne(ftc_option_real("--x", "-1", 0, 1e6, &value), 0);
    ck_assert_int_ne(ftc_option_real("--x", "nan", 0, 1e6, &value), 0);
    ck_assert_int_ne(ftc_option_real("--x", "2z", 0, 1e6, &value), 0);
    ck_assert_int_ne(ftc_option_real("--x", "", 0, 1e6, &value), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *tcase = tcase_create("options");

    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_test(tcase, defaults_are_those_of_the_configuration);
    tcase_add_test(tcase, every_short_form_reaches_the_members);
    tcase_add_test(tcase, short_forms_of_broadcasts_reach_the_members);
    tcase_add_test(tcase, a_tree_is_a_word_for_dissemination_too);
    tcase_add_test(tcase, a_combination_has_a_name);
    tcase_add_test(tcase, reports_and_settings_name_things_alike);
    tcase_add_test(tcase, a_command_may_choose_the_ranks);
    tcase_add_test(tcase, operations_stand_anywhere_and_add_up);
    tcase_add_test(tcase, a_default_f_is_cut_a_given_one_is_not);
    tcase_add_test(tcase, flags_beat_the_file_wherever_it_stands);
    tcase_add_test(tcase, wrong_words_name_cause_and_remedy);
    tcase_add_test(tcase, a_command_adds_options_and_hides_some);
    tcase_add_test(tcase, a_command_has_a_limit_and_no_seed);
    tcase_add_test(tcase, help_and_version_come_first);
    tcase_add_test(tcase, help_lists_every_option);
    tcase_add_test(tcase, a_replay_line_says_what_is_not_default);
    tcase_add_test(tcase, a_replay_line_gives_the_same_again);
    tcase_add_test(tcase, a_replay_line_leaves_out_what_auto_chooses);
    tcase_add_test(tcase, a_replay_line_has_the_flips);
    tcase_add_test(tcase, real_numbers_have_a_range);
    suite_add_tcase(suite, tcase);
    return test_suite_run(suite);
}
