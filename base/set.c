/* Sets of ranks as bit sets. Loops go over words; bits past the size are zero, which every function keeps. */
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

static inline size_t bytes_of(const struct ftc_set *set)
{
    return (size_t)ftc_set_words(set->size) * sizeof(*set->word);
}

int ftc_set_words(int size)
{
    assert(size >= 0);
    return size / WORD_BITS + (size % WORD_BITS != 0);
}

int ftc_set_init(struct ftc_set *set, int size)
{
    size_t words = (size_t)ftc_set_words(size);
    uint64_t *word = calloc(words > 0 ? words : 1, sizeof(*word));
    if (word == NULL)
        return FTC_ERR_NOMEM;
    set->size = size;
    set->word = word;
    return FTC_SUCCESS;
}

void ftc_set_fini(struct ftc_set *set)
{
    free(set->word);
    set->word = NULL;
    set->size = 0;
}

void ftc_set_clear(struct ftc_set *set)
{
    memset(set->word, 0, bytes_of(set));
}

void ftc_set_copy(struct ftc_set *to, const struct ftc_set *from)
{
    assert(to->size == from->size);
    memmove(to->word, from->word, bytes_of(from));
}

void ftc_set_add(struct ftc_set *set, int rank)
{
    assert(rank >= 0 && rank < set->size);
    set->word[rank / WORD_BITS] |= bit_of(rank);
}

void ftc_set_remove(struct ftc_set *set, int rank)
{
    assert(rank >= 0 && rank < set->size);
    set->word[rank / WORD_BITS] &= ~bit_of(rank);
}

bool ftc_set_has(const struct ftc_set *set, int rank)
{
    assert(rank >= 0 && rank < set->size);
    return (set->word[rank / WORD_BITS] & bit_of(rank)) != 0;
}

int ftc_set_count(const struct ftc_set *set)
{
    int words = ftc_set_words(set->size), count = 0;
    for (int i = 0; i < words; i++)
        count += __builtin_popcountll(set->word[i]);
    return count;
}

bool ftc_set_empty(const struct ftc_set *set)
{
    int words = ftc_set_words(set->size);
    for (int i = 0; i < words; i++)
        if (set->word[i] != 0)
            return false;
    return true;
}

bool ftc_set_equal(const struct ftc_set *a, const struct ftc_set *b)
{
    assert(a->size == b->size);
    return memcmp(a->word, b->word, bytes_of(a)) == 0;
}

bool ftc_set_subset(const struct ftc_set *part, const struct ftc_set *whole)
{
    assert(part->size == whole->size);
    int words = ftc_set_words(part->size);
    for (int i = 0; i < words; i++)
        if ((part->word[i] & ~whole->word[i]) != 0)
            return false;
    return true;
}

bool ftc_set_intersects(const struct ftc_set *a, const struct ftc_set *b)
{
    assert(a->size == b->size);
    int words = ftc_set_words(a->size);
    for (int i = 0; i < words; i++)
        if ((a->word[i] & b->word[i]) != 0)
            return true;
    return false;
}

bool ftc_set_unite(struct ftc_set *to, const struct ftc_set *from)
{
    assert(to->size == from->size);
    int words = ftc_set_words(to->size);
    uint64_t added = 0;
    for (int i = 0; i < words; i++) {
        added |= from->word[i] & ~to->word[i];
        to->word[i] |= from->word[i];
    }
    return added != 0;
}

void ftc_set_subtract(struct ftc_set *to, const struct ftc_set *from)
{
    assert(to->size == from->size);
    int words = ftc_set_words(to->size);
    for (int i = 0; i < words; i++)
        to->word[i] &= ~from->word[i];
}

int ftc_set_next(const struct ftc_set *set, int from)
{
    assert(from >= 0);
    if (from >= set->size)
        return -1;
    int words = ftc_set_words(set->size), i = from / WORD_BITS;
    uint64_t word = set->word[i] & (UINT64_MAX << (from % WORD_BITS));
    while (word == 0) {
        if (++i == words)
            return -1;
        word = set->word[i];
    }
    return i * WORD_BITS + __builtin_ctzll(word);
}

int ftc_set_list(const struct ftc_set *set, int ranks[])
{
    int words = ftc_set_words(set->size), count = 0;
    for (int i = 0; i < words; i++)
        for (uint64_t word = set->word[i]; word != 0; word &= word - 1)
            ranks[count++] = i * WORD_BITS + __builtin_ctzll(word);
    return count;
}

/* Last member of the run of consecutive members that begins at `first`. */
static int run_end(const struct ftc_set *set, int first)
{
    int last = first;
    while (last + 1 < set->size && ftc_set_has(set, last + 1))
        last++;
    return last;
}

/* ",3" or ",3-7" without the comma in front of the first item; returns its length. */
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
    size_t used = 0, safe = 0; /* `safe`: the longest prefix of whole items after which `cut` still fits */
    snprintf(text, length, "none");
    for (int first = ftc_set_next(set, 0), last; first >= 0; first = ftc_set_next(set, last + 1)) {
        last = run_end(set, first);
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
