/*
 * The ways a collective can go: one table (runtime/algorithms/table.c), in the order of choice. A
 * call takes the first algorithm whose takes() says yes. Everything else of the runtime asks the
 * table, and names no algorithm.
 *
 * Functions may be NULL, but for the name. All but takes() run under comm->lock.
 */
#ifndef FTC_RUNTIME_ALGORITHM_H
#define FTC_RUNTIME_ALGORITHM_H

#include "runtime/comm.h"

struct ftc_algorithm {
    const char *name; /* in ftc_report.algorithm */

    /* --- calls --- */
    /* Does this call go so? Every rank of the communicator gets the same answer. NULL: no call does;
     * the entry is there for its messages. */
    bool (*takes)(const struct ftc_comm *comm, const struct ftc_signature *signature);
    /* Runs the call to its end, between enter and leave. */
    int (*run)(struct ftc_comm *comm, const struct ftc_call *call, void *receive);

    /* --- life; not for a job of one rank --- */
    int (*open)(struct ftc_comm *comm); /* FTC_ERR_NOMEM, FTC_ERR_CONFIG */
    void (*close)(struct ftc_comm *comm);

    /* --- messages of its own, beside those of the member --- */
    bool (*owns)(const struct ftc_comm *comm, const struct ftc_buffer *message);
    /* FTC_ERR_PROTO: its sender broke the protocol. FTC_ERR_NOMEM. */
    int (*receive)(struct ftc_comm *comm, int from, struct ftc_buffer *message);
    void (*received)(struct ftc_comm *comm);    /* all messages that lay here were taken in */
    void (*timer)(struct ftc_comm *comm);       /* comm->algorithm_due_ns has passed */
    int (*awaits)(const struct ftc_comm *comm); /* the rank whose message is waited for; -1: none */

    /* --- what happens to the member --- */
    void (*called)(struct ftc_comm *comm);   /* it was given a call */
    void (*precedes)(struct ftc_comm *comm); /* a message of the member is taken in next */
    /* ... and was taken in, and is sound. */
    void (*looks)(struct ftc_comm *comm, int from, const struct ftc_buffer *message);
    void (*delivers)(struct ftc_comm *comm,
                     const struct ftc_output *output); /* before anybody hears */
    void (*notice)(struct ftc_comm *comm, int rank);   /* rank has failed, and the member knows */

    /* --- waiting --- */
    void (*sleeps)(struct ftc_comm *comm); /* before each sleep in a call */
    /* What this rank shows of itself while the algorithm is what it waits in. */
    void (*activity)(const struct ftc_comm *comm, struct ftc_member_activity *now);
};

extern const struct ftc_algorithm *const ftc_algorithms[]; /* NULL-terminated */

/* The algorithm of a call: the first that takes it behind `after` (NULL: of all). One always does. */
const struct ftc_algorithm *ftc_algorithm_choose(const struct ftc_comm *comm,
                                                 const struct ftc_signature *signature,
                                                 const struct ftc_algorithm *after);

/* Each calls the function of that name of all algorithms that have one. */
int ftc_algorithms_open(struct ftc_comm *comm);
void ftc_algorithms_close(struct ftc_comm *comm);
void ftc_algorithms_received(struct ftc_comm *comm);
void ftc_algorithms_timer(struct ftc_comm *comm);
void ftc_algorithms_called(struct ftc_comm *comm);
void ftc_algorithms_precede(struct ftc_comm *comm);
void ftc_algorithms_look(struct ftc_comm *comm, int from, const struct ftc_buffer *message);
void ftc_algorithms_deliver(struct ftc_comm *comm, const struct ftc_output *output);
void ftc_algorithms_notice(struct ftc_comm *comm, int rank);
void ftc_algorithms_sleep(struct ftc_comm *comm);
void ftc_algorithms_activity(const struct ftc_comm *comm, struct ftc_member_activity *now);
int ftc_algorithms_await(const struct ftc_comm *comm); /* the first that is not -1; -1: none */
/* The owner of a message; NULL: it is the member's. */
const struct ftc_algorithm *ftc_algorithms_owner(const struct ftc_comm *comm,
                                                 const struct ftc_buffer *message);

/* Two levels change what the member is made with. */
int ftc_algorithms_settings(struct ftc_comm *comm, struct ftc_member_settings *settings);

/* The board takes every call of a job on one node, and its calls take no lock: so this one is not
 * by the table. */
int ftc_board_run(struct ftc_comm *comm, const struct ftc_call *call, void *receive);

#endif
