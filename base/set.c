/* Sets of ranks. The number of ranks decides the form: bits in one word, bits in several words, or
 * runs. Every function keeps the bits past the size zero, so that loops can go over words. */
#include "base/set.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/ftcoll.h"

#define WORD_BITS 64

static inline uint64_t bit_of(int rank)
{
    return (uint64_t)1 << (rank % WORD_BITS);
}

static inline bool is_sparse(const struct ftc_set *set)
{
    return set->size > FTC_SET_DENSE_MAX;
}

/* The words of a dense set. */
static inline uint64_t *words_of(struct ftc_set *set)
{
    return set->size <= WORD_BITS ? &set->only : set->word;
}

static inline const uint64_t *read_words(const struct ftc_set *set)
{
    return set->size <= WORD_BITS ? &set->only : set->word;
}

static inline size_t bytes_of(const struct ftc_set *set)
{
    return (size_t)ftc_set_words(set->size) * sizeof(uint64_t);
}

int ftc_set_words(int size)
{
    assert(size >= 0);
    return size / WORD_BITS + (size % WORD_BITS != 0);
}

int ftc_set_init(struct ftc_set *set, int size)
{
    struct ftc_set empty = {.size = size};

    if (size > WORD_BITS && !is_sparse(&empty)) {
        empty.word = calloc((size_t)ftc_set_words(size), sizeof(uint64_t));
        if (empty.word == NULL)
            return FTC_ERR_NOMEM;
    }
    *set = empty;
    return FTC_SUCCESS;
}

void ftc_set_fini(struct ftc_set *set)
{
    if (is_sparse(set))
        free(set->runs.run);
    else if (set->size > WORD_BITS)
        free(set->word);
    *set = (struct ftc_set){0};
}

void ftc_set_clear(struct ftc_set *set)
{
    if (set->size <= WORD_BITS)
        set->only = 0;
    else if (is_sparse(set))
        set->runs.count = 0;
    else
        memset(set->word, 0, bytes_of(set));
}

void ftc_set_copy(struct ftc_set *to, const struct ftc_set *from)
{
    assert(to->size == from->size);
    if (to->size <= WORD_BITS)
        to->only = from->only;
    else if (is_sparse(to))
        ftc_runs_copy(&to->runs, &from->runs);
    else
        memmove(to->word, from->word, bytes_of(from));
}

void ftc_set_fill(struct ftc_set *set)
{
    int words = ftc_set_words(set->size);

    if (is_sparse(set)) {
        ftc_runs_add(&set->runs, (struct ftc_run){0, set->size});
        return;
    }
    memset(words_of(set), 0xff, bytes_of(set));
    if (set->size % WORD_BITS != 0)
        words_of(set)[words - 1] = bit_of(set->size) - 1;
}

void ftc_set_add(struct ftc_set *set, int rank)
{
    assert(rank >= 0 && rank < set->size);
    if (is_sparse(set))
        ftc_runs_add(&set->runs, (struct ftc_run){rank, rank + 1});
    else
        words_of(set)[rank / WORD_BITS] |= bit_of(rank);
}

void ftc_set_remove(struct ftc_set *set, int rank)
{
    assert(rank >= 0 && rank < set->size);
    if (is_sparse(set))
        ftc_runs_remove(&set->runs, (struct ftc_run){rank, rank + 1});
    else
        words_of(set)[rank / WORD_BITS] &= ~bit_of(rank);
}

bool ftc_set_has(const struct ftc_set *set, int rank)
{
    assert(rank >= 0 && rank < set->size);
    if (is_sparse(set))
        return ftc_runs_has(&set->runs, rank);
    return (read_words(set)[rank / WORD_BITS] & bit_of(rank)) != 0;
}

int ftc_set_count(const struct ftc_set *set)
{
    int count = 0;

    if (is_sparse(set)) {
        for (int i = 0; i < set->runs.count; i++)
            count += set->runs.run[i].end - set->runs.run[i].first;
        return count;
    }
    for (int i = 0, words = ftc_set_words(set->size); i < words; i++)
        count += __builtin_popcountll(read_words(set)[i]);
    return count;
}

bool ftc_set_empty(const struct ftc_set *set)
{
    if (is_sparse(set))
        return set->runs.count == 0;
    for (int i = 0, words = ftc_set_words(set->size); i < words; i++)
        if (read_words(set)[i] != 0)
            return false;
    return true;
}

bool ftc_set_equal(const struct ftc_set *a, const struct ftc_set *b)
{
    assert(a->size == b->size);
    if (is_sparse(a))
        return a->runs.count == b->runs.count &&
               (a->runs.count == 0 || memcmp(a->runs.run, b->runs.run,
                                             (size_t)a->runs.count * sizeof(struct ftc_run)) == 0);
    return memcmp(read_words(a), read_words(b), bytes_of(a)) == 0;
}

bool ftc_set_subset(const struct ftc_set *part, const struct ftc_set *whole)
{
    assert(part->size == whole->size);
    if (is_sparse(part))
        return ftc_runs_subset(&part->runs, &whole->runs);
    for (int i = 0, words = ftc_set_words(part->size); i < words; i++)
        if ((read_words(part)[i] & ~read_words(whole)[i]) != 0)
            return false;
    return true;
}

bool ftc_set_intersects(const struct ftc_set *a, const struct ftc_set *b)
{
    assert(a->size == b->size);
    if (is_sparse(a))
        return ftc_runs_intersect(&a->runs, &b->runs);
    for (int i = 0, words = ftc_set_words(a->size); i < words; i++)
        if ((read_words(a)[i] & read_words(b)[i]) != 0)
            return true;
    return false;
}

bool ftc_set_unite(struct ftc_set *to, const struct ftc_set *from)
{
    assert(to->size == from->size);
    uint64_t added = 0;

    if (is_sparse(to)) {
        for (int i = 0; i < from->runs.count; i++)
            added |= ftc_runs_add(&to->runs, from->runs.run[i]);
        return added != 0;
    }
    for (int i = 0, words = ftc_set_words(to->size); i < words; i++) {
        added |= read_words(from)[i] & ~words_of(to)[i];
        words_of(to)[i] |= read_words(from)[i];
    }
    return added != 0;
}

void ftc_set_subtract(struct ftc_set *to, const struct ftc_set *from)
{
    assert(to->size == from->size && to != from);
    if (is_sparse(to)) {
        for (int i = 0; i < from->runs.count; i++)
            ftc_runs_remove(&to->runs, from->runs.run[i]);
        return;
    }
    for (int i = 0, words = ftc_set_words(to->size); i < words; i++)
        words_of(to)[i] &= ~read_words(from)[i];
}

static int next_run(const struct ftc_runs *runs, int from)
{
    int at = ftc_runs_find(runs, from);

    if (at == runs->count)
        return -1;
    return runs->run[at].first > from ? runs->run[at].first : from;
}

/* The lowest bit >= from that is set after each word is XORed with `flip`. -1: there is none. */
static int next_bit(const struct ftc_set *set, int from, uint64_t flip)
{
    int words = ftc_set_words(set->size), i = from / WORD_BITS;
    uint64_t word = (read_words(set)[i] ^ flip) & (UINT64_MAX << (from % WORD_BITS));

    while (word == 0) {
        if (++i == words)
            return -1;
        word = read_words(set)[i] ^ flip;
    }
    int rank = i * WORD_BITS + __builtin_ctzll(word);
    return rank < set->size ? rank : -1;
}

int ftc_set_next(const struct ftc_set *set, int from)
{
    assert(from >= 0);
    if (from >= set->size)
        return -1;
    return is_sparse(set) ? next_run(&set->runs, from) : next_bit(set, from, 0);
}

int ftc_set_next_missing(const struct ftc_set *set, int from)
{
    assert(from >= 0);
    if (from >= set->size)
        return -1;
    if (!is_sparse(set))
        return next_bit(set, from, UINT64_MAX);
    if (ftc_runs_has(&set->runs, from))
        from = set->runs.run[ftc_runs_find(&set->runs, from)].end;
    return from < set->size ? from : -1;
}

uint64_t ftc_set_word(const struct ftc_set *set, int index)
{
    uint64_t word = 0;

    assert(index >= 0 && index < ftc_set_words(set->size));
    if (!is_sparse(set))
        return read_words(set)[index];
    int end = (index + 1) * WORD_BITS;
    for (int rank = next_run(&set->runs, index * WORD_BITS); rank >= 0 && rank < end;
         rank = next_run(&set->runs, rank + 1))
        word |= bit_of(rank);
    return word;
}

void ftc_set_add_word(struct ftc_set *set, int index, uint64_t word)
{
    int first = index * WORD_BITS;

    assert(index >= 0 && index < ftc_set_words(set->size));
    if (set->size - first < WORD_BITS)
        word &= bit_of(set->size) - 1;
    if (!is_sparse(set)) {
        words_of(set)[index] |= word;
        return;
    }
    for (; word != 0; word &= word - 1)
        ftc_set_add(set, first + __builtin_ctzll(word));
}

size_t ftc_set_bytes(int size)
{
    return ((size_t)size + 7) / 8;
}

void ftc_set_to_bytes(const struct ftc_set *set, unsigned char *bytes)
{
    memset(bytes, 0, ftc_set_bytes(set->size));
    for (int rank = ftc_set_next(set, 0); rank >= 0; rank = ftc_set_next(set, rank + 1))
        bytes[rank / 8] |= (unsigned char)(1u << (rank % 8));
}

void ftc_set_add_bytes(struct ftc_set *set, const unsigned char *bytes)
{
    for (int rank = 0; rank < set->size; rank++)
        if (bytes[rank / 8] >> (rank % 8) & 1)
            ftc_set_add(set, rank);
}

void ftc_set_unite_bytes(void *arg, const void *in, void *inout, size_t bytes)
{
    const unsigned char *from = in;
    unsigned char *to = inout;

    (void)arg;
    for (size_t i = 0; i < bytes; i++)
        to[i] |= from[i];
}

int ftc_set_list(const struct ftc_set *set, int ranks[])
{
    int count = 0;

    for (int rank = ftc_set_next(set, 0); rank >= 0; rank = ftc_set_next(set, rank + 1))
        ranks[count++] = rank;
    return count;
}

/* --- for people --- */

/* Write ",3" or ",3-7"; the first item has no comma. Returns the length. */
static size_t format_run(char *text, size_t room, bool comma, int first, int last)
{
    int length;
    if (first == last)
        length = snprintf(text, room, "%s%d", comma ? "," : "", first);
    else
        length = snprintf(text, room, "%s%d-%d", comma ? "," : "", first, last);
    return (size_t)length;
}

char *ftc_set_format(const struct ftc_set *set, char *text, unsigned long length)
{
    static const char cut[] = ",...";
    size_t used = 0,
           safe = 0; /* `safe`: the longest prefix of whole items after which `cut` still fits */
    snprintf(text, length, "none");
    for (int first = ftc_set_next(set, 0), last; first >= 0; first = ftc_set_next(set, last + 1)) {
        int beyond = ftc_set_next_missing(set, first);
        last = beyond < 0 ? set->size - 1 : beyond - 1;
        used += format_run(text + used, length - used, used > 0, first, last);
        if (used >= length) {
            snprintf(text + safe, length - safe, "%s", safe > 0 ? cut : cut + 1);
            break;
        }
        if (used + sizeof(cut) <= length)
            safe = used;
    }
    return text;
}
