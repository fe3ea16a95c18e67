/* The calls of the storm of communicators: blocking or as a request, and what one rank can check of
 * their results. Values are small, large, or larger than what one round takes. */
#ifndef FTC_TESTS_SYSTEM_GROUPS_STORM_CALLS_H
#define FTC_TESTS_SYSTEM_GROUPS_STORM_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "ftcoll.h"
#include "tests/system/group_record.h"

#define CALL_UNTOUCHED 0xeeeeeeeeeeeeeeeeull

/* A place of the program for a communicator. Where a split has several parts, each rank has its
 * own part there. */
struct slot {
    ftc_comm *comm; /* NULL: this rank is no member */
    uint64_t members, name;
    bool made;  /* the program has filled it; alike at all ranks */
    bool loose; /* it may be revoked at any time, and is given up then; alike at all ranks */
    bool lost;  /* this rank has learnt that it is revoked */
};

struct call {
    ftc_comm *world;
    struct slot *slot;
    ftc_comm *comm; /* NULL: this rank makes no such call */
    enum group_kind kind;
    uint64_t salt; /* of the operation, alike at all ranks */
    struct group_record *record;
    bool may_be_revoked; /* in this step */
    int root, failed_count, color;
    size_t words;  /* of a block, or of a vector, at least */
    bool sized;    /* blocks of several sizes */
    bool in_place; /* at this rank */
    size_t count;  /* elements that this rank gives, or gets from a scatter */
    void *in, *out;
    size_t *counts; /* elements of the place of each rank; then where each place begins */
    size_t total;   /* elements of all places */
    ftc_comm *child;
    int order[64]; /* of a creation: the job's ranks that the child would have, in order */
    int ordered;
    ftc_request *request;
};

/* A number that all ranks draw alike from `salt` and `what`. */
uint64_t call_draw(uint64_t salt, uint64_t what);
/* The first word that rank `from` of the communicator gives to rank `to`. Others count up. */
uint64_t call_word(const struct call *call, int from, int to);
/* Memory for `size` bytes with this value. */
void *call_space(const struct call *call, size_t size, int value);
uint64_t call_members(ftc_comm *comm, ftc_comm *world);
/* Ends the process with 99. */
_Noreturn void call_wrong(const struct call *call, const char *what);

void call_prepare(struct call *call);
/* Runs the call. Returns its status. */
int call_run(struct call *call);
/* Starts the call as a request. */
int call_start(struct call *call);
/* Judges the result and fills the record. `reported`: the call was the last that ended. */
void call_conclude(struct call *call, int status, bool reported);

/* The same for kinds from GROUP_BLOCKS on. */
void call_prepare_blocks(struct call *call);
int call_run_blocks(const struct call *call);
int call_start_blocks(struct call *call);
/* The ranks of the job whose blocks are in the result; ~0 if this rank gets none. */
uint64_t call_counted_blocks(const struct call *call, int status);

#endif
