/*
 * Deliberate faults in the board. They test its tests: tests/node/test_node_board.c shows that the
 * harness finds each fault.
 *
 * Only a build with FTC_BOARD_MUTATIONS has the faults, and only the tests are built so. In the
 * product each FTC_BOARD_MUTATED() is the constant false, and leaves no trace in the binary.
 */
#ifndef FTC_NODE_BOARD_MUTATION_H
#define FTC_NODE_BOARD_MUTATION_H

#define FTC_BOARD_MUTATIONS_LIST(X)                                                                \
    X(DAMAGE_AWAITED, "a rank with a damaged post is awaited, and not accused")                    \
    X(SETTLED_BLINDLY, "a damaged post is void, whoever has counted it")                           \
    X(SETTLED_APART, "each survivor settles a damaged post for itself")                            \
    X(SETTLED_EARLY, "a post is settled where others have still to read an older one")             \
    X(DECIDED_UNSEEN, "who has decided does not look at what was declared meanwhile")              \
    X(OWN_UNCHECKED, "nobody looks at its own marks")                                              \
    X(NAP_UNCHECKED, "a rank that naps does not look at its own marks")                            \
    X(MISSING_COMBINED, "a missing member is combined all the same")                               \
    X(CLAIM_STOLEN, "a claim is taken from a holder that lives")                                   \
    X(SHORT_FORGOTTEN, "a chunk without some members is set done like any other")                  \
    X(NO_RESTART, "a member missing in a later block is no reason to start again")                 \
    X(INPUT_NOT_KEPT, "in place, another start takes what the result has overwritten")             \
    X(NOT_RESTORED, "the buffer is not restored when the root dies in a later part")               \
    X(EARLY_FINISH, "finished is stored before the copy")                                          \
    X(NO_WAIT_FOR_READERS, "a place or buffer is used again whoever still reads it")               \
    X(TAKEN_UPWARDS, "values that stay apart are taken from the lowest rank on")                   \
    X(PLACES_NOT_RESTORED,                                                                         \
      "another start leaves in the result what came of a rank that is missing by now")             \
    X(OVERLAP_NOT_KEPT, "a gather in place posts blocks that its result has overwritten")          \
    X(SHORT_BUFFER, "a post shorter than its block is made as if the block were as short")         \
    X(GATHER_NAMES_ALL, "the root of a gather names ranks whose contribution it has")              \
    X(SLICE_MERGED_IN_PLACE, "a slice is merged onto the input that it overlaps")                  \
    X(ELEMENT_SPLIT, "a block ends inside of an element")                                          \
    X(CHUNK_SPLIT, "a chunk ends inside of an element")                                            \
    X(PAIR_INPUT_NOT_KEPT,                                                                         \
      "of a pair, the survivor, or who was refused, takes as input what the other one overwrote")  \
    X(PAIR_NOT_DELIVERED, "of a pair, the survivor leaves in its result what was there")           \
    X(PAIR_HALF, "of a pair, the survivor takes its half for the whole")                           \
    X(PAIR_EARLY, "of a pair, a rank says that it has succeeded before it has copied")             \
    X(PAIR_REFUSED_ALONE, "of a pair, a rank does not heed that the other one was refused")        \
    X(COPIES_THE_DEAD, "a rank copies from and to another one after its declaration")              \
    X(DIRECT_DEATH_UNSEEN, "a rank does not look who has died while it copied")                    \
    X(DIRECT_REVOKE_UNSEEN, "a rank does not look whether the board was revoked while it copied")  \
    X(DIRECT_EARLY, "a rank says that its direct copies have succeeded before it makes them")      \
    X(DIRECT_FAILED_ALONE, "a rank does not heed that the direct copies of another one failed")    \
    X(DIRECT_NOT_RESTORED, "what came by direct copies of a rank that is missing by now stays")    \
    X(DIRECT_TAKEN_NAMED, "a rank whose contribution all have copied is called failed")            \
    X(AHEAD_UNFINISHED,                                                                            \
      "a rank does not say that it has finished the round of a started operation")                 \
    X(AHEAD_SETTLED, "a post that may have been made ahead says that earlier rounds are finished") \
    X(AHEAD_OWN_UNREAD, "a rank overwrites a post of its own that it has still to read")           \
    X(AHEAD_DIGEST, "the digest of a started operation is of those that have ended before it")     \
    X(AHEAD_ROOT_SKIPPED, "a started operation whose root is in G takes no round")                 \
    X(REVOKED_UNSEEN, "a waiting rank does not look whether the board was revoked")                \
    X(REVOKE_WAKES_NOBODY, "a revoke wakes nobody")                                                \
    X(REVOKED_POSTS, "a rank that finds the board revoked while it waits for room posts there")    \
    X(REVOKED_GOES_ON, "a rank that finds the board revoked takes the round as over")              \
    X(PAIR_COPIES_REVOKED, "of a pair, a rank copies from and to the other one after a revoke")    \
    X(PAIR_NOT_AWAITED,                                                                            \
      "of a pair, a rank that finds the board revoked returns while the other one copies")         \
    X(LEFT_UNSEEN, "a waiting rank does not look for ranks that have left")                        \
    X(LEFT_WAKES_NOBODY, "a rank that leaves wakes nobody")                                        \
    X(LEFT_EARLY, "a rank says that it has left before its last round")                            \
    X(LEFT_UNREVOKED, "a rank that has left a revoked board is taken to be in another call")       \
    X(LEFT_FAILED, "a rank that has left and failed is taken to be in another call")               \
    X(LEFT_DAMAGED, "a damaged post of a rank that has left is awaited for ever")                  \
    X(LEFT_UNCHECKED, "a damaged word *left* is believed")                                         \
    X(NO_LAST_LOOK, "no look between counting oneself asleep and sleeping")                        \
    X(NO_BUMP, "sleepers are woken without the bell")                                              \
    X(NO_FAN_OUT, "two are woken, and no more")                                                    \
    X(THRESHOLD_WITHOUT_BELL, "a threshold that was reached is cleared without the bell")          \
    X(LATE_BELL, "the bell is read after counting oneself asleep")                                 \
    X(SHARED_PLACE, "a place is slept at for several rounds")                                      \
    X(DEATH_WITHOUT_BUMP, "a declaration wakes without bumping")                                   \
    X(DEATH_WAKES_COUNTED, "a declaration wakes only where sleepers are counted")

enum ftc_board_mutation {
    FTC_BOARD_MUTATION_NONE,
#define FTC_BOARD_MUTATION_NAME(name, text) FTC_BOARD_MUTATION_##name,
    FTC_BOARD_MUTATIONS_LIST(FTC_BOARD_MUTATION_NAME)
#undef FTC_BOARD_MUTATION_NAME
        FTC_BOARD_MUTATIONS_COUNT
};

#ifdef FTC_BOARD_MUTATIONS
extern enum ftc_board_mutation ftc_board_mutation;
#define FTC_BOARD_MUTATED(name) (ftc_board_mutation == FTC_BOARD_MUTATION_##name)
#else
#define FTC_BOARD_MUTATED(name) 0
#endif

#endif
