/* The state of a lease, and its parts. Private to detector/lease/. */
#ifndef FTC_DETECTOR_LEASE_INTERNAL_H
#define FTC_DETECTOR_LEASE_INTERNAL_H

#include "detector/apart.h"
#include "detector/lease/lease.h"
#include "detector/places.h"

#define FTC_LEASE_NOTED 32 /* beats of which it is kept when they were sent, or came */

enum role { FOLLOWER, ASKING, LEADER };

/* Another node, as a leader or a node that asks for votes sees it. A new term resets it. */
struct peer {
    bool answered;          /* it has voted, or echoed a beat, in this term */
    uint32_t echoed;        /* the latest beat that it has echoed; 0: it has voted */
    uint64_t heard_ns;      /* when its last echo came */
    uint32_t granted;       /* the first beat that grants it a lease; 0: none has */
    uint32_t refused_since; /* the first beat that says that it is refused; 0: none has */
    bool votes;             /* for this node, in the term that this node asks for */
    uint64_t voted_ns;      /* when that vote, or the answer to a probe, came */
};

/* A beat on its way down and up the tree, at this node. */
struct relay {
    struct ftc_lease_box beat; /* what the beat says */
    struct ftc_lease_box echo; /* `nodes` and `pair` are those of the echo, the rest is empty */
    int pairs;
    int parent;             /* the beat came from there; -1: none has come in this term */
    int second;             /* it came from there, too, and this node is unnamed; -1: it did not */
    bool grants;            /* the names of the beat grant leases */
    bool again;             /* the echo must still be sent to `second` */
    uint64_t named_ns;      /* since when this node is unnamed: rule 1 */
    uint64_t asked_ns;      /* when it last asked since it is unnamed; 0: it has not */
    struct ftc_set waiting; /* nodes that got the beat from here and have not answered */
    /* Nodes that have asked for beats: since adopted_ns, and in the T/2 before it. */
    struct ftc_set adopted[2];
    uint64_t adopted_ns;
    bool owed, ready;   /* the echo must still be sent; it must be sent now */
    uint64_t due_ns;    /* when it is sent at the latest */
    uint64_t since_ns;  /* since when no beat has come */
    uint64_t wanted_ns; /* when this node last asked for one */
    int wants;          /* how often it has */
    struct ftc_places tree;
};

struct ftc_lease {
    struct ftc_lease_settings set;
    uint64_t patience_ns, lease_ns; /* E, L */
    enum role role;
    bool probing; /* ASKING: the question is a probe, which changes nothing at the others */
    bool proven;  /* LEADER: a quorum has voted or echoed in this term; needed to grant leases */
    /* LEADER: proven, and backed (rule 2). Then beats grant leases, and this node refuses and
     * declares others. */
    bool grants;
    bool awaits; /* LEADER: a node has answered that no beat of this term has named yet */
    bool fenced, fence_told;
    uint64_t term; /* the term that this node follows, leads or has voted in */
    /* The highest term that this node has asked votes for. Its own vote counts while it asks. */
    uint64_t asked_term;
    int leader;        /* the node that leads `term`, or that this node voted for; -1: none */
    uint64_t turn_ns;  /* how long others may try before this node: rule 5, "When" */
    bool recount;      /* `turn_ns` must be counted again */
    unsigned failures; /* of its questions, since it has led or followed a beat: rule 5, "Split" */
    uint32_t beat;     /* the last beat of `term` that came, or was sent; 0: none */
    /* noted_ns[b % FTC_LEASE_NOTED]: when beat b of `term`, one of the last ones, came or was sent;
     * beat 0 is the vote. 0: it did not come. */
    uint64_t noted_ns[FTC_LEASE_NOTED];
    uint64_t beat_ns;     /* when the last beat came */
    uint64_t promised_ns; /* this node votes for nobody else before this time (rule 3) */
    uint64_t hold_ns;     /* another node probes or asks: this node does not before this time */
    uint64_t until_ns;    /* the end of this node's lease; 0: it has had none */
    uint64_t start_ns;
    /* LEADER: when it was elected, or when its base shrank while it was not backed. Declarations
     * wait for E + L after that (rule 7). 0: it leads from the start, with no older leases. */
    uint64_t led_ns;
    uint64_t elected_ns;        /* LEADER: when it was elected; 0: it leads from the start */
    uint64_t backed_ns;         /* LEADER: it is backed until this time */
    uint64_t asked_ns, sent_ns; /* when it last asked; when it last sent beats or questions */
    struct peer *peer;          /* NULL: this node has never asked nor led */
    uint64_t *sorted;           /* scratch */
    struct ftc_set base, refused, declared, told_refused, told_declared;
    struct ftc_set silent; /* refused nodes that a leader has found silent (rule 6) */
    struct ftc_apart apart;
    struct relay relay;
    struct ftc_set pending; /* nodes to which a beat or question must still be sent */
    struct ftc_lease_message reply;
    int reply_to; /* the node that `reply` goes to; -1: there is no reply */
};

/* state.c */
void ftc_lease_fence(struct ftc_lease *lease);
void ftc_lease_extend(struct ftc_lease *lease, uint64_t until_ns);
/* Follow, lead or vote in a term. Its beats begin with 1. */
void ftc_lease_begin_term(struct ftc_lease *lease, uint64_t term, int leader);
/* Beat `beat` of this term was sent, or came, now. */
void ftc_lease_note(struct ftc_lease *lease, uint32_t beat, uint64_t now_ns);
uint64_t ftc_lease_noted(const struct ftc_lease *lease, uint32_t beat); /* 0: not known */

/* leader.c: rules 2, 6, 7 and 8 */
void ftc_lease_need_peers(struct ftc_lease *lease);
bool ftc_lease_is_backed(const struct ftc_lease *lease, uint64_t now_ns);
uint64_t ftc_lease_margin_ns(const struct ftc_lease *lease);
/* Begin to lead. At the start `proven` is false, for nobody has voted: beats then grant nothing. */
void ftc_lease_lead(struct ftc_lease *lease, bool proven, uint64_t backed_ns, uint64_t now_ns);
void ftc_lease_tick_leader(struct ftc_lease *lease, uint64_t now_ns);
/* The vote came when this node led already. */
void ftc_lease_count_late_vote(struct ftc_lease *lease, int from,
                               const struct ftc_lease_message *message, uint64_t now_ns);
uint64_t ftc_lease_next_beat(const struct ftc_lease *lease);
void ftc_lease_count_echo(struct ftc_lease *lease, const struct ftc_lease_message *message,
                          uint64_t now_ns);

/* election.c: rules 3 and 5 */
uint64_t ftc_lease_question_term(const struct ftc_lease *lease); /* the role must be ASKING */
uint64_t ftc_lease_next_question(const struct ftc_lease *lease);
void ftc_lease_set_turn(struct ftc_lease *lease);
void ftc_lease_tick_other(struct ftc_lease *lease, uint64_t now_ns);
void ftc_lease_take_question(struct ftc_lease *lease, int from,
                             const struct ftc_lease_message *message, uint64_t now_ns);
void ftc_lease_take_vote(struct ftc_lease *lease, int from, const struct ftc_lease_message *message,
                         uint64_t now_ns);

/* relay.c: rules 1 and 4 */
int ftc_lease_init_relay(struct ftc_lease *lease); /* FTC_ERR_NOMEM */
void ftc_lease_fini_relay(struct ftc_lease *lease);
/* The beat of this node's relay goes out, to the children in its tree. */
void ftc_lease_spread(struct ftc_lease *lease);
void ftc_lease_take_beat(struct ftc_lease *lease, int from, const struct ftc_lease_message *message,
                         uint64_t now_ns);
/* This node follows the leader. */
void ftc_lease_take_echo(struct ftc_lease *lease, int from,
                         const struct ftc_lease_message *message);
void ftc_lease_take_want(struct ftc_lease *lease, int from, const struct ftc_lease_message *message,
                         uint64_t now_ns);
void ftc_lease_tick_relay(struct ftc_lease *lease, uint64_t now_ns);
uint64_t ftc_lease_relay_due(const struct ftc_lease *lease);

#endif
