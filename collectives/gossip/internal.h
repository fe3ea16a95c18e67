/* Inside of gossip aggregation: what the algorithms share. Private to this folder. */
#ifndef FTC_COLLECTIVES_GOSSIP_INTERNAL_H
#define FTC_COLLECTIVES_GOSSIP_INTERNAL_H

#include "collectives/gossip/gossip.h"

/* A mass is `width` doubles: count values, their weight, and, with checksums, the sum of these. All
 * of them are in the unit of the rank, which is 1 or FTC_GOSSIP_SMALL (gossip.md, rule 8). */
#define FTC_GOSSIP_SMALL 0x1p-64

/* Because of rounding, estimates differ by up to this share of the greatest input (gossip.md, rule
 * 7). */
#define FTC_GOSSIP_FLOOR 0x1p-47

/* The sizes of all ranks' initial masses, as far as a rank knows them (gossip.md, rules 7 to 9). */
struct ftc_gossip_sizes {
    int input;  /* the greatest input times its weight is below 2^input */
    int weight; /* the greatest weight is below 2^weight */
    int least;  /* the least weight is 2^(least - 1) or more */
};

/* One end of a link. Numbers of messages and steps count from the beginning of the operation. */
struct ftc_gossip_link {
    bool dead;       /* the neighbour has failed */
    uint32_t marked; /* without turns: the number of the last mark that came over this link */
    /* Turns: the number of the last message on this link. The end that begins sends the odd
     * numbers. */
    uint32_t number;
    uint64_t since; /* turns: messages that this rank had received when it last used this link */
    /* Turns: messages that this rank had received when the other end's last new message came. */
    uint64_t news;
    /* Turns: this end has changed the flow, and the other end has not answered since. */
    bool open;
    uint64_t changed; /* turns: the step of the first such change */
    /* push-cancel-flow: which of the two flows is the active one (c of algorithm 4) */
    uint8_t active;
    uint32_t cancels; /* push-cancel-flow: number of cancelled flows (r of algorithm 4) */
};

/* The parts of a message. */
struct ftc_gossip_letter {
    uint32_t number;
    uint8_t kind, active;
    uint32_t cancels;
    struct ftc_gossip_sizes sizes; /* what the sender knows */
    double unit;                   /* factor that brings the mass into the receiver's unit */
    const unsigned char *mass;     /* ops->masses * width doubles, unaligned; NULL: no mass */
};

enum ftc_gossip_letter_kind {
    FTC_GOSSIP_FLOW = 1,
    /* pfcc in turns: asks for the other end's flow when it is the other end's turn. */
    FTC_GOSSIP_ASK = 2,
    /* Without turns: the sender has come to the barrier. It carries the sender's flow, if there are
     * flows. */
    FTC_GOSSIP_MARK = 3,
};

struct ftc_gossip_ops {
    const char *name;
    bool checksum, survives;
    bool answers; /* needs links that carry messages both ways */
    int flows;    /* number of flows kept for a link: 0, 1 or 2 */
    int masses;   /* number of masses in a message */
    /* Computes the estimate. False: it is corrupt, and the messages that this step sends instead of
     * a push are queued. */
    bool (*prepare)(struct ftc_gossip *g);
    void (*push)(struct ftc_gossip *g, int link); /* sends half of the estimate over this link */
    /* Takes a message in. True: the answer is queued, so this step sends nothing else. */
    bool (*take)(struct ftc_gossip *g, int link, const struct ftc_gossip_letter *letter);
    /* The other end has sent `letter` again, since it waits for a message that was lost. If the
     * flow of this link is corrupt, makes it sound and returns true. NULL: the algorithm cannot
     * find a flow corrupt. */
    bool (*heal)(struct ftc_gossip *g, int link, const struct ftc_gossip_letter *letter);
    void (*remove)(struct ftc_gossip *g, int link); /* the neighbour has failed */
    /* Writes what a message over this link carries now. */
    void (*write)(const struct ftc_gossip *g, int link, unsigned char *out);
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
    double *initial;  /* push-sum: the whole mass of this rank */
    double *absorbed; /* push-cancel-flow: phi; push-sum: what came since the last step */
    double *flow;     /* links * ops->flows * width */
    double *estimate; /* a mass; after a push, half of it */
    /* pflc, pfcc: the estimate after the last step. `initial` can be repaired from it. */
    double *kept;
    double *came;   /* pflc, pfcc: a received mass, while it is checked */
    double *value;  /* the last sound estimate, divided by its weight */
    double *anchor; /* the estimate that later ones are compared with */
    double weight;  /* of the last sound estimate, in unit 1 */
    double scale;   /* pflc, pfcc: largest sum of magnitudes of a sound mass so far */
    struct ftc_gossip_sizes sizes; /* what this rank knows of all ranks */
    double unit;                   /* of all masses: 1 or FTC_GOSSIP_SMALL */
    int steady;    /* number of steps in which the estimate has stayed near the anchor */
    bool more;     /* other messages wait for this rank */
    bool owed;     /* messages were taken in that have not set off a push yet */
    uint32_t mark; /* number of the attempt whose marks were sent; 0: none */
    int dead;      /* number of links whose other end has failed */
    uint64_t steps;
    uint64_t random;
    int directed; /* the link that ftc_gossip_direct() asked for; -1: none */
    struct ftc_gossip_link *link;
    int *order; /* permuted: the order of the links; those from `placed` on are not used yet */
    int placed;
    struct ftc_gossip_queued *queue;
    int queued, taken, room;
    bool timer_due; /* FTC_GOSSIP_TIMER must be put out */
    unsigned char *bytes;
    size_t size;
    struct ftc_flip pending; /* for the next step; FTC_FLIP_VARIABLES: none */
    struct ftc_gossip_counters counters;
};

/* All neighbours have failed: no message can move the estimate any more. */
static inline bool ftc_gossip_alone(const struct ftc_gossip *g)
{
    return g->dead == g->links;
}

/* gossip/estimate.c */
/* Called by prepare(): the estimate is sound. Computes `value` from it. */
void ftc_gossip_value_set(struct ftc_gossip *g);
/* The size of the weight of a mass (gossip.md, rule 9); 1 if all weights are 1. */
double ftc_gossip_weight_size(const struct ftc_gossip *g);

/* gossip/links.c. Functions that return a link return -1 if there is none. */
bool ftc_gossip_usable(const struct ftc_gossip *g, int link); /* may this end send? */
bool ftc_gossip_holds(const struct ftc_gossip *g, int link);  /* is it this end's turn? */
uint64_t ftc_gossip_draw(struct ftc_gossip *g);
int ftc_gossip_draw_any(struct ftc_gossip *g);
int ftc_gossip_draw_link(struct ftc_gossip *g);          /* obeys the turns */
void ftc_gossip_changed(struct ftc_gossip *g, int link); /* this end has changed the flow */
void ftc_gossip_queue(struct ftc_gossip *g, int link, enum ftc_gossip_letter_kind kind);

static inline double *ftc_gossip_flow_of(const struct ftc_gossip *g, int link, int which)
{
    return g->flow + ((size_t)link * (size_t)g->ops->flows + (size_t)which) * g->width;
}

/* gossip/mass.c: arithmetic of masses of `width` doubles */
void ftc_mass_add(double *to, const double *mass, size_t width);
void ftc_mass_subtract(double *from, const double *mass, size_t width);
void ftc_mass_halve(double *mass, size_t width);
/* to := -factor * mass; `mass` is unaligned */
void ftc_mass_negate(double *to, const unsigned char *mass, double factor, size_t width);
bool ftc_mass_equal(const double *a, const double *b, size_t width);
bool ftc_mass_zero(const double *mass, size_t width);
void ftc_mass_mend(double *mass, size_t width); /* the checksum becomes the sum of the rest */
/* The sum of the magnitudes of all entries but the last one. */
double ftc_mass_magnitude(const double *mass, size_t width);
/* |sum - checksum|; infinity if an entry is not finite. */
double ftc_mass_error(const double *mass, size_t width);

#endif
