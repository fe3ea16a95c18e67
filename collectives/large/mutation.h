/*
 * Mutations of large values: deliberate faults (large.h). They test the tests:
 * tests/sim/test_large.c shows that storms find each of them.
 *
 * Only a build with FTC_MUTATIONS has them, and only the tests make such a build. In the product
 * each FTC_LARGE_MUTATED() is the constant false, and the compiler leaves nothing of it in the
 * code.
 */
#ifndef FTC_COLLECTIVES_LARGE_MUTATION_H
#define FTC_COLLECTIVES_LARGE_MUTATION_H

#define FTC_LARGE_MUTATIONS_LIST(X)                                                                \
    X(COMMIT_TORN, "commit although a rank is not whole")                                          \
    X(OWN_WORD, "commit or run again by the own state in place of the decision")                   \
    X(OLD_ATTEMPT, "take a message of an older attempt")                                           \
    X(NO_EPOCH, "take a message of another history")                                               \
    X(FORGET_EARLY, "forget messages that come before the attempt begins")                         \
    X(STAY, "wait for a rank that is known failed")                                                \
    X(KNOWN_PLACES, "run again among those that this rank does not know to have failed")           \
    X(TAKE_NAMED, "take the contribution of a rank that the decision names")                       \
    X(NAMED_IN_SCAN, "deliver a scan though the decision names a rank in it")                      \
    X(WHOLE_EARLY, "commit before all is sent that others ask for")                                \
    X(NO_WINDOW, "ask for all blocks at once")                                                     \
    X(WIDE_WINDOW, "ask for one block more than the window has")                                   \
    X(UNPOSTED, "combine the inputs of a node before all of its ranks have written them")          \
    X(READY_EARLY, "say that a part is ready before it is")                                        \
    X(ONE_HALF, "write into the half of an area that others may still read")                       \
    X(UNSETTLED, "give the input back while messages that wait have its bytes")

enum ftc_large_mutation {
    FTC_LARGE_MUTATION_NONE,
#define FTC_LARGE_MUTATION_NAME(name, text) FTC_LARGE_MUTATION_##name,
    FTC_LARGE_MUTATIONS_LIST(FTC_LARGE_MUTATION_NAME)
#undef FTC_LARGE_MUTATION_NAME
        FTC_LARGE_MUTATIONS_COUNT
};

#ifdef FTC_MUTATIONS
extern enum ftc_large_mutation ftc_large_mutation; /* set once, before the first object is made */
#define FTC_LARGE_MUTATED(name) (ftc_large_mutation == FTC_LARGE_MUTATION_##name)
#else
#define FTC_LARGE_MUTATED(name) 0
#endif

#endif
