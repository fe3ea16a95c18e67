/* Inside of gossip aggregation: what the algorithms share. Private to this room. */
#ifndef FTC_COLLECTIVES_GOSSIP_INTERNAL_H
#define FTC_COLLECTIVES_GOSSIP_INTERNAL_H

#include "collectives/gossip/gossip.h"

/* A mass: count values, their weight, and with checksums their sum: `width` doubles. */

/* One end of a link. */
struct ftc_gossip_link {
    bool dead;       /* the neighbour has failed */
    uint32_t marked; /* without turns: the last mark that came over this link */
    uint32_t number; /* turns: of the last message on this link; who begins sends the odd ones */
    uint64_t since;  /* turns: messages received when this link was last used */
    uint64_t news;   /* turns: messages received when the other end last sent a new one */
    bool open; /* turns: this end has changed the flow, and the other has not answered since */
    uint64_t changed; /* ... first at this step */
    uint8_t
        active; /* push-cancel-flow: which of the two flows is the active one (c of algorithm 4) */
    uint32_t cancels; /* push-cancel-flow: how often a flow was cancelled (r of algorithm 4) */
};

/* What a message is made of. */
struct ftc_gossip_letter {
    uint32_t number;
    uint8_t kind, active;
    uint32_t cancels;
    const unsigned char *mass; /* ops->masses * width doubles, unaligned; NULL: none */
};

enum ftc_gossip_letter_kind {
    FTC_GOSSIP_FLOW = 1,
    FTC_GOSSIP_ASK = 2, /* pfcc in turns: "send yours", when it is the other's turn */
    FTC_GOSSIP_MARK =
        3, /* without turns: the sender has come to the barrier; with its flow, if it has one */
};

struct ftc_gossip_ops {
    const char *name;
    bool checksum, survives;
    bool answers; /* needs links that are used both ways */
    int flows;    /* kept for each link: 0, 1 or 2 */
    int masses;   /* that a message carries */
    /* Compute the estimate from what is there; false: it is corrupt, and what this step sends
     * instead is queued. */
    bool (*prepare)(struct ftc_gossip *g);
    void (*push)(struct ftc_gossip *g, int link); /* half of the estimate goes over this link */
    /* A message was taken in; true: it is answered, so that this step sends nothing else. */
    bool (*take)(struct ftc_gossip *g, int link, const struct ftc_gossip_letter *letter);
    /* The other end waits for a message that was lost, and has sent `letter` again: a flow that is
     * corrupt is made sound. Returns whether it was corrupt. NULL: no flow ever is. */
    bool (*heal)(struct ftc_gossip *g, int link, const struct ftc_gossip_letter *letter);
    void (*remove)(struct ftc_gossip *g, int link); /* the neighbour has failed */
    void (*write)(const struct ftc_gossip *g, int link,
                  unsigned char *out); /* what a message carries now */
};
extern const struct ftc_gossip_ops ftc_gossip_push_sum, ftc_gossip_push_flow,
    ftc_gossip_push_cancel_flow, ftc_gossip_pflc, ftc_gossip_pfcc;

struct ftc_gossip_queued {
    int link;
    enum ftc_gossip_letter_kind kind;
};

struct ftc_gossip {
    struct ftc_gossip_settings set;
    const struct ftc_gossip_ops *ops;
    int links;
    size_t width;
    double *initial;  /* push-sum: the mass itself */
    double *absorbed; /* push-cancel-flow: phi; push-sum: what came since the last step */
    double *flow;     /* links * ops->flows * width */
    double *estimate; /* a mass; after a push half of it */
    double *
        kept; /* pflc, pfcc: the estimate after the last step, from which `initial` can be repaired */
    double *came;   /* pflc, pfcc: a mass that was received, to be looked at */
    double *value;  /* the last estimate that was sound, divided by its weight */
    double *anchor; /* the estimate that later ones are compared with */
    double scale;   /* pflc, pfcc: largest sum of magnitudes of a sound mass so far */
    double input;   /* largest magnitude of an initial value */
    int steady;     /* steps for which the estimate has stayed near the anchor */
    bool more;      /* messages wait for this rank */
    bool owed;      /* messages were taken in that have set off no push yet */
    uint32_t mark;  /* of the attempt under way; 0: none */
    int dead;       /* links whose other end has failed */
    uint64_t steps;
    uint64_t random;
    int directed; /* link that ftc_gossip_direct() asked for, -1 */
    struct ftc_gossip_link *link;
    int *order; /* permuted: of the links; from `placed` on still to be used */
    int placed;
    struct ftc_gossip_queued *queue;
    int queued, taken, room;
    bool timer_due; /* FTC_GOSSIP_TIMER is to be put out */
    unsigned char *bytes;
    size_t size;
    struct ftc_flip pending; /* of the next step: FTC_FLIP_VARIABLES means none */
    struct ftc_gossip_counters counters;
};

/* gossip.c */
void ftc_gossip_queue(struct ftc_gossip *g, int link, enum ftc_gossip_letter_kind kind);
void ftc_gossip_changed(struct ftc_gossip *g, int link); /* this end has changed the flow */
/* The estimate that is sound from here on; called by prepare(). */
void ftc_gossip_value_set(struct ftc_gossip *g);

/* gossip/links.c; -1: there is no link */
bool ftc_gossip_usable(const struct ftc_gossip *g, int link); /* may this end send? */
bool ftc_gossip_holds(const struct ftc_gossip *g, int link);  /* is it this end's turn? */
uint64_t ftc_gossip_draw(struct ftc_gossip *g);
int ftc_gossip_draw_any(struct ftc_gossip *g);
int ftc_gossip_draw_link(struct ftc_gossip *g); /* heeds turns */

static inline double *ftc_gossip_flow_of(const struct ftc_gossip *g, int link, int which)
{
    return g->flow + ((size_t)link * (size_t)g->ops->flows + (size_t)which) * g->width;
}

/* gossip/mass.c: arithmetic of masses of `width` doubles */
void ftc_mass_add(double *to, const double *mass, size_t width);
void ftc_mass_subtract(double *from, const double *mass, size_t width);
void ftc_mass_halve(double *mass, size_t width);
void ftc_mass_negate(double *to, const unsigned char *mass,
                     size_t width); /* to := -mass, which is unaligned */
bool ftc_mass_equal(const double *a, const double *b, size_t width);
bool ftc_mass_zero(const double *mass, size_t width);
void ftc_mass_mend(double *mass, size_t width); /* the checksum becomes what it should be */
double ftc_mass_magnitude(const double *mass, size_t width); /* sum of |entries| but the last one */
double ftc_mass_error(const double *mass,
                      size_t width); /* |sum - checksum|; infinity if not finite */

#endif
