/* Names for people: logs, ftcoll-status, reports. */
#include <stdio.h>

#include "collectives/agreement/member.h"
#include "collectives/call.h"
#include "collectives/message.h"
#include "collectives/values/types.h"

#define NAME_OF(table, value)                                                                      \
    ((unsigned)(value) < sizeof(table) / sizeof((table)[0]) && (table)[value] != NULL              \
         ? (table)[value]                                                                          \
         : "?")

const char *ftc_message_kind_name(enum ftc_message_kind kind)
{
    static const char *const names[FTC_MESSAGES] = {
        [FTC_MESSAGE_UP] = "UP",
        [FTC_MESSAGE_TREE] = "TREE",
        [FTC_MESSAGE_DECIDE] = "DECIDE",
        [FTC_MESSAGE_PREPARE] = "PREPARE",
        [FTC_MESSAGE_POKE] = "POKE",
        [FTC_MESSAGE_PULL] = "PULL",
        [FTC_MESSAGE_FRAGMENT] = "FRAGMENT",
        [FTC_MESSAGE_TAKEN] = "TAKEN",
        [FTC_MESSAGE_GOSSIP] = "GOSSIP",
        [FTC_MESSAGE_SETTLE] = "SETTLEMENT",
    };

    return NAME_OF(names, kind);
}

static const char *const rule_names[FTC_RULES_COUNT] = {
    [FTC_RULE_KEEP_EARLY] = "keep early",
    [FTC_RULE_DROP_SMALLER] = "drop smaller ballot",
    [FTC_RULE_DROP_FREED] = "drop freed op",
    [FTC_RULE_DROP_EPOCH] = "drop other epoch",
    [FTC_RULE_FENCED] = "fenced",
    [FTC_RULE_ENTER_PREPARE] = "enter on PREPARE",
    [FTC_RULE_ENTER_UP] = "enter on UP",
    [FTC_RULE_ENTER_TREE] = "enter on TREE",
    [FTC_RULE_ENTER_PULL] = "enter on PULL",
    [FTC_RULE_CONTRIBUTE_DECIDED] = "contribute decided",
    [FTC_RULE_WRITE_OFF_GROUP] = "write off group member",
    [FTC_RULE_WRITE_OFF_CHILD] = "write off child",
    [FTC_RULE_DECIDED_BEATS] = "decided beats undecided",
    [FTC_RULE_EMPTY_SUBTREE] = "empty subtree",
    [FTC_RULE_TAKE_EARLY] = "take a subtree early",
    [FTC_RULE_STRAGGLER] = "leave a straggler",
    [FTC_RULE_COMPARE] = "compare results",
    [FTC_RULE_OUTVOTE] = "outvote a result",
    [FTC_RULE_DETECT] = "detect corruption",
    [FTC_RULE_STOP_EARLY] = "stop early",
    [FTC_RULE_RETRY] = "retry",
    [FTC_RULE_RETRY_WAIT] = "wait before retry",
    [FTC_RULE_DECIDE] = "decide",
    [FTC_RULE_DECIDE_UNCHANGED] = "decide unchanged",
    [FTC_RULE_DECIDE_ROOT_FAILED] = "decide root failed",
    [FTC_RULE_DELIVER] = "deliver",
    [FTC_RULE_PASS_AGAIN] = "pass on again",
    [FTC_RULE_CORRECT] = "correct",
    [FTC_RULE_PULL] = "pull",
    [FTC_RULE_PULL_ANSWER] = "answer pull",
    [FTC_RULE_PULL_REMEMBER] = "remember pull",
    [FTC_RULE_PREPARE_ADOPT] = "adopt for prepare",
    [FTC_RULE_ROTATE] = "rotate",
    [FTC_RULE_POKE] = "poke",
    [FTC_RULE_POKED] = "poked",
    [FTC_RULE_RETAIN] = "act for a returned op",
    [FTC_RULE_FREE] = "free",
    [FTC_RULE_GOSSIP] = "gossip",
    [FTC_RULE_MULTICAST] = "multicast",
    [FTC_RULE_PASS_PIECE] = "pass a piece on",
    [FTC_RULE_JOIN] = "join the correction",
    [FTC_RULE_PULL_IMPATIENT] = "pull impatiently",
    [FTC_RULE_EXCHANGE] = "decide by exchange",
    [FTC_RULE_GIVE_UP_EXCHANGE] = "give an exchange up",
    [FTC_RULE_SETTLE_ASK] = "ask for a settlement",
    [FTC_RULE_SETTLE_CONTRIBUTE] = "contribute to a settlement",
    [FTC_RULE_SETTLE] = "settle",
    [FTC_RULE_MERGE_BLOCKS] = "merge blocks",
    [FTC_RULE_SETTLE_IN_FORCE] = "begin with a settlement",
    [FTC_RULE_STAND_BY] = "stand by",
    [FTC_RULE_ADOPT] = "adopt the node's decision",
    [FTC_RULE_TAKE_OVER] = "take over",
    [FTC_RULE_CALLED_BALLOT] = "called for a ballot",
    [FTC_RULE_RETRY_NODE] = "retry for a node",
    [FTC_RULE_SUM] = "send the sum of a node",
    [FTC_RULE_TAKEN_AGAIN] = "answer a sum again",
};

const char *ftc_rule_name(enum ftc_rule rule)
{
    return NAME_OF(rule_names, rule);
}

const char *ftc_dissemination_name(enum ftc_dissemination dissemination)
{
    static const char *const names[] = {
        [FTC_DISSEMINATION_TREE] = "tree",
        [FTC_DISSEMINATION_GOSSIP] = "gossip",
        [FTC_DISSEMINATION_MULTICAST] = "multicast",
    };

    return NAME_OF(names, dissemination);
}

const char *ftc_take_name(enum ftc_take take)
{
    static const char *const names[] = {"auto", "first", "lowest"};

    return NAME_OF(names, take);
}

const char *ftc_tree_name(enum ftc_tree tree)
{
    static const char *const names[] = {"binomial", "kary", "lame"};

    return NAME_OF(names, tree);
}

const char *ftc_integrity_name(enum ftc_integrity integrity)
{
    static const char *const names[] = {"none", "checksum", "vote"};

    return NAME_OF(names, integrity);
}

const char *ftc_correction_name(enum ftc_correction correction)
{
    static const char *const names[] = {
        [FTC_CORRECTION_NONE] = "none",           [FTC_CORRECTION_OPPORTUNISTIC] = "opportunistic",
        [FTC_CORRECTION_OPTIMISED] = "optimised", [FTC_CORRECTION_CHECKED] = "checked",
        [FTC_CORRECTION_THROTTLED] = "throttled", [FTC_CORRECTION_FAILURE_PROOF] = "failure-proof",
        [FTC_CORRECTION_DELAYED] = "delayed",     [FTC_CORRECTION_RING] = "ring",
    };

    return NAME_OF(names, correction);
}

const char *ftc_combination_name(enum ftc_dissemination dissemination,
                                 enum ftc_correction correction)
{
    static const struct {
        enum ftc_dissemination dissemination;
        enum ftc_correction correction;
        const char *name;
    } known[] = {
        {FTC_DISSEMINATION_TREE, FTC_CORRECTION_CHECKED, "corrected tree"},
        {FTC_DISSEMINATION_GOSSIP, FTC_CORRECTION_OPPORTUNISTIC, "OCG"},
        {FTC_DISSEMINATION_GOSSIP, FTC_CORRECTION_CHECKED, "CCG"},
        {FTC_DISSEMINATION_GOSSIP, FTC_CORRECTION_FAILURE_PROOF, "FCG"},
        {FTC_DISSEMINATION_MULTICAST, FTC_CORRECTION_RING, "multicast with a ring"},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].dissemination == dissemination && known[i].correction == correction)
            return known[i].name;
    return NULL;
}

const char *ftc_pieces_name(enum ftc_pieces_kind kind)
{
    static const char *const names[FTC_PIECES_KINDS] = {
        [FTC_PIECES_DATAGRAM] = "datagram",
        [FTC_PIECES_RING] = "ring",
        [FTC_PIECES_OTHER] = "other",
        [FTC_PIECES_AGAIN] = "again",
    };

    return NAME_OF(names, kind);
}

const char *ftc_wait_name(enum ftc_wait wait)
{
    static const char *const names[] = {
        [FTC_WAIT_NOTHING] = "nothing",
        [FTC_WAIT_GROUP] = "a group member's contribution",
        [FTC_WAIT_CHILD] = "a child's combined contribution",
        [FTC_WAIT_DECISION] = "the decision",
        [FTC_WAIT_NOTICE] = "a failure notice",
        [FTC_WAIT_COORDINATOR] = "the next coordinator",
        [FTC_WAIT_MARKS] = "others to finalize",
        [FTC_WAIT_ROOM] = "a slow rank",
        [FTC_WAIT_POST] = "a rank's contribution",
        [FTC_WAIT_STARTED] = "a rank's contribution to a request",
        [FTC_WAIT_RESULT] = "the combined result",
        [FTC_WAIT_GOSSIP] = "messages of gossip",
        [FTC_WAIT_RING] = "messages of a large value",
        [FTC_WAIT_SETTLEMENT] = "the settlement of a failure",
        [FTC_WAIT_MESSAGE] = "a message",
        [FTC_WAIT_RECEIVER] = "the receiver of a message",
        [FTC_WAIT_REST] = "the rest of a message",
    };

    return NAME_OF(names, wait);
}

/* A call in words, such as "reduce (40 bytes of int32, sum, root 2)". */
static const char *describe(char words[FTC_MISMATCH_WORDS / 3],
                            const struct ftc_signature *signature)
{
    const char *operator_name =
        signature->operator_code != 0 ? ftc_operator_name(signature->operator_code) : "";
    const char *kind = ftc_call_kind_name(signature->kind);
    char root[24] = "";

    if (signature->type == 0 && signature->root < 0)
        return kind;
    if (signature->root >= 0)
        snprintf(root, sizeof(root), ", root %d", (int)signature->root);
    snprintf(words, FTC_MISMATCH_WORDS / 3, "%s (%llu bytes of %s%s%s%s)", kind,
             (unsigned long long)signature->size, ftc_type_code_name(signature->type),
             operator_name[0] != '\0' ? ", " : "", operator_name, root);
    return words;
}

/* The call of a rank in words. A rank whose call is the closing has freed the communicator. */
#define STATE_WORDS (FTC_MISMATCH_WORDS / 3 + 8)
static const char *describe_state(char words[STATE_WORDS], const char *verb,
                                  const struct ftc_signature *signature)
{
    char call[FTC_MISMATCH_WORDS / 3];

    if (signature->kind == FTC_CALL_CLOSE)
        return "has freed the communicator";
    snprintf(words, STATE_WORDS, "%sin %s", verb, describe(call, signature));
    return words;
}

void ftc_mismatch_words(char words[FTC_MISMATCH_WORDS], uint64_t op, int rank,
                        const struct ftc_signature *theirs, int self,
                        const struct ftc_signature *own)
{
    char one[STATE_WORDS], other[STATE_WORDS];

    snprintf(words, FTC_MISMATCH_WORDS, "operation %llu: rank %d %s, rank %d %s",
             (unsigned long long)op, rank, describe_state(one, "is ", theirs), self,
             describe_state(other, "", own));
}
