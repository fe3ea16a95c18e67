/* A few matching engines in one process (collectives/point_to_point/matching.h), whose messages go
 * from one to another, or are played by hand. */
#ifndef FTC_TEST_MATCHING_NET_H
#define FTC_TEST_MATCHING_NET_H

#include "collectives/point_to_point/internal.h"

#define RANKS  3
#define EAGER  64
#define CREDIT 512

extern struct ftc_matching *net_engine[RANKS];
extern enum ftc_copied net_copies;       /* how each copy ends */
extern int net_sent[FTC_MATCHING_WHATS]; /* messages, by net_move_one() */

/* The fixture. */
void net_begin(void);
void net_end(void);

/* --- messages and copies --- */
/* The message as a transport would deliver it. */
struct ftc_buffer *net_join(const struct ftc_matching_output *output);
/* The next message, or the next copy, of a rank; false: there is none. */
bool net_move_one(int rank);
bool net_copy_one(int rank);
/* All of all ranks, until there are none. */
void net_settle(void);

/* --- transfers --- */
struct ftc_transfer net_transfer(bool sends, int rank, int tag, void *buffer, size_t size);
void net_start(int rank, struct ftc_transfer *t);
void net_cancel(int rank, struct ftc_transfer *t);
void net_ended(const struct ftc_transfer *t, int status);

/* --- messages that are made by hand --- */
struct ftc_buffer *net_message(int what, uint64_t number, uint64_t taken, uint64_t field);
/* Rank 0 gets it from rank 1, and refuses it as a broken protocol, or takes it. */
void net_refused(struct ftc_buffer *message);
void net_taken(struct ftc_buffer *message);

#endif
