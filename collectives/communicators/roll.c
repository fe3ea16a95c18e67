/* Rolls: encoding, decoding, and what they say. */
#include "collectives/communicators/roll.h"

#include <string.h>

#include "base/wire.h"

#define ENTRY_SIZE 32

/* Where the entries begin. */
static size_t entries(int ranks)
{
    return 2 * ftc_set_bytes(ranks);
}

size_t ftc_roll_size(int ranks)
{
    return entries(ranks) + (size_t)ranks * ENTRY_SIZE;
}

struct ftc_buffer *ftc_roll_new(int ranks, int rank, const struct ftc_roll_entry *entry)
{
    struct ftc_buffer *roll = ftc_buffer_new(ftc_roll_size(ranks));

    if (roll == NULL)
        return NULL;
    memset(roll->data, 0, roll->size);
    if (entry->unrecognized != NULL)
        ftc_set_to_bytes(entry->unrecognized, roll->data + ftc_set_bytes(ranks));
    struct ftc_writer writer = {
        .data = roll->data, .size = roll->size, .used = entries(ranks) + (size_t)rank * ENTRY_SIZE};
    ftc_write_u8(&writer, (uint8_t)entry->wish);
    ftc_write_u8(&writer, entry->refuses);
    ftc_write_u16(&writer, 0);
    ftc_write_u32(&writer, (uint32_t)entry->color);
    ftc_write_u32(&writer, (uint32_t)entry->key);
    ftc_write_u32(&writer, entry->flag);
    ftc_write_u64(&writer, entry->proposal);
    ftc_write_u64(&writer, entry->spare);
    return roll;
}

struct ftc_roll_entry ftc_roll_read(const void *roll, size_t size, int ranks, int rank)
{
    struct ftc_reader reader = {
        .data = roll, .size = size, .used = entries(ranks) + (size_t)rank * ENTRY_SIZE};
    struct ftc_roll_entry entry = {0};

    if (size != ftc_roll_size(ranks))
        return entry;
    uint8_t wish = ftc_read_u8(&reader);
    entry.wish = wish < FTC_WISHES ? (enum ftc_wish)wish : FTC_WISH_NONE;
    entry.refuses = ftc_read_u8(&reader) != 0;
    ftc_read_u16(&reader);
    entry.color = (int)ftc_read_u32(&reader);
    entry.key = (int)ftc_read_u32(&reader);
    entry.flag = ftc_read_u32(&reader);
    entry.proposal = ftc_read_u64(&reader);
    entry.spare = ftc_read_u64(&reader);
    return entry;
}

enum ftc_wish ftc_roll_wish(const void *roll, size_t size, int ranks)
{
    enum ftc_wish all = FTC_WISH_NONE;

    for (int rank = 0; rank < ranks; rank++) {
        enum ftc_wish wish = ftc_roll_read(roll, size, ranks, rank).wish;
        if (wish == FTC_WISH_NONE || wish == FTC_WISH_CLOSE || wish == all)
            continue;
        if (all != FTC_WISH_NONE)
            return FTC_WISHES;
        all = wish;
    }
    return all;
}

uint32_t ftc_roll_flag(const void *roll, size_t size, int ranks)
{
    uint32_t flag = UINT32_MAX;

    for (int rank = 0; rank < ranks; rank++) {
        struct ftc_roll_entry entry = ftc_roll_read(roll, size, ranks, rank);
        if (entry.wish == FTC_WISH_AGREE)
            flag &= entry.flag;
    }
    return flag;
}

bool ftc_roll_has_unrecognized(const void *roll, size_t size, int ranks,
                               const struct ftc_set *failed)
{
    if (size != ftc_roll_size(ranks))
        return true;
    const unsigned char *bytes = (const unsigned char *)roll + ftc_set_bytes(ranks);
    for (int rank = 0; (rank = ftc_set_next(failed, rank)) >= 0; rank++)
        if ((bytes[rank / 8] >> rank % 8 & 1) != 0)
            return true;
    return false;
}

bool ftc_roll_refused(const void *roll, size_t size, int ranks)
{
    for (int rank = 0; rank < ranks; rank++)
        if (ftc_roll_read(roll, size, ranks, rank).refuses)
            return true;
    return false;
}
