/*
 * The record of a run has everything that is needed to repeat the run. It is written while the run
 * goes on, into memory that a child process shares with its parent. So a run can be tried in a
 * process of its own. A run that ends in a failed assertion, or that never ends, is a finding like
 * any other, and its record is complete up to that point.
 */
#ifndef FTC_SIM_STORM_RECORD_H
#define FTC_SIM_STORM_RECORD_H

#include "sim/model/schedule.h"

/* An endless loop between two events is found by the computing time of the process: it used this
 * much time for fewer than so many events. */
#define FTC_STORM_PATIENCE_S     60
#define FTC_STORM_PATIENCE_STEPS 1024

/* Exit code of a child process that has no memory. */
#define FTC_STORM_EXIT_NOMEM 112

struct ftc_storm_record {
    char violation[FTC_SCHEDULE_TEXT]; /* "" */
    bool ended;                        /* the run came to its end, with or without a violation */
    bool hung;                         /* it was killed after FTC_STORM_PATIENCE_S */
    uint64_t steps;
    size_t events, deviations, crashes, losses;
    uint32_t event[FTC_CLUSTER_STEPS]; /* event numbers of cluster_event.h */
    struct ftc_schedule_deviation deviation[FTC_CLUSTER_STEPS];
    /* as they happened: after how many outputs */
    struct ftc_schedule_crash crash[FTC_SCHEDULE_RANKS];
    struct ftc_schedule_loss loss[FTC_SCHEDULE_CRASHES * FTC_SCHEDULE_RANKS];
};

struct ftc_storm_record *ftc_storm_record_new(void); /* NULL with FTC_ERR_NOMEM remembered */
void ftc_storm_record_free(struct ftc_storm_record *record);

/* ftc_storm_record_event(): call it before each event. ftc_storm_record_deaths(): call it after
 * everything in which ranks may have died. */
void ftc_storm_record_event(struct ftc_storm_record *record, const struct ftc_cluster *cluster,
                            int event);
void ftc_storm_record_deaths(struct ftc_storm_record *record, const struct ftc_cluster *cluster);

/* Call run(record, arg) in a child process; it sets violation and steps. FTC_ERR_SYSTEM: no process
 * could be made; FTC_ERR_NOMEM: the child had no memory. */
int ftc_storm_record_try(struct ftc_storm_record *record,
                         void (*run)(struct ftc_storm_record *, void *), void *arg);
/* Say in words how a process ended, by the status of waitpid(). *hung: its limit of computing time
 * ended it. */
void ftc_storm_record_obituary(int status, char violation[FTC_SCHEDULE_TEXT], bool *hung);
/* Did a process end because it had no memory? By the status of waitpid(). */
bool ftc_storm_record_starved(int status);
/* Start or restart the limit of computing time of this process. */
void ftc_storm_record_watch(void);
/* Call it after each event: it restarts the limit now and then, if the limit was started. */
void ftc_storm_record_alive(uint64_t steps);

#endif
