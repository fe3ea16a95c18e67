/*
 * The jobs of a user on this node. A job is a segment in /dev/shm and a private directory for sockets and
 * PMIx files, both named after the launcher's pid. Removing one goes from the outside in: processes,
 * directory, segment; the segment says where the directory is, so that whoever is killed half-way leaves the
 * rest findable.
 *
 * Nothing is followed that could lead out: every step down is an openat() that refuses symbolic links, and
 * the directory above the jobs must belong to this user alone.
 */
#include "node/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define MAX_DEPTH      16 /* of what PMIx builds in a job's directory */
#define MAX_TRIES      100
#define MAX_NAMES      1000 /* job names tried */
#define KILL_WAIT_NS   (5 * FTC_NS_PER_S)
#define OWNER_LINK     "owner" /* -> "<pid namespace>:<start time>" of the launcher */
#define LONGEST_SOCKET "/launcher"

/* --- the directory of all jobs --- */

static int base_path(char base[108])
{
    const char *root = getenv("TMPDIR");
    unsigned long uid = (unsigned long)geteuid();
    size_t longest = sizeof("/4294967295.4294967295" LONGEST_SOCKET);
    if (root == NULL || root[0] != '/')
        root = "/tmp";
    int length = snprintf(base, 108, "%s/ftcoll-%lu", root, uid);
    if (length < 0 || (size_t)length + longest > 108)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "TMPDIR is too long for sockets in it (%s): set it to a shorter path", root);
    return 0;
}

/* A descriptor, if the directory is this user's and nobody else's. */
static int open_base(const char *base)
{
    int fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    if (fd < 0)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot open %s: %m: it must be a directory of yours; move away what is "
                             "there or set TMPDIR",
                             base);
    if (fstat(fd, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 0777) == 0700)
        return fd;
    close(fd);
    return ftc_error_set(FTC_ERR_SYSTEM,
                         "%s has owner %lu and mode %03o, not yours and 700: move it away or set "
                         "TMPDIR to a directory of your own",
                         base, (unsigned long)info.st_uid, (unsigned)(info.st_mode & 0777));
}

/* The umask can only take bits away from 0700; give them back. */
static int make_private(const char *path)
{
    if (mkdir(path, 0700) != 0)
        return -1;
    return chmod(path, 0700);
}

/* Another job's end removes it while it is empty, perhaps between two of these lines: then once more. */
static int make_base(const char *base)
{
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        int made = make_private(base);
        if (made != 0 && errno == ENOENT)
            continue;
        if (made != 0 && errno != EEXIST)
            break;
        int fd = open_base(base);
        if (fd >= 0 || errno != ENOENT)
            return fd;
    }
    return ftc_error_set(FTC_ERR_SYSTEM,
                         "cannot make %s: %m: set TMPDIR to a directory that you may write to", base);
}

/* --- new jobs --- */

static bool segment_exists(const char *job)
{
    char path[128];
    struct stat info;
    ftc_segment_path(path, geteuid(), job);
    return lstat(path, &info) == 0;
}

static void mark_owner(int base_fd, const char *job)
{
    char path[FTC_JOB_NAME_SIZE + 16], owner[64];
    snprintf(path, sizeof(path), "%.*s/%s", FTC_JOB_NAME_SIZE - 1, job, OWNER_LINK);
    snprintf(owner, sizeof(owner), "%llu:%llu", (unsigned long long)ftc_process_namespace(),
             (unsigned long long)ftc_process_start(getpid()));
    /* Without it the directory is only removed when empty: no reason to refuse the job. */
    (void)!symlinkat(owner, base_fd, path);
}

/* 0, FTC_ERR_STATE: the name is taken or the base vanished, try again; or another error. */
static int try_name(int base_fd, const char *base, const char *job)
{
    if (segment_exists(job))
        return FTC_ERR_STATE;
    if (mkdirat(base_fd, job, 0700) != 0) {
        if (errno == EEXIST || errno == ENOENT)
            return FTC_ERR_STATE;
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot make %s/%s: %m", base, job);
    }
    if (fchmodat(base_fd, job, 0700, 0) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot set the mode of %s/%s: %m", base, job);
    mark_owner(base_fd, job);
    return 0;
}

int ftc_jobs_new(char job[FTC_JOB_NAME_SIZE], char directory[108])
{
    char base[108], name[FTC_JOB_NAME_SIZE];
    int rc = base_path(base);
    if (rc != 0)
        return rc;
    for (int n = 0; n < MAX_NAMES; n++) {
        /* Opened anew each time: another job's end may have removed it while it was empty. */
        int base_fd = make_base(base);
        if (base_fd < 0)
            return base_fd;
        snprintf(name, sizeof(name), "%ld.%d", (long)getpid(), n);
        rc = try_name(base_fd, base, name);
        close(base_fd);
        if (rc == FTC_ERR_STATE)
            continue;
        if (rc == 0) {
            memcpy(job, name, sizeof(name));
            snprintf(directory, 108, "%.75s/%s", base, name);
        }
        return rc;
    }
    return ftc_error_set(FTC_ERR_SYSTEM,
                         "no free job name in %s: remove what dead jobs left (ftcoll-status --gc)", base);
}

void ftc_jobs_name_cluster(char cluster[FTC_JOB_NAME_SIZE])
{
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");

    int length = job != NULL && step != NULL ? snprintf(cluster, FTC_JOB_NAME_SIZE, "%s.%s", job, step) : -1;
    if (length < 0 || length >= FTC_JOB_NAME_SIZE)
        snprintf(cluster, FTC_JOB_NAME_SIZE, "%d.0", (int)getpid());
}

/* --- removing --- */

static void remove_tree(int parent, const char *name, int depth);

static void remove_entries(DIR *dir, int depth)
{
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) != 0 && (errno == EISDIR || errno == EPERM))
            remove_tree(dirfd(dir), entry->d_name, depth + 1);
    }
}

/* Remove a directory of this user and what is in it. */
static void remove_tree(int parent, const char *name, int depth)
{
    struct stat info;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    DIR *dir = NULL;
    if (depth < MAX_DEPTH && fstat(fd, &info) == 0 && info.st_uid == geteuid())
        dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return;
    }
    remove_entries(dir, depth);
    closedir(dir);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* `directory` may come from a segment: only ".../ftcoll-<uid>/<job>" is taken. */
static void remove_directory(const char *directory, const char *job)
{
    char base[108], expected[32];
    snprintf(expected, sizeof(expected), "/ftcoll-%lu", (unsigned long)geteuid());
    size_t length = strlen(directory), tail = strlen(job) + 1, middle = strlen(expected);
    if (length >= sizeof(base) || length <= tail + middle || directory[0] != '/' ||
        strcmp(directory + length - tail + 1, job) != 0 || directory[length - tail] != '/')
        return;
    memcpy(base, directory, length - tail);
    base[length - tail] = '\0';
    if (strcmp(base + length - tail - middle, expected) != 0)
        return;
    int base_fd = open_base(base);
    if (base_fd < 0)
        return;
    remove_tree(base_fd, job, 0);
    close(base_fd);
    (void)rmdir(base); /* the last job's end removes it; not empty otherwise */
}

void ftc_jobs_remove(const char *job)
{
    struct ftc_segment_header header;
    char base[108], directory[108 + FTC_JOB_NAME_SIZE + 1];
    if (!ftc_job_name_valid(job))
        return;
    if (ftc_segment_peek(&header, job) == 0)
        remove_directory(header.directory, job);
    if (base_path(base) == 0) {
        snprintf(directory, sizeof(directory), "%s/%s", base, job);
        remove_directory(directory, job);
    }
    (void)ftc_segment_remove(job);
}

/* --- listing --- */

struct job_entry {
    char name[FTC_JOB_NAME_SIZE];
    uint64_t started_ns; /* 0: no sound header */
};

static int compare_jobs(const void *left, const void *right)
{
    const struct job_entry *a = left, *b = right;
    if (a->started_ns != b->started_ns)
        return a->started_ns < b->started_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void fill_entry(struct job_entry *entry, const char *name)
{
    struct ftc_segment_header header;
    snprintf(entry->name, sizeof(entry->name), "%s", name);
    entry->started_ns = ftc_segment_peek(&header, name) == 0 ? header.started_realtime_ns : 0;
}

/* A new array with one more, or NULL with the old one freed. */
static struct job_entry *append(struct job_entry *list, int count, const char *name)
{
    struct job_entry *grown = list;
    if ((count & (count - 1)) == 0) {
        grown = realloc(list, sizeof(*list) * (count == 0 ? 1 : 2 * (size_t)count));
        if (grown == NULL) {
            free(list);
            return NULL;
        }
    }
    fill_entry(&grown[count], name);
    return grown;
}

static int scan(DIR *dir, struct job_entry **list, int *count)
{
    char prefix[32];
    size_t length = (size_t)snprintf(prefix, sizeof(prefix), "ftcoll-%lu-", (unsigned long)geteuid());
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        struct stat info;
        if (strncmp(entry->d_name, prefix, length) != 0 || !ftc_job_name_valid(entry->d_name + length) ||
            fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode) ||
            info.st_uid != geteuid())
            continue;
        *list = append(*list, *count, entry->d_name + length);
        if (*list == NULL)
            return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a list of jobs");
        (*count)++;
    }
    return 0;
}

int ftc_jobs_list(char (**jobs)[FTC_JOB_NAME_SIZE], int *count)
{
    struct job_entry *list = NULL;
    int found = 0;
    DIR *dir = opendir("/dev/shm");
    if (dir == NULL)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot read /dev/shm: %m");
    int rc = scan(dir, &list, &found);
    closedir(dir);
    if (rc != 0)
        return rc;
    char(*names)[FTC_JOB_NAME_SIZE] = malloc(sizeof(*names) * (size_t)(found + 1));
    if (names == NULL) {
        free(list);
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a list of jobs");
    }
    if (found > 0)
        qsort(list, (size_t)found, sizeof(*list), compare_jobs);
    for (int i = 0; i < found; i++)
        memcpy(names[i], list[i].name, sizeof(names[i]));
    free(list);
    *jobs = names;
    *count = found;
    return 0;
}

/* --- garbage --- */

static pid_t pid_of(const char *job)
{
    return (pid_t)strtol(job, NULL, 10);
}

bool ftc_jobs_alive(const char *job)
{
    struct ftc_segment_header header;
    if (!ftc_job_name_valid(job) || !segment_exists(job))
        return false;
    /* Half made, or of another version: all that can be told is whether the process of that name lives. */
    if (ftc_segment_peek(&header, job) != 0)
        return ftc_process_life(pid_of(job), 0) != FTC_LIFE_GONE;
    uint64_t here = ftc_process_namespace();
    if (header.pid_namespace != 0 && here != 0 && header.pid_namespace != here)
        return true;
    return ftc_process_life(header.launcher_pid, header.launcher_start) != FTC_LIFE_GONE;
}

static void kill_one(pid_t pid, uint64_t start, uint64_t deadline_ns)
{
    uint64_t now = ftc_clock_now();
    if (pid != getpid())
        (void)ftc_process_kill(pid, start, now < deadline_ns ? deadline_ns - now : 0);
}

/* PR_SET_PDEATHSIG, by which ranks end otherwise, does not reach descendants of the launcher's children. */
static void kill_ranks(const char *job)
{
    struct ftc_segment *segment;
    if (ftc_segment_attach(&segment, job, false) != 0)
        return;
    uint64_t deadline = ftc_clock_now() + KILL_WAIT_NS;
    for (int rank = 0; rank < ftc_segment_ranks(segment); rank++) {
        struct ftc_slot *slot = ftc_segment_slot(segment, rank);
        kill_one(atomic_load_explicit(&slot->pid, memory_order_relaxed),
                 atomic_load_explicit(&slot->pid_start, memory_order_relaxed), deadline);
        kill_one(atomic_load_explicit(&slot->child_pid, memory_order_relaxed),
                 atomic_load_explicit(&slot->child_start, memory_order_relaxed), deadline);
    }
    ftc_segment_detach(segment);
}

static int collect_segments(void)
{
    char(*jobs)[FTC_JOB_NAME_SIZE];
    int count, removed = 0;
    if (ftc_jobs_list(&jobs, &count) != 0)
        return 0;
    for (int i = 0; i < count; i++) {
        if (ftc_jobs_alive(jobs[i]))
            continue;
        kill_ranks(jobs[i]);
        ftc_jobs_remove(jobs[i]);
        removed++;
    }
    free(jobs);
    return removed;
}

/* Did the launcher that made this directory, which has no segment, die in this pid namespace? */
static bool owner_dead(int base_fd, const char *job)
{
    char path[FTC_JOB_NAME_SIZE + 16], owner[64];
    unsigned long long space, start;
    snprintf(path, sizeof(path), "%.*s/%s", FTC_JOB_NAME_SIZE - 1, job, OWNER_LINK);
    ssize_t length = readlinkat(base_fd, path, owner, sizeof(owner) - 1);
    if (length < 0)
        return false;
    owner[length] = '\0';
    if (sscanf(owner, "%llu:%llu", &space, &start) != 2 || space != ftc_process_namespace())
        return false;
    return ftc_process_life(pid_of(job), start) == FTC_LIFE_GONE;
}

static int collect_directories(void)
{
    char base[108];
    int removed = 0;
    if (base_path(base) != 0)
        return 0;
    int base_fd = open_base(base);
    if (base_fd < 0)
        return 0;
    DIR *dir = fdopendir(base_fd);
    if (dir == NULL) {
        close(base_fd);
        return 0;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (!ftc_job_name_valid(entry->d_name) || segment_exists(entry->d_name))
            continue;
        if (owner_dead(base_fd, entry->d_name)) {
            remove_tree(base_fd, entry->d_name, 0);
            removed++;
        } else if (ftc_process_life(pid_of(entry->d_name), 0) == FTC_LIFE_GONE) {
            /* Its maker died before the mark, or it is of another namespace: goes only if empty. */
            removed += unlinkat(base_fd, entry->d_name, AT_REMOVEDIR) == 0;
        }
    }
    closedir(dir);
    (void)rmdir(base);
    return removed;
}

int ftc_jobs_collect_garbage(void)
{
    return collect_segments() + collect_directories();
}
