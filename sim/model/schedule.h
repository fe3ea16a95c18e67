/*
 * A schedule tells one run of a cluster from all others, in a few numbers that a person can type.
 *
 * Without a schedule the oldest pending event always happens next. That is deterministic and fair.
 * A schedule lists:
 * - deviations "12:3": at step 12 (the first step is 1) the event happens that has 3 older pending
 *   events before it, or the youngest event if there are fewer;
 * - crashes "2@17": rank 2 dies right after its 17th output (sends and deliveries together); 0:
 *   before it starts;
 * - losses "2:0@3": if rank 2 dies, only the first 3 messages that it sent to rank 0 arrive.
 *
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
#define FTC_SCHEDULE_RANKS   4096 /* most ranks of a cluster whose schedules are recorded */

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
    /* in ascending order of steps; the struct owns all three */
    struct ftc_schedule_deviation *deviation;
    struct ftc_schedule_crash *crash;
    struct ftc_schedule_loss *loss;
    size_t deviations, crashes, losses;
};

void ftc_schedule_fini(struct ftc_schedule *schedule); /* a zeroed struct is the empty schedule */
int ftc_schedule_copy(struct ftc_schedule *to, const struct ftc_schedule *from); /* FTC_ERR_NOMEM */

/* Append the entries of a list such as "0@17,2@3". FTC_ERR_ARG says what is wrong and what is
 * allowed; FTC_ERR_NOMEM. */
int ftc_schedule_parse_crashes(struct ftc_schedule *schedule, const char *text);
int ftc_schedule_parse_losses(struct ftc_schedule *schedule, const char *text);
int ftc_schedule_parse_deviations(struct ftc_schedule *schedule, const char *text);
/* FTC_ERR_ARG: a rank is not below `ranks`, a rank dies twice, no rank is left, or a channel has
 * two losses. FTC_ERR_NOMEM. */
int ftc_schedule_check(const struct ftc_schedule *schedule, int ranks);
/* FTC_ERR_ARG: a sound run with so many operations and deaths may take FTC_CLUSTER_STEPS steps. */
int ftc_schedule_check_size(int ranks, int f, int operations, size_t deaths);
/* The schedule as options: "--crash 0@17 --lose 0:2@3 --schedule 12:3,15:1". Empty lists are left
 * out. malloc'ed; NULL: out of memory. */
char *ftc_schedule_format(const struct ftc_schedule *schedule);

/* A promise in addition to those of the product. `check` calls ftc_ledger_violate() when the
 * promise is broken. For tests of the simulator itself. */
struct ftc_promise {
    void (*check)(struct ftc_cluster *cluster, void *arg); /* called after every step */
    void *arg;
};

/*
 * ftc_schedule_begin() makes a cluster under this schedule, before its first step. Program and
 * schedule must outlive it. `log` gets a line for each thing that happens (NULL: none).
 * ftc_schedule_finish() runs it to the end. It returns false if a promise is broken
 * (cluster->violation).
 */
struct ftc_cluster *ftc_schedule_begin(const struct ftc_member_settings *settings,
                                       const struct ftc_program *program,
                                       const struct ftc_schedule *schedule, FILE *log);
bool ftc_schedule_finish(struct ftc_cluster *cluster, const struct ftc_schedule *schedule,
                         const struct ftc_promise *promise);
/* One step of any schedule: take this event, and check the promises. Does nothing once the cluster
 * is broken. */
void ftc_schedule_step(struct ftc_cluster *cluster, int event, const struct ftc_promise *promise);

#define FTC_SCHEDULE_TEXT 400
/* Begin and finish in one call. violation: "" if all promises were kept. */
bool ftc_schedule_run(const struct ftc_member_settings *settings, const struct ftc_program *program,
                      const struct ftc_schedule *schedule, FILE *log,
                      char violation[FTC_SCHEDULE_TEXT]);

/*
 * Replace the deviations of the schedule by those that make these events happen in this order,
 * beside the schedule's crashes and losses. An event that cannot happen at its turn is skipped.
 * FTC_ERR_NOMEM.
 */
int ftc_schedule_from_events(struct ftc_schedule *schedule,
                             const struct ftc_member_settings *settings,
                             const struct ftc_program *program,
                             const struct ftc_cluster_event *event, size_t count);

#endif
