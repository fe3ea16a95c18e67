/*
 * Operations over two levels. A rank posts; then it waits for the decision word of its node, or, as its delegate, until all have posted or
 * failed, and then its member takes the call for the node. Not before: so what other nodes send meanwhile is kept, and nobody but the
 * delegate can act for the node. When a delegate dies the next one finds itself in that place, with the posts still there.
 */
#include "runtime/levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "node/level.h"
#include "runtime/job_end.h"
#include "runtime/progress.h"
#include "runtime/publish.h"
#include "runtime/room.h"

struct ftc_levels {
    struct ftc_level *shared;
    int *first_ranks; /* of each node */
    int first, end;   /* the ranks of this node */
    uint64_t round;   /* of the call under way, or of the next */
    bool waiting;     /* the member has not got the call yet */
    bool leads;       /* ... got it, for the node */
    const struct ftc_call *call;
    int posted;             /* ranks before it have posted, or never will */
    struct ftc_set missing; /* those that never will */
    int writer;             /* whose decision word it is; -1: none is there yet */
    unsigned char *input;
};

/* --- life --- */

static bool wants_two(const struct ftc_comm *comm, const struct ftc_member_settings *settings, int nodes)
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

int ftc_runtime_levels_open(struct ftc_comm *comm, struct ftc_member_settings *settings)
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

void ftc_runtime_levels_close(struct ftc_comm *comm)
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

bool ftc_runtime_levels_takes_call(const struct ftc_comm *comm, const struct ftc_call *call)
{
    return comm->levels != NULL && ftc_member_two_levels(comm->member, &call->signature);
}

/* --- records of others --- */

_Noreturn static void damaged(struct ftc_comm *comm, const char *what)
{
    char words[160];

    snprintf(words, sizeof(words), "the node segment is damaged: %s", what);
    ftc_job_end(comm, FTC_EXIT_INTERNAL, words);
}

static bool same_call(const struct ftc_signature *a, const struct ftc_signature *b)
{
    return a->kind == b->kind && a->type == b->type && a->operator_code == b->operator_code &&
           a->root == b->root && a->size == b->size;
}

static void read_record(struct ftc_comm *comm, enum ftc_level_kind kind, int rank,
                        struct ftc_level_record *record)
{
    const struct ftc_levels *levels = comm->levels;
    const struct ftc_signature *own = &levels->call->signature;
    char words[FTC_MISMATCH_WORDS];

    if (ftc_level_read(levels->shared, kind, levels->round, rank, record) != 0)
        damaged(comm, ftc_last_error());
    if (same_call(&record->signature, own))
        return;
    ftc_mismatch_words(words, ftc_member_next_op(comm->member), rank, &record->signature, comm->rank, own);
    ftc_job_end(comm, FTC_EXIT_MISMATCH, words);
}

/* The data of a post, or of a word: as large as it must be. */
static const unsigned char *data_of(struct ftc_comm *comm, const struct ftc_level_record *record, size_t size)
{
    if (record->size != size)
        damaged(comm, "a record has not the size of its call");
    return record->data;
}

/* What each rank posts: its input, or L. */
static size_t post_size(const struct ftc_comm *comm, const struct ftc_call *call)
{
    return call->signature.kind == FTC_CALL_VALIDATE ? ftc_set_bytes(comm->size)
                                                     : (size_t)call->signature.size;
}

/* --- posting --- */

static void ring_node(struct ftc_comm *comm, int first, int end)
{
    for (int rank = first; rank < end; rank++)
        if (rank != comm->rank && !ftc_segment_failed(comm->segment, rank))
            ftc_bell_ring(&comm->bell, rank, false);
}

/* The lowest rank of the node that is not known failed. */
static int delegate_of(const struct ftc_comm *comm)
{
    int rank = comm->levels->first;

    while (rank < comm->rank && ftc_set_has(ftc_member_known_failed(comm->member), rank))
        rank++;
    return rank;
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
    ftc_progress_must(comm, ftc_level_write(levels->shared, FTC_LEVEL_POST, levels->round, &record));
    ftc_drill_pass(&comm->drill, FTC_DRILL_SEND);
    /* Who takes over after it has read this will look at the posts anyway. */
    int delegate = delegate_of(comm);
    ring_node(comm, delegate, delegate + 1);
}

/* --- waiting --- */

/* The words of those before it: of the dead, which is final, and of the delegate. L is read before the mark. */
static bool find_word(const struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;

    for (int rank = levels->first; rank < comm->rank; rank++) {
        bool failed = ftc_set_has(ftc_member_known_failed(comm->member), rank);
        if (ftc_level_marked(levels->shared, FTC_LEVEL_WORD, levels->round, rank)) {
            levels->writer = rank;
            return true;
        }
        if (!failed)
            return false;
    }
    return false;
}

/* A post of another epoch is none: its writer is dead, and the notice will come. */
static bool has_posted(struct ftc_comm *comm, int rank)
{
    struct ftc_level_record record;

    if (!ftc_level_marked(comm->levels->shared, FTC_LEVEL_POST, comm->levels->round, rank))
        return false;
    if (ftc_level_read(comm->levels->shared, FTC_LEVEL_POST, comm->levels->round, rank, &record) != 0)
        damaged(comm, ftc_last_error());
    return ftc_epoch_equal(record.epoch, ftc_member_epoch(comm->member));
}

/* agreement.md, finality: L is read before the mark that it settles. */
static bool has_gathered(struct ftc_comm *comm)
{
    struct ftc_levels *levels = comm->levels;

    for (; levels->posted < levels->end; levels->posted++) {
        bool failed = ftc_set_has(ftc_member_known_failed(comm->member), levels->posted);
        if (has_posted(comm, levels->posted))
            continue;
        if (!failed)
            return false;
        ftc_set_add(&levels->missing, levels->posted);
    }
    return true;
}

static bool is_ready(struct ftc_comm *comm, void *arg)
{
    (void)arg;
    return find_word(comm) || (delegate_of(comm) == comm->rank && has_gathered(comm));
}

static bool is_delivered(struct ftc_comm *comm, void *arg)
{
    (void)arg;
    return comm->delivered;
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

    check_posts(comm);
    whole.input = combine(comm, call);
    whole.missing = ftc_set_empty(&levels->missing) ? NULL : &levels->missing;
    levels->leads = true;
    levels->waiting = false;
    ftc_progress_must(comm, ftc_member_call(comm->member, &whole));
}

static int decision_from(struct ftc_comm *comm, struct ftc_decision **out)
{
    struct ftc_levels *levels = comm->levels;
    bool carries = levels->call->signature.kind == FTC_CALL_ALLREDUCE;
    struct ftc_level_record record;

    read_record(comm, FTC_LEVEL_WORD, levels->writer, &record);
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

    levels->call = call;
    levels->posted = levels->first;
    levels->writer = -1;
    levels->leads = false;
    levels->waiting = true;
    ftc_set_clear(&levels->missing);
}

void ftc_runtime_levels_run(struct ftc_comm *comm, const struct ftc_call *call)
{
    struct ftc_levels *levels = comm->levels;

    begin(comm, call);
    ftc_publish_called(comm, ftc_member_next_op(comm->member) + 1);
    post(comm, call);
    ftc_room_answer(comm);
    ftc_progress_until(comm, &(struct ftc_until){.done = is_ready});
    if (levels->writer >= 0)
        call_decided(comm, call);
    else
        call_for_node(comm, call);
    ftc_progress_outputs(comm);
    ftc_progress_until(comm, &(struct ftc_until){.done = is_delivered});
    if (levels->leads)
        ring_node(comm, comm->rank + 1, levels->end);
    levels->leads = false;
    levels->call = NULL;
    levels->round++;
}

/* The word, before anybody hears of it. */
void ftc_runtime_levels_deliver(struct ftc_comm *comm, const struct ftc_output *output)
{
    struct ftc_levels *levels = comm->levels;

    if (levels == NULL || !levels->leads || comm->rank + 1 == levels->end)
        return;
    const struct ftc_decision *decision = output->decision;
    size_t size = decision->value.buffer != NULL ? decision->value.size : 0;
    struct ftc_level_record record = {.signature = levels->call->signature,
                                      .ballot = decision->ballot,
                                      .data = size > 0 ? ftc_value_bytes(&decision->value) : NULL,
                                      .size = size};
    unsigned char set[FTC_NODE_MAX_RANKS / 8 + 8];

    ftc_set_to_bytes(&decision->failed, set);
    record.set = set;
    ftc_progress_must(comm, ftc_level_write(levels->shared, FTC_LEVEL_WORD, levels->round, &record));
    ftc_drill_pass(&comm->drill, FTC_DRILL_SEND);
}

/* --- looking in --- */

/* The delegate waits for posts, the others for the delegate. */
void ftc_runtime_levels_activity(const struct ftc_comm *comm, struct ftc_member_activity *now)
{
    const struct ftc_levels *levels = comm->levels;

    if (levels == NULL || !levels->waiting)
        return;
    int delegate = delegate_of(comm);
    now->kind = (enum ftc_call_kind)levels->call->signature.kind;
    now->op = ftc_member_next_op(comm->member);
    now->root = -1;
    now->wait = delegate == comm->rank ? FTC_WAIT_POST : FTC_WAIT_RESULT;
    now->waits = 1;
    now->waits_for = delegate == comm->rank && levels->posted < levels->end ? levels->posted : delegate;
}
