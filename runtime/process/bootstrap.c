/* Identity over PMIx. */
#include "runtime/process/bootstrap.h"

#include <pmix.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "runtime/process/foreign.h"

#define FILES_NEEDED 32

static int get_size(const pmix_proc_t *job, int *size)
{
    pmix_value_t *value = NULL;
    pmix_status_t rc = PMIx_Get(job, PMIX_JOB_SIZE, NULL, 0, &value);

    if (rc != PMIX_SUCCESS)
        return ftc_error_set(FTC_ERR_SYSTEM, "PMIx does not tell the job's size: %s",
                             PMIx_Error_string(rc));
    uint32_t ranks = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
    PMIX_VALUE_RELEASE(value);
    if (ranks < 1 || ranks > FTC_NODE_MAX_RANKS)
        return ftc_error_set(FTC_ERR_UNSUPPORTED, "a job of %u ranks is not possible (1..%d)",
                             ranks, FTC_NODE_MAX_RANKS);
    *size = (int)ranks;
    return 0;
}

/* Asks ftrun's PMIx server for the job's name. Servers that are not ftrun's must not be asked: they
 * do not have the key, and would ask each other for it. */
static int get_job(const pmix_proc_t *job, char name[FTC_JOB_NAME_SIZE])
{
    pmix_value_t *value = NULL;
    pmix_status_t rc = PMIx_Get(job, FTC_PMIX_KEY_JOB, NULL, 0, &value);
    int result = 0;

    if (rc != PMIX_SUCCESS)
        return ftc_error_set(FTC_ERR_SYSTEM, "ftrun does not tell the job's name: %s",
                             PMIx_Error_string(rc));
    if (value->type != PMIX_STRING || value->data.string == NULL ||
        strlen(value->data.string) >= FTC_JOB_NAME_SIZE)
        result = ftc_error_set(FTC_ERR_PROTO, "the PMIx server gave a malformed job name");
    else
        strcpy(name, value->data.string);
    PMIX_VALUE_RELEASE(value);
    return result;
}

static bool is_of_ftrun(const char *space)
{
    return strncmp(space, FTC_PMIX_SPACE, strlen(FTC_PMIX_SPACE)) == 0;
}

static int ask(struct ftc_identity *identity)
{
    pmix_proc_t self, job;
    pmix_status_t rc = PMIx_Init(&self, NULL, 0);

    if (rc != PMIX_SUCCESS)
        return ftc_error_set(FTC_ERR_SYSTEM, "PMIx_Init: %s; was this process's launcher killed?",
                             PMIx_Error_string(rc));
    PMIX_LOAD_PROCID(&job, self.nspace, PMIX_RANK_WILDCARD);
    int result = get_size(&job, &identity->size);
    if (result == 0 && self.rank >= (pmix_rank_t)identity->size)
        result = ftc_error_set(FTC_ERR_PROTO, "PMIx rank %u is outside a job of %d", self.rank,
                               identity->size);
    identity->rank = (int)self.rank;
    if (result == 0)
        result = is_of_ftrun(self.nspace) ? get_job(&job, identity->job)
                                          : ftc_foreign_meet(&self, identity);
    PMIx_Finalize(NULL, 0);
    return result;
}

/* Reads the identity that ftrun has put into the environment. False: ftrun has not started this
 * process, or the identity cannot be used; ftc_last_error() says why. */
static bool read_inherited(struct ftc_identity *identity)
{
    const char *job = getenv("FTCOLL_JOB_SEGMENT"), *rank = getenv("FTCOLL_RANK");
    const char *space = getenv("PMIX_NAMESPACE"), *pmix_rank = getenv("PMIX_RANK");
    struct ftc_segment_header header;
    char *end;

    if (job == NULL || rank == NULL || (space != NULL && !is_of_ftrun(space)) ||
        (space != NULL && (pmix_rank == NULL || strcmp(rank, pmix_rank) != 0)))
        return false;
    if (ftc_segment_peek(&header, job) != 0)
        return false;
    long number = strtol(rank, &end, 10);
    if (end == rank || *end != '\0' || number < 0 || number >= (long)header.ranks) {
        (void)ftc_error_set(FTC_ERR_PROTO, "\"%.20s\" is no rank of a job of %u", rank,
                            header.ranks);
        return false;
    }
    *identity = (struct ftc_identity){.rank = (int)number, .size = (int)header.ranks};
    strcpy(identity->job, job); /* a valid name fits */
    return true;
}

static bool agree(const struct ftc_identity *a, const struct ftc_identity *b)
{
    return a->rank == b->rank && a->size == b->size && strcmp(a->job, b->job) == 0;
}

/* The PMIx server of ftrun may be blocked or gone, or another process may have its address by now.
 * Then the identity from the environment counts. */
static int ask_ftrun(struct ftc_identity *identity, const struct ftc_identity *inherited)
{
    int rc = ask(identity);

    if (rc == 0 && !agree(identity, inherited))
        rc = ftc_error_set(FTC_ERR_PROTO, "PMIx tells of another job or rank than ftrun");
    if (rc == 0)
        return 0;
    *identity = *inherited;
    snprintf(identity->without_pmix, sizeof(identity->without_pmix), "%s", ftc_last_error());
    return 0;
}

/* A process that has the environment of a rank, but cannot join, must not go on as a job of one
 * rank: it would return wrong results without a message. */
static int start_alone(void)
{
    const char *job = getenv("FTCOLL_JOB_SEGMENT"), *rank = getenv("FTCOLL_RANK");

    if (job == NULL || rank == NULL)
        return 0;
    return ftc_error_wrap(FTC_ERR_SYSTEM,
                          "cannot join job %.40s as rank %.20s, as the environment says (unset "
                          "FTCOLL_JOB_SEGMENT to run this program alone)",
                          job, rank);
}

/* If fewer files may be open, PMIx and libevent fail without a useful message. */
static int check_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= FILES_NEEDED)
        return 0;
    limit.rlim_cur = FILES_NEEDED;
    if (limit.rlim_max < FILES_NEEDED || setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return ftc_error_set(
            FTC_ERR_SYSTEM,
            "only %llu files may be open, a rank needs %d; raise the limit (ulimit -n %d)",
            (unsigned long long)limit.rlim_max, FILES_NEEDED, FILES_NEEDED);
    return 0;
}

int ftc_bootstrap(struct ftc_identity *identity)
{
    struct ftc_identity inherited;
    bool of_ftrun = read_inherited(&inherited), pmix = getenv("PMIX_NAMESPACE") != NULL;

    *identity = of_ftrun ? inherited : (struct ftc_identity){.size = 1, .alone = !pmix};
    if (!pmix)
        return of_ftrun ? 0 : start_alone();
    int rc = check_files();
    if (rc != 0)
        return rc;
    return of_ftrun ? ask_ftrun(identity, &inherited) : ask(identity);
}
