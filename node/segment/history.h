/*
 * The flight recorder: the last operations of a rank, in a ring of entries in the node segment. The
 * rank alone writes its ring. Others read it at any time, and also after the death of the rank.
 *
 * Runs. Reading the time and filling in an entry cost some ten nanoseconds, which is a tenth of the
 * fastest operations. So where a rank calls like operations without a pause, an entry stands for a
 * run of them. Only the first has a time. Nothing is stored for the others while the run goes on:
 * the counters of the slot tell how far it is. An operation in which the rank sleeps, or whose
 * outcome differs, gets an entry of its own.
 *
 * Crash safety. A writer sets `sequence` to an even value before it changes an entry, and to the
 * odd value of the entry afterwards. So an entry whose writer was killed in between, and an entry
 * that changed while it was read, are skipped. `returned` is stored last at a return.
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

#define FTC_HISTORY_ENTRIES 256u
#define FTC_HISTORY_RUN     32u /* most operations of an entry */

/* Offsets are ticks after `called` in units of 2^FTC_HISTORY_SHIFT. 0: it did not happen. The
 * greatest value stands for all times that do not fit. */
#define FTC_HISTORY_SHIFT 6

/* A run of operations, in one cache line. */
struct ftc_history_entry {
    _Alignas(64) _Atomic uint64_t called; /* ticks: the call of the first */
    /* Ticks. 0: the last is under way, or no time was taken. Release. */
    _Atomic uint64_t returned;
    _Atomic uint64_t communicator;
    _Atomic uint64_t number; /* of the first; the others have the next ones */
    _Atomic uint64_t size;   /* of a value, in bytes */
    /* 2n + 1 for the n-th entry of the rank, modulo 2^32; even: being written, or unused. */
    _Atomic uint32_t sequence;
    _Atomic uint32_t started, decided; /* offsets: the protocol began with it, and delivered it */
    _Atomic uint32_t waited;           /* offset: the wait for `waits_for` was first shown */
    _Atomic uint32_t outcome;          /* FTC_HISTORY_OUTCOME, of those that have returned */
    _Atomic uint16_t waits_for; /* the last rank that it was seen to wait for, + 1; 0: none */
    _Atomic uint8_t kind;       /* enum ftc_call_kind */
    _Atomic uint8_t count;      /* how many there are; 0: a run that goes on */
};

/* status: 0, or FTC_ERR_*. algorithm: enum ftc_choice_id, plus 1; 0: unknown. failed: |G|. */
#define FTC_HISTORY_OUTCOME(status, algorithm, failed)                                             \
    ((uint32_t)(uint8_t)(status) | (uint32_t)(uint8_t)(algorithm) << 8 | (uint32_t)(failed) << 16)

#define FTC_HISTORY_BYTES (FTC_HISTORY_ENTRIES * sizeof(struct ftc_history_entry))

/* --- writing: the rank, in its caller's thread --- */

struct ftc_history {
    struct ftc_history_entry *ring; /* NULL: nothing is recorded */
    bool counter;                   /* ticks are those of the time-stamp counter */
    uint32_t entries;               /* recorded so far */
    /* The call that is under way and has no entry of its own; NULL: there is none. */
    const struct ftc_signature *call;
    struct ftc_history_entry *open; /* of the call that is under way; NULL: there is none */
    struct ftc_history_entry *run;  /* the newest entry, if a run goes on in it; else NULL */
    bool timed;                     /* the return needs a time */
    /* What the newest entry says. */
    uint64_t called, communicator, number, size;
    uint8_t kind;
    uint32_t outcome;
    uint32_t most; /* operations that it may hold */
};

/* Begin to record the operations of `rank`. Nothing is recorded if the segment has no room for
 * it. */
void ftc_history_init(struct ftc_history *history, struct ftc_segment *segment, int rank);

/* Does history->call belong to the run? */
static inline bool ftc_history_continues(const struct ftc_history *history, uint64_t communicator,
                                         uint64_t number)
{
    return number - history->number < history->most && history->kind == history->call->kind &&
           history->size == history->call->size && history->communicator == communicator;
}

/* Give history->call an entry. `timed`: no run may follow. */
void ftc_history_call(struct ftc_history *history, uint64_t communicator, uint64_t number,
                      bool timed);
/* Record the return of the operation that has an entry of its own. `outcome` is
 * FTC_HISTORY_OUTCOME. */
void ftc_history_return(struct ftc_history *history, uint32_t outcome);

/* Of the operation that has an entry of its own, if one is under way. */
void ftc_history_started(struct ftc_history *history);
void ftc_history_decided(struct ftc_history *history);
void ftc_history_waits(struct ftc_history *history, int rank); /* -1: for no rank */

/* --- reading: any process that has the segment --- */

/* An entry as plain values. Times are those of ftc_clock_now(). */
struct ftc_history_operation {
    uint32_t index; /* n: it is the n-th entry of the rank, modulo 2^31 */
    uint64_t communicator, number, size;
    int kind;            /* enum ftc_call_kind; -1: out of range */
    int count, returned; /* operations called, and those that have returned */
    bool closed;         /* all have returned, and no other will be counted to them */
    uint64_t called_ns;  /* the first */
    /* The last has returned then. 0: it is under way, or no time was taken, and it was soon. */
    uint64_t returned_ns;
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

/* What is in the place of the n-th entry of `rank`. */
enum ftc_history_found {
    FTC_HISTORY_FOUND,   /* that entry */
    FTC_HISTORY_NOT_YET, /* an older one, none, or one that is being written */
    FTC_HISTORY_LATER,   /* a later one has overwritten it; out->index tells which */
};
enum ftc_history_found ftc_history_read(struct ftc_segment *segment, int rank, uint32_t index,
                                        const struct ftc_history_clock *clock,
                                        struct ftc_history_operation *out);

/* Copy the last `most` entries of `rank`, oldest first. Returns how many there are. An entry
 * that is being written is left out. `most` is at most FTC_HISTORY_ENTRIES. */
int ftc_history_last(struct ftc_segment *segment, int rank, const struct ftc_history_clock *clock,
                     struct ftc_history_operation *out, int most);

/* The index of the entry that `rank` will write next. 0 also if it has written none. */
uint32_t ftc_history_end(struct ftc_segment *segment, int rank);

/* The name of a communicator: "world", or its number in text[]. */
const char *ftc_history_communicator(uint64_t number, char text[24]);

/* A line of a table of operations, and its head. `algorithm` is the name of operation->algorithm,
 * NULL: unknown. Times in it are seconds after `origin_ns`. */
#define FTC_HISTORY_LINE 400
const char *ftc_history_head(void);
char *ftc_history_line(const struct ftc_history_operation *operation, const char *algorithm,
                       const struct ftc_history_clock *clock, uint64_t origin_ns,
                       char text[FTC_HISTORY_LINE]);

#endif
