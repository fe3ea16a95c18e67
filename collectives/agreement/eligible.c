/* Which ways of collecting a call can take. */
#include "collectives/agreement/eligible.h"

#include "collectives/values/blocks.h"

/* Of the greatest value of a call. */
static uint64_t bytes_of_value(const struct ftc_member_settings *settings,
                               const struct ftc_signature *signature)
{
    bool gathers = ftc_signature_gathers(signature) && signature->size <= FTC_BLOCK_MOST;

    return gathers ? ftc_blocks_most(settings->ranks, signature->size) : signature->size;
}

const char *ftc_levels_refuse(const struct ftc_member_settings *settings,
                              const struct ftc_signature *signature, const struct ftc_set *failed)
{
    if (settings->nodes <= 1)
        return "the settings or the hosts of this job have one level";
    if (!ftc_call_table[signature->kind].levels)
        return "calls of this kind go among all ranks";
    if (signature->root >= 0 && failed != NULL && ftc_set_has(failed, signature->root))
        return "the root has failed";
    return bytes_of_value(settings, signature) <= settings->levels_most
               ? NULL
               : "the value is over 128 KiB, the most that two levels take";
}

const char *ftc_exchange_refuses(const struct ftc_member_settings *settings,
                                 const struct ftc_signature *signature, int participants)
{
    int kind = signature->kind;

    if (ftc_call_table[kind].rooted)
        return "the call has a root";
    if (participants < 2)
        return "there is nobody to exchange with";
    if (participants > settings->doubling)
        return "there are more ranks than [reduce] doubling";
    if (settings->scheme != FTC_SCHEME_LIST || settings->share != FTC_SHARE_PIGGYBACK)
        return "[failure_info] scheme and share are not list and piggyback";
    if (settings->dissemination != FTC_DISSEMINATION_TREE ||
        settings->correction != FTC_CORRECTION_NONE)
        return "[broadcast] dissemination or correction asks for a broadcast";
    /* Flips hit the two agreements of a gossip aggregation no more than other calls. */
    if (settings->integrity != FTC_INTEGRITY_NONE ||
        (settings->flips != NULL && kind != FTC_CALL_GOSSIP))
        return "[integrity] mode or [drill] flip is set";
    return NULL;
}

const char *ftc_direct_refuses(const struct ftc_member_settings *settings,
                               const struct ftc_signature *signature, int participants)
{
    if (ftc_call_from_root(signature->kind))
        return "a broadcast or scatter has nothing to collect";
    if (ftc_collects_directly(settings, participants))
        return NULL;
    return participants > settings->direct ? "there are more ranks than [reduce] direct"
                                           : "[integrity] mode is vote";
}

/* An operator of the user is called in calls alone, and a new delegate may be in none. */
const char *ftc_sums_refuse(const struct ftc_member_settings *settings,
                            const struct ftc_signature *signature)
{
    if (signature->kind != FTC_CALL_REDUCE)
        return "it is no reduce";
    if (signature->operator_code >= FTC_OPERATOR_ORDERED)
        return "its operator is one of the user";
    return settings->levels_plain ? NULL : "the senders wait for the root";
}
