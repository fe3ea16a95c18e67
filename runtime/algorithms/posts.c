/* Posts and decision words of a node. */
#include "runtime/algorithms/posts.h"

#include <stdio.h>

#include "base/error.h"
#include "runtime/comm/mismatch.h"
#include "runtime/comm/ranks.h"
#include "runtime/process/progress.h"

/* --- records of others --- */

_Noreturn void ftc_posts_damaged(struct ftc_comm *comm, const char *what)
{
    char words[160];

    snprintf(words, sizeof(words), "the node segment is damaged: %s", what);
    ftc_process_end_job(comm->process, FTC_EXIT_INTERNAL, words);
}

void ftc_posts_accuse(struct ftc_comm *comm, int rank)
{
    if (rank == comm->rank) /* no rank is fenced because it accuses itself */
        ftc_process_leave(comm->process, FTC_EXIT_CORRUPT, "this process's own post has changed");
    if (!ftc_posts_knows_failed(comm, rank) &&
        !ftc_set_has(&comm->process->accused, ftc_comm_job_rank(comm, rank)))
        ftc_comm_accuse(comm, rank, "has damaged its post in the node segment");
}

_Noreturn void ftc_posts_mismatch(struct ftc_comm *comm, uint64_t op,
                                  const struct ftc_signature *own, int rank,
                                  const struct ftc_signature *theirs)
{
    char words[FTC_MISMATCH_WORDS];

    ftc_mismatch_words(words, op, rank, theirs, comm->rank, own);
    ftc_comm_end_mismatched(comm, words);
}

static void check_call(struct ftc_comm *comm, int rank, const struct ftc_signature *theirs)
{
    const struct ftc_signature *own = &comm->levels->call->signature;

    if (!ftc_signature_equal(theirs, own))
        ftc_posts_mismatch(comm, ftc_member_next_op(comm->member), own, rank, theirs);
}

void ftc_posts_read(struct ftc_comm *comm, enum ftc_level_kind kind, int rank,
                    struct ftc_level_record *record)
{
    const struct ftc_levels *levels = comm->levels;

    if (ftc_level_read(levels->shared, kind, levels->round, rank, record) != 0)
        ftc_posts_damaged(comm, ftc_last_error());
    check_call(comm, rank, &record->signature);
}

/* Contributions that stay apart may be of any size up to this one, and so may lists of them. */
static bool fits(const struct ftc_level_record *record, size_t size)
{
    return ftc_signature_gathers(&record->signature) ? record->size <= size : record->size == size;
}

const unsigned char *ftc_posts_data(struct ftc_comm *comm, const struct ftc_level_record *record,
                                    size_t size)
{
    if (!fits(record, size))
        ftc_posts_damaged(comm, "a record has not the size of its call");
    return record->data;
}

size_t ftc_posts_size(const struct ftc_comm *comm, const struct ftc_call *call)
{
    if (call->signature.kind == FTC_CALL_BCAST)
        return 0;
    return call->signature.kind == FTC_CALL_VALIDATE ? ftc_set_bytes(comm->size)
                                                     : (size_t)call->signature.size;
}

/* --- the node --- */

/* urgent: the rank may be out of the library, and then its progress thread is wanted. */
static void ring(struct ftc_comm *comm, int rank, bool urgent)
{
    if (rank != comm->rank && !ftc_comm_is_declared(comm, rank))
        ftc_bell_ring(&comm->process->bell, ftc_comm_job_rank(comm, rank), urgent);
}

void ftc_posts_ring(struct ftc_comm *comm, int first, int end)
{
    for (int rank = first; rank < end; rank++)
        ring(comm, rank, false);
}

bool ftc_posts_knows_failed(const struct ftc_comm *comm, int rank)
{
    return ftc_set_has(ftc_member_known_failed(comm->member), rank);
}

int ftc_posts_delegate(const struct ftc_comm *comm)
{
    int rank = comm->levels->first, root = comm->levels->root;

    if (root >= 0 && !ftc_posts_knows_failed(comm, root))
        return root;
    while (rank < comm->rank && ftc_posts_knows_failed(comm, rank))
        rank++;
    return rank;
}

/* --- decision words --- */

/* Is the word of `rank` there? *last: the search ends here, because it is there, or because the
 * rank is the delegate and the word may still come. L is read before the mark: a rank that was in L
 * before has written all that it ever will. */
static bool has_word(const struct ftc_comm *comm, int rank, bool *last)
{
    struct ftc_levels *levels = comm->levels;
    bool failed = ftc_posts_knows_failed(comm, rank), there;

    there = ftc_level_marked(levels->shared, FTC_LEVEL_WORD, levels->round, rank);
    if (there)
        levels->writer = rank;
    *last = there || !failed;
    return there;
}

/* Looks at the words of the ranks before this one: the ranks in L, whose words are final, and then
 * the delegate. */
static bool find_word(const struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;
    bool last = levels->root == comm->rank, there = false;

    if (!last && levels->root >= 0)
        there = has_word(comm, levels->root, &last);
    for (int rank = levels->first; !last && rank < comm->rank; rank++)
        there = has_word(comm, rank, &last);
    return there;
}

/* --- posting --- */

/* How many rounds a delegate may be ahead of the other ranks of its node in such a broadcast. */
static unsigned most_ahead(const struct ftc_comm *comm, const struct ftc_signature *signature)
{
    return ftc_level_turns(comm->levels->shared, FTC_LEVEL_WORD, (size_t)signature->size) - 1;
}

/* The delegate of a call with this root, by what is declared. A rank that takes itself for the
 * delegate by its L is this one, or will be declared, because L has only declared ranks. */
static int declared_delegate(const struct ftc_comm *comm, int root)
{
    int rank = comm->levels->first;

    if (root >= comm->levels->first && root < comm->levels->end &&
        !ftc_comm_is_declared(comm, root))
        return root;
    while (rank < comm->rank && ftc_comm_is_declared(comm, rank))
        rank++;
    return rank;
}

/* nodes.md, "Waking ahead". The delegate of the broadcast so many rounds later may wait for this
 * rank's mark. The post of any living rank for that round says which rank is its root, and so its
 * delegate. */
static void wake_ahead(struct ftc_comm *comm, unsigned ahead)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record record;
    int rank = levels->first;
    uint64_t round = levels->round + ahead;

    while (rank < levels->end && (ftc_comm_is_declared(comm, rank) ||
                                  !ftc_level_marked(levels->shared, FTC_LEVEL_POST, round, rank)))
        rank++;
    if (rank == levels->end ||
        ftc_level_read(levels->shared, FTC_LEVEL_POST, round, rank, &record) != 0 ||
        most_ahead(comm, &record.signature) != ahead)
        return;
    int delegate = declared_delegate(comm, (int)record.signature.root);
    ring(comm, delegate, false);
}

/* Is this rank the last of its node to post? If two post at the same time, both may be. A rank that
 * is declared later is not waited for: the launcher rings all then. */
static bool posts_last(const struct ftc_comm *comm)
{
    const struct ftc_levels *levels = comm->levels;

    for (int rank = levels->first; rank < levels->end; rank++)
        if (!ftc_level_marked(levels->shared, FTC_LEVEL_POST, levels->round, rank) &&
            !ftc_comm_is_declared(comm, rank))
            return false;
    return true;
}

/* Rings the delegates that may wait for this post. The post and the looks must be sequentially
 * consistent, as for a bell: either this rank sees the word, or the writer of the word sees this
 * post; and one of the ranks that post sees the posts of all others. */
static void ring_for_post(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;
    bool goes_on = ftc_member_sums(comm->member, &levels->call->signature);
    int delegate = declared_delegate(comm, levels->root);

    atomic_thread_fence(memory_order_seq_cst);
    if (levels->gathers && posts_last(comm))
        ring(comm, delegate, goes_on);
    if (goes_on || (!levels->gathers && find_word(comm))) {
        wake_ahead(comm, FTC_LEVEL_BLOCKS - 1);
        wake_ahead(comm, FTC_LEVEL_PLACES - 1);
    }
}

void ftc_posts_write(struct ftc_comm *comm, const struct ftc_call *call)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record record = {.signature = call->signature,
                                      .epoch = ftc_member_epoch(comm->member),
                                      .data = call->input,
                                      .size = ftc_signature_gathers(&call->signature)
                                                  ? call->input_size
                                                  : ftc_posts_size(comm, call)};

    if (call->signature.kind == FTC_CALL_VALIDATE) {
        ftc_set_to_bytes(ftc_member_known_failed(comm->member), levels->input);
        record.data = levels->input;
    }
    ftc_progress_must(comm->process,
                      ftc_level_write(levels->shared, FTC_LEVEL_POST, levels->round, &record));
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_SEND);
}

void ftc_posts_post(struct ftc_comm *comm, const struct ftc_call *call)
{
    ftc_posts_write(comm, call);
    ring_for_post(comm);
}

/* --- waiting --- */

/* A post is damaged if it names the call that is made here, but is not of a size that posts of this
 * call have. */
static bool is_damaged(const struct ftc_comm *comm, const struct ftc_level_record *record)
{
    const struct ftc_call *call = comm->levels->call;

    return ftc_signature_equal(&record->signature, &call->signature) &&
           !fits(record, ftc_posts_size(comm, call));
}

/* nodes.md, "Another epoch" and "Damage". A post of another epoch is ignored: its writer is dead,
 * and the notice will come. A damaged post is ignored, too. Its writer is accused, but only with
 * `gathers`: then no rank can be writing a later post over it. */
static bool find_post(struct ftc_comm *comm, int rank, struct ftc_level_record *record,
                      bool gathers)
{
    if (!ftc_level_marked(comm->levels->shared, FTC_LEVEL_POST, comm->levels->round, rank))
        return false;
    if (ftc_level_read(comm->levels->shared, FTC_LEVEL_POST, comm->levels->round, rank, record) !=
            0 ||
        (gathers && is_damaged(comm, record))) {
        if (gathers)
            ftc_posts_accuse(comm, rank);
        return false;
    }
    return ftc_epoch_equal(record->epoch, ftc_member_epoch(comm->member));
}

/* agreement.md, finality: L is read before the mark. Only then "in L without a mark" is final. */
static bool has_gathered(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record record;

    for (; levels->posted < levels->end; levels->posted++) {
        bool failed = ftc_posts_knows_failed(comm, levels->posted);
        if (find_post(comm, levels->posted, &record, true))
            continue;
        if (!failed)
            return false;
        ftc_set_add(&levels->missing, levels->posted);
    }
    return true;
}

/* nodes.md, "Room for a broadcast's word". Has each rank of the node posted for the round that is
 * most_ahead() before, or failed? Then it has read the word that this round overwrites. The marks
 * are still there: no rank has come so far that it writes over them. */
static bool has_room(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;
    unsigned ahead = most_ahead(comm, &levels->call->signature);

    for (; levels->round >= ahead && levels->posted < levels->end; levels->posted++) {
        bool failed = ftc_posts_knows_failed(comm, levels->posted);
        if (!ftc_level_marked(levels->shared, FTC_LEVEL_POST, levels->round - ahead,
                              levels->posted) &&
            !failed)
            return false;
    }
    return true;
}

/* nodes.md, "Wrong calls". A rank that is in another call than its delegate would wait for ever.
 * The post of the delegate counts only if the word is not there, which is looked at afterwards:
 * once the word is there the delegate may be overwriting this post with that of a later round. */
static void compare(struct ftc_comm *comm, int delegate)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record record;

    if (levels->compared || !find_post(comm, delegate, &record, false))
        return;
    levels->compared = ftc_signature_equal(&record.signature, &levels->call->signature);
    atomic_thread_fence(memory_order_acquire);
    if (!levels->compared && !find_word(comm))
        check_call(comm, delegate, &record.signature);
}

bool ftc_posts_ready(struct ftc_comm *comm)
{
    const struct ftc_levels *levels = comm->levels;

    if (find_word(comm))
        return true;
    int delegate = ftc_posts_delegate(comm);
    if (delegate == comm->rank)
        return levels->gathers ? has_gathered(comm) : has_room(comm);
    compare(comm, delegate);
    return levels->writer >= 0;
}
