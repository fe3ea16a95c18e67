#include "tests/collectives/matching_net.h"

#include <string.h>

#include "base/wire.h"
#include "collectives/frame.h"
#include "include/ftcoll.h"
#include "tests/suite.h"

struct ftc_matching *net_engine[RANKS];
enum ftc_copied net_copies = FTC_COPY_DONE;
int net_sent[FTC_MATCHING_WHATS];

void net_begin(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        struct ftc_matching_settings settings = {.communicator = 5,
                                                 .self = rank,
                                                 .ranks = RANKS,
                                                 .eager = EAGER,
                                                 .credit = CREDIT,
                                                 .piece = 1000,
                                                 .fragment = 100,
                                                 .window = 400};
        ck_assert_int_eq(ftc_matching_create(&net_engine[rank], &settings), FTC_SUCCESS);
    }
}

void net_end(void)
{
    for (int rank = 0; rank < RANKS; rank++)
        ftc_matching_destroy(net_engine[rank]);
}

struct ftc_buffer *net_join(const struct ftc_matching_output *output)
{
    size_t head = output->head_size;
    struct ftc_buffer *message = ftc_value_new_message(head, output->size);

    ck_assert_ptr_nonnull(message);
    memcpy(message->data, output->head, head);
    if (output->size > 0)
        memcpy(message->data + ftc_value_offset(head), output->bytes, output->size);
    return message;
}

bool net_move_one(int rank)
{
    const struct ftc_matching_output *output = ftc_matching_next_output(net_engine[rank]);

    if (output == NULL)
        return false;
    struct ftc_buffer *message = net_join(output);
    net_sent[message->data[2]]++;
    ck_assert_int_eq(ftc_matching_receive(net_engine[output->to], rank, message), FTC_SUCCESS);
    ftc_buffer_unref(message);
    return true;
}

bool net_copy_one(int rank)
{
    struct ftc_matching_copy copy;

    if (!ftc_matching_next_copy(net_engine[rank], &copy))
        return false;
    enum ftc_copied result =
        net_copies == FTC_COPY_MARKED && copy.mark == NULL ? FTC_COPY_DONE : net_copies;
    if (result == FTC_COPY_DONE || result == FTC_COPY_MARKED)
        memcpy(copy.to, (const void *)(uintptr_t)copy.address, copy.size);
    if (result == FTC_COPY_MARKED)
        memcpy(copy.mark, (const void *)(uintptr_t)copy.mark_address, sizeof(*copy.mark));
    ck_assert_int_eq(ftc_matching_copied(net_engine[rank], copy.transfer, result), FTC_SUCCESS);
    return true;
}

/* All messages and copies, until there are none. */
void net_settle(void)
{
    for (bool any = true; any;) {
        any = false;
        for (int rank = 0; rank < RANKS; rank++)
            any = net_move_one(rank) || net_copy_one(rank) || any;
    }
}

struct ftc_transfer net_transfer(bool sends, int rank, int tag, void *buffer, size_t size)
{
    return (struct ftc_transfer){
        .sends = sends, .rank = rank, .tag = tag, .buffer = buffer, .size = size};
}

void net_start(int rank, struct ftc_transfer *t)
{
    ck_assert_int_eq(ftc_matching_start(net_engine[rank], t), FTC_SUCCESS);
}

void net_cancel(int rank, struct ftc_transfer *t)
{
    ck_assert_int_eq(ftc_matching_cancel(net_engine[rank], t), FTC_SUCCESS);
}

void net_ended(const struct ftc_transfer *t, int status)
{
    ck_assert(ftc_transfer_has_ended(t));
    ck_assert_int_eq(t->status, status);
}

struct ftc_buffer *net_message(int what, uint64_t number, uint64_t taken, uint64_t field)
{
    struct ftc_buffer *buffer = ftc_buffer_new(256);
    struct ftc_writer writer = {.data = buffer->data, .size = 256};

    ftc_frame_write(&writer, FTC_FRAME_POINT_TO_POINT, (uint16_t)what, 5);
    ftc_write_u32(&writer, 0);
    ftc_write_u64(&writer, number);
    ftc_write_u64(&writer, taken);
    if (what == FTC_MATCHING_READY || what == FTC_MATCHING_PULL || what == FTC_MATCHING_DATA)
        ftc_write_u64(&writer, field);
    for (int i = 0; what == FTC_MATCHING_READY && i < 3; i++)
        ftc_write_u64(&writer, 0);
    if (what == FTC_MATCHING_DATA) {
        ftc_write_align(&writer, FTC_VALUE_ALIGNMENT);
        ftc_write_bytes(&writer, "8 bytes.", 8);
    }
    buffer->size = writer.used;
    return buffer;
}

void net_refused(struct ftc_buffer *buffer)
{
    ck_assert_int_eq(ftc_matching_receive(net_engine[0], 1, buffer), FTC_ERR_PROTO);
    ftc_buffer_unref(buffer);
}

void net_taken(struct ftc_buffer *buffer)
{
    ck_assert_int_eq(ftc_matching_receive(net_engine[0], 1, buffer), FTC_SUCCESS);
    ftc_buffer_unref(buffer);
}
