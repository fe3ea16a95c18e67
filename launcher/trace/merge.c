/*
 * Puts the files of all nodes together. A file has an event in each line, which begins with its
 * time. A node that was killed has left a file without an end, whose last line may be cut: only
 * whole lines are taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "launcher/trace/trace.h"

#define TIME    "{\"ts\":"
#define STARTED "\"started_realtime_ns\":\""
#define ENTRIES "\"cat\":\"overwritten\",\"args\":{\"entries\":"

struct merge {
    const struct ftc_trace *trace;
    FILE *out;
    uint64_t origin_ns; /* CLOCK_REALTIME of the zero of all times */
    struct ftc_trace_sum *sum;
};

/* The number behind `key` in the line. 0: there is none. */
static uint64_t number_behind(const char *line, const char *key)
{
    const char *at = strstr(line, key);

    return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10);
}

/* The rest of a line with an event, after its time; NULL: it is none, or it is cut. */
static char *event_in(char *line, double *us)
{
    size_t length = strlen(line);
    char *rest = NULL;

    if (length < 2 || line[length - 1] != '\n' || strncmp(line, TIME, strlen(TIME)) != 0)
        return NULL;
    line[--length] = '\0';
    if (line[length - 1] == ',')
        line[--length] = '\0';
    *us = strtod(line + strlen(TIME), &rest);
    return line[length - 1] == '}' && *rest == ',' ? rest : NULL;
}

/* Copy the events of one node. The first one tells when it started. */
static void copy_node(struct merge *merge, FILE *in)
{
    char *line = NULL, *rest;
    size_t room = 0;
    double us = 0, shift = 0;

    while (getline(&line, &room, in) > 0) {
        uint64_t started = number_behind(line, STARTED);
        if ((rest = event_in(line, &us)) == NULL)
            continue;
        if (merge->origin_ns == 0)
            merge->origin_ns = started;
        if (started != 0)
            shift = ((double)(int64_t)(started - merge->origin_ns)) / 1e3;
        merge->sum->overwritten += number_behind(rest, ENTRIES);
        fprintf(merge->out, TIME "%.3f%s,\n", us + shift, rest);
    }
    free(line);
}

static FILE *open_part(const struct merge *merge, int node)
{
    char part[FTC_TRACE_PATH];

    ftc_trace_part(merge->trace->path, node, part);
    int fd = open(part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL && fd >= 0)
        close(fd);
    return file;
}

static void copy_all(struct merge *merge)
{
    for (int node = 0; node < ftc_segment_nodes(merge->trace->segment); node++) {
        FILE *in = open_part(merge, node);
        if (in == NULL) {
            merge->sum->missing = node;
            continue;
        }
        copy_node(merge, in);
        merge->sum->nodes++;
        fclose(in);
    }
}

/* The last event ends the list, so that each of the others can end with a comma. */
static bool write_all(struct merge *merge)
{
    fputs("{\"traceEvents\":[\n", merge->out);
    copy_all(merge);
    fprintf(merge->out,
            "{\"ph\":\"M\",\"pid\":0,\"name\":\"trace_end\",\"args\":{}}\n"
            "],\"displayTimeUnit\":\"ns\",\"otherData\":{\"origin_realtime_ns\":\"%" PRIu64
            "\",\"nodes\":%d,\"files\":%d,\"overwritten_entries\":%" PRIu64 "}}\n",
            merge->origin_ns, ftc_segment_nodes(merge->trace->segment), merge->sum->nodes,
            merge->sum->overwritten);
    bool written = !ferror(merge->out);
    return fclose(merge->out) == 0 && written;
}

static int fail(const char *path)
{
    return ftc_error_set(FTC_ERR_SYSTEM, "writing the trace %s: %m; its parts are %s.node*", path,
                         path);
}

int ftc_trace_merge(const struct ftc_trace *trace, struct ftc_trace_sum *sum)
{
    char fresh[FTC_TRACE_PATH], part[FTC_TRACE_PATH];
    struct merge merge = {.trace = trace, .sum = sum};

    *sum = (struct ftc_trace_sum){.missing = -1};
    snprintf(fresh, sizeof(fresh), "%s.merge", trace->path);
    ftc_trace_part(trace->path, trace->node, part);
    if (access(part, R_OK) != 0) /* another node has merged it */
        return FTC_SUCCESS;
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno == EEXIST ? FTC_SUCCESS : fail(trace->path);
    merge.out = fdopen(fd, "w");
    if (merge.out == NULL) {
        close(fd);
        (void)unlink(fresh);
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the trace");
    }
    if (!write_all(&merge) || rename(fresh, trace->path) != 0) {
        int rc = fail(trace->path);
        (void)unlink(fresh);
        return rc;
    }
    for (int node = 0; node < ftc_segment_nodes(trace->segment); node++) {
        ftc_trace_part(trace->path, node, part);
        (void)unlink(part);
    }
    return FTC_SUCCESS;
}
