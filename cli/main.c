/* ftcoll-status: the jobs of this user on this machine, live, from their node segments. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/options.h"
#include "cli/stacks.h"
#include "cli/status.h"
#include "cli/watch.h"
#include "node/jobs.h"

enum { EXIT_OK = 0, EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_FAILED_RANKS = 3 };

/* Look at a job once. If its segment is damaged or gone, *out is NULL and ftc_last_error() gives
 * the cause. */
static int look_at(const char *job, bool sample, const struct ftc_status_options *options,
                   struct ftc_job_status **out, struct ftc_segment **segment)
{
    struct ftc_job_status *status = calloc(1, sizeof(*status));
    if (status == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    int rc = ftc_segment_attach(segment, job, false);
    if (rc != 0)
        goto err_free;
    rc = ftc_status_init(status, ftc_segment_ranks(*segment), ftc_segment_nodes(*segment));
    if (rc != 0)
        goto err_detach;
    if (sample)
        ftc_status_sample(status, *segment);
    else
        ftc_status_look(status, *segment);
    rc = options->stacks ? ftc_status_stacks(status) : 0;
    if (rc == 0 && options->history)
        rc = ftc_status_history(status, *segment, options->history_rank);
    if (rc != 0)
        goto err_fini;
    *out = status;
    return 0;

err_fini:
    ftc_status_fini(status);
err_detach:
    ftc_segment_detach(*segment);
err_free:
    free(status);
    return rc;
}

static void forget(struct ftc_job_status *status, struct ftc_segment *segment)
{
    if (status == NULL)
        return;
    ftc_status_fini(status);
    free(status);
    ftc_segment_detach(segment);
}

static int complain(void)
{
    fprintf(stderr, "ftcoll-status: %s\n", ftc_last_error());
    return EXIT_ERROR;
}

/* Output that could not be written is an error too, for example on a full disk or a closed pipe. */
static int finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "ftcoll-status: cannot write to standard output: %s\n", strerror(errno));
    return EXIT_ERROR;
}

/* Metrics need no samples: they give the heartbeat counters, and the collector compares these. */
static bool samples(const struct ftc_status_options *options)
{
    return !options->no_sample && options->format != FTC_STATUS_OPENMETRICS;
}

static int show_job(const char *job, const struct ftc_status_options *options,
                    const struct ftc_status_view *view)
{
    struct ftc_job_status *status = NULL;
    struct ftc_segment *segment = NULL;
    int rc = look_at(job, samples(options) && !options->failed, options, &status, &segment);
    if (options->format == FTC_STATUS_OPENMETRICS)
        ftc_status_openmetrics(&status, 1, stdout);
    if (rc != 0)
        return complain();
    if (options->format == FTC_STATUS_JSON)
        rc = ftc_status_json(&status, 1, stdout);
    else if (options->format == FTC_STATUS_TEXTUAL && options->watch)
        rc = ftc_status_watch(status, segment, view);
    else if (options->format == FTC_STATUS_TEXTUAL)
        rc = ftc_status_page(status, view, stdout);
    int code = rc != 0 ? complain() : status->failures > 0 ? EXIT_FAILED_RANKS : EXIT_OK;
    forget(status, segment);
    return finish(code);
}

struct jobs {
    char (*names)[FTC_JOB_NAME_SIZE];
    struct ftc_job_status **status;
    struct ftc_segment **segment;
    int count;
};

static void jobs_fini(struct jobs *jobs)
{
    for (int i = 0; i < jobs->count && jobs->status != NULL && jobs->segment != NULL; i++)
        forget(jobs->status[i], jobs->segment[i]);
    free(jobs->status);
    free(jobs->segment);
    free(jobs->names);
}

/* Look at all jobs. A job that has ended since the listing is dropped. A job with a damaged segment
 * stays as a NULL entry. */
static int jobs_look(struct jobs *jobs, bool sample, const struct ftc_status_options *options)
{
    jobs->status = calloc((size_t)jobs->count + 1, sizeof(jobs->status[0]));
    jobs->segment = calloc((size_t)jobs->count + 1, sizeof(jobs->segment[0]));
    if (jobs->status == NULL || jobs->segment == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    int kept = 0;
    for (int i = 0; i < jobs->count; i++) {
        int rc =
            look_at(jobs->names[i], sample, options, &jobs->status[kept], &jobs->segment[kept]);
        if (rc != 0 && rc != FTC_ERR_PROTO)
            continue;
        memmove(jobs->names[kept++], jobs->names[i], sizeof(jobs->names[0]));
    }
    jobs->count = kept;
    return 0;
}

static int show_pages(const struct jobs *jobs, const struct ftc_status_view *view)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < jobs->count; i++)
        if (jobs->status[i] != NULL) {
            rc = ftc_status_page(jobs->status[i], view, stdout);
            fputc('\n', stdout);
        }
    return rc;
}

static int show_jobs(struct jobs *jobs, const struct ftc_status_options *options,
                     const struct ftc_status_view *view)
{
    int rc = jobs_look(jobs, samples(options) && options->format == FTC_STATUS_JSON, options);
    if (rc != 0)
        return complain();
    if (options->format == FTC_STATUS_JSON)
        rc = ftc_status_json(jobs->status, jobs->count, stdout);
    else if (options->format == FTC_STATUS_OPENMETRICS)
        ftc_status_openmetrics(jobs->status, jobs->count, stdout);
    else if (options->failed)
        rc = show_pages(jobs, view);
    else
        ftc_status_list(jobs->status, (const char(*)[FTC_JOB_NAME_SIZE])jobs->names, jobs->count,
                        view, stdout);
    int code = rc != 0 ? complain() : EXIT_OK;
    for (int i = 0; code == EXIT_OK && i < jobs->count; i++)
        if (jobs->status[i] != NULL && jobs->status[i]->failures > 0)
            code = EXIT_FAILED_RANKS;
    return finish(code);
}

static int show_any(const struct ftc_status_options *options, const struct ftc_status_view *view)
{
    struct jobs jobs = {0};
    bool text = options->format == FTC_STATUS_TEXTUAL;
    int code;
    if (ftc_jobs_list(&jobs.names, &jobs.count) != 0)
        return complain();
    if (jobs.count == 1 && !options->list && text) {
        code = show_job(jobs.names[0], options, view);
    } else if ((options->watch || ((options->stacks || options->history) && text)) &&
               !options->list) {
        ftc_error_set(FTC_ERR_ARG, jobs.count == 0  ? "no running job"
                                   : options->watch ? "several jobs; name the one to watch"
                                                    : "several jobs; name the one to show");
        code = complain();
    } else if (jobs.count == 0 && text) {
        puts("no running jobs");
        code = finish(EXIT_OK);
    } else {
        code = show_jobs(&jobs, options, view);
    }
    jobs_fini(&jobs);
    return code;
}

/* Returns $COLUMNS, or else the width of the terminal, or 0 (no limit) if neither is known. */
static int find_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long wanted = columns != NULL ? strtol(columns, NULL, 10) : 0;
    if (wanted >= 20 && wanted <= 10000)
        return (int)wanted;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int main(int argc, char **argv)
{
    struct ftc_status_options options;
    if (ftc_status_options_parse(&options, argc, argv) != 0) {
        complain();
        return EXIT_USAGE;
    }
    if (options.help) {
        ftc_status_options_help(stdout);
        return finish(EXIT_OK);
    }
    if (options.version) {
        printf("ftcoll-status %d.%d.%d\n", FTC_VERSION_MAJOR, FTC_VERSION_MINOR, FTC_VERSION_PATCH);
        return finish(EXIT_OK);
    }
    if (options.gc) {
        int removed = ftc_jobs_collect_garbage();
        printf("removed %d job%s without a launcher\n", removed, removed == 1 ? "" : "s");
        return finish(EXIT_OK);
    }
    struct ftc_status_view view = {
        .width = find_width(), .all = options.all, .failed = options.failed};
    char found[FTC_JOB_NAME_SIZE];
    const char *job = options.job;
    if (job != NULL && job[0] != '\0' && job[strspn(job, "0123456789")] == '\0') { /* a pid */
        if (ftc_jobs_find(found, (pid_t)strtol(job, NULL, 10)) != 0)
            return complain();
        job = found;
    }
    return job != NULL ? show_job(job, &options, &view) : show_any(&options, &view);
}
