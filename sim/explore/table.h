/*
 * Hash tables of exploration. The table maps 64-bit keys to 32-bit numbers (open addressing, linear
 * probing, doubling). On it works the interning of things by a 128-bit digest of their bytes.
 * Things with equal digests count as equal. The first thing gets number 0, the next one 1, and so
 * on.
 */
#ifndef FTC_SIM_EXPLORE_TABLE_H
#define FTC_SIM_EXPLORE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FTC_TABLE_NONE UINT32_MAX

struct ftc_table_entry {
    uint64_t key;
    uint32_t value; /* FTC_TABLE_NONE: empty */
};

struct ftc_table {
    struct ftc_table_entry *entry;
    size_t room, count; /* room: a power of two; 0 before the first insertion */
};

void ftc_table_fini(struct ftc_table *table); /* a zeroed struct is an empty table */
/* The value of a key; FTC_TABLE_NONE: the key is not there. */
uint32_t ftc_table_get(const struct ftc_table *table, uint64_t key);
/* Insert or replace. `value` must not be FTC_TABLE_NONE. FTC_ERR_NOMEM. */
int ftc_table_put(struct ftc_table *table, uint64_t key, uint32_t value);
size_t ftc_table_bytes(const struct ftc_table *table);

struct ftc_digest {
    uint64_t low, high;
};

struct ftc_intern {
    struct ftc_table table;
    struct ftc_digest *digest; /* by number */
    size_t room;
    uint32_t count;
};

void ftc_intern_fini(struct ftc_intern *intern); /* a zeroed struct is empty */
struct ftc_digest ftc_digest_of(const void *bytes, size_t size);
/* The number of the thing with this digest. *fresh: the number is new. FTC_ERR_NOMEM. */
int ftc_intern_number(struct ftc_intern *intern, struct ftc_digest digest, uint32_t *number,
                      bool *fresh);
size_t ftc_intern_bytes(const struct ftc_intern *intern);

/* Make room for element number `count`, of `size` bytes, in an array that doubles. FTC_ERR_NOMEM
 * leaves the array as it was. */
int ftc_array_grow(void **array, size_t *room, size_t count, size_t size);

#endif
