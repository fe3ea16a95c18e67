/* What the stories of walk_app.c and the other files walk_*.c share. */
#ifndef FTC_TESTS_WALK_H
#define FTC_TESTS_WALK_H

#include <ftcoll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOO_MANY ((size_t)1 << 44) /* number of doubles: no memory holds them, but SIZE_MAX does */

/* Notes what a function returned. Ends the process if that is not what is expected. */
int walk_see(int expected, const char *function, int code);
#define SEE(expected, function, arguments) walk_see(expected, #function, function arguments)
void walk_must(bool good, const char *what);
#define MUST(condition) walk_must(condition, #condition)

/* walk_blocks.c: the functions that gather, scatter, exchange and scan. */
void walk_blocks(ftc_comm *world);                   /* all is well */
void walk_wrong_blocks(ftc_comm *world);             /* wrong arguments */
void walk_refused_blocks(ftc_comm *world, int code); /* a communicator that is none */
void walk_blocks_without_memory(ftc_comm *world);    /* more than there can be */

/* walk_communicators.c: the functions that make, revoke and free communicators. */
void walk_communicators(ftc_comm *world);
void walk_wrong_communicators(ftc_comm *world);
void walk_refused_communicators(ftc_comm *comm, int code);
int walk_revoked(ftc_comm *world, long number); /* a story: rank 0 revokes some */

/* walk_requests.c: the functions that start operations, and those that end requests. */
void walk_requests(ftc_comm *world);
void walk_wrong_requests(ftc_comm *world);
void walk_refused_requests(ftc_comm *comm, int code);
void walk_refused_waits(ftc_request *request); /* in a child of fork() */
void walk_revoked_requests(ftc_comm *comm);    /* rank 0 has revoked comm */
void walk_revoked_agreement(ftc_comm *comm);
void walk_requests_without_root(ftc_comm *world);

/* walk_messages.c: the functions that send and receive. */
void walk_messages(ftc_comm *world);
void walk_wrong_messages(ftc_comm *world);
void walk_refused_messages(ftc_comm *comm, int code);
void walk_refused_message_requests(ftc_comm *comm, int code);     /* not of one that was revoked */
void walk_messages_of_dead(ftc_comm *world);                      /* rank 0 is dead, or dies */
void walk_messages_without_memory(ftc_comm *world, int codes[5]); /* notes nothing */

/* One of each non-blocking form, and all that it reads and writes while it is under way. */
#define WALK_RANKS 8
#define WALK_FORMS 21
struct forms {
    struct form {
        const char *name;
        int code; /* what the start returned */
        ftc_request *request;
        int32_t out[WALK_RANKS];
    } form[WALK_FORMS];
    size_t one[WALK_RANKS], displs[WALK_RANKS];
    int32_t in[WALK_RANKS];
    ftc_comm *copy, *part, *rest;
    int failed, flag;
};
void walk_start_forms(struct forms *f, ftc_comm *comm); /* notes nothing */
void walk_see_forms(const struct forms *f, int code);   /* each start returned that */

/* walk_memory.c: stories in which no memory is left. */
int walk_without_memory(long number);
int walk_requests_without_memory(ftc_comm *world, long number);
int walk_gossip_without_memory(ftc_comm *world, long number);
int walk_no_memory_inside(ftc_comm *world, long number);

#endif
