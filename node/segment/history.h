/*
 * The flight recorder: the last operations of a rank, in the node segment. The rank alone writes
 * its entries. Others read them at any time, and also after the death of the rank.
 *
 * Lanes and the ring. An operation under way has an entry of its own, its lane. Each communicator
 * has one for the blocking calls of its callers, and each request has one until a wait or a test
 * has ended it. When the next call takes the lane, or the lane is given up, the entry is copied
 * into the ring. So the ring has the operations that have ended, in the order of their ends.
 * Threads that use several communicators copy at the same time: each takes an index, and claims its
 * place. None waits.
 *
 * Runs. Reading the time and filling in an entry cost some ten nanoseconds, which is a tenth of the
 * fastest operations. So where the callers of a communicator make like calls without a pause, an
 * entry stands for a run of them. Only the first has a time. For the others two counters of the
 * lane tell how far the run is. An operation in which the caller sleeps, or whose outcome differs,
 * gets an entry of its own. Requests that are started on a node board share entries in the same
 * way, except that several of a run may be under way. One that is started after a sleep begins
 * another run, and those whose outcome differs go on in another entry.
 *
 * Crash safety. A writer sets `sequence` to an even value before it changes an entry, and to the
 * odd value of the entry afterwards. So an entry whose writer was killed in between, and an entry
 * that changed while it was read, are skipped. `returned` is stored last at a return. An entry is
 * in the ring before it leaves its lane, so a reader may find it twice, and drops one.
 *
 * Time. Entries have ticks: the time-stamp counter where the kernel's own clock is made of it, else
 * nanoseconds of ftc_clock_now(). The reader converts.
 */
#ifndef FTC_NODE_SEGMENT_HISTORY_H
#define FTC_NODE_SEGMENT_HISTORY_H

#include "base/clock.h"
#include "base/cpu.h"
#include "collectives/call.h"
#include "node/segment/segment.h"

#define FTC_HISTORY_ENTRIES   256u /* in the ring */
#define FTC_HISTORY_LANES     64u
#define FTC_HISTORY_OWN_LANES 16u /* of these, the ones that no request takes */
#define FTC_HISTORY_MOST      (FTC_HISTORY_ENTRIES + FTC_HISTORY_LANES)
#define FTC_HISTORY_RUN       32u /* most operations of an entry */

/* Offsets are ticks after `called` in units of 2^FTC_HISTORY_SHIFT. 0: it did not happen. The
 * greatest value stands for all times that do not fit. */
#define FTC_HISTORY_SHIFT 6

/* Kinds of entries, beside those of calls. */
enum ftc_history_kind {
    FTC_HISTORY_DUP = FTC_CALL_KINDS,
    FTC_HISTORY_SPLIT,
    FTC_HISTORY_SHRINK,
    FTC_HISTORY_FREE,
    /* Sends and receives. An activity (segment.h) has these kinds, too. */
    FTC_HISTORY_SEND,
    FTC_HISTORY_RECV,
    FTC_HISTORY_SENDRECV,
    FTC_HISTORY_PROBE,
    FTC_HISTORY_WAIT,
    FTC_HISTORY_KINDS
};
const char *ftc_history_kind_name(int kind); /* also of an enum ftc_call_kind; else "?" */

#define FTC_HISTORY_UNNUMBERED UINT64_MAX /* the operation has not begun, and has no number yet */

/* A run of operations, in two cache lines. */
struct ftc_history_entry {
    _Atomic uint64_t called; /* ticks: the call of the first */
    /* Ticks. 0: the last is under way, or no time was taken. Release. */
    _Atomic uint64_t returned;
    _Atomic uint64_t until; /* in the ring, ticks: it took no longer than until then */
    _Atomic uint64_t communicator;
    _Atomic uint64_t number; /* of the first; the others have the next ones */
    _Atomic uint64_t size;   /* of a value, in bytes */
    /* In a lane whose run goes on: the numbers of the last call and return, plus 1. A call may be
     * shown by its return alone. */
    _Atomic uint64_t calls, returns;
    _Atomic uint64_t name[FTC_COMMUNICATOR_NAME / 8]; /* of the communicator, as 32 bytes */
    /* In the ring 2n + 1 for the n-th entry, modulo 2^32; in a lane any odd value. Even: being
     * written, or unused. */
    _Atomic uint32_t sequence;
    _Atomic uint32_t started, decided; /* offsets: the protocol began with it, and delivered it */
    _Atomic uint32_t waited;           /* offset: the wait for `waits_for` was first shown */
    _Atomic uint32_t outcome;          /* FTC_HISTORY_OUTCOME, of those that have returned */
    _Atomic uint8_t kind;              /* enum ftc_call_kind, or ftc_history_kind */
    _Atomic uint8_t count;             /* how many there are; 0: a run that goes on */
    /* Of a request: its lane, + 1, or FTC_HISTORY_LANES + 1 if none was free. 0: it is none. */
    _Atomic uint32_t request;
    _Atomic uint32_t waits_for; /* the last rank that it was seen to wait for, + 1; 0: none */
};

/* status: 0, or FTC_ERR_*. algorithm: enum ftc_choice_id, plus 1; 0: unknown. failed: |G|. */
#define FTC_HISTORY_OUTCOME(status, algorithm, failed)                                             \
    ((uint32_t)(uint8_t)(status) | (uint32_t)(uint8_t)(algorithm) << 8 | (uint32_t)(failed) << 16)

#define FTC_HISTORY_BYTES (FTC_HISTORY_MOST * sizeof(struct ftc_history_entry))

/* --- writing: the process of the rank --- */

/* The communicators and requests of a process share this. Any thread may use it at any time. */
struct ftc_history_store {
    struct ftc_history_entry *ring; /* behind it are the lanes; NULL: nothing is recorded */
    bool counter;                   /* ticks are those of the time-stamp counter */
    /* Several threads may copy into the ring at the same time. Before it is set they take turns,
     * and do without the dearer instructions. */
    atomic_bool shared;
    _Atomic uint32_t entries; /* of the ring that were taken so far */
    _Atomic uint64_t lanes;   /* bit n: lane n is taken */
};

/* The blocking calls of a communicator, or a request. One thread at a time. */
struct ftc_history {
    struct ftc_history_store *store; /* NULL: nothing is recorded */
    uint64_t communicator;
    const char *name; /* of the communicator, FTC_COMMUNICATOR_NAME bytes */
    bool request;
    /* The call that is under way and has no entry of its own; NULL: there is none. */
    const struct ftc_signature *call;
    /* NULL: no call yet. If no lane was free it is `spare`, which no reader sees; the ring gets
     * what has ended. */
    struct ftc_history_entry *lane;
    bool open;  /* a call that has the entry is under way */
    bool run;   /* a run goes on in the entry */
    bool timed; /* the return needs a time */
    /* What the entry says. */
    uint64_t called, number, size;
    uint8_t kind;
    uint32_t outcome;
    uint32_t most; /* operations that it may hold */
    /* Of requests: how many it has, and how many of them no wait or test has ended yet. */
    uint32_t joined, left;
    struct ftc_history_entry spare;
};

/* Begin to record the operations of `rank`. Nothing is recorded if the segment has no room for
 * it. */
void ftc_history_init(struct ftc_history_store *store, struct ftc_segment *segment, int rank);

/* `name` is read at each call. */
void ftc_history_open(struct ftc_history *history, struct ftc_history_store *store,
                      uint64_t communicator, const char *name, bool request);
/* The ring gets what has ended, and the lane is given up. */
void ftc_history_close(struct ftc_history *history);

/* Does history->call, the operation `number`, belong to the run? */
static inline bool ftc_history_continues(const struct ftc_history *history, uint64_t number)
{
    return number - history->number < history->most && history->kind == history->call->kind &&
           history->size == history->call->size;
}
/* It does: the callers have made so many calls. And so many have returned. */
static inline void ftc_history_continued(struct ftc_history *history, uint64_t calls)
{
    atomic_store_explicit(&history->lane->calls, calls, memory_order_relaxed);
}
static inline void ftc_history_continued_to(struct ftc_history *history, uint64_t returns)
{
    atomic_store_explicit(&history->lane->returns, returns, memory_order_relaxed);
}

/* Give history->call an entry. `timed`: no run may follow. */
void ftc_history_call(struct ftc_history *history, uint64_t number, bool timed);
/* Record the return of the operation that has an entry of its own. `outcome` is
 * FTC_HISTORY_OUTCOME. */
void ftc_history_return(struct ftc_history *history, uint32_t outcome);

/* Requests that share an entry. The first begins it by ftc_history_call(). ftc_history_join(): the
 * next one, the operation `number`. False: it is not like the others, or there are too many.
 * ftc_history_leave(): one of them was given to its caller. True: it was the last that was left.
 * Another thread may call ftc_history_decided() for the first one, while it is left. */
bool ftc_history_join(struct ftc_history *history, const struct ftc_signature *signature,
                      uint64_t number);
/* The next requests, whose first will begin an entry in `history`, come after those of `before`:
 * how many may share the entry depends on these. */
void ftc_history_follow(struct ftc_history *history, const struct ftc_history *before);
bool ftc_history_leave(struct ftc_history *history, uint32_t outcome);

/* Of the operation that has an entry of its own, if one is under way. */
void ftc_history_number(struct ftc_history *history, uint64_t number); /* if it has none */
void ftc_history_started(struct ftc_history *history);                 /* the first time counts */
void ftc_history_decided(struct ftc_history *history);                 /* the last time counts */
/* Its outcome is known, before it returns with it, or with another status. */
void ftc_history_ended(struct ftc_history *history, uint32_t outcome);
void ftc_history_waits(struct ftc_history *history, int rank); /* of the job; -1: for no rank */

/* --- reading: any process that has the segment --- */

/* An entry as plain values. Times are those of ftc_clock_now(). */
struct ftc_history_operation {
    uint32_t index; /* n: it is the n-th entry of the ring, modulo 2^31; of a lane: anything */
    bool live;      /* it is in a lane */
    int request;    /* its lane, or FTC_HISTORY_LANES: none was free; -1: it is no request */
    uint64_t communicator, number, size; /* FTC_HISTORY_UNNUMBERED: it has not begun */
    char name[FTC_COMMUNICATOR_NAME];    /* of the communicator; clean, and never empty */
    int kind;            /* enum ftc_call_kind, or ftc_history_kind; -1: out of range */
    int count, returned; /* operations called, and those that have returned */
    bool closed;         /* all have returned, and no other will be counted to them */
    uint64_t called_ns;  /* the first */
    /* The last has returned then. 0: it is under way, or no time was taken, and it was soon. */
    uint64_t returned_ns;
    uint64_t until_ns;               /* in the ring: it was not later than that */
    uint64_t started_ns, decided_ns; /* 0: unknown */
    int waits_for;                   /* -1: none */
    uint64_t waited_ns;              /* since when; 0: unknown */
    /* Of those that have returned; valid if any has. */
    int algorithm; /* enum ftc_choice_id; -1: unknown. Not checked further */
    int status;    /* 0, or FTC_ERR_* */
    int failed;    /* |G| */
};

/* How a reader turns ticks into time. It is exact at the time of ftc_history_look(). */
struct ftc_history_clock {
    uint64_t now_ns, now_ticks;
    double ns_per_tick;
};
void ftc_history_look(struct ftc_history_clock *clock, struct ftc_segment *segment);

/* Has this segment a history of `rank`? False: it is off, or the rank is of another node. */
bool ftc_history_kept(struct ftc_segment *segment, int rank);

/* What is in the place of the n-th entry of the ring of `rank`. */
enum ftc_history_found {
    FTC_HISTORY_FOUND,   /* that entry */
    FTC_HISTORY_NOT_YET, /* an older one, none, or one that is being written */
    FTC_HISTORY_LATER,   /* a later one has overwritten it; out->index tells which */
};
enum ftc_history_found ftc_history_read(struct ftc_segment *segment, int rank, uint32_t index,
                                        const struct ftc_history_clock *clock,
                                        struct ftc_history_operation *out);

/* Copy the last `most` operations of `rank`, those under way and those of the ring, in the order of
 * their calls. One that is under way is kept before later ones that are not. Returns how many there
 * are. An entry that is being written is left out. `most` is at most FTC_HISTORY_MOST. */
int ftc_history_last(struct ftc_segment *segment, int rank, const struct ftc_history_clock *clock,
                     struct ftc_history_operation *out, int most);

/* The index behind that of the newest entry in the ring of `rank`. 0 also if there is none. */
uint32_t ftc_history_end(struct ftc_segment *segment, int rank);

/* The number of a communicator as text: "world", or its number in text[]. */
const char *ftc_history_communicator(uint64_t number, char text[24]);
/* As a user knows it, from `words`, as they are in the segment, or, if they are empty, from its
 * number. Clean. */
void ftc_history_name(const _Atomic uint64_t words[FTC_COMMUNICATOR_NAME / 8], uint64_t number,
                      char text[FTC_COMMUNICATOR_NAME]);

/* What was called: "allreduce"; "iallreduce" if it is a request. */
#define FTC_HISTORY_CALL 32
char *ftc_history_what(const struct ftc_history_operation *operation, char text[FTC_HISTORY_CALL]);

/* A line of a table of operations, and its head. `algorithm` is the name of operation->algorithm,
 * NULL: unknown. Times in it are seconds after `origin_ns`. */
#define FTC_HISTORY_LINE 400
const char *ftc_history_head(void);
char *ftc_history_line(const struct ftc_history_operation *operation, const char *algorithm,
                       const struct ftc_history_clock *clock, uint64_t origin_ns,
                       char text[FTC_HISTORY_LINE]);

#endif
