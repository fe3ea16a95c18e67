/* Plans and strikes runs of several nodes. Each node is an ftrun that another one has started, all
 * on this machine. The random numbers are separate, so that a seed keeps its deaths. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/system/record.h"
#include "tests/system/storm_run.h"

#define MOST_NODES 4
/* unless STORM_RANKS asks for more, which would keep agents from two cores for too long */
#define MOST_RANKS   16
#define TIMEOUT_MS   (TEST_SANITIZED ? 10000 : 3000)
#define STRIKE_MOST  60000 /* us */
#define LEAST_STRUCK 3     /* nodes; when there are two, the second one dies with the first */

static int below(uint64_t *state, int limit)
{
    return (int)(record_random(state) % (uint64_t)limit);
}

static int timeout_ms(void)
{
    const char *wanted = getenv("STORM_TIMEOUT_MS");

    return wanted != NULL ? atoi(wanted) : TIMEOUT_MS;
}

/* An agent is stopped for this long, which is longer than its lease. */
static int stop_ms(void)
{
    return timeout_ms() * 3 / 2;
}

static int draw_nodes(const struct run *run, uint64_t *state)
{
    const char *forced = getenv("STORM_NODES");
    int nodes = below(state, 6) == 0 ? 2 + below(state, MOST_NODES - 1) : 1;

    if (forced != NULL)
        nodes = atoi(forced);
    else if (run->n > MOST_RANKS)
        nodes = 1;
    if (run->board || getenv("STORM_NOTICES") != NULL)
        return 1;
    return nodes < run->n ? nodes : run->n;
}

/* The ranks of a node, spread as launcher/meeting/meeting.c spreads them. */
static uint64_t ranks_of(const struct run *run, int node)
{
    uint64_t ranks = 0;
    int first = 0;

    for (int i = 0; i <= node; i++) {
        int count = run->n / run->nodes + (i < run->n % run->nodes);
        ranks = ((count == 64 ? 0 : 1ull << count) - 1) << first;
        first += count;
    }
    return ranks;
}

/* The other nodes must stay a majority of the nodes that have a rank. Else they would have to end,
 * too. */
static void plan_strike(struct run *run, uint64_t *state)
{
    run->struck_node = below(state, run->nodes);
    run->strike_us = below(state, STRIKE_MOST);
    run->stops_agent = below(state, 3) == 0;
    for (int node = 0; node < run->nodes; node++) {
        uint64_t ranks = ranks_of(run, node);
        if (node == run->struck_node)
            run->planned |= ranks;
        else if ((run->planned & ranks) == ranks)
            run->planned &= ~(ranks & -ranks);
    }
    run->victims = __builtin_popcountll(run->planned);
}

void storm_nodes(struct run *run)
{
    uint64_t state = run->seed ^ 0x6e6f646573000000u;

    run->struck_node = -1;
    run->nodes = draw_nodes(run, &state);
    if (run->nodes < 2)
        return;
    bool strike = below(&state, 2) == 0 && run->nodes >= LEAST_STRUCK &&
                  (run->kind == STORM_PLAIN || run->kind == STORM_MESSAGES);
    if (strike)
        plan_strike(run, &state);
    storm_argument(run, "--engine=local");
    storm_argument(run, "-np");
    storm_argument(run, "%d", run->nodes);
    storm_setting(run, "detector.heartbeat_timeout_ms=%d",
                  4 * stop_ms()); /* the ftrun in front must not kill an agent that is stopped */
    storm_argument(run, "%s", getenv("FTRUN"));
    storm_argument(run, "--engine=pmix");
}

void storm_nodes_settings(struct run *run)
{
    if (run->nodes < 2)
        return;
    storm_setting(run, "detector.heartbeat_timeout_ms=%d", timeout_ms());
    storm_setting(run, "multicast.interface=lo"); /* multicast ends at a node, as a rule */
}

/* --- striking --- */

static bool is_agent(pid_t pid, int node)
{
    char path[64], wanted[32], text[16384];
    int length = snprintf(wanted, sizeof(wanted), "PMIX_RANK=%d", node) + 1;

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof(text));
    close(fd);
    return size > 0 && memmem(text, (size_t)size, wanted, (size_t)length) != NULL;
}

/* The child of `front` that is this node's agent; 0 if it is not there, yet or any more. */
static pid_t find_agent(pid_t front, int node)
{
    char path[64];
    pid_t found = 0;
    int pid;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)front, (int)front);
    FILE *file = fopen(path, "re");
    while (file != NULL && found == 0 && fscanf(file, "%d", &pid) == 1)
        found = is_agent(pid, node) ? pid : 0;
    if (file != NULL)
        fclose(file);
    return found;
}

static bool is_rank(pid_t pid)
{
    char path[64], name[32] = "";

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    bool is = file != NULL && fscanf(file, "%31s", name) == 1 && strncmp(name, "ftrun", 5) != 0;
    if (file != NULL)
        fclose(file);
    return is;
}

/* An agent is struck only after its ranks run and its PMIx client is gone. An agent that never
 * joined the others would end the whole job. */
static bool runs(pid_t agent)
{
    char path[64];
    bool any = false;
    int pid;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)agent, (int)agent);
    FILE *file = fopen(path, "re");
    while (file != NULL && !any && fscanf(file, "%d", &pid) == 1)
        any = is_rank(pid);
    if (file != NULL)
        fclose(file);
    return any;
}

/* The time counts from when the ranks of its node were first seen. */
void storm_nodes_strike(struct run *run, pid_t front, uint64_t now_us)
{
    if (run->nodes < 2 || run->struck_node < 0 || run->over)
        return;
    if (run->agent == 0) {
        pid_t agent = find_agent(front, run->struck_node);
        if (agent == 0 || !runs(agent))
            return;
        run->agent = agent;
        run->seen_us = now_us;
    }
    uint64_t since = now_us - run->seen_us;
    if (!run->hit && since >= (uint64_t)run->strike_us) {
        run->hit = true;
        (void)kill(run->agent, run->stops_agent ? SIGSTOP : SIGKILL);
    }
    if (run->hit && since >= (uint64_t)run->strike_us + (uint64_t)stop_ms() * 1000) {
        run->over = true;
        (void)kill(run->agent, SIGCONT);
    }
}
