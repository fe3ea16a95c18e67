/*
 * Fuzzes the matching engine. The peers of a rank send anything: raw bytes, and messages that are
 * nearly right. Sends and receives start and are cancelled, ranks fail, copies are made or refused,
 * and the communicator is revoked at any moment. The engine must refuse or ignore what is wrong. It
 * may never crash, leak, or write beside the buffer of a receive. The input is a script: each byte
 * picks what happens next.
 */
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
#include "collectives/frame.h"
#include "collectives/point_to_point/internal.h"
#include "include/ftcoll.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RANKS     3
#define MOST      300 /* bytes of a buffer */
#define TRANSFERS 16
#define SCRIPT    4096
#define GUARD     0x5a

struct slot {
    struct ftc_transfer transfer;
    unsigned char buffer[MOST + 1];
    bool used;
};

struct fuzz {
    const uint8_t *data;
    size_t size, used;
    struct ftc_matching *matching;
    struct slot slot[TRANSFERS];
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

/* --- what the peers send --- */

static void send_raw(struct fuzz *z)
{
    size_t size = take(z, 100);
    struct ftc_buffer *message = ftc_buffer_new(size);

    for (size_t i = 0; i < size; i++)
        message->data[i] = (unsigned char)take(z, 256);
    require(ftc_matching_receive(z->matching, 1, message) != FTC_ERR_NOMEM);
    ftc_buffer_unref(message);
}

static void send_likely(struct fuzz *z)
{
    struct ftc_buffer *message = ftc_buffer_new(256);
    struct ftc_writer writer = {.data = message->data, .size = 256};
    unsigned what = take(z, FTC_MATCHING_WHATS + 1);

    memset(message->data, 0, 256);
    ftc_frame_write(&writer, FTC_FRAME_POINT_TO_POINT, (uint16_t)what, 5);
    ftc_write_u32(&writer, take(z, 3));
    ftc_write_u64(&writer, take(z, 6));
    ftc_write_u64(&writer, take(z, 3) * (FTC_MATCHING_OVERHEAD + take(z, 40)));
    if (what == FTC_MATCHING_READY || what == FTC_MATCHING_PULL || what == FTC_MATCHING_DATA)
        ftc_write_u64(&writer, take(z, 256));
    for (int i = 0; what == FTC_MATCHING_READY && i < 3; i++)
        ftc_write_u64(&writer, 0);
    if (what == FTC_MATCHING_DATA)
        ftc_write_align(&writer, FTC_VALUE_ALIGNMENT);
    message->size = writer.used + take(z, 5) * take(z, 20);
    require(ftc_matching_receive(z->matching, 1 + (int)take(z, 2), message) != FTC_ERR_NOMEM);
    ftc_buffer_unref(message);
}

/* --- what the rank does --- */

static void check(const struct slot *slot)
{
    for (size_t i = slot->transfer.size; i <= MOST; i++)
        require(slot->buffer[i] == GUARD);
}

static void start(struct fuzz *z)
{
    struct slot *slot = &z->slot[take(z, TRANSFERS)];

    if (slot->used && !ftc_transfer_has_ended(&slot->transfer))
        return;
    slot->used = true;
    memset(slot->buffer, GUARD, sizeof(slot->buffer));
    slot->transfer = (struct ftc_transfer){.sends = take(z, 2) == 0,
                                           .synchronous = take(z, 4) == 0,
                                           .tag = (int)take(z, 3),
                                           .buffer = slot->buffer,
                                           .size = take(z, MOST + 1)};
    slot->transfer.rank = (int)take(z, RANKS);
    if (!slot->transfer.sends && take(z, 3) == 0)
        slot->transfer.rank = FTC_MATCHING_ANY;
    require(ftc_matching_start(z->matching, &slot->transfer) == FTC_SUCCESS);
}

static void call(struct fuzz *z)
{
    struct slot *slot = &z->slot[take(z, TRANSFERS)];

    if (!slot->used)
        return;
    if (take(z, 2) == 0)
        require(ftc_matching_cancel(z->matching, &slot->transfer) == FTC_SUCCESS);
    else if (!ftc_transfer_has_ended(&slot->transfer))
        (void)ftc_matching_interrupts(z->matching, &slot->transfer);
}

static void copy(struct fuzz *z)
{
    struct ftc_matching_copy next;

    if (!ftc_matching_next_copy(z->matching, &next))
        return;
    enum ftc_copied result = next.rank == 0 ? FTC_COPY_DONE : (enum ftc_copied)take(z, 4);
    if (result == FTC_COPY_MARKED && next.mark == NULL)
        result = FTC_COPY_DONE;
    if (next.rank == 0)
        memcpy(next.to, (const void *)(uintptr_t)next.address, next.size);
    else if (result <= FTC_COPY_MARKED)
        memset(next.to, 0, next.size);
    require(ftc_matching_copied(z->matching, next.transfer, result) == FTC_SUCCESS);
}

static void step(struct fuzz *z)
{
    const struct ftc_matching_output *output;

    switch (take(z, 16)) {
    case 0:
        send_raw(z);
        break;
    case 1:
        call(z);
        break;
    case 2:
        ftc_matching_recognize(z->matching, (int)take(z, RANKS));
        break;
    case 3:
        if (take(z, 8) == 0)
            require(ftc_matching_notice(z->matching, 1 + (int)take(z, 2)) == FTC_SUCCESS);
        break;
    case 4:
        if (take(z, 32) == 0)
            ftc_matching_revoke(z->matching);
        break;
    case 5:
    case 6:
        copy(z);
        break;
    case 7:
    case 8:
    case 9:
        start(z);
        break;
    default:
        send_likely(z);
    }
    while ((output = ftc_matching_next_output(z->matching)) != NULL)
        require(output->to == 1 || output->to == 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz z = {.data = data, .size = size < SCRIPT ? size : SCRIPT};
    struct ftc_matching_settings settings = {.communicator = 5,
                                             .ranks = RANKS,
                                             .eager = 64,
                                             .credit = 512,
                                             .piece = 100,
                                             .fragment = 50,
                                             .window = 150};

    require(ftc_matching_create(&z.matching, &settings) == FTC_SUCCESS);
    while (z.used < z.size)
        step(&z);
    ftc_matching_revoke(z.matching);
    for (int i = 0; i < TRANSFERS; i++) {
        require(!z.slot[i].used || ftc_transfer_has_ended(&z.slot[i].transfer));
        if (z.slot[i].used)
            check(&z.slot[i]);
    }
    ftc_matching_destroy(z.matching);
    return 0;
}
