/* Passes notices on along the ring of nodes. */
#include "detector/notices.h"

#include "base/error.h"

int ftc_notices_init(struct ftc_notices *notices, int self, int nodes, int ranks)
{
    *notices = (struct ftc_notices){.self = self, .nodes = nodes, .right = (self + 1) % nodes};
    if (ftc_set_init(&notices->gone, nodes) != 0 || ftc_set_init(&notices->known, ranks) != 0 ||
        ftc_set_init(&notices->waiting, ranks) != 0)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for notices of %d ranks", ranks);
    return FTC_SUCCESS;
}

void ftc_notices_fini(struct ftc_notices *notices)
{
    ftc_set_fini(&notices->gone);
    ftc_set_fini(&notices->known);
    ftc_set_fini(&notices->waiting);
}

/* `right` need not be told if it sent the notice, or if the rank is its own. */
void ftc_notices_learn(struct ftc_notices *notices, int rank, int home, int from)
{
    ftc_set_add(&notices->known, rank);
    if (from != notices->right && home != notices->right)
        ftc_set_add(&notices->waiting, rank);
}

void ftc_notices_gone(struct ftc_notices *notices, int node)
{
    ftc_set_add(&notices->gone, node);
    if (node != notices->right)
        return;
    while (notices->right != notices->self && ftc_set_has(&notices->gone, notices->right))
        notices->right = (notices->right + 1) % notices->nodes;
    ftc_set_copy(&notices->waiting, &notices->known);
}

int ftc_notices_next(struct ftc_notices *notices)
{
    int rank = notices->right == notices->self ? -1 : ftc_set_next(&notices->waiting, 0);

    if (rank >= 0)
        ftc_set_remove(&notices->waiting, rank);
    return rank;
}
