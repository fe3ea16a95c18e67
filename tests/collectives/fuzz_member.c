/*
 * Fuzzes a member in the middle of operations. Its peers send anything: raw bytes, well-formed
 * lies, and its own messages thrown back, damaged. It must refuse or ignore what is wrong, and may
 * never crash, leak or call an operator of an operation that is not under way. The input is a
 * script: each byte picks what happens next.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/agreement/member.h"
#include "collectives/spread/fragments.h"
#include "collectives/values/blocks.h"
#include "include/ftcoll.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEPT       8
#define VALUE_SIZE 16
#define SCRIPT     4096

struct fuzz {
    const uint8_t *data;
    size_t size, used;
    struct ftc_member *member;
    struct ftc_member_settings settings;
    struct ftc_signature signature; /* of the last call */
    bool under_way, over;
    struct ftc_buffer *kept[KEPT]; /* messages that the member sent */
    unsigned sent;
};

static void require(bool truth)
{
    if (!truth)
        abort();
}

static unsigned take(struct fuzz *z, unsigned limit)
{
    unsigned byte = z->used < z->size ? z->data[z->used++] : 0;
    return byte % limit;
}

static int peer(struct fuzz *z)
{
    int ranks = z->settings.ranks;
    return (z->settings.self + 1 + (int)take(z, (unsigned)ranks - 1)) % ranks;
}

static void add_bytes(void *arg, const void *in, void *inout, size_t size)
{
    const struct fuzz *z = arg;
    const unsigned char *from = in;
    unsigned char *to = inout;

    require(z->under_way && size == z->signature.size);
    for (size_t b = 0; b < size; b++)
        to[b] = (unsigned char)(to[b] + from[b]);
}

/* --- the member --- */

/* Joins head, padding and value, as a transport gives a message to its receiver. */
static struct ftc_buffer *join(const struct ftc_buffer *head, const struct ftc_value *value)
{
    size_t size = value != NULL && value->buffer != NULL ? value->size : 0;
    struct ftc_buffer *joined = ftc_value_new_message(head->size, size);

    require(joined != NULL);
    memcpy(joined->data, head->data, head->size);
    if (size > 0)
        memcpy(joined->data + ftc_value_offset(head->size), ftc_value_bytes(value), size);
    return joined;
}

static void keep(struct fuzz *z, const struct ftc_output *output)
{
    ftc_buffer_unref(z->kept[z->sent % KEPT]);
    z->kept[z->sent++ % KEPT] = join(output->head, &output->value);
}

static void take_outputs(struct fuzz *z, int rc)
{
    const struct ftc_output *output;

    require(rc == FTC_SUCCESS || rc == FTC_ERR_PROTO);
    while ((output = ftc_member_next_output(z->member)) != NULL) {
        require(output->kind != FTC_OUTPUT_CORRUPT); /* nothing changes by itself here */
        if (output->kind == FTC_OUTPUT_MULTICAST) {
            require(output->head->size == FTC_FRAGMENT_HEAD && output->value.size > 0);
            keep(z, output);
        } else if (output->kind == FTC_OUTPUT_SEND) {
            require(output->to >= 0 && output->to < z->settings.ranks &&
                    output->to != z->settings.self);
            keep(z, output);
        } else if (output->kind == FTC_OUTPUT_DELIVER) {
            require(z->under_way);
            z->under_way = false;
        } else if (output->kind == FTC_OUTPUT_FENCED) {
            z->over = true;
        } else if (output->kind == FTC_OUTPUT_MISMATCH) {
            require(ftc_member_mismatch(z->member) != NULL);
            z->over = true;
        }
    }
}

static void call_next(struct fuzz *z)
{
    enum ftc_call_kind kind =
        (enum ftc_call_kind)(FTC_CALL_ALLREDUCE + take(z, FTC_CALL_KINDS - FTC_CALL_ALLREDUCE));
    bool rooted = ftc_call_table[kind].rooted;
    bool ordered = ftc_call_table[kind].reduces && take(z, 4) == 0;
    bool gathers = ordered || ftc_call_table[kind].gathers;
    bool names = ftc_call_table[kind].names && kind != FTC_CALL_VALIDATE;
    bool combines = (ftc_call_table[kind].reduces && !ordered) || names;
    unsigned char input[VALUE_SIZE];
    struct ftc_call call = {.combine = combines ? add_bytes : NULL, .combine_arg = z};

    if (z->under_way || ftc_member_held_back(z->member) || kind == FTC_CALL_SETTLE)
        return;
    memset(input, 1, sizeof(input));
    call.signature.kind = (uint8_t)kind;
    call.signature.root = rooted ? (int)take(z, (unsigned)z->settings.ranks) : -1;
    if (rooted || combines || gathers) {
        call.signature.type = FTC_UINT8;
        call.signature.operator_code = combines ? 1 : ordered ? FTC_OPERATOR_ORDERED : 0;
        call.signature.size = sizeof(input);
        call.input = gathers || combines || call.signature.root == z->settings.self ? input : NULL;
        call.input_size = gathers ? take(z, VALUE_SIZE + 1) : sizeof(input);
    }
    z->signature = call.signature;
    z->under_way = true;
    take_outputs(z, ftc_member_call(z->member, &call));
}

/* --- the peers' side --- */

static void feed(struct fuzz *z, struct ftc_buffer *buffer)
{
    bool datagram = take(z, 4) == 0;
    int rc = datagram ? ftc_member_datagram(z->member, peer(z), buffer)
                      : ftc_member_receive(z->member, peer(z), buffer);

    ftc_buffer_unref(buffer);
    take_outputs(z, rc);
}

static void send_raw(struct fuzz *z)
{
    size_t length = take(z, 200);
    struct ftc_buffer *buffer = ftc_buffer_new(length);

    require(buffer != NULL);
    for (size_t b = 0; b < length; b++)
        buffer->data[b] = (unsigned char)take(z, 256);
    feed(z, buffer);
}

/* Sends one of the member's own messages back, as if a peer had sent it. Up to three bytes are
 * changed, and perhaps it is cut. */
static void send_back(struct fuzz *z)
{
    struct ftc_buffer *kept = z->kept[take(z, KEPT)];

    if (kept == NULL)
        return;
    size_t size = take(z, 8) == 0 && kept->size > 0 ? take(z, (unsigned)kept->size) : kept->size;
    struct ftc_buffer *buffer = ftc_buffer_new(size);
    require(buffer != NULL);
    memcpy(buffer->data, kept->data, size);
    for (unsigned change = take(z, 4); change > 0 && size > 0; change--)
        buffer->data[take(z, (unsigned)size)] = (unsigned char)take(z, 256);
    feed(z, buffer);
}

static void random_set(struct fuzz *z, struct ftc_set *set)
{
    unsigned bits = take(z, 256);

    for (int rank = 0; rank < set->size; rank++) {
        if (bits >> rank & 1)
            ftc_set_add(set, rank);
    }
}

/* Makes a list with blocks of some ranks, and perhaps changes a byte of it. */
static void random_list(struct fuzz *z, struct ftc_value *list)
{
    static const unsigned char input[2 * VALUE_SIZE];
    unsigned bits = 1 + take(z, 255);

    for (int rank = 0; bits >> rank != 0; rank++) {
        struct ftc_value block = {0}, merged;
        if ((bits >> rank & 1) == 0)
            continue;
        size_t size = take(z, 8) == 0 ? take(z, 2 * VALUE_SIZE) : VALUE_SIZE;
        require(ftc_blocks_make(&block, &(struct ftc_block){rank, size, input}, 1) == FTC_SUCCESS);
        if (list->buffer == NULL) {
            *list = block;
            continue;
        }
        require(ftc_blocks_merge(&merged, list, &block) == FTC_SUCCESS);
        ftc_value_drop(list);
        ftc_value_drop(&block);
        *list = merged;
    }
    if (take(z, 4) == 0)
        ftc_value_bytes(list)[take(z, (unsigned)list->size)] = (unsigned char)take(z, 256);
}

static void random_value(struct fuzz *z, struct ftc_value *value)
{
    size_t size = take(z, 4) == 0 ? take(z, 40) : z->signature.size;

    if (ftc_signature_gathers(&z->signature) && take(z, 8) > 0) {
        random_list(z, value);
        size = value->size;
    } else {
        value->buffer = ftc_buffer_new(size);
        require(value->buffer != NULL);
        memset(value->buffer->data, 1, size);
        value->size = size;
    }
    if (size > 0 && z->settings.integrity == FTC_INTEGRITY_CHECKSUM && take(z, 4) > 0)
        ftc_value_seal(value);
}

static void random_contribution(struct fuzz *z, struct ftc_message *message)
{
    bool decided = message->kind == FTC_MESSAGE_DECIDE || take(z, 3) == 0;

    if (!decided) {
        random_value(z, &message->contribution.value);
        return;
    }
    struct ftc_decision *decision = ftc_decision_new(z->settings.ranks);
    require(decision != NULL);
    message->contribution.decision = decision;
    static const int statuses[] = {FTC_SUCCESS, FTC_SUCCESS, FTC_ERR_CORRUPT, FTC_ERR_ROOT_FAILED};
    decision->status = statuses[take(z, 4)];
    decision->ballot = (struct ftc_ballot_id){take(z, 6), take(z, 3)};
    random_set(z, &decision->failed);
    if (decision->status == FTC_SUCCESS)
        random_value(z, &decision->value);
    if (take(z, 2) == 0) {
        require(ftc_set_init(&decision->verdict.wrong, z->settings.ranks) == FTC_SUCCESS);
        decision->verdict.compared = 2 + take(z, 3);
        random_set(z, &decision->verdict.wrong);
    }
}

/* Makes a message of an operation, or of a settlement, that a member could send, but that lies. */
static struct ftc_buffer *lie(struct fuzz *z, enum ftc_message_kind kind, bool settles)
{
    struct ftc_message message = {.kind = kind};

    require(ftc_message_init(&message, z->settings.ranks) == FTC_SUCCESS);
    uint64_t next = ftc_member_next_op(z->member);
    message.op = settles ? FTC_SETTLEMENT + take(z, 3) : next + take(z, 3) - (next > 0 ? 1 : 0);
    message.ballot = (struct ftc_ballot_id){take(z, 7), take(z, 3)};
    message.epoch = ftc_member_epoch(z->member);
    if (take(z, 8) == 0)
        message.epoch = (struct ftc_epoch){
            .op = take(z, 4), .ballot = {take(z, 3), take(z, 3)}, .settled = take(z, 3)};
    if (ftc_op_is_settlement(message.op))
        message.epoch = (struct ftc_epoch){.settled = message.epoch.settled};
    message.signature = z->signature;
    if (take(z, 8) == 0)
        message.signature.root = (int)take(z, 8) - 1;
    message.has_participants = message.kind != FTC_MESSAGE_POKE &&
                               message.kind != FTC_MESSAGE_FRAGMENT &&
                               (message.ballot.i > 0 || message.ballot.s > 0 || take(z, 8) == 0);
    if (message.has_participants)
        random_set(z, &message.participants);
    if (message.kind <= FTC_MESSAGE_DECIDE)
        random_contribution(z, &message);
    if (message.kind == FTC_MESSAGE_TREE) {
        random_set(z, &message.info.list);
        message.info.count = take(z, 5);
        message.info.child = take(z, 2) == 1;
    }
    if (message.kind == FTC_MESSAGE_FRAGMENT) {
        message.piece = (struct ftc_piece){take(z, 5), take(z, 5), take(z, 200)};
        random_value(z, &message.contribution.value);
    }
    if (message.kind == FTC_MESSAGE_DECIDE) {
        message.correcting = take(z, 2) == 1;
        message.way = (enum ftc_way)take(z, 4);
        message.rounds = take(z, 40);
    }
    struct ftc_buffer *head = ftc_message_encode(&message, z->settings.scheme);
    require(head != NULL);
    struct ftc_buffer *joined = join(head, ftc_message_value(&message));
    ftc_buffer_unref(head);
    ftc_message_fini(&message);
    return joined;
}

static void send_lie(struct fuzz *z)
{
    static const struct ftc_signature settles = {
        .kind = FTC_CALL_SETTLE, .root = -1, .size = sizeof(uint64_t)};
    enum ftc_message_kind kind = (enum ftc_message_kind)take(z, FTC_MESSAGES);
    struct ftc_signature called = z->signature;
    bool lies_of_settlement = take(z, 4) == 0;

    if (lies_of_settlement)
        z->signature = settles;
    struct ftc_buffer *message = lie(z, kind, lies_of_settlement);
    z->signature = called;
    feed(z, message);
}

/* Sends a DECIDE in pieces, in any order. Some come twice, some never. */
static void send_pieces(struct fuzz *z)
{
    struct ftc_buffer *whole = lie(z, FTC_MESSAGE_DECIDE, false);
    uint32_t size = 8 + take(z, 60), count = ftc_fragments_count(whole->size, size);
    struct ftc_message_head head;
    struct ftc_message piece = {.kind = FTC_MESSAGE_FRAGMENT, .signature = z->signature};

    require(ftc_message_peek(whole, &head) == FTC_SUCCESS);
    piece.op = head.op;
    piece.ballot = head.ballot;
    piece.epoch = head.epoch;
    for (uint32_t sent = 0; sent < count + take(z, 3) && !z->over; sent++) {
        struct ftc_value *bytes = &piece.contribution.value;
        uint32_t number = take(z, 4) == 0 ? take(z, count) : sent % count;
        ftc_fragments_cut(whole->size, size, number, &piece.piece, &bytes->offset, &bytes->size);
        bytes->buffer = whole;
        struct ftc_buffer *encoded = ftc_message_encode(&piece, z->settings.scheme);
        require(encoded != NULL);
        struct ftc_buffer *joined = join(encoded, bytes);
        ftc_buffer_unref(encoded);
        feed(z, joined);
    }
    ftc_buffer_unref(whole);
}

static void next_event(struct fuzz *z)
{
    struct ftc_member_activity activity;

    switch (take(z, 8)) {
    case 0:
        call_next(z);
        break;
    case 1:
        take_outputs(z, ftc_member_notice(z->member, peer(z)));
        break;
    case 2:
        take_outputs(z, take(z, 2) == 0 ? ftc_member_more(z->member) : ftc_member_timer(z->member));
        ftc_member_activity(z->member, &activity);
        break;
    case 3:
        send_raw(z);
        break;
    case 4:
    case 5:
        send_back(z);
        break;
    case 6:
        send_pieces(z);
        break;
    default:
        send_lie(z);
        break;
    }
}

static void draw_settings(struct fuzz *z)
{
    struct ftc_member_settings *s = &z->settings;

    s->ranks = 2 + (int)take(z, 7);
    s->self = (int)take(z, (unsigned)s->ranks);
    s->f = (int)take(z, 4) % s->ranks;
    s->scheme = (enum ftc_scheme)take(z, 3);
    s->share = (enum ftc_share)take(z, 2);
    s->rotation = (enum ftc_rotation)take(z, 2);
    s->reduce_arity = 1 + (int)take(z, 3);
    s->direct = (int)take(z, 6);
    s->doubling = (int)take(z, 9);
    s->tree =
        (struct ftc_tree_shape){.tree = (enum ftc_tree)take(z, 3), .arity = 2 + (int)take(z, 2)};
    s->correction = (enum ftc_correction)take(z, FTC_CORRECTION_RING + 1);
    s->dissemination = (enum ftc_dissemination)take(z, 3);
    s->distance = (int)take(z, 6);
    s->correction_delay_ns = 1000 * take(z, 2);
    s->patience_ns = 10000 * take(z, 2);
    s->gossip_bound = (enum ftc_gossip_bound)take(z, 2);
    s->gossip_rounds = (int)take(z, 8);
    s->gossip_hop = 1 + (int)take(z, 3);
    s->fragment = 8 + take(z, 60);
    s->multicast_least = 2;
    s->multicast_most = 1 << 20;
    s->settle_every = take(z, 3);
    s->prepare = (enum ftc_prepare)take(z, 2);
    s->integrity = (enum ftc_integrity)take(z, 3);
    if (s->integrity == FTC_INTEGRITY_VOTE)
        s->scheme = FTC_SCHEME_LIST;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz z = {.data = data, .size = size < SCRIPT ? size : SCRIPT};

    draw_settings(&z);
    require(ftc_member_create(&z.member, &z.settings) == FTC_SUCCESS);
    call_next(&z);
    while (z.used < z.size && !z.over)
        next_event(&z);
    ftc_member_destroy(z.member);
    for (int k = 0; k < KEPT; k++)
        ftc_buffer_unref(z.kept[k]);
    return 0;
}
