/* The inside of the matching engine, for its own files: matching.c (life, transfers that start),
 * arrive.c (messages that come), end.c (failures, revoke), withdraw.c (cancels), match.c (which
 * message goes to which receive), rendezvous.c (the bytes of large messages), outputs.c (messages
 * that go), peer.c. */
#ifndef FTC_COLLECTIVES_POINT_TO_POINT_INTERNAL_H
#define FTC_COLLECTIVES_POINT_TO_POINT_INTERNAL_H

#include "base/sparse.h"
#include "collectives/point_to_point/matching.h"
#include "collectives/point_to_point/mutation.h"

enum ftc_matching_what {
    FTC_MATCHING_EAGER,
    FTC_MATCHING_READY, /* from here on, to WITHDRAW, they want an answer (P4) */
    FTC_MATCHING_PULL,
    FTC_MATCHING_DATA,
    FTC_MATCHING_WITHDRAW,
    FTC_MATCHING_END,
    FTC_MATCHING_CREDIT,
    FTC_MATCHING_WITHDRAWN,
    FTC_MATCHING_KEPT,
    FTC_MATCHING_LEFT,
    FTC_MATCHING_WHATS
};

/* The fields of a message behind its head (P2). */
struct ftc_matching_message {
    enum ftc_matching_what what;
    uint8_t context;
    uint32_t tag;
    uint64_t number, taken;
    uint64_t size, address, mark_address,
        mark;                   /* READY. PULL: size is the bound; DATA: the offset */
    const unsigned char *bytes; /* EAGER and DATA */
    size_t length;
};

/* A message that no receive has taken. */
struct ftc_arrival {
    struct ftc_link of_peer; /* in the list of its sender */
    struct ftc_link of_all;  /* in the list of all; of a spare one: `next` is the next spare */
    int from;
    struct ftc_buffer *buffer; /* EAGER: holds the bytes; READY: NULL */
    struct ftc_matching_message message;
};

/* The state that an engine has for each rank, its own one too. Made when it is first needed. */
struct ftc_matching_peer {
    struct ftc_link posted;    /* receives from this rank that have taken no message */
    struct ftc_link arrivals;  /* its unexpected messages */
    struct ftc_link announced; /* sends to it by READY */
    struct ftc_link pulling;  /* receives that take a message by P5; and those that are void (P6) */
    uint64_t sent, received;  /* numbers of the next messages */
    uint64_t spent, returned; /* P3: of messages to it, and what it has given back */
    uint64_t taken, told;     /* P3: of messages from it, and what it was told of that */
    uint64_t came;            /* P3: of messages from it, taken or not */
    uint64_t failure;         /* P8: its failure is number ..., from 1 on; 0: it has not failed */
    bool recognized;          /* P8 */
    struct ftc_link withdrawn; /* P10: sends to it that had ended, and wait for an answer */
};

struct ftc_matching {
    struct ftc_matching_settings set;
    struct ftc_sparse peers;    /* by rank; NULL: nothing was sent to it or came from it */
    struct ftc_link posted_any; /* receives from any rank that have taken no message */
    struct ftc_link arrivals;   /* of all, as they came */
    struct ftc_link matched;    /* P13 */
    struct ftc_link copying;    /* receives that copy (P4) */
    struct ftc_arrival *spare;
    uint64_t orders, ended;
    int others;         /* members beside this one that have not failed */
    uint64_t failures;  /* how many there were */
    uint64_t uncovered; /* the last of them that interrupts; 0: none */
    bool over;          /* revoked or left: nothing is started or taken in any more */

    /* --- messages to send: a circle of `room` places --- */
    struct ftc_matching_output *queue;
    size_t room, first, count;
    bool taken; /* the driver has the first one, which leaves the queue with the next call */
    /* Messages of this rank to itself, in the same way. */
    struct ftc_buffer **own;
    size_t own_room, own_first, own_count;
};

/* --- peer.c --- */
static inline struct ftc_matching_peer *ftc_matching_known(const struct ftc_matching *m, int rank)
{
    return ftc_sparse_pointer(&m->peers, rank);
}
struct ftc_matching_peer *ftc_matching_peer(struct ftc_matching *m, int rank); /* NULL: no memory */
/* A transfer ends. It leaves the list that it is in. */
void ftc_transfer_end(struct ftc_matching *m, struct ftc_transfer *t, int status);
static inline struct ftc_transfer *ftc_transfer_of(struct ftc_link *link)
{
    return (struct ftc_transfer *)(void *)link;
}
/* The transfer of this list that has the message `number`; NULL: none. */
struct ftc_transfer *ftc_transfer_find(struct ftc_link *list, uint64_t number);

/* P12: the message speaks of another one that it must not speak of. */
int ftc_matching_unknown(const struct ftc_matching_message *message);

/* --- match.c --- */
/* The receive that takes this message; NULL: none. */
struct ftc_transfer *ftc_matching_receiver(struct ftc_matching *m, struct ftc_matching_peer *peer,
                                           const struct ftc_matching_message *message);
/* The unexpected message that this receive takes; NULL: none. */
struct ftc_arrival *ftc_matching_arrival(const struct ftc_matching *m, int from, int tag,
                                         uint8_t context);
/* Keeps a message as unexpected. */
int ftc_arrival_keep(struct ftc_matching *m, struct ftc_matching_peer *peer, int from,
                     const struct ftc_matching_message *message, struct ftc_buffer *buffer);
void ftc_arrival_drop(struct ftc_matching *m, struct ftc_arrival *arrival);
void ftc_arrivals_drop(struct ftc_matching *m, struct ftc_link *list); /* by their `of_all` */

/* --- arrive.c --- */
/* A receive takes a message of the rank `from`. */
int ftc_matching_take(struct ftc_matching *m, struct ftc_matching_peer *peer,
                      struct ftc_transfer *t, int from, const struct ftc_matching_message *message);
/* Takes in what this rank has sent to itself. */
int ftc_matching_take_own(struct ftc_matching *m);

/* --- rendezvous.c --- */
/* The mark of message `number` to a rank (P6). */
uint64_t ftc_matching_mark(const struct ftc_matching *m, int to, uint64_t number);
int ftc_matching_take_copy(struct ftc_matching *m, struct ftc_transfer *t, enum ftc_copied result);
int ftc_matching_take_pull(struct ftc_matching *m, struct ftc_matching_peer *peer,
                           const struct ftc_matching_message *message);
int ftc_matching_take_data(struct ftc_matching *m, struct ftc_matching_peer *peer,
                           const struct ftc_matching_message *message);
int ftc_matching_take_end(struct ftc_matching *m, struct ftc_matching_peer *peer,
                          const struct ftc_matching_message *message);

/* --- withdraw.c (P10) --- */
/* A send is cancelled. */
int ftc_matching_withdraw(struct ftc_matching *m, struct ftc_transfer *t);
/* All bytes of a send by READY are gone, or its receiver wants no more. */
void ftc_matching_sent(struct ftc_matching *m, struct ftc_matching_peer *peer,
                       struct ftc_transfer *t);
int ftc_matching_take_withdraw(struct ftc_matching *m, struct ftc_matching_peer *peer, int from,
                               const struct ftc_matching_message *message);
/* WITHDRAWN, KEPT or LEFT. */
int ftc_matching_take_answer(struct ftc_matching *m, struct ftc_matching_peer *peer,
                             const struct ftc_matching_message *message);
/* A message that comes after a revoke or a free. It is dropped. */
int ftc_matching_take_late(struct ftc_matching *m, struct ftc_matching_peer *peer, int from,
                           const struct ftc_matching_message *message);

/* --- outputs.c --- */
/* Puts a message out. `buffer` has its bytes, if it is a DATA. `message->taken` is filled in. */
int ftc_matching_put(struct ftc_matching *m, struct ftc_matching_peer *peer, int to,
                     struct ftc_matching_message *message, struct ftc_buffer *buffer);
/* END or CREDIT, or another message of no more than that. */
int ftc_matching_say(struct ftc_matching *m, struct ftc_matching_peer *peer, int to,
                     enum ftc_matching_what what, uint64_t number);
/* False: it is malformed. */
bool ftc_matching_decode(const struct ftc_matching *m, const struct ftc_buffer *buffer,
                         struct ftc_matching_message *message);

#endif
