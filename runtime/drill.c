/* Dying on request, at exact points. */
#include "runtime/drill.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define VARIABLE "FTCOLL_TEST_DIE"

static const char *const points[FTC_DRILL_POINTS] = {"attached", "joined", "call",   "send",  "deliver",
                                                     "return",   "mark",   "marked", "linger"};

static const struct {
    const char *name;
    int signal;
} ways[] = {{"kill", SIGKILL}, {"stop", SIGSTOP}, {"exit", 0}, {"abort", SIGABRT}, {"segv", SIGSEGV}};

static int find_point(const char *name)
{
    for (int i = 0; i < FTC_DRILL_POINTS; i++)
        if (strcmp(points[i], name) == 0)
            return i;
    return -1;
}

static int find_way(const char *name)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(ways[i].name, name) == 0)
            return ways[i].signal;
    return -1;
}

static int drill_one(struct ftc_drill *drill, int rank, const char *text)
{
    char point[16] = "", way[8] = "kill";
    int who, number = 1, used = 0;

    if (sscanf(text, "%d@%15[a-z]%n", &who, point, &used) != 2)
        return -1;
    text += used;
    if (*text == ':' && (sscanf(text, ":%d%n", &number, &used) != 1 || number < 1))
        return -1;
    if (*text == ':')
        text += used;
    if (*text == '=' && sscanf(text, "=%7[a-z]%n", way, &used) == 1)
        text += used;
    int index = find_point(point), signal = find_way(way);
    if (index < 0 || signal < 0 || *text != '\0')
        return -1;
    if (who == rank) {
        drill->at[index] = number;
        drill->how[index] = signal;
    }
    return 0;
}

int ftc_drill_init(struct ftc_drill *drill, int rank)
{
    const char *text = getenv(VARIABLE);
    char copy[512], *rest = copy, *item;

    *drill = (struct ftc_drill){0};
    if (text == NULL)
        return 0;
    if (strlen(text) >= sizeof(copy))
        return ftc_error_set(FTC_ERR_CONFIG, VARIABLE " is too long (%zu bytes)", strlen(text));
    strcpy(copy, text);
    while ((item = strsep(&rest, ",")) != NULL)
        if (drill_one(drill, rank, item) != 0)
            return ftc_error_set(FTC_ERR_CONFIG, VARIABLE ": \"%s\" is not RANK@POINT[:N][=HOW]", item);
    return 0;
}

void ftc_drill_happen(int how)
{
    if (how == 0)
        _exit(3);
    signal(how, SIG_DFL);
    raise(how);
}
