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
 * word of round r - W. So its delegate waits for the posts of round r - W + 1: a rank that has
 * posted there has read the word of the round before.
 */
#include "runtime/algorithms/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "runtime/algorithms/posts.h"
#include "runtime/algorithms/sums.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/flow_control.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/ranks.h"
#include "runtime/comm/request.h"
#include "runtime/process/progress.h"

/* The stages of a request: it begins, it waits for posts or for the word of the node, and its
 * decision is under way. */
enum { BEGINS, GATHERS, IS_DECIDED };

/* --- life --- */

/* The nodes in the order of their ranks in the communicator, in which the ranks of each follow one
 * another. */
static int list_nodes(struct ftc_comm *comm, struct ftc_levels *levels, int nodes)
{
    int node = 0;

    levels->first_ranks = calloc((size_t)nodes + 1, sizeof(int));
    if (levels->first_ranks == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a table of %d nodes", nodes);
    for (int rank = 1; rank < comm->size; rank++)
        if (ftc_comm_node_of(comm, rank) != ftc_comm_node_of(comm, rank - 1))
            levels->first_ranks[++node] = rank;
    levels->first_ranks[nodes] = comm->size;
    for (node = 0; levels->first_ranks[node + 1] <= comm->rank;)
        node++;
    levels->first = levels->first_ranks[node];
    levels->end = levels->first_ranks[node + 1];
    return 0;
}

int ftc_algorithms_settings(struct ftc_comm *comm, struct ftc_member_settings *settings)
{
    if (settings->nodes <= 1)
        return 0;
    struct ftc_levels *levels = comm->levels = calloc(1, sizeof(*levels));
    if (levels == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for operations over two levels");
    levels->wants = -1;
    levels->doze = FTC_DOZE_INIT;
    levels->input = malloc(FTC_LEVEL_MOST);
    if (levels->input == NULL || ftc_set_init(&levels->missing, comm->size) != 0 ||
        ftc_set_init(&levels->missing_of_sum, comm->size) != 0)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for operations over two levels");
    int rc = list_nodes(comm, levels, settings->nodes);
    if (rc == 0 && (levels->block = calloc((size_t)(levels->end - levels->first),
                                           sizeof(levels->block[0]))) == NULL)
        rc = ftc_error_set(FTC_ERR_NOMEM, "no memory for operations over two levels");
    struct ftc_level_setup setup = {.segment = comm->process->segment,
                                    .file = comm->file,
                                    .communicator = comm->driven.number,
                                    .rank = comm->rank,
                                    .ranks = comm->size,
                                    .first = levels->first,
                                    .count = levels->end - levels->first};
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
    ftc_set_fini(&levels->missing_of_sum);
    ftc_value_drop(&levels->list);
    free(levels->block);
    free(levels->first_ranks);
    free(levels->input);
    free(levels);
    comm->levels = NULL;
}

void ftc_algorithms_one_level(struct ftc_comm *comm)
{
    if (comm->levels == NULL || ftc_comm_is_revoked(comm)) /* after a revoke there are none */
        return;
    ftc_member_one_level(comm->member);
    comm->choice.member.nodes = 0;
    levels_close(comm);
}

/* --- the call --- */

/* Combines the posts of the node in rank order. */
static const void *combine(struct ftc_comm *comm, const struct ftc_call *call)
{
    struct ftc_levels *levels = comm->levels;
    bool validates = call->signature.kind == FTC_CALL_VALIDATE, first = true;
    size_t size = ftc_posts_size(comm, call);
    struct ftc_level_record record;

    if (size == 0)
        return NULL;
    for (int rank = levels->first; rank < levels->end; rank++) {
        if (ftc_set_has(&levels->missing, rank))
            continue;
        ftc_posts_read(comm, FTC_LEVEL_POST, rank, &record);
        const unsigned char *data = ftc_posts_data(comm, &record, size);
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
            ftc_posts_read(comm, FTC_LEVEL_POST, rank, &record);
}

/* The member looks at a value that it has from a word when the call is known. */
static void decide(struct ftc_comm *comm, struct ftc_request *request, const struct ftc_call *call)
{
    bool called = ftc_request_decide(comm, request, call);

    if (!called && request->status == FTC_ERR_PROTO)
        ftc_posts_damaged(comm, "a decision word has a value that cannot be");
    if (!called)
        ftc_progress_must(comm->process, request->status);
    ftc_algorithms_called(comm);
    ftc_comm_outputs(comm);
}

/* Puts the posts of the node side by side, from the highest rank to the lowest. */
static void list_posts(struct ftc_comm *comm, struct ftc_call *whole)
{
    struct ftc_levels *levels = comm->levels;
    size_t most = ftc_posts_size(comm, whole);
    struct ftc_level_record record;
    int count = 0;

    for (int rank = levels->end - 1; rank >= levels->first; rank--) {
        if (ftc_set_has(&levels->missing, rank))
            continue;
        ftc_posts_read(comm, FTC_LEVEL_POST, rank, &record);
        const unsigned char *data = ftc_posts_data(comm, &record, most);
        levels->block[count++] = (struct ftc_block){rank, record.size, data};
    }
    ftc_progress_must(comm->process, ftc_blocks_make(&levels->list, levels->block, count));
    whole->input = ftc_value_bytes(&levels->list);
    whole->input_size = levels->list.size;
}

static void call_for_node(struct ftc_comm *comm, struct ftc_request *request)
{
    struct ftc_levels *levels = comm->levels;
    const struct ftc_call *call = request->call;
    struct ftc_call whole = *call;

    if (levels->gathers) {
        check_posts(comm);
        if (ftc_signature_gathers(&call->signature))
            list_posts(comm, &whole);
        else if (call->signature.kind != FTC_CALL_BCAST)
            whole.input = combine(comm, call);
        whole.missing = ftc_set_empty(&levels->missing) ? NULL : &levels->missing;
    }
    levels->leads = true;
    whole.answers = ftc_sums_must_answer(levels, ftc_posts_size(comm, call));
    decide(comm, request, &whole);
    ftc_value_drop(&levels->list);
}

static int decision_from(struct ftc_comm *comm, struct ftc_decision **out)
{
    struct ftc_levels *levels = comm->levels;
    int kind = levels->call->signature.kind;
    struct ftc_level_record record;

    ftc_posts_read(comm, FTC_LEVEL_WORD, levels->writer, &record);
    bool root_failed = kind == FTC_CALL_BCAST && record.status == FTC_ERR_ROOT_FAILED;
    bool carries = ftc_call_table[kind].carries && !root_failed;
    if (record.status != FTC_SUCCESS && !root_failed)
        ftc_posts_damaged(comm, "a decision word has a status that cannot be");
    bool gathers = ftc_signature_gathers(&record.signature);
    size_t most = gathers ? FTC_LEVEL_MOST : (size_t)levels->call->signature.size;
    const unsigned char *data = ftc_posts_data(comm, &record, carries ? most : 0);
    size_t size = record.size;
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
        ftc_posts_damaged(comm, "a decision word cannot be");
    ftc_progress_must(comm->process, rc);
    decide(comm, request, &decided);
}

static void set_polls(struct ftc_comm *comm)
{
    comm->driven.polls = comm->levels->waiting != NULL || ftc_sums_owed(comm);
    if (comm->driven.polls)
        ftc_progress_activate(comm->process, &comm->driven);
}

/* NULL: none. While one waits, each step of the driver looks for what the others of the node write:
 * it may be that of another caller, which looks again only when something was delivered
 * (docs/design/communicators.md, C10). */
static void set_waiting(struct ftc_comm *comm, struct ftc_request *request)
{
    comm->levels->waiting = request;
    set_polls(comm);
}

/* Can the root of such a broadcast be many rounds ahead? */
static bool streams(const struct ftc_comm *comm, const struct ftc_signature *signature)
{
    return ftc_call_from_root(signature->kind) &&
           ftc_level_turns(comm->levels->shared, FTC_LEVEL_WORD, (size_t)signature->size) ==
               FTC_LEVEL_PLACES;
}

static void begin(struct ftc_comm *comm, struct ftc_request *request)
{
    struct ftc_levels *levels = comm->levels;
    const struct ftc_call *call = request->call;
    int root = (int)call->signature.root;

    ftc_doze_called(&levels->doze, streams(comm, &call->signature) ? root : -1);

    levels->call = call;
    levels->root = root >= levels->first && root < levels->end ? root : -1;
    levels->compared = false;
    levels->gathers = ftc_member_gathers(comm->member, &call->signature);
    levels->posted = levels->first;
    levels->writer = -1;
    ftc_sums_overwritten(levels);
    levels->leads = false;
    set_waiting(comm, request);
    ftc_set_clear(&levels->missing);
    ftc_publish_called(comm, ftc_member_next_op(comm->member) + 1);
    ftc_posts_post(comm, call);
    if (ftc_member_sums(comm->member, &call->signature) && root != comm->rank)
        ftc_sums_posted(comm, call);
    ftc_flow_control_answer(comm);
}

static void send_sums(struct ftc_comm *comm)
{
    if (comm->levels == NULL || ftc_comm_is_revoked(comm))
        return;
    ftc_sums_send(comm);
    set_polls(comm);
}

static void finish(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;

    if (!ftc_call_table[levels->call->signature.kind].rooted)
        ftc_sums_collected(comm);
    if (levels->leads && !ftc_member_sums(comm->member, &levels->call->signature))
        ftc_posts_ring(comm, levels->root == comm->rank ? levels->first : comm->rank + 1,
                       levels->end);
    levels->leads = false;
    levels->call = NULL;
    ftc_doze_delivered(&levels->doze);
    levels->round++;
    ftc_publish_returned(comm);
    send_sums(comm);
}

/* Can a request that waits for others of the node go on? */
static bool ready(struct ftc_comm *comm)
{
    const struct ftc_levels *levels = comm->levels;

    return levels != NULL &&
           ((levels->waiting != NULL && ftc_posts_ready(comm)) || ftc_sums_ready(comm));
}

/* S2: a rank that is not the root of such a reduce goes on at once. */
static bool goes_on(const struct ftc_comm *comm, const struct ftc_call *call)
{
    return ftc_member_sums(comm->member, &call->signature) && call->signature.root != comm->rank;
}

static void go_on(struct ftc_comm *comm)
{
    send_sums(comm);
    if (comm->levels == NULL || comm->levels->waiting == NULL || !ftc_posts_ready(comm))
        return;
    struct ftc_request *request = comm->levels->waiting;
    set_waiting(comm, NULL);
    request->stage = IS_DECIDED;
    comm->moved = true;
    if (comm->levels->writer >= 0)
        call_decided(comm, request);
    else
        call_for_node(comm, request);
}

/* S4: this rank may have become the delegate. */
static void noticed(struct ftc_comm *comm, int rank)
{
    (void)rank;
    send_sums(comm);
}

static bool advance(struct ftc_comm *comm, struct ftc_request *request)
{
    if (request->stage == BEGINS) {
        request->wants_room = !ftc_sums_has_room(comm, ftc_posts_size(comm, request->call));
        if (request->wants_room)
            return false;
        if (!ftc_request_may_begin(comm, request))
            return false;
        begin(comm, request);
        request->stage = GATHERS;
        if (goes_on(comm, request->call)) {
            request->stage = IS_DECIDED;
            set_waiting(comm, NULL);
            decide(comm, request, request->call);
        }
    }
    if (request->stage == GATHERS)
        go_on(comm);
    if (request->decided)
        finish(comm);
    return request->decided;
}

/* Posts the closing, so that a rank of the node that waits for this one in another call finds it
 * (docs/design/nodes.md, "Wrong calls"). */
static void leave(struct ftc_comm *comm)
{
    static const struct ftc_call closing = {.signature = {.kind = FTC_CALL_CLOSE, .root = -1}};
    struct ftc_levels *levels = comm->levels;

    if (levels == NULL || !ftc_sums_has_room(comm, 0))
        return;
    ftc_posts_write(comm, &closing);
    ftc_posts_ring(comm, levels->first, levels->end);
}

static void check_own(struct ftc_comm *comm)
{
    const struct ftc_levels *levels = comm->levels;

    if (levels == NULL)
        return;
    /* During a call this starts with the mark of this round: the post is made before any wait. */
    for (uint64_t back = levels->call != NULL ? 0 : 1;
         back < FTC_LEVEL_PLACES && back <= levels->round; back++)
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
    if (output->decision == NULL) { /* a root that others do not wait for */
        ftc_sums_write_word(comm, levels->round, &levels->call->signature);
        return;
    }
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

    if (levels == NULL || levels->waiting == NULL)
        return;
    int delegate = ftc_posts_delegate(comm);
    now->kind = (enum ftc_call_kind)levels->call->signature.kind;
    now->op = ftc_member_next_op(comm->member);
    now->root = (int)levels->call->signature.root;
    now->wait = delegate == comm->rank ? FTC_WAIT_POST : FTC_WAIT_RESULT;
    now->waits = 1;
    now->waits_for =
        delegate == comm->rank && levels->posted < levels->end ? levels->posted : delegate;
}

/* nodes.md, "Rows of broadcasts". */
static uint64_t dozes(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;

    if (levels == NULL || levels->call == NULL || levels->gathers ||
        levels->call->signature.root == comm->rank ||
        !ftc_set_equal(ftc_member_known_failed(comm->member),
                       ftc_member_agreed_failed(comm->member)))
        return 0;
    return ftc_doze_take(&levels->doze);
}

/* This rank itself: what it waits for comes by the memory of the node. */
static int awaits(const struct ftc_comm *comm)
{
    const struct ftc_levels *levels = comm->levels;

    if (levels == NULL || (levels->waiting == NULL && levels->wants < 0))
        return -1;
    return levels->waiting == NULL && ftc_sums_is_delegate(comm) ? levels->wants : comm->rank;
}

const struct ftc_algorithm ftc_algorithm_levels = {
    .advance = advance,
    .awaits = awaits,
    .close = levels_close,
    .received = go_on,
    .ready = ready,
    .notice = noticed,
    .taken = ftc_sums_taken,
    .leaves = leave,
    .delivers = deliver,
    .dozes = dozes,
    .sleeps = check_own,
    .activity = activity,
};
