/* Dying on request, at exact points. */
#include "runtime/process/drill.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define DIE  "FTCOLL_TEST_DIE"
#define DEAF "FTCOLL_TEST_DEAF"

static const char *const points[FTC_DRILL_POINTS] = {
    "attached", "joined", "call", "send", "deliver", "return", "mark", "marked", "linger"};

static const struct {
    const char *name;
    int signal;
} ways[] = {
    {"kill", SIGKILL}, {"stop", SIGSTOP}, {"exit", 0}, {"abort", SIGABRT}, {"segv", SIGSEGV}};

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

static int deaf_one(struct ftc_drill *drill, int rank, const char *text)
{
    int who, ms, used = 0;

    if (sscanf(text, "%d@%d%n", &who, &ms, &used) != 2 || text[used] != '\0' || ms < 0)
        return -1;
    if (who == rank)
        drill->deaf_ns = (uint64_t)ms * FTC_NS_PER_MS;
    return 0;
}

static int read_variable(struct ftc_drill *drill, int rank, const char *name,
                         int (*one)(struct ftc_drill *drill, int rank, const char *text))
{
    const char *text = getenv(name);
    char copy[1024], *rest = copy, *item;

    if (text == NULL)
        return 0;
    if (strlen(text) >= sizeof(copy))
        return ftc_error_set(FTC_ERR_CONFIG, "%s is too long (%zu bytes)", name, strlen(text));
    strcpy(copy, text);
    while ((item = strsep(&rest, ",")) != NULL)
        if (one(drill, rank, item) != 0)
            return ftc_error_set(FTC_ERR_CONFIG, "%s: \"%s\" is malformed", name, item);
    return 0;
}

int ftc_drill_init(struct ftc_drill *drill, int rank)
{
    *drill = (struct ftc_drill){0};
    int rc = read_variable(drill, rank, DIE, drill_one);
    return rc == 0 ? read_variable(drill, rank, DEAF, deaf_one) : rc;
}

bool ftc_drill_deaf(struct ftc_drill *drill)
{
    if (drill->deaf_ns == 0)
        return false;
    uint64_t now = ftc_clock_now();
    if (drill->heard_ns == 0)
        drill->heard_ns = now;
    return now - drill->heard_ns < drill->deaf_ns;
}

void ftc_drill_happen(int how)
{
    if (how == 0)
        _exit(3);
    signal(how, SIG_DFL);
    raise(how);
}
