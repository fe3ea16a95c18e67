/*
 * The program of the storm of communicators. All ranks run one drawn program: steps that call,
 * start requests, make communicators, free them and revoke them. Each rank writes a record of each
 * operation, and the driver compares the survivors' records.
 *
 *   groups_storm_app SEED STEPS DIRECTORY [RANK:STEP:HOW ...]
 *
 *   RANK:STEP:HOW  RANK dies before this step, shortly after its start, or in the next call that
 *                  moves large blocks. If STEP is negative, it dies about -STEP microseconds after
 *                  the start of the program. HOW: kill stop exit abort segv
 *
 * A communicator that one rank revokes while the others do not is *loose* from then on, and so is
 * each one made from it: a rank gives it up when a call returns FTC_ERR_REVOKED.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node/segment/board_memory.h"
#include "tests/system/groups_storm_calls.h"
#include "tests/system/storm_death.h"

#define SLOTS     6
#define BATCH     8
#define MOST_FREE 16 /* communicators that a rank has given up, and frees later */
#define ATTEMPTS  1000

struct track {
    ftc_comm *world;
    uint64_t seed, salt; /* salt: of the step, alike at all ranks */
    int number, steps, rank;
    struct group_record *records, *step; /* step: those of this step */
    struct slot slots[SLOTS];            /* the first one is always made */
    ftc_comm *waste[MOST_FREE];
    int wasted;
};

static struct death death = {.step = -1};
static bool dies_in_large; /* the step of the death has come, and it dies in the next large call */

/* --- dying --- */

/* At once, soon, or in the next call that moves large blocks. */
static void maybe_die(const struct track *track, int step)
{
    if (track->number != 0 || step != death.step)
        return;
    uint64_t dice = call_draw(track->salt, 77 + (uint64_t)track->rank);
    dies_in_large = dice % 4 >= 2;
    if (!dies_in_large)
        death_in(dice % 4 == 0 ? 1 : 1 + (int)(dice / 4 % 2000), death.how);
    while (dice % 4 == 0)
        pause();
}

/* Such a call may copy between the memories of members. */
static void maybe_die_in(const struct call *call)
{
    if (!dies_in_large || call->kind < GROUP_BLOCKS || call->kind == GROUP_SCATTER ||
        call->words * sizeof(uint64_t) < FTC_BOARD_DIRECT)
        return;
    dies_in_large = false;
    uint64_t dice = call_draw(call->salt, 77 + (uint64_t)ftc_rank(call->world));
    death_in(1 + (int)(dice / 8 % (100u << dice % 8)), death.how);
}

/* --- slots --- */

static uint64_t draw(const struct track *track, uint64_t what, uint64_t below)
{
    return call_draw(track->salt, what) % below;
}

/* What this rank alone draws. */
static uint64_t draw_own(const struct track *track, uint64_t what, uint64_t below)
{
    return draw(track, what * 64 + (uint64_t)track->rank + 5000, below);
}

static void fill(struct track *track, struct slot *slot, ftc_comm *comm, bool loose)
{
    *slot = (struct slot){.comm = comm, .made = true, .loose = loose};
    if (comm == NULL)
        return;
    slot->members = call_members(comm, track->world);
    for (const char *c = ftc_comm_name(comm); *c != '\0'; c++)
        slot->name = slot->name * 257 + (unsigned char)*c;
    slot->name = call_draw(slot->name, slot->members) | 1;
}

static void must_free(const struct track *track, ftc_comm *comm)
{
    if (ftc_comm_free(&comm) == FTC_SUCCESS)
        return;
    fprintf(stderr, "groups_storm: rank %d: free: %s\n", track->rank, ftc_last_error());
    exit(99);
}

/* Each rank frees at a time of its own. */
static void give_up(struct track *track, ftc_comm *comm)
{
    if (comm == NULL || comm == track->world)
        return;
    if (track->wasted == MOST_FREE || draw_own(track, 3, 2) == 0)
        must_free(track, comm);
    else
        track->waste[track->wasted++] = comm;
}

static void free_waste(struct track *track)
{
    for (int i = track->wasted; i-- > 0;)
        if (draw_own(track, 100 + (uint64_t)i, 4) == 0) {
            must_free(track, track->waste[i]);
            track->waste[i] = track->waste[--track->wasted];
        }
}

/* A slot that the program has filled. */
static struct slot *pick(struct track *track, uint64_t what)
{
    struct slot *slot = &track->slots[draw(track, what, SLOTS)];

    return slot->made ? slot : &track->slots[0];
}

static void empty(struct track *track, struct slot *slot)
{
    give_up(track, slot->comm);
    *slot = (struct slot){0};
}

static void give_up_lost(struct track *track)
{
    for (int i = 0; i < SLOTS; i++)
        if (track->slots[i].lost) {
            give_up(track, track->slots[i].comm);
            track->slots[i].comm = NULL;
            track->slots[i].lost = false;
        }
}

/* --- steps --- */

static struct call prepared(struct track *track, struct slot *slot, enum group_kind kind, int index)
{
    struct call call = {.world = track->world,
                        .slot = slot,
                        .kind = kind,
                        .salt = call_draw(track->salt, 10000 + (uint64_t)index),
                        .record = &track->step[index]};

    call_prepare(&call);
    if (track->number == 0 && call.comm != NULL)
        maybe_die_in(&call);
    return call;
}

/* Every third call is an alltoall, in which members copy from each other from 16 KiB a block on. */
static enum group_kind draw_kind(const struct track *track, int index)
{
    uint64_t dice = draw(track, 200 + (uint64_t)index, 3 * GROUP_CALLS);

    return dice % 3 == 0 ? GROUP_ALLTOALL : (enum group_kind)(dice / 3);
}

static void run(struct call *call)
{
    if (call->comm != NULL)
        call_conclude(call, call_run(call), true);
}

static void call_one(struct track *track)
{
    struct call call = prepared(track, pick(track, 1), draw_kind(track, 0), 0);

    run(&call);
}

static void make(struct track *track)
{
    struct slot *to = &track->slots[1 + draw(track, 1, SLOTS - 1)], *from;

    empty(track, to);
    from = pick(track, 2);
    enum group_kind kind = GROUP_DUP + (enum group_kind)draw(track, 3, GROUP_KINDS - GROUP_DUP);
    struct call call = prepared(track, from, kind, 0);
    run(&call);
    fill(track, to, call.child, from->loose);
    if (draw(track, 4, 2) == 0) {
        struct call look = prepared(track, to, GROUP_ALLREDUCE, 1);
        run(&look);
    }
}

static void free_one(struct track *track)
{
    empty(track, &track->slots[1 + draw(track, 1, SLOTS - 1)]);
}

/* --- requests --- */

struct batch {
    struct call calls[BATCH];
    ftc_request *requests[BATCH]; /* those of the calls; NULL: ended, or none */
    int count;
};

static void start(struct batch *batch, int i)
{
    struct call *call = &batch->calls[i];

    batch->requests[i] = NULL;
    if (call->comm == NULL)
        return;
    int status = call_start(call);
    if (status != FTC_SUCCESS)
        call_conclude(call, status, false);
    else
        batch->requests[i] = call->request;
}

static void ended(struct batch *batch, int i, int rc, const ftc_status *status)
{
    if (status->error != rc || batch->requests[i] != NULL)
        call_wrong(&batch->calls[i], "a request has ended with two results");
    call_conclude(&batch->calls[i], rc, true);
}

static void wait_any(struct batch *batch)
{
    int index = -1;

    for (;;) {
        ftc_status status = {0};
        int rc = ftc_wait_any(batch->count, batch->requests, &index, &status);
        if (index == FTC_UNDEFINED)
            return;
        ended(batch, index, rc, &status);
    }
}

static void wait_all(struct batch *batch)
{
    ftc_status statuses[BATCH];
    bool waited[BATCH];

    for (int i = 0; i < batch->count; i++)
        waited[i] = batch->requests[i] != NULL;
    (void)ftc_wait_all(batch->count, batch->requests, statuses);
    for (int i = 0; i < batch->count; i++)
        if (waited[i])
            call_conclude(&batch->calls[i], statuses[i].error, false);
}

static void wait_in_order(struct batch *batch, int first, int by, bool tests)
{
    for (int n = 0; n < batch->count; n++) {
        int i = (first + n * by) % batch->count, done = !tests, rc = FTC_SUCCESS;
        ftc_status status = {0};
        if (batch->requests[i] == NULL)
            continue;
        if (!tests)
            rc = ftc_wait(&batch->requests[i], &status);
        while (!done) {
            rc = ftc_test(&batch->requests[i], &done, &status);
            sched_yield(); /* there are more ranks than cores */
        }
        ended(batch, i, rc, &status);
    }
}

/* Each rank waits in a way of its own. */
static void wait_for(struct track *track, struct batch *batch)
{
    int first = (int)draw_own(track, 11, (uint64_t)batch->count);

    switch (draw_own(track, 10, 5)) {
    case 0:
        wait_any(batch);
        break;
    case 1:
        wait_all(batch);
        break;
    case 2: /* the last one first */
        wait_in_order(batch, batch->count - 1, batch->count - 1, false);
        wait_in_order(batch, 0, 1, false);
        break;
    default:
        wait_in_order(batch, first, 1, draw_own(track, 12, 2) == 0);
    }
}

static void start_and_wait(struct track *track)
{
    struct slot *to = &track->slots[1 + draw(track, 1, SLOTS - 1)], *from = NULL;
    int maker = (int)draw(track, 2, 2 * BATCH); /* the request that makes a communicator */
    struct batch batch = {.count = 1 + (int)draw(track, 3, BATCH)};

    if (maker < batch.count)
        empty(track, to);
    for (int i = 0; i < batch.count; i++) {
        struct slot *slot = pick(track, 20 + (uint64_t)i);
        enum group_kind kind = draw_kind(track, i);
        if (i == maker) {
            from = slot;
            kind = GROUP_DUP + (enum group_kind)draw(track, 4, GROUP_CREATE - GROUP_DUP);
        }
        batch.calls[i] = prepared(track, slot, kind, i);
        start(&batch, i);
    }
    if (draw(track, 5, 3) == 0) { /* it comes behind the requests of its communicator */
        struct call call = prepared(track, pick(track, 6), draw_kind(track, BATCH), BATCH);
        run(&call);
    }
    wait_for(track, &batch);
    if (from != NULL)
        fill(track, to, batch.calls[maker].child, from->loose);
}

/* --- revoking --- */

/* All revoke, and so each caller knows of it. Then they validate and shrink. */
static ftc_comm *recover_together(struct track *track, struct slot *slot)
{
    if (slot->comm != NULL && ftc_comm_revoke(slot->comm) != FTC_SUCCESS)
        exit(99);
    struct call validate = prepared(track, slot, GROUP_VALIDATE, BATCH);
    if (validate.comm != NULL)
        call_conclude(&validate, call_run(&validate), false);
    struct call shrink = prepared(track, slot, GROUP_SHRINK, BATCH + 1);
    run(&shrink);
    return shrink.child;
}

static int look_into(ftc_comm *comm)
{
    int one = 1, sum = 0;

    return ftc_allreduce(&one, &sum, 1, FTC_INT32, FTC_SUM, comm);
}

/* Some may have learnt of the revoke before the shrink and others after it. So a child counts only
 * after a call in it. */
static ftc_comm *recover_apart(const struct slot *slot)
{
    for (int i = 0; i < ATTEMPTS && slot->comm != NULL; i++) {
        ftc_comm *child = NULL;
        int rc = ftc_comm_shrink(slot->comm, &child);
        if (rc == FTC_SUCCESS && (rc = look_into(child)) == FTC_SUCCESS)
            return child;
        if (rc != FTC_ERR_REVOKED || (child != NULL && ftc_comm_free(&child) != FTC_SUCCESS)) {
            fprintf(stderr, "groups_storm: shrink: %s\n", ftc_last_error());
            exit(99);
        }
    }
    if (slot->comm == NULL)
        return NULL;
    fprintf(stderr, "groups_storm: no survivors after %d attempts\n", ATTEMPTS);
    exit(99);
}

static void revoke_by_one(const struct track *track, const struct slot *slot)
{
    if (slot->comm == NULL)
        return;
    uint64_t who = draw(track, 8, (uint64_t)ftc_size(slot->comm));
    if ((int)who == ftc_rank(slot->comm) && ftc_comm_revoke(slot->comm) != FTC_SUCCESS)
        exit(99);
}

static void revoke_and_recover(struct track *track)
{
    struct slot *slot = pick(track, 1);
    bool was_loose = slot->loose, together = draw(track, 2, 2) == 0;
    struct batch batch = {.count = 1 + (int)draw(track, 3, BATCH - 1)};
    bool knows = false;

    if (slot == &track->slots[0] && draw(track, 4, 4) > 0)
        return;
    for (int i = 0; i <= batch.count; i++) {
        if (i == 1 + (int)draw(track, 5, BATCH - 1))
            revoke_by_one(track, slot);
        enum group_kind kind = i == 0 ? GROUP_BARRIER : draw_kind(track, i);
        if (kind == GROUP_VALIDATE && (knows || i >= 1 + (int)draw(track, 5, BATCH - 1)))
            kind =
                GROUP_BARRIER; /* a validate of one that knows is an agreement after the revoke */
        struct call call = prepared(track, slot, kind, i);
        call.may_be_revoked = true;
        if (i == 0) { /* all have returned from earlier calls */
            if (call.comm != NULL)
                call_conclude(&call, call_run(&call), true);
            knows = track->step[0].status == FTC_ERR_REVOKED;
            continue;
        }
        batch.calls[i - 1] = call;
        start(&batch, i - 1);
    }
    wait_for(track, &batch);
    ftc_comm *rest = together && !was_loose ? recover_together(track, slot) : recover_apart(slot);
    give_up(track, slot->comm);
    fill(track, slot, rest, !together || was_loose);
}

static void trace_step(const struct track *track, int step, const char *what)
{
    if (getenv("STORM_TRACE") != NULL)
        fprintf(stderr, "rank %d: step %d: %s\n", track->rank, step, what);
}

static void take_step(struct track *track, int step)
{
    uint64_t dice;

    track->salt = call_draw(track->seed + (uint64_t)track->number * 7919, (uint64_t)step);
    track->step = track->records + (size_t)step * GROUP_PER_STEP;
    maybe_die(track, step);
    dice = draw(track, 0, 100);
    if (dice < 35)
        call_one(track);
    else if (dice < 58)
        trace_step(track, step, "batch"), start_and_wait(track);
    else if (dice < 84)
        trace_step(track, step, "make"), make(track);
    else if (dice < 91)
        trace_step(track, step, "free"), free_one(track);
    else
        trace_step(track, step, "revoke"), revoke_and_recover(track);
    give_up_lost(track);
    free_waste(track);
    for (int i = 0; i < GROUP_PER_STEP; i++)
        track->step[i].done = 1;
}

static void *run_track(void *arg)
{
    struct track *track = arg;

    for (int step = 0; step < track->steps; step++)
        take_step(track, step);
    return NULL;
}

/* --- the program --- */

static struct group_record *open_records(const char *directory, int rank, int steps)
{
    char path[512];
    size_t size = group_records(steps) * sizeof(struct group_record);

    snprintf(path, sizeof(path), "%s/%d", directory, rank);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *records = fd >= 0 && ftruncate(fd, (off_t)size) == 0
                        ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                        : MAP_FAILED;
    if (records == MAP_FAILED) {
        fprintf(stderr, "groups_storm: cannot make %s\n", path);
        exit(99);
    }
    close(fd);
    return records;
}

static struct track new_track(ftc_comm *world, uint64_t seed, int steps, int number,
                              struct group_record *records)
{
    struct track track = {.world = world,
                          .seed = seed,
                          .steps = steps,
                          .number = number,
                          .rank = ftc_rank(world),
                          .records =
                              records + group_records(steps) / GROUP_TRACKS * (size_t)number};
    ftc_comm *comm = world;

    if (number > 0 && ftc_comm_dup(world, &comm) != FTC_SUCCESS) {
        fprintf(stderr, "groups_storm: dup: %s\n", ftc_last_error());
        exit(99);
    }
    fill(&track, &track.slots[0], comm, false);
    return track;
}

int main(int argc, char **argv)
{
    ftc_comm *world;
    pthread_t thread;
    static struct track tracks[GROUP_TRACKS];

    if (argc < 4)
        return 2;
    if (ftc_init(NULL, &world) != FTC_SUCCESS) {
        fprintf(stderr, "groups_storm: %s\n", ftc_last_error());
        return 99;
    }
    uint64_t seed = strtoull(argv[1], NULL, 10);
    int steps = atoi(argv[2]), count = group_tracks(seed);
    struct group_record *records = open_records(argv[3], ftc_rank(world), steps);
    for (int i = 4; i < argc; i++)
        death_order(&death, ftc_rank(world), argv[i]);
    for (int i = 0; i < count; i++)
        tracks[i] = new_track(world, seed, steps, i, records);
    if (count > 1 && pthread_create(&thread, NULL, run_track, &tracks[1]) != 0)
        return 99;
    run_track(&tracks[0]);
    if (count > 1)
        pthread_join(thread, NULL);
    if (ftc_finalize(world) != FTC_SUCCESS) {
        fprintf(stderr, "groups_storm: finalize: %s\n", ftc_last_error());
        return 99;
    }
    return 0;
}
