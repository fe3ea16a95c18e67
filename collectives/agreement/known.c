/* L, the set of ranks that this process knows to have failed; what it does when it finds that it
 * was declared failed itself; and the view, which follows from G. */
#include "collectives/agreement/internal.h"

int ftc_member_fence(struct ftc_member *m)
{
    int rc = ftc_member_output(m, &(struct ftc_output){.kind = FTC_OUTPUT_FENCED});

    m->fenced = true;
    ftc_rule_taken(m, FTC_RULE_FENCED);
    return rc == 0 ? FTC_ERR_FENCED : rc;
}

/* A process that was declared failed does nothing more: the rules assume that it has stopped. */
static int learned(struct ftc_member *m)
{
    m->changed = true;
    m->settling.due = true;
    return ftc_knows_failed(m, m->set.self) ? ftc_member_fence(m) : 0;
}

int ftc_member_learn(struct ftc_member *m, const struct ftc_set *failed)
{
    return ftc_set_unite(&m->known, failed) ? learned(m) : 0;
}

int ftc_member_learn_rank(struct ftc_member *m, int rank)
{
    if (ftc_knows_failed(m, rank))
        return 0;
    ftc_set_add(&m->known, rank);
    return learned(m);
}

int ftc_member_renew_view(struct ftc_member *m)
{
    ftc_view_unref(m->view);
    m->view = ftc_view_without(&m->agreed);
    return m->view == NULL ? FTC_ERR_NOMEM : 0;
}

int ftc_member_inherit(struct ftc_member *m, const struct ftc_set *agreed,
                       const struct ftc_set *known)
{
    if (known != NULL)
        ftc_set_unite(&m->known, known);
    if (agreed == NULL)
        return 0;
    ftc_set_unite(&m->known, agreed);
    ftc_set_copy(&m->agreed, agreed);
    return ftc_member_renew_view(m);
}
