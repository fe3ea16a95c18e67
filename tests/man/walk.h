/* What the stories of walk_app.c and walk_blocks.c share. */
#ifndef FTC_TESTS_WALK_H
#define FTC_TESTS_WALK_H

#include <ftcoll.h>
#include <stdbool.h>

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

#endif
