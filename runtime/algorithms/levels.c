/*
 * Operations over two levels (docs/design/nodes.md, "Two levels").
 *
 * Each rank posts. The delegate of a node waits until all ranks of the node have posted or failed.
 * Then its member takes the call, for the node. The other ranks wait for the decision word of the
 * node. Their members do not take the call before: so messages of other nodes are kept, and only
 * the delegate acts for the node. If the delegate dies, the next rank becomes the delegate. The
 * posts are still there.
 *
 * A broadcast without a reduce does not wait for the posts of its round r. Its word overwrites the
 * word of round r - AHEAD - 1. So its delegate waits for the posts of round r - AHEAD: a rank that
 * has posted there has read the word of the round before.
 */
#include "runtime/algorithms/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "node/board/level.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/flow_control.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/request.h"
#include "runtime/process/progress.h"

#define AHEAD                                                                                      \
    (FTC_LEVEL_PLACES - 1) /* how many rounds a delegate may be ahead of a rank of its node */

/* The stages of a request: it begins, it waits for posts or for the word of the node, and its
 * decision is under way. */
enum { BEGINS, GATHERS, IS_DECIDED };

struct ftc_levels {
    struct ftc_level *shared;
    int *first_ranks; /* the lowest rank of each node, and then the size of the job */
    int first, end;   /* this node has the ranks first .. end - 1 */
    uint64_t round;   /* number of the round under way, or of the next */
    bool waiting;     /* the member has not got the call yet */
    bool leads;       /* this rank is the delegate, and its member has got the call for the node */
    /* The call under way; else NULL. */
    const struct ftc_call *call;
    int root;               /* root of the call if it is on this node; else -1 */
    bool compared;          /* the delegate was found to be in the same call */
    bool gathers;           /* the delegate waits for all posts of this round */
    int posted;             /* the delegate waits for the post of this rank and those behind it */
    struct ftc_set missing; /* ranks of the node that have failed without a post */
    int writer;             /* the rank whose decision word was found; -1: none was found yet */
    unsigned char *input;   /* the combined input of the node, or the set of a validate */
};

/* --- life --- */

static int list_nodes(struct ftc_comm *comm, struct ftc_levels *levels, int nodes)
{
    levels->first_ranks = calloc((size_t)nodes + 1, sizeof(int));
    if (levels->first_ranks == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a table of %d nodes", nodes);
    for (int rank = comm->size - 1; rank >= 0; rank--)
        levels->first_ranks[ftc_segment_node_of(comm->process->segment, rank)] = rank;
    levels->first_ranks[nodes] = comm->size;
    return 0;
}

int ftc_algorithms_settings(struct ftc_comm *comm, struct ftc_member_settings *settings)
{
    if (settings->nodes <= 1)
        return 0;
    struct ftc_level_setup setup = {.segment = comm->process->segment,
                                    .communicator = comm->driven.number,
                                    .rank = comm->rank,
                                    .ranks = comm->size};
    struct ftc_levels *levels = comm->levels = calloc(1, sizeof(*levels));
    if (levels == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for operations over two levels");
    levels->first = setup.first = ftc_segment_local(setup.segment, &setup.count);
    levels->end = setup.first + setup.count;
    levels->input = malloc(FTC_LEVEL_MOST);
    if (levels->input == NULL || ftc_set_init(&levels->missing, comm->size) != 0)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for operations over two levels");
    int rc = list_nodes(comm, levels, settings->nodes);
    if (rc == 0)
        rc = ftc_level_open(&levels->shared, &setup);
    settings->first_ranks = levels->first_ranks;
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

/* --- records of others --- */

_Noreturn static void damaged(struct ftc_comm *comm, const char *what)
{
    char words[160];

    snprintf(words, sizeof(words), "the node segment is damaged: %s", what);
    ftc_process_end_job(comm->process, FTC_EXIT_INTERNAL, words);
}

_Noreturn static void mismatch(struct ftc_comm *comm, int rank, const struct ftc_signature *theirs)
{
    char words[FTC_MISMATCH_WORDS];

    ftc_mismatch_words(words, ftc_member_next_op(comm->member), rank, theirs, comm->rank,
                       &comm->levels->call->signature);
    ftc_process_end_job(comm->process, FTC_EXIT_MISMATCH, words);
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

/* The data of a post or a word, which must be of `size` bytes. */
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

/* The size of what each rank posts: its input; L for a validate; nothing for a broadcast. */
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
        if (rank != comm->rank && !ftc_segment_failed(comm->process->segment, rank))
            ftc_bell_ring(&comm->process->bell, rank, false);
}

static bool knows_failed(const struct ftc_comm *comm, int rank)
{
    return ftc_set_has(ftc_member_known_failed(comm->member), rank);
}

/* The delegate by this rank's L: the root if it is here and not in L, else the lowest rank of the
 * node outside of L. */
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

/* Is the word of `rank` there? *last: the search ends here, because it is there, or because the
 * rank is the delegate and the word may still come. L is read before the mark: a rank that was in L
 * before has written all that it ever will. */
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

/* nodes.md, "Waking ahead". The delegate of the broadcast AHEAD rounds later may wait for this
 * rank's mark. The post of any living rank for that round says who its root is, and so its
 * delegate. */
static void wake_ahead(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record record;
    int rank = levels->first, lowest = levels->first;
    uint64_t round = levels->round + AHEAD;

    while (rank < levels->end && (ftc_segment_failed(comm->process->segment, rank) ||
                                  !ftc_level_marked(levels->shared, FTC_LEVEL_POST, round, rank)))
        rank++;
    if (rank == levels->end ||
        ftc_level_read(levels->shared, FTC_LEVEL_POST, round, rank, &record) != 0)
        return;
    int root = (int)record.signature.root;
    if (root >= levels->first && root < levels->end &&
        !ftc_segment_failed(comm->process->segment, root)) {
        ring_node(comm, root, root + 1);
        return;
    }
    while (lowest < levels->end && ftc_segment_failed(comm->process->segment, lowest))
        lowest++;
    ring_node(comm, lowest, lowest + 1);
}

/* Rings the delegate if it may wait for this post. The post and the look for the word must be
 * sequentially consistent, as for a bell: either this rank sees the word, or the writer of the word
 * sees this post. */
static void ring_for_post(struct ftc_comm *comm)
{
    int delegate = delegate_of(comm);

    if (comm->levels->gathers) { /* a delegate that takes over later looks at the posts anyway */
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
    ftc_progress_must(comm->process,
                      ftc_level_write(levels->shared, FTC_LEVEL_POST, levels->round, &record));
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_SEND);
    ring_for_post(comm);
}

/* --- waiting --- */

/* A post is damaged if it names the call that is made here, but is not of the size that posts of
 * this call have. */
static bool is_damaged(const struct ftc_comm *comm, const struct ftc_level_record *record)
{
    const struct ftc_call *call = comm->levels->call;

    return ftc_signature_equal(&record->signature, &call->signature) &&
           record->size != post_size(comm, call);
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
        if (gathers && rank == comm->rank) /* no rank is fenced because it accuses itself */
            ftc_process_leave(comm->process, FTC_EXIT_CORRUPT,
                              "this process's own post has changed");
        if (gathers && !knows_failed(comm, rank) && !ftc_set_has(&comm->process->accused, rank))
            ftc_progress_accuse(comm->process, rank, "has damaged its post in the node segment");
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
        bool failed = knows_failed(comm, levels->posted);
        if (find_post(comm, levels->posted, &record, true))
            continue;
        if (!failed)
            return false;
        ftc_set_add(&levels->missing, levels->posted);
    }
    return true;
}

/* nodes.md, "Room for a broadcast's word". Has each rank of the node posted for round - AHEAD, or
 * failed? Then it has read the word that this round overwrites. The marks are still there: the post
 * for round + 1 goes to the same place, and no rank has come so far. */
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
        mismatch(comm, delegate, &record.signature);
}

static bool is_ready(struct ftc_comm *comm)
{
    const struct ftc_levels *levels = comm->levels;

    if (find_word(comm))
        return true;
    int delegate = delegate_of(comm);
    if (delegate == comm->rank)
        return levels->gathers ? has_gathered(comm) : has_room(comm);
    compare(comm, delegate);
    return levels->writer >= 0;
}

/* --- the call --- */

/* Combines the posts of the node in rank order. */
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

/* Compares the calls of all posts with that of this rank. combine() does not do so if a call has no
 * data. */
static void check_posts(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;
    struct ftc_level_record record;

    for (int rank = levels->first; rank < levels->end; rank++)
        if (!ftc_set_has(&levels->missing, rank))
            read_record(comm, FTC_LEVEL_POST, rank, &record);
}

static void decide(struct ftc_comm *comm, struct ftc_request *request, const struct ftc_call *call)
{
    comm->levels->waiting = false;
    if (!ftc_request_decide(comm, request, call))
        ftc_progress_must(comm->process, request->status);
    ftc_algorithms_called(comm);
    ftc_comm_outputs(comm);
}

static void call_for_node(struct ftc_comm *comm, struct ftc_request *request)
{
    struct ftc_levels *levels = comm->levels;
    const struct ftc_call *call = request->call;
    struct ftc_call whole = *call;

    if (levels->gathers) {
        check_posts(comm);
        whole.input = is_broadcast(call) ? call->input : combine(comm, call);
        whole.missing = ftc_set_empty(&levels->missing) ? NULL : &levels->missing;
    }
    levels->leads = true;
    decide(comm, request, &whole);
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
    decision->write_offs = record.write_offs;
    ftc_set_add_bytes(&decision->failed, record.set);
    if (size > 0) {
        memcpy(buffer->data, data, size);
        decision->value = (struct ftc_value){.buffer = buffer, .size = size};
    }
    *out = decision;
    return 0;
}

static void call_decided(struct ftc_comm *comm, struct ftc_request *request)
{
    struct ftc_decision *decision = NULL;
    struct ftc_call decided = *request->call;

    decided.input = NULL;
    ftc_progress_must(comm->process, decision_from(comm, &decision));
    int rc = ftc_member_adopt(comm->member, ftc_member_next_op(comm->member), decision);
    ftc_decision_unref(decision);
    if (rc == FTC_ERR_PROTO)
        damaged(comm, "a decision word cannot be");
    ftc_progress_must(comm->process, rc);
    decide(comm, request, &decided);
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
    ftc_publish_called(comm, ftc_member_next_op(comm->member) + 1);
    post(comm, call);
    ftc_flow_control_answer(comm);
}

static void finish(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;

    if (levels->leads)
        ring_node(comm, levels->root == comm->rank ? levels->first : comm->rank + 1, levels->end);
    levels->leads = false;
    levels->call = NULL;
    levels->round++;
    ftc_publish_returned(comm);
}

static bool advance(struct ftc_comm *comm, struct ftc_request *request)
{
    if (request->stage == BEGINS) {
        if (!ftc_request_may_begin(comm, request))
            return false;
        begin(comm, request->call);
        request->stage = GATHERS;
    }
    if (request->stage == GATHERS) {
        if (!is_ready(comm))
            return false;
        request->stage = IS_DECIDED;
        if (comm->levels->writer >= 0)
            call_decided(comm, request);
        else
            call_for_node(comm, request);
    }
    if (request->decided)
        finish(comm);
    return request->decided;
}

static void check_own(struct ftc_comm *comm)
{
    const struct ftc_levels *levels = comm->levels;

    if (levels == NULL)
        return;
    /* During a call this starts with the mark of this round: the post is made before any wait. */
    for (uint64_t back = levels->call != NULL ? 0 : 1; back <= AHEAD && back <= levels->round;
         back++)
        if (!ftc_level_marked(levels->shared, FTC_LEVEL_POST, levels->round - back, comm->rank))
            ftc_process_leave(comm->process, FTC_EXIT_CORRUPT,
                              "this process's own mark has changed");
}

/* Writes the decision word before the decision goes to any other rank. */
static void deliver(struct ftc_comm *comm, const struct ftc_output *output)
{
    struct ftc_levels *levels = comm->levels;

    if (levels == NULL || !levels->leads || levels->end - levels->first == 1)
        return;
    const struct ftc_decision *decision = output->decision;
    size_t size = decision->value.buffer != NULL ? decision->value.size : 0;
    struct ftc_level_record record = {.signature = levels->call->signature,
                                      .ballot = decision->ballot,
                                      .write_offs = decision->write_offs,
                                      .status = decision->status,
                                      .data = size > 0 ? ftc_value_bytes(&decision->value) : NULL,
                                      .size = size};
    unsigned char set[FTC_NODE_MAX_RANKS / 8 + 8];

    ftc_set_to_bytes(&decision->failed, set);
    record.set = set;
    ftc_progress_must(comm->process,
                      ftc_level_write(levels->shared, FTC_LEVEL_WORD, levels->round, &record));
    ftc_drill_pass(&comm->process->drill, FTC_DRILL_SEND);
}

/* --- looking in --- */

/* What the slot shows: the delegate waits for posts, and the other ranks wait for the delegate. */
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
    .advance = advance,
    .close = levels_close,
    .delivers = deliver,
    .sleeps = check_own,
    .activity = activity,
};
