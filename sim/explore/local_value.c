/* The inputs of the ranks of an explored job, and what a result tells about them. */
#include <string.h>

#include "collectives/agreement/eligible.h"
#include "collectives/values/blocks.h"
#include "sim/explore/local_learn.h"

/* Bytes of a broadcast of the last rank. Those of the other ranks have 2 bytes, which is less than
 * reductions of 3 ranks or more have. */
#define BROADCAST_SIZE 6
#define BLOCK_MOST     2 /* bytes of the greatest block; those of rank 0 are empty */

static void add_counts(void *arg, const void *in, void *inout, size_t size)
{
    struct ftc_local *local = arg;
    const unsigned char *from = in;
    unsigned char *to = inout;

    local->operator_called |= local->outside || size != (size_t)local->ranks;
    for (size_t rank = 0; rank < size; rank++)
        to[rank] = (unsigned char)(to[rank] + from[rank] > 255 ? 255 : to[rank] + from[rank]);
}

/* The contribution of a rank to a call that gathers. */
static size_t block(int op, int rank, unsigned char bytes[BLOCK_MOST])
{
    size_t size = (size_t)rank % (BLOCK_MOST + 1);

    for (size_t b = 0; b < size; b++)
        bytes[b] = (unsigned char)((size_t)(17 * op + 5 * rank) + b + 1);
    return size;
}

static void broadcast_value(int op, int root, unsigned char bytes[BROADCAST_SIZE])
{
    for (int b = 0; b < BROADCAST_SIZE; b++)
        bytes[b] = (unsigned char)(17 * op + 5 * root + b + 1);
}

size_t ftc_local_size(const struct ftc_local *local, int op)
{
    const struct ftc_program_operation *operation = &local->program->operation[op];

    if (ftc_call_from_root(operation->kind))
        return operation->root == local->ranks - 1 ? BROADCAST_SIZE : 2;
    if (ftc_program_gathers(operation))
        return BLOCK_MOST;
    return ftc_program_combines(operation) ? (size_t)local->ranks : 0;
}

bool ftc_local_two_levels(const struct ftc_local *local, int op)
{
    const struct ftc_program_operation *operation = &local->program->operation[op];
    struct ftc_signature signature = {.kind = (uint8_t)operation->kind,
                                      .operator_code =
                                          operation->ordered ? FTC_OPERATOR_ORDERED : 0,
                                      .root = -1,
                                      .size = ftc_local_size(local, op)};

    return ftc_levels_refuse(&local->settings, &signature, NULL) == NULL;
}

bool ftc_local_sums(const struct ftc_local *local, int op)
{
    return local->settings.levels_plain && ftc_local_two_levels(local, op) &&
           local->program->operation[op].kind == FTC_CALL_REDUCE;
}

static void fill(const struct ftc_local *local, int rank, int op, unsigned char *bytes)
{
    const struct ftc_program_operation *operation = &local->program->operation[op];

    memset(bytes, 0, FTC_LOCAL_VALUE);
    if (ftc_call_from_root(operation->kind))
        broadcast_value(op, operation->root, bytes);
    else if (ftc_program_gathers(operation))
        block(op, rank, bytes);
    else
        bytes[rank] = 1;
}

int ftc_local_list(int op, uint32_t posts, struct ftc_value *list)
{
    unsigned char bytes[FTC_LOCAL_RANKS][BLOCK_MOST];
    struct ftc_block blocks[FTC_LOCAL_RANKS];
    int count = 0;

    for (int rank = FTC_LOCAL_RANKS - 1; rank >= 0; rank--)
        if ((posts >> rank & 1) != 0) {
            size_t size = block(op, rank, bytes[rank]);
            blocks[count++] = (struct ftc_block){rank, size, bytes[rank]};
        }
    return ftc_blocks_make(list, blocks, count);
}

void ftc_local_call(struct ftc_local *local, int rank, int op, unsigned char *bytes,
                    struct ftc_call *call)
{
    const struct ftc_program_operation *operation = &local->program->operation[op];
    bool gathers = ftc_program_gathers(operation),
         combines = !gathers && ftc_program_combines(operation);
    size_t size = ftc_local_size(local, op);

    fill(local, rank, op, bytes);
    *call = (struct ftc_call){
        .signature = {.kind = (uint8_t)operation->kind, .root = operation->root, .size = size},
        .input = size > 0 && (gathers || combines || operation->root == rank) ? bytes : NULL,
        .input_size = gathers ? (size_t)rank % (BLOCK_MOST + 1) : size,
        .combine = combines ? add_counts : NULL,
        .combine_arg = local,
    };
    if (combines) {
        call->signature.type = FTC_UINT8;
        call->signature.operator_code =
            local->settings.levels_plain ? (uint8_t)(uintptr_t)FTC_SUM : FTC_OPERATOR_USER;
    }
    if (operation->ordered)
        call->signature.operator_code = FTC_OPERATOR_ORDERED;
}

static bool count_blocks(int op, const struct ftc_value *value, ftc_mask *once)
{
    struct ftc_blocks walk = ftc_blocks_begin(value);
    struct ftc_block found;

    while (ftc_blocks_next(&walk, &found)) {
        unsigned char given[BLOCK_MOST];
        if (found.rank >= FTC_LOCAL_RANKS || found.size != block(op, found.rank, given) ||
            memcmp(found.bytes, given, found.size) != 0)
            return false;
        *once |= (ftc_mask)(1 << found.rank);
    }
    return walk.sound && walk.offset == value->size;
}

bool ftc_local_counts(const struct ftc_local *local, int op, const struct ftc_value *value,
                      ftc_mask *once, ftc_mask *often)
{
    *once = *often = 0;
    if (ftc_program_gathers(&local->program->operation[op]))
        return count_blocks(op, value, once);
    if (value->buffer == NULL || value->size != (size_t)local->ranks)
        return false;
    const unsigned char *count = ftc_value_bytes(value);
    for (int rank = 0; rank < local->ranks; rank++) {
        *once |= (ftc_mask)((count[rank] > 0) << rank);
        *often |= (ftc_mask)((count[rank] > 1) << rank);
    }
    return true;
}

bool ftc_local_broadcast_right(const struct ftc_local *local, int op, const struct ftc_value *value)
{
    unsigned char expected[BROADCAST_SIZE];
    size_t size = ftc_local_size(local, op);

    broadcast_value(op, local->program->operation[op].root, expected);
    return value->buffer != NULL && value->size == size &&
           memcmp(ftc_value_bytes(value), expected, size) == 0;
}
