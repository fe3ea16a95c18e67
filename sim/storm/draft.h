/* Drafts are the candidates that shrinking tries, and edits make them. Private to draft.c and
 * shrink.c. */
#ifndef FTC_SIM_STORM_DRAFT_H
#define FTC_SIM_STORM_DRAFT_H

#include "sim/model/schedule.h"

/* Kind of an event to follow: take the oldest event. That event is then not taken again at its own
 * turn. */
#define FTC_DRAFT_OLDEST FTC_CLUSTER_CLASSES

struct ftc_draft {
    struct ftc_member_settings settings;
    const struct ftc_member_settings *plain; /* the default settings, which need no reason */
    struct ftc_program program;              /* owned, like the next two */
    struct ftc_schedule schedule;
    /* the order to follow, up to its end; events that cannot happen are skipped */
    struct ftc_cluster_event *event;
    size_t events;
};

int ftc_draft_copy(struct ftc_draft *to, const struct ftc_draft *from); /* FTC_ERR_NOMEM */
void ftc_draft_fini(struct ftc_draft *draft);

/* The order of events comes from the list of events, which survives most edits, or from the
 * deviations. */
enum { FTC_DRAFT_BY_EVENTS = 1, FTC_DRAFT_BY_DEVIATIONS = 2 };

/* A way to make a draft smaller. */
struct ftc_draft_edit {
    size_t (*count)(const struct ftc_draft *draft); /* number of things that can be taken away */
    /* Take away `size` things from `first` on. False: that would change nothing, or is not
     * legal. */
    bool (*apply)(struct ftc_draft *draft, size_t first, size_t size);
    unsigned guides; /* ways to run the result: FTC_DRAFT_BY_... */
};
extern const struct ftc_draft_edit ftc_draft_edits[];
extern const size_t ftc_draft_edits_count;

/* The size of a draft. A smaller one is simpler; the first part that differs decides. */
#define FTC_DRAFT_PARTS 11
struct ftc_draft_size {
    uint64_t part[FTC_DRAFT_PARTS];
};
struct ftc_draft_size ftc_draft_measure(const struct ftc_draft *draft);
bool ftc_draft_smaller(const struct ftc_draft_size *a, const struct ftc_draft_size *b);

#endif
