/* Between the parts of a lease. Private to detector/lease*.c. */
#ifndef FTC_DETECTOR_LEASE_INTERNAL_H
#define FTC_DETECTOR_LEASE_INTERNAL_H

#include "detector/apart.h"
#include "detector/lease/lease.h"

enum role { FOLLOWER, ASKING, LEADER };

/* Another node, as the leader sees it; reset with each term. */
struct peer {
    uint64_t echoed_ns;     /* the latest beat that it has echoed, by our clock; 0: none */
    uint64_t node_ns;       /* its own clock's time of that echo */
    uint64_t heard_ns;      /* when that echo came */
    struct ftc_set refused; /* what it refused then */
    bool votes;             /* for us, in the term that we ask for */
    uint64_t voted_ns;      /* when that came */
};

struct ftc_lease {
    struct ftc_lease_settings set;
    uint64_t patience_ns, lease_ns; /* E, L */
    enum role role;
    bool probing; /* asking, without consequences */
    bool
        proven; /* leader: a quorum has voted or echoed in this term; before that nothing is granted */
    bool grants; /* ... and one has within E: beats grant leases, nodes are refused and declared */
    bool fenced, fence_told;
    uint64_t term; /* followed, or voted in for another */
    uint64_t
        asked_term; /* the highest that this node has asked for votes in; its own vote counts while it asks */
    int leader;           /* of `term`: that is followed, or was voted for; -1: nobody */
    uint64_t beat_ns;     /* when the last beat was taken in */
    uint64_t promised_ns; /* no vote for anybody before this */
    uint64_t hold_ns;     /* somebody else is trying: no questions of our own before this */
    uint64_t until_ns;    /* of the lease; 0: none yet */
    uint64_t start_ns;
    uint64_t led_ns;            /* leader: elected at; 0: from the start, when no lease was older */
    uint64_t backed_ns;         /* leader: a quorum's promises hold until then */
    uint64_t asked_ns, sent_ns; /* the last round of questions; of beats */
    struct peer *peer;
    uint64_t *sorted; /* scratch */
    struct ftc_set base, refused, declared, told_refused, told_declared;
    struct ftc_apart apart;
    bool *pending, *greet; /* a message to that node is to be put out */
    struct ftc_lease_message reply;
    int reply_to; /* -1: none */
};

/* In which term this node asks; its role is ASKING. */
uint64_t ftc_lease_question_term(const struct ftc_lease *lease);

#endif
