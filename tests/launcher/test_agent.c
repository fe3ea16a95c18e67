/* Two agents with their links and leases, in one loop. The test plays the agent of node 2, and
 * tells the other two what it likes. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include "base/error.h"
#include "launcher/agent/internal.h"
#include "node/jobs.h"
#include "tests/node/scratch.h"
#include "tests/still_clock.h"
#include "tests/suite.h"
#include "transport/tcp/tcp.h"

#define NODES      3 /* of one rank each */
#define AGENTS     2
#define GAMMA      2
#define PERIOD_NS  (50 * FTC_NS_PER_MS)
#define TIMEOUT_NS (20 * PERIOD_NS) /* the least that agents take */
#define DEADLINE   20               /* in timeouts; after that it never comes */

struct one {
    struct scratch_job job;
    struct ftc_ranks ranks;
    struct ftc_bell bell;
    struct ftc_watcher watcher;
    struct ftc_agent agent;
    int lost; /* number of ranks lost with their nodes */
};

static const struct ftc_node members[NODES] = {{.host = "alpha", .count = 1},
                                               {.host = "beta", .first = 1, .count = 1},
                                               {.host = "gamma", .first = 2, .count = 1}};
static struct ftc_log quiet = {.level = FTC_LOG_ERROR};
static struct ev_loop *loop;
static struct one nodes[AGENTS];
static struct ftc_transport *gamma_links;
static int gamma_wanted; /* 1 + the number of the latest WANT that node 2 has got */

/* --- the clock --- */

/* The clock of all that is linked here: a machine that stands still costs no lease. */
static struct test_clock test_clock;

uint64_t __real_ftc_clock_now(void);
uint64_t __wrap_ftc_clock_now(void);
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old);

uint64_t __wrap_ftc_clock_now(void)
{
    return test_clock_read(&test_clock, __real_ftc_clock_now());
}

/* The kernel has the clock of the machine. */
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old)
{
    struct itimerspec later = *at;
    uint64_t ns = (uint64_t)at->it_value.tv_nsec + test_clock.lag_ns;

    ck_assert_int_eq(flags, TFD_TIMER_ABSTIME);
    later.it_value.tv_sec += (time_t)(ns / FTC_NS_PER_S);
    later.it_value.tv_nsec = (long)(ns % FTC_NS_PER_S);
    return __real_timerfd_settime(fd, flags, &later, old);
}

/* --- the agents --- */

static void on_news(void *arg)
{
    (void)arg;
}

static void on_fence(void *arg)
{
    (void)arg;
    ck_abort_msg("an agent lost its lease");
}

static void on_lost(void *arg, int node, int ranks, bool heard)
{
    struct one *one = arg;

    (void)heard;
    ck_assert_int_eq(node, GAMMA);
    one->lost += ranks;
}

static void make_job(struct one *one, int node)
{
    static const unsigned char secret[FTC_JOB_SECRET];
    struct ftc_segment_spec spec = {.host = members[node].host,
                                    .ranks = NODES,
                                    .endpoints = true,
                                    .node = node,
                                    .nodes = NODES,
                                    .cluster = "1.0",
                                    .secret = secret,
                                    .members = members};

    scratch_job_make_as(&one->job, &spec);
    ck_assert_int_eq(ftc_ranks_init(&one->ranks, NODES), 0);
    ck_assert_int_eq(ftc_bell_open(&one->bell, one->job.segment, FTC_BELL_LAUNCHER), 0);
}

static void make_agent(struct one *one, int node)
{
    struct ftc_agent *agent = &one->agent;

    make_job(one, node);
    *agent =
        (struct ftc_agent){.timeout_ns = TIMEOUT_NS,
                           .period_ns = PERIOD_NS,
                           .log = quiet,
                           .meeting = {.node = node, .nodes = NODES, .cluster = "1.0", .fd = -1},
                           .granted = on_news,
                           .changed = on_news,
                           .fence = on_fence,
                           .lost = on_lost,
                           .arg = one};
    agent->meeting.members = malloc(sizeof(members));
    agent->meeting.endpoints = calloc(NODES, sizeof(*agent->meeting.endpoints));
    memcpy(agent->meeting.members, members, sizeof(members));
    ck_assert_msg(ftc_agent_prepare(agent, NODES, &(struct ftc_config){0}) == 0, "%s",
                  ftc_last_error());
}

static void start_agent(struct one *one)
{
    struct ftc_mirror mirror = {
        .segment = one->job.segment, .ranks = &one->ranks, .bell = &one->bell};

    ck_assert_int_eq(ftc_agent_start(&one->agent, loop, &mirror, &one->watcher), 0);
}

/* --- node 2 --- */

static const char *endpoint_of(void *context, int node)
{
    (void)context;
    return nodes[0].agent.meeting.endpoints[node];
}

static void make_gamma(void)
{
    static const unsigned char secret[FTC_JOB_SECRET];
    struct ftc_tcp_setup tcp = {.job = "1.0",
                                .secret = secret,
                                .secret_size = sizeof(secret),
                                .ends = FTC_TCP_AGENTS,
                                .seal = FTC_TCP_SEAL_AUTHENTICATE,
                                .endpoint = endpoint_of};
    struct ftc_transport_setup setup = {.ranks = NODES, .self = GAMMA, .log = &quiet, .tcp = &tcp};

    ck_assert_msg(ftc_transport_tcp.open(&gamma_links, &setup) == 0, "%s", ftc_last_error());
}

static void gamma_tells(int node, struct ftc_agent_message message)
{
    struct ftc_buffer *buffer = ftc_agent_encode(&message);

    ck_assert_int_eq(gamma_links->ops->send(gamma_links, node, buffer, NULL, false), 0);
    ftc_buffer_unref(buffer);
}

static void gamma_tells_its_notice(int node)
{
    gamma_tells(node, (struct ftc_agent_message){.kind = FTC_AGENT_FAILED,
                                                 .rank = 2,
                                                 .number = 1,
                                                 .cause = FTC_CAUSE_EXIT,
                                                 .value = 3,
                                                 .seen_by = -1});
}

/* Its first two news, and LEFT. */
static void gamma_tells_its_end(int node)
{
    gamma_tells_its_notice(node);
    gamma_tells(node, (struct ftc_agent_message){
                          .kind = FTC_AGENT_ENDED, .rank = 2, .number = 2, .value = 3 << 8});
    gamma_tells(node, (struct ftc_agent_message){.kind = FTC_AGENT_LEFT, .number = 2});
}

/* Node 2 echoes no beat. */
static void gamma_takes(struct ftc_buffer *buffer)
{
    struct ftc_agent_message message;

    ck_assert_int_eq(ftc_agent_decode(&message, buffer, NODES), 0);
    if (message.kind == FTC_AGENT_WANT)
        gamma_wanted = 1 + (int)message.number;
    ftc_buffer_unref(buffer);
}

static void gamma_dies(void)
{
    gamma_links->ops->close(gamma_links);
    gamma_links = NULL;
}

/* --- running --- */

static void on_pause(struct ev_loop *of, struct ev_timer *timer, int events)
{
    (void)of;
    (void)timer;
    (void)events;
}

static void turn(void)
{
    struct ftc_buffer *message;
    bool idle;
    int from;

    ev_run(loop, EVRUN_ONCE);
    if (gamma_links == NULL)
        return;
    gamma_links->ops->flush(gamma_links, &idle);
    while (gamma_links->ops->receive(gamma_links, &from, &message) == 1)
        gamma_takes(message);
}

static bool until(bool (*done)(void))
{
    uint64_t deadline = ftc_clock_now() + DEADLINE * TIMEOUT_NS;

    while (!done() && ftc_clock_now() < deadline)
        turn();
    return done();
}

static bool have_leases(void)
{
    return nodes[0].agent.has_lease && nodes[1].agent.has_lease;
}

static struct ftc_standing *standing(int node)
{
    return ftc_segment_standing(nodes[node].job.segment, 2);
}

static bool knows(int node)
{
    return ftc_segment_failed(nodes[node].job.segment, 2);
}

static bool alpha_knows(void)
{
    return knows(0);
}

static bool both_know(void)
{
    return knows(0) && knows(1);
}

static bool alpha_refuses(void)
{
    return nodes[0].agent.gone[GAMMA];
}

static bool beta_saw_it_end(void)
{
    return nodes[1].ranks.at[2].ended;
}

static bool gamma_is_asked(void)
{
    return gamma_wanted != 0;
}

static bool alpha_saw_it_leave(void)
{
    return nodes[0].agent.left[GAMMA];
}

static bool both_saw_it_leave(void)
{
    return nodes[0].agent.left[GAMMA] && nodes[1].agent.left[GAMMA];
}

/* Puts rank 2 into the failed set of a decision that the rank of this node delivers. */
static void deliver(int node)
{
    atomic_store(&ftc_segment_agreed_row(nodes[node].job.segment, node)[0], 1u << 2);
}

static struct ev_timer pause_timer;

static void setup(void)
{
    loop = ev_loop_new(EVFLAG_AUTO);
    for (int node = 0; node < AGENTS; node++)
        make_agent(&nodes[node], node);
    make_gamma();
    for (int node = 0; node < AGENTS; node++) {
        struct ftc_meeting *meeting = &nodes[node].agent.meeting;
        for (int other = 0; other < AGENTS; other++)
            snprintf(meeting->endpoints[other], FTC_TCP_ENDPOINT_SIZE, "%s",
                     ftc_tcp_endpoint(nodes[other].agent.links));
        snprintf(meeting->endpoints[GAMMA], FTC_TCP_ENDPOINT_SIZE, "%s",
                 ftc_tcp_endpoint(gamma_links));
    }
    for (int node = 0; node < AGENTS; node++)
        start_agent(&nodes[node]);
    ev_timer_init(&pause_timer, on_pause, 0.005, 0.005); /* node 2 has no watcher in the loop */
    ev_timer_start(loop, &pause_timer);
    ck_assert(until(have_leases));
}

static void teardown(void)
{
    if (gamma_links != NULL)
        gamma_dies();
    for (int node = 0; node < AGENTS; node++) {
        ftc_agent_fini(&nodes[node].agent);
        ftc_bell_close(&nodes[node].bell);
        ftc_ranks_fini(&nodes[node].ranks);
        scratch_job_remove(&nodes[node].job);
    }
    ev_loop_destroy(loop);
}

/* --- stories --- */

/* Node 2 is killed between two notices. Node 0 passes on the notice that it got. So node 1 need not
 * wait for a lease to run out, which would have lost the cause. Node 0 leads, and was told that
 * node 2 has left: it would not refuse node 2 for its silence. */
START_TEST(a_death_that_was_not_told_everywhere_is_passed_on)
{
    gamma_tells_its_end(0);
    ck_assert(until(alpha_knows));
    gamma_dies();
    ck_assert(until(both_know));
    for (int node = 0; node < AGENTS; node++)
        ck_assert_uint_eq(atomic_load(&standing(node)->cause), FTC_CAUSE_EXIT);
    ck_assert(until(beta_saw_it_end));
}
END_TEST

/* No node was told. */
START_TEST(a_death_that_was_not_told_at_all_is_known_everywhere)
{
    gamma_dies();
    ck_assert(until(both_know));
    for (int node = 0; node < AGENTS; node++)
        ck_assert_uint_eq(atomic_load(&standing(node)->cause), FTC_CAUSE_NODE);
}
END_TEST

/* As the first story, but a decision names the death at once. Then node 2 is in no base, and no
 * node refuses it. */
START_TEST(the_end_of_a_node_that_was_decided_but_not_told_is_known_everywhere)
{
    gamma_tells_its_end(0);
    ck_assert(until(alpha_knows));
    gamma_dies();
    deliver(0);
    deliver(1);
    ck_assert(until(both_know));
    ck_assert(until(beta_saw_it_end));
    for (int node = 0; node < AGENTS; node++) {
        ck_assert_uint_eq(atomic_load(&standing(node)->cause), FTC_CAUSE_EXIT);
        ck_assert_int_eq(nodes[node].lost, 0);
    }
}
END_TEST

/* ... and no node was told. */
START_TEST(a_death_that_was_decided_but_not_told_is_known_everywhere)
{
    gamma_dies();
    deliver(0);
    deliver(1);
    ck_assert(until(both_know));
    for (int node = 0; node < AGENTS; node++) {
        ck_assert_uint_eq(atomic_load(&standing(node)->cause), FTC_CAUSE_NODE);
        ck_assert_int_eq(nodes[node].lost, 1);
    }
}
END_TEST

/* A notice may come from any node. But an agent itself knows best how its own ranks are. */
START_TEST(nobody_is_told_that_his_own_rank_has_failed)
{
    gamma_tells(0, (struct ftc_agent_message){.kind = FTC_AGENT_FAILED,
                                              .rank = 0,
                                              .number = 1,
                                              .cause = FTC_CAUSE_EXIT,
                                              .value = 3,
                                              .seen_by = -1});
    gamma_tells(0, (struct ftc_agent_message){.kind = FTC_AGENT_FAILED,
                                              .rank = 1,
                                              .number = 1,
                                              .cause = FTC_CAUSE_EXIT,
                                              .value = 3,
                                              .seen_by = -1});
    while (!ftc_segment_failed(nodes[0].job.segment, 1))
        turn();
    ck_assert(!ftc_segment_failed(nodes[0].job.segment, 0));
}
END_TEST

/* This is the normal case: decisions are faster than agents. */
START_TEST(a_death_that_is_told_after_its_decision_keeps_its_cause)
{
    deliver(0);
    deliver(1);
    for (uint64_t end = ftc_clock_now() + 3 * PERIOD_NS; ftc_clock_now() < end;)
        turn();
    ck_assert(!knows(0) && !knows(1));
    gamma_tells_its_end(0);
    gamma_tells_its_end(1);
    ck_assert(until(both_saw_it_leave));
    for (int node = 0; node < AGENTS; node++) {
        ck_assert_uint_eq(atomic_load(&standing(node)->cause), FTC_CAUSE_EXIT);
        ck_assert_int_eq(nodes[node].lost, 0);
    }
}
END_TEST

/* Makes an agent stand still, as if it was stopped or cut off. Its segment stays. */
static void stand_still(struct ftc_agent *agent)
{
    ev_io_stop(loop, &agent->readable);
    ev_prepare_stop(loop, &agent->before_sleep);
    ev_timer_stop(loop, &agent->due);
}

static void end_well(struct one *one, int rank)
{
    struct ftc_process *process = &one->ranks.at[rank];

    atomic_store(&ftc_segment_standing(one->job.segment, rank)->phase, FTC_PHASE_FINALIZED);
    process->ended = process->child_ended = true;
}

/* Otherwise both would report how the job ended, and would differ. Node 2 has left before, and does
 * not count any more. */
START_TEST(of_two_that_do_not_hear_each_other_at_the_end_the_lower_one_knows)
{
    struct one *one = &nodes[_i];
    int other = 1 - _i;
    uint64_t deadline = ftc_clock_now() + DEADLINE * TIMEOUT_NS;

    gamma_tells_its_end(0);
    gamma_tells_its_end(1);
    ck_assert(until(both_saw_it_leave));
    stand_still(&nodes[other].agent);
    end_well(one, _i);
    while (!ftc_agent_leave(&one->agent) && ftc_clock_now() < deadline)
        turn();
    ck_assert(ftc_agent_leave(&one->agent));
    ck_assert(ftc_segment_failed(one->job.segment, other) == (_i == 0));
    ck_assert(ftc_mirror_over(&one->agent.mirror) == (_i == 0));
}
END_TEST

/* Node 2 is silent. The leader refuses it, and leaves before it declares it. Otherwise no agent
 * would know how the job ended. In the second case the leader has heard node 2, which may go on. */
START_TEST(a_node_that_is_refused_for_its_silence_when_the_leader_leaves_has_failed)
{
    uint64_t deadline = ftc_clock_now() + DEADLINE * TIMEOUT_NS;
    bool left[AGENTS] = {false, false};

    gamma_dies();
    ck_assert(until(alpha_refuses));
    ck_assert(!knows(0));
    ck_assert(!nodes[0].agent.heard[GAMMA]);
    nodes[0].agent.heard[GAMMA] = _i == 1;
    for (int node = 0; node < AGENTS; node++)
        end_well(&nodes[node], node);
    while ((!left[0] || !left[1]) && ftc_clock_now() < deadline) {
        turn();
        for (int node = 0; node < AGENTS; node++)
            left[node] = left[node] || ftc_agent_leave(&nodes[node].agent);
    }
    ck_assert(left[0] && left[1]);
    ck_assert(ftc_mirror_over(&nodes[0].agent.mirror) == (_i == 0));
    ck_assert(knows(0) == (_i == 0));
}
END_TEST

/* N8: its last news, which still lack, are asked for. */
START_TEST(a_node_has_left_when_all_its_news_are_there)
{
    gamma_tells(0, (struct ftc_agent_message){.kind = FTC_AGENT_LEFT, .number = 2});
    gamma_tells_its_notice(0);
    ck_assert(until(alpha_knows));
    ck_assert(!nodes[0].agent.left[GAMMA]);
    gamma_wanted = 0;
    ck_assert(until(gamma_is_asked));
    ck_assert_int_eq(gamma_wanted, 1 + 1);
    gamma_tells(0, (struct ftc_agent_message){.kind = FTC_AGENT_ENDED, .rank = 2, .number = 2});
    ck_assert(until(alpha_saw_it_leave));
}
END_TEST

/* Node 0 reports how long the job may take to end. Times are in timeouts. */
START_TEST(who_left_before_another_node_was_lost_may_wait_for_its_acknowledgement)
{
    bool gone[NODES] = {false, true, true}, left[NODES] = {false, true, false};
    uint64_t left_ns[NODES] = {0, 10 * TIMEOUT_NS, 0};
    struct ftc_agent agent = {.meeting = {.nodes = NODES},
                              .timeout_ns = TIMEOUT_NS,
                              .gone = gone,
                              .left = left,
                              .left_ns = left_ns};
    uint64_t shortest;

    agent.lost_ns = 5 * TIMEOUT_NS; /* before node 1 left; node 1 had refused the lost node */
    shortest = ftc_agent_longest_end(&agent, 10 * TIMEOUT_NS);
    agent.lost_ns = 10 * TIMEOUT_NS + 1;
    ck_assert_uint_eq(ftc_agent_longest_end(&agent, 10 * TIMEOUT_NS + 2),
                      shortest + TIMEOUT_NS - 2);
    ck_assert_uint_eq(ftc_agent_longest_end(&agent, 11 * TIMEOUT_NS), shortest);
    left[GAMMA] = true; /* no node is lost: LEFT may wait for any of them */
    ck_assert_uint_eq(ftc_agent_longest_end(&agent, 11 * TIMEOUT_NS), shortest + TIMEOUT_NS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent");
    TCase *tests = tcase_create("agent");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_death_that_was_not_told_everywhere_is_passed_on);
    tcase_add_test(tests, a_death_that_was_not_told_at_all_is_known_everywhere);
    tcase_add_test(tests, the_end_of_a_node_that_was_decided_but_not_told_is_known_everywhere);
    tcase_add_test(tests, nobody_is_told_that_his_own_rank_has_failed);
    tcase_add_test(tests, a_death_that_was_decided_but_not_told_is_known_everywhere);
    tcase_add_test(tests, a_death_that_is_told_after_its_decision_keeps_its_cause);
    tcase_add_test(tests, a_node_has_left_when_all_its_news_are_there);
    tcase_add_loop_test(
        tests, a_node_that_is_refused_for_its_silence_when_the_leader_leaves_has_failed, 0, 2);
    tcase_add_loop_test(tests, of_two_that_do_not_hear_each_other_at_the_end_the_lower_one_knows, 0,
                        2);
    suite_add_tcase(suite, tests);
    TCase *alone = tcase_create("alone");
    tcase_add_test(alone, who_left_before_another_node_was_lost_may_wait_for_its_acknowledgement);
    suite_add_tcase(suite, alone);
    return scratch_run(suite);
}
