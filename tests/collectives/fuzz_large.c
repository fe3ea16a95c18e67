/*
 * Fuzzes collectives of large values. The peers of a rank send anything: raw bytes, heads that are
 * nearly right, and its own messages thrown back, damaged, early, late and twice. Deaths, torn
 * attempts and commits come at any moment. It must refuse or ignore what is wrong. It may never
 * crash, leak, write beside its result, call the operator for anything but a block, or take bytes
 * that no contribution has. The input is a script: each byte picks what happens next.
 */
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
#include "collectives/frame.h"
#include "collectives/large/large.h"
#include "include/ftcoll.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEPT     8
#define HEAD     96 /* size of a head (large/large.c) */
#define ELEMENT  4
#define MOST     400 /* bytes of an input */
#define RANKS    6
#define SCRIPT   4096
#define ATTEMPTS 3

struct fuzz {
    const uint8_t *data;
    size_t size, used;
    struct ftc_large *large;
    struct ftc_large_settings settings;
    struct ftc_call call;
    struct ftc_large_now now;
    struct ftc_signature last;           /* of the operation called last */
    struct ftc_set known, agreed, named; /* named: by the last decision */
    bool busy, over;
    unsigned char input[MOST], result[MOST];
    uint64_t parts[RANKS + 1];
    struct ftc_buffer *kept[KEPT];
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
    return (z->settings.self + 1 + (int)take(z, (unsigned)z->settings.ranks - 1)) %
           z->settings.ranks;
}

static void add_bytes(void *arg, const void *in, void *inout, size_t size)
{
    const struct fuzz *z = arg;
    const unsigned char *from = in;
    unsigned char *to = inout;

    require(z->busy && size % ELEMENT == 0 && size <= z->call.signature.size);
    for (size_t b = 0; b < size; b++)
        to[b] = (unsigned char)(to[b] + from[b]);
}

/* A contribution has no more bytes than the signature says. The bounds of an alltoall are told
 * first. */
static void take_bytes(void *arg, int rank, size_t offset, const void *data, size_t size,
                       bool first, void *result)
{
    struct fuzz *z = arg;
    unsigned char *bytes = result;

    (void)first;
    require(z->busy && rank >= 0 && rank < z->settings.ranks && size > 0);
    require(!ftc_set_has(&z->named, rank));
    bool bounds = z->call.signature.kind == FTC_CALL_ALLTOALL && z->call.parts != NULL &&
                  offset == (size_t)z->settings.self * sizeof(uint64_t) &&
                  size == 2 * sizeof(uint64_t);
    require(bounds ||
            (offset <= z->call.signature.size && size <= z->call.signature.size - offset));
    for (size_t b = 0; b < size; b++)
        bytes[b % MOST] = ((const unsigned char *)data)[b];
}

/* --- the rank under test --- */

static void take_outputs(struct fuzz *z)
{
    struct ftc_large_output output;

    while (ftc_large_next_output(z->large, &output)) {
        require(output.head != NULL && output.head->size == HEAD && output.to != z->settings.self);
        require(output.to >= 0 && output.to < z->settings.ranks &&
                !ftc_set_has(&z->agreed, output.to));
        struct ftc_buffer *joined = ftc_value_new_message(HEAD, output.value.size);
        require(joined != NULL);
        memcpy(joined->data, output.head->data, HEAD);
        if (output.value.size > 0)
            memcpy(joined->data + HEAD, ftc_value_bytes(&output.value), output.value.size);
        ftc_buffer_unref(z->kept[z->sent % KEPT]);
        z->kept[z->sent++ % KEPT] = joined;
    }
}

/* A mismatch ends a job. */
static void judge(struct fuzz *z, int rc)
{
    require(rc == FTC_SUCCESS || rc == 1 || rc == FTC_ERR_PROTO || rc == FTC_ERR_MISMATCH);
    z->over |= rc == FTC_ERR_MISMATCH;
    require(rc != FTC_ERR_MISMATCH || ftc_large_mismatch(z->large)[0] != '\0');
    take_outputs(z);
}

static void take_early(struct fuzz *z)
{
    int rc = 1, from;

    while (rc != 0 && !z->over) {
        rc = ftc_large_early(z->large, &from);
        judge(z, rc);
    }
}

static void start(struct fuzz *z)
{
    require(ftc_large_start(z->large, &z->now, &z->agreed, &z->known) == FTC_SUCCESS);
    take_outputs(z);
    take_early(z);
}

/* Draws parts of any sizes, which lie in `size` bytes. */
static void draw_parts(struct fuzz *z, uint64_t size)
{
    z->parts[0] = 0;
    for (int r = 0; r < z->settings.ranks; r++) {
        uint64_t rest = (size - z->parts[r]) / ELEMENT;
        z->parts[r + 1] = z->parts[r] + ELEMENT * take(z, (unsigned)rest + 1);
    }
    z->call.parts = z->parts;
}

static void draw_call(struct fuzz *z)
{
    static const enum ftc_call_kind kinds[] = {
        FTC_CALL_ALLREDUCE, FTC_CALL_REDUCE_SCATTER, FTC_CALL_ALLGATHER, FTC_CALL_GATHER,
        FTC_CALL_SCATTER,   FTC_CALL_ALLTOALL,       FTC_CALL_SCAN,      FTC_CALL_EXSCAN};
    enum ftc_call_kind kind = kinds[take(z, 8)];

    z->call = (struct ftc_call){
        .signature = {.kind = (uint8_t)kind, .type = FTC_INT32, .operator_code = 1, .root = -1},
        .input = z->input,
        .combine = add_bytes,
        .combine_arg = z,
        .take = take_bytes,
        .take_arg = z};
    z->call.signature.size = ELEMENT * (1 + take(z, MOST / ELEMENT));
    z->call.input_size = z->call.signature.size;
    if (ftc_call_table[kind].rooted)
        z->call.signature.root = (int)take(z, (unsigned)z->settings.ranks);
    if (kind == FTC_CALL_ALLGATHER || kind == FTC_CALL_GATHER)
        z->call.input_size = take(z, (unsigned)z->call.signature.size + 1);
    bool sliced = kind == FTC_CALL_SCATTER || kind == FTC_CALL_REDUCE_SCATTER;
    if ((sliced || kind == FTC_CALL_ALLTOALL) && take(z, 2) == 0)
        draw_parts(z, z->call.signature.size);
    ftc_call_part(&z->call, z->settings.ranks, z->settings.self, &z->call.slice_offset,
                  &z->call.slice_size);
}

static void begin(struct fuzz *z)
{
    draw_call(z);
    z->busy = true;
    ftc_large_begin(z->large, &z->call, ELEMENT, NULL, take(z, 2) == 0 ? z->result : NULL);
    start(z);
}

static void end(struct fuzz *z)
{
    ftc_large_end(z->large);
    z->busy = false;
}

/* The decision names all ranks that were agreed upon, and perhaps one more that has failed. */
static void draw_named(struct fuzz *z)
{
    int rank = peer(z);

    ftc_set_copy(&z->named, &z->agreed);
    if (ftc_set_has(&z->known, rank))
        ftc_set_add(&z->named, rank);
}

/* The script decides what the other ranks have said of the attempt, and whom they know to have
 * failed. Nobody says that this rank has failed. */
static void commit(struct fuzz *z)
{
    unsigned char decided[1 + RANKS];
    struct ftc_call call;
    enum ftc_large_verdict verdict;
    int rc;

    ftc_large_commit(z->large, &z->known, &call);
    require(call.signature.size <= sizeof(decided));
    memcpy(decided, call.input, call.signature.size);
    z->last = call.signature;
    z->now.op++;
    z->now.under_way = &z->last;
    judge(z, ftc_large_called(z->large, &z->now));
    decided[0] |= (unsigned char)(take(z, 4) == 0);
    if (take(z, 16) == 0)
        decided[0] = 0; /* contradicts what this rank contributed */
    z->now.under_way = NULL;
    draw_named(z);
    rc = ftc_large_decide(z->large, decided, &z->named, &verdict);
    require(rc == FTC_SUCCESS || rc == FTC_ERR_PROTO);
    z->over |= rc == FTC_ERR_PROTO;
    if (z->over)
        return;
    ftc_set_unite(&z->agreed, ftc_large_failed(z->large));
    ftc_set_unite(&z->known, &z->agreed);
    if (verdict == FTC_LARGE_COMMITTED)
        ftc_large_deliver(z->large, z->result);
    if (verdict == FTC_LARGE_AGAIN)
        start(z);
    else
        end(z);
}

static void go_on(struct fuzz *z)
{
    require((ftc_large_awaited(z->large) >= 0) ==
            (ftc_large_state(z->large) == FTC_LARGE_UNDER_WAY));
    if (!z->busy)
        begin(z);
    else if (ftc_large_state(z->large) != FTC_LARGE_UNDER_WAY)
        commit(z);
}

static void fail(struct fuzz *z)
{
    int rank = peer(z);

    ftc_set_add(&z->known, rank);
    ftc_large_notice(z->large, rank);
}

/* --- the peers' side --- */

static void feed(struct fuzz *z, struct ftc_buffer *message)
{
    if (ftc_frame_kind(message) == FTC_FRAME_RING)
        judge(z, ftc_large_receive(z->large, &z->now, peer(z), message));
    else
        judge(z, ftc_large_look(z->large, peer(z), message));
    ftc_buffer_unref(message);
}

static void send_raw(struct fuzz *z)
{
    size_t length = take(z, 200);
    struct ftc_buffer *message = ftc_buffer_new(length);

    require(message != NULL);
    for (size_t b = 0; b < length; b++)
        message->data[b] = (unsigned char)take(z, 256);
    feed(z, message);
}

/* Changes up to three bytes, mostly of the head, and perhaps cuts the message. */
static void send_back(struct fuzz *z)
{
    struct ftc_buffer *kept = z->kept[take(z, KEPT)];

    if (kept == NULL)
        return;
    size_t size = take(z, 8) == 0 ? take(z, (unsigned)kept->size) : kept->size;
    struct ftc_buffer *message = ftc_buffer_new(size);
    require(message != NULL);
    memcpy(message->data, kept->data, size);
    for (unsigned change = take(z, 4); change > 0 && size > 0; change--)
        message->data[take(z, (unsigned)(size <= HEAD ? size : HEAD + 1))] =
            (unsigned char)take(z, 256);
    feed(z, message);
}

/* Sends a head as large/large.c writes it, of this operation or one near to it, with any block and
 * hop. Bytes follow, often as many as a block has. */
static void send_lie(struct fuzz *z)
{
    uint64_t size = take(z, 8) == 0 ? take(z, 256) : z->call.signature.size;
    uint32_t block = take(z, RANKS + 1), hop = take(z, 2 * RANKS);
    uint64_t begin = take(z, 2) == 0 ? 0 : take(z, MOST / ELEMENT) * ELEMENT;
    size_t bytes =
        take(z, 2) == 0 ? take(z, 128) : (size_t)(size / ELEMENT / (1 + take(z, RANKS)) * ELEMENT);
    struct ftc_buffer *message = ftc_value_new_message(HEAD, bytes);

    require(message != NULL);
    struct ftc_writer w = {.data = message->data, .size = HEAD};
    ftc_frame_write(&w, FTC_FRAME_RING, 0, 0);
    ftc_write_u64(&w, z->now.op + take(z, 4) - (z->now.op > 0));
    ftc_write_u64(&w, take(z, 8) == 0 ? take(z, 4) : z->now.epoch.op);
    ftc_write_u32(&w, z->now.epoch.ballot.i);
    ftc_write_u32(&w, z->now.epoch.ballot.s);
    ftc_write_u64(&w, z->now.epoch.settled);
    ftc_write_u8(&w, z->call.signature.kind);
    ftc_write_u8(&w, z->call.signature.type);
    ftc_write_u8(&w, z->call.signature.operator_code);
    ftc_write_u8(&w, 0);
    ftc_write_u32(&w, (uint32_t)z->call.signature.root);
    ftc_write_u64(&w, size);
    ftc_write_u32(&w, block);
    ftc_write_u32(&w, hop);
    ftc_write_u64(&w, begin);
    ftc_write_u64(&w, take(z, 2) == 0 ? bytes : take(z, 256));
    ftc_write_align(&w, HEAD);
    require(!w.failed && w.used == HEAD);
    memset(message->data + HEAD, 1, bytes);
    feed(z, message);
}

static void next_event(struct fuzz *z)
{
    switch (take(z, 8)) {
    case 0:
    case 1:
        go_on(z);
        break;
    case 2:
        fail(z);
        break;
    case 3:
        send_raw(z);
        break;
    case 4:
    case 5:
        send_back(z);
        break;
    default:
        send_lie(z);
        break;
    }
}

static void draw_settings(struct fuzz *z)
{
    z->settings.ranks = 2 + (int)take(z, RANKS - 1);
    z->settings.self = (int)take(z, (unsigned)z->settings.ranks);
    z->settings.attempts = 1 + (int)take(z, ATTEMPTS);
    z->settings.block_least = ELEMENT * (1 + take(z, 8));
    z->settings.block_most = z->settings.block_least + ELEMENT * take(z, 16);
    z->settings.part_most = z->settings.block_most;
    z->settings.window = 1 + (int)take(z, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz z = {.data = data, .size = size < SCRIPT ? size : SCRIPT};

    draw_settings(&z);
    require(ftc_set_init(&z.known, z.settings.ranks) == FTC_SUCCESS &&
            ftc_set_init(&z.agreed, z.settings.ranks) == FTC_SUCCESS &&
            ftc_set_init(&z.named, z.settings.ranks) == FTC_SUCCESS &&
            ftc_large_create(&z.large, &z.settings) == FTC_SUCCESS);
    go_on(&z);
    while (z.used < z.size && !z.over)
        next_event(&z);
    if (z.busy)
        end(&z);
    ftc_large_destroy(z.large);
    ftc_set_fini(&z.known);
    ftc_set_fini(&z.agreed);
    ftc_set_fini(&z.named);
    for (int k = 0; k < KEPT; k++)
        ftc_buffer_unref(z.kept[k]);
    return 0;
}
