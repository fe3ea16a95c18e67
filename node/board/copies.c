/*
 * Direct copies between the memories of members (agreement.md, "Direct copies"): what pairs
 * (pair.c) and values that stay apart (direct.c) have in common. Before a copy the members exchange
 * offers, and after it they exchange how it went, in collecting rounds.
 */
#include "node/board/internal.h"

bool ftc_board_exchange(struct ftc_board *b, const void *mine, size_t size)
{
    b->offset = 0;
    b->bytes = size;
    if (b->revoked || !ftc_board_post(b, mine, size, FTC_BOARD_EVERYBODY))
        return false;
    ftc_board_collect_for_itself(b, NULL);
    if (b->revoked)
        return false;
    ftc_board_finish(b, true);
    if (b->missing > 0)
        ftc_board_list_members(b);
    return true;
}

/* A member overwrites its post only when all have posted again. */
const void *ftc_board_exchanged(struct ftc_board *b, int rank)
{
    return ftc_board_data(b, b->round - 1, rank, b->bytes);
}

static uint64_t check_of(const struct ftc_board_offer *offer)
{
    const uint64_t words[] = {offer->input, offer->size, offer->output, offer->allowed};
    uint64_t check = 0;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        check = (check ^ words[i]) * FTC_BOARD_GOLDEN;
    return check;
}

bool ftc_board_exchange_offers(struct ftc_board *b, struct ftc_board_offer *mine)
{
    const struct ftc_board_host *host = &b->set.host;

    mine->allowed = true;
    for (int i = 0; i < b->members; i++)
        if (b->member[i] != b->rank && !host->allow_copies(host->arg, b->member[i]))
            mine->allowed = false;
    mine->check = check_of(mine);
    return ftc_board_exchange(b, mine, sizeof(*mine));
}

bool ftc_board_is_offer(struct ftc_board *b, int rank, const struct ftc_board_offer *offer)
{
    if (offer->check == check_of(offer))
        return true;
    b->set.host.accuse(b->set.host.arg, rank,
                       "made an offer to copy that does not match its check");
    return false;
}

bool ftc_board_may_copy(struct ftc_board *b, int rank)
{
    ftc_board_look(b);
    return !ftc_set_has(&b->known, rank) || FTC_BOARD_MUTATED(COPIES_THE_DEAD);
}

bool ftc_board_copied_dead(struct ftc_board *b, int rank)
{
    ftc_board_look(b);
    return ftc_set_has(&b->known, rank) && !FTC_BOARD_MUTATED(DIRECT_DEATH_UNSEEN);
}
