/* Settings without files: defaults, variables, assignments, rules between keys, and text that is
 * read back. */
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

static const char *source_of(const struct ftc_settings *of, const char *section, const char *key)
{
    for (size_t i = 0; i < ftc_config_schema_size; i++)
        if (strcmp(ftc_config_schema[i].section, section) == 0 &&
            strcmp(ftc_config_schema[i].key, key) == 0)
            return of->source[i];
    ck_abort_msg("no key %s.%s", section, key);
    return NULL;
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

/* A value that is not the default for each key, in the order of the schema. */
static const char *const changed_values[] = {
    "job.f=3",
    "detector.heartbeat_period_ms=10",
    "detector.heartbeat_timeout_ms=77",
    "detector.fence=off",
    "detector.exit_notices=no",
    "failure_info.scheme=bit",
    "failure_info.share=off",
    "reduce.tree=chain",
    "reduce.arity=64",
    "reduce.take=lowest",
    "reduce.direct=12",
    "reduce.doubling=1",
    "broadcast.dissemination=gossip",
    "broadcast.tree=lame",
    "broadcast.arity=3",
    "broadcast.correction=failure-proof",
    "broadcast.distance=7",
    "broadcast.correction_delay_us=0",
    "broadcast.patience_us=600000000",
    "broadcast.gossip_bound=time",
    "broadcast.gossip_rounds=31",
    "broadcast.gossip_hop=9",
    "broadcast.seed=4611686018427387904",
    "broadcast.settle_every=0",
    "transport.order=tcp,shm",
    "transport.tcp_address=10.0.0.1",
    "transport.agent_address=mgmt0",
    "transport.tcp_port=5000",
    "transport.tcp_port_last=65535",
    "transport.tcp_congestion=reno",
    "transport.seal=encrypt",
    "transport.verbs_device=mlx5_0,192.0.2.7",
    "transport.verbs_port=6000",
    "transport.verbs_port_last=6010",
    "transport.verbs_memory=1048576",
    "transport.verbs_timeout_ms=600000",
    "multicast.transport=verbs",
    "multicast.interface=eth0,mlx5_1",
    "multicast.receives=4096",
    "multicast.least_ranks=3",
    "multicast.most_bytes=1099511627776",
    "collectives.rotation=spread",
    "collectives.prepare=tree",
    "collectives.algorithm=corrected",
    "collectives.levels=1",
    "collectives.direct_copies=off",
    "collectives.large=ring",
    "collectives.large_at=4096",
    "integrity.mode=vote",
    "gossip.algorithm=pflc",
    "gossip.neighbourhood=torus",
    "gossip.accuracy=2.5e-07",
    "gossip.tau=2.5e-11",
    "gossip.turns=off",
    "gossip.patience_us=100",
    "gossip.most_messages=1099511627776",
    "gossip.most_seconds=1000000",
    "drill.message_loss=20",
    "drill.multicast_loss=0.0001",
    "drill.multicast_duplicate=99.99",
    "drill.multicast_reorder=100",
    "drill.multicast_corrupt=preset",
    "drill.multicast_foreign=20.5%",
    "drill.seed=4611686018427387904",
    "drill.flip=3:flow:55@150,2:input.7:62@41/0",
    "mpi.failures=raise",
    "trace.history=off",
    "log.level=trace",
};

static void set_all(void)
{
    ck_assert_uint_eq(sizeof(changed_values) / sizeof(changed_values[0]), ftc_config_schema_size);
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        set(changed_values[i]);
        ck_assert_str_eq(settings.source[i],
                         "--set"); /* each key once, in the order of the schema */
    }
}

static void assert_same_values(const struct ftc_settings *a, const struct ftc_settings *b)
{
    char *left = ftc_settings_dump(a), *right = ftc_settings_dump(b);
    ck_assert_ptr_nonnull(left);
    ck_assert_ptr_nonnull(right);
    ck_assert_str_eq(left, right);
    free(left);
    free(right);
}

/* --- defaults and schema --- */

START_TEST(defaults_are_those_of_the_manual)
{
    const struct ftc_config *value = &settings.value;
    ck_assert_int_eq(value->f, 1);
    ck_assert_int_eq(value->heartbeat_period_ms, 250);
    ck_assert_int_eq(value->heartbeat_timeout_ms, 5000);
    ck_assert(value->fence);
    ck_assert(value->exit_notices);
    ck_assert_int_eq(value->scheme, FTC_SCHEME_LIST);
    ck_assert_int_eq(value->share, FTC_SHARE_PIGGYBACK);
    ck_assert_int_eq(value->reduce_tree, FTC_REDUCE_HEAP);
    ck_assert_int_eq(value->reduce_arity, 2);
    ck_assert_int_eq(value->reduce_take, FTC_TAKE_AUTO);
    ck_assert_int_eq(value->reduce_direct, 0);
    ck_assert_int_eq(value->reduce_doubling, 0);
    ck_assert_int_eq(value->tree, FTC_TREE_BINOMIAL);
    ck_assert_int_eq(value->arity, 2);
    ck_assert_int_eq(value->dissemination, FTC_CONFIG_DISSEMINATION_AUTO);
    ck_assert_int_eq(value->correction, FTC_CONFIG_CORRECTION_AUTO);
    ck_assert_int_eq(value->distance, 0);
    ck_assert_int_eq(value->correction_delay_us, 1000);
    ck_assert_int_eq(value->patience_us, 10000);
    ck_assert_int_eq(value->gossip_bound, FTC_GOSSIP_ROUNDS);
    ck_assert_int_eq(value->gossip_rounds, 0);
    ck_assert_int_eq(value->gossip_hop, 4);
    ck_assert_int_eq(value->broadcast_seed, 1);
    ck_assert_int_eq(value->settle_every, 64);
    ck_assert_mem_eq(value->transport_order, ((const int8_t[]){0, 1, 2, -1}),
                     4); /* shm, verbs, tcp */
    ck_assert_str_eq(value->tcp_address, "");
    ck_assert_str_eq(value->agent_address, "");
    ck_assert_int_eq(value->tcp_port, 0);
    ck_assert_int_eq(value->tcp_port_last, 0);
    ck_assert_str_eq(value->tcp_congestion, "");
    ck_assert_int_eq(value->seal, 0);
    ck_assert_str_eq(value->verbs_device, "");
    ck_assert_int_eq(value->verbs_port, 0);
    ck_assert_int_eq(value->verbs_port_last, 0);
    ck_assert_int_eq(value->verbs_memory, 0);
    ck_assert_int_eq(value->verbs_timeout_ms, 2000);
    ck_assert_int_eq(value->multicast_transport, FTC_MULTICAST_UDP);
    ck_assert_str_eq(value->multicast_interface, "");
    ck_assert_int_eq(value->multicast_receives, 5);
    ck_assert_int_eq(value->multicast_least_ranks, 8);
    ck_assert_int_eq(value->multicast_most_bytes, 65536);
    ck_assert_int_eq(value->rotation, FTC_ROTATION_FIRST);
    ck_assert_int_eq(value->prepare, FTC_PREPARE_DIRECT);
    ck_assert_int_eq(value->algorithm, FTC_ALGORITHM_AUTO);
    ck_assert_int_eq(value->drill_loss_ppm, 0);
    ck_assert_int_eq(value->drill_duplicate_ppm, 0);
    ck_assert_int_eq(value->drill_reorder_ppm, 0);
    ck_assert_int_eq(value->drill_corrupt_ppm, 0);
    ck_assert_int_eq(value->drill_foreign_ppm, 0);
    ck_assert_int_eq(value->drill_seed, 1);
    ck_assert_int_eq(value->log_level, FTC_LOG_WARN);
    for (size_t i = 0; i < ftc_config_schema_size; i++)
        ck_assert_str_eq(settings.source[i], "default");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
}
END_TEST

/* The names of an enumeration stand in the order of its values. */
START_TEST(every_name_gives_its_value)
{
    set("failure_info.scheme=count");
    ck_assert_int_eq(settings.value.scheme, FTC_SCHEME_COUNT);
    set("failure_info.scheme=bit");
    ck_assert_int_eq(settings.value.scheme, FTC_SCHEME_BIT);
    set("failure_info.share=off");
    ck_assert_int_eq(settings.value.share, FTC_SHARE_OFF);
    set("reduce.tree=chain");
    ck_assert_int_eq(settings.value.reduce_tree, FTC_REDUCE_CHAIN);
    set("broadcast.tree=kary");
    ck_assert_int_eq(settings.value.tree, FTC_TREE_KARY);
    set("broadcast.tree=lame");
    ck_assert_int_eq(settings.value.tree, FTC_TREE_LAME);
    set("broadcast.dissemination=tree");
    ck_assert_int_eq(settings.value.dissemination, FTC_CONFIG_DISSEMINATION_TREE);
    set("broadcast.dissemination=gossip");
    ck_assert_int_eq(settings.value.dissemination, FTC_CONFIG_DISSEMINATION_GOSSIP);
    set("broadcast.dissemination=multicast");
    ck_assert_int_eq(settings.value.dissemination, FTC_CONFIG_DISSEMINATION_MULTICAST);
    set("broadcast.correction=checked");
    ck_assert_int_eq(settings.value.correction, FTC_CONFIG_CORRECTION_CHECKED);
    set("broadcast.correction=ring");
    ck_assert_int_eq(settings.value.correction, FTC_CONFIG_CORRECTION_RING);
    set("broadcast.gossip_bound=time");
    ck_assert_int_eq(settings.value.gossip_bound, FTC_GOSSIP_TIME);
    set("collectives.rotation=spread");
    ck_assert_int_eq(settings.value.rotation, FTC_ROTATION_SPREAD);
    set("collectives.prepare=tree");
    ck_assert_int_eq(settings.value.prepare, FTC_PREPARE_TREE);
    set("collectives.algorithm=corrected");
    ck_assert_int_eq(settings.value.algorithm, FTC_ALGORITHM_CORRECTED);
    set("collectives.levels=1");
    ck_assert_int_eq(settings.value.levels, FTC_LEVELS_ONE);
    set("multicast.transport=verbs");
    ck_assert_int_eq(settings.value.multicast_transport, FTC_MULTICAST_VERBS);
    for (int level = FTC_LOG_ERROR; level <= FTC_LOG_TRACE; level++) {
        char assignment[64];
        snprintf(assignment, sizeof(assignment), "log.level=%s",
                 ftc_log_level_name((enum ftc_log_level)level));
        set(assignment);
        ck_assert_int_eq((int)settings.value.log_level, level);
    }
}
END_TEST

START_TEST(the_ends_of_every_range_are_allowed_and_no_more)
{
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        const struct ftc_config_key *key = &ftc_config_schema[i];
        char assignment[128];
        for (int64_t side = -1; side <= 1 && key->type == FTC_CONFIG_INT; side++) {
            snprintf(assignment, sizeof(assignment), "%s.%s=%lld", key->section, key->key,
                     (long long)(key->minimum + side));
            ck_assert_int_eq(ftc_settings_set(&settings, assignment, "x") == FTC_SUCCESS,
                             side >= 0);
            snprintf(assignment, sizeof(assignment), "%s.%s=%lld", key->section, key->key,
                     (long long)(key->maximum + side));
            ck_assert_int_eq(ftc_settings_set(&settings, assignment, "x") == FTC_SUCCESS,
                             side <= 0);
        }
    }
}
END_TEST

START_TEST(rows_have_a_sentence_of_help)
{
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        const char *help = ftc_config_help(&ftc_config_schema[i]);
        ck_assert_uint_gt(strlen(help), 10);
        ck_assert_int_eq(help[strlen(help) - 1], '.');
        ck_assert_ptr_nonnull(ftc_config_schema[i].unit);
    }
}
END_TEST

START_TEST(texts_about_a_key_are_cut_to_their_room)
{
    char text[64];
    for (size_t size = 1; size < sizeof(text); size++)
        for (size_t i = 0; i < ftc_config_schema_size; i++) {
            memset(text, 'x', sizeof(text));
            ck_assert_uint_lt(strlen(ftc_config_allowed(&ftc_config_schema[i], text, size)), size);
            ck_assert_int_eq(text[size], 'x');
            ck_assert_uint_lt(strlen(ftc_config_variable(&ftc_config_schema[i], text, size)), size);
            ck_assert_int_eq(text[size], 'x');
        }
}
END_TEST

/* --- errors --- */

START_TEST(wrong_values_are_named_with_what_is_allowed)
{
    refuse(
        "detector.heartbeat_timeout_ms=soon",
        "--set: detector.heartbeat_timeout_ms: \"soon\" is not an integer (allowed: 2..600000 ms)");
    refuse("job.f=12x", "--set: job.f: \"12x\" is not an integer (allowed: 0..4095)");
    refuse("job.f= 1", "--set: job.f: \" 1\" is not an integer (allowed: 0..4095)");
    refuse("job.f=0x10", "--set: job.f: \"0x10\" is not an integer (allowed: 0..4095)");
    refuse("job.f=-1", "--set: job.f: \"-1\" is out of range (allowed: 0..4095)");
    refuse("job.f=99999999999999999999",
           "--set: job.f: \"99999999999999999999\" is out of range (allowed: 0..4095)");
    refuse("job.f=", "--set: job.f: the value is empty (allowed: 0..4095)");
    refuse("detector.fence=maybe",
           "--set: detector.fence: \"maybe\" is neither on nor off (allowed: on, off, true, "
           "false, yes, no, 1, 0)");
    refuse("failure_info.scheme=lists", "--set: failure_info.scheme: \"lists\" is not one of its "
                                        "values (allowed: list, count, bit)");
    refuse("log.level=",
           "--set: log.level: the value is empty (allowed: error, warn, info, debug, trace)");
}
END_TEST

START_TEST(input_is_quoted_harmlessly)
{
    char assignment[400] = "job.f=";
    memset(assignment + 6, 'a', 300);
    refuse("job.f=\x1b[2J\n1", "--set: job.f: \"?[2J?1\" is not an integer (allowed: 0..4095)");
    refuse(assignment,
           "--set: job.f: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" is "
           "not an "
           "integer (allowed: 0..4095)");
}
END_TEST

START_TEST(unknown_keys_suggest_the_nearest)
{
    refuse("detector.heartbeat_timout_ms=5", "--set: \"detector.heartbeat_timout_ms\": no such "
                                             "key; did you mean detector.heartbeat_timeout_ms?");
    refuse("detctor.fence=on",
           "--set: \"detctor.fence\": no such key; did you mean detector.fence?");
    refuse("job.settle_every=1",
           "--set: \"job.settle_every\": no such key; did you mean broadcast.settle_every?");
    refuse("job.fence_everything=1",
           "--set: \"job.fence_everything\": no such key; `ftrun --print-config --all` lists them");
    refuse(".=1", "--set: \"\": a key without a section; begin with a line like [job]");
}
END_TEST

START_TEST(an_assignment_has_a_form)
{
    refuse("job.f", "--set: \"job.f\" is not of the form section.key=value");
    refuse("f=1", "--set: \"f=1\" is not of the form section.key=value");
    refuse("f=1.5", "--set: \"f=1.5\" is not of the form section.key=value");
    refuse("", "--set: \"\" is not of the form section.key=value");
}
END_TEST

START_TEST(a_timeout_needs_two_periods)
{
    set("detector.heartbeat_period_ms=250");
    set("detector.heartbeat_timeout_ms=500");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
    ftc_settings_set(&settings, "detector.heartbeat_timeout_ms=499", "a.ini:3");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(),
                     "detector.heartbeat_timeout_ms: 499 ms (a.ini:3) is less than two heartbeat "
                     "periods of 250 ms "
                     "(--set): one late heartbeat would count as a failure; set at least 500");
}
END_TEST

START_TEST(a_kary_tree_needs_two_children)
{
    set("broadcast.arity=1");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
    set("broadcast.tree=kary");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    ck_assert_str_eq(
        ftc_last_error(),
        "broadcast.arity: 1 (--set) is too small for broadcast.tree kary (--set): set at least 2");
    set("broadcast.arity=2");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
}
END_TEST

START_TEST(integrity_needs_messages)
{
    set("integrity.mode=checksum");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
    set("collectives.algorithm=board");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(), "integrity.mode: checksum (--set) needs messages, but "
                                       "collectives.algorithm is board (--set): "
                                       "set that to auto or corrected, or the mode to none");
    set("collectives.algorithm=corrected");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
}
END_TEST

START_TEST(a_vote_needs_lists)
{
    set("failure_info.scheme=bit");
    set("integrity.mode=checksum");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
    set("integrity.mode=vote");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    ck_assert_str_eq(
        ftc_last_error(),
        "integrity.mode: vote (--set) needs to know whose inputs a result leaves out, which "
        "failure_info.scheme bit (--set) does not say: set that to list");
    set("failure_info.scheme=list");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
    ck_assert_int_eq(ftc_config_member(&settings.value, 7, 0).integrity, FTC_INTEGRITY_VOTE);
}
END_TEST

START_TEST(a_range_of_ports_has_both_ends)
{
    set("transport.tcp_port_last=5010");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    ck_assert_str_eq(
        ftc_last_error(),
        "transport.tcp_port_last: 5010 (--set) ends no range that begins with transport.tcp_port 0 "
        "(default): set both, the last above the first");
    set("transport.tcp_port=5000");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
    set("transport.tcp_port=5011");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    set("transport.tcp_port_last=0");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
    set("transport.verbs_port_last=6010");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_ERR_CONFIG);
    set("transport.verbs_port=6000");
    ck_assert_int_eq(ftc_settings_check(&settings), FTC_SUCCESS);
}
END_TEST

START_TEST(auto_means_the_board_on_one_node_where_nothing_asks_for_messages)
{
    ck_assert_int_eq(ftc_config_algorithm(&settings.value, 1), FTC_ALGORITHM_BOARD);
    ck_assert_int_eq(ftc_config_algorithm(&settings.value, 2), FTC_ALGORITHM_CORRECTED);
    set("transport.order=tcp");
    ck_assert(ftc_config_leaves_node(&settings.value));
    ck_assert_int_eq(ftc_config_algorithm(&settings.value, 1), FTC_ALGORITHM_CORRECTED);
    set("transport.order=shm,tcp");
    ck_assert(!ftc_config_leaves_node(&settings.value));
    set("integrity.mode=checksum");
    ck_assert_int_eq(ftc_config_algorithm(&settings.value, 1), FTC_ALGORITHM_CORRECTED);
    set("collectives.algorithm=board");
    ck_assert_int_eq(ftc_config_algorithm(&settings.value, 2), FTC_ALGORITHM_BOARD);
}
END_TEST

/* --- environment --- */

START_TEST(variables_set_every_key)
{
    char *const environment[] = {"HOME=/x",
                                 "FTCOLL_JOB_F=7",
                                 "FTCOLL_DETECTOR_HEARTBEAT_PERIOD_MS=9",
                                 "FTCOLL_JOB_F",
                                 "XFTCOLL_Y=1",
                                 "FTCOLL_LOG_LEVEL=info",
                                 NULL};
    ck_assert_int_eq(ftc_settings_read_environment(&settings, environment), FTC_SUCCESS);
    ck_assert_int_eq(settings.value.f, 7);
    ck_assert_int_eq(settings.value.heartbeat_period_ms, 9);
    ck_assert_int_eq(settings.value.log_level, FTC_LOG_INFO);
    ck_assert_str_eq(source_of(&settings, "job", "f"), "FTCOLL_JOB_F");
    ck_assert_str_eq(source_of(&settings, "detector", "fence"), "default");
}
END_TEST

START_TEST(the_projects_own_variables_are_left_alone)
{
    char *const environment[] = {
        "FTCOLL_JOB_SEGMENT=/ftcoll-1",  "FTCOLL_RANK=3",      "FTCOLL_CONFIG=x",
        "FTCOLL_TEST_ANYTHING=whatever", "FTCOLL_TEST_=empty", NULL};
    ck_assert_int_eq(ftc_settings_read_environment(&settings, environment), FTC_SUCCESS);
}
END_TEST

static void refuse_variables(char *const environment[], const char *words)
{
    ck_assert_int_eq(ftc_settings_read_environment(&settings, environment), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(), words);
}

START_TEST(wrong_variables_are_named)
{
    char *const unknown[] = {"FTCOLL_DETECTOR_FENCES=1", NULL};
    refuse_variables(
        unknown, "environment variable \"FTCOLL_DETECTOR_FENCES\": no such setting; did you mean "
                 "FTCOLL_DETECTOR_FENCE?");
    char *const far[] = {"FTCOLL_COLOUR=1", NULL};
    refuse_variables(far,
                     "environment variable \"FTCOLL_COLOUR\": no such setting; unset it (`ftrun "
                     "--print-config --all` lists them)");
    char *const value[] = {"FTCOLL_JOB_F=x", NULL};
    refuse_variables(value, "FTCOLL_JOB_F: job.f: \"x\" is not an integer (allowed: 0..4095)");
    char *const empty[] = {"FTCOLL_JOB_F=", NULL};
    refuse_variables(empty, "FTCOLL_JOB_F: job.f: the value is empty (allowed: 0..4095)");
}
END_TEST

START_TEST(a_wrong_variable_undoes_those_before_it)
{
    char *const environment[] = {"FTCOLL_JOB_F=7", "FTCOLL_LOG_LEVEL=loud", NULL};
    ck_assert_int_eq(ftc_settings_read_environment(&settings, environment), FTC_ERR_CONFIG);
    ck_assert_int_eq(settings.value.f, 1);
    ck_assert_str_eq(source_of(&settings, "job", "f"), "default");
}
END_TEST

/* --- dump and load --- */

START_TEST(a_dump_loads_as_the_same_values)
{
    struct ftc_settings other;
    set_all();
    char *text = ftc_settings_dump(&settings);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_eq(strstr(text, "job.f=3\n"), text);
    ck_assert_int_eq(ftc_settings_init(&other), FTC_SUCCESS);
    ck_assert_msg(ftc_settings_load(&other, text) == FTC_SUCCESS, "%s", ftc_last_error());
    assert_same_values(&settings, &other);
    ck_assert_str_eq(source_of(&other, "job", "f"), "launcher");
    free(text);
    ftc_settings_fini(&other);
}
END_TEST

/* Of a text that was cut anywhere nothing is taken. Only the last newline may be missing. */
START_TEST(a_dump_that_was_cut_is_refused)
{
    set_all();
    char *text = ftc_settings_dump(&settings);
    struct ftc_settings other;
    ck_assert_int_eq(ftc_settings_init(&other), FTC_SUCCESS);
    for (size_t size = strlen(text) - 2; size > 0; size--) {
        text[size] = '\0';
        ck_assert_int_eq(ftc_settings_load(&other, text), FTC_ERR_CONFIG);
        ck_assert_int_eq(other.value.f, 1);
    }
    free(text);
    ftc_settings_fini(&other);
}
END_TEST

START_TEST(load_names_what_is_wrong)
{
    ck_assert_int_eq(ftc_settings_load(&settings, "job.f=1\n"), FTC_ERR_CONFIG);
    ck_assert_str_eq(
        ftc_last_error(),
        "launcher: detector.heartbeat_period_ms is missing: use a launcher and a library "
        "of the same version");
    ck_assert_int_eq(ftc_settings_load(&settings, "job.f=a\n"), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(),
                     "launcher: job.f: \"a\" is not an integer (allowed: 0..4095)");
    ck_assert_int_eq(ftc_settings_load(&settings, "job.f=1\n\n"), FTC_ERR_CONFIG);
    ck_assert_str_eq(ftc_last_error(), "launcher: \"\" is not of the form section.key=value");
}
END_TEST

static void add_tests(Suite *suite)
{
    TCase *schema = tcase_create("schema");
    tcase_add_checked_fixture(schema, begin, end);
    tcase_add_test(schema, defaults_are_those_of_the_manual);
    tcase_add_test(schema, every_name_gives_its_value);
    tcase_add_test(schema, the_ends_of_every_range_are_allowed_and_no_more);
    tcase_add_test(schema, rows_have_a_sentence_of_help);
    tcase_add_test(schema, texts_about_a_key_are_cut_to_their_room);
    suite_add_tcase(suite, schema);
    TCase *errors = tcase_create("errors");
    tcase_add_checked_fixture(errors, begin, end);
    tcase_add_test(errors, wrong_values_are_named_with_what_is_allowed);
    tcase_add_test(errors, input_is_quoted_harmlessly);
    tcase_add_test(errors, integrity_needs_messages);
    tcase_add_test(errors, a_vote_needs_lists);
    tcase_add_test(errors, a_range_of_ports_has_both_ends);
    tcase_add_test(errors, auto_means_the_board_on_one_node_where_nothing_asks_for_messages);
    tcase_add_test(errors, unknown_keys_suggest_the_nearest);
    tcase_add_test(errors, an_assignment_has_a_form);
    tcase_add_test(errors, a_timeout_needs_two_periods);
    tcase_add_test(errors, a_kary_tree_needs_two_children);
    suite_add_tcase(suite, errors);
    TCase *sources = tcase_create("sources");
    tcase_add_checked_fixture(sources, begin, end);
    tcase_add_test(sources, variables_set_every_key);
    tcase_add_test(sources, the_projects_own_variables_are_left_alone);
    tcase_add_test(sources, wrong_variables_are_named);
    tcase_add_test(sources, a_wrong_variable_undoes_those_before_it);
    tcase_add_test(sources, a_dump_loads_as_the_same_values);
    tcase_add_test(sources, a_dump_that_was_cut_is_refused);
    tcase_add_test(sources, load_names_what_is_wrong);
    suite_add_tcase(suite, sources);
}

int main(void)
{
    Suite *suite = suite_create("config: settings");
    add_tests(suite);
    return test_suite_run(suite);
}
