/* Steps and checks for stories about clusters, in Check suites. A story is one schedule. */
#ifndef FTC_TEST_STORY_H
#define FTC_TEST_STORY_H

#include "sim/model/cluster.h"
#include "tests/suite.h"

#define ALLREDUCE                                                                                  \
    {                                                                                              \
        .kind = FTC_CALL_ALLREDUCE, .root = -1                                                     \
    }
#define BARRIER                                                                                    \
    {                                                                                              \
        .kind = FTC_CALL_BARRIER, .root = -1                                                       \
    }
#define VALIDATE                                                                                   \
    {                                                                                              \
        .kind = FTC_CALL_VALIDATE, .root = -1                                                      \
    }
#define FINALIZE                                                                                   \
    {                                                                                              \
        .kind = FTC_CALL_FINALIZE, .root = -1                                                      \
    }
#define BCAST(r)                                                                                   \
    {                                                                                              \
        .kind = FTC_CALL_BCAST, .root = (r)                                                        \
    }
#define REDUCE(r)                                                                                  \
    {                                                                                              \
        .kind = FTC_CALL_REDUCE, .root = (r)                                                       \
    }
#define SUM_DOUBLE                                                                                 \
    {                                                                                              \
        .kind = FTC_CALL_ALLREDUCE, .root = -1, .floating = true                                   \
    }

/* A program: the given operations, in their order. */
#define PROGRAM(...)                                                                               \
    {                                                                                              \
        .operation = (struct ftc_program_operation[]){__VA_ARGS__},                                \
        .length = sizeof((struct ftc_program_operation[]){__VA_ARGS__}) /                          \
                  sizeof(struct ftc_program_operation)                                             \
    }

/* Returns the seed of a story's schedule: FTC_TEST_SEED, or 1. */
uint64_t story_seed(void);
struct ftc_cluster *story_begin(const struct ftc_member_settings *settings,
                                const struct ftc_program *program);
/* Lets all live processes make their next call, and holds their further calls. */
void story_all_call(struct ftc_cluster *c);
/* Checks that every promise was kept so far. If not, it prints everything and fails. */
void story_kept(struct ftc_cluster *c);
/* Lets the rest run to the end of the program, and checks that every promise was kept. It does not
 * free the cluster. */
void story_finish(struct ftc_cluster *c);

/* Checks what rank `at` delivered for operation op. */
void story_expect(struct ftc_cluster *c, int op, int at, const char *value, const char *failed,
                  unsigned i, unsigned s);

#endif
