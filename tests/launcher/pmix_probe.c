/* A plain PMIx client for tests of the server of ftrun. It prints rank, size and the name of the
 * segment. With "fence" it also meets the others in a fence. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, pmix_status_t status)
{
    fprintf(stderr, "pmix_probe: %s: %s\n", what, PMIx_Error_string(status));
    return 1;
}

static pmix_status_t meet(const pmix_proc_t *job)
{
    pmix_info_t info;
    bool collect = true;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    pmix_status_t status = PMIx_Fence(job, 1, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return status;
}

int main(int argc, char **argv)
{
    pmix_proc_t self, job;
    pmix_value_t *size = NULL, *segment = NULL;
    pmix_status_t status = PMIx_Init(&self, NULL, 0);
    if (status != PMIX_SUCCESS)
        return fail("PMIx_Init", status);
    PMIX_LOAD_PROCID(&job, self.nspace, PMIX_RANK_WILDCARD);
    status = PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &size);
    if (status != PMIX_SUCCESS)
        return fail("job size", status);
    status = PMIx_Get(&job, "ftcoll.segment", NULL, 0, &segment);
    if (status != PMIX_SUCCESS)
        return fail("ftcoll.segment", status);
    if (segment->type != PMIX_STRING || size->type != PMIX_UINT32)
        return fail("types", PMIX_ERR_TYPE_MISMATCH);
    printf("%s %u %u %s\n", self.nspace, self.rank, size->data.uint32, segment->data.string);
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "fence") == 0) {
        status = meet(&job);
        if (status != PMIX_SUCCESS)
            return fail("fence", status);
    }
    if (argc > 2 && strcmp(argv[1], "abort") == 0 && self.rank == 0)
        PMIx_Abort(atoi(argv[2]), "as asked", NULL, 0);
    PMIX_VALUE_RELEASE(size);
    PMIX_VALUE_RELEASE(segment);
    status = PMIx_Finalize(NULL, 0);
    return status == PMIX_SUCCESS ? 0 : fail("PMIx_Finalize", status);
}
