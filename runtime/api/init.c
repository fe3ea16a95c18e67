/* Joining and leaving a job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/jobs.h"
#include "runtime/comm/algorithm.h"
#include "runtime/process/bootstrap.h"
#include "runtime/comm/call.h"
#include "runtime/process/connect.h"
#include "runtime/comm/flow_control.h"
#include "runtime/process/multicast.h"
#include "runtime/process/progress.h"
#include "runtime/comm/publish.h"
#include "runtime/process/thread.h"

#define POOL_BYTES ((size_t)8 << 20) /* limit of the pool of buffers for received messages */

#define ABORT_GRACE_NS (10 * FTC_NS_PER_S)

/* --- init --- */

static int read_settings(struct ftc_comm *comm)
{
    struct ftc_settings settings;
    int rc = ftc_settings_init(&settings);

    if (rc != 0)
        return rc;
    if (comm->alone)
        comm->config.f = 0;
    else
        rc = ftc_settings_load(&settings, ftc_segment_text(comm->segment));
    if (rc == 0)
        comm->config = settings.value;
    if (rc == 0 && comm->config.f >= comm->size)
        comm->config.f = comm->size - 1;
    ftc_settings_fini(&settings);
    return rc;
}

static int set_log(struct ftc_comm *comm, const struct ftc_identity *identity,
                   const ftc_options *options)
{
    int level = (int)comm->config.log_level;

    if (options != NULL && options->struct_size >= sizeof(*options) && options->log_level != NULL) {
        level = ftc_log_level_parse(options->log_level);
        if (level < 0)
            return ftc_error_set(FTC_ERR_ARG, "log level \"%s\" does not exist",
                                 options->log_level);
    }
    comm->log.level = (enum ftc_log_level)level;
    snprintf(comm->log.who, sizeof(comm->log.who), "job %s rank %d",
             identity->alone ? "alone" : identity->job, comm->rank);
    if (identity->without_pmix[0] != '\0')
        FTC_LOG(&comm->log, FTC_LOG_WARN, "started without PMIx, which other programs may need: %s",
                identity->without_pmix);
    return 0;
}

static int make_member(struct ftc_comm *comm, uint32_t fragment)
{
    int nodes = comm->alone ? 1 : ftc_segment_nodes(comm->segment);
    int rc = ftc_flips_parse(comm->config.drill_flip, &comm->flips);

    if (rc != 0)
        return ftc_error_wrap(FTC_ERR_CONFIG, "drill.flip");
    comm->choice = (struct ftc_choice_job){
        .config = &comm->config,
        .nodes = nodes,
        .member = ftc_choice_member(&comm->config, comm->size, nodes, comm->rank,
                                    ftc_flips_any(&comm->flips) ? &comm->flips : NULL)};
    comm->choice.member.fragment = fragment;
    rc = ftc_algorithms_settings(comm, &comm->choice.member);
    if (rc == 0)
        rc = ftc_member_create(&comm->member, &comm->choice.member);
    if (rc == 0)
        comm->choice.failed = ftc_member_agreed_failed(comm->member);
    return rc;
}

/* Spinning pays only if every rank has a core of its own, and only for some microseconds: another
 * process may have taken the core of the awaited rank. A yield lets the awaited rank run. */
static void set_patience(struct ftc_comm *comm)
{
    uint32_t bound = comm->alone ? 0 : ftc_segment_header(comm->segment)->bound_cores;
    uint32_t cores = bound > 0 ? bound : (uint32_t)ftc_process_cores();
    int here = comm->size;

    if (!comm->alone)
        ftc_segment_local(comm->segment, &here);
    bool free_cores = here <= (int)cores;
    comm->patience.spins = free_cores ? 150 : 0;
    comm->patience.yields = free_cores ? 200 : 20;
}

static int join(struct ftc_comm *comm)
{
    struct ftc_slot *slot = comm->slot;
    uint64_t its = ftc_segment_header(comm->segment)->pid_namespace, mine = ftc_process_namespace();
    int32_t nobody = 0;

    if (its != 0 && mine != 0 && its != mine)
        return ftc_error_set(
            FTC_ERR_UNSUPPORTED,
            "rank %d is in another pid namespace than its ftrun, which could not see it "
            "end; start one container for all ranks of a host, with ftrun in it",
            comm->rank);
    if (!atomic_compare_exchange_strong(&slot->pid, &nobody, (int32_t)getpid()) && nobody < 0)
        return ftc_error_set(
            FTC_ERR_FENCED,
            "rank %d has ended already: the process that ftrun started for it is gone", comm->rank);
    if (nobody != 0)
        return ftc_error_set(FTC_ERR_STATE,
                             "rank %d has joined already, as process %d; call ftc_init() once",
                             comm->rank, (int)nobody);
    comm->joined = true;
    atomic_store(&slot->pid_start, ftc_process_start(getpid()));
    return 0;
}

static int attach(struct ftc_comm *comm, const struct ftc_identity *identity)
{
    int rc = ftc_segment_attach(&comm->segment, identity->job, true);

    if (rc != 0)
        return ftc_error_wrap(rc, "joining job %s", identity->job);
    if (ftc_segment_ranks(comm->segment) != comm->size)
        return ftc_error_set(FTC_ERR_PROTO, "the segment of job %s is for %d ranks, PMIx says %d",
                             identity->job, ftc_segment_ranks(comm->segment), comm->size);
    comm->slot = ftc_segment_slot(comm->segment, comm->rank);
    ftc_drill_pass(&comm->drill, FTC_DRILL_ATTACHED);
    return 0;
}

static int connect_node(struct ftc_comm *comm)
{
    int rc = join(comm);

    if (rc != 0)
        return rc;
    comm->pool = ftc_buffer_pool_new(POOL_BYTES);
    if (comm->pool == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator");
    return ftc_connect(comm);
}

/* The kernel wipes the guard in a child made by fork(). So a call can tell without a system call
 * whether it runs in a child. */
static int make_guard(struct ftc_comm *comm)
{
    size_t size = sizeof(*comm->guard);

    comm->guard = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (comm->guard == MAP_FAILED) {
        comm->guard = NULL;
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator");
    }
    /* Linux before 4.14 cannot do this. There children are not recognized. */
    (void)madvise(comm->guard, size, MADV_WIPEONFORK);
    comm->guard->mine = 1;
    return 0;
}

/* After a failed ftc_init() the process may try again, so the slot must be free. */
static void unjoin(struct ftc_comm *comm)
{
    if (comm->joined && atomic_load(&comm->slot->phase) == FTC_PHASE_SPAWNED)
        atomic_store(&comm->slot->pid, 0);
}

static void destroy(struct ftc_comm *comm)
{
    ftc_thread_stop(comm);
    if (comm->member != NULL && !comm->alone)
        ftc_publish_multicast(comm);
    unjoin(comm);
    ftc_member_destroy(comm->member);
    ftc_algorithms_close(comm);
    ftc_runtime_multicast_close(comm);
    if (comm->transport != NULL)
        comm->transport->ops->close(comm->transport);
    ftc_buffer_pool_close(comm->pool);
    if (comm->segment != NULL)
        ftc_bell_close(&comm->bell);
    ftc_segment_detach(comm->segment);
    ftc_snapshot_fini(&comm->snapshot);
    ftc_set_fini(&comm->accused);
    if (comm->guard != NULL)
        munmap(comm->guard, sizeof(*comm->guard));
    free(comm->report_failed);
    free(comm->report_corrupt);
    pthread_mutex_destroy(&comm->lock);
    free(comm);
}

static int build(struct ftc_comm *comm, const struct ftc_identity *identity,
                 const ftc_options *options)
{
    uint32_t fragment;
    int rc = ftc_drill_init(&comm->drill, comm->rank);

    if (rc == 0 && !comm->alone)
        rc = attach(comm, identity);
    if (rc == 0)
        rc = read_settings(comm);
    if (rc == 0)
        set_patience(comm);
    if (rc == 0)
        rc = set_log(comm, identity, options);
    if (rc == 0)
        rc = make_guard(comm);
    if (rc == 0)
        rc = ftc_set_init(&comm->accused, comm->size);
    if (rc == 0)
        rc = ftc_snapshot_init(&comm->snapshot, comm->size);
    comm->report_failed = calloc((size_t)comm->size, sizeof(int));
    comm->report_corrupt = calloc((size_t)comm->size, sizeof(int));
    if (rc == 0 && (comm->report_failed == NULL || comm->report_corrupt == NULL))
        rc = ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", comm->size);
    if (rc == 0 && !comm->alone)
        rc = connect_node(comm);
    if (rc == 0)
        rc = ftc_runtime_multicast_open(comm, &fragment);
    if (rc == 0)
        rc = make_member(comm, fragment);
    if (rc == 0 && !comm->alone)
        rc = ftc_algorithms_open(comm);
    if (rc == 0 && !comm->alone)
        rc = ftc_thread_start(comm);
    return rc;
}

FTC_API int ftc_init(const ftc_options *options, ftc_comm **world)
{
    struct ftc_identity identity;
    struct ftc_comm *comm;

    if (world == NULL)
        return ftc_error_set(FTC_ERR_ARG, "world is NULL");
    if (options != NULL && options->struct_size < sizeof(options->struct_size))
        return ftc_error_set(FTC_ERR_ARG, "set options.struct_size to sizeof(ftc_options)");
    int rc = ftc_bootstrap(&identity);
    if (rc != 0)
        return rc;
    comm = calloc(1, sizeof(*comm));
    if (comm == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator");
    pthread_mutex_init(&comm->lock, NULL);
    comm->rank = identity.rank;
    comm->size = identity.size;
    comm->alone = identity.alone;
    comm->bell.fd = comm->bell.call_fd = -1;
    comm->thread.gate.fd = -1;
    comm->started_ns = ftc_clock_now();
    rc = build(comm, &identity, options);
    if (rc != 0) {
        destroy(comm);
        return rc;
    }
    if (!comm->alone)
        ftc_connect_announce(comm);
    ftc_drill_pass(&comm->drill, FTC_DRILL_JOINED);
    *world = comm;
    return 0;
}

/* --- finalize --- */

/* agreement.md, finalize: p goes on answering until each other process has the mark or has failed.
 * A rank has failed here if the launcher has put it into the segment, as it does with a rank that
 * exits too early. L is not asked: on several nodes a decision may name a failed rank earlier. */
static bool nobody_needs_me(struct ftc_comm *comm, void *arg)
{
    int *from = arg; /* all ranks below it have the mark or have failed; both are final */

    for (int rank = *from; rank < comm->size; rank++, ++*from) {
        const struct ftc_slot *slot = ftc_segment_slot(comm->segment, rank);
        if (atomic_load_explicit(&slot->phase, memory_order_acquire) != FTC_PHASE_FINALIZED &&
            !ftc_segment_failed(comm->segment, rank))
            return false;
    }
    return true;
}

/* header->finalized is a hint that spares a scan of all slots. The rank that completes the count
 * wakes the others. If a ring gets lost, they look after a heartbeat period anyway. */
static void set_mark(struct ftc_comm *comm)
{
    struct ftc_segment_header *header = ftc_segment_header(comm->segment);

    ftc_drill_pass(&comm->drill, FTC_DRILL_MARK);
    atomic_store_explicit(&comm->slot->phase, FTC_PHASE_FINALIZED, memory_order_release);
    ftc_drill_pass(&comm->drill, FTC_DRILL_MARKED);
    if (ftc_segment_nodes(comm->segment) > 1)
        ftc_bell_ring_launcher(&comm->bell); /* it tells the ranks of other nodes */
    uint32_t marks = atomic_fetch_add(&header->finalized, 1) + 1;
    if (marks + atomic_load(&header->failures) >= (uint32_t)comm->size)
        ftc_bell_ring_all(&comm->bell);
    if (ftc_segment_nodes(comm->segment) > 1) /* again, after the count */
        ftc_bell_ring_launcher(&comm->bell);
}

/* docs/design/tcp.md, "Leaving". */
static bool has_settled(struct ftc_comm *comm, void *arg)
{
    const uint64_t *until = arg;

    return comm->transport->ops->settled(comm->transport) || ftc_clock_now() >= *until;
}

static void settle(struct ftc_comm *comm)
{
    uint64_t period = (uint64_t)comm->config.heartbeat_period_ms * FTC_NS_PER_MS;
    uint64_t until = ftc_clock_now() + period;

    if (comm->transport->ops->settled != NULL)
        ftc_progress_until(comm, &(struct ftc_until){has_settled, &until, FTC_WAIT_MARKS, period});
}

static void linger(struct ftc_comm *comm)
{
    int from = 0;

    ftc_call_enter(comm);
    set_mark(comm);
    ftc_drill_pass(&comm->drill, FTC_DRILL_LINGER);
    ftc_progress_until(comm, &(struct ftc_until){nobody_needs_me, &from, FTC_WAIT_MARKS, 0});
    settle(comm);
    ftc_call_leave(comm);
}

FTC_API int ftc_finalize(ftc_comm *world)
{
    struct ftc_call call = {.signature = {.kind = FTC_CALL_FINALIZE, .root = -1}};

    int rc = ftc_call_begin(world); /* without ftc_call_end(): destroy() frees the communicator */
    if (rc != 0)
        return rc;
    rc = ftc_call_run(world, &call, NULL);
    if (rc == 0 && !world->alone)
        linger(world);
    destroy(world);
    return rc;
}

/* --- abort --- */

FTC_API int ftc_abort(ftc_comm *comm, int code)
{
    uint64_t none = 0;

    int rc = ftc_call_check(comm);

    if (rc != 0)
        return rc;
    code = code >= 1 && code <= 255 ? code : 1;
    if (comm->alone)
        exit(code);
    FTC_LOG(&comm->log, FTC_LOG_ERROR, "ftc_abort: ending the job with code %d", code);
    atomic_compare_exchange_strong(&ftc_segment_header(comm->segment)->abort, &none,
                                   FTC_ABORT(comm->rank, code));
    ftc_bell_ring_launcher(&comm->bell);
    /* The launcher kills all ranks. If it does not, this rank at least fails. */
    struct timespec grace = {.tv_sec = ABORT_GRACE_NS / FTC_NS_PER_S};
    nanosleep(&grace, NULL);
    _exit(code);
}
