/*
 * Mutations: deliberate faults in the protocol, one for each mutation that agreement.md names
 * ("What the simulator must establish"). They test the tests: tests/sim/test_mutation.c shows that
 * storms find each of them.
 *
 * Only a build with FTC_MUTATIONS has them, and only the tests make such a build. In the product
 * each FTC_MUTATED() is the constant false, and the compiler leaves nothing of it in the code.
 */
#ifndef FTC_COLLECTIVES_MUTATION_H
#define FTC_COLLECTIVES_MUTATION_H

#define FTC_MUTATIONS_LIST(X)                                                                      \
    X(DELIVER_SMALLER, "deliver DECIDE of a smaller ballot")                                       \
    X(SHORT_CUT, "answer PREPARE with DECIDE")                                                     \
    X(CONTRIBUTE_UNDECIDED, "contribute UNDECIDED after delivering")                               \
    X(UNDECIDED_WINS, "UNDECIDED not beaten by DECIDED")                                           \
    X(FORGET_AT_RETURN, "forget D at the return")                                                  \
    X(FORGET_AT_CALL, "forget D at the next call")                                                 \
    X(FORGET_ON_BROADCAST, "forget D on a broadcast's (0,0)")                                      \
    X(NO_EPOCH, "no epoch")                                                                        \
    X(VIEW_FOR_EPOCH, "only \"sender in the view\" in place of the epoch")                         \
    X(G_FROM_L, "take G from L")                                                                   \
    X(FAILED_SUBTREE, "pick a subtree that reported a failure")                                    \
    X(ROOT_OUTSIDE, "the root outside the last group")                                             \
    X(ROOT_ADDED_ALWAYS, "the root's value added always")                                          \
    X(ROOT_ADDED_NEVER, "the root's value added never")                                            \
    X(EMPTY_SUBTREE_FAILED, "call an empty subtree failed")                                        \
    X(UNITE_LATER_LISTS, "unite later failed lists into D")                                        \
    X(LEAVE_OUT_L, "leave L out of the failed set")                                                \
    X(ONLY_UNDECIDED_ENTER, "only the undecided enter the next ballot")                            \
    X(NO_ADOPTION, "PREPARE down a tree without adoption")                                         \
    X(ONLY_UNDECIDED_PULL, "only the undecided pull")                                              \
    X(EARLY_PULL_FORGOTTEN, "a PULL that comes too early is forgotten")                            \
    X(DECIDED_KEEP_DECIDE, "the decided do not pass DECIDE on")                                    \
    X(DECIDED_IGNORE_POKE, "the decided ignore POKE")                                              \
    X(POKE_ONCE, "POKE only once")                                                                 \
    X(MASK_NOTHING, "retry though a subtree is failure-free")                                      \
    X(PULL_FOR_FAILURES_ONLY, "gossip and multicast: no PULL without a failure")                   \
    X(PULL_FOR_PARENT_ONLY, "gossip and multicast: PULL only when the parent failed")              \
    X(RETRY_AT_ONCE, "next sub-round at once")                                                     \
    X(COMPARE_ANY, "vote: compare results whose lists differ")                                     \
    X(GROUP_IN_TREE, "vote: the last group's value goes up the subtrees, too")                     \
    X(NO_MAJORITY, "vote: take a result that no majority has")                                     \
    X(EXCHANGE_WITHOUT_DEAD, "exchange: a rank that finds its partner dead goes on")               \
    X(EXCHANGE_WITH_L, "exchange: the failed set has what the decider alone knows")                \
    X(EXCHANGE_FOR_EVER, "exchange: nobody gives it up while c_0 lives")                           \
    X(SETTLE_WITHOUT_WAIT, "settlements: a call does not wait after the contribution")             \
    X(SETTLE_WITHOUT_MAXIMUM, "settlements: K is not the maximum")                                 \
    X(SETTLE_KEEPS_EPOCH, "settlements: the epoch stays")                                          \
    X(SETTLE_ONE_EPOCH, "settlements: the epoch has one part, which both kinds overwrite")         \
    X(SETTLE_AT_ONCE, "settlements: F is applied at once, and not at K")                           \
    X(SETTLE_IN_VIEW, "settlements: the rotation order is that of the view of G")                  \
    X(FORGET_SETTLEMENT, "settlements: forget the settlement at its delivery")                     \
    X(STRAGGLER_TAKEN, "take: when the wait is over, a subtree that has not come will do")         \
    X(STRAGGLER_FAILED, "take: when the wait is over, the heads that have not come have failed")   \
    X(STRAGGLER_FOR_EVER, "take: the wait for a straggler never ends")                             \
    X(TAKE_AFTER_DECISION, "take: a subtree that comes after the decision changes it")             \
    X(GOSSIP_UNCHECKED, "gossip: the agreements of its end carry no checksums")                    \
    X(BLOCKS_LOST, "blocks: when one list is at its end, the rest of the other one is left out")   \
    X(BLOCKS_UNORDERED, "blocks: one list is put behind the other, whatever their ranks")          \
    X(BLOCKS_EMPTY_LEFT_OUT, "blocks: a rank that gives nothing is not in the list")               \
    X(BLOCKS_OF_FAILED, "blocks: the caller takes those of ranks in the failed set, too")          \
    X(LATE_CONTRIBUTION, "take a contribution after its sender was written off") /* harmless */    \
    /* harmless as long as there is PULL; found in runs without PULL */                            \
    X(NEVER_JOIN, "failure-proof: a rank coloured by correction never joins")                      \
    X(LEAVE_OUT_WHOLE_SIDE, "optimised: leave out the whole side that a message came from")        \
    /* of blocks: tests/collectives/test_blocks.c finds it */                                      \
    X(BLOCKS_UNCHECKED, "blocks: a malformed list is taken")                                       \
    /* of gossip: tests/sim/test_mutation.c has runs for it */                                     \
    X(GOSSIP_HEAD_UNCHECKED, "gossip: nobody looks at the checksum of a message's head")           \
    /* of two levels: storms on one level cannot find them */                                      \
    X(LEAVE_OUT_NODE, "two levels: decide though a node that has live ranks lost its delegate")    \
    X(UP_WITHOUT_LIST, "two levels: UP does not say whose input its node lacks")                   \
    X(NO_BALLOT_FOR_DELEGATE, "two levels: a new delegate waits to be called")                     \
    X(DELEGATE_IGNORED, "two levels: a rank asked by a new delegate starts no ballot")             \
    X(FORGET_ON_WORD, "two levels: forget D when the word of a later broadcast is found")          \
    X(SETTLE_BY_NODES,                                                                             \
      "two levels: forget D when a broadcast's later ballot has collected from nodes")             \
    X(ROOT_NOT_FIRST, "two levels: the lowest rank acts for its node though the root lives there") \
    X(SUMS_TWICE, "sums: the root takes those of a delegate and of its successor")                 \
    X(SUMS_OF_ANOTHER, "sums: the root takes those of an earlier reduce")                          \
    X(SUMS_OF_DELEGATES, "sums: a node is written off when its delegate has failed")               \
    X(SUMS_FIRST_SENDER, "sums: TAKEN goes to the rank whose sum came first")                      \
    X(SUMS_OWED_FOR_EVER, "sums: a root that calls another operation answers late")                \
    X(SUMS_UNANSWERED, "sums: one that comes after the delivery is not answered")                  \
    /* of gossip: tests/sim/test_gossip_mutation.c finds these four */                             \
    X(HEAL_WHEN_NOTHING_WAITS, "gossip: a corrupt flow is not healed while other messages wait")   \
    X(NO_ANSWER_WHILE_CORRUPT, "gossip: a rank that asks does not answer a question")              \
    X(KEEP_WHERE_NEITHER_IS_SOUND, "gossip: nobody zeroes a flow that is corrupt at both ends")    \
    X(KEEP_WHAT_IS_HARMFUL, "gossip: pflc keeps a flow until rounding loses all else")             \
    /* of gossip without turns: tests/collectives/test_gossip_{haste,end}.c */                     \
    X(PUSH_FOR_EACH, "gossip without turns: each message sets off a push, whatever else waits")    \
    X(FREEZE_UNMARKED, "gossip without turns: a rank freezes before all marks have come")          \
    X(MARKS_SETTLE, "push-sum: a rank settles by marks, which carry nothing")                      \
    /* of gossip: tests/collectives/test_gossip_inputs.c */                                        \
    X(GREAT_AS_THEY_ARE, "gossip: masses of great inputs keep their size")                         \
    X(OWN_INPUT_ALONE, "gossip: a rank expects rounding of the size of its own input alone")       \
    X(TRUST_WHAT_DEATHS_LEFT,                                                                      \
      "gossip: ranks that hold the same agree, whatever weights they hold")                        \
    X(WEIGHTS_AS_ONE, "gossip: every weight counts as one of 1 in thresholds")

enum ftc_mutation {
    FTC_MUTATION_NONE,
#define FTC_MUTATION_NAME(name, text) FTC_MUTATION_##name,
    FTC_MUTATIONS_LIST(FTC_MUTATION_NAME)
#undef FTC_MUTATION_NAME
        FTC_MUTATIONS_COUNT
};

#ifdef FTC_MUTATIONS
extern enum ftc_mutation ftc_mutation; /* set once, before the first member is made */
#define FTC_MUTATED(name) (ftc_mutation == FTC_MUTATION_##name)
#else
#define FTC_MUTATED(name) 0
#endif

#endif
