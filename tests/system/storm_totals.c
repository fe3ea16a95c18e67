/* Totals of all runs of the kill storms, and whether they tried enough. */
#include "tests/system/storm_totals.h"

#include <stdio.h>
#include <stdlib.h>

#define MANY_RUNS 50 /* runs by messages: enough for every rule that is not rare */
/* Runs by messages: enough also for rules that need one pair of broadcast, or a rare moment. */
#define MOST_RUNS   800
#define MANY_STRUCK 30 /* runs with votes, or with checksums: enough for flips that they see */

static void print_kinds(const struct totals *totals)
{
    printf("%llu messages received, %llu waits that ended by a death\n",
           (unsigned long long)totals->received, (unsigned long long)totals->ended);
    printf("%llu with gossip: %llu of %llu operations converged; %llu with votes, "
           "%llu with checksums: %llu ranks left\n",
           (unsigned long long)totals->of_kind[STORM_GOSSIP], (unsigned long long)totals->converged,
           (unsigned long long)totals->gossip, (unsigned long long)totals->of_kind[STORM_VOTE],
           (unsigned long long)totals->of_kind[STORM_CHECKSUM],
           (unsigned long long)totals->damaged);
}

void print_totals(const struct totals *totals)
{
    printf("%llu runs, %llu deaths, %llu runs by messages\n", (unsigned long long)totals->runs,
           (unsigned long long)totals->deaths, (unsigned long long)totals->messages);
    printf("%llu runs of several nodes, of which %llu were struck, %llu of them after all others "
           "had left\n",
           (unsigned long long)totals->several, (unsigned long long)totals->lost,
           (unsigned long long)totals->unreported);
    print_kinds(totals);
    if (totals->messages == 0)
        return;
    printf("how often each rule of agreement.md was taken in these:\n");
    for (int i = 0; i < FTC_RULES_COUNT; i++)
        printf("  %-26s %llu\n", ftc_rule_name(i), (unsigned long long)totals->rules[i]);
}

static bool was_taken(const struct totals *totals, enum ftc_rule rule)
{
    if (totals->rules[rule] == 0)
        fprintf(stderr, "storm: the rule \"%s\" was never taken\n", ftc_rule_name(rule));
    return totals->rules[rule] > 0;
}

static bool all_were_taken(const struct totals *totals, const enum ftc_rule rules[], size_t count)
{
    bool good = true;

    for (size_t i = 0; i < count; i++)
        good &= was_taken(totals, rules[i]);
    return good;
}

bool rules_were_taken(const struct totals *totals)
{
    static const enum ftc_rule rare[] = {FTC_RULE_DECIDED_BEATS, FTC_RULE_PASS_PIECE,
                                         FTC_RULE_JOIN};
    static const enum ftc_rule wanted[] = {FTC_RULE_DROP_SMALLER,
                                           FTC_RULE_DROP_FREED,
                                           FTC_RULE_CONTRIBUTE_DECIDED,
                                           FTC_RULE_WRITE_OFF_GROUP,
                                           FTC_RULE_WRITE_OFF_CHILD,
                                           FTC_RULE_EMPTY_SUBTREE,
                                           FTC_RULE_RETRY,
                                           FTC_RULE_DECIDE_ROOT_FAILED,
                                           FTC_RULE_PULL,
                                           FTC_RULE_PULL_ANSWER,
                                           FTC_RULE_ROTATE,
                                           FTC_RULE_POKE,
                                           FTC_RULE_GOSSIP,
                                           FTC_RULE_MULTICAST,
                                           FTC_RULE_CORRECT,
                                           FTC_RULE_PULL_IMPATIENT,
                                           FTC_RULE_RETAIN};
    bool good;

    if (totals->messages < MANY_RUNS || getenv("STORM_BROADCAST") != NULL ||
        getenv("STORM_KIND") != NULL)
        return true;
    good = all_were_taken(totals, wanted, sizeof(wanted) / sizeof(wanted[0]));
    if (totals->messages >= MOST_RUNS)
        good &= all_were_taken(totals, rare, sizeof(rare) / sizeof(rare[0]));
    return good;
}

bool flips_were_seen(const struct totals *totals)
{
    bool good = true;

    if (totals->of_kind[STORM_VOTE] >= MANY_STRUCK)
        good = was_taken(totals, FTC_RULE_OUTVOTE) && was_taken(totals, FTC_RULE_DETECT);
    if (totals->of_kind[STORM_CHECKSUM] >= MANY_STRUCK && totals->damaged == 0) {
        fprintf(stderr, "storm: no checksum was ever wrong\n");
        good = false;
    }
    return good;
}
