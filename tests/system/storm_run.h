/* One run of the kill storms: its plan, and what came of it. */
#ifndef FTC_TESTS_STORM_RUN_H
#define FTC_TESTS_STORM_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STORM_ARGUMENTS 256

/* What a run is about beside deaths. */
enum storm_kind {
    STORM_PLAIN,
    /* Communicators come, go and are revoked. Only STORM_KIND chooses this. */
    STORM_GROUPS,
    /* Ranks send each other messages. Only STORM_KIND chooses this. */
    STORM_MESSAGES,
    /* Some operations aggregate by gossip; messages get lost, bits flip. */
    STORM_GOSSIP,
    /* Bits flip in reduces and allreduces, whose results are compared. */
    STORM_VOTE,
    /* Bits flip in any operation, and checksums make deaths of the flips. */
    STORM_CHECKSUM,
    STORM_KINDS
};

struct totals;

struct run {
    uint64_t seed, state;
    enum storm_kind kind;
    int n, f, operations, victims;
    uint64_t planned; /* ranks that may die */
    uint64_t struck;  /* ranks whose values change by themselves: with checksums they die */
    bool list, piggyback, board;
    /* Gossip has a result when ranks die in it; gossip has a result when none does. */
    bool survives, converges;
    int nodes;        /* 1: all ranks belong to one ftrun */
    int struck_node;  /* node whose agent is killed or stopped; -1: none */
    bool stops_agent; /* the agent is stopped, for longer than a lease */
    int strike_us;
    pid_t agent; /* the agent of struck_node; 0: not seen yet */
    uint64_t seen_us;
    bool hit, over;
    char directory[256], report[300], output[300];
    char text[STORM_ARGUMENTS][160];
    char *argv[STORM_ARGUMENTS + 1];
    int argc;
    unsigned flips;
    uint64_t flipped; /* bit set of operations whose results a vote has to judge */
    char die[1024], deaf[1024];
    json_t *json;
    uint64_t failed;
    int exit_code, status;
};

/* Draws the job, its settings and its deaths from run->seed. The directory and the files in it are
 * given. Ends the program when the environment (storm.c) makes no sense. */
void storm_plan(struct run *run);

/* storm_strikes.c: draws the kind of the run, with the f and the ranks that this needs, and its
 * settings. */
void storm_kind(struct run *run);
void storm_strikes(struct run *run);
void storm_tell_strikes(struct run *run); /* adds the arguments of the program */
/* storm_nodes.c: draws the number of nodes and the node that is struck; makes the command that
 * starts them. */
void storm_nodes(struct run *run);
void storm_nodes_settings(struct run *run);
/* Called while the job runs. */
void storm_nodes_strike(struct run *run, pid_t front, uint64_t now_us);
/* storm_groups.c: do the survivors of a run with communicators agree? */
bool storm_groups_judge(const struct run *run);
/* storm_messages.c: the same for a run with messages. */
bool storm_messages_judge(const struct run *run, struct totals *totals);
/* The ranks that survived. */
static inline uint64_t storm_alive(const struct run *run)
{
    return (run->n == 64 ? ~0ull : (1ull << run->n) - 1) & ~run->failed;
}
/* storm.c: what a rank wrote, `size` bytes; NULL if it wrote nothing. */
const void *storm_map_records(const struct run *run, int rank, size_t size);
/* storm.c: says what is wrong with the run, and how to run it again. */
void storm_complain(const struct run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* For the functions above: add another argument, or setting, of ftrun. */
void storm_argument(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
void storm_setting(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
