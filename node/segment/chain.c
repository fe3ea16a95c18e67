/* Chains of ranks that wait for each other. */
#include "node/segment/chain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collectives/communicators/number.h"
#include "node/segment/history.h"

enum { UNSEEN = -1, ON_PATH = -2 }; /* values of `end` before it is known */
#define MOST_WORDS 8                /* ranks of a cycle that are named */

static bool counts(const struct ftc_chain_link *links, int count, int i)
{
    const struct ftc_chain_link *link = &links[i];

    if (link->next < 0 || link->next >= count || link->next == i)
        return false;
    uint64_t other = links[link->next].communicator;
    return link->stands || other == 0 || other == link->communicator;
}

/* The path that is walked now has come back to `from`. Returns the lowest rank of this cycle. */
static int close_cycle(struct ftc_chain_link *links, int from)
{
    int lowest = from, length = 1;
    bool stands = links[from].stands, several = false;

    for (int i = links[from].next; i != from; i = links[i].next) {
        lowest = i < lowest ? i : lowest;
        stands &= links[i].stands;
        several |= links[i].communicator != links[from].communicator;
        length++;
    }
    links[lowest].cycle = length;
    links[lowest].deadlock = stands && several;
    return lowest;
}

/* Walk from `start` to the end of its chain, then again to note the end in each rank. */
static void follow(struct ftc_chain_link *links, int start)
{
    int i = start;

    while (links[i].end == UNSEEN && links[i].next >= 0) {
        links[i].end = ON_PATH;
        i = links[i].next;
    }
    int end = i;
    if (links[i].end == ON_PATH)
        end = close_cycle(links, i);
    else if (links[i].end >= 0)
        end = links[i].end;
    for (i = start; i >= 0 && links[i].end == ON_PATH; i = links[i].next)
        links[i].end = end;
}

void ftc_chain_follow(struct ftc_chain_link *links, int count)
{
    for (int i = 0; i < count; i++) {
        if (!counts(links, count, i))
            links[i].next = -1;
        links[i].end = UNSEEN;
        links[i].waiters = links[i].cycle = 0;
        links[i].deadlock = false;
    }
    for (int i = 0; i < count; i++)
        follow(links, i);
    for (int i = 0; i < count; i++)
        if (links[i].end >= 0)
            links[links[i].end].waiters++;
}

char *ftc_chain_communicator(const struct ftc_activity *activity, uint64_t number,
                             char text[FTC_COMMUNICATOR_NAME])
{
    const char *mark = (number & FTC_COMMUNICATOR_REVOKED) != 0 ? " (revoked)" : "";
    char name[FTC_COMMUNICATOR_NAME];

    ftc_history_name(activity->name, number, name);
    snprintf(text, FTC_COMMUNICATOR_NAME, "%.*s%s", FTC_COMMUNICATOR_NAME - 1 - (int)strlen(mark),
             name, mark);
    return text;
}

/* --- words --- */

struct words {
    char *text;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *words, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length =
        vsnprintf(words->text + words->used, FTC_CHAIN_TEXT - words->used, format, arguments);
    va_end(arguments);
    words->used += length > 0 ? (size_t)length : 0;
    if (words->used >= FTC_CHAIN_TEXT)
        words->used = FTC_CHAIN_TEXT - 1;
}

char *ftc_chain_words(const struct ftc_chain_link *links, int lowest, char text[FTC_CHAIN_TEXT])
{
    struct words words = {.text = text};
    int length = links[lowest].cycle, named = length < MOST_WORDS ? length : MOST_WORDS;
    int rank = lowest;

    text[0] = '\0';
    for (int i = 0; i < named; i++, rank = links[rank].next)
        add(&words, "%s%d", i == 0 ? "ranks " : i == length - 1 ? " and " : ", ", rank);
    if (named < length)
        add(&words, " and %d more", length - named);
    add(&words, " wait for each other:");
    rank = lowest;
    for (int i = 0; i < named; i++, rank = links[rank].next)
        add(&words, "%s rank %d in %s for rank %d", i == 0 ? "" : ",", rank, links[rank].name,
            links[rank].next);
    if (named < length)
        add(&words, ", ...");
    return text;
}
