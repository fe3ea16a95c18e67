/*
 * A table with an entry for each rank, of which a process uses few. The entries are in chunks. A
 * chunk is made, with all bytes zero, when the first of its entries is used. So the table takes an
 * eighth of a byte for each rank, and the chunks of the ranks that are used. A look-up takes one
 * load more than in an array. Entries never move. Not thread-safe.
 */
#ifndef FTC_BASE_SPARSE_H
#define FTC_BASE_SPARSE_H

#include <assert.h>
#include <stddef.h>

#define FTC_SPARSE_CHUNK 64u /* entries */

struct ftc_sparse {
    void **chunk; /* NULL: none of its entries is used */
    int size;     /* entries */
    size_t entry; /* bytes of one */
};

/* A table of `size` entries of `entry` bytes. FTC_ERR_NOMEM: the struct is zeroed, and next() finds
 * nothing in it. fini() of a zeroed struct is legal. It frees entries, not what they point to. */
int ftc_sparse_init(struct ftc_sparse *table, int size, size_t entry);
void ftc_sparse_fini(struct ftc_sparse *table);

/* The entry of a rank. NULL: neither it nor another one of its chunk is used. */
static inline void *ftc_sparse_find(const struct ftc_sparse *table, int rank)
{
    assert(rank >= 0 && rank < table->size);
    char *chunk = table->chunk[(unsigned)rank / FTC_SPARSE_CHUNK];
    return chunk != NULL ? chunk + (unsigned)rank % FTC_SPARSE_CHUNK * table->entry : NULL;
}

/* The same, and it is made if it is not there. NULL: out of memory. */
void *ftc_sparse_make(struct ftc_sparse *table, int rank);

/* The lowest rank >= from that has an entry, or -1: for (r = ftc_sparse_next(t, 0); r >= 0;
 * r = ftc_sparse_next(t, r + 1)). The entry may be zero, because it is made with its neighbours. */
int ftc_sparse_next(const struct ftc_sparse *table, int from);

/* --- tables of pointers: `entry` is sizeof(void *) --- */

/* The pointer of a rank; NULL: none was set. */
static inline void *ftc_sparse_pointer(const struct ftc_sparse *table, int rank)
{
    assert(rank >= 0 && rank < table->size);
    void **chunk = table->chunk[(unsigned)rank / FTC_SPARSE_CHUNK];
    return chunk != NULL ? chunk[(unsigned)rank % FTC_SPARSE_CHUNK] : NULL;
}

/* FTC_ERR_NOMEM */
int ftc_sparse_set_pointer(struct ftc_sparse *table, int rank, void *pointer);
/* The lowest rank >= from whose pointer is not NULL, or -1. */
int ftc_sparse_next_pointer(const struct ftc_sparse *table, int from);

#endif
