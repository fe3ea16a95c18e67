/* Collecting without a tree: agreement.md, rule 2, "Direct". */
#include <assert.h>

#include "collectives/agreement/collector.h"

/* c_b awaits all others, and these await nobody. */
static void await_all(const struct ftc_member *m, struct ftc_ballot *b)
{
    if (b->position > 0)
        ftc_awaited_add(b->group, &b->group_size, m->set.self);
    for (int j = 0; b->position == 0 && j < b->size; j++)
        ftc_awaited_add(b->group, &b->group_size, ftc_ballot_rank(b, j));
    assert(b->group_size <= m->group_room);
}

static int begin(struct ftc_member *m, struct ftc_operation *op, const struct ftc_message *up)
{
    struct ftc_ballot *b = &op->ballot;

    await_all(m, b);
    ftc_awaited_arrive_here(&b->group[0], up); /* the own contribution: c_b has position 0 */
    return b->position == 0 ? 0 : ftc_contribution_send(m, op, b->coordinator, up);
}

/* c_b has no children, so its sum is complete after its group. */
static int advance(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;

    if (b->phase == FTC_BALLOT_TREE)
        return ftc_tree_choose(m, op);
    int rc = ftc_contribution_combine_group(m, op);
    if (rc <= 0)
        return rc;
    b->phase = b->position == 0 ? FTC_BALLOT_TREE : FTC_BALLOT_DONE;
    return b->position == 0 ? FTC_COLLECTED_MORE : FTC_COLLECTED_CONTRIBUTED;
}

const struct ftc_collector ftc_collector_direct = {
    .begin = begin,
    .advance = advance,
};
