/* Joining a job, and leaving it. */
#include "runtime/process/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/jobs.h"
#include "runtime/process/bootstrap.h"
#include "runtime/process/connect.h"
#include "runtime/process/multicast.h"
#include "runtime/process/turn.h"

/* Limit of the pool of buffers for received messages. An alltoall keeps all that it gets until it
 * is committed. */
#define POOL_BYTES ((size_t)32 << 20)

static int read_settings(struct ftc_process *process)
{
    struct ftc_settings settings;
    int rc = ftc_settings_init(&settings);

    if (rc != 0)
        return rc;
    if (process->alone)
        process->config.f = 0;
    else
        rc = ftc_settings_load(&settings, ftc_segment_text(process->segment));
    if (rc == 0)
        process->config = settings.value;
    if (rc == 0 && process->config.f >= process->size)
        process->config.f = process->size - 1;
    ftc_settings_fini(&settings);
    return rc;
}

static int set_log(struct ftc_process *process, const struct ftc_identity *identity,
                   const ftc_options *options)
{
    int level = (int)process->config.log_level;

    if (options != NULL && options->struct_size >= sizeof(*options) && options->log_level != NULL) {
        level = ftc_log_level_parse(options->log_level);
        if (level < 0)
            return ftc_error_set(FTC_ERR_ARG, "log level \"%s\" does not exist",
                                 options->log_level);
    }
    process->log.level = (enum ftc_log_level)level;
    snprintf(process->log.who, sizeof(process->log.who), "job %s rank %d",
             identity->alone ? "alone" : identity->job, process->rank);
    if (identity->without_pmix[0] != '\0')
        FTC_LOG(&process->log, FTC_LOG_WARN,
                "started without PMIx, which other programs may need: %s", identity->without_pmix);
    return 0;
}

/* Spinning pays only if every rank has a core of its own, and only for some microseconds: another
 * process may have taken the core of the awaited rank. A yield lets the awaited rank run. */
static void set_patience(struct ftc_process *process)
{
    uint32_t bound = process->alone ? 0 : ftc_segment_header(process->segment)->bound_cores;
    uint32_t cores = bound > 0 ? bound : (uint32_t)ftc_process_cores();
    int here = process->size;

    if (!process->alone)
        ftc_segment_local(process->segment, &here);
    bool free_cores = here <= (int)cores;
    process->patience.spins = free_cores ? 150 : 0;
    process->patience.yields = process->patience.board_yields = free_cores ? 1000 : 20;
    process->processors = get_nprocs_conf();
}

static int join(struct ftc_process *process)
{
    uint64_t its = ftc_segment_header(process->segment)->pid_namespace,
             mine = ftc_process_namespace();
    int32_t nobody = 0;

    if (its != 0 && mine != 0 && its != mine)
        return ftc_error_set(
            FTC_ERR_UNSUPPORTED,
            "rank %d is in another pid namespace than its ftrun, which could not see it "
            "end; start one container for all ranks of a host, with ftrun in it",
            process->rank);
    if (!atomic_compare_exchange_strong(&process->standing->pid, &nobody, (int32_t)getpid()) &&
        nobody < 0)
        return ftc_error_set(
            FTC_ERR_FENCED,
            "rank %d has ended already: the process that ftrun started for it is gone",
            process->rank);
    if (nobody != 0)
        return ftc_error_set(FTC_ERR_STATE,
                             "rank %d has joined already, as process %d; call ftc_init() once",
                             process->rank, (int)nobody);
    process->joined = true;
    atomic_store(&process->slot->pid_start, ftc_process_start(getpid()));
    return 0;
}

static int attach(struct ftc_process *process, const struct ftc_identity *identity)
{
    int rc = ftc_segment_attach(&process->segment, identity->job, true);

    if (rc != 0)
        return ftc_error_wrap(rc, "joining job %s", identity->job);
    if (ftc_segment_ranks(process->segment) != process->size)
        return ftc_error_set(FTC_ERR_PROTO, "the segment of job %s is for %d ranks, PMIx says %d",
                             identity->job, ftc_segment_ranks(process->segment), process->size);
    if (!ftc_segment_is_local(process->segment, process->rank))
        return ftc_error_set(FTC_ERR_PROTO,
                             "rank %d is not a rank of this node in the segment of "
                             "job %s",
                             process->rank, identity->job);
    process->slot = ftc_segment_slot(process->segment, process->rank);
    process->standing = ftc_segment_standing(process->segment, process->rank);
    ftc_history_init(&process->history, process->segment, process->rank);
    ftc_drill_pass(&process->drill, FTC_DRILL_ATTACHED);
    return 0;
}

static int connect_node(struct ftc_process *process)
{
    int rc = join(process);

    if (rc != 0)
        return rc;
    process->pool = ftc_buffer_pool_new(POOL_BYTES);
    if (process->pool == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a process of the job");
    return ftc_connect(process);
}

/* The kernel wipes the guard in a child made by fork(). So a call can tell without a system call
 * whether it runs in a child. */
static int make_guard(struct ftc_process *process)
{
    size_t size = sizeof(*process->guard);

    process->guard = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (process->guard == MAP_FAILED) {
        process->guard = NULL;
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a process of the job");
    }
    /* Linux before 4.14 cannot do this. There children are not recognized. */
    (void)madvise(process->guard, size, MADV_WIPEONFORK);
    process->guard->mine = 1;
    return 0;
}

/* After a failed ftc_init() the process may try again, so the slot must be free. */
static void unjoin(struct ftc_process *process)
{
    if (process->joined && atomic_load(&process->standing->phase) == FTC_PHASE_SPAWNED)
        atomic_store(&process->standing->pid, 0);
}

void ftc_process_close(struct ftc_process *process)
{
    unjoin(process);
    ftc_runtime_multicast_close(process);
    if (process->transport != NULL)
        process->transport->ops->close(process->transport);
    ftc_buffer_pool_close(process->pool);
    if (process->segment != NULL)
        ftc_bell_close(&process->bell);
    ftc_segment_detach(process->segment);
    ftc_set_fini(&process->failed);
    ftc_set_fini(&process->audible);
    ftc_set_fini(&process->accused);
    if (process->guard != NULL)
        munmap(process->guard, sizeof(*process->guard));
    ftc_turn_fini(&process->turn);
    pthread_mutex_destroy(&process->lock);
    free(process);
}

static int build(struct ftc_process *process, const struct ftc_identity *identity,
                 const ftc_options *options)
{
    int rc = ftc_drill_init(&process->drill, process->rank);

    if (rc == 0 && !process->alone)
        rc = attach(process, identity);
    if (rc == 0)
        rc = read_settings(process);
    if (rc == 0)
        set_patience(process);
    if (rc == 0)
        rc = set_log(process, identity, options);
    if (rc == 0)
        rc = make_guard(process);
    if (rc == 0)
        rc = ftc_set_init(&process->failed, process->size);
    if (rc == 0)
        rc = ftc_set_init(&process->audible, process->size);
    if (rc == 0)
        rc = ftc_set_init(&process->accused, process->size);
    if (rc == 0 && !process->alone)
        rc = connect_node(process);
    return rc == 0 ? ftc_runtime_multicast_open(process) : rc;
}

int ftc_process_join(struct ftc_process **out, const ftc_options *options)
{
    struct ftc_identity identity;
    int rc = ftc_bootstrap(&identity);

    if (rc != 0)
        return rc;
    struct ftc_process *process = calloc(1, sizeof(*process));
    if (process == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a process of the job");
    pthread_mutex_init(&process->lock, NULL);
    ftc_turn_init(&process->turn);
    process->rank = identity.rank;
    process->size = identity.size;
    process->alone = identity.alone;
    process->bell.fd = process->bell.call_fd = -1;
    process->thread.gate.fd = -1;
    process->started_ns = ftc_clock_now();
    rc = build(process, &identity, options);
    if (rc == 0)
        *out = process;
    else
        ftc_process_close(process);
    return rc;
}
