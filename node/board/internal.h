/* The inside of the board: board.c (life, calls), board/post.c (posting), board/judge.c (is a post
 * sound), board/pair.c (two members), board/round.c (collecting rounds), board/wait.c (waiting and
 * waking). Private to this room. */
#ifndef FTC_NODE_BOARD_INTERNAL_H
#define FTC_NODE_BOARD_INTERNAL_H

#include "node/board/board.h"
#include "node/segment/board_memory.h"
#include "node/board/mutation.h"

#define FTC_BOARD_EVERYBODY (-1)                  /* as a reader */
#define FTC_BOARD_GOLDEN    0x9e3779b97f4a7c15ull /* 2^64 over the golden ratio: mixes digests */

/* What looks for failures and wrong posts; bench/tolerance measures what it costs against a library
 * without. */
#ifdef FTC_BOARD_UNCHECKED
#define FTC_BOARD_CHECKS false
#else
#define FTC_BOARD_CHECKS true
#endif

/* The post made last in a place or a buffer, and who reads it. */
struct ftc_board_use {
    uint64_t end;       /* its round + 1; 0: never used */
    int reader;         /* a rank, or FTC_BOARD_EVERYBODY */
    uint32_t populated; /* a buffer's: bytes that are allocated */
};

struct ftc_board {
    struct ftc_board_setup set;
    struct ftc_board_memory memory;
    struct ftc_segment_header *header;
    int rank, ranks;

    uint64_t op;           /* calls made */
    uint64_t round;        /* the next, or the one under way */
    uint64_t own_finished; /* as this rank has stored it */

    struct ftc_set agreed; /* G */
    struct ftc_set known;  /* L */
    struct ftc_set failed; /* of the last decision */
    struct ftc_set
        gone; /* missing in a decision: no later post of these counts, even if not in G */
    struct ftc_set accused; /* told to the host */
    uint32_t failures;      /* cursor in the failure log */
    int *
        member; /* who takes part in a round: all but G, less those left out of this operation; ascending */
    int members;
    int live; /* members that are not in L */

    /* Reuse. */
    uint64_t settled;   /* every member has finished the rounds before this one */
    uint64_t *finished; /* of each rank, as last read */
    struct ftc_board_use place[FTC_BOARD_DEPTH];
    struct ftc_board_use small[FTC_BOARD_SMALL_COUNT];
    struct ftc_board_use block[FTC_BOARD_BLOCK_COUNT];
    struct ftc_board_use whole[FTC_BOARD_WHOLE_COUNT];

    /* The call under way. */
    const struct ftc_call *call; /* NULL: none */
    struct ftc_signature mine;   /* its signature, with the digest of earlier calls */
    uint64_t check;              /* of it, as in a mark */
    uint64_t earlier;            /* digest of the broadcasts and plain reduces so far */
    uint64_t begun;              /* its first round */
    unsigned char *receive;
    unsigned restarts;
    struct ftc_set left_out; /* members that did not post ... */
    int leaving;             /* ... and their number */
    bool nothing_new;        /* `failed` is G */
    bool apart;              /* the root of a plain reduce, which reads its own input where it is */
    unsigned char *kept;     /* input that the result has overwritten, for another start */
    size_t kept_room;

    /* Pairs. */
    bool met;               /* a collecting round is over: each member has joined the job */
    bool refused;           /* copies between the two failed once: never again */
    unsigned char *scratch; /* two pieces */

    /* The collecting round under way. */
    size_t offset, bytes;        /* of its block */
    const unsigned char *source; /* where this rank's post was copied from */
    int cursor;                  /* members before it have posted or will never */
    uint32_t judged;             /* failures known when the first member's post was looked at */
    bool over;                   /* all are before it */
    bool suspicious;             /* look at the marks whatever the arrival count says */
    int missing;                 /* members that will never post */
    unsigned chunk;              /* chunks before it are done */
    bool short_of_members;       /* one of those was combined without some */
    int awaited;                 /* rank whose room is waited for, ... */
    uint64_t awaited_end;        /* ... up to this round; 0: none is */
    unsigned char bits[FTC_NODE_MAX_RANKS / 8]; /* validate: L to post, then the union */
};

static inline struct ftc_board_place *ftc_board_place(const struct ftc_board *b, uint64_t round)
{
    return &b->memory.places[round % FTC_BOARD_DEPTH];
}

static inline struct ftc_board_post *ftc_board_post_of(const struct ftc_board *b, uint64_t round,
                                                       int rank)
{
    return (struct ftc_board_post *)(void *)(b->memory.posts +
                                             round % FTC_BOARD_DEPTH * b->memory.post_stride) +
           rank;
}

/* --- board.c --- */

/* All but G and those who did not post in this operation. Between two rounds only. */
void ftc_board_list_members(struct ftc_board *b);
/* Make b->kept that large. */
void ftc_board_make_room(struct ftc_board *b, size_t bytes);

/* --- board/pair.c --- */

enum ftc_board_pair {
    FTC_PAIR_DONE,
    FTC_PAIR_ALONE,  /* the other one died: this rank delivers what it has itself */
    FTC_PAIR_REFUSED /* nothing is delivered, and the call is to be run in another way */
};

/* Are copies between two members the way to run a call of `size` bytes? Alike at both. */
bool ftc_board_is_pair(const struct ftc_board *b, size_t size);
/* Combine the inputs of both. If refused, *input is where this rank's own was kept. */
enum ftc_board_pair ftc_board_pair_combine(struct ftc_board *b, const void **input);

/* --- board/post.c --- */

/* Post `bytes` of data for `reader` in this round. */
void ftc_board_post(struct ftc_board *b, const void *data, size_t bytes, int reader);
/* Have all finished the rounds before `end`? Looks, and does not wait. */
bool ftc_board_settled(struct ftc_board *b, uint64_t end);
/* The data of a post that is marked for this round, after every check. */
const unsigned char *ftc_board_data(struct ftc_board *b, int rank,
                                    const struct ftc_board_post *post, size_t bytes);

/* --- board/round.c --- */

/* Wait until the round is over and, unless members are missing in a block that is not the first,
 * its combined value is in `out` (NULL: not wanted). */
void ftc_board_collect(struct ftc_board *b, unsigned char *out);
/* The same, by this rank alone and for itself: few members and little data, and the root of a plain
 * reduce. */
void ftc_board_collect_for_itself(struct ftc_board *b, unsigned char *out);
/* out := first op second. Neither overlaps `out`, but where the call can merge either may be it. */
void ftc_board_combine_two(const struct ftc_call *call, const unsigned char *first,
                           const unsigned char *second, unsigned char *out, size_t size);

/* --- board/judge.c --- */

/* The check of a signature: the upper bits go into a mark. */
uint64_t ftc_board_check_of(const struct ftc_signature *s);

enum ftc_board_standing {
    FTC_POST_AWAITED,
    FTC_POST_SOUND,
    FTC_POST_MISSING /* its rank is in L, and it is in nobody's result */
};
/* For ftc_board_standing(): a post that is not sound at first sight. */
enum ftc_board_standing ftc_board_judge(struct ftc_board *b, int rank, uint64_t mark, bool failed);
/* Decide for the posts that this rank has found in this round. False: one of them is void by now,
 * and all are to be looked at again. */
bool ftc_board_decide_posts(struct ftc_board *b);

static inline bool ftc_board_same_call(const struct ftc_signature *a, const struct ftc_signature *b)
{
    return ftc_signature_equal(a, b) && a->earlier == b->earlier;
}

/* The check stands for the round, too: no mark is that of another round by a changed number. It is
 * odd, so no flip makes a word of it that survivors settle on. */
static inline uint64_t ftc_board_mark(uint64_t end, uint64_t check)
{
    return end | ((check ^ end * FTC_BOARD_GOLDEN) >> FTC_BOARD_CHECK_SHIFT | 1)
                     << FTC_BOARD_CHECK_SHIFT;
}

/* Is the data of a post with this offset in its rank's area? */
static inline bool ftc_board_readable(const struct ftc_board *b, uint64_t offset)
{
    return b->bytes <= FTC_BOARD_INLINE ||
           (offset % 64 == 0 && offset <= FTC_BOARD_AREA && b->bytes <= FTC_BOARD_AREA - offset);
}

static inline bool ftc_board_fits(const struct ftc_board *b, const struct ftc_board_post *post)
{
    return !FTC_BOARD_CHECKS ||
           (ftc_board_same_call(&post->signature, &b->mine) && ftc_board_readable(b, post->offset));
}

/* How `rank`'s post of this round stands; `failed`: it was in L before this look. */
static inline enum ftc_board_standing ftc_board_standing(struct ftc_board *b, int rank, bool failed)
{
    struct ftc_board_post *post = ftc_board_post_of(b, b->round, rank);
    uint64_t mark = FTC_BOARD_LOAD(post->mark);

    if (failed && ftc_set_has(&b->gone, rank))
        return FTC_POST_MISSING;
    if (mark == ftc_board_mark(b->round + 1, b->check) && ftc_board_fits(b, post))
        return FTC_POST_SOUND;
    return ftc_board_judge(b, rank, mark, failed);
}

/* --- board/wait.c --- */

typedef bool ftc_board_done(struct ftc_board *b);

/* Until `done`, which does itself what it can: sleeping at this round's place. `light`: who ends
 * the wait may leave out the fence between publishing and looking for sleepers. */
void ftc_board_until(struct ftc_board *b, ftc_board_done *done, bool light);
/* Until `rank` has finished the rounds before `end` or is in L. */
void ftc_board_until_finished(struct ftc_board *b, int rank, uint64_t end);
/* Take in failures, if there are any and the host wants it. */
void ftc_board_look(struct ftc_board *b);
/* This round's end for this rank: its reads are done. */
void ftc_board_finish(struct ftc_board *b, bool collecting);

#endif
