/* Why a setting has no effect in a job: a function for each need of the schema. */
#include "runtime/choice/effect.h"

#include <limits.h>

#include "collectives/agreement/eligible.h"
#include "collectives/gossip/gossip.h"
#include "node/segment/segment.h"

typedef const char *idle_fn(const struct ftc_choice_job *job);

static const struct ftc_signature barrier = {.kind = FTC_CALL_BARRIER, .root = -1};
static const struct ftc_signature large_reduce = {.kind = FTC_CALL_REDUCE, .size = UINT64_MAX};
static const struct ftc_signature large_allreduce = {
    .kind = FTC_CALL_ALLREDUCE, .root = -1, .size = UINT64_MAX};

/* --- the job --- */

static const char *peers(const struct ftc_choice_job *job)
{
    return job->member.ranks > 1 ? NULL : "that needs two ranks or more";
}

static const char *hosts(const struct ftc_choice_job *job)
{
    return job->nodes > 1 ? NULL : "that needs several hosts";
}

static const char *messages(const struct ftc_choice_job *job)
{
    if (peers(job) != NULL || ftc_choices[FTC_CHOICE_BOARD].refuses(job, &barrier) != NULL)
        return peers(job);
    return "operations run in memory that all ranks share; collectives.algorithm = corrected makes "
           "them send messages";
}

/* --- collecting --- */

/* How many take part in a barrier. */
static int participants(const struct ftc_choice_job *job)
{
    return job->member.nodes > 1 ? job->member.nodes : job->member.ranks;
}

/* The board and direct operations mask any number, so f is kept there, too. */
static const char *masks(const struct ftc_choice_job *job)
{
    if (job->config->f == 0 ||
        !ftc_choice_exchanges(job, &barrier, ftc_choice_of(job, &barrier, FTC_CHOICE_BOARD)))
        return NULL;
    return "allreduces, barriers and validates are an exchange, which masks no failure; "
           "reduce.doubling = 1 makes them mask as many";
}

static const char *subtrees(const struct ftc_choice_job *job)
{
    const char *why = messages(job);

    /* Behind the ring, which has the largest values: others are too large for two levels. */
    if (why != NULL || ftc_choice_of(job, &large_reduce, FTC_CHOICE_LEVELS) == FTC_CHOICE_TREE)
        return why;
    return "a reduce goes straight to its root; reduce.direct = 1 makes it go up subtrees";
}

static const char *heap(const struct ftc_choice_job *job)
{
    if (subtrees(job) != NULL)
        return subtrees(job);
    return job->config->reduce_tree == FTC_REDUCE_HEAP ? NULL : "that needs reduce.tree = heap";
}

/* Would there be such operations if the setting allowed any number of ranks? */
static const char *direct(const struct ftc_choice_job *job)
{
    struct ftc_member_settings any = job->member;

    any.direct = INT_MAX;
    return messages(job) != NULL ? messages(job)
                                 : ftc_direct_refuses(&any, &large_reduce, any.ranks);
}

static const char *exchange(const struct ftc_choice_job *job)
{
    struct ftc_member_settings any = job->member;

    any.doubling = INT_MAX;
    return messages(job) != NULL ? messages(job)
                                 : ftc_exchange_refuses(&any, &barrier, participants(job));
}

static const char *compared(const struct ftc_choice_job *job)
{
    int f = job->member.f;

    if (messages(job) != NULL || job->config->integrity != FTC_INTEGRITY_VOTE ||
        (f > 0 && job->member.ranks > f + 1))
        return messages(job);
    return "vote compares f + 1 results: that needs a greater -f, or more ranks";
}

static const char *ring(const struct ftc_choice_job *job)
{
    if (ftc_choice_of(job, &large_allreduce, FTC_CHOICE_BOARD) == FTC_CHOICE_RING)
        return NULL;
    if (peers(job) == NULL && messages(job) != NULL)
        return "operations run in memory that all ranks share; collectives.large = ring makes "
               "large allreduces go round a ring";
    return peers(job) != NULL ? peers(job)
                              : ftc_choices[FTC_CHOICE_RING].refuses(job, &large_allreduce);
}

static const char *large(const struct ftc_choice_job *job)
{
    return job->config->large == FTC_CONFIG_LARGE_OFF ? NULL : ring(job);
}

/* --- spreading --- */

static const char *spreading(const struct ftc_choice_job *job)
{
    if (messages(job) != NULL || job->member.dissemination != FTC_DISSEMINATION_MULTICAST ||
        job->member.ranks >= job->member.multicast_least)
        return messages(job);
    return "the job has fewer ranks than multicast.least_ranks, so the tree is used; set that "
           "lower";
}

/* The functions below first name what the setting belongs to. That asks for messages, too. */
static const char *arity(const struct ftc_choice_job *job)
{
    return job->config->tree != FTC_TREE_BINOMIAL ? messages(job)
                                                  : "that needs broadcast.tree = kary or lame";
}

static const char *distance(const struct ftc_choice_job *job)
{
    enum ftc_correction kind = job->member.correction;

    return kind == FTC_CORRECTION_OPPORTUNISTIC || kind == FTC_CORRECTION_OPTIMISED
               ? messages(job)
               : "that needs broadcast.correction = opportunistic or optimised";
}

static const char *pace(const struct ftc_choice_job *job)
{
    enum ftc_correction kind = job->member.correction;

    return kind == FTC_CORRECTION_CHECKED || kind == FTC_CORRECTION_THROTTLED ||
                   kind == FTC_CORRECTION_FAILURE_PROOF || kind == FTC_CORRECTION_DELAYED
               ? messages(job)
               : "that needs broadcast.correction = checked, throttled, failure-proof or delayed";
}

static const char *patience(const struct ftc_choice_job *job)
{
    enum ftc_correction kind = job->member.correction;

    return job->member.dissemination != FTC_DISSEMINATION_TREE ||
                   kind == FTC_CORRECTION_FAILURE_PROOF || kind == FTC_CORRECTION_DELAYED
               ? messages(job)
               : "that needs broadcast.dissemination = gossip or multicast, or "
                 "broadcast.correction = failure-proof or delayed";
}

static const char *rounds(const struct ftc_choice_job *job)
{
    return job->member.dissemination == FTC_DISSEMINATION_GOSSIP
               ? messages(job)
               : "that needs broadcast.dissemination = gossip";
}

static const char *hops(const struct ftc_choice_job *job)
{
    return job->config->gossip_bound == FTC_GOSSIP_TIME
               ? rounds(job)
               : "that needs broadcast.gossip_bound = time";
}

static const char *multicast(const struct ftc_choice_job *job)
{
    return job->member.dissemination == FTC_DISSEMINATION_MULTICAST
               ? messages(job)
               : "that needs broadcast.dissemination = multicast";
}

static const char *carrier(const struct ftc_choice_job *job)
{
    return job->config->multicast_transport == FTC_MULTICAST_OFF ? NULL : multicast(job);
}

/* --- channels --- */

static const char *tcp(const struct ftc_choice_job *job)
{
    if (peers(job) != NULL || job->nodes > 1)
        return peers(job);
    bool used =
        ftc_config_leaves_node(job->config) && ftc_config_goes_by(job->config, FTC_CARRIER_TCP);
    return used ? NULL
                : "all ranks are on one host, and reach each other without TCP; transport.order = "
                  "tcp makes them use it";
}

static const char *verbs(const struct ftc_choice_job *job)
{
    const int8_t *order = job->config->transport_order;
    int first = job->nodes > 1 && order[0] == FTC_CONFIG_SHM ? order[1] : order[0];

    if (job->config->seal != 0)
        return "verbs cannot be sealed; that needs transport.seal = off";
    if (peers(job) != NULL || first == FTC_CARRIER_VERBS)
        return peers(job);
    return "that needs a transport.order in which verbs comes before tcp, and on one host before "
           "shm";
}

static const char *drills(const struct ftc_choice_job *job)
{
    const struct ftc_config *c = job->config;
    bool multicasts = c->drill_loss_ppm + c->drill_duplicate_ppm + c->drill_reorder_ppm +
                          c->drill_corrupt_ppm + c->drill_foreign_ppm >
                      0;

    if (peers(job) != NULL || c->drill_message_loss_ppm > 0)
        return peers(job);
    return multicasts ? multicast(job) : "that needs another drill, such as drill.message_loss";
}

/* A call may also choose the algorithm. */
static const char *checksums(const struct ftc_choice_job *job)
{
    int algorithm = job->config->gossip_algorithm;

    if (peers(job) != NULL || algorithm == FTC_GOSSIP_PFLC || algorithm == FTC_GOSSIP_PFCC)
        return peers(job);
    return "that needs gossip.algorithm = pflc or pfcc, or calls that ask for one of them";
}

const char *ftc_choice_idle(const struct ftc_choice_job *job, enum ftc_config_need need)
{
    static idle_fn *const idle[FTC_NEEDS] = {
        [FTC_NEEDS_PEERS] = peers,
        [FTC_NEEDS_HOSTS] = hosts,
        [FTC_NEEDS_MESSAGES] = messages,
        [FTC_NEEDS_MASKS] = masks,
        [FTC_NEEDS_SUBTREES] = subtrees,
        [FTC_NEEDS_HEAP] = heap,
        [FTC_NEEDS_DIRECT] = direct,
        [FTC_NEEDS_EXCHANGE] = exchange,
        [FTC_NEEDS_SPREADING] = spreading,
        [FTC_NEEDS_ARITY] = arity,
        [FTC_NEEDS_DISTANCE] = distance,
        [FTC_NEEDS_PACE] = pace,
        [FTC_NEEDS_PATIENCE] = patience,
        [FTC_NEEDS_ROUNDS] = rounds,
        [FTC_NEEDS_HOPS] = hops,
        [FTC_NEEDS_MULTICAST] = multicast,
        [FTC_NEEDS_CARRIER] = carrier,
        [FTC_NEEDS_RING] = ring,
        [FTC_NEEDS_LARGE] = large,
        [FTC_NEEDS_COMPARED] = compared,
        [FTC_NEEDS_TCP] = tcp,
        [FTC_NEEDS_VERBS] = verbs,
        [FTC_NEEDS_CHECKSUMS] = checksums,
        [FTC_NEEDS_DRILLS] = drills,
    };

    return idle[need] != NULL ? idle[need](job) : NULL;
}
