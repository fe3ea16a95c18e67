/* The commands of ftcoll-sim, for the program, its manual and its completion. */
#include "sim/options.h"

const struct ftc_sim_command ftc_sim_commands[] = {
    {"run", ftc_command_run, &ftc_run_usage,
     "one run under a cost model: latency, messages, retries (default)"},
    {"explore", ftc_command_explore, &ftc_explore_usage,
     "every interleaving and every crash point of a few ranks"},
    {"storm", ftc_command_storm, &ftc_storm_usage,
     "random communicators, operations, deaths, schedules, by the million"},
    {"replay", ftc_command_replay, &ftc_replay_usage,
     "one run again, exactly, from the line that storm or explore printed"},
    {"reach", ftc_command_reach, &ftc_reach_usage,
     "what each way to broadcast promises without a detector, at random"},
    {"broadcast", ftc_command_broadcast, &ftc_broadcast_usage,
     "a table and figures of each way to broadcast without a detector"},
    {"gossip", ftc_command_gossip, &ftc_gossip_usage,
     "aggregation by gossip: messages and errors, with deaths and flips"},
    {"nodes", ftc_command_nodes, &ftc_nodes_usage,
     "random storms of nodes that are cut off, paused and die"},
    {"large", ftc_command_large, &ftc_large_usage,
     "random deaths during collectives of large values"},
    {"communicators", ftc_command_communicators, &ftc_communicators_usage,
     "random communicators, made, used, revoked and freed, with deaths"},
    {"sweep", ftc_command_sweep, &ftc_sweep_usage,
     "a table of latency and messages over sizes, f, deaths, costs"},
    {NULL, NULL, NULL, NULL},
};
