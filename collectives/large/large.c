/* Large values: attempts, and their commits. */
#include "collectives/large/large.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/wire.h"
#include "collectives/frame.h"
#include "collectives/large/mutation.h"

/*
 * A message is this head, and then the bytes of a block:
 *
 *   u8 version | u8 kind | u16 0 | u64 communicator | u64 operation |
 *   u64 epoch op | u32 epoch i | u32 epoch s | u64 epoch settled |
 *   signature: u8 call, u8 type, u8 operator, u8 0, i32 root, u64 size |
 *   u32 block | u32 hop | u64 begin | u64 size | zeroes up to 96
 *
 * The last four numbers are the tag of the exchange (exchange.h).
 */
#define HEAD     96
#define FURTHEST (1u << 20) /* an op further ahead than this is none of this job */

_Static_assert(HEAD % FTC_VALUE_ALIGNMENT == 0, "what follows is not padded");

struct head {
    uint64_t op;
    struct ftc_epoch epoch;
    struct ftc_signature signature;
    struct ftc_large_tag tag;
};

/* A message that came before its attempt began. */
struct kept {
    struct kept *next;
    int from;
    struct head head;
    struct ftc_buffer *message;
};

struct ftc_large {
    struct ftc_large_settings set;
    const struct ftc_call *call; /* NULL: no call is under way */
    void *result;                /* the call's output, written before the commit; NULL: it is not */
    size_t element;
    const struct ftc_large_nodes *nodes;
    enum ftc_large_state state;
    int attempt; /* number of the attempt in this call, from 0 */
    bool half; /* which half of the areas it uses: attempts take turns (nodes.md, "Large values") */
    uint64_t op;
    struct ftc_epoch epoch;
    /* rank[i]: the i-th one of the exchange; place[r]: of rank r, or -1. Both are made by the first
     * attempt: NULL before. */
    int *rank, *place;
    int places;
    struct ftc_large_exchange *exchange;
    struct ftc_set failed;       /* all ranks that commits have named */
    struct ftc_set named;        /* those that the failed set of the last commit names */
    unsigned char *contribution; /* a byte that is not zero if this rank is torn; then L */
    struct kept *first, **last;
    struct ftc_buffer *head; /* of the output that was taken last */
    char mismatch[FTC_MISMATCH_WORDS];
    struct ftc_large_counters counters;
};

/* --- life --- */

static size_t contribution_size(const struct ftc_large *large)
{
    return 1 + ftc_set_bytes(large->set.ranks);
}

int ftc_large_create(struct ftc_large **out, const struct ftc_large_settings *settings)
{
    struct ftc_large *large = calloc(1, sizeof(*large));

    if (large != NULL) {
        large->set = *settings;
        large->last = &large->first;
        large->contribution = malloc(contribution_size(large));
    }
    if (large == NULL || large->contribution == NULL ||
        ftc_set_init(&large->failed, settings->ranks) != FTC_SUCCESS ||
        ftc_set_init(&large->named, settings->ranks) != FTC_SUCCESS) {
        ftc_large_destroy(large);
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks",
                             settings->ranks);
    }
    *out = large;
    return FTC_SUCCESS;
}

/* Drops the kept messages of operations before `op`. */
static void forget(struct ftc_large *large, uint64_t op)
{
    struct kept **link = &large->first;

    while (*link != NULL) {
        struct kept *kept = *link;
        if (kept->head.op >= op) {
            link = &kept->next;
            continue;
        }
        *link = kept->next;
        ftc_buffer_unref(kept->message);
        free(kept);
    }
    large->last = link;
}

void ftc_large_destroy(struct ftc_large *large)
{
    if (large == NULL)
        return;
    forget(large, UINT64_MAX);
    ftc_large_exchange_destroy(large->exchange);
    ftc_buffer_unref(large->head);
    ftc_set_fini(&large->failed);
    ftc_set_fini(&large->named);
    free(large->contribution);
    free(large->rank);
    free(large);
}

void ftc_large_begin(struct ftc_large *large, const struct ftc_call *call, size_t element,
                     const struct ftc_large_nodes *nodes, void *result)
{
    assert(large->call == NULL && ftc_large_exchange_exists(&call->signature));
    large->result = result != call->input ? result : NULL;
    large->call = call;
    large->element = element > 0 ? element : 1;
    large->nodes = nodes;
    large->attempt = 0;
}

static void drop_attempt(struct ftc_large *large)
{
    ftc_large_exchange_destroy(large->exchange);
    large->exchange = NULL;
    large->state = FTC_LARGE_IDLE;
}

int ftc_large_settle(struct ftc_large *large)
{
    return large->exchange != NULL ? ftc_large_exchange_settle(large->exchange) : FTC_SUCCESS;
}

void ftc_large_end(struct ftc_large *large)
{
    drop_attempt(large);
    large->call = NULL;
}

enum ftc_large_state ftc_large_state(const struct ftc_large *large)
{
    return large->state;
}

const struct ftc_set *ftc_large_failed(const struct ftc_large *large)
{
    return &large->failed;
}

const char *ftc_large_mismatch(const struct ftc_large *large)
{
    return large->mismatch;
}

void ftc_large_counters(const struct ftc_large *large, struct ftc_large_counters *counters)
{
    *counters = large->counters;
}

int ftc_large_awaited(const struct ftc_large *large)
{
    return large->state == FTC_LARGE_UNDER_WAY
               ? large->rank[ftc_large_exchange_awaited(large->exchange)]
               : -1;
}

/* --- out --- */

static struct ftc_buffer *encode(const struct ftc_large *large, const struct ftc_large_tag *tag)
{
    const struct ftc_signature *signature = &large->call->signature;
    struct ftc_buffer *buffer = ftc_buffer_new(HEAD);
    struct ftc_writer w = {.size = HEAD};

    if (buffer == NULL)
        return NULL;
    w.data = buffer->data;
    ftc_frame_write(&w, FTC_FRAME_RING, 0, large->set.communicator);
    ftc_write_u64(&w, large->op);
    ftc_write_u64(&w, large->epoch.op);
    ftc_write_u32(&w, large->epoch.ballot.i);
    ftc_write_u32(&w, large->epoch.ballot.s);
    ftc_write_u64(&w, large->epoch.settled);
    ftc_write_u8(&w, signature->kind);
    ftc_write_u8(&w, signature->type);
    ftc_write_u8(&w, signature->operator_code);
    ftc_write_u8(&w, 0);
    ftc_write_u32(&w, (uint32_t)signature->root);
    ftc_write_u64(&w, signature->size);
    ftc_write_u32(&w, tag->block);
    ftc_write_u32(&w, tag->hop);
    ftc_write_u64(&w, tag->begin);
    ftc_write_u64(&w, tag->size);
    ftc_write_align(&w, HEAD);
    assert(!w.failed && w.used == HEAD);
    return buffer;
}

bool ftc_large_next_output(struct ftc_large *large, struct ftc_large_output *output)
{
    struct ftc_large_block_output next;

    ftc_buffer_unref(large->head);
    large->head = NULL;
    if (large->exchange == NULL || !ftc_large_exchange_next_output(large->exchange, &next))
        return false;
    large->head = encode(large, &next.tag);
    *output = (struct ftc_large_output){
        .to = large->rank[next.to], .head = large->head, .value = next.value};
    return true;
}

/* --- in --- */

static bool decode(const struct ftc_large *large, const struct ftc_buffer *message,
                   struct head *head)
{
    struct ftc_reader r = {.data = message->data, .size = message->size};
    uint64_t communicator;
    uint16_t own;
    int kind;
    bool sound = ftc_frame_read(&r, &kind, &own, &communicator) && kind == FTC_FRAME_RING &&
                 own == 0 && communicator == large->set.communicator;

    head->op = ftc_read_u64(&r);
    head->epoch.op = ftc_read_u64(&r);
    head->epoch.ballot.i = ftc_read_u32(&r);
    head->epoch.ballot.s = ftc_read_u32(&r);
    head->epoch.settled = ftc_read_u64(&r);
    head->signature = (struct ftc_signature){.kind = ftc_read_u8(&r)};
    head->signature.type = ftc_read_u8(&r);
    head->signature.operator_code = ftc_read_u8(&r);
    sound &= ftc_read_u8(&r) == 0;
    head->signature.root = (int32_t)ftc_read_u32(&r);
    head->signature.size = ftc_read_u64(&r);
    head->tag.block = ftc_read_u32(&r);
    head->tag.hop = ftc_read_u32(&r);
    head->tag.begin = ftc_read_u64(&r);
    head->tag.size = ftc_read_u64(&r);
    ftc_read_align(&r, HEAD);
    return sound && !r.failed && r.used == HEAD && ftc_large_exchange_exists(&head->signature);
}

static int mismatch(struct ftc_large *large, uint64_t op, int from,
                    const struct ftc_signature *theirs, const struct ftc_signature *own)
{
    ftc_mismatch_words(large->mismatch, op, from, theirs, large->set.self, own);
    return ftc_error_set(FTC_ERR_MISMATCH, "%s", large->mismatch);
}

/* Takes in a message of the attempt that was started last. */
static int take(struct ftc_large *large, int from, const struct head *head,
                struct ftc_buffer *message)
{
    struct ftc_value value = {.buffer = message, .offset = HEAD, .size = message->size - HEAD};

    if (!ftc_epoch_equal(head->epoch, large->epoch) && !FTC_LARGE_MUTATED(NO_EPOCH)) {
        large->counters.foreign++;
        return FTC_SUCCESS;
    }
    if (!ftc_signature_equal(&head->signature, &large->call->signature))
        return mismatch(large, head->op, from, &head->signature, &large->call->signature);
    if (large->state != FTC_LARGE_UNDER_WAY)
        return FTC_SUCCESS; /* torn; or the sender repeats itself */
    if (large->place[from] < 0)
        return ftc_error_set(FTC_ERR_PROTO, "rank %d has no place in the exchange", from);
    int rc = ftc_large_exchange_receive(large->exchange, large->place[from], &head->tag, &value);
    if (ftc_large_exchange_whole(large->exchange))
        large->state = FTC_LARGE_WHOLE;
    return rc;
}

/* A neighbour can be ahead by no more than this rank's part of one attempt: it cannot begin the
 * next attempt without this rank. So what is kept is bounded. */
static int keep(struct ftc_large *large, int from, const struct head *head,
                struct ftc_buffer *message)
{
    struct kept *kept;

    if (FTC_LARGE_MUTATED(FORGET_EARLY))
        return FTC_SUCCESS;
    kept = malloc(sizeof(*kept));
    if (kept == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory to keep a message of rank %d", from);
    *kept = (struct kept){.from = from, .head = *head, .message = ftc_buffer_ref(message)};
    *large->last = kept;
    large->last = &kept->next;
    large->counters.early++;
    return FTC_SUCCESS;
}

/* Is another collective under way here as the operation that the sender takes for a large
 * value? */
static bool contradicts(const struct head *head, const struct ftc_large_now *now)
{
    return now->under_way != NULL && head->op + 1 == now->op &&
           ftc_epoch_equal(head->epoch, now->epoch) && now->under_way->kind != FTC_CALL_LARGE;
}

static bool is_of_attempt(const struct ftc_large *large, const struct head *head)
{
    bool older = FTC_LARGE_MUTATED(OLD_ATTEMPT) && head->op < large->op;
    return large->state != FTC_LARGE_IDLE && (head->op == large->op || older);
}

int ftc_large_receive(struct ftc_large *large, const struct ftc_large_now *now, int from,
                      struct ftc_buffer *message)
{
    struct head head;

    if (!decode(large, message, &head) || head.op > now->op + FURTHEST)
        return ftc_error_set(FTC_ERR_PROTO, "%zu bytes are no message of a large value",
                             message->size);
    if (contradicts(&head, now))
        return mismatch(large, head.op, from, &head.signature, now->under_way);
    if (is_of_attempt(large, &head))
        return take(large, from, &head, message);
    if (head.op >= now->op)
        return keep(large, from, &head, message);
    large->counters.late++;
    return FTC_SUCCESS;
}

static struct ftc_signature commit_signature(const struct ftc_large *large)
{
    struct ftc_signature signature = large->call->signature;

    signature.kind = FTC_CALL_LARGE;
    signature.root = -1;
    signature.size = contribution_size(large);
    return signature;
}

int ftc_large_look(struct ftc_large *large, int from, const struct ftc_buffer *message)
{
    struct ftc_message_head head;
    struct ftc_signature theirs, commit;

    if (large->state != FTC_LARGE_UNDER_WAY || ftc_message_peek(message, &head) != FTC_SUCCESS ||
        head.op != large->op || !ftc_epoch_equal(head.epoch, large->epoch) ||
        ftc_message_peek_signature(message, &theirs) != FTC_SUCCESS)
        return FTC_SUCCESS;
    commit = commit_signature(large);
    if (ftc_signature_equal(&theirs, &commit))
        return FTC_SUCCESS;
    return mismatch(large, head.op, from, &theirs, &large->call->signature);
}

void ftc_large_notice(struct ftc_large *large, int rank)
{
    if (large->state == FTC_LARGE_UNDER_WAY && large->place[rank] >= 0 && !FTC_LARGE_MUTATED(STAY))
        large->state = FTC_LARGE_TORN;
}

/* --- attempts --- */

static int make_places(struct ftc_large *large)
{
    if (large->rank == NULL)
        large->rank = calloc(2 * (size_t)large->set.ranks, sizeof(int));
    if (large->rank == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for an exchange among %d ranks",
                             large->set.ranks);
    large->place = large->rank + large->set.ranks;
    return FTC_SUCCESS;
}

static void place_ranks(struct ftc_large *large, const struct ftc_set *agreed,
                        const struct ftc_set *known)
{
    large->places = 0;
    for (int rank = 0; rank < large->set.ranks; rank++) {
        bool left_out = ftc_set_has(agreed, rank) || ftc_set_has(&large->failed, rank);
        if (FTC_LARGE_MUTATED(KNOWN_PLACES))
            left_out = ftc_set_has(known, rank);
        large->place[rank] = left_out ? -1 : large->places;
        if (!left_out)
            large->rank[large->places++] = rank;
    }
}

static int create_exchange(struct ftc_large *large)
{
    struct ftc_large_exchange_settings settings = {.call = large->call,
                                                   .ranks = large->set.ranks,
                                                   .self = large->place[large->set.self],
                                                   .places = large->places,
                                                   .rank = large->rank,
                                                   .nodes = large->nodes,
                                                   .half = large->half,
                                                   .element = large->element,
                                                   .block_least = large->set.block_least,
                                                   .block_most = large->set.block_most,
                                                   .part_most = large->set.part_most,
                                                   .window = large->set.window,
                                                   .lent_least = large->set.lent_least,
                                                   .result = large->result,
                                                   .pool = large->set.pool};

    int rc = ftc_large_exchange_create(&large->exchange, &settings);
    return rc == FTC_SUCCESS ? ftc_large_exchange_start(large->exchange) : rc;
}

static void settle_state(struct ftc_large *large, const struct ftc_set *known)
{
    large->state =
        ftc_large_exchange_whole(large->exchange) ? FTC_LARGE_WHOLE : FTC_LARGE_UNDER_WAY;
    for (int rank = ftc_set_next(known, 0); rank >= 0; rank = ftc_set_next(known, rank + 1))
        ftc_large_notice(large, rank);
}

/* Without its root no call can be exchanged: it is torn at once, and decide() leaves it to the
 * agreement core. */
static bool has_no_root(const struct ftc_large *large)
{
    int root = large->call->signature.root;
    return root >= 0 && large->place[root] < 0;
}

int ftc_large_start(struct ftc_large *large, const struct ftc_large_now *now,
                    const struct ftc_set *agreed, const struct ftc_set *known)
{
    assert(large->call != NULL && large->state == FTC_LARGE_IDLE);
    int rc = make_places(large);
    if (rc != FTC_SUCCESS)
        return rc;
    large->op = now->op;
    large->epoch = now->epoch;
    large->counters.attempts++;
    large->half = !large->half;
    place_ranks(large, agreed, known);
    if (has_no_root(large)) {
        large->state = FTC_LARGE_TORN;
        return FTC_SUCCESS;
    }
    rc = create_exchange(large);
    if (rc == FTC_SUCCESS)
        settle_state(large, known);
    return rc;
}

int ftc_large_early(struct ftc_large *large, int *from)
{
    struct kept **link = &large->first;

    while (*link != NULL && (*link)->head.op != large->op)
        link = &(*link)->next;
    struct kept *kept = *link;
    if (kept == NULL)
        return 0;
    *link = kept->next;
    if (*link == NULL)
        large->last = link;
    *from = kept->from;
    int rc = take(large, kept->from, &kept->head, kept->message);
    ftc_buffer_unref(kept->message);
    free(kept);
    return rc == FTC_SUCCESS ? 1 : rc;
}

int ftc_large_called(struct ftc_large *large, const struct ftc_large_now *now)
{
    for (const struct kept *kept = large->first; kept != NULL; kept = kept->next)
        if (contradicts(&kept->head, now))
            return mismatch(large, kept->head.op, kept->from, &kept->head.signature,
                            now->under_way);
    forget(large, now->op);
    return FTC_SUCCESS;
}

void ftc_large_commit(struct ftc_large *large, const struct ftc_set *known, struct ftc_call *commit)
{
    large->contribution[0] = large->state != FTC_LARGE_WHOLE;
    ftc_set_to_bytes(known, large->contribution + 1);
    *commit = (struct ftc_call){.signature = commit_signature(large),
                                .input = large->contribution,
                                .combine = ftc_set_unite_bytes};
}

/* All ranks that the decision names, in its failed set or in its value, have failed for good. */
static void learn(struct ftc_large *large, const unsigned char *decided,
                  const struct ftc_set *failed)
{
    ftc_set_add_bytes(&large->failed, decided + 1);
    ftc_set_unite(&large->failed, failed);
    ftc_set_copy(&large->named, failed);
}

/* Contributions that were combined in the order of the ranks cannot be taken out again, and a scan
 * leaves out all ranks of the failed set. So an attempt of a scan is torn, too, if the decision
 * names a rank that took part in it. */
static bool named_in_scan(const struct ftc_large *large)
{
    int kind = large->call->signature.kind;

    if ((kind != FTC_CALL_SCAN && kind != FTC_CALL_EXSCAN) || FTC_LARGE_MUTATED(NAMED_IN_SCAN))
        return false;
    for (int i = 0; i < large->places; i++)
        if (ftc_set_has(&large->named, large->rank[i]))
            return true;
    return false;
}

/* Nothing can be exchanged without the root. The agreement core knows how to end such a call. */
static bool can_run_again(struct ftc_large *large)
{
    int root = large->call->signature.root;

    if (root >= 0 && ftc_set_has(&large->failed, root))
        return false;
    return ++large->attempt < large->set.attempts;
}

int ftc_large_decide(struct ftc_large *large, const unsigned char *decided,
                     const struct ftc_set *failed, enum ftc_large_verdict *verdict)
{
    bool torn = decided[0] != 0;
    int rc = ftc_large_settle(large);

    if (rc != FTC_SUCCESS)
        return rc;
    if (!torn && large->state != FTC_LARGE_WHOLE && !FTC_LARGE_MUTATED(COMMIT_TORN))
        return ftc_error_set(FTC_ERR_PROTO, "a large value was committed that is not whole here");
    if (FTC_LARGE_MUTATED(OWN_WORD))
        torn = large->state != FTC_LARGE_WHOLE;
    learn(large, decided, failed);
    if ((!torn && !named_in_scan(large)) || FTC_LARGE_MUTATED(COMMIT_TORN)) {
        *verdict = FTC_LARGE_COMMITTED;
        return FTC_SUCCESS;
    }
    drop_attempt(large);
    large->counters.again++;
    *verdict = can_run_again(large) ? FTC_LARGE_AGAIN : FTC_LARGE_PROTECTED;
    large->counters.fallbacks += *verdict == FTC_LARGE_PROTECTED;
    return FTC_SUCCESS;
}

void ftc_large_deliver(const struct ftc_large *large, void *to)
{
    ftc_large_exchange_finish(large->exchange, &large->named, to);
}
