/* A set of ranks 0..size-1 as a bit set. Sets that are combined have the same size. */
#ifndef FTC_BASE_SET_H
#define FTC_BASE_SET_H

#include <stdbool.h>
#include <stdint.h>

struct ftc_set {
    int size;       /* ranks 0..size-1 may be members */
    uint64_t *word; /* ftc_set_words(size) words; bits past size are zero */
};

int ftc_set_words(int size);

/* An empty set; FTC_ERR_NOMEM. fini() of a zeroed struct is legal. */
int ftc_set_init(struct ftc_set *set, int size);
void ftc_set_fini(struct ftc_set *set);

void ftc_set_clear(struct ftc_set *set);
void ftc_set_copy(struct ftc_set *to, const struct ftc_set *from);
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

/* Write the members in ascending order to ranks[] (room for ftc_set_count()); returns their number. */
int ftc_set_list(const struct ftc_set *set, int ranks[]);

/* "1-3,7" for people; "none" if empty. Cut with "..." when `text` is too short. Returns text. */
char *ftc_set_format(const struct ftc_set *set, char *text, unsigned long length);

#endif
