/* The parts of a run of several nodes. Private to sim/nodes. */
#ifndef FTC_SIM_NODES_WORLD_H
#define FTC_SIM_NODES_WORLD_H

#include "detector/lease/lease.h"
#include "sim/nodes/nodes.h"
#include "sim/timed/queue.h"

#define FTC_WORLD_RANKS  (FTC_NODES_MOST * FTC_NODES_RANKS)
#define FTC_WORLD_ACTORS (FTC_NODES_MOST + FTC_WORLD_RANKS)
#define FTC_WORLD_FACTS  (FTC_WORLD_RANKS + FTC_NODES_MOST)
#define FTC_WORLD_NEVER  (UINT64_C(1) << 61)

/* Actors 0 .. nodes - 1 are the agents. Rank r is actor nodes + r. */
struct ftc_world_actor {
    int node;
    /* busy: it was paused, or it died, before all outputs of its last step were carried out */
    bool alive, busy;
    uint64_t paused_ns; /* paused until this time */
    uint64_t outputs;   /* so far */
};

enum ftc_packet_kind { FTC_PACKET_LEASE, FTC_PACKET_FACT, FTC_PACKET_MEMBER };

struct ftc_packet {
    struct ftc_packet *next;
    enum ftc_packet_kind kind;
    uint64_t at_ns; /* when it arrives, unless its way is cut */
    int fact;
    struct ftc_buffer *bytes;
    struct ftc_message_head head;
};

struct ftc_world_channel {
    struct ftc_packet *first, *last;
    uint64_t at_ns; /* arrival time of the last packet */
};

/* What all processes of a node share. */
struct ftc_world_node {
    struct ftc_lease *lease;
    /* as it is published in the node segment */
    uint64_t until_ns;
    bool refused[FTC_NODES_MOST];
    bool failed[FTC_WORLD_RANKS]; /* the ranks that the detector has put into L */
    bool agreed[FTC_WORLD_RANKS]; /* G of the rank that has come furthest */
    uint64_t agreed_op;
    /* for the agent only */
    /* facts in order: nodes + r is the exit of rank r; i < nodes says that node i has stopped */
    int fact[FTC_WORLD_FACTS], facts;
    bool known[FTC_WORLD_FACTS];
    int told[FTC_NODES_MOST];  /* number of facts that each node was told */
    bool away[FTC_NODES_MOST]; /* no longer in the base */
    bool fenced, resigned, leads;
    /* when it last did not hear a live node that it does not refuse */
    uint64_t unheard_ns;
    uint64_t tick_ns; /* when it will look at its lease; 0: that is not planned */
    /* for the judge only */
    bool declared, disturbed;
    uint64_t backed_ns; /* since when it leads, is backed and was not paused; 0: it is not */
};

struct ftc_world_rank {
    struct ftc_member *member;
    /* some node has declared its node failed, so nobody may hear of this rank again */
    bool lost;
    uint64_t timer_ns; /* 0: none */
    bool held_back;    /* its call waits for a settlement */
};

struct ftc_world {
    const struct ftc_nodes_story *story;
    struct ftc_program program;
    struct ftc_ledger *ledger;
    struct ftc_nodes_sums *sums;
    FILE *log;
    void (*before_output)(struct ftc_world *w, int actor); /* strikes may come there */
    int nodes, ranks, actors;
    uint64_t now_ns, random;
    struct ftc_queue queue;
    struct ftc_world_actor actor[FTC_WORLD_ACTORS];
    struct ftc_world_node node[FTC_NODES_MOST];
    struct ftc_world_rank rank[FTC_WORLD_RANKS];
    struct ftc_world_channel channel[FTC_WORLD_ACTORS][FTC_WORLD_ACTORS];
    uint64_t cut_ns[FTC_NODES_MOST][FTC_NODES_MOST]; /* each way is cut until this time */
    struct ftc_nodes_strike armed[FTC_NODES_STRIKES];
    uint64_t armed_at[FTC_NODES_STRIKES]; /* output count of the victim at which the strike comes */
    int armeds;
    struct ftc_lease_box box; /* scratch, for a message */
    /* spent: no strike comes any more; calm: the pauses are over, too */
    bool spent, calm;
    /* a way was cut shortly before the calm, so silence did not begin for all nodes at the same
     * time */
    bool was_cut;
    uint64_t calm_ns;
    unsigned must_go_on, one_of, must_end; /* sets of nodes, from the calm on */
};

enum ftc_world_event {
    FTC_WORLD_START,  /* agent */
    FTC_WORLD_POLL,   /* actor, channel from */
    FTC_WORLD_TICK,   /* agent */
    FTC_WORLD_CALL,   /* rank */
    FTC_WORLD_TIMER,  /* rank */
    FTC_WORLD_MORE,   /* rank */
    FTC_WORLD_TOLD,   /* rank; of which rank's failure */
    FTC_WORLD_EXIT,   /* agent; the exit of which rank */
    FTC_WORLD_LOOK,   /* agent; it looks whether G has grown */
    FTC_WORLD_RESIGN, /* agent without ranks */
    FTC_WORLD_RESUME, /* actor */
    FTC_WORLD_ORPHAN, /* rank whose agent is dead */
    FTC_WORLD_STRIKE,
    FTC_WORLD_CALM,
    FTC_WORLD_JUDGE, /* have the nodes that lost ended? */
};

/* world.c */
uint64_t ftc_world_below(struct ftc_world *w, uint64_t limit);
void ftc_world_plan(struct ftc_world *w, uint64_t at_ns, enum ftc_world_event event, int actor,
                    int other);
uint64_t ftc_world_clock(const struct ftc_world *w, int node);
bool ftc_world_runs(const struct ftc_world *w, int actor);
bool ftc_world_broken(const struct ftc_world *w);
/* A new packet, zeroed but for what this function sets. It arrives when its way is not cut. */
struct ftc_packet *ftc_world_send(struct ftc_world *w, int from, int to, enum ftc_packet_kind kind);
/* The next packet that has arrived, for the caller to free. NULL: there is none, or its receiver
 * cannot take it now; then another poll is planned. */
struct ftc_packet *ftc_world_take(struct ftc_world *w, int from, int to);
void ftc_packet_free(struct ftc_packet *packet);
void ftc_world_drop_packets(struct ftc_world *w);
void ftc_world_poll_all(struct ftc_world *w); /* call it when cuts have changed */
/* The actor is dead: the last packets in each of its channels are lost, a random number of them. */
void ftc_world_cut_short(struct ftc_world *w, int actor);
void ftc_world_pause(struct ftc_world *w, int actor, uint64_t ns);
void ftc_world_say(struct ftc_world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* agent.c */
void ftc_node_agent_start(struct ftc_world *w, int node);
void ftc_agent_take(struct ftc_world *w, int node, int from, struct ftc_packet *packet);
void ftc_agent_tick(struct ftc_world *w, int node);
void ftc_agent_exit(struct ftc_world *w, int node, int rank);
void ftc_node_agent_look(struct ftc_world *w, int node);
void ftc_agent_resign(struct ftc_world *w, int node);
/* Carry out the remaining outputs of the last step. */
void ftc_agent_go_on(struct ftc_world *w, int node);
void ftc_agent_die(struct ftc_world *w, int node);

/* rank.c */
static inline int ftc_rank_actor(const struct ftc_world *w, int rank)
{
    return w->nodes + rank;
}
void ftc_rank_call(struct ftc_world *w, int rank);
void ftc_rank_take(struct ftc_world *w, int rank, int from, struct ftc_packet *packet);
void ftc_rank_told(struct ftc_world *w, int rank, int dead);
void ftc_rank_timer(struct ftc_world *w, int rank);
void ftc_rank_more(struct ftc_world *w, int rank);
void ftc_rank_go_on(struct ftc_world *w, int rank);
void ftc_rank_die(struct ftc_world *w, int rank, const char *how);
bool ftc_rank_finished(const struct ftc_world *w, int rank);

/* strike.c */
void ftc_strike_now(struct ftc_world *w, int strike);
void ftc_strike_armed(struct ftc_world *w, int actor); /* as before_output */
void ftc_strike_calm(struct ftc_world *w);

/* judge.c */
/* Its lease holds by its own clock, and it has live ranks. */
bool ftc_judge_up(const struct ftc_world *w, int node);
void ftc_judge_declares(struct ftc_world *w, int by, int node);
void ftc_judge_refuses(struct ftc_world *w, int by, int node);
void ftc_judge_ends(struct ftc_world *w, int node); /* the node ends itself */
/* Call this when the lease of a node has changed. */
void ftc_judge_leads(struct ftc_world *w, int node);
void ftc_judge_calm(struct ftc_world *w);
void ftc_judge_lost(struct ftc_world *w);
void ftc_judge_end(struct ftc_world *w);
bool ftc_judge_over(const struct ftc_world *w); /* all ranks have finished or ended */

#endif
