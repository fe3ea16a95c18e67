/* The state of a lease. Private to detector/lease/. */
#ifndef FTC_DETECTOR_LEASE_INTERNAL_H
#define FTC_DETECTOR_LEASE_INTERNAL_H

#include "detector/apart.h"
#include "detector/lease/lease.h"

enum role { FOLLOWER, ASKING, LEADER };

/* Another node, as the leader sees it. A new term resets it. */
struct peer {
    uint64_t echoed_ns;     /* when the latest beat that it has echoed was sent; 0: none */
    uint64_t node_ns;       /* when it sent its last echo or vote, by its clock; 0: none */
    uint64_t heard_ns;      /* when its last echo came */
    struct ftc_set refused; /* the nodes that it refuses, by its echoes */
    bool votes;             /* for this node, in the term that this node asks for */
    uint64_t voted_ns;      /* when that vote, or the answer to a probe, came */
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
    bool fenced, fence_told;
    uint64_t term; /* the term that this node follows, leads or has voted in */
    /* The highest term that this node has asked votes for. Its own vote counts while it asks. */
    uint64_t asked_term;
    int leader;           /* the node that leads `term`, or that this node voted for; -1: none */
    uint64_t beat_ns;     /* when the last beat came */
    uint64_t promised_ns; /* this node votes for nobody else before this time (rule 3) */
    uint64_t hold_ns;     /* another node probes or asks: this node does not before this time */
    uint64_t until_ns;    /* the end of this node's lease; 0: it has had none */
    uint64_t start_ns;
    /* LEADER: when it was elected, or when its base shrank while it was not backed. Declarations
     * wait for E + L after that (rule 7). 0: it leads from the start, with no older leases. */
    uint64_t led_ns;
    uint64_t backed_ns;         /* LEADER: it is backed until this time */
    uint64_t asked_ns, sent_ns; /* when it last asked; when it last sent beats or questions */
    struct peer *peer;
    uint64_t *sorted; /* scratch */
    struct ftc_set base, refused, declared, told_refused, told_declared;
    struct ftc_set silent; /* refused nodes that a leader has found silent (rule 6) */
    struct ftc_apart apart;
    struct ftc_set pending; /* nodes to which a beat or question must still be sent */
    struct ftc_lease_message reply;
    int reply_to; /* the node that `reply` goes to; -1: there is no reply */
};

/* The term that this node asks for. Its role must be ASKING. */
uint64_t ftc_lease_question_term(const struct ftc_lease *lease);

#endif
