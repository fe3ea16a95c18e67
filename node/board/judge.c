/*
 * Judging posts (agreement.md, "Damaged posts"). Usually one comparison shows that a post is sound
 * (ftc_board_standing()). Any other post is not there yet, or is of another call, or is damaged.
 * The writer of a damaged post is accused. When that rank is in L, the survivors settle for good
 * whether its post counts, by a compare-and-swap of its mark.
 */
#include "base/cpu.h"
#include "node/board/internal.h"

/* Where no process can fence for others it sleeps instead, for longer than a store stays unseen. */
#define UNFENCED_NS 1000000u

/* --- what a post says --- */

uint64_t ftc_board_check_of(const struct ftc_board *b, const struct ftc_signature *s)
{
    uint64_t word = (uint64_t)s->kind << 56 ^ (uint64_t)s->type << 48 ^
                    (uint64_t)s->operator_code << 40 ^ (uint64_t)s->earlier << 32 ^
                    (uint64_t)(uint32_t)s->root;
    uint64_t whose = b->set.communicator * FTC_BOARD_GOLDEN;
    uint64_t mixed = ((word ^ FTC_BOARD_GOLDEN) * FTC_BOARD_GOLDEN ^ s->size) * FTC_BOARD_GOLDEN;

    mixed ^= whose;
    return mixed ^ mixed << 24;
}

/* True for a mark that no rank can have written in this place before its readers have finished this
 * round. */
static bool cannot_be(uint64_t round, uint64_t end)
{
    return round >= end || (round != 0 && round % FTC_BOARD_DEPTH != end % FTC_BOARD_DEPTH);
}

/* Did its writer call something else? Then the check in its mark fits its own signature. */
static bool is_other_call(const struct ftc_board *b, const struct ftc_board_post *post,
                          uint64_t mark)
{
    return mark == ftc_board_mark(b->round + 1, ftc_board_check_of(b, &post->signature)) &&
           !ftc_board_same_call(&post->signature, &b->mine);
}

void ftc_board_accuse(struct ftc_board *b, int rank)
{
    if (ftc_set_has(&b->accused, rank) || FTC_BOARD_MUTATED(DAMAGE_AWAITED))
        return;
    ftc_set_add(&b->accused, rank);
    b->set.host.accuse(b->set.host.arg, rank, "has damaged its post in the node segment");
}

/* --- settling --- */

void ftc_board_fence_others(struct ftc_board *b)
{
    const struct ftc_board_host *host = &b->set.host;
    _Atomic uint32_t nobodys_bell = 0;

    atomic_thread_fence(memory_order_seq_cst);
    if (!host->fence_all(host->arg))
        host->sleep(host->arg, &nobodys_bell, 0, UNFENCED_NS);
}

static bool has_decided(struct ftc_board *b, int rank)
{
    return FTC_BOARD_LOAD(b->memory.progress[rank].decided) > b->round;
}

/* Has any member decided this round? Only the root decides a plain reduce or a gather of one block;
 * the others go on. All but the root, which is dead, decide a broadcast or a scatter. */
static bool somebody_decided(struct ftc_board *b)
{
    const struct ftc_signature *s = &b->call->signature;
    bool root_posts = ftc_board_root_posts(b);
    bool alone = ftc_call_table[s->kind].rooted && !root_posts && s->size <= ftc_board_limit(b);

    if (FTC_BOARD_MUTATED(SETTLED_BLINDLY))
        return false;
    if (has_decided(b, b->rank))
        return true;
    if (alone)
        return false;
    ftc_board_fence_others(b);
    for (int i = 0; i < b->members; i++)
        if (!(root_posts && b->member[i] == s->root) && has_decided(b, b->member[i]))
            return true;
    return false;
}

/* May this rank write the mark of a dead one? The post in this place may be of the round W before,
 * and a receiver of broadcasts may still have to read it, so "Reuse" holds here, too. Until this
 * rank may settle it naps (board/wait.c). */
static bool may_settle(struct ftc_board *b)
{
    return b->round < FTC_BOARD_DEPTH || ftc_board_settled(b, b->round + 1 - FTC_BOARD_DEPTH) ||
           FTC_BOARD_MUTATED(SETTLED_EARLY);
}

/* Settle the mark of a rank in L for good, unless another survivor has. Returns the mark that
 * holds. */
static uint64_t settle(struct ftc_board *b, struct ftc_board_post *post, uint64_t mark)
{
    uint64_t settled = (b->round + 1) | (somebody_decided(b) ? FTC_BOARD_COUNTED : FTC_BOARD_VOID);

    if (FTC_BOARD_MUTATED(SETTLED_APART) || FTC_BOARD_SWAP(post->mark, &mark, settled))
        return settled;
    return mark;
}

enum ftc_board_standing ftc_board_judge(struct ftc_board *b, int rank, uint64_t mark, bool failed)
{
    struct ftc_board_post *post = ftc_board_post_of(b, b->round, rank);
    uint64_t end = b->round + 1, round = mark & FTC_BOARD_ROUND_MASK;

    if (mark == ftc_board_mark(end, b->check) && ftc_board_fits(b, post))
        return FTC_POST_SOUND;
    if (mark == (end | FTC_BOARD_VOID))
        return failed ? FTC_POST_MISSING : FTC_POST_AWAITED;
    if (mark == (end | FTC_BOARD_COUNTED)) {
        if (!ftc_board_readable(b, post->offset))
            b->set.host.damaged(b->set.host.arg,
                                "others have counted a post that cannot be read any more");
        return FTC_POST_SOUND;
    }
    if (is_other_call(b, post, mark) && ftc_board_is_revoked(b))
        return FTC_POST_AWAITED; /* agreement.md, "Revoked": the wait ends by it */
    if (is_other_call(b, post, mark))
        b->set.host.mismatch(b->set.host.arg, rank, &post->signature);
    if (rank == b->rank)
        b->set.host.damaged(b->set.host.arg, "this process's own post has changed");
    if (failed && !may_settle(b))
        return FTC_POST_AWAITED;
    if (failed)
        return ftc_board_judge(b, rank, settle(b, post, mark), true);
    if (cannot_be(round, end))
        ftc_board_accuse(b, rank);
    return FTC_POST_AWAITED;
}

/* --- deciding --- */

/* Is this round made of the post of `rank`, among others? */
static bool takes_part(const struct ftc_board *b, int rank)
{
    if (ftc_board_root_posts(b))
        return rank == b->call->signature.root;
    return !ftc_set_has(&b->agreed, rank) && !ftc_set_has(&b->left_out, rank) &&
           !(b->apart && rank == b->rank);
}

/* Do the posts still count of all ranks that were declared since the first post of this round was
 * looked at? */
static bool still_stand(struct ftc_board *b)
{
    uint32_t cursor = b->judged;
    int rank;

    while ((rank = ftc_board_next_failure(b, &cursor)) >= 0)
        if (takes_part(b, rank) && rank != b->rank &&
            ftc_board_standing(b, rank, true) == FTC_POST_MISSING)
            return false;
    /* If the cursor is short of the length, an entry is damaged, and the launcher restores it. */
    return cursor >= FTC_BOARD_LOAD(b->header->failures);
}

/* Rule 1: this rank stores that it has decided, and reads the failure log after that. A rank that
 * settles a post reads the log first and `decided` after it, with a fence for both. */
FTC_HOT bool ftc_board_decide_posts(struct ftc_board *b)
{
    FTC_BOARD_STORE(b->memory.progress[b->rank].decided, b->round + 1);
    if (b->set.fenced_by_others)
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
    if (FTC_BOARD_LOAD(b->header->failures) == b->judged || FTC_BOARD_MUTATED(DECIDED_UNSEEN))
        return true;
    return still_stand(b);
}

/* --- this rank's own --- */

static bool is_mark_of(const struct ftc_board_post *post, uint64_t end)
{
    return (atomic_load_explicit(&post->mark, memory_order_relaxed) & FTC_BOARD_ROUND_MASK) == end;
}

void ftc_board_check_own(struct ftc_board *b)
{
    if (b->revoked) /* nobody waits for this rank, which may not have made its last post */
        return;
    if (FTC_BOARD_LOAD(b->memory.progress[b->rank].finished) != b->own_finished)
        b->set.host.damaged(b->set.host.arg, "this process's own count of rounds has changed");
    if (FTC_BOARD_LOAD(b->memory.progress[b->rank].left) != 0)
        b->set.host.damaged(b->set.host.arg, "others take this process to have left");
    for (unsigned i = 0; i < FTC_BOARD_DEPTH; i++) {
        uint64_t end = b->place[i].end;
        bool unwritten = end == b->round + 1 && b->awaited_end != 0; /* it waits for a buffer */
        if (end == 0 || unwritten)
            continue;
        if (!is_mark_of(ftc_board_post_of_call(b, end - 1, b->rank), end) &&
            !is_mark_of(ftc_board_post_ahead(b, end - 1, b->rank), end) &&
            !FTC_BOARD_MUTATED(OWN_UNCHECKED))
            b->set.host.damaged(b->set.host.arg, "this process's own mark has changed");
    }
}
