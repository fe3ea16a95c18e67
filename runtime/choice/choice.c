/* The order of choice, and which calls each algorithm takes. */
#include "runtime/choice/choice.h"

#include <assert.h>

#include "collectives/agreement/eligible.h"
#include "collectives/large/exchange.h"
#include "node/board/level.h"
#include "node/segment/board_memory.h"

/* Defaults of reduce.direct and reduce.doubling in a job of several nodes. With 4, 8 and 12 nodes
 * on one machine the calls took 0.66 to 0.77 of the time, from 8 B to 64 KiB. If each node has
 * cores of its own, the root becomes the bottleneck with fewer nodes. */
#define DIRECT_BETWEEN_NODES   8
#define DOUBLING_BETWEEN_NODES 16

/* --- the job --- */

/* Why no call of this job goes over two levels. NULL: they do. */
static const char *refuse_two_levels(const struct ftc_config *config,
                                     const struct ftc_member_settings *member, int nodes)
{
    if (nodes == 1)
        return "all ranks are on one node";
    if (member->ranks <= nodes)
        return "each node has one rank";
    if (config->levels != FTC_LEVELS_AUTO)
        return "[collectives] levels is one";
    if (member->scheme != FTC_SCHEME_LIST || member->share != FTC_SHARE_PIGGYBACK)
        return "[failure_info] scheme and share are not list and piggyback";
    if (member->integrity != FTC_INTEGRITY_NONE || member->flips != NULL)
        return "[integrity] mode or [drill] flip is set";
    if (member->dissemination == FTC_DISSEMINATION_MULTICAST)
        return "[broadcast] dissemination is multicast";
    return NULL;
}

struct ftc_member_settings ftc_choice_member(const struct ftc_config *config, int ranks, int nodes,
                                             int self, const struct ftc_flips *flips)
{
    struct ftc_member_settings member = ftc_config_member(config, ranks, self);

    bool by_subtrees = config->reduce_tree == FTC_REDUCE_CHAIN; /* a chain is there to be seen */
    if (config->reduce_direct == 0 && nodes > 1 && !by_subtrees)
        member.direct = DIRECT_BETWEEN_NODES;
    if (config->reduce_doubling == 0 && nodes > 1 && !by_subtrees)
        member.doubling = DOUBLING_BETWEEN_NODES;
    member.flips = flips;
    if (refuse_two_levels(config, &member, nodes) != NULL)
        return member;
    member.nodes = nodes;
    member.levels_most = FTC_LEVEL_MOST;
    member.levels_plain = true;
    return member;
}

/* Each message costs a change of processes where ranks share cores. With 16 and 64 ranks on two
 * cores an agreement took 0.6 to 0.7 of the time. */
#define DIRECT_ON_ONE_NODE 64

void ftc_choice_agreements(struct ftc_choice_job *job)
{
    bool has_board = ftc_config_algorithm(job->config, job->nodes) == FTC_ALGORITHM_BOARD;

    if (has_board && job->config->reduce_direct == 0)
        job->member.direct = DIRECT_ON_ONE_NODE;
}

static int participants(const struct ftc_choice_job *job)
{
    return job->member.ranks - (job->failed != NULL ? ftc_set_count(job->failed) : 0);
}

/* --- board: shared memory of one node --- */

static const char *board_refuses(const struct ftc_choice_job *job,
                                 const struct ftc_signature *signature)
{
    (void)signature;
    if (ftc_config_algorithm(job->config, job->nodes) == FTC_ALGORITHM_BOARD)
        return NULL;
    if (job->nodes > 1)
        return "the ranks are on several nodes, which share no memory";
    return job->config->algorithm == FTC_ALGORITHM_CORRECTED
               ? "[collectives] algorithm is corrected"
               : ftc_config_asks_for_messages(job->config);
}

static const char *board_masks(const struct ftc_choice_job *job,
                               const struct ftc_signature *signature)
{
    (void)job;
    if (ftc_call_from_root(signature->kind))
        return "any number of ranks but the root";
    return signature->size > FTC_BOARD_BLOCK ? "any number in the first 128 KiB, then none"
                                             : "any number";
}

static int all_others(const struct ftc_choice_job *job, const struct ftc_signature *signature)
{
    (void)signature;
    return job->member.ranks - 1;
}

/* A death behind the first block costs another start. */
static int board_masked(const struct ftc_choice_job *job, const struct ftc_signature *signature)
{
    bool one_block = ftc_call_from_root(signature->kind) || signature->size <= FTC_BOARD_BLOCK;

    return one_block ? all_others(job, signature) : 0;
}

/* --- ring: nodes.md, "Large values" --- */

/* The bytes that the agreement core would carry to every rank. */
static uint64_t bytes_of_decision(const struct ftc_choice_job *job,
                                  const struct ftc_signature *signature)
{
    uint64_t ranks = ftc_signature_gathers(signature) ? (uint64_t)job->member.ranks : 1;

    return signature->size > UINT64_MAX / ranks ? UINT64_MAX : signature->size * ranks;
}

static const char *ring_refuses(const struct ftc_choice_job *job,
                                const struct ftc_signature *signature)
{
    const struct ftc_config *config = job->config;

    if (!ftc_large_exchange_exists(signature))
        return "there is no exchange of large values for it";
    if (signature->root >= 0 && job->failed != NULL && ftc_set_has(job->failed, signature->root))
        return "the root has failed";
    if (job->member.ranks == 1)
        return "there is one rank";
    if (config->large == FTC_CONFIG_LARGE_OFF)
        return "[collectives] large is off";
    if (config->large == FTC_CONFIG_LARGE_AUTO && job->nodes == 1)
        return "all ranks are on one node, and [collectives] large is auto";
    if (config->drill_flip[0] != '\0' || config->integrity != FTC_INTEGRITY_NONE)
        return "[integrity] mode or [drill] flip is set";
    return signature->size > 0 && bytes_of_decision(job, signature) >= (uint64_t)config->large_at
               ? NULL
               : "the value is smaller than [collectives] large_at";
}

static int masks_none(const struct ftc_choice_job *job, const struct ftc_signature *signature)
{
    (void)job;
    (void)signature;
    return 0;
}

static const char *none_masked(const struct ftc_choice_job *job,
                               const struct ftc_signature *signature)
{
    (void)job;
    (void)signature;
    return "none";
}

/* --- levels: nodes.md, "Two levels" --- */

static const char *levels_refuses(const struct ftc_choice_job *job,
                                  const struct ftc_signature *signature)
{
    const char *why = refuse_two_levels(job->config, &job->member, job->nodes);

    return why != NULL ? why : ftc_levels_refuse(&job->member, signature, job->failed);
}

/* Is it a plain reduce whose senders go on (nodes.md, S1)? */
static bool senders_go_on(const struct ftc_choice_job *job, const struct ftc_signature *signature)
{
    return ftc_sums_refuse(&job->member, signature) == NULL;
}

static int levels_masked(const struct ftc_choice_job *job, const struct ftc_signature *signature)
{
    return senders_go_on(job, signature) ? all_others(job, signature) : 0;
}

static const char *levels_masks(const struct ftc_choice_job *job,
                                const struct ftc_signature *signature)
{
    if (ftc_call_from_root(signature->kind))
        return "any number of ranks but the root and the delegates of nodes";
    if (senders_go_on(job, signature))
        return "any number of ranks but the root";
    if (ftc_choice_exchanges(job, signature, FTC_CHOICE_LEVELS))
        return "any number of ranks that are not their node's delegate";
    return ftc_direct_refuses(&job->member, signature, job->nodes) == NULL
               ? "any number of ranks that are not their node's delegate, and of whole nodes but "
                 "the coordinator's"
               : "any number of ranks that are not their node's delegate, and up to f whole nodes "
                 "but the coordinator's";
}

/* --- by messages among all ranks: agreement.md, rule 2 --- */

static const char *exchange_refuses(const struct ftc_choice_job *job,
                                    const struct ftc_signature *signature)
{
    return ftc_exchange_refuses(&job->member, signature, participants(job));
}

static const char *direct_refuses(const struct ftc_choice_job *job,
                                  const struct ftc_signature *signature)
{
    return ftc_direct_refuses(&job->member, signature, participants(job));
}

static const char *takes_all(const struct ftc_choice_job *job,
                             const struct ftc_signature *signature)
{
    (void)job;
    (void)signature;
    return NULL;
}

static const char *any_number(const struct ftc_choice_job *job,
                              const struct ftc_signature *signature)
{
    (void)job;
    return ftc_call_to_root(signature->kind) ? "any number" : "any number, but not the coordinator";
}

static int f_masked(const struct ftc_choice_job *job, const struct ftc_signature *signature)
{
    return ftc_call_from_root(signature->kind) ? all_others(job, signature) : job->member.f;
}

static const char *up_to_f(const struct ftc_choice_job *job, const struct ftc_signature *signature)
{
    (void)job;
    if (ftc_call_from_root(signature->kind))
        return "any number of ranks but the root";
    return ftc_call_to_root(signature->kind) ? "up to f" : "up to f, but not the coordinator";
}

const struct ftc_choice ftc_choices[FTC_CHOICES] = {
    [FTC_CHOICE_BOARD] = {"board", "posts in memory that the ranks of one node share",
                          board_refuses, board_masks, board_masked},
    [FTC_CHOICE_RING] = {"ring", "an exchange among all ranks, then an agreement that commits it",
                         ring_refuses, none_masked, masks_none},
    [FTC_CHOICE_LEVELS] = {"levels", "shared memory in each node, messages between their delegates",
                           levels_refuses, levels_masks, levels_masked},
    [FTC_CHOICE_EXCHANGE] = {"exchange", "recursive doubling: each rank gets all contributions",
                             exchange_refuses, none_masked, masks_none},
    [FTC_CHOICE_DIRECT] = {"direct", "each rank sends to the root, then a broadcast",
                           direct_refuses, any_number, all_others},
    [FTC_CHOICE_TREE] = {"tree", "a reduce up f + 1 subtrees, then a broadcast", takes_all, up_to_f,
                         f_masked},
};

const char *ftc_choice_name(int id)
{
    if (id == FTC_CHOICE_GOSSIP)
        return "gossip";
    return id >= 0 && id < FTC_CHOICES ? ftc_choices[id].name : NULL;
}

enum ftc_choice_id ftc_choice_of(const struct ftc_choice_job *job,
                                 const struct ftc_signature *signature, enum ftc_choice_id from)
{
    int id = (int)from;

    while (id < FTC_CHOICES && ftc_choices[id].refuses(job, signature) != NULL)
        id++;
    assert(id < FTC_CHOICES);
    return (enum ftc_choice_id)id;
}

bool ftc_choice_exchanges(const struct ftc_choice_job *job, const struct ftc_signature *signature,
                          enum ftc_choice_id id)
{
    return id == FTC_CHOICE_EXCHANGE ||
           (id == FTC_CHOICE_LEVELS &&
            ftc_exchange_refuses(&job->member, signature, job->nodes) == NULL);
}
