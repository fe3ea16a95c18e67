/*
 * A set of ranks 0..size-1. Two sets in one call must have the same size.
 *
 * A set of up to FTC_SET_DENSE_MAX ranks is a bit set. ftc_set_init() allocates all its memory, so
 * nothing can fail later. A larger set is kept as runs (base/runs.h), so that its memory depends on
 * its members: a simulated job of a million ranks has millions of sets, and nearly all of them are
 * nearly empty or nearly full. Such a set grows as it is filled. When memory is missing then, the
 * process ends by abort(), a fail-stop like any other.
 *
 * A copy of the struct may be read as long as the original exists and does not change.
 */
#ifndef FTC_BASE_SET_H
#define FTC_BASE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/runs.h"

#define FTC_SET_DENSE_MAX 8192

struct ftc_set {
    int size;           /* ranks 0..size-1 may be members */
    union {             /* private; `size` decides which one is used */
        uint64_t only;  /* up to 64 ranks */
        uint64_t *word; /* up to FTC_SET_DENSE_MAX; bits past size are zero */
        struct ftc_runs runs;
    };
};

/* An empty set; FTC_ERR_NOMEM. fini() of a zeroed struct is legal. */
int ftc_set_init(struct ftc_set *set, int size);
void ftc_set_fini(struct ftc_set *set);

void ftc_set_clear(struct ftc_set *set);
void ftc_set_copy(struct ftc_set *to, const struct ftc_set *from);
void ftc_set_fill(struct ftc_set *set); /* all ranks */
void ftc_set_add(struct ftc_set *set, int rank);
void ftc_set_remove(struct ftc_set *set, int rank);
bool ftc_set_has(const struct ftc_set *set, int rank);
int ftc_set_count(const struct ftc_set *set);
bool ftc_set_empty(const struct ftc_set *set);
bool ftc_set_equal(const struct ftc_set *a, const struct ftc_set *b);
bool ftc_set_subset(const struct ftc_set *part, const struct ftc_set *whole);
bool ftc_set_intersects(const struct ftc_set *a, const struct ftc_set *b);

/* to := to ∪ from; true if that changed it. */
bool ftc_set_unite(struct ftc_set *to, const struct ftc_set *from);
/* to := to \ from */
void ftc_set_subtract(struct ftc_set *to, const struct ftc_set *from);

/* Lowest member >= from, or -1: for (r = ftc_set_next(s, 0); r >= 0; r = ftc_set_next(s, r + 1)) */
int ftc_set_next(const struct ftc_set *set, int from);

/* Lowest rank >= from that is no member, or -1. */
int ftc_set_next_missing(const struct ftc_set *set, int from);

/* The set as words, rank r in bit r % 64 of word r / 64. Shared memory and messages use this form.
 * ftc_set_add_word() ignores bits past the size. */
int ftc_set_words(int size);
uint64_t ftc_set_word(const struct ftc_set *set, int index);
void ftc_set_add_word(struct ftc_set *set, int index, uint64_t word);

/* The set as bytes, rank r in bit r % 8 of byte r / 8. The value of a validate has this form.
 * ftc_set_add_bytes() ignores bits past the size. */
size_t ftc_set_bytes(int size);
void ftc_set_to_bytes(const struct ftc_set *set, unsigned char *bytes);
void ftc_set_add_bytes(struct ftc_set *set, const unsigned char *bytes);
/* inout := in ∪ inout, with the signature of a combining function. */
void ftc_set_unite_bytes(void *arg, const void *in, void *inout, size_t bytes);

/* Write the members in ascending order to ranks[], which must have room for ftc_set_count() of
 * them. Returns their number. */
int ftc_set_list(const struct ftc_set *set, int ranks[]);

/* Write the set for people: "1-3,7", or "none" if it is empty. The end becomes "..." when `text` is
 * too short. Returns text. */
char *ftc_set_format(const struct ftc_set *set, char *text, unsigned long length);

#endif
