/*
 * Mutations of point-to-point: deliberate faults (docs/design/point-to-point.md, part 3). They test
 * the tests: tests/sim/test_point_to_point_mutation.c shows that storms find each of them.
 *
 * Only a build with FTC_MUTATIONS has them, and only the tests make such a build. In the product
 * each FTC_MATCHING_MUTATED() is the constant false, and the compiler leaves nothing of it in the
 * code.
 */
#ifndef FTC_COLLECTIVES_POINT_TO_POINT_MUTATION_H
#define FTC_COLLECTIVES_POINT_TO_POINT_MUTATION_H

#define FTC_MATCHING_MUTATIONS_LIST(X)                                                             \
    X(LATER_MESSAGE, "P1: a receive takes the last message that fits")                             \
    X(LATER_RECEIVE, "P1: a message goes to a receive of its rank before one of any rank")         \
    X(OTHER_CONTEXT, "P1: a receive takes a message of another context")                           \
    X(ANY_UNSEEN, "P1: a receive of any rank does not look at unexpected messages")                \
    X(NO_CREDIT, "P3: an eager message needs no credit")                                           \
    X(CREDIT_EARLY, "P3: credit is given back when a message comes")                               \
    X(NO_BOUND, "P5: parts are sent that nobody has asked for")                                    \
    X(WINDOW_STAYS, "P5: the window is not moved on")                                              \
    X(PART_ENDS, "P5: a receive ends with its first part")                                         \
    X(NOT_FALLEN_BACK, "P5: a copy that is refused is not made by messages")                       \
    X(NO_MARK, "P6: the mark is not looked at")                                                    \
    X(MARK_STAYS, "P6: a send ends without clearing its mark")                                     \
    X(EARLY_MARK, "P6: the mark is read before the bytes")                                         \
    X(SEND_FORGOTTEN, "P7: a notice does not end sends")                                           \
    X(RECEIVE_FORGOTTEN, "P7: a notice does not end receives")                                     \
    X(COPY_FORGOTTEN, "P7: a notice does not end receives that copy")                              \
    X(READY_OF_DEAD, "P7: a receive copies from a failed rank")                                    \
    X(LOST_SKIPPED, "P7: a receive skips a message that was lost")                                 \
    X(EAGER_OF_DEAD, "P7: a whole message of a failed rank is dropped")                            \
    X(SEND_TO_DEAD, "P7: a send to a failed rank is started")                                      \
    X(UNINTERRUPTED, "P8: a failure does not interrupt")                                           \
    X(ALWAYS_INTERRUPTED, "P8: a failure interrupts again and again")                              \
    X(LAST_WAITS, "P8: the last member waits for a message of any rank")                           \
    X(TRUNCATED_KEPT, "P9: a message that is too long does not end its send")                      \
    X(TAKEN_CANCELLED, "P10: a receive that has taken a message is cancelled")                     \
    X(WITHDRAWN_STAYS, "P10: a withdrawn message stays")                                           \
    X(TAKEN_WITHDRAWN, "P10: a message that was taken is withdrawn")                               \
    X(CREDIT_WITHDRAWN, "P10: the credit of a withdrawn message is lost")                          \
    X(UNANSWERED, "P10: a cancel is not answered")                                                 \
    X(UNASKED, "P10: a send that has ended is cancelled without an answer")                        \
    X(END_OVERTAKES, "P10: END ends a send that is being withdrawn")                               \
    X(WITHDRAWAL_FORGOTTEN, "P10: a notice does not end the withdrawal of a send")                 \
    X(LEFT_UNANSWERED, "P10: a rank that has left does not answer a cancel")                       \
    X(LEFT_CANCELS, "P10: a send that had ended is cancelled, since its receiver has left")        \
    X(REVOKE_FORGETS, "P11: a revoke does not end sends")                                          \
    X(MATCHED_FORGOTTEN, "P13: a receive of a matched message looks for another one")

enum ftc_matching_mutation {
    FTC_MATCHING_MUTATION_NONE,
#define FTC_MATCHING_MUTATION_NAME(name, text) FTC_MATCHING_MUTATION_##name,
    FTC_MATCHING_MUTATIONS_LIST(FTC_MATCHING_MUTATION_NAME)
#undef FTC_MATCHING_MUTATION_NAME
        FTC_MATCHING_MUTATIONS_COUNT
};

#ifdef FTC_MUTATIONS
extern enum ftc_matching_mutation ftc_matching_mutation; /* set once, before the first object */
#define FTC_MATCHING_MUTATED(name) (ftc_matching_mutation == FTC_MATCHING_MUTATION_##name)
#else
#define FTC_MATCHING_MUTATED(name) 0
#endif

#endif
