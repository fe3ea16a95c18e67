/*
 * A job of a few real members around a ledger, run by hand. A test may contradict whatever the
 * ledger is told: it hands a member a decision that nobody made, changes an output on its way to
 * the ledger, or reaches into a member.
 */
#ifndef FTC_TEST_JOB_H
#define FTC_TEST_JOB_H

#include "collectives/agreement/internal.h"
#include "include/ftcoll.h"
#include "sim/model/ledger.h"
#include "tests/suite.h"

#define JOB_RANKS   8
#define JOB_LETTERS 1024

struct job_letter {
    int from, to;
    struct ftc_buffer *bytes;
};

struct job {
    struct ftc_member_settings settings;
    struct ftc_program program;
    struct ftc_ledger *ledger;
    struct ftc_member *member[JOB_RANKS];  /* NULL: dead */
    struct job_letter letter[JOB_LETTERS]; /* letters on the way, in the order of sending */
    int first, last;
    void (*tamper)(struct ftc_output *output); /* changes what the ledger is shown; may be NULL */
};

/* Begins a job of n members with f, and the rest by default. Change job->settings before
 * job_open(). */
void job_begin(struct job *job, int n, int f);
void job_open(struct job *job, const char *operations,
              const struct ftc_set *mortal); /* NULL: all are mortal */
void job_end(struct job *job);

void job_call(struct job *job, int rank);
void job_all_call(struct job *job);
void job_deliver_letters(struct job *job); /* delivers letters until none is on the way */
void job_run(struct job *job); /* runs the program to its end, and the ledger's last checks */
void job_kill(struct job *job, int rank);
void job_tell(struct job *job, int observer, int dead);
void job_tell_all(struct job *job, int dead);

/* The inputs of the ranks in the list, which ends with -1, combined for `at`, whose call is under
 * way. */
struct ftc_value job_value(struct job *job, int at, const int ranks[]);
/* A decision of ballot (0,0) with an empty failed set. If it is a reduction, these ranks are
 * counted. */
struct ftc_decision *job_decision(struct job *job, int at, const int counted[]);
/* Sends `rank` a DECIDE and tells the ledger what comes of it. Takes over the decision. */
void job_decide(struct job *job, int rank, struct ftc_decision *decision);

void job_kept(const struct job *job);
/* checks that the violation has these words */
void job_broken(const struct job *job, const char *words);

#endif
