/*
 * The engine of one simulated process: it runs the calls of all its communicators by messages. If
 * communicators have boards, closings go by these (C7). The
 * lifecycle (collectives/communicators/communicators.h) says what to call. Each communicator has a
 * member of the agreement core (collectives/agreement/member.h) for its operations, and another one
 * for agreements of the survivors.
 *
 * Inputs: those below. Those of the lifecycle that start calls and open memory are called directly.
 * After each input take the outputs by ftc_comms_engine_next_output(), in order, until there is
 * none: some are made only then. A crash between two of them is the same as dropping the rest.
 *
 * Errors of an input are those of the lifecycle and of members.
 */
#ifndef FTC_SIM_COMMUNICATORS_ENGINE_H
#define FTC_SIM_COMMUNICATORS_ENGINE_H

#include "collectives/agreement/member.h"
#include "collectives/communicators/communicators.h"

struct ftc_comms_engine;

enum ftc_comms_output_kind {
    /* An output of a member, in `is`, but for DELIVER; or a word of the lifecycle, as a SEND. `to`
     * is a job's rank. */
    FTC_COMMS_MEMBER,
    /* Calls that end, as in the lifecycle. `is` of the first two is what was delivered. */
    FTC_COMMS_DELIVERED,
    FTC_COMMS_CREATED,
    FTC_COMMS_CUT_OFF,
    /* Open the memory of `child`, then call ftc_communicators_opened(). `number` is the child's;
     * `is` and `ticket` are those of its creation in `communicator`. */
    FTC_COMMS_OPEN,
    FTC_COMMS_FORGET,      /* `number` is forgotten */
    FTC_COMMS_SET_REVOKED, /* set the word *revoked* of the board of `communicator` */
    FTC_COMMS_SET_LEFT,    /* set the word *left* of this process there */
    FTC_COMMS_MISMATCH,    /* the members of `number` have called different agreements */
};

struct ftc_comms_output {
    enum ftc_comms_output_kind kind;
    uint64_t number; /* of the communicator */
    uint64_t ticket; /* of a call */
    struct ftc_communicator *communicator, *child;
    bool after;     /* of an agreement of the survivors */
    uint64_t spare; /* OPEN: as that of BEGIN */
    struct ftc_output is;
};

/* What the words of boards say. A communicator is known by its number and a member of it. */
#define FTC_COMMS_BOARDS 512
struct ftc_comms_boards {
    int count;
    struct {
        uint64_t number;
        uint64_t left, revoked; /* the job's ranks that have set it, as bits */
    } board[FTC_COMMS_BOARDS];
};
/* boards.c: has each member of c left its board, or is it in `known`? *revoked: one of them has
 * revoked it. */
bool ftc_comms_all_have_left(const struct ftc_comms_boards *boards,
                             const struct ftc_communicator *c, const struct ftc_set *known,
                             bool *revoked);

/* `settings` are those of this process in the world, and of its member in every communicator, but
 * for `ranks`, `self` and `communicator`. A child goes in one level. */
int ftc_comms_engine_new(struct ftc_comms_engine **out, const struct ftc_member_settings *settings);
/* Children have boards, whose words are there. Call this before any input. */
void ftc_comms_engine_use_boards(struct ftc_comms_engine *engine,
                                 const struct ftc_comms_boards *boards);
void ftc_comms_engine_free(struct ftc_comms_engine *engine); /* NULL is legal */
/* The lifecycle, for its inputs. */
struct ftc_communicators *ftc_comms_engine_set(struct ftc_comms_engine *engine);

int ftc_comms_engine_receive(struct ftc_comms_engine *engine, int from, struct ftc_buffer *message);
int ftc_comms_engine_notice(struct ftc_comms_engine *engine, int rank);
/* Of all members: they asked for it by MEMBER outputs. */
int ftc_comms_engine_timer(struct ftc_comms_engine *engine);
int ftc_comms_engine_more(struct ftc_comms_engine *engine);

/* Looks for a closing on a board that all have left (C7). Is there one? */
bool ftc_comms_engine_can_look(const struct ftc_comms_engine *engine);
int ftc_comms_engine_look(struct ftc_comms_engine *engine);

/* 1: *out is the next output, valid until the next call on the engine or the lifecycle. 0: there is
 * none. Negative: an error. */
int ftc_comms_engine_next_output(struct ftc_comms_engine *engine,
                                 const struct ftc_comms_output **out);

/* The state of this process as bytes, with its members, for exploring state spaces: as
 * ftc_communicators_digest(). */
void ftc_comms_engine_digest(const struct ftc_comms_engine *engine, ftc_digest_sink *sink,
                             void *arg);

/* The member of its operations (NULL once it is revoked) or of its agreements of the survivors
 * (NULL before the first one). */
const struct ftc_member *ftc_comms_engine_member(const struct ftc_communicator *c, bool after);

#endif
