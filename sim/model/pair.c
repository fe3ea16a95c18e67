/* Names of pairs. */
#include "sim/model/pair.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "collectives/agreement/member.h"
#include "config/config.h"

#define TREES       (FTC_TREE_LAME + 1)
#define CORRECTIONS (FTC_CORRECTION_RING + 1)

struct ftc_pair ftc_pair_at(int i)
{
    int spreading = i / CORRECTIONS;
    bool tree = spreading < TREES;

    return (struct ftc_pair){.dissemination = tree
                                                  ? FTC_DISSEMINATION_TREE
                                                  : (enum ftc_dissemination)(spreading - TREES + 1),
                             .tree = tree ? (enum ftc_tree)spreading : FTC_TREE_BINOMIAL,
                             .correction = (enum ftc_correction)(i % CORRECTIONS)};
}

const char *ftc_pair_dissemination(struct ftc_pair pair)
{
    return pair.dissemination == FTC_DISSEMINATION_TREE
               ? ftc_tree_name(pair.tree)
               : ftc_dissemination_name(pair.dissemination);
}

char *ftc_pair_name(struct ftc_pair pair, char text[FTC_PAIR_NAME])
{
    snprintf(text, FTC_PAIR_NAME, "%s+%s", ftc_pair_dissemination(pair),
             ftc_correction_name(pair.correction));
    return text;
}

/* "ocg" means "gossip+opportunistic". */
static const char *long_name(const char *text, char room[FTC_PAIR_NAME])
{
    for (int i = 0; ftc_config_alias.names[i] != NULL; i++) {
        const struct ftc_config_combination *known = &ftc_config_combinations[i];
        bool tree = strcmp(known->dissemination, "tree") == 0;
        if (strcmp(text, ftc_config_alias.names[i]) != 0)
            continue;
        snprintf(room, FTC_PAIR_NAME, "%s+%s",
                 tree ? ftc_tree_name(FTC_TREE_BINOMIAL) : known->dissemination, known->correction);
        return room;
    }
    return text;
}

int ftc_pair_parse(struct ftc_pair *pair, const char *text)
{
    char room[FTC_PAIR_NAME], name[FTC_PAIR_NAME];
    const char *wanted = long_name(text, room);

    for (int i = 0; i < FTC_PAIRS; i++) {
        *pair = ftc_pair_at(i);
        if (strcmp(wanted, ftc_pair_name(*pair, name)) == 0)
            return 0;
    }
    return ftc_error_set(
        FTC_ERR_ARG,
        "%s: no dissemination with a correction; give one such as binomial+checked, "
        "lame+opportunistic, gossip+none, multicast+ring, ocg, ccg or fcg",
        text);
}

void ftc_pair_apply(struct ftc_pair pair, struct ftc_member_settings *settings)
{
    settings->dissemination = pair.dissemination;
    settings->correction = pair.correction;
    if (pair.dissemination == FTC_DISSEMINATION_TREE)
        settings->tree.tree = pair.tree;
}
