/*
 * The algorithms by which a collective can run: what each of them does in the runtime. They are the
 * entries of one table (runtime/algorithms/table.c). runtime/choice/choice.c says which of them
 * a call takes. The other files of the runtime go through the table and name no algorithm.
 *
 * Each function pointer may be NULL. All functions run under process->lock.
 */
#ifndef FTC_RUNTIME_COMM_ALGORITHM_H
#define FTC_RUNTIME_COMM_ALGORITHM_H

#include "collectives/frame.h"
#include "runtime/comm/comm.h"

struct ftc_algorithm {
    /* --- calls --- */
    /* Does all that can be done for the request now, and never waits. True: it is done
     * (ftc_request_advance()). NULL: no call is chosen for this entry; it is there for its
     * messages. */
    bool (*advance)(struct ftc_comm *comm, struct ftc_request *request);

    /* --- life --- */
    bool of_world;                      /* communicators other than the world do without it */
    int (*open)(struct ftc_comm *comm); /* not in a job of one rank; FTC_ERR_NOMEM, _CONFIG */
    void (*close)(struct ftc_comm *comm);

    /* --- messages of the algorithm, beside those of the member --- */
    enum ftc_frame_kind frame; /* their kind; 0: it has none, or `owns` knows them */
    bool (*owns)(const struct ftc_buffer *message);
    /* Takes in a message that it owns. FTC_ERR_PROTO: the sender broke the protocol;
     * FTC_ERR_NOMEM. */
    int (*receive)(struct ftc_comm *comm, int from, struct ftc_buffer *message);
    /* The messages that had arrived are taken in. With driven.polls or driven.copies each step of
     * the driver calls it, so that it goes on by what others have written in shared memory. */
    void (*received)(struct ftc_comm *comm);
    void (*timer)(struct ftc_comm *comm);       /* comm->algorithm_due_ns has passed */
    int (*awaits)(const struct ftc_comm *comm); /* the rank whose message it awaits; -1: none */

    /* --- what happens to the member --- */
    void (*called)(struct ftc_comm *comm); /* the member was given a call */
    /* The member has taken in a message, and the message is sound. */
    void (*looks)(struct ftc_comm *comm, int from, const struct ftc_buffer *message);
    /* The member delivers. Called before the decision goes from here to any other rank. */
    void (*delivers)(struct ftc_comm *comm, const struct ftc_output *output);
    void (*notice)(struct ftc_comm *comm, int rank); /* the member knows now that rank has failed */
    /* Two levels: the roots have the sums of this node for reduce `op` and earlier ones. */
    void (*taken)(struct ftc_comm *comm, uint64_t op);

    void (*leaves)(struct ftc_comm *comm); /* its caller frees it, and it is not revoked */
    void (*revoked)(struct ftc_comm *comm);
    /* The rank has failed, and all that it sent before and that comes is taken in. */
    void (*silent)(struct ftc_comm *comm, int rank);

    /* --- waiting --- */
    bool (*ready)(struct ftc_comm *comm); /* with driven.polls: could `received` go on now? */
    /* For how many ns the rank may sleep before anything wakes it, now that it has to wait. The
     * rank does so where ranks share cores. 0: it may not. */
    uint64_t (*dozes)(struct ftc_comm *comm);
    void (*sleeps)(struct ftc_comm *comm); /* before each sleep in a call */
    /* Overwrites *now, which this rank shows in its slot, while the rank waits in the algorithm. */
    void (*activity)(const struct ftc_comm *comm, struct ftc_member_activity *now);
};

/* The table of children: that of the world without the algorithms that are of the world alone. The
 * caller frees it. NULL: there is no memory. */
const struct ftc_algorithm **
ftc_algorithms_of_children(const struct ftc_algorithm *const *algorithms);

/* Each of these calls the function of the same name of every algorithm that has one. */
int ftc_algorithms_open(struct ftc_comm *comm);
void ftc_algorithms_close(struct ftc_comm *comm);
void ftc_algorithms_received(struct ftc_comm *comm);
void ftc_algorithms_timer(struct ftc_comm *comm);
void ftc_algorithms_called(struct ftc_comm *comm);
void ftc_algorithms_look(struct ftc_comm *comm, int from, const struct ftc_buffer *message);
void ftc_algorithms_deliver(struct ftc_comm *comm, const struct ftc_output *output);
void ftc_algorithms_notice(struct ftc_comm *comm, int rank);
void ftc_algorithms_taken(struct ftc_comm *comm, uint64_t op);
void ftc_algorithms_leave(struct ftc_comm *comm);
void ftc_algorithms_revoke(struct ftc_comm *comm);
void ftc_algorithms_silent(struct ftc_comm *comm, int rank);
bool ftc_algorithms_ready(struct ftc_comm *comm);    /* is one of them? */
uint64_t ftc_algorithms_doze(struct ftc_comm *comm); /* the first answer but 0; else 0 */
void ftc_algorithms_sleep(struct ftc_comm *comm);
void ftc_algorithms_activity(const struct ftc_comm *comm, struct ftc_member_activity *now);
int ftc_algorithms_await(const struct ftc_comm *comm); /* the first answer but -1; else -1 */
/* The algorithm that owns the message; NULL: the message is the member's. */
const struct ftc_algorithm *ftc_algorithms_owner(const struct ftc_comm *comm,
                                                 const struct ftc_buffer *message);

/* Makes comm->levels, and completes the settings of the member, if these have two levels.
 * FTC_ERR_NOMEM, or an error of ftc_level_open(). */
int ftc_algorithms_settings(struct ftc_comm *comm, struct ftc_member_settings *settings);
/* Before the first operation, and the same at all members: there are no two levels. */
void ftc_algorithms_one_level(struct ftc_comm *comm);

#endif
