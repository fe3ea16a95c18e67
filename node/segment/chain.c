/* Chains of ranks that wait for each other. */
#include "node/segment/chain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collectives/agreement/member.h"
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
    return link->stands || other == 0 || (other == link->communicator && !link->passes);
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

/* --- sends and receives --- */

void ftc_chain_look(const struct ftc_activity *activity, struct ftc_chain_message *message)
{
    uint32_t kind = atomic_load_explicit(&activity->kind, memory_order_relaxed);

    *message = (struct ftc_chain_message){0};
    if (kind < FTC_HISTORY_SEND || kind >= FTC_HISTORY_KINDS)
        return;
    message->kind = (int)kind;
    message->role = atomic_load_explicit(&activity->role, memory_order_relaxed);
    message->rank = atomic_load_explicit(&activity->waits_for, memory_order_relaxed);
    message->tag = atomic_load_explicit(&activity->tag, memory_order_relaxed);
    message->requests = atomic_load_explicit(&activity->waits, memory_order_relaxed);
    message->bytes = atomic_load_explicit(&activity->bytes, memory_order_relaxed);
}

/* A number, or `any` if there is none. */
static const char *number_or(int value, const char *word, const char *any, char text[24])
{
    snprintf(text, 24, "%s%d", word, value);
    return value >= 0 ? text : any;
}

char *ftc_chain_message_words(const struct ftc_chain_message *message, char text[FTC_CHAIN_MESSAGE])
{
    const char *way = message->role == FTC_WAIT_RECEIVER ? "to"
                      : message->role == FTC_WAIT_REST   ? "rest from"
                                                         : "from";
    char rank[24], tag[24], bytes[32] = "";

    if (message->requests > 1) {
        snprintf(text, FTC_CHAIN_MESSAGE, "any of %" PRIu32 " requests", message->requests);
        return text;
    }
    if (message->bytes != UINT64_MAX)
        snprintf(bytes, sizeof(bytes), ", %" PRIu64 " B", message->bytes);
    snprintf(text, FTC_CHAIN_MESSAGE, "%s %s, %s%s", way, number_or(message->rank, "", "any", rank),
             number_or(message->tag, "tag ", "any tag", tag), bytes);
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
