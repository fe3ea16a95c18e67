/* Tables whose entries are made when they are used. */
#include "base/sparse.h"

#include <stdlib.h>

#include "include/ftcoll.h"

static unsigned count_chunks(const struct ftc_sparse *table)
{
    return ((unsigned)table->size + FTC_SPARSE_CHUNK - 1) / FTC_SPARSE_CHUNK;
}

int ftc_sparse_init(struct ftc_sparse *table, int size, size_t entry)
{
    struct ftc_sparse empty = {.size = size, .entry = entry};

    assert(size >= 1 && entry >= 1);
    empty.chunk = calloc(count_chunks(&empty), sizeof(*empty.chunk));
    *table = empty.chunk != NULL ? empty : (struct ftc_sparse){0};
    return empty.chunk != NULL ? FTC_SUCCESS : FTC_ERR_NOMEM;
}

void ftc_sparse_fini(struct ftc_sparse *table)
{
    for (unsigned i = 0; table->chunk != NULL && i < count_chunks(table); i++)
        free(table->chunk[i]);
    free(table->chunk);
    *table = (struct ftc_sparse){0};
}

void *ftc_sparse_make(struct ftc_sparse *table, int rank)
{
    assert(rank >= 0 && rank < table->size);
    unsigned index = (unsigned)rank / FTC_SPARSE_CHUNK;
    unsigned left = (unsigned)table->size - index * FTC_SPARSE_CHUNK; /* from its first one on */

    if (table->chunk[index] == NULL)
        table->chunk[index] =
            calloc(left < FTC_SPARSE_CHUNK ? left : FTC_SPARSE_CHUNK, table->entry);
    return ftc_sparse_find(table, rank);
}

int ftc_sparse_next(const struct ftc_sparse *table, int from)
{
    unsigned rank = (unsigned)from;

    while (rank < (unsigned)table->size && table->chunk[rank / FTC_SPARSE_CHUNK] == NULL)
        rank += FTC_SPARSE_CHUNK - rank % FTC_SPARSE_CHUNK;
    return rank < (unsigned)table->size ? (int)rank : -1;
}

int ftc_sparse_set_pointer(struct ftc_sparse *table, int rank, void *pointer)
{
    void **entry = ftc_sparse_make(table, rank);

    if (entry == NULL)
        return FTC_ERR_NOMEM;
    *entry = pointer;
    return FTC_SUCCESS;
}

int ftc_sparse_next_pointer(const struct ftc_sparse *table, int from)
{
    int rank = from;

    while ((rank = ftc_sparse_next(table, rank)) >= 0 && ftc_sparse_pointer(table, rank) == NULL)
        rank++;
    return rank;
}
