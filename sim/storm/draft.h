/* Candidates of a shrinking run, and the edits that make them. Private to draft.c and shrink.c. */
#ifndef FTC_SIM_STORM_DRAFT_H
#define FTC_SIM_STORM_DRAFT_H

#include "sim/model/schedule.h"

/* As the kind of an event to follow: the oldest one, which then is not taken again when its own
 * turn comes.
 */
#define FTC_DRAFT_OLDEST FTC_CLUSTER_CLASSES

struct ftc_draft {
    struct ftc_member_settings settings;
    const struct ftc_member_settings *plain; /* settings that need no reason */
    struct ftc_program program;              /* owned, as are the next two */
    struct ftc_schedule schedule;
    struct ftc_cluster_event
        *event; /* the order to follow as far as it goes; what is not there is left out */
    size_t events;
};

int ftc_draft_copy(struct ftc_draft *to, const struct ftc_draft *from); /* FTC_ERR_NOMEM */
void ftc_draft_fini(struct ftc_draft *draft);

/* The order of events comes from the list of events, which bears most edits, or from the
 * deviations. */
enum { FTC_DRAFT_BY_EVENTS = 1, FTC_DRAFT_BY_DEVIATIONS = 2 };

/* A way to make a draft smaller. */
struct ftc_draft_edit {
    size_t (*count)(const struct ftc_draft *draft); /* things that can be taken away */
    /* Take away `size` of them from `first` on; false: that would change nothing or is not
     * legal. */
    bool (*apply)(struct ftc_draft *draft, size_t first, size_t size);
    unsigned guides; /* how to run it: FTC_DRAFT_BY_... */
};
extern const struct ftc_draft_edit ftc_draft_edits[];
extern const size_t ftc_draft_edits_count;

/* Smaller is simpler, the first difference decides. */
#define FTC_DRAFT_PARTS 11
struct ftc_draft_size {
    uint64_t part[FTC_DRAFT_PARTS];
};
struct ftc_draft_size ftc_draft_measure(const struct ftc_draft *draft);
bool ftc_draft_smaller(const struct ftc_draft_size *a, const struct ftc_draft_size *b);

#endif
