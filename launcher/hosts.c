#include "launcher/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "node/segment/segment.h"

#define BLANKS " \t\r\n"

static struct ftc_host *find_host(const struct ftc_hosts *hosts, const char *name)
{
    for (int i = 0; i < hosts->count; i++)
        if (strcmp(hosts->at[i].name, name) == 0)
            return &hosts->at[i];
    return NULL;
}

/* A name that begins with a dash would be an option of the remote shell. */
static int check_name(const char *name)
{
    if (name[0] == '\0' || name[0] == '-' || strpbrk(name, BLANKS "/'\"\\$`;&|<>()") != NULL)
        return ftc_error_set(FTC_ERR_ARG, "'%s' is no name of a host; give HOST or HOST:SLOTS",
                             name);
    if (strlen(name) >= FTC_HOST_NAME)
        return ftc_error_set(FTC_ERR_ARG, "the name of a host has at most %d characters",
                             FTC_HOST_NAME - 1);
    return FTC_SUCCESS;
}

static int add_host(struct ftc_hosts *hosts, const char *name, int slots)
{
    struct ftc_host *host = find_host(hosts, name);
    int rc = check_name(name);

    if (rc != FTC_SUCCESS)
        return rc;
    if (host != NULL) {
        host->slots += slots;
        return FTC_SUCCESS;
    }
    if (hosts->count == FTC_NODE_MAX_NODES)
        return ftc_error_set(FTC_ERR_ARG, "there are more than %d hosts", FTC_NODE_MAX_NODES);
    host = reallocarray(hosts->at, (size_t)hosts->count + 1, sizeof(*host));
    if (host == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    hosts->at = host;
    host = &hosts->at[hosts->count++];
    *host = (struct ftc_host){.slots = slots};
    memcpy(host->name, name, strlen(name) + 1);
    return FTC_SUCCESS;
}

static int parse_slots(const char *host, const char *text, int *slots)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (end == text || *end != '\0' || number < 1 || number > FTC_NODE_MAX_LOCAL)
        return ftc_error_set(FTC_ERR_ARG, "host %s: '%s' is no number of slots; give 1 to %d", host,
                             text, FTC_NODE_MAX_LOCAL);
    *slots = (int)number;
    return FTC_SUCCESS;
}

/* Cut ":SLOTS" off. An IPv6 address has colons of its own; with slots it stands in brackets. */
static int cut_slots(char **name, int *slots)
{
    char *close = **name == '[' ? strchr(*name, ']') : NULL;
    char *colon = close != NULL ? close + 1 : strchr(*name, ':');

    if (close != NULL) {
        *close = '\0';
        (*name)++;
    }
    if (colon == NULL || *colon != ':' || strchr(colon + 1, ':') != NULL)
        return FTC_SUCCESS;
    *colon = '\0';
    return parse_slots(*name, colon + 1, slots);
}

int ftc_hosts_add_list(struct ftc_hosts *hosts, const char *list)
{
    char *copy = strdup(list), *rest = copy;
    int rc = copy != NULL ? FTC_SUCCESS : ftc_error_set(FTC_ERR_NOMEM, "out of memory");

    for (char *name; rc == FTC_SUCCESS && (name = strsep(&rest, ",")) != NULL;) {
        int slots = 1;
        rc = cut_slots(&name, &slots);
        if (rc == FTC_SUCCESS)
            rc = add_host(hosts, name, slots);
    }
    free(copy);
    return rc == FTC_SUCCESS ? rc : ftc_error_wrap(rc, "--hosts %s", list);
}

static int add_line(struct ftc_hosts *hosts, char *line)
{
    char *rest, *name;
    int slots = 1, rc;

    line[strcspn(line, "#")] = '\0';
    name = strtok_r(line, BLANKS, &rest);
    if (name == NULL)
        return FTC_SUCCESS;
    rc = cut_slots(&name, &slots);
    for (char *word; rc == FTC_SUCCESS && (word = strtok_r(NULL, BLANKS, &rest)) != NULL;) {
        if (strncmp(word, "slots=", 6) != 0)
            return ftc_error_set(FTC_ERR_ARG, "'%s' is unknown; give HOST slots=N", word);
        rc = parse_slots(name, word + 6, &slots);
    }
    return rc == FTC_SUCCESS ? add_host(hosts, name, slots) : rc;
}

int ftc_hosts_add_file(struct ftc_hosts *hosts, const char *path)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    int rc = FTC_SUCCESS, number = 1;

    if (file == NULL)
        return ftc_error_set(FTC_ERR_ARG, "--hostfile %s: %m", path);
    errno = 0;
    for (; rc == FTC_SUCCESS && getline(&line, &room, file) >= 0; number++) {
        rc = add_line(hosts, line);
        if (rc != FTC_SUCCESS)
            rc = ftc_error_wrap(rc, "--hostfile %s, line %d", path, number);
    }
    if (rc == FTC_SUCCESS && ferror(file) != 0)
        rc = ftc_error_set(FTC_ERR_ARG, "--hostfile %s: %m", path);
    if (rc == FTC_SUCCESS && hosts->count == 0)
        rc = ftc_error_set(FTC_ERR_ARG, "--hostfile %s names no host", path);
    free(line);
    fclose(file);
    return rc;
}

void ftc_hosts_spread(struct ftc_hosts *hosts, int ranks)
{
    long slots = 0, before = 0, given = 0;
    int used = 0;

    for (int i = 0; i < hosts->count; i++)
        slots += hosts->at[i].slots;
    for (int i = 0; i < hosts->count; i++) {
        before += hosts->at[i].slots;
        /* The first hosts get what does not divide evenly. */
        long until = ranks > slots ? (ranks * before + slots - 1) / slots : before;
        if (until > ranks)
            until = ranks;
        hosts->at[i].ranks = (int)(until - given);
        given = until;
        used += hosts->at[i].ranks > 0;
    }
    hosts->count = used; /* hosts without a rank are the last ones */
}

void ftc_hosts_fini(struct ftc_hosts *hosts)
{
    free(hosts->at);
    *hosts = (struct ftc_hosts){0};
}
