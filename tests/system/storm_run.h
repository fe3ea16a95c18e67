/* One run of the kill storms: what is planned, and what came of it. */
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
    STORM_GOSSIP, /* some operations are aggregations by gossip; messages get lost, bits turn over */
    STORM_VOTE,   /* bits turn over in reduces and allreduces, whose results are compared */
    STORM_CHECKSUM, /* ... in anything, and make deaths of it */
    STORM_KINDS
};

struct run {
    uint64_t seed, state;
    enum storm_kind kind;
    int n, f, operations, victims;
    uint64_t planned; /* ranks that may die */
    uint64_t struck;  /* ranks whose values change by themselves: with checksums they die */
    bool list, piggyback, board;
    bool survives, converges; /* gossip has a result when ranks die in it; and when none does */
    int nodes;                /* 1: all ranks are of one ftrun */
    int struck_node;          /* whose agent is killed or stopped; -1: none is */
    bool stops_agent;         /* ... stopped, for longer than a lease */
    int strike_us;
    pid_t agent; /* of that node; 0: not seen yet */
    uint64_t seen_us;
    bool hit, over;
    char directory[256], report[300], output[300];
    char text[STORM_ARGUMENTS][160];
    char *argv[STORM_ARGUMENTS + 1];
    int argc;
    unsigned flips;
    uint64_t flipped; /* operations whose results a vote has to judge */
    char die[1024], deaf[1024];
    json_t *json;
    uint64_t failed;
    int exit_code, status;
};

/* Draw the job, its settings and its deaths from run->seed; the directory and the files in it are
 * given. Ends the program when the environment (storm.c) makes no sense. */
void storm_plan(struct run *run);

/* storm_strikes.c: what kind of a run it is; with the f and the ranks that this needs; its
 * settings. */
void storm_kind(struct run *run);
void storm_strikes(struct run *run);
void storm_tell_strikes(struct run *run); /* arguments of the program */
/* storm_nodes.c: on how many nodes, and which one is struck; the command that starts them. */
void storm_nodes(struct run *run);
void storm_nodes_settings(struct run *run);
/* While it runs. */
void storm_nodes_strike(struct run *run, pid_t front, uint64_t now_us);
/* For these: another argument, or setting, of ftrun. */
void storm_argument(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
void storm_setting(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
