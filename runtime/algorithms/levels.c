/*
 * Operations over two levels. A rank posts; then it waits for the decision word of its node, or, as
 * its delegate, until all have posted or failed, and then its member takes the call for the node.
 * Not before: so what other nodes send meanwhile is kept, and nobody but the delegate can act for
 * the node. When a delegate dies the next one finds itself in that place, with the posts still
 * there.
 *
 * A broadcast without a reduce does not wait for posts. Its delegates wait for those of the round
 * AHEAD before: whoever has made one has read what the word of this round is written over, that of
 * the round before it.
 */
#include "runtime/algorithms/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "node/board/level.h"
#include "runtime/call.h"
#include "runtime/flow_control.h"
#include "runtime/job_end.h"
#include "runtime/progress.h"
#include "runtime/publish.h"

#define AHEAD                                                                                      \
    (FTC_LEVEL_PLACES - 1) /* rounds that a broadcast's root may be ahead of a rank of its node */

struct ftc_levels {
    struct ftc_level *shared;
    int *first_ranks; /* of each node */
    int first, end;   /* the ranks of this node */
    uint64_t round;   /* of the call under way, or of the next */
    bool waiting;     /* the member has not got the call yet */
    bool leads;       /* ... got it, for the node */
    const struct ftc_call *call;
    int root;               /* of the call, if it is on this node; -1 */
    bool compared;          /* the call is that of the delegate */
    bool gathers;           /* the delegate waits for all posts */
    int posted;             /* ranks before it have posted, or never will */
    struct ftc_set missing; /* those that never will */
    int writer;             /* whose decision word it is; -1: none is there yet */
    unsigned char *input;
};

/* --- life --- */

static bool wants_two(const struct ftc_comm *comm, const struct ftc_member_settings *settings,
                      int nodes)
{
    return comm->config.levels == FTC_LEVELS_AUTO && nodes > 1 && comm->size > nodes &&
           settings->scheme == FTC_SCHEME_LIST && settings->share == FTC_SHARE_PIGGYBACK &&
           settings->integrity == FTC_INTEGRITY_NONE && settings->flips == NULL &&
           settings->dissemination != FTC_DISSEMINATION_MULTICAST;
}

static int list_nodes(struct ftc_comm *comm, struct ftc_levels *levels, int nodes)
{
    levels->first_ranks = calloc((size_t)nodes + 1, sizeof(int));
    if (levels->first_ranks == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a table of %d nodes", nodes);
    for (int rank = comm->size - 1; rank >= 0; rank--)
        levels->first_ranks[ftc_segment_node_of(comm->segment, rank)] = rank;
    levels->first_ranks[nodes] = comm->size;
    return 0;
}

int ftc_algorithms_settings(struct ftc_comm *comm, struct ftc_member_settings *settings)
{
    int nodes = comm->alone ? 1 : ftc_segment_nodes(comm->segment), count;

    if (!wants_two(comm, settings, nodes))
        return 0;
    struct ftc_levels *levels = comm->levels = calloc(1, sizeof(*levels));
    if (levels == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for operations over two levels");
    levels->first = ftc_segment_local(comm->segment, &count);
    levels->end = levels->first + count;
    levels->input = malloc(FTC_LEVEL_MOST);
    if (levels->input == NULL || ftc_set_init(&levels->missing, comm->size) != 0)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for operations over two levels");
    int rc = list_nodes(comm, levels, nodes);
    if (rc == 0)
        rc = ftc_level_open(&levels->shared, comm->segment, comm->rank);
    settings->nodes = nodes;
    settings->first_ranks = levels->first_ranks;
    settings->levels_most = FTC_LEVEL_MOST;
    return rc;
}

static void levels_close(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;

    if (levels == NULL)
        return;
    ftc_level_close(levels->shared);
    ftc_set_fini(&levels->missing);
    free(levels->first_ranks);
    free(levels->input);
    free(levels);
    comm->levels = NULL;
}

static bool takes(const struct ftc_comm *comm, const struct ftc_signature *signature)
{
    return comm->levels != NULL && ftc_member_two_levels(comm->member, signature);
}

/* --- records of others --- */

_Noreturn static void damaged(struct ftc_comm *comm, const char *what)
{
    char words[160];

    snprintf(words, sizeof(words), "the node segment is damaged: %s", what);
    ftc_comm_end_job(comm, FTC_EXIT_INTERNAL, words);
}

_Noreturn static void mismatch(struct ftc_comm *comm, int rank, const struct ftc_signature *theirs)
{
    char words[FTC_MISMATCH_WORDS];

    ftc_mismatch_words(words, ftc_member_next_op(comm->member), rank, theirs, comm->rank,
                       &comm->levels->call->signature);
    ftc_comm_end_job(comm, FTC_EXIT_MISMATCH, words);
}

static void read_record(struct ftc_comm *comm, enum ftc_level_kind kind, int rank,
                        struct ftc_level_record *record)
{
    const struct ftc_levels *levels = comm->levels;

    if (ftc_level_read(levels->shared, kind, levels->round, rank, record) != 0)
        damaged(comm, ftc_last_error());
    if (!ftc_signature_equal(&record->signature, &levels->call->signature))
        mismatch(comm, rank, &record->signature);
}

/* The data of a post, or of a word: as large as it must be. */
static const unsigned char *data_of(struct ftc_comm *comm, const struct ftc_level_record *record,
                                    size_t size)
{
    if (record->size != size)
        damaged(comm, "a record has not the size of its call");
    return record->data;
}

static bool is_broadcast(const struct ftc_call *call)
{
    return call->signature.kind == FTC_CALL_BCAST;
}

/* What each rank posts: its input, or L; for a broadcast the call alone. */
static size_t post_size(const struct ftc_comm *comm, const struct ftc_call *call)
{
    if (is_broadcast(call))
        return 0;
    return call->signature.kind == FTC_CALL_VALIDATE ? ftc_set_bytes(comm->size)
                                                     : (size_t)call->signature.size;
}

/* --- the node --- */

static void ring_node(struct ftc_comm *comm, int first, int end)
{
    for (int rank = first; rank < end; rank++)
        if (rank != comm->rank && !ftc_segment_failed(comm->segment, rank))
            ftc_bell_ring(&comm->bell, rank, false);
}

static bool knows_failed(const struct ftc_comm *comm, int rank)
{
    return ftc_set_has(ftc_member_known_failed(comm->member), rank);
}

/* The root, else the lowest rank of the node: of those that are not known failed. */
static int delegate_of(const struct ftc_comm *comm)
{
    int rank = comm->levels->first, root = comm->levels->root;

    if (root >= 0 && !knows_failed(comm, root))
        return root;
    while (rank < comm->rank && knows_failed(comm, rank))
        rank++;
    return rank;
}

/* --- decision words --- */

/* Is the word of a rank before this one there? *last: it may still come, and no other. L is read
 * before the mark. */
static bool has_word(const struct ftc_comm *comm, int rank, bool *last)
{
    struct ftc_levels *levels = comm->levels;
    bool failed = knows_failed(comm, rank), there;

    there = ftc_level_marked(levels->shared, FTC_LEVEL_WORD, levels->round, rank);
    if (there)
        levels->writer = rank;
    *last = there || !failed;
    return there;
}

/* The words of those before it: of the dead, which is final, and of the delegate. */
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

/* The delegate of a broadcast that waits for this rank's mark: who lives and has posted for that
 * round knows its root. */
static void wake_ahead(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record record;
    int rank = levels->first, lowest = levels->first;
    uint64_t round = levels->round + AHEAD;

    while (rank < levels->end && (ftc_segment_failed(comm->segment, rank) ||
                                  !ftc_level_marked(levels->shared, FTC_LEVEL_POST, round, rank)))
        rank++;
    if (rank == levels->end ||
        ftc_level_read(levels->shared, FTC_LEVEL_POST, round, rank, &record) != 0)
        return;
    int root = (int)record.signature.root;
    if (root >= levels->first && root < levels->end && !ftc_segment_failed(comm->segment, root)) {
        ring_node(comm, root, root + 1);
        return;
    }
    while (lowest < levels->end && ftc_segment_failed(comm->segment, lowest))
        lowest++;
    ring_node(comm, lowest, lowest + 1);
}

/* Who has posted is to see what came before, and others this post: sequentially consistent, as for
 * a bell. */
static void ring_for_post(struct ftc_comm *comm)
{
    int delegate = delegate_of(comm);

    if (comm->levels
            ->gathers) { /* who takes over after it has read this will look at the posts anyway */
        ring_node(comm, delegate, delegate + 1);
        return;
    }
    atomic_thread_fence(memory_order_seq_cst);
    if (find_word(comm))
        wake_ahead(comm);
}

static void post(struct ftc_comm *comm, const struct ftc_call *call)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record record = {.signature = call->signature,
                                      .epoch = ftc_member_epoch(comm->member),
                                      .data = call->input,
                                      .size = post_size(comm, call)};

    if (call->signature.kind == FTC_CALL_VALIDATE) {
        ftc_set_to_bytes(ftc_member_known_failed(comm->member), levels->input);
        record.data = levels->input;
    }
    ftc_progress_must(comm,
                      ftc_level_write(levels->shared, FTC_LEVEL_POST, levels->round, &record));
    ftc_drill_pass(&comm->drill, FTC_DRILL_SEND);
    ring_for_post(comm);
}

/* --- waiting --- */

/* It names the call that is made here, and has another size than a post of that call. */
static bool is_damaged(const struct ftc_comm *comm, const struct ftc_level_record *record)
{
    const struct ftc_call *call = comm->levels->call;

    return ftc_signature_equal(&record->signature, &call->signature) &&
           record->size != post_size(comm, call);
}

/* A post of another epoch is ignored: its writer is dead, and the notice will come. A damaged post
 * is ignored, too, and its writer is accused: but only if no rank can be writing a later post over
 * it (`gathers`). */
static bool find_post(struct ftc_comm *comm, int rank, struct ftc_level_record *record,
                      bool gathers)
{
    if (!ftc_level_marked(comm->levels->shared, FTC_LEVEL_POST, comm->levels->round, rank))
        return false;
    if (ftc_level_read(comm->levels->shared, FTC_LEVEL_POST, comm->levels->round, rank, record) !=
            0 ||
        (gathers && is_damaged(comm, record))) {
        if (gathers && rank == comm->rank) /* nobody else fences a rank for its own accusation */
            ftc_comm_leave(comm, FTC_EXIT_CORRUPT, "this process's own post has changed");
        if (gathers && !knows_failed(comm, rank) && !ftc_set_has(&comm->accused, rank))
            ftc_progress_accuse(comm, rank, "has damaged its post in the node segment");
        return false;
    }
    return ftc_epoch_equal(record->epoch, ftc_member_epoch(comm->member));
}

/* agreement.md, finality: L is read before the mark that it settles. */
static bool has_gathered(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record record;

    for (; levels->posted < levels->end; levels->posted++) {
        bool failed = knows_failed(comm, levels->posted);
        if (find_post(comm, levels->posted, &record, true))
            continue;
        if (!failed)
            return false;
        ftc_set_add(&levels->missing, levels->posted);
    }
    return true;
}

/* Have all posted in that round, hence read the word of the one before it? Nobody has posted for
 * the next one, in the same place. */
static bool has_room(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;

    for (; levels->round >= AHEAD && levels->posted < levels->end; levels->posted++) {
        bool failed = knows_failed(comm, levels->posted);
        if (!ftc_level_marked(levels->shared, FTC_LEVEL_POST, levels->round - AHEAD,
                              levels->posted) &&
            !failed)
            return false;
    }
    return true;
}

/* Who is in another operation than its delegate would wait for ever. When the word is there, which
 * is looked at after it, the delegate may be writing its post of a later round over this one. */
static void compare(struct ftc_comm *comm, int delegate)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record record;

    if (levels->compared || !find_post(comm, delegate, &record, false))
        return;
    levels->compared = ftc_signature_equal(&record.signature, &levels->call->signature);
    atomic_thread_fence(memory_order_acquire);
    if (!levels->compared && !find_word(comm))
        mismatch(comm, delegate, &record.signature);
}

static bool is_ready(struct ftc_comm *comm, void *arg)
{
    const struct ftc_levels *levels = comm->levels;

    (void)arg;
    if (find_word(comm))
        return true;
    int delegate = delegate_of(comm);
    if (delegate == comm->rank)
        return levels->gathers ? has_gathered(comm) : has_room(comm);
    compare(comm, delegate);
    return levels->writer >= 0;
}

/* --- the call --- */

/* In rank order. */
static const void *combine(struct ftc_comm *comm, const struct ftc_call *call)
{
    struct ftc_levels *levels = comm->levels;
    bool validates = call->signature.kind == FTC_CALL_VALIDATE, first = true;
    size_t size = post_size(comm, call);
    struct ftc_level_record record;

    if (size == 0)
        return NULL;
    for (int rank = levels->first; rank < levels->end; rank++) {
        if (ftc_set_has(&levels->missing, rank))
            continue;
        read_record(comm, FTC_LEVEL_POST, rank, &record);
        const unsigned char *data = data_of(comm, &record, size);
        if (first)
            memcpy(levels->input, data, size);
        else if (validates)
            ftc_set_unite_bytes(NULL, data, levels->input, size);
        else
            call->combine(call->combine_arg, data, levels->input, size);
        first = false;
    }
    return levels->input;
}

/* A barrier has no data, but may be another call. */
static void check_posts(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record record;

    for (int rank = levels->first; rank < levels->end; rank++)
        if (!ftc_set_has(&levels->missing, rank))
            read_record(comm, FTC_LEVEL_POST, rank, &record);
}

static void call_for_node(struct ftc_comm *comm, const struct ftc_call *call)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_call whole = *call;

    if (levels->gathers) {
        check_posts(comm);
        whole.input = is_broadcast(call) ? call->input : combine(comm, call);
        whole.missing = ftc_set_empty(&levels->missing) ? NULL : &levels->missing;
    }
    levels->leads = true;
    levels->waiting = false;
    ftc_progress_must(comm, ftc_member_call(comm->member, &whole));
}

static int decision_from(struct ftc_comm *comm, struct ftc_decision **out)
{
    struct ftc_levels *levels = comm->levels;
    int kind = levels->call->signature.kind;
    struct ftc_level_record record;

    read_record(comm, FTC_LEVEL_WORD, levels->writer, &record);
    bool root_failed = kind == FTC_CALL_BCAST && record.status == FTC_ERR_ROOT_FAILED;
    bool carries = ftc_call_table[kind].carries && !root_failed;
    if (record.status != FTC_SUCCESS && !root_failed)
        damaged(comm, "a decision word has a status that cannot be");
    size_t size = carries ? (size_t)levels->call->signature.size : 0;
    const unsigned char *data = data_of(comm, &record, size);
    struct ftc_decision *decision = ftc_decision_new(comm->size);
    struct ftc_buffer *buffer = size > 0 ? ftc_buffer_new(size) : NULL;
    if (decision == NULL || (size > 0 && buffer == NULL)) {
        ftc_decision_unref(decision);
        ftc_buffer_unref(buffer);
        return FTC_ERR_NOMEM;
    }
    decision->ballot = record.ballot;
    decision->status = record.status;
    ftc_set_add_bytes(&decision->failed, record.set);
    if (size > 0) {
        memcpy(buffer->data, data, size);
        decision->value = (struct ftc_value){.buffer = buffer, .size = size};
    }
    *out = decision;
    return 0;
}

static void call_decided(struct ftc_comm *comm, const struct ftc_call *call)
{
    struct ftc_decision *decision = NULL;
    struct ftc_call decided = *call;

    decided.input = NULL;
    ftc_progress_must(comm, decision_from(comm, &decision));
    int rc = ftc_member_adopt(comm->member, ftc_member_next_op(comm->member), decision);
    ftc_decision_unref(decision);
    if (rc == FTC_ERR_PROTO)
        damaged(comm, "a decision word cannot be");
    ftc_progress_must(comm, rc);
    comm->levels->waiting = false;
    ftc_progress_must(comm, ftc_member_call(comm->member, &decided));
}

static void begin(struct ftc_comm *comm, const struct ftc_call *call)
{
    struct ftc_levels *levels = comm->levels;
    int root = (int)call->signature.root;

    levels->call = call;
    levels->root = root >= levels->first && root < levels->end ? root : -1;
    levels->compared = false;
    levels->gathers = ftc_member_gathers(comm->member, &call->signature);
    levels->posted = levels->first;
    levels->writer = -1;
    levels->leads = false;
    levels->waiting = true;
    ftc_set_clear(&levels->missing);
}

static int go(struct ftc_comm *comm, const struct ftc_call *call)
{
    struct ftc_levels *levels = comm->levels;

    begin(comm, call);
    ftc_publish_called(comm, ftc_member_next_op(comm->member) + 1);
    post(comm, call);
    ftc_flow_control_answer(comm);
    ftc_progress_until(comm, &(struct ftc_until){.done = is_ready});
    if (levels->writer >= 0)
        call_decided(comm, call);
    else
        call_for_node(comm, call);
    ftc_call_await_delivery(comm);
    if (levels->leads)
        ring_node(comm, levels->root == comm->rank ? levels->first : comm->rank + 1, levels->end);
    levels->leads = false;
    levels->call = NULL;
    levels->round++;
    return 0;
}

static int run(struct ftc_comm *comm, const struct ftc_call *call, void *receive)
{
    return ftc_call_agree(comm, call, receive, go);
}

static void check_own(struct ftc_comm *comm)
{
    const struct ftc_levels *levels = comm->levels;

    if (levels == NULL)
        return;
    /* In a call this round's post is made before any wait. */
    for (uint64_t back = levels->call != NULL ? 0 : 1; back <= AHEAD && back <= levels->round;
         back++)
        if (!ftc_level_marked(levels->shared, FTC_LEVEL_POST, levels->round - back, comm->rank))
            ftc_comm_leave(comm, FTC_EXIT_CORRUPT, "this process's own mark has changed");
}

/* The word, before anybody hears of it. */
static void deliver(struct ftc_comm *comm, const struct ftc_output *output)
{
    struct ftc_levels *levels = comm->levels;

    if (levels == NULL || !levels->leads || levels->end - levels->first == 1)
        return;
    const struct ftc_decision *decision = output->decision;
    size_t size = decision->value.buffer != NULL ? decision->value.size : 0;
    struct ftc_level_record record = {.signature = levels->call->signature,
                                      .ballot = decision->ballot,
                                      .status = decision->status,
                                      .data = size > 0 ? ftc_value_bytes(&decision->value) : NULL,
                                      .size = size};
    unsigned char set[FTC_NODE_MAX_RANKS / 8 + 8];

    ftc_set_to_bytes(&decision->failed, set);
    record.set = set;
    ftc_progress_must(comm,
                      ftc_level_write(levels->shared, FTC_LEVEL_WORD, levels->round, &record));
    ftc_drill_pass(&comm->drill, FTC_DRILL_SEND);
}

/* --- looking in --- */

/* The delegate waits for posts, the others for the delegate. */
static void activity(const struct ftc_comm *comm, struct ftc_member_activity *now)
{
    const struct ftc_levels *levels = comm->levels;

    if (levels == NULL || !levels->waiting)
        return;
    int delegate = delegate_of(comm);
    now->kind = (enum ftc_call_kind)levels->call->signature.kind;
    now->op = ftc_member_next_op(comm->member);
    now->root = (int)levels->call->signature.root;
    now->wait = delegate == comm->rank ? FTC_WAIT_POST : FTC_WAIT_RESULT;
    now->waits = 1;
    now->waits_for =
        delegate == comm->rank && levels->posted < levels->end ? levels->posted : delegate;
}

const struct ftc_algorithm ftc_algorithm_levels = {
    .name = "levels",
    .takes = takes,
    .run = run,
    .close = levels_close,
    .delivers = deliver,
    .sleeps = check_own,
    .activity = activity,
};
