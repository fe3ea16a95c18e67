/*
 * Looks to ftrun like a rank, without the library. It fills its slot as ftc_init() would, sends
 * heartbeats, and then does as it is told.
 *
 *   join_probe survive N   wait until N ranks were declared failed, print them, finalize, exit 0
 *   join_probe finalize C  finalize, exit with C
 *   join_probe exit C [N]  exit with C without finalizing, after N beats
 *   join_probe stall       stop beating
 *   join_probe enter K     be in operation K, and show no more of it
 *   join_probe accuse R    ask for rank R to be fenced, then as "survive 1"
 *   join_probe abort C     end the job with C
 *   join_probe wait R      claim to wait for rank R, for ever
 *   join_probe linger MS   finalize, then live on that long without beating, exit 0
 *   join_probe pid P       claim to be process P, then as "survive 1"
 *   join_probe damage WHAT damage a word of the segment, then be killed
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collectives/agreement/member.h"
#include "collectives/call.h"
#include "collectives/frame.h"
#include "node/bell.h"
#include "node/segment/segment.h"
#include "node/system/process.h"

#define BEAT_US  10000
#define PATIENCE 3000 /* beats: together 30 s */

struct probe {
    struct ftc_segment *segment;
    struct ftc_slot *slot;
    struct ftc_standing *standing;
    struct ftc_bell bell;
    int rank;
};

static void join(struct probe *probe, pid_t pid)
{
    const char *rank = getenv("FTCOLL_RANK"), *job = getenv("FTCOLL_JOB_SEGMENT");
    if (rank == NULL || job == NULL || ftc_segment_attach(&probe->segment, job, true) != 0) {
        fprintf(stderr, "join_probe: not started by ftrun\n");
        exit(99);
    }
    probe->rank = atoi(rank);
    probe->slot = ftc_segment_slot(probe->segment, probe->rank);
    probe->standing = ftc_segment_standing(probe->segment, probe->rank);
    if (ftc_bell_open(&probe->bell, probe->segment, probe->rank) != 0)
        exit(98);
    atomic_store(&probe->standing->pid, pid);
    atomic_store(&probe->slot->pid_start, ftc_process_start(pid));
    atomic_store(&probe->standing->joined_ns, ftc_clock_now());
    atomic_store(&probe->slot->heartbeat, 1);
    atomic_store_explicit(&probe->standing->phase, FTC_PHASE_JOINED, memory_order_release);
    ftc_bell_ring_launcher(&probe->bell);
}

static void beat(struct probe *probe)
{
    atomic_fetch_add(&probe->slot->heartbeat, 1);
    usleep(BEAT_US);
}

static bool somebody_lacks_the_mark(struct probe *probe)
{
    for (int rank = 0; rank < ftc_segment_ranks(probe->segment); rank++) {
        struct ftc_standing *standing = ftc_segment_standing(probe->segment, rank);
        if (!ftc_segment_failed(probe->segment, rank) &&
            atomic_load_explicit(&standing->phase, memory_order_acquire) != FTC_PHASE_FINALIZED)
            return true;
    }
    return false;
}

/* agreement.md, finalize: sets the mark, and stays until each other rank has it or has failed. */
static int finalize(struct probe *probe, int code)
{
    atomic_store_explicit(&probe->standing->phase, FTC_PHASE_FINALIZED, memory_order_release);
    for (int beats = 0; beats < PATIENCE && somebody_lacks_the_mark(probe); beats++)
        beat(probe);
    ftc_bell_close(&probe->bell);
    return code;
}

static int survive(struct probe *probe, int count)
{
    uint32_t cursor = 0;
    for (int beats = 0; count > 0 && beats < PATIENCE; beats++) {
        int failed = ftc_segment_next_failure(probe->segment, &cursor);
        if (failed >= 0) {
            struct ftc_standing *standing = ftc_segment_standing(probe->segment, failed);
            printf("rank %d failed: %s %d\n", failed,
                   ftc_failure_cause_name(atomic_load(&standing->cause)),
                   atomic_load(&standing->detail));
            count--;
        }
        beat(probe);
    }
    fflush(stdout);
    return finalize(probe, count > 0 ? 97 : 0);
}

static void wait_for(struct probe *probe, int rank)
{
    struct ftc_activity *activity = &probe->slot->activity;
    atomic_store(&activity->kind, FTC_CALL_ALLREDUCE);
    atomic_store(&activity->op, 17);
    atomic_store(&activity->communicator, FTC_COMMUNICATOR_WORLD);
    atomic_store(&activity->since_ns, ftc_clock_now());
    atomic_store(&activity->role, FTC_WAIT_GROUP);
    atomic_store(&activity->waits_for, rank);
    atomic_store(&activity->waits, 1);
    for (;;)
        beat(probe);
}

static void enter(struct probe *probe, int op)
{
    atomic_store(&probe->slot->counters.operations, (uint64_t)op);
    atomic_store(&probe->slot->called, (uint64_t)op + 1);
    for (;;)
        beat(probe);
}

struct damage {
    const char *what;
    _Atomic uint32_t *word;
    uint32_t value;
};

/* Damages a word that ftrun writes or reads. The accused rank is dead, or does not exist. */
static _Noreturn void damage(struct probe *probe, const char *what)
{
    struct ftc_segment_header *header = ftc_segment_header(probe->segment);
    struct ftc_slot *slot = probe->slot;
    struct ftc_standing *standing = probe->standing;
    const struct damage all[] = {
        {"failed", &standing->failed, 1},
        {"ended", &standing->ended, 1},
        {"failures", &header->failures, 2},
        {"no-failures", &header->failures, UINT32_MAX},
        {"phase", &standing->phase, FTC_PHASE_FINALIZED},
        {"no-phase", &standing->phase, 77},
        {"pid", (_Atomic uint32_t *)&standing->pid, 0x7ffffff0},
        {"accused", (_Atomic uint32_t *)&slot->accused, 0x80000000},
        {"accused-self", (_Atomic uint32_t *)&slot->accused, (uint32_t)probe->rank + 1},
        {"unreachable", (_Atomic uint32_t *)&slot->unreachable, 4711},
        {"finalized", &header->finalized, 4711},
        {"abort", (_Atomic uint32_t *)&header->abort, 4711},
        {"state", &header->state, FTC_JOB_ENDED},
    };
    const size_t count = sizeof(all) / sizeof(all[0]);
    size_t i = 0;

    while (i < count && strcmp(what, all[i].what) != 0)
        i++;
    if (i == count) /* a mistake in the test */
        _exit(96);
    atomic_store(all[i].word, all[i].value);
    ftc_bell_ring_launcher(&probe->bell);
    raise(SIGKILL);
    _exit(96);
}

int main(int argc, char **argv)
{
    static struct probe probe; /* static, so that exit() frees what it holds */
    const char *what = argc > 1 ? argv[1] : "finalize";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    join(&probe, strcmp(what, "pid") == 0 ? number : getpid());
    if (strcmp(what, "survive") == 0)
        return survive(&probe, number);
    if (strcmp(what, "pid") == 0)
        return survive(&probe, 1);
    if (strcmp(what, "exit") == 0) {
        for (int beats = argc > 3 ? atoi(argv[3]) : 0; beats > 0; beats--)
            beat(&probe);
        return number;
    }
    if (strcmp(what, "damage") == 0)
        damage(&probe, argv[2]);
    if (strcmp(what, "stall") == 0)
        pause();
    if (strcmp(what, "wait") == 0)
        wait_for(&probe, number);
    if (strcmp(what, "enter") == 0)
        enter(&probe, number);
    if (strcmp(what, "accuse") == 0) {
        atomic_store(&probe.slot->accused, number + 1);
        ftc_bell_ring_launcher(&probe.bell);
        return survive(&probe, 1);
    }
    if (strcmp(what, "abort") == 0) {
        atomic_store(&ftc_segment_header(probe.segment)->abort, FTC_ABORT(probe.rank, number));
        ftc_bell_ring_launcher(&probe.bell);
        pause();
    }
    if (strcmp(what, "linger") == 0) {
        finalize(&probe, 0);
        usleep((useconds_t)number * 1000);
        return 0;
    }
    return finalize(&probe, number);
}
