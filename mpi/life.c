/* The life of the library in a process: from MPI_Init() to MPI_Finalize(). */
#include "mpi/comm/request.h"

#include "functions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What the setting mpi.failures of the job says. */
static enum ftc_mpi_failures read_failures(const ftc_comm *world)
{
    char value[8];
    if (ftc_setting(world, "mpi.failures", value, sizeof value) != FTC_SUCCESS)
        return FTC_MPI_FAILURES_AUTO;
    return strcmp(value, "mask") == 0    ? FTC_MPI_FAILURES_MASK
           : strcmp(value, "raise") == 0 ? FTC_MPI_FAILURES_RAISE
                                         : FTC_MPI_FAILURES_AUTO;
}

/* A blocking and a non-blocking operation of ftcoll do not meet. So all ranks start collectives in
 * the form that the rank with the highest thread level needs. */
static int learn_threads(ftc_comm *world)
{
    int32_t own = ftc_mpi_process.thread_level, highest = own;
    int rc = ftc_mpi_error_from(ftc_allreduce(&own, &highest, 1, FTC_INT32, FTC_MAX, world));
    ftc_mpi_process.multiple = highest == MPI_THREAD_MULTIPLE;
    return rc;
}

int ftc_mpi_init_thread(int required, int *provided)
{
    ftc_comm *native;
    if (ftc_mpi_process.state != FTC_MPI_BEFORE)
        return ftc_mpi_error(MPI_ERR_OTHER, "MPI_Init() was called before");
    int rc = ftc_mpi_error_from(ftc_init(NULL, &native));
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_process.failures = read_failures(native);
    ftc_mpi_process.thread_level = required > MPI_THREAD_MULTIPLE ? MPI_THREAD_MULTIPLE : required;
    rc = learn_threads(native);
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_process.main_thread = pthread_self();
    ftc_mpi_process.told = calloc((size_t)ftc_size(native), sizeof(bool));
    struct ftc_mpi_comm *world = ftc_mpi_comm_new(native, NULL);
    if (world == NULL || ftc_mpi_process.told == NULL)
        return ftc_mpi_no_memory();
    ftc_mpi_name_set(world->name, "MPI_COMM_WORLD");
    ftc_mpi_process.world = world;
    ftc_mpi_process.state = FTC_MPI_RUNNING;
    *provided = ftc_mpi_process.thread_level;
    return MPI_SUCCESS;
}

/* The attributes of MPI_COMM_SELF go first, while MPI still runs (MPI 5.0, 11.2.4). */
int ftc_mpi_finalize(void)
{
    struct ftc_mpi_comm *world, *self = ftc_mpi_process.self;
    int rc = ftc_mpi_comm_open(MPI_COMM_WORLD, &world);
    if (rc == MPI_SUCCESS && self != NULL)
        rc = ftc_mpi_attributes_clear(&self->attributes, FTC_MPI_COMM, MPI_COMM_SELF);
    if (rc == MPI_SUCCESS)
        rc = ftc_mpi_attributes_clear(&world->attributes, FTC_MPI_COMM, MPI_COMM_WORLD);
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_failures_note_masked();
    ftc_mpi_requests_reap(FTC_MPI_REAP_LAST);
    rc = ftc_mpi_error_from(ftc_finalize(world->native)); /* frees all communicators */
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_process.state = FTC_MPI_AFTER;
    ftc_mpi_process.world = ftc_mpi_process.self = NULL;
    free(ftc_mpi_process.told);
    world->native = NULL;
    ftc_mpi_comm_release(world);
    if (self != NULL) {
        self->native = NULL;
        ftc_mpi_comm_release(self);
    }
    return MPI_SUCCESS;
}

/* The whole job ends, whichever communicator is given. */
int ftc_mpi_abort(int errorcode)
{
    fflush(NULL);
    if (ftc_mpi_process.world != NULL)
        ftc_abort(ftc_mpi_process.world->native, errorcode);
    exit(errorcode > 0 && errorcode < 256 ? errorcode : 1);
}

double ftc_mpi_wtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int ftc_mpi_get_processor_name(char *name, int *resultlen)
{
    if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0)
        snprintf(name, MPI_MAX_PROCESSOR_NAME, "unknown");
    name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
    *resultlen = (int)strlen(name);
    return MPI_SUCCESS;
}

int ftc_mpi_abi_get_info(MPI_Info *info)
{
    static const struct {
        const char *key, *value;
    } sizes[] = {{"mpi_aint_size", "8"}, {"mpi_count_size", "8"}, {"mpi_offset_size", "8"}};
    int rc = ftc_mpi_info_create(info);
    for (size_t i = 0; rc == MPI_SUCCESS && i < sizeof sizes / sizeof *sizes; i++)
        rc = ftc_mpi_info_set(ftc_mpi_info_of(*info), sizes[i].key, sizes[i].value);
    return rc;
}

int ftc_mpi_alloc_mem(MPI_Aint size, void *baseptr)
{
    if (size < 0)
        return ftc_mpi_error(MPI_ERR_ARG, "a size of %lld bytes is negative", (long long)size);
    void *memory = malloc((size_t)size + 1);
    if (memory == NULL)
        return ftc_mpi_no_memory();
    *(void **)baseptr = memory;
    return MPI_SUCCESS;
}
