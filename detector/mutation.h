/*
 * Deliberate faults in leases, those that nodes.md names ("What has been shown"). They test the
 * tests. tests/sim/test_nodes_mutation.c shows that storms of few nodes find each fault before
 * NOT_REACHED, and that many nodes find those from there to TURNS_OF_P. So a new fault of storms
 * has its place before NOT_REACHED. Stories in tests/detector/ find the faults behind TURNS_OF_P.
 *
 * Only a build with FTC_MUTATIONS has the faults, and only the tests are built so. In the product
 * each FTC_LEASE_MUTATED() is the constant false, and leaves no trace in the binary.
 */
#ifndef FTC_DETECTOR_MUTATION_H
#define FTC_DETECTOR_MUTATION_H

#define FTC_LEASE_MUTATIONS_LIST(X)                                                                \
    X(DECLARE_UNREFUSED, "declare before all refuse")                                              \
    X(NO_WAIT, "declare without the wait E + L")                                                   \
    X(NO_WAIT_AGAIN,                                                                               \
      "... without it when a base that became smaller gives a leader a quorum again")              \
    X(HALF_WITHOUT_LOWEST, "half of the base is a quorum without the lowest")                      \
    X(FROM_RECEIPT, "a lease runs from the receipt of the beat that grants it")                    \
    X(APART_NEVER, "nobody is refused whom others cannot reach")                                   \
    X(APART_SILENT, "of two who cannot reach each other one may be silent to the leader")          \
    X(NO_WAIT_APART, "declare who could be heard until now before its lease is over")              \
    X(APART_BOTH, "both of them are refused")                                                      \
    X(GREET_NEIGHBOURS, "nobody is greeted but neighbours in the ring")                            \
    X(COUNT_NOT_DUE, "rounds count in which no greeting of a node was due")                        \
    X(NAME_UNANSWERED, "a beat names nodes whose echo has not come")                               \
    X(NO_ADOPTION, "a node that gets no beat from its parent gets none at all")                    \
    X(ONE_WAY_UP, "a node whose echoes are lost on their way up does not try another way")         \
    X(NOT_REACHED, "a new leader does not send beats itself to nodes that have echoed none")       \
    X(TURNS_OF_P, "each node before it costs a candidate a period")                                \
    X(SPLIT_AGAIN, "nodes between which votes were split ask again after the same time")           \
    X(FOLLOW_ANY_WANT, "beats are kept for a node that lacks none")                                \
    X(NO_ROOM, "pairs without room are dropped")                                                   \
    X(WAITS_ALIKE, "all nodes of the tree wait as long for answers")

enum ftc_lease_mutation {
    FTC_LEASE_MUTATION_NONE,
#define FTC_LEASE_MUTATION_NAME(name, text) FTC_LEASE_MUTATION_##name,
    FTC_LEASE_MUTATIONS_LIST(FTC_LEASE_MUTATION_NAME)
#undef FTC_LEASE_MUTATION_NAME
        FTC_LEASE_MUTATIONS_COUNT
};

#ifdef FTC_MUTATIONS
extern enum ftc_lease_mutation ftc_lease_mutation; /* set once, before the first lease is made */
#define FTC_LEASE_MUTATED(name) (ftc_lease_mutation == FTC_LEASE_MUTATION_##name)
#else
#define FTC_LEASE_MUTATED(name) 0
#endif

/* Faults of news (notices.h); tests/detector/test_notices.c finds each of them. */
#define FTC_NOTICES_MUTATIONS_LIST(X)                                                              \
    X(NOT_PASSED_ON, "nobody passes on what came from others")                                     \
    X(NO_CORRECTION, "the neighbours in the ring are not told")                                    \
    X(NO_VECTOR, "a new neighbour gets no vector")                                                 \
    X(NO_ANSWER, "a vector that has more is not answered")                                         \
    X(OUT_OF_ORDER, "news are taken though earlier ones lack")                                     \
    X(RIGHT_ONLY, "only the right neighbour is told")                                              \
    X(WAITS_FOR_EVER, "a correction that waits is never sent")                                     \
    X(ALWAYS_WAITS, "news wait at each neighbour where the tree has a hole")                       \
    X(GAP_BEFORE_CHILD, "a neighbour that is a child gets no earlier news")

enum ftc_notices_mutation {
    FTC_NOTICES_MUTATION_NONE,
#define FTC_NOTICES_MUTATION_NAME(name, text) FTC_NOTICES_MUTATION_##name,
    FTC_NOTICES_MUTATIONS_LIST(FTC_NOTICES_MUTATION_NAME)
#undef FTC_NOTICES_MUTATION_NAME
        FTC_NOTICES_MUTATIONS_COUNT
};

#ifdef FTC_MUTATIONS
extern enum ftc_notices_mutation ftc_notices_mutation; /* set once, before the first object */
#define FTC_NOTICES_MUTATED(name) (ftc_notices_mutation == FTC_NOTICES_MUTATION_##name)
#else
#define FTC_NOTICES_MUTATED(name) 0
#endif

#endif
