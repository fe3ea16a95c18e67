/* Calls of the ranks of groups_app, and looks at what they made. A call that fails ends the process
 * with 99. */
#ifndef FTC_TESTS_RUNTIME_GROUPS_CALLS_H
#define FTC_TESTS_RUNTIME_GROUPS_CALLS_H

#include <ftcoll.h>

#include <stdbool.h>
#include <stdint.h>

#define RANKS     6
#define EVERYBODY ((uint64_t)(1 << RANKS) - 1)
#define BIT(rank) ((uint64_t)1 << (rank))

extern ftc_comm *world;
extern int me; /* in the world */

void must(bool good, const char *what, int line);
#define MUST(condition) must(condition, #condition, __LINE__)

/* The ranks of the world that contribute to an operation of comm, a bit for each. */
uint64_t present(ftc_comm *comm);
/* The ranks of the world that the last operation of comm names as failed. */
uint64_t failed(ftc_comm *comm);
/* comm has `count` ranks, which are these of the world. */
void consists_of(ftc_comm *comm, int count, const int ranks[]);
/* The number of a communicator without a name of its own, as one number. */
int64_t number_of(const ftc_comm *comm);

ftc_comm *copy_of(ftc_comm *comm);
ftc_comm *part_of(ftc_comm *comm, int color, int key);
ftc_comm *survivors_of(ftc_comm *comm); /* again, if the caller learns of a revoke by it */
/* A group of these ranks, if the caller is one of them; or NULL. */
ftc_comm *group_of(ftc_comm *comm, int count, const int ranks[], int tag);
void give_up(ftc_comm *comm);

#endif
