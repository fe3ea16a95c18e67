/*
 * Mutations of communicators: deliberate faults (docs/design/communicators.md, part 3). They test
 * the tests: tests/sim/test_communicators_mutation.c shows that storms find each of them.
 *
 * Only a build with FTC_MUTATIONS has them, and only the tests make such a build. In the product
 * each FTC_COMMUNICATORS_MUTATED() is the constant false, and the compiler leaves nothing of it in
 * the code.
 */
#ifndef FTC_COLLECTIVES_COMMUNICATORS_MUTATION_H
#define FTC_COLLECTIVES_COMMUNICATORS_MUTATION_H

#define FTC_COMMUNICATORS_MUTATIONS_LIST(X)                                                        \
    X(NO_MAKER, "numbers: propose without the maker")                                              \
    X(SAME_COUNT, "numbers: do not increment the counter")                                         \
    X(KEEP_FAILED, "creation: a rank that contributed and has failed is in a shrunk child")        \
    X(NO_OPENING, "creation: an operation of the child begins before the opening")                 \
    X(FORGET_AT_FREE, "freeing: forget when the caller frees")                                     \
    X(NO_GONE, "freeing: no answer of GONE")                                                       \
    X(CLOSE_BEFORE_GROUPS, "freeing: a closing does not wait for creations of groups")             \
    X(GONE_NOT_PASSED_ON, "freeing: GONE is not passed on")                                        \
    X(CLOSE_UNCOLLECTED, "freeing: a closing that does not collect")                               \
    X(GONE_TOO_EARLY, "freeing: GONE is sent for a communicator that is not forgotten")            \
    X(FORGET_POKE, "freeing: one for which others wait forgets without GONE")                      \
    X(SPARE_OF_ONE, "creation: memory that one member has given up is used again")                 \
    X(LEFT_NOT_AWAITED, "freeing: forget before all have left the board")                          \
    X(LEFT_THOUGH_REVOKED, "freeing: forget a revoked one when all have left the board")           \
    X(REVOKED_NOT_LEARNT, "freeing: do not learn of a revoke from the board")                      \
    X(TEMPORARY_WITHOUT_L, "temporary: view without L")                                            \
    X(FORGET_BEFORE_BYE, "temporary: forget before all have said BYE")                             \
    X(DROP_EARLY, "temporary: drop early messages")                                                \
    X(KEEP_OF_DEAD, "temporary: keep early messages of the dead")                                  \
    X(KEEP_LATE, "temporary: keep messages that come after all have said BYE")                     \
    X(BYE_UNANSWERED, "temporary: BYE of an unknown number is not answered")                       \
    X(REVOKE_NOT_PASSED_ON, "revoke: REVOKE is not passed on")                                     \
    X(REVOKE_ONCE, "revoke: no second REVOKE after a notice")                                      \
    X(REVOKE_NOT_TO_NEXT, "revoke: one that the member before it has told tells nobody")           \
    X(REVOKE_UNANSWERED, "revoke: REVOKE of an unknown number is not answered")                    \
    X(AFTER_FROM_G, "revoke: the view after a revoke is taken from G")                             \
    X(AFTER_UNTOLD, "revoke: a call of one that does not know is an agreement after the revoke")   \
    X(CLOSE_ONCE, "revoke: a closing ends though others wish for something else")                  \
    X(KEEP_CHILD, "revoke: a child whose opening is cut off is not revoked")                       \
    X(STRANGER_ACCUSED, "revoke: one that has abandoned a child of another decision is accused")   \
    X(COMING_DROPPED, "revoke: messages of a child that is yet to come are not kept")              \
    X(GONE_IN_OPENING, "revoke: GONE during an opening does not tell of the revoke")               \
    X(LOST_ACCUSED, "revoke: one that has forgotten a child in use is accused")                    \
    X(LOST_AWAITED, "revoke: one that has forgotten a child in use is waited for")                 \
    X(AGREE_CUT_OFF, "agree: a revoke ends it")                                                    \
    X(AGREE_AS_OPERATION, "agree: it goes with the operations until the revoke")

enum ftc_communicators_mutation {
    FTC_COMMUNICATORS_MUTATION_NONE,
#define FTC_COMMUNICATORS_MUTATION_NAME(name, text) FTC_COMMUNICATORS_MUTATION_##name,
    FTC_COMMUNICATORS_MUTATIONS_LIST(FTC_COMMUNICATORS_MUTATION_NAME)
#undef FTC_COMMUNICATORS_MUTATION_NAME
        FTC_COMMUNICATORS_MUTATIONS_COUNT
};

#ifdef FTC_MUTATIONS
/* Set once, before the first object is made. */
extern enum ftc_communicators_mutation ftc_communicators_mutation;
#define FTC_COMMUNICATORS_MUTATED(name)                                                            \
    (ftc_communicators_mutation == FTC_COMMUNICATORS_MUTATION_##name)
#else
#define FTC_COMMUNICATORS_MUTATED(name) 0
#endif

#endif
