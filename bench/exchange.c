#include "bench/exchange.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "bench/job.h"
#include "node/jobs.h"
#include "node/system/process.h"
#include "transport/transport.h"

#define LIMIT_NS   (30 * FTC_NS_PER_S) /* longest wait for one message, and for the start */
#define SLEEP_NS   (10 * FTC_NS_PER_MS)
#define BATCH      50   /* rounds in a sample: about the messages of a short gossip aggregation */
#define SAMPLES    8192 /* samples kept for a rank's quantiles; the mean is over all samples */
#define WARM_UP    0.1  /* the warm-up takes this part of the time, before the measurement */
#define HEAD_BYTES 16

/* The figures of a pair. The lower rank of the pair writes them. */
struct tally {
    _Alignas(64) long messages;
    double total_us; /* the sum over these messages, which are those of the lower rank only */
    int samples;
    float sample_us[SAMPLES];
};

struct shared {
    atomic_int ready;     /* how many ranks have got a message */
    uint64_t from, until; /* batches that begin between these count; set before the gate opens */
    struct tally tally[];
};

struct end {
    const struct exchange_plan *plan;
    struct shared *shared;
    int rank, partner, spins, yields;
    unsigned char *bytes;
    struct ftc_bell bell;
    struct ftc_transport *transport;
};

const char *exchange_bind_name(enum exchange_bind bind)
{
    static const char *const names[] = {"none", "one", "cores"};
    return names[bind];
}

static void bind_rank(int rank, enum exchange_bind bind)
{
    cpu_set_t allowed, one;
    if (bind == EXCHANGE_BIND_NONE || sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    int skip = bind == EXCHANGE_BIND_ONE ? 0 : rank % CPU_COUNT(&allowed), core = 0;
    while (!CPU_ISSET(core, &allowed) || skip-- > 0)
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

/* --- a rank --- */

static _Noreturn void give_up(const struct end *end, const char *what)
{
    fprintf(stderr, "message_time: rank %d of %d: %s\n", end->rank, end->plan->ranks, what);
    _exit(1);
}

static void must(const struct end *end, int rc)
{
    if (rc < 0)
        give_up(end, ftc_last_error());
}

/* Sends as the runtime does, with two buffers for each message. */
static void send(struct end *end, bool last)
{
    struct ftc_buffer *head = ftc_buffer_new(HEAD_BYTES);
    struct ftc_value value = {.buffer = ftc_buffer_new(end->plan->bytes), .size = end->plan->bytes};
    if (head == NULL || value.buffer == NULL)
        give_up(end, "out of memory");
    memset(head->data, last, HEAD_BYTES);
    memcpy(value.buffer->data, end->bytes, end->plan->bytes);
    must(end, end->transport->ops->send(end->transport, end->partner, head, &value, false));
    ftc_buffer_unref(value.buffer);
    ftc_buffer_unref(head);
}

static void sleep_once(struct end *end)
{
    uint32_t expected = ftc_bell_prepare(&end->bell);
    if (!end->transport->ops->ready(end->transport))
        ftc_bell_sleep(&end->bell, expected, SLEEP_NS, -1, -1);
    ftc_bell_awake(&end->bell);
}

/* Waits as the runtime does (runtime/comm/drive.c). Returns true if the sender marked the message
 * as the last one. */
static bool receive(struct end *end)
{
    struct ftc_buffer *message = NULL;
    uint64_t limit = 0;
    bool idle;
    int rc, from;
    for (int looks = 1; (rc = end->transport->ops->receive(end->transport, &from, &message)) == 0;
         looks++) {
        must(end, end->transport->ops->flush(end->transport, &idle));
        if (looks <= end->spins) {
            ftc_cpu_relax();
        } else if (looks <= end->spins + end->yields) {
            sched_yield();
        } else {
            sleep_once(end);
            looks = end->spins;
            limit = limit == 0 ? ftc_clock_now() + LIMIT_NS : limit;
            if (ftc_clock_now() > limit)
                give_up(end, "no message came within 30 s");
        }
    }
    must(end, rc);
    bool last = message->data[0] != 0;
    ftc_buffer_unref(message);
    return last;
}

/* One exchange of a pair. The lower rank decides which round is the last one. */
static bool run_round(struct end *end, bool last)
{
    bool lower = end->rank < end->partner;
    if (lower || end->plan->both)
        send(end, last);
    last |= receive(end);
    if (!lower && !end->plan->both)
        send(end, last);
    return last;
}

static void count(struct end *end, uint64_t elapsed_ns)
{
    struct tally *tally = &end->shared->tally[end->rank];
    double us = (double)elapsed_ns / 1e3 / BATCH / (end->plan->both ? 1 : 2);
    tally->messages += BATCH;
    tally->total_us += us * BATCH;
    if (tally->samples < SAMPLES)
        tally->sample_us[tally->samples++] = (float)us;
}

/* Run batches until the time is over and at least one has counted. On a busy machine a single batch
 * may take longer than the time. */
static void run_batches(struct end *end)
{
    uint64_t from = end->shared->from, until = end->shared->until;
    bool lower = end->rank < end->partner, last = false;
    while (!last) {
        uint64_t start = ftc_clock_now();
        bool over = lower && start >= until && end->shared->tally[end->rank].samples > 0;
        for (int i = 0; i < BATCH; i++)
            last |= run_round(end, over && i == BATCH - 1);
        if (lower && start >= from && !over)
            count(end, ftc_clock_now() - start);
    }
}

/* Send the rest of the messages that did not fit into the ring, as the partner makes room. */
static void flush(struct end *end)
{
    uint64_t limit = ftc_clock_now() + LIMIT_NS;
    bool idle = false;
    while (!idle && ftc_clock_now() < limit) {
        must(end, end->transport->ops->flush(end->transport, &idle));
        sched_yield();
    }
}

/* `cores` is the number of cores that all ranks have together. */
static void open_end(struct end *end, struct ftc_segment *segment, int cores)
{
    bool free_cores = end->plan->ranks <= cores;
    end->spins = free_cores ? 150 : 0; /* as in set_patience() of runtime/api/init.c */
    end->yields = free_cores ? 200 : 20;
    end->partner = end->rank ^ 1;
    end->bytes = calloc(1, end->plan->bytes);
    if (end->bytes == NULL)
        give_up(end, "out of memory");
    must(end, ftc_bell_open(&end->bell, segment, end->rank));
    struct ftc_transport_setup setup = {
        .ranks = end->plan->ranks, .self = end->rank, .segment = segment, .bell = &end->bell};
    must(end, ftc_transport_shm.open(&end->transport, &setup));
}

/* The gate is a pipe to which no process writes. It opens when the parent closes its end. */
static _Noreturn void run_rank(const struct exchange_plan *plan, struct shared *shared,
                               struct ftc_segment *segment, const int gate[2], int rank)
{
    struct end end = {.plan = plan, .shared = shared, .rank = rank};
    char byte;
    int cores = plan->bind == EXCHANGE_BIND_ONE ? 1 : ftc_process_cores();
    close(gate[1]);
    bind_rank(rank, plan->bind);
    open_end(&end, segment, cores);
    run_round(&end, false);
    flush(&end);
    atomic_fetch_add(&shared->ready, 1);
    if (read(gate[0], &byte, 1) != 0)
        give_up(&end, "cannot read from a pipe");
    run_batches(&end);
    flush(&end);
    _exit(0);
}

/* --- all ranks --- */

static void fork_ranks(const struct exchange_plan *plan, struct shared *shared,
                       struct ftc_segment *segment, const int gate[2], pid_t pids[])
{
    pid_t parent = getpid();
    for (int rank = 0; rank < plan->ranks; rank++) {
        pids[rank] = fork();
        if (pids[rank] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(1);
            run_rank(plan, shared, segment, gate, rank);
        }
        if (pids[rank] < 0) {
            fprintf(stderr, "message_time: cannot fork process %d of %d: %m; raise ulimit -u\n",
                    rank, plan->ranks);
            return;
        }
    }
}

/* Wait for a rank's end, with the `options` of waitpid(). Returns false if a rank has failed. */
static bool reap(const struct exchange_plan *plan, pid_t pids[], int options)
{
    int status;
    pid_t pid = waitpid(-1, &status, options);
    for (int rank = 0; rank < plan->ranks; rank++)
        if (pid > 0 && pids[rank] == pid)
            pids[rank] = 0; /* this pid may now belong to another process */
    return pid == 0 || (pid > 0 && status == 0);
}

static bool start_ranks(const struct exchange_plan *plan, struct shared *shared, pid_t pids[])
{
    uint64_t limit = ftc_clock_now() + LIMIT_NS;
    while (atomic_load(&shared->ready) < plan->ranks) {
        if (pids[plan->ranks - 1] <= 0 || !reap(plan, pids, WNOHANG))
            return false;
        if (ftc_clock_now() > limit) {
            fprintf(stderr, "message_time: %d of %d ranks were ready within 30 s\n",
                    atomic_load(&shared->ready), plan->ranks);
            return false;
        }
        job_nap(1000);
    }
    shared->from = ftc_clock_now() + (uint64_t)(plan->seconds * WARM_UP * 1e9);
    shared->until = shared->from + (uint64_t)(plan->seconds * 1e9);
    return true;
}

static bool await_ranks(const struct exchange_plan *plan, pid_t pids[])
{
    bool sound = true;
    for (int rank = 0; rank < plan->ranks && sound; rank++)
        sound = reap(plan, pids, 0);
    return sound;
}

static void end_ranks(const struct exchange_plan *plan, const pid_t pids[])
{
    for (int rank = 0; rank < plan->ranks; rank++)
        if (pids[rank] > 0)
            kill(pids[rank], SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static bool fork_and_start(const struct exchange_plan *plan, struct shared *shared,
                           struct ftc_segment *segment, pid_t pids[])
{
    int gate[2];
    if (pipe(gate) != 0) {
        fprintf(stderr, "message_time: no pipe: %m\n");
        return false;
    }
    fork_ranks(plan, shared, segment, gate, pids);
    bool started = start_ranks(plan, shared, pids);
    close(gate[0]);
    if (started) /* if not, the gate stays shut, and end_ranks() ends the ranks behind it */
        close(gate[1]);
    return started;
}

static struct ftc_segment *make_segment(const struct exchange_plan *plan, const char *job,
                                        const char *directory)
{
    struct ftc_segment *segment = NULL;
    struct ftc_segment_spec spec = {.job = job,
                                    .host = "localhost",
                                    .command = "message_time",
                                    .directory = directory,
                                    .text = "",
                                    .ranks = plan->ranks,
                                    .heartbeat_period_ns = FTC_NS_PER_S,
                                    .heartbeat_timeout_ns = FTC_NS_PER_S};
    if (ftc_segment_create(&segment, &spec) != FTC_SUCCESS)
        fprintf(stderr, "message_time: %s\n", ftc_last_error());
    return segment;
}

/* Every channel is made before the segment loses its name. So there is nothing to remove after the
 * measurement. Signals are blocked until then. */
static bool start(const struct exchange_plan *plan, struct shared *shared, pid_t pids[])
{
    char job[FTC_JOB_NAME_SIZE], directory[108];
    int lock;
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, &before);
    bool started = ftc_jobs_new(job, directory, &lock) == FTC_SUCCESS;
    if (started) {
        struct ftc_segment *segment = make_segment(plan, job, directory);
        started = segment != NULL && fork_and_start(plan, shared, segment, pids);
        ftc_jobs_remove(directory, lock, segment);
        ftc_segment_detach(segment);
        close(lock);
    } else {
        fprintf(stderr, "message_time: %s\n", ftc_last_error());
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return started;
}

static bool evaluate(const struct exchange_plan *plan, struct shared *shared,
                     struct exchange_result *result)
{
    double total_us = 0, *samples = malloc((size_t)plan->ranks / 2 * SAMPLES * sizeof(double));
    size_t count = 0;
    *result = (struct exchange_result){0};
    if (samples == NULL) {
        fprintf(stderr, "message_time: out of memory\n");
        return false;
    }
    for (int rank = 0; rank < plan->ranks; rank += 2) {
        const struct tally *tally = &shared->tally[rank];
        result->messages += tally->messages;
        total_us += tally->total_us;
        for (int i = 0; i < tally->samples; i++)
            samples[count++] = tally->sample_us[i];
    }
    result->mean = total_us / (double)result->messages;
    result->median = job_quantile(samples, count, 0.5);
    result->p90 = job_quantile(samples, count, 0.9);
    free(samples);
    return true;
}

static bool measure(const struct exchange_plan *plan, struct shared *shared,
                    struct exchange_result *result)
{
    pid_t pids[EXCHANGE_RANKS_MAX] = {0};
    bool done = start(plan, shared, pids) && await_ranks(plan, pids);
    end_ranks(plan, pids);
    return done && evaluate(plan, shared, result);
}

bool exchange_run(const struct exchange_plan *plan, struct exchange_result *result)
{
    size_t size = sizeof(struct shared) + (size_t)plan->ranks * sizeof(struct tally);
    struct shared *shared =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        fprintf(stderr, "message_time: no shared memory: %m\n");
        return false;
    }
    bool done = measure(plan, shared, result);
    munmap(shared, size);
    return done;
}
