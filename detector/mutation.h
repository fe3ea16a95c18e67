/*
 * Deliberate faults in leases, those that nodes.md names ("What has been shown"). They test the
 * tests: tests/sim/test_nodes_mutation.c shows that storms of several nodes find each fault.
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
    X(FROM_RECEIPT, "a lease runs from the receipt of its beat")                                   \
    X(APART_NEVER, "nobody is refused whom others cannot reach")                                   \
    X(APART_SILENT, "of two who cannot reach each other one may be silent to the leader")          \
    X(NO_WAIT_APART, "declare who could be heard until now before its lease is over")              \
    X(APART_BOTH, "both of them are refused")

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

#endif
