/*
 * Which algorithm runs a call: the first one of ftc_choices that takes it. The answer depends on
 * the settings, on the hosts of the job, on the call, and on G. All of these are the same at every
 * rank of the communicator. The runtime runs what is chosen here (runtime/algorithms/table.c), and
 * `ftrun --print-algorithms` prints it.
 */
#ifndef FTC_RUNTIME_CHOICE_CHOICE_H
#define FTC_RUNTIME_CHOICE_CHOICE_H

#include "base/settings.h"
#include "collectives/call.h"
#include "config/config.h"

/* The algorithms in the order of choice. */
enum ftc_choice_id {
    FTC_CHOICE_BOARD,
    FTC_CHOICE_RING,
    FTC_CHOICE_LEVELS,
    FTC_CHOICE_EXCHANGE,
    FTC_CHOICE_DIRECT,
    FTC_CHOICE_TREE,
    FTC_CHOICES,
    /* No call is chosen for gossip. It has a function of its own. */
    FTC_CHOICE_GOSSIP = FTC_CHOICES,
};

/* What a choice depends on, beside the call. */
struct ftc_choice_job {
    const struct ftc_config *config;
    int nodes;
    struct ftc_member_settings member; /* ftc_choice_member() */
    const struct ftc_set *failed;      /* G; NULL: no rank has failed */
};

struct ftc_choice {
    const char *name;    /* in ftc_report.algorithm */
    const char *summary; /* one line, for users */
    /* NULL: the algorithm takes the call. Otherwise why it does not, in words that end a sentence.
     */
    const char *(*refuses)(const struct ftc_choice_job *, const struct ftc_signature *);
    /* Which deaths during such a call cost no other round, in words. */
    const char *(*masks)(const struct ftc_choice_job *, const struct ftc_signature *);
    /* How many deaths of ranks other than the coordinator or root cost no other round, whichever
     * ranks die, and whenever. */
    int (*masked)(const struct ftc_choice_job *, const struct ftc_signature *);
};
extern const struct ftc_choice ftc_choices[FTC_CHOICES];

const char *ftc_choice_name(int id); /* "board", ...; NULL: it is none of these */

/* The settings of the member of rank `self`, in a job of `ranks` ranks on `nodes` nodes. Values
 * that are auto are chosen here and in ftc_config_member(). The caller sets the size of
 * fragments, and first_ranks if the settings have several nodes. `flips` are those of the
 * configuration; NULL: none. */
struct ftc_member_settings ftc_choice_member(const struct ftc_config *config, int ranks, int nodes,
                                             int self, const struct ftc_flips *flips);

/* The settings of agreements of survivors, by messages also where the ranks have a board. */
void ftc_choice_agreements(struct ftc_choice_job *job);

/* The first algorithm at or behind `from` that takes the call. There is always one. */
enum ftc_choice_id ftc_choice_of(const struct ftc_choice_job *job,
                                 const struct ftc_signature *signature, enum ftc_choice_id from);

/* Does an exchange decide such a call in its first round, if it runs by `id`? */
bool ftc_choice_exchanges(const struct ftc_choice_job *job, const struct ftc_signature *signature,
                          enum ftc_choice_id id);

#endif
