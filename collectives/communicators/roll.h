/*
 * A roll: what the members contribute to a creation, and to an agreement after a revoke
 * (docs/design/communicators.md, C2 and C9). It has a set of failed ranks, as bytes, and then an
 * entry for each rank:
 *
 *   u8 wish | u8 refuses | u16 0 | u32 color | u32 key | u32 0 | u64 proposal | u64 spare
 *
 * A rank writes its own entry and leaves the others zero. Rolls are combined by bitwise or. This
 * object leaves the set empty: in an agreement after a revoke the agreement core writes L there
 * (FTC_CALL_AGREE).
 */
#ifndef FTC_COLLECTIVES_COMMUNICATORS_ROLL_H
#define FTC_COLLECTIVES_COMMUNICATORS_ROLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* The call that a rank makes. */
enum ftc_wish {
    FTC_WISH_NONE, /* the rank has not contributed */
    FTC_WISH_CREATE,
    FTC_WISH_OPEN,
    FTC_WISH_VALIDATE,
    FTC_WISH_CLOSE,
    FTC_WISHES
};

struct ftc_roll_entry {
    enum ftc_wish wish;
    bool refuses; /* OPEN: this rank could not open the memory */
    int color, key;
    uint64_t proposal;
    uint64_t spare; /* CREATE: this rank offers the memory of this communicator (C3); 0: none */
};

size_t ftc_roll_size(int ranks);
/* A roll with one entry, and with no failed ranks. NULL: out of memory. */
struct ftc_buffer *ftc_roll_new(int ranks, int rank, const struct ftc_roll_entry *entry);
/* The entry of a rank in a roll of `size` bytes. A roll of another size has no entries. */
struct ftc_roll_entry ftc_roll_read(const void *roll, size_t size, int ranks, int rank);
/* The wish of the ranks that do not wish to close. NONE: all wish to close. FTC_WISHES: these ranks
 * wish for different things. */
enum ftc_wish ftc_roll_wish(const void *roll, size_t size, int ranks);
/* Does any rank refuse? */
bool ftc_roll_refused(const void *roll, size_t size, int ranks);

#endif
