/*
 * The record of a run: everything needed to have it again, written down as it goes, into memory
 * that a child process shares with its parent. So a run can be tried in a process of its own, and
 * one that ends in a failed assertion or goes on for ever is a finding like any other, its record
 * complete up to there.
 */
#ifndef FTC_SIM_STORM_RECORD_H
#define FTC_SIM_STORM_RECORD_H

#include "sim/model/schedule.h"

/* An endless loop between two events is found by the computing time of the process: this long
 * without so many more events. */
#define FTC_STORM_PATIENCE_S     60
#define FTC_STORM_PATIENCE_STEPS 1024

/* How a child process ends that has no memory. */
#define FTC_STORM_EXIT_NOMEM 112

struct ftc_storm_record {
    char violation[FTC_SCHEDULE_TEXT]; /* "" */
    bool ended;                        /* the run came to its end, whichever */
    bool hung;                         /* it was killed after FTC_STORM_PATIENCE_S */
    uint64_t steps;
    size_t events, deviations, crashes, losses;
    uint32_t event[FTC_CLUSTER_STEPS]; /* numbers of cluster_event.h */
    struct ftc_schedule_deviation deviation[FTC_CLUSTER_STEPS];
    struct ftc_schedule_crash
        crash[FTC_SCHEDULE_RANKS]; /* as they came about: after how many outputs */
    struct ftc_schedule_loss loss[FTC_SCHEDULE_CRASHES * FTC_SCHEDULE_RANKS];
};

struct ftc_storm_record *ftc_storm_record_new(void); /* NULL with FTC_ERR_NOMEM remembered */
void ftc_storm_record_free(struct ftc_storm_record *record);

/* Before each event, and after everything in which ranks may have died. */
void ftc_storm_record_event(struct ftc_storm_record *record, const struct ftc_cluster *cluster,
                            int event);
void ftc_storm_record_deaths(struct ftc_storm_record *record, const struct ftc_cluster *cluster);

/* Have run(record, arg) in a child; it sets violation and steps. FTC_ERR_SYSTEM: no process could
 * be made; FTC_ERR_NOMEM: it had no memory. */
int ftc_storm_record_try(struct ftc_storm_record *record,
                         void (*run)(struct ftc_storm_record *, void *), void *arg);
/* Words for how a process ended, from waitpid(); hung: by its limit of computing time. */
void ftc_storm_record_obituary(int status, char violation[FTC_SCHEDULE_TEXT], bool *hung);
/* Did a process end for want of memory, by the status of waitpid()? */
bool ftc_storm_record_starved(int status);
/* Start (or start again) this process's limit of computing time. */
void ftc_storm_record_watch(void);
/* After each event: start it again now and then, if it was started. */
void ftc_storm_record_alive(uint64_t steps);

#endif
