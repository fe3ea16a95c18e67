/* The inside of the board. Private to node/. The files are board.c (life, calls), ahead.c (started
 * operations), post.c (posting), judge.c (whether a post is sound), copies.c (direct
 * copies), pair.c (pairs), direct.c (direct copies of values that stay apart), round.c (collecting
 * rounds), gather.c (values that stay apart), wait.c (waiting and waking), members.c
 * (the members of a round) and kept.c (what another start needs). */
#ifndef FTC_NODE_BOARD_INTERNAL_H
#define FTC_NODE_BOARD_INTERNAL_H

#include "node/board/board.h"
#include "node/board/mutation.h"
#include "node/segment/board_memory.h"

#define FTC_BOARD_EVERYBODY (-1) /* as a reader */

/* False in a library without the checks for failures and wrong posts, by which bench/tolerance
 * measures what the checks cost. */
#ifdef FTC_BOARD_UNCHECKED
#define FTC_BOARD_CHECKS false
#else
#define FTC_BOARD_CHECKS true
#endif

/* The last use of a place or of a buffer by a post of this rank. */
struct ftc_board_use {
    uint64_t end;       /* the round of the post + 1; 0: never used */
    int reader;         /* the rank that reads the post, or FTC_BOARD_EVERYBODY */
    uint32_t populated; /* for a buffer: bytes that are allocated */
};

struct ftc_board {
    struct ftc_board_setup set;
    struct ftc_board_memory memory;
    struct ftc_segment_header *header;
    int rank, ranks;
    size_t apart_limit; /* most bytes of a post that each rank reads for itself */

    uint64_t op;           /* how many calls were made */
    uint64_t round;        /* the number of the round under way, or of the next one */
    uint64_t own_finished; /* what this rank has stored in its word finished */
    int started;           /* how many operations are started and have not ended */
    bool lines;            /* those of the places are allocated */

    struct ftc_set agreed; /* G */
    struct ftc_set known;  /* L */
    struct ftc_set failed; /* the failed set of the last decision */
    /* Ranks that were missing in a decision. Their later posts do not count, even if they are not
     * in G ("Damaged posts", rule 4). */
    struct ftc_set gone;
    struct ftc_set accused; /* ranks that this rank has accused */
    uint32_t failures;      /* cursor in the failure log */
    int *member;            /* ranks outside of G and of `left_out`, ascending */
    int members;
    int live; /* members that are not in L */

    /* "Reuse". */
    uint64_t settled;   /* every member has finished the rounds before this one */
    uint64_t *finished; /* the word finished of each rank, as last read */
    struct ftc_board_use place[FTC_BOARD_DEPTH];
    struct ftc_board_use small[FTC_BOARD_SMALL_COUNT];
    struct ftc_board_use block[FTC_BOARD_BLOCK_COUNT];
    struct ftc_board_use whole[FTC_BOARD_WHOLE_COUNT];
    uint32_t results[FTC_BOARD_RESULTS]; /* bytes of each result block that are allocated */
    uint32_t latest[3]; /* of each of these three: the buffer that was taken last */

    /* The call under way. */
    const struct ftc_call *call; /* NULL: none */
    struct ftc_signature mine;   /* its signature, with the digest of earlier calls */
    uint64_t check;              /* the check of `mine`, which is part of a mark */
    uint64_t earlier;            /* digest of the broadcasts and plain reduces so far */
    uint64_t begun;              /* the first round of the call */
    unsigned char *receive;
    unsigned restarts;
    bool paired;             /* two members copied between their memories */
    bool revoked;            /* this rank waited, and found the board revoked: its last call ends */
    unsigned write_offs;     /* how many were missing when the operation was decided */
    struct ftc_set left_out; /* members that are missing in this operation */
    int leaving;             /* the number of these */
    bool nothing_new;        /* `failed` equals G */
    bool apart;              /* this root of a plain reduce has no post, and reads its own input */
    unsigned char *kept;     /* input that the result has overwritten, for another start */
    size_t kept_room;
    size_t
        kept_input; /* of values that stay apart: `kept` begins with so many bytes of the input */

    /* "Direct copies". */
    bool met;     /* a collecting round is over, so each member has joined the job */
    bool refused; /* copies between members were refused once, so none is tried again */
    struct ftc_board_offer *offers; /* of each rank; NULL: not used yet */
    struct ftc_set taken;   /* ranks whose contributions are entire at all members, dead ones too */
    unsigned char *scratch; /* of a pair: room for two pieces */

    /* The collecting round under way. */
    size_t offset, bytes;        /* its block of the value */
    const unsigned char *source; /* where the post of this rank was copied from */
    int cursor;                  /* the posts of the members before it are sound or missing */
    uint32_t judged;             /* failures known when the first member's post was looked at */
    bool over;                   /* the posts of all members are sound or missing */
    bool suspicious;             /* look at the marks whatever the arrival count says */
    int missing;                 /* how many members are missing in this round */
    unsigned chunks, chunk;      /* how many it has; those before `chunk` are done */
    bool short_of_members;       /* a chunk was combined without a missing member */
    int awaited;                 /* this rank waits until `awaited` has finished ... */
    uint64_t awaited_end;        /* ... the rounds before awaited_end; 0: it does not wait so */
    unsigned char bits[FTC_NODE_MAX_LOCAL / 8]; /* validate: L to post, then the union */

    /* Operations that were started ("Ahead"). The first one is the call under way. */
    struct ftc_board_operation *first, *last;
    struct ftc_board_operation *unposted; /* the first that this rank has not posted for */
    uint64_t unposted_round;              /* its round, or that of the next operation */
    struct ftc_call sliced;               /* the first one, if its result overwrites its input */
};

static inline struct ftc_board_place *ftc_board_place(const struct ftc_board *b, uint64_t round)
{
    return &b->memory.places[round % FTC_BOARD_DEPTH];
}

/* The place in which a started operation has its post. */
static inline struct ftc_board_post *ftc_board_post_ahead(const struct ftc_board *b, uint64_t round,
                                                          int rank)
{
    return (struct ftc_board_post *)(void *)b->memory.ahead + (size_t)rank * FTC_BOARD_DEPTH +
           round % FTC_BOARD_DEPTH;
}

/* The place in which a call has its post. */
static inline struct ftc_board_post *ftc_board_post_of_call(const struct ftc_board *b,
                                                            uint64_t round, int rank)
{
    return (struct ftc_board_post *)(void *)(b->memory.posts +
                                             round % FTC_BOARD_DEPTH * b->memory.post_stride) +
           rank;
}

static inline bool ftc_board_in_line(size_t bytes)
{
    return bytes > FTC_BOARD_INLINE && bytes <= FTC_BOARD_LINE;
}

/* The line of a place. The lines of one round lie in different sets of the caches. */
static inline unsigned char *ftc_board_line(const struct ftc_board *b, uint64_t round, int rank)
{
    size_t index = (round + (unsigned)rank) % FTC_BOARD_DEPTH;

    return b->memory.areas + (size_t)rank * FTC_BOARD_AREA + FTC_BOARD_LINES_OFFSET +
           index * FTC_BOARD_LINE;
}

/* The writer is ahead, so fetch a later post while this one is read. Otherwise that would take the
 * lines away from it. */
static inline void ftc_board_fetch_ahead(const struct ftc_board *b, int rank)
{
    __builtin_prefetch(ftc_board_post_of_call(b, b->round + 2, rank));
    if (ftc_board_in_line(b->bytes))
        __builtin_prefetch(ftc_board_line(b, b->round + 2, rank));
}

static inline struct ftc_board_post *ftc_board_post_of(const struct ftc_board *b, uint64_t round,
                                                       int rank)
{
    if (__builtin_expect(b->started > 0, 0))
        return ftc_board_post_ahead(b, round, rank);
    return ftc_board_post_of_call(b, round, rank);
}

/* --- what a call is, for the board --- */

/* The root alone posts, and the others copy. */
static inline bool ftc_board_root_posts(const struct ftc_board *b)
{
    const struct ftc_call_traits *traits = &ftc_call_table[b->call->signature.kind];

    return traits->rooted && traits->carries;
}

/* The most bytes that this call posts in one round of all members. */
static inline size_t ftc_board_limit(const struct ftc_board *b)
{
    return b->call->take != NULL ? b->apart_limit : FTC_BOARD_BLOCK;
}

/* The bytes of the next block. A block that is not the last one has whole elements, unless not even
 * one fits, which a call that combines does not have. */
static inline size_t ftc_board_block_size(const struct ftc_board *b, size_t left, size_t limit)
{
    size_t element = b->call->element;

    if (left <= limit)
        return left;
    if (element <= 1 || element > limit || FTC_BOARD_MUTATED(ELEMENT_SPLIT))
        return limit;
    return limit - limit % element;
}

/* Does each contribution go to a place of its own (allgather, gather, alltoall)? */
static inline bool ftc_board_has_places(const struct ftc_board *b)
{
    int kind = b->call->signature.kind;

    return kind == FTC_CALL_ALLGATHER || kind == FTC_CALL_GATHER || kind == FTC_CALL_ALLTOALL;
}

/* Where the contribution of `rank` goes in the result: *at. Returns its size. */
static inline size_t ftc_board_place_of(const struct ftc_board *b, int rank, size_t *at)
{
    return b->call->place(b->call->take_arg, rank, at);
}

/* What a rank wants of a block: `size` bytes from `from` on, which go to `at` in its result. */
struct ftc_board_part {
    size_t from, at, size;
};

/* --- board/board.c --- */

/* Complete the signature of the next call by the digest of earlier ones, and make its check. */
void ftc_board_sign(const struct ftc_board *b, struct ftc_signature *mine, uint64_t *check);
/* A call was made, or started: its signature goes into the digest. */
void ftc_board_remember(struct ftc_board *b, const struct ftc_signature *s);
/* Has the root of this broadcast or scatter posted, or failed? */
bool ftc_board_root_is_heard(struct ftc_board *b);
/* The only round of a started operation is over. Deliver, and decide. Returns its status. */
int ftc_board_end_round(struct ftc_board *b);

/* --- board/gather.c --- */

/* Run a call that gathers (ftc_signature_gathers()) in collecting rounds. */
void ftc_board_gather(struct ftc_board *b);
/* Bytes of this rank's own contribution in the block. */
size_t ftc_board_own_bytes(const struct ftc_board *b);

/* --- board/members.c --- */

/* The next failed rank of this communicator in the failure log, or -1. Moves *cursor behind it. */
int ftc_board_next_failure(const struct ftc_board *b, uint32_t *cursor);
/* Make the list of members: all ranks but G and `left_out`. Only between two rounds. */
void ftc_board_list_members(struct ftc_board *b);
/* Does this rank, which is in a call, wait for `rank`? */
bool ftc_board_awaits(const struct ftc_board *b, int rank);
/* Have all live members finished the rounds before `end`? Does not wait. */
bool ftc_board_settled(struct ftc_board *b, uint64_t end);
/* Was the board revoked? If so, b->revoked is set, and the call of this rank ends. */
bool ftc_board_is_revoked(struct ftc_board *b);

/* --- board/copies.c --- */

/* A member posts its offer before any member copies. */
struct ftc_board_offer {
    uint64_t input, size; /* address in its memory, and bytes */
    uint64_t output;      /* of a pair: address of the result; 0: it wants none */
    uint64_t allowed;     /* copies between its memory and others are allowed, as far as it knows */
    uint64_t check; /* of the other words, because a damaged address would damage other memory */
};

/* How the copies of a member went. Any two words differ in half of their bits. */
#define FTC_COPY_SUCCEEDED FTC_BOARD_GOLDEN
#define FTC_COPY_REFUSED   (~FTC_BOARD_GOLDEN)
#define FTC_COPY_FAILED    (FTC_BOARD_GOLDEN ^ 0xffffffffu) /* a member is dead, or is wrong */

/* Post `mine` in a collecting round, and wait for the posts of all. The members that are missing
 * are members no longer. False: the board was revoked. */
bool ftc_board_exchange(struct ftc_board *b, const void *mine, size_t size);
/* The post of `rank` in the last exchange. Readable until this rank posts again. */
const void *ftc_board_exchanged(struct ftc_board *b, int rank);
/* Complete `mine`, and exchange offers. False: the board was revoked. */
bool ftc_board_exchange_offers(struct ftc_board *b, struct ftc_board_offer *mine);
/* Does this offer match its check? If not, its rank is accused. */
bool ftc_board_is_offer(struct ftc_board *b, int rank, const struct ftc_board_offer *offer);
/* May this rank copy from and to `rank`? Not if it is in L: its pid may soon be that of another
 * process. */
bool ftc_board_may_copy(struct ftc_board *b, int rank);
/* Asked after a copy: was `rank` declared meanwhile? Then the copy may be of another process with
 * its pid, and counts for nothing. */
bool ftc_board_copied_dead(struct ftc_board *b, int rank);

/* --- board/direct.c --- */

/* Does this call, which gathers, go by direct copies? The answer is alike at all members. */
bool ftc_board_is_direct(const struct ftc_board *b);
/* Run it so. False: the board was revoked, or a copy was not made everywhere. Then b->taken are the
 * ranks from which all members have everything, the other places are as they were before, and the
 * call goes on by blocks. */
bool ftc_board_gather_directly(struct ftc_board *b);

/* --- board/kept.c --- */

/* Make b->kept large enough for so many bytes. What is in it stays. */
void ftc_board_make_room(struct ftc_board *b, size_t bytes);
/* Where the piece that this rank takes of its own contribution begins in it. Where all pieces are
 * of the same size, it is so in the contributions of all. */
size_t ftc_board_own_piece(const struct ftc_board *b);
/* Keep the input at the beginning of b->kept if the result overwrites it and it is not kept yet.
 * Make room for `more` bytes behind it. */
void ftc_board_keep_input(struct ftc_board *b, size_t more);
/* The input that no result overwrites. */
const unsigned char *ftc_board_kept_input(const struct ftc_board *b);

/* --- board/pair.c --- */

enum ftc_board_pair {
    FTC_PAIR_DONE,
    FTC_PAIR_ALONE,  /* the other member died, so this rank delivers its own input */
    FTC_PAIR_REFUSED /* nothing is delivered; the call must be run in another way */
};

/* Is a call of `size` bytes run by copies between two members? The answer is alike at both. */
bool ftc_board_is_pair(const struct ftc_board *b, size_t size);
/* Combine the inputs of both members. Afterwards *input is this rank's own input, or the copy that
 * was kept because the result may overwrite the input. */
enum ftc_board_pair ftc_board_pair_combine(struct ftc_board *b, const void **input);

/* --- board/post.c --- */

/* Post a block of this round for `reader`. This rank has `bytes` of it; readers use no more. False:
 * the board was revoked while this rank waited for room, and nothing is posted. */
bool ftc_board_post(struct ftc_board *b, const void *data, size_t bytes, int reader);
/* Is there room for a post of `bytes` in this round? Does not wait. */
bool ftc_board_has_room(struct ftc_board *b, uint64_t round, size_t bytes);
/* The data of a sound post of `bytes` bytes. The place of the data is checked. */
const unsigned char *ftc_board_data(struct ftc_board *b, uint64_t round, int rank, size_t bytes);

/* --- board/round.c --- */

/* Wait until the round is over, and write its combined value to `out`. NULL: the value is not
 * wanted. If members are missing in a block that is not the first, or the board was revoked,
 * nothing is written. Only this rank combines: for few members with little data, and for the root
 * of a plain reduce. */
void ftc_board_collect_for_itself(struct ftc_board *b, unsigned char *out);
/* The same for the root of a gather, which takes the posts one by one. */
void ftc_board_collect_and_take(struct ftc_board *b);

/* Each of these posts a block of `input`, waits for the posts of all, and writes the part that this
 * rank wants. False: start again, without the missing members, unless the board was revoked. */

/* The combined value goes to `out`. NULL: it is not wanted. */
bool ftc_board_collect_block(struct ftc_board *b, const unsigned char *input, unsigned char *out);
/* The slice of the combined value goes to its place in the result. */
bool ftc_board_collect_slice(struct ftc_board *b, const unsigned char *input);
/* The call takes the posts one by one. This rank has `own` bytes of its post. */
bool ftc_board_collect_apart(struct ftc_board *b, const unsigned char *input, size_t own);

/* This rank's slice, as far as it lies in this block. */
struct ftc_board_part ftc_board_slice(const struct ftc_board *b);
/* out := first op second. Neither input may overlap `out`, except that it may be equal to `out` if
 * the call has a merge function. */
void ftc_board_combine_two(const struct ftc_call *call, const unsigned char *first,
                           const unsigned char *second, unsigned char *out, size_t size);

/* The round of a started operation, in which each member combines for itself: begin it, look
 * whether it is over, and write what this rank wants of it. */
void ftc_board_begin_round(struct ftc_board *b);
bool ftc_board_round_is_over(struct ftc_board *b);
void ftc_board_take_round(struct ftc_board *b);

/* --- board/judge.c --- */

/* The check of a call: of its communicator and its signature. Its upper bits are part of a mark. */
uint64_t ftc_board_check_of(const struct ftc_board *b, const struct ftc_signature *s);

enum ftc_board_standing {
    FTC_POST_AWAITED,
    FTC_POST_SOUND,
    FTC_POST_MISSING /* its rank is in L, and no rank's result has it */
};
/* The rest of ftc_board_standing(), for a post that is not sound at first sight. */
enum ftc_board_standing ftc_board_judge(struct ftc_board *b, int rank, uint64_t mark, bool failed);
/* Decide this round with the posts that this rank has found sound. False: one of them is void by
 * now, and all posts must be looked at again. */
bool ftc_board_decide_posts(struct ftc_board *b);
/* Make a full fence for all ranks. It may take a millisecond. */
void ftc_board_fence_others(struct ftc_board *b);
/* Accuse `rank`, unless this rank has done so. */
void ftc_board_accuse(struct ftc_board *b, int rank);

static inline bool ftc_board_same_call(const struct ftc_signature *a, const struct ftc_signature *b)
{
    return ftc_signature_equal(a, b) && a->earlier == b->earlier;
}

/* Is the data of a post with this offset inside the area of its rank? */
static inline bool ftc_board_readable(const struct ftc_board *b, uint64_t offset)
{
    return b->bytes <= FTC_BOARD_LINE || (offset % 64 == 0 && offset <= FTC_BOARD_HALVES_OFFSET &&
                                          b->bytes <= FTC_BOARD_HALVES_OFFSET - offset);
}

static inline bool ftc_board_fits(const struct ftc_board *b, const struct ftc_board_post *post)
{
    return !FTC_BOARD_CHECKS ||
           (ftc_board_same_call(&post->signature, &b->mine) && ftc_board_readable(b, post->offset));
}

/* How the post of `rank` in this round stands. `failed`: the rank was in L before this look. */
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

/* Wait until done(b) is true, or until the board is revoked, which sets b->revoked. Each call of
 * `done` does all the work that can be done. Sleeps are at the place of this round. `light`: the
 * rank that ends the wait may omit the fence between publishing and reading the count of
 * sleepers. Returns true if there was nothing to wait for. */
bool ftc_board_until(struct ftc_board *b, ftc_board_done *done, bool light);
/* The same until `rank` has finished the rounds before `end`, or is in L. */
void ftc_board_until_finished(struct ftc_board *b, int rank, uint64_t end);
/* Sleep for a millisecond. */
void ftc_board_nap(struct ftc_board *b);
/* Let the host take in new failures, if there are any. */
void ftc_board_look(struct ftc_board *b);
/* Store *left*: this rank touches the board no more. */
void ftc_board_leave(struct ftc_board *b);
/* Does this nonzero word say *left*? Otherwise it is damaged. */
bool ftc_board_says_left(const struct ftc_board *b, uint64_t left);
/* The same as ftc_board_leave(), and wake those who might wait for this rank. */
void ftc_board_give_up(struct ftc_board *b);
/* Look for what ends a wait, though the awaited rank does nothing. True: the board was revoked. */
bool ftc_board_is_in_vain(struct ftc_board *b);
/* Wake those that sleep in `round`, in which this rank has posted. */
void ftc_board_ring_posted(struct ftc_board *b, uint64_t round);
/* End this round for this rank, whose reads are done. */
void ftc_board_finish(struct ftc_board *b, bool collecting);

#endif
