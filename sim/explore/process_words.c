/* Reads programs over several communicators. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "include/ftcoll.h"
#include "sim/explore/process.h"

#define MOST 8 /* words of a program */

struct verb {
    const char *name;
    enum ftc_comms_kind kind;
    int what; /* OPERATE: enum ftc_call_kind; CREATE: enum ftc_creation */
    enum { NOTHING, RANK, LIST, AFTER } takes; /* behind a colon */
    bool starts;                               /* there is a form with i, which does not wait */
};

static const struct verb verbs[] = {
    {"allreduce", FTC_COMMS_OPERATE, FTC_CALL_ALLREDUCE, NOTHING, true},
    {"reduce", FTC_COMMS_OPERATE, FTC_CALL_REDUCE, RANK, true},
    {"bcast", FTC_COMMS_OPERATE, FTC_CALL_BCAST, RANK, true},
    {"barrier", FTC_COMMS_OPERATE, FTC_CALL_BARRIER, NOTHING, true},
    {"validate", FTC_COMMS_OPERATE, FTC_CALL_VALIDATE, AFTER, true},
    {"agree", FTC_COMMS_OPERATE, FTC_CALL_AGREE, NOTHING, true},
    {"dup", FTC_COMMS_CREATE, FTC_CREATION_DUP, NOTHING, true},
    {"split", FTC_COMMS_CREATE, FTC_CREATION_SPLIT, LIST, true},
    {"shrink", FTC_COMMS_CREATE, FTC_CREATION_SHRINK, AFTER, true},
    {"create", FTC_COMMS_CREATE, FTC_CREATION_GROUP, LIST, true},
    {"free", FTC_COMMS_FREE, 0, NOTHING, false},
    {"revoke", FTC_COMMS_REVOKE, 0, RANK, false},
};
#define VERBS ((int)(sizeof(verbs) / sizeof(verbs[0])))

/* "icreate:0+2@child" */
struct word {
    const char *text;
    int length;
    const struct verb *verb;
    bool starts;
};

static int wrong(const struct word *word, const char *what)
{
    return ftc_error_set(
        FTC_ERR_ARG,
        "program word \"%.*s\": %s; write a list such as \"split allreduce@child iallreduce\"",
        word->length, word->text, what);
}

static const struct verb *find_verb(const char *name, size_t length)
{
    for (int i = 0; i < VERBS; i++)
        if (strlen(verbs[i].name) == length && memcmp(verbs[i].name, name, length) == 0)
            return &verbs[i];
    return NULL;
}

/* A number less than `most` at *at, which moves behind it. -1: there is none. */
static int read_number(const char **at, int most)
{
    char *end;

    if (!isdigit((unsigned char)**at))
        return -1;
    long number = strtol(*at, &end, 10);
    *at = end;
    return number < most ? (int)number : -1;
}

/* Ranks joined by "+". The others of a split give no color. */
static bool read_list(const char **at, int ranks, struct ftc_comms_item *item)
{
    for (int rank = 0; rank < FTC_COMMS_RANKS; rank++) {
        item->listed[rank] = false;
        item->color[rank] = FTC_COLOR_UNDEFINED;
    }
    for (bool more = true; more; *at += more) {
        int rank = read_number(at, ranks);
        if (rank < 0)
            return false;
        item->listed[rank] = true;
        item->color[rank] = 0;
        more = **at == '+';
    }
    return true;
}

static int read_argument(const struct word *word, const char **at, int ranks,
                         struct ftc_comms_item *item)
{
    if (**at != ':')
        return FTC_SUCCESS;
    (*at)++;
    switch (word->verb->takes) {
    case RANK:
        item->who = read_number(at, ranks);
        return item->who >= 0 ? FTC_SUCCESS : wrong(word, "there is no such rank");
    case LIST:
        return read_list(at, ranks, item)
                   ? FTC_SUCCESS
                   : wrong(word, "the list is no list of ranks, such as 0+2");
    case AFTER:
        item->recovers = strncmp(*at, "after", 5) == 0;
        *at += item->recovers ? 5 : 0;
        return item->recovers ? FTC_SUCCESS : wrong(word, "it may be followed by :after alone");
    case NOTHING:
        break;
    }
    return wrong(word, "it takes nothing behind a colon");
}

/* "@child" is the communicator that was made last, and "@1" the first one. */
static int read_place(const struct word *word, const char **at, const struct ftc_comms_story *story,
                      struct ftc_comms_item *item)
{
    if (strncmp(*at, "@child", 6) == 0) {
        *at += 6;
        item->slot = story->slots - 1;
        if (item->slot == 0)
            return wrong(word, "no word before it makes a child");
    } else if (**at == '@') {
        (*at)++;
        item->slot = read_number(at, story->slots);
        if (item->slot < 0)
            return wrong(word, "no word before it makes that communicator");
    }
    if (*at != word->text + word->length)
        return wrong(word, "its end is not known");
    if (item->kind == FTC_COMMS_FREE && item->slot == 0)
        return wrong(word, "the world is freed at the end by itself");
    return FTC_SUCCESS;
}

/* What a process gives if the word does not say it: even and odd ranks are parted, in an order that
 * is not that of the ranks, and all are listed. */
static struct ftc_comms_item plain_item(const struct word *word)
{
    struct ftc_comms_item item = {.kind = word->verb->kind, .waits = !word->starts};

    if (item.kind == FTC_COMMS_OPERATE)
        item.call = word->verb->what;
    else if (item.kind == FTC_COMMS_CREATE)
        item.creation = (enum ftc_creation)word->verb->what;
    for (int rank = 0; rank < FTC_COMMS_RANKS; rank++) {
        item.color[rank] = rank % 2;
        item.key[rank] = -rank;
        item.listed[rank] = true;
    }
    return item;
}

static int read_word(struct ftc_comms_story *story, struct word *word)
{
    size_t name = strcspn(word->text, ":@ \t\n");
    const char *at = word->text + name;

    word->verb = find_verb(word->text, name);
    if (word->verb == NULL && word->text[0] == 'i') {
        word->verb = find_verb(word->text + 1, name - 1);
        word->starts = word->verb != NULL && word->verb->starts;
    }
    if (word->verb == NULL || (word->text[0] == 'i' && !word->starts))
        return wrong(word, "it is no call that can be explored");
    if (story->items == MOST)
        return wrong(word, "more than 8 words cannot be explored");
    struct ftc_comms_item *item = &story->item[story->items++];
    *item = plain_item(word);
    int rc = read_argument(word, &at, story->settings.ranks, item);
    if (rc == FTC_SUCCESS)
        rc = read_place(word, &at, story, item);
    if (rc == FTC_SUCCESS && item->kind == FTC_COMMS_CREATE) {
        if (story->slots == FTC_COMMS_SLOTS)
            return wrong(word, "a program has at most six children");
        item->child = story->slots++;
    }
    story->revokes |= item->kind == FTC_COMMS_REVOKE;
    return rc;
}

int ftc_explore_words(struct ftc_comms_story *story, int threads, const char *text)
{
    int rc = FTC_SUCCESS;

    story->slots = 1;
    story->threads = threads;
    for (int slot = 1; slot < FTC_COMMS_SLOTS; slot++)
        story->owner[slot] = threads - 1;
    for (text += strspn(text, " \t\n"); rc == FTC_SUCCESS && *text != '\0';) {
        struct word word = {.text = text, .length = (int)strcspn(text, " \t\n")};
        rc = read_word(story, &word);
        text += word.length;
        text += strspn(text, " \t\n");
    }
    if (rc == FTC_SUCCESS && story->items == 0)
        return ftc_error_set(FTC_ERR_ARG, "the program has no word; give one, such as split");
    return rc;
}
