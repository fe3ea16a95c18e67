/* Transports that a test plays. They keep what is sent, and hand out what the test puts into
 * them. */
#ifndef FTC_TEST_PLAYED_H
#define FTC_TEST_PLAYED_H

#include "transport/route/route.h"
#include "transport/verbs/verbs.h"

#define PLAYED_RANKS 6
#define PLAYED_MOST  32

struct played_letter {
    int rank; /* receiver or sender */
    unsigned char byte;
};

struct played {
    struct ftc_transport base;
    struct played_letter sent[PLAYED_MOST], coming[PLAYED_MOST];
    int sent_count, coming_count, taken;
    int damaged; /* receive() reports this rank once; -1: none */
    bool closed[PLAYED_RANKS], settled;
    enum ftc_reach reach[PLAYED_RANKS]; /* its answers when it is asked */
    int fd;
    const char *(*find)(void *context, int rank); /* function that was given to find others */
    void *context;
};

extern const struct ftc_transport_ops played_shm, played_verbs, played_tcp;

extern struct played *plays[FTC_CARRIERS]; /* NULL: not open */
extern bool plays_device;                  /* false: verbs cannot be opened */
extern struct ftc_verbs_setup plays_given_to_verbs;

#endif
