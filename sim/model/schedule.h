/*
 * Schedules: what sets one run of a cluster apart from all others, in a few numbers that a person
 * can type.
 *
 * Without one the oldest pending event happens next, always: deterministic and fair. A schedule
 * lists
 *   - deviations "12:3": at step 12 (the first is 1) the event happens that 3 pending ones are
 *     older than, or the youngest if there are not so many;
 *   - crashes "2@17": rank 2 dies right after its 17th output (sends and deliveries together); 0:
 *     before it starts;
 *   - losses "2:0@3": if rank 2 dies, only the first 3 messages that it sent to rank 0 arrive.
 * The last live rank never dies.
 */
#ifndef FTC_SIM_MODEL_SCHEDULE_H
#define FTC_SIM_MODEL_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collectives/agreement/member.h"
#include "sim/model/cluster_event.h"
#include "sim/model/program.h"

#define FTC_SCHEDULE_CRASHES FTC_CLUSTER_DOOMS
#define FTC_SCHEDULE_RANKS   4096 /* of a cluster whose schedules are recorded */

struct ftc_schedule_deviation {
    uint32_t step, passed;
};

struct ftc_schedule_crash {
    int rank;
    int outputs;
};

struct ftc_schedule_loss {
    int from, to;
    int arrive;
};

struct ftc_schedule {
    struct ftc_schedule_deviation *deviation; /* by ascending steps; all three owned */
    struct ftc_schedule_crash *crash;
    struct ftc_schedule_loss *loss;
    size_t deviations, crashes, losses;
};

void ftc_schedule_fini(struct ftc_schedule *schedule); /* a zeroed struct is the empty schedule */
int ftc_schedule_copy(struct ftc_schedule *to, const struct ftc_schedule *from); /* FTC_ERR_NOMEM */

/* Append what a list such as "0@17,2@3" names. FTC_ERR_ARG with what is wrong and what is allowed,
 * FTC_ERR_NOMEM. */
int ftc_schedule_parse_crashes(struct ftc_schedule *schedule, const char *text);
int ftc_schedule_parse_losses(struct ftc_schedule *schedule, const char *text);
int ftc_schedule_parse_deviations(struct ftc_schedule *schedule, const char *text);
/* FTC_ERR_ARG: a rank that `ranks` ranks do not have, one that dies twice, nobody left, or a
 * channel that loses twice; FTC_ERR_NOMEM. */
int ftc_schedule_check(const struct ftc_schedule *schedule, int ranks);
/* FTC_ERR_ARG: a sound run of so many operations and deaths may reach FTC_CLUSTER_STEPS. */
int ftc_schedule_check_size(int ranks, int f, int operations, size_t deaths);
/* "--crash 0@17 --lose 0:2@3 --schedule 12:3,15:1", without what is empty. malloc'ed; NULL: out of
 * memory. */
char *ftc_schedule_format(const struct ftc_schedule *schedule);

/* A promise on top of the product's: calls ftc_ledger_violate() when it is broken. For tests of the
 * prover itself. */
struct ftc_promise {
    void (*check)(struct ftc_cluster *cluster, void *arg); /* after every step */
    void *arg;
};

/*
 * A cluster under this schedule, before its first step; program and schedule must outlive it. `log`
 * gets a line for each thing that happens (NULL: none). Then run it to the end: false if a promise
 * is broken (cluster->violation).
 */
struct ftc_cluster *ftc_schedule_begin(const struct ftc_member_settings *settings,
                                       const struct ftc_program *program,
                                       const struct ftc_schedule *schedule, FILE *log);
bool ftc_schedule_finish(struct ftc_cluster *cluster, const struct ftc_schedule *schedule,
                         const struct ftc_promise *promise);
/* Take this event, unless the cluster is broken, and see whether promises still hold: one step of
 * any schedule. */
void ftc_schedule_step(struct ftc_cluster *cluster, int event, const struct ftc_promise *promise);

#define FTC_SCHEDULE_TEXT 400
/* Both in one; violation: "" if all promises were kept. */
bool ftc_schedule_run(const struct ftc_member_settings *settings, const struct ftc_program *program,
                      const struct ftc_schedule *schedule, FILE *log,
                      char violation[FTC_SCHEDULE_TEXT]);

/*
 * The deviations of the schedule under which these events happen in this order, beside the crashes
 * and losses that it has; events that cannot happen when it is their turn are skipped. They replace
 * those that it had. FTC_ERR_NOMEM.
 */
int ftc_schedule_from_events(struct ftc_schedule *schedule,
                             const struct ftc_member_settings *settings,
                             const struct ftc_program *program,
                             const struct ftc_cluster_event *event, size_t count);

#endif
