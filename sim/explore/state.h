/* Private to sim/explore/: global states and the events between them. */
#ifndef FTC_SIM_EXPLORE_STATE_H
#define FTC_SIM_EXPLORE_STATE_H

#include "sim/explore/channel.h"
#include "sim/explore/explore.h"
#include "sim/explore/local.h"
#include "sim/explore/visited.h"

/* A global state of n ranks has these words:
 * - n members; FTC_STATE_GONE: the member has stopped for ever;
 * - n * (n - 1) channels;
 * - 2 of notices that have still to be told: bit observer * 8 + dead;
 * - 1 with the dead ranks, the timers and the number of crashes left. */
#define FTC_STATE_WORDS         (FTC_LOCAL_RANKS * FTC_LOCAL_RANKS + 3 + FTC_EXPLORE_BOARD_WORDS)
#define FTC_EXPLORE_BOARD_WORDS 28 /* with two levels; board.h */
#define FTC_STATE_GONE          UINT32_MAX

struct ftc_state {
    uint32_t word[FTC_STATE_WORDS];
};

enum ftc_explore_kind {
    FTC_EXPLORE_CALL,
    FTC_EXPLORE_ARRIVE, /* a message from `other` */
    FTC_EXPLORE_TELL,   /* `rank` is told that `other` is dead */
    FTC_EXPLORE_TIMER,
    FTC_EXPLORE_POST, /* this and the next four are of two levels: board.h */
    FTC_EXPLORE_GATHER,
    FTC_EXPLORE_ADOPT,
    FTC_EXPLORE_WRITE,
    FTC_EXPLORE_SUM, /* `rank` sends the sum of its node for operation `other` */
    FTC_EXPLORE_OWN, /* of a whole process: an event of its own, `other` (process.h) */
    FTC_EXPLORE_CRASH,
    FTC_EXPLORE_CRASH_TELL, /* `other` crashes and `rank` is the first to be told */
};

struct ftc_explore_event {
    uint8_t kind, rank, other;
    uint8_t outputs; /* the rank crashes after that many outputs; 0: it does not crash */
};

struct ftc_exploration;
struct ftc_processes;

/* The automata that are explored: members (members.c), or whole processes (process_state.c). The
 * functions that return int return 0 or FTC_ERR_NOMEM. */
struct ftc_explore_model {
    void (*first)(const struct ftc_exploration *x, struct ftc_state *state);
    /* All events of a state, in the order in which to try them. *terminal: none of them has to
     * happen. */
    int (*events)(struct ftc_exploration *x, const struct ftc_state *state,
                  struct ftc_explore_event events[], int *count, bool *terminal);
    /* Take an event that can happen. Sets x->violation if the event breaks a promise. */
    int (*take)(struct ftc_exploration *x, struct ftc_state *state, struct ftc_explore_event event);
    /* May this event be taken at once, because it changes nothing, and never will? */
    int (*idle)(struct ftc_exploration *x, const struct ftc_state *state,
                struct ftc_explore_event event, bool *idle);
    /* No event has to happen any more: checks that every live rank is done. */
    void (*check_end)(struct ftc_exploration *x, const struct ftc_state *state);
    struct ftc_digest (*outcome)(const struct ftc_exploration *x, const struct ftc_state *state);
    /* Writes a counter-example as text. limits->plain is set. */
    int (*explain)(struct ftc_exploration *x, const struct ftc_explore_event events[], int count);
    /* Fills in the numbers of what was learned, and returns the memory that it takes. */
    size_t (*report)(const struct ftc_exploration *x, struct ftc_explore_result *result);
};

struct ftc_exploration {
    const struct ftc_explore_model *model;
    const struct ftc_explore_limits *limits;
    struct ftc_explore_result *result;
    struct ftc_local local;          /* of members */
    struct ftc_processes *processes; /* of processes */
    struct ftc_channels channels;
    int n, length;       /* ranks, operations */
    int words;           /* words of a state */
    char violation[400]; /* violation by the event taken last, or in a state; "": none */
};

/* --- reading --- */

static inline int ftc_state_channel(int n, int from, int to)
{
    return n + from * (n - 1) + (to > from ? to - 1 : to);
}

static inline uint32_t *ftc_state_flags(int n, struct ftc_state *state)
{
    return &state->word[n * n + 2];
}

static inline ftc_mask ftc_state_dead(int n, const struct ftc_state *state)
{
    return (ftc_mask)state->word[n * n + 2];
}

static inline ftc_mask ftc_state_timers(int n, const struct ftc_state *state)
{
    return (ftc_mask)(state->word[n * n + 2] >> 8);
}

static inline int ftc_state_crashes(int n, const struct ftc_state *state)
{
    return (int)(state->word[n * n + 2] >> 16);
}

/* The dead ranks of which `observer` has still to be told. */
static inline ftc_mask ftc_state_untold(int n, const struct ftc_state *state, int observer)
{
    return (ftc_mask)(state->word[n * n + observer / 4] >> (observer % 4 * 8));
}

static inline bool ftc_mask_has(ftc_mask mask, int rank)
{
    return (mask >> rank & 1) != 0;
}

/* The rank takes steps: it is alive, or dead but not fenced. */
static inline bool ftc_state_acts(const struct ftc_state *state, int rank)
{
    return state->word[rank] != FTC_STATE_GONE;
}

static inline const struct ftc_local_history *
ftc_state_history(const struct ftc_exploration *x, const struct ftc_state *state, int rank)
{
    return &x->local.state[state->word[rank]].history;
}

/* --- state.c --- */

void ftc_state_first(const struct ftc_exploration *x, struct ftc_state *state);
int ftc_state_take(struct ftc_exploration *x, struct ftc_state *state,
                   struct ftc_explore_event event);
/* The step of a member that belongs to an event. The event is not a crash, a post or the writing of
 * a word. */
int ftc_state_step(struct ftc_exploration *x, const struct ftc_state *state,
                   struct ftc_explore_event event, uint32_t *step);

/* For all models. The rank is declared failed, and takes no step any more, unless
 * limits->unfenced. */
void ftc_state_crash(const struct ftc_exploration *x, struct ftc_state *state, int rank);
/* Take the event itself out of the state. */
void ftc_state_consume(const struct ftc_exploration *x, struct ftc_state *state,
                       struct ftc_explore_event event);
/* Called after a step of `rank`: take what is idle. FTC_ERR_NOMEM. */
int ftc_state_skip_around(struct ftc_exploration *x, struct ftc_state *state, int rank);

/* --- explore.c --- */

/* Search with x->model. Fills in x->result. FTC_ERR_NOMEM. */
int ftc_explore_search(struct ftc_exploration *x);

/* --- violation.c --- */

/* Only the first violation is kept: it is the cause of later ones. */
void ftc_explore_violate(struct ftc_exploration *x, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- check.c: promises about several members --- */

void ftc_explore_check_call(struct ftc_exploration *x, const struct ftc_state *state, int rank);
void ftc_explore_check_delivery(struct ftc_exploration *x, const struct ftc_state *state, int rank,
                                const struct ftc_local_delivery *delivery, uint32_t to);
void ftc_explore_check_known(struct ftc_exploration *x, const struct ftc_state *state, int rank);
void ftc_explore_check_end(struct ftc_exploration *x, const struct ftc_state *state);

/* --- event.c --- */

/* Upper bound of the number of events that can happen in one state. */
#define FTC_EXPLORE_EVENTS 4096
int ftc_explore_events(struct ftc_exploration *x, const struct ftc_state *state,
                       struct ftc_explore_event events[], int *count, bool *terminal);

/* --- shorten.c --- */

/* Replace a counter-example by a shorter one, if the search finds one within limits->shorten
 * transitions. FTC_ERR_NOMEM. */
int ftc_explore_shorten(struct ftc_exploration *x, struct ftc_explore_event **events, int *count);

/* --- path.c --- */

/* Turn a path of the reduced search into one of the full search: add the messages that the reduced
 * search took silently because they changed nothing. limits->plain must be set before this and the
 * next two functions. FTC_ERR_NOMEM. */
int ftc_explore_spell_out(struct ftc_exploration *x, struct ftc_explore_event **events, int *count);
/* The events from the first state on, as lines of text, malloc'ed. FTC_ERR_NOMEM. */
int ftc_explore_path(struct ftc_exploration *x, const struct ftc_explore_event events[], int count,
                     char **text);

/* --- replay.c --- */

/* The command that replays these events in a cluster, malloc'ed. NULL: there the events keep all
 * promises. FTC_ERR_NOMEM. */
int ftc_explore_replay(struct ftc_exploration *x, const struct ftc_explore_event events[],
                       int count, char **text);

#endif
