/* Private to sim/explore/local*.c: one step of a member while it is learned. */
#ifndef FTC_SIM_EXPLORE_LOCAL_LEARN_H
#define FTC_SIM_EXPLORE_LOCAL_LEARN_H

#include "include/ftcoll.h"
#include "sim/explore/local.h"

struct ftc_learning {
    struct ftc_local *local;
    struct ftc_member *member;
    int rank;
    uint32_t input;
    ftc_mask known;                   /* L before the step */
    struct ftc_local_history history; /* changes during the step */
    struct ftc_local_step step;
    char violation[300]; /* "": none */
};

void ftc_learning_violate(struct ftc_learning *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline ftc_mask ftc_local_mask(const struct ftc_set *set)
{
    return set != NULL ? (ftc_mask)ftc_set_word(set, 0) : 0;
}

static inline const struct ftc_program_operation *
ftc_learning_operation(const struct ftc_learning *l)
{
    return &l->local->program->operation[l->history.called - 1];
}

/* local_value.c: the inputs of ranks */
#define FTC_LOCAL_VALUE FTC_LOCAL_RANKS /* bytes of the largest value */
size_t ftc_local_size(const struct ftc_local *local, int op);
/* Makes the list of the contributions of these ranks, given as bits, to operation `op`, which
 * gathers. FTC_ERR_NOMEM. */
int ftc_local_list(int op, uint32_t posts, struct ftc_value *list);
/* Make the call of operation `op`. `bytes` has room for FTC_LOCAL_VALUE bytes and must outlive the
 * call. */
void ftc_local_call(struct ftc_local *local, int rank, int op, unsigned char *bytes,
                    struct ftc_call *call);
/* `once`: the ranks whose input the value counts once or more; `often`: those that it counts more
 * than once. False: the value has the wrong size, or a block that its rank did not give. */
bool ftc_local_counts(const struct ftc_local *local, int op, const struct ftc_value *value,
                      ftc_mask *once, ftc_mask *often);
bool ftc_local_broadcast_right(const struct ftc_local *local, int op,
                               const struct ftc_value *value);

/* local_number.c. All give FTC_ERR_NOMEM. */
int ftc_local_number_epoch(struct ftc_local *local, struct ftc_epoch epoch, uint8_t *out);
int ftc_local_number_member(struct ftc_local *local, const struct ftc_member *member,
                            struct ftc_local_state *state, uint32_t *out);
int ftc_local_number_message(struct ftc_local *local, const struct ftc_local_message *message,
                             uint32_t *out);
/* Gives the number of the decision. */
int ftc_local_decide(struct ftc_learning *l, const struct ftc_output *output, unsigned retries,
                     uint16_t *out);

/* local_check.c: the promises of agreement.md that concern one member alone */
/* Before the call; counts the call. FTC_ERR_NOMEM. */
int ftc_learning_calls(struct ftc_learning *l);
/* FTC_ERR_NOMEM. */
int ftc_learning_delivers(struct ftc_learning *l, const struct ftc_output *output);
/* After the outputs; `rc` is what the input returned. */
void ftc_learning_ends(struct ftc_learning *l, int rc);

#endif
