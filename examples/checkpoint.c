/*
 * Checkpoints of a state that is spread over the ranks. All survivors agree on which ranks have
 * failed and on which checkpoint is whole. When a part of the state has died, they go back to that
 * checkpoint.
 *
 *     ftrun -np 8 -f 2 --kill 3@0.2 --kill 5@0.4 ./checkpoint state 400 20 5
 *
 * The same command, given again after the whole job was killed, goes on from the last checkpoint.
 *
 * arguments: directory, which all hosts share and which is made if it is missing; steps; steps
 * between two checkpoints (default 20); pause within each write in milliseconds (default 0)
 *
 * A checkpoint is made in three steps. There are two slots for checkpoints, and the last whole
 * checkpoint is in one of them.
 *
 *   1. Each rank writes each of its shards to a file with a name of the rank's own, syncs it, and
 *      renames it into the slot that is not in use.
 *   2. An allreduce counts the shards that were written. If some are missing, a rank has died. The
 *      checkpoint in the other slot then stays the last one.
 *   3. The lowest survivor writes the file `latest`, which names step and slot, and renames it into
 *      place. An allreduce tells all ranks that this is done. If the lowest survivor is missing in
 *      the sum, it has died, before the rename or after it. Then the next survivor does the same
 *      again, to the same effect.
 *
 * So a kill at any moment leaves `latest` either old or new, and all shards of the checkpoint that
 * `latest` names are whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftcoll.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SHARDS 16

struct job {
    ftc_comm *world;
    int rank, size, folder; /* folder: descriptor of the directory */
    struct timespec pause;
    bool *alive; /* alive[rank]: this rank is not in the agreed failed set */
    bool mine[SHARDS];
    uint64_t state[SHARDS]; /* valid for the shards in `mine` */
    uint64_t total;
    /* step: of the computation. saved, number: step and number of the last whole checkpoint, as in
     * `latest`; number is 0 if there is none. */
    int64_t step, saved, number;
    long went_back;
};

static void need(const struct job *job, bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "checkpoint: rank %d: %s: %s\n", job->rank, what,
            errno ? strerror(errno) : ftc_last_error());
    ftc_abort(job->world, 1);
}

/* Replace each number by its sum over the ranks. All ranks get the sums. */
static void sum(const struct job *job, uint64_t *numbers, size_t count)
{
    errno = 0;
    need(job, ftc_allreduce(FTC_IN_PLACE, numbers, count, FTC_UINT64, FTC_SUM, job->world) == 0,
         "allreduce");
}

static const char *own_name(char name[32], int rank)
{
    snprintf(name, 32, "unfinished-%d", rank);
    return name;
}

/* Write a file that is there as a whole or not at all. If a host is cut off, its writes may reach a
 * shared disk late, but they go to the rank's own name only. */
static void write_whole(const struct job *job, const char *name, const char *text)
{
    char own[32];
    size_t half = strlen(text) / 2, rest = strlen(text) - half;
    int fd = openat(job->folder, own_name(own, job->rank), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                    0666);
    need(job, fd >= 0 && write(fd, text, half) == (ssize_t)half, own);
    nanosleep(&job->pause, NULL); /* gives `ftrun --kill` time to strike in the middle of a file */
    need(job, write(fd, text + half, rest) == (ssize_t)rest && fsync(fd) == 0 && close(fd) == 0,
         own);
    need(job, renameat(job->folder, own, job->folder, name) == 0 && fsync(job->folder) == 0, name);
}

/* Returns false if there is no such file. */
static bool read_whole(const struct job *job, const char *name, int64_t *step, uint64_t *value)
{
    char text[80] = "", end[8] = "";
    int fd = openat(job->folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return false;
    need(job, fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0, name);
    close(fd);
    errno = EBADMSG;
    need(job,
         sscanf(text, "step %" SCNd64 " value %" SCNu64 " %7s", step, value, end) == 3 &&
             !strcmp(end, "whole"),
         name);
    return true;
}

static void write_checked(const struct job *job, const char *name, uint64_t value)
{
    char text[80];
    snprintf(text, sizeof(text), "step %" PRId64 " value %" PRIu64 " whole\n", job->step, value);
    write_whole(job, name, text);
}

static const char *shard_name(char name[32], int shard, int64_t number)
{
    snprintf(name, 32, "shard-%d.%d", shard,
             (int)(number % 2)); /* the slot of the checkpoint before stays untouched */
    return name;
}

/* Agree on the failed ranks, and share out the shards among the others. Every survivor gets the
 * same failed set, so all compute the same shares. */
static void share_out(struct job *job)
{
    ftc_rank_info *failed = calloc((size_t)job->size, sizeof(*failed));
    int count, owners = 0, before = 0;
    char name[32];
    need(job, failed != NULL, "memory");
    errno = 0;
    need(job, ftc_validate_global(job->world, &count) == 0, "validate");
    need(job, ftc_get_state_global(job->world, FTC_RANK_NULL, job->size, &count, failed) == 0,
         "validate");
    for (int i = 0; i < count; i++) {
        job->alive[failed[i].rank] = false;
        unlinkat(job->folder, own_name(name, failed[i].rank), 0); /* if it has left a file */
    }
    free(failed);
    for (int i = 0; i < job->size; i++) {
        owners += job->alive[i];
        before += job->alive[i] && i < job->rank;
    }
    for (int i = 0; i < SHARDS; i++)
        job->mine[i] = i % owners == before;
}

/* Go back to the last whole checkpoint, or to the beginning if there is none. */
static void go_back(struct job *job)
{
    char name[32];
    share_out(job);
    for (int i = 0; i < SHARDS; i++) {
        int64_t step = 0;
        job->state[i] = (uint64_t)i + 1;
        if (job->mine[i] && job->number > 0)
            need(job, read_whole(job, shard_name(name, i, job->number), &step, &job->state[i]),
                 name);
        errno = EBADMSG;
        need(job, !job->mine[i] || step == job->saved, name);
    }
    job->step = job->saved;
}

/* Sum all shards: a step of the computation needs the sum. Returns false if shards have died. */
static bool add_up(struct job *job)
{
    uint64_t all[2] = {0, 0};
    for (int i = 0; i < SHARDS; i++)
        if (job->mine[i]) {
            all[0] += job->state[i];
            all[1]++;
        }
    sum(job, all, 2);
    job->total = all[0];
    return all[1] == SHARDS;
}

static void advance(struct job *job)
{
    for (int i = 0; i < SHARDS; i++)
        job->state[i] = job->state[i] * 6364136223846793005u + job->total;
    job->step++;
}

/* Make a checkpoint. Returns false if shards have died, and keeps the last checkpoint then. */
static bool save(struct job *job)
{
    char name[32];
    uint64_t shards = 0, done = 0;
    for (int i = 0; i < SHARDS; i++)
        if (job->mine[i]) {
            write_checked(job, shard_name(name, i, job->number + 1), job->state[i]);
            shards++;
        }
    sum(job, &shards, 1);
    if (shards < SHARDS)
        return false;
    for (int writer = 0; done == 0; writer++) /* ends when this rank is the writer, or before */
        if (job->alive[writer]) {
            if (job->rank == writer)
                write_checked(job, "latest", (uint64_t)job->number + 1);
            done = job->rank == writer;
            sum(job, &done, 1);
        }
    job->number++;
    job->saved = job->step;
    return true;
}

/* Open the directory and read `latest`, which must say the same to all ranks. Before that, wait
 * until the ranks of an earlier job have ended: if its ftrun was killed, they may still be writing.
 * Each rank holds a shared lock as long as it lives, and the exclusive lock waits for those. */
static void open_folder(struct job *job, const char *path)
{
    uint64_t number = 0;
    need(job, mkdir(path, 0777) == 0 || errno == EEXIST, path);
    job->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    need(job, job->folder >= 0, path);
    int lock =
        openat(job->folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666); /* open until we end */
    need(job, lock >= 0 && flock(lock, LOCK_EX) == 0 && flock(lock, LOCK_UN) == 0, "lock");
    read_whole(job, "latest", &job->saved, &number);
    int64_t most[2] = {(int64_t)number, -(int64_t)number};
    errno = 0;
    need(job, ftc_allreduce(FTC_IN_PLACE, most, 2, FTC_INT64, FTC_MAX, job->world) == 0,
         "allreduce");
    errno = ESTALE;
    need(job, most[0] == -most[1], "hosts see different checkpoints");
    need(job, flock(lock, LOCK_SH) == 0, "lock"); /* all ranks are past the exclusive lock */
    job->number = (int64_t)number;
}

int main(int argc, char **argv)
{
    long steps = argc > 2 ? atol(argv[2]) : 0, every = argc > 3 ? atol(argv[3]) : 20;
    long pause_ms = argc > 4 ? atol(argv[4]) : 0;
    struct job job = {.pause = {.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000}};

    if (steps < 1 || every < 1 || ftc_init(NULL, &job.world) != FTC_SUCCESS) {
        fprintf(stderr, "usage: checkpoint DIRECTORY STEPS [EVERY [PAUSE_MS]]\n%s\n",
                ftc_last_error());
        return 2;
    }
    job.rank = ftc_rank(job.world);
    job.size = ftc_size(job.world);
    job.alive = malloc((size_t)job.size * sizeof(bool));
    need(&job, job.alive != NULL, "memory");
    memset(job.alive, true, (size_t)job.size * sizeof(bool));
    open_folder(&job, argv[1]);
    go_back(&job);
    int64_t began = job.step;
    for (;;) {
        bool good = add_up(&job);
        if (good && job.step >= steps)
            break;
        if (good) {
            advance(&job);
            good = job.step % every != 0 || save(&job);
        }
        if (!good) {
            go_back(&job);
            job.went_back++;
        }
    }
    printf("rank %d: from step %" PRId64 " to %" PRId64 ", went back %ld times, total %" PRIu64
           "\n",
           job.rank, began, job.step, job.went_back, job.total);
    close(job.folder);
    free(job.alive);
    return ftc_finalize(job.world) == FTC_SUCCESS ? 0 : 1;
}
