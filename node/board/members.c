/* The members of the board: the ranks of the next round, and how far they have come. */
#include "node/board/internal.h"

#define NOT_OURS (-2) /* a rank of the job that is not in this communicator */

int ftc_board_next_failure(const struct ftc_board *b, uint32_t *cursor)
{
    int rank;

    do {
        rank = ftc_segment_next_failure(b->set.segment, cursor);
        if (rank >= 0 && b->set.rank_of != NULL)
            rank = b->set.rank_of[rank] >= 0 ? b->set.rank_of[rank] : NOT_OURS;
    } while (rank == NOT_OURS);
    return rank;
}

static void count_live(struct ftc_board *b)
{
    b->live = 0;
    for (int i = 0; i < b->members; i++)
        b->live += !ftc_set_has(&b->known, b->member[i]);
}

void ftc_board_list_members(struct ftc_board *b)
{
    b->members = 0;
    for (int rank = 0; rank < b->ranks; rank++)
        if (!ftc_set_has(&b->agreed, rank) && !ftc_set_has(&b->left_out, rank))
            b->member[b->members++] = rank;
    count_live(b);
}

static bool is_posted(const struct ftc_board *b, int rank)
{
    uint64_t mark = FTC_BOARD_LOAD(ftc_board_post_of(b, b->round, rank)->mark);

    return (mark & FTC_BOARD_ROUND_MASK) == b->round + 1;
}

bool ftc_board_awaits(const struct ftc_board *b, int rank)
{
    if (b->awaited_end != 0)
        return rank == b->awaited &&
               FTC_BOARD_LOAD(b->memory.progress[rank].finished) < b->awaited_end;
    if (rank == b->rank || (ftc_board_root_posts(b) && rank != b->call->signature.root))
        return false;
    return !is_posted(b, rank);
}

/* The ranks whose posts are not there yet. If all are there, this rank waits for the result. */
static void who_is_awaited(const struct ftc_board *b, struct ftc_board_activity *activity)
{
    for (int i = 0; i < b->members; i++)
        if (ftc_board_awaits(b, b->member[i]) && activity->waits++ == 0)
            activity->waits_for = b->member[i];
    if (activity->waits == 0)
        activity->wait = FTC_BOARD_WAITS_RESULT;
    else
        activity->wait = b->started > 0 ? FTC_BOARD_WAITS_STARTED : FTC_BOARD_WAITS_POST;
}

void ftc_board_activity(const struct ftc_board *b, struct ftc_board_activity *activity)
{
    *activity = (struct ftc_board_activity){.op = b->op, .waits_for = -1};
    if (b->call == NULL)
        return;
    activity->signature = &b->call->signature;
    activity->op = b->op - (b->started > 0 ? (uint64_t)b->started : 1);
    if (b->awaited_end == 0) {
        who_is_awaited(b, activity);
        return;
    }
    activity->wait = FTC_BOARD_WAITS_ROOM;
    activity->waits_for = b->awaited;
    activity->waits = 1;
}

void ftc_board_take_failures(struct ftc_board *b)
{
    int rank;

    while ((rank = ftc_board_next_failure(b, &b->failures)) >= 0)
        ftc_set_add(&b->known, rank);
    b->suspicious = true;
    count_live(b);
}

/* --- reuse --- */

bool ftc_board_settled(struct ftc_board *b, uint64_t end)
{
    uint64_t settled = b->round;

    if (end <= b->settled)
        return true;
    for (int i = 0; i < b->members; i++) {
        int rank = b->member[i];
        if (rank == b->rank || ftc_set_has(&b->known, rank))
            continue;
        b->finished[rank] = FTC_BOARD_LOAD(b->memory.progress[rank].finished);
        if (b->finished[rank] < settled)
            settled = b->finished[rank];
    }
    if (settled > b->settled)
        b->settled = settled;
    return end <= b->settled;
}

bool ftc_board_is_revoked(struct ftc_board *b)
{
    if (FTC_BOARD_LOAD(b->memory.places[0].revoked) != 0 && !FTC_BOARD_MUTATED(REVOKED_UNSEEN))
        b->revoked = true;
    return b->revoked;
}
