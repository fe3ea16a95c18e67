/*
 * A roll: what the members contribute to a creation, and to an agreement of the survivors
 * (docs/design/communicators.md, C2 and C9). It has two sets of ranks, as bytes: the failed ones,
 * and those whose failure a caller has not recognized. Then it has an entry for each rank:
 *
 *   u8 wish | u8 refuses | u16 0 | u32 color | u32 key | u32 flag | u64 proposal | u64 spare
 *
 * A rank writes its own entry and leaves the others zero. Rolls are combined by bitwise or. This
 * object leaves the first set empty: in an agreement of the survivors the agreement core writes L
 * there (FTC_CALL_AGREE).
 */
#ifndef FTC_COLLECTIVES_COMMUNICATORS_ROLL_H
#define FTC_COLLECTIVES_COMMUNICATORS_ROLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/set.h"

/* The call that a rank makes. */
enum ftc_wish {
    FTC_WISH_NONE, /* the rank has not contributed */
    FTC_WISH_CREATE,
    FTC_WISH_OPEN,
    FTC_WISH_VALIDATE,
    FTC_WISH_AGREE,
    FTC_WISH_CLOSE,
    FTC_WISHES
};

struct ftc_roll_entry {
    enum ftc_wish wish;
    bool refuses; /* OPEN: this rank could not open the memory */
    int color, key;
    uint32_t flag; /* AGREE */
    uint64_t proposal;
    uint64_t spare; /* CREATE: this rank offers the memory of this communicator (C3); 0: none */
    /* AGREE, when it is written: failures that this rank has not recognized. NULL: none. */
    const struct ftc_set *unrecognized;
};

size_t ftc_roll_size(int ranks);
/* A roll with one entry, and without failed ranks. NULL: out of memory. */
struct ftc_buffer *ftc_roll_new(int ranks, int rank, const struct ftc_roll_entry *entry);
/* The entry of a rank in a roll of `size` bytes. A roll of another size has no entries. */
struct ftc_roll_entry ftc_roll_read(const void *roll, size_t size, int ranks, int rank);
/* The wish of the ranks that do not wish to close. NONE: all wish to close. FTC_WISHES: these ranks
 * wish for different things. */
enum ftc_wish ftc_roll_wish(const void *roll, size_t size, int ranks);
/* The bits that the flags of all ranks have which agree. */
uint32_t ftc_roll_flag(const void *roll, size_t size, int ranks);
/* Is there a rank in `failed` whose failure a rank has not recognized? */
bool ftc_roll_has_unrecognized(const void *roll, size_t size, int ranks,
                               const struct ftc_set *failed);
/* Does any rank refuse? */
bool ftc_roll_refused(const void *roll, size_t size, int ranks);

#endif
