/* What a rank of the storm of communicators writes down for each operation. The driver compares the
 * survivors' files. */
#ifndef FTC_TESTS_SYSTEM_GROUP_RECORD_H
#define FTC_TESTS_SYSTEM_GROUP_RECORD_H

#include <stdint.h>

#define GROUP_TRACKS   2  /* threads of a rank, each with communicators of its own */
#define GROUP_PER_STEP 12 /* operations that a step has at the most */

enum group_kind {
    GROUP_ALLREDUCE,
    GROUP_REDUCE,
    GROUP_REDUCE_SCATTER,
    GROUP_BCAST,
    GROUP_BARRIER,
    GROUP_VALIDATE,
    GROUP_BLOCKS, /* from here on inputs stay apart */
    GROUP_ALLGATHER = GROUP_BLOCKS,
    GROUP_ALLTOALL,
    GROUP_GATHER,
    GROUP_SCATTER,
    GROUP_CALLS,
    GROUP_DUP = GROUP_CALLS,
    GROUP_SPLIT,
    GROUP_SHRINK,
    GROUP_CREATE,
    GROUP_KINDS
};

/* Sets of ranks are bits, by the ranks of the world. */
struct group_record {
    uint32_t kind;
    int32_t status, root;
    uint64_t group;   /* names the communicator; 0: this rank made no such call */
    uint64_t members; /* of the communicator */
    uint64_t counted; /* ranks whose input is in the result; ~0 if not known */
    uint64_t failed;  /* failed set of ftc_last_report() */
    uint64_t child;   /* of a creation: the members of the child; 0: none */
    uint64_t wanted;  /* of a creation: those that it would have if nobody died */
    uint64_t hash;    /* of the result: for a creation the name of the child */
    uint8_t reported; /* failed is known */
    uint8_t loose;    /* the communicator may be revoked at any time */
    uint8_t done;     /* the step is over; written last */
};

/* Every fourth run has two threads. */
static inline int group_tracks(uint64_t seed)
{
    return seed % 4 == 0 ? GROUP_TRACKS : 1;
}

static inline uint64_t group_records(int operations)
{
    return (uint64_t)operations * GROUP_PER_STEP * GROUP_TRACKS;
}

#endif
