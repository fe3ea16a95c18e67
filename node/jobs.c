/*
 * The jobs of a user on this node. A job has a segment in /dev/shm and a private directory for
 * sockets and PMIx files, both named after the job. Its launcher holds a lock on each
 * (node/system/lock.h). If another process can take such a lock, the job is dead. A dead job is
 * removed in the order processes, directory, segment. The segment names the directory, so that the
 * rest can still be found if a collector is killed half-way. docs/design/nodes.md, "What belongs to
 * whom", has the rules.
 *
 * Hosts may share the directory of all jobs, and locks need not reach from one to the other: the
 * name of a job's directory says of which host it is, and one of another host is left alone.
 *
 * Nothing is followed that could lead out: every step down is an openat() that refuses symbolic
 * links, and the directory above the jobs must belong to this user alone.
 */
#include "node/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/system/lock.h"

#define MAX_DEPTH      16 /* of the directories that PMIx makes in the directory of a job */
#define MAX_TRIES      100
#define MAX_NAMES      100 /* how many job names are tried */
#define KILL_WAIT_NS   (5 * FTC_NS_PER_S)
#define LONGEST_SOCKET "/launcher"
#define HOST_DIGITS    8          /* of the boot id, which all containers of a host share */
#define UNKNOWN_HOST   "00000000" /* without /proc; only its segment leads to such a directory */
#define LEAF_SIZE      (FTC_JOB_NAME_SIZE + 1 + HOST_DIGITS)

/* --- the directory of all jobs --- */

static int base_path(char base[108])
{
    const char *root = getenv("TMPDIR");
    unsigned long uid = (unsigned long)geteuid();
    size_t longest = sizeof("/4294967295.048213-" UNKNOWN_HOST LONGEST_SOCKET);
    if (root == NULL || root[0] != '/')
        root = "/tmp";
    int length = snprintf(base, 108, "%s/ftcoll-%lu", root, uid);
    if (length < 0 || (size_t)length + longest > 108)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "TMPDIR is too long for sockets in it (%s): set it to a shorter path",
                             root);
    return 0;
}

/* Open the directory of all jobs, if it belongs to this user and is closed to all others. */
static int open_base(const char *base)
{
    int fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    if (fd < 0)
        return ftc_error_set(
            FTC_ERR_SYSTEM,
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

/* The umask may clear bits of 0700, so set the mode again. */
static int make_private(const char *path)
{
    if (mkdir(path, 0700) != 0)
        return -1;
    return chmod(path, 0700);
}

/* The end of another job removes the directory while it is empty, perhaps between two of these
 * lines. Then it is made once more. */
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
                         "cannot make %s: %m: set TMPDIR to a directory that you may write to",
                         base);
}

/* --- new jobs --- */

static bool segment_exists(const char *job)
{
    char path[128];
    struct stat info;
    ftc_segment_path(path, geteuid(), job);
    return lstat(path, &info) == 0;
}

/* The drawn number is no secret. It only keeps jobs of the same pid apart. */
static void draw_name(char name[FTC_JOB_NAME_SIZE])
{
    uint32_t drawn;
    if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) != (ssize_t)sizeof(drawn))
        drawn = (uint32_t)ftc_clock_now();
    snprintf(name, FTC_JOB_NAME_SIZE, "%ld.%06u", (long)getpid(), (unsigned)(drawn % 1000000));
}

static bool valid_host(const char *host)
{
    return strspn(host, "0123456789abcdef") == HOST_DIGITS && host[HOST_DIGITS] == '\0';
}

static void this_host(char host[HOST_DIGITS + 1])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, host, HOST_DIGITS) : -1;
    if (fd >= 0)
        close(fd);
    host[HOST_DIGITS] = '\0';
    if (got != HOST_DIGITS || !valid_host(host))
        strcpy(host, UNKNOWN_HOST);
}

/* Split "<job>-<host>". False: the name has another form. */
static bool split_leaf(const char *leaf, char job[FTC_JOB_NAME_SIZE], const char **host)
{
    const char *dash = strchr(leaf, '-');
    if (dash == NULL || dash - leaf >= FTC_JOB_NAME_SIZE)
        return false;
    snprintf(job, FTC_JOB_NAME_SIZE, "%.*s", (int)(dash - leaf), leaf);
    *host = dash + 1;
    return ftc_job_name_valid(job) && valid_host(*host);
}

static int open_directory(int base_fd, const char *leaf)
{
    return openat(base_fd, leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Make a directory and lock it. Returns a descriptor of it, or an error. FTC_ERR_STATE: try again,
 * because the name is taken, or a collector locked the directory first and removes it, or the base
 * has vanished. */
static int try_directory(int base_fd, const char *base, const char *leaf)
{
    int fd = -1;
    bool made = mkdirat(base_fd, leaf, 0700) == 0;
    if (made && fchmodat(base_fd, leaf, 0700, 0) == 0)
        fd = open_directory(base_fd, leaf);
    if (fd < 0 && (errno == ENOENT || (!made && errno == EEXIST)))
        return FTC_ERR_STATE;
    if (fd < 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot make %s/%s: %m", base, leaf);
    if (ftc_lock_directory(fd) != FTC_LOCK_HELD && ftc_lock_names(base_fd, leaf, fd))
        return fd;
    close(fd);
    return FTC_ERR_STATE;
}

int ftc_jobs_new(char job[FTC_JOB_NAME_SIZE], char directory[108], int *lock)
{
    char base[108], name[FTC_JOB_NAME_SIZE], host[HOST_DIGITS + 1], leaf[LEAF_SIZE];
    int rc = base_path(base);
    if (rc != 0)
        return rc;
    this_host(host);
    for (int tries = 0; tries < MAX_NAMES; tries++) {
        draw_name(name);
        if (segment_exists(name))
            continue;
        /* Open it anew each time, because the end of another job may have removed it. */
        int base_fd = make_base(base);
        if (base_fd < 0)
            return base_fd;
        snprintf(leaf, sizeof(leaf), "%.*s-%s", FTC_JOB_NAME_SIZE - 1, name, host);
        rc = try_directory(base_fd, base, leaf);
        close(base_fd);
        if (rc == FTC_ERR_STATE)
            continue;
        if (rc < 0)
            return rc;
        *lock = rc;
        memcpy(job, name, sizeof(name));
        snprintf(directory, 108, "%.75s/%.30s", base, leaf);
        return 0;
    }
    return ftc_error_set(FTC_ERR_SYSTEM,
                         "no free job name in %s: remove what dead jobs left (ftcoll-status --gc)",
                         base);
}

void ftc_jobs_name_cluster(char cluster[FTC_JOB_NAME_SIZE])
{
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");

    int length =
        job != NULL && step != NULL ? snprintf(cluster, FTC_JOB_NAME_SIZE, "%s.%s", job, step) : -1;
    if (length < 0 || length >= FTC_JOB_NAME_SIZE)
        draw_name(cluster);
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

/* Remove a directory of this user with its contents. */
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

/* Open the directory of all jobs in which `directory` lies, and set *leaf to its name there. -1:
 * its path does not have the form ".../ftcoll-<uid>/<job>-<host>", or the open fails. */
static int open_above(const char *directory, char base[108], const char **leaf)
{
    char expected[32], job[FTC_JOB_NAME_SIZE];
    const char *slash = strrchr(directory, '/'), *host;
    int tail = snprintf(expected, sizeof(expected), "/ftcoll-%lu", (unsigned long)geteuid());
    if (directory[0] != '/' || slash - directory < tail || slash - directory >= 108 ||
        strncmp(slash - tail, expected, (size_t)tail) != 0 || !split_leaf(slash + 1, job, &host))
        return -1;
    snprintf(base, 108, "%.*s", (int)(slash - directory), directory);
    *leaf = slash + 1;
    return open_base(base);
}

static void remove_directory(const char *directory, int lock)
{
    char base[108];
    const char *leaf;
    int base_fd = open_above(directory, base, &leaf);
    if (base_fd < 0)
        return;
    if (ftc_lock_names(base_fd, leaf, lock))
        remove_tree(base_fd, leaf, 0);
    close(base_fd);
    (void)rmdir(base); /* succeeds at the end of the last job; before that it is not empty */
}

void ftc_jobs_remove(const char *directory, int lock, struct ftc_segment *segment)
{
    if (lock >= 0)
        remove_directory(directory, lock);
    if (segment != NULL)
        ftc_segment_remove(segment);
}

/* --- listing --- */

struct job_entry {
    char name[FTC_JOB_NAME_SIZE];
    uint64_t started_ns; /* 0: the segment has no sound header */
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

/* Append an entry. Returns the array, which may have moved, or NULL; the old one is then freed. */
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
    size_t length =
        (size_t)snprintf(prefix, sizeof(prefix), "ftcoll-%lu-", (unsigned long)geteuid());
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        struct stat info;
        if (strncmp(entry->d_name, prefix, length) != 0 ||
            !ftc_job_name_valid(entry->d_name + length) ||
            fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode) || info.st_uid != geteuid())
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

int ftc_jobs_find(char job[FTC_JOB_NAME_SIZE], pid_t launcher)
{
    char(*jobs)[FTC_JOB_NAME_SIZE];
    int count, found = 0;
    int rc = ftc_jobs_list(&jobs, &count);
    for (int i = 0; rc == 0 && i < count; i++)
        if (strtol(jobs[i], NULL, 10) == (long)launcher && found++ == 0)
            memcpy(job, jobs[i], sizeof(jobs[i]));
    if (rc != 0)
        return rc;
    free(jobs);
    if (found == 1)
        return 0;
    return ftc_error_set(FTC_ERR_STATE, "%s of an ftrun with pid %ld (see ftcoll-status --list)",
                         found == 0 ? "no job" : "several jobs", (long)launcher);
}

/* --- garbage --- */

static void kill_one(pid_t pid, uint64_t start, uint64_t deadline_ns)
{
    uint64_t now = ftc_clock_now();
    if (pid != getpid())
        (void)ftc_process_kill(pid, start, now < deadline_ns ? deadline_ns - now : 0);
}

/* Ranks usually end by PR_SET_PDEATHSIG, but that does not reach descendants of the children of the
 * launcher. Pids of another pid namespace are other processes here, so they are not killed; those
 * ranks see by the lock that their launcher is gone, and leave. */
static void kill_ranks(struct ftc_segment *segment)
{
    uint64_t here = ftc_process_namespace();
    if (here == 0 || ftc_segment_header(segment)->pid_namespace != here)
        return;
    uint64_t deadline = ftc_clock_now() + KILL_WAIT_NS;
    int count, first = ftc_segment_local(segment, &count);
    for (int rank = first; rank < first + count; rank++) {
        struct ftc_slot *slot = ftc_segment_slot(segment, rank);
        struct ftc_standing *standing = ftc_segment_standing(segment, rank);
        kill_one(atomic_load_explicit(&standing->pid, memory_order_relaxed),
                 atomic_load_explicit(&slot->pid_start, memory_order_relaxed), deadline);
        kill_one(atomic_load_explicit(&slot->child_pid, memory_order_relaxed),
                 atomic_load_explicit(&slot->child_start, memory_order_relaxed), deadline);
    }
}

/* The dead launcher of the segment ran on this host, so the directory is of this host, too. But the
 * segment is not trusted, so the lock of the directory must be free, too. */
static void collect_directory_of(struct ftc_segment *segment, const char *job)
{
    char base[108], directory[108];
    const char *leaf;
    snprintf(directory, sizeof(directory), "%.107s", ftc_segment_header(segment)->directory);
    int base_fd = open_above(directory, base, &leaf);
    if (base_fd < 0)
        return;
    size_t length = strlen(job);
    bool its = strncmp(leaf, job, length) == 0 && leaf[length] == '-';
    int fd = its ? open_directory(base_fd, leaf) : -1;
    if (fd >= 0 && ftc_lock_directory(fd) != FTC_LOCK_HELD && ftc_lock_names(base_fd, leaf, fd))
        remove_tree(base_fd, leaf, 0);
    if (fd >= 0)
        close(fd);
    close(base_fd);
    (void)rmdir(base);
}

bool ftc_jobs_collect(const char *job)
{
    char path[128];
    struct ftc_segment *segment;
    if (!ftc_job_name_valid(job))
        return false;
    ftc_segment_path(path, geteuid(), job);
    int lock = ftc_segment_seize(path);
    if (lock < 0)
        return false;
    /* A segment that cannot be attached is half made, or of another release. */
    if (ftc_segment_attach(&segment, job, false) == 0) {
        kill_ranks(segment);
        collect_directory_of(segment, job);
        ftc_segment_detach(segment);
    }
    ftc_segment_boards_remove(path);
    (void)unlink(path);
    close(lock);
    return true;
}

static int collect_segments(void)
{
    char(*jobs)[FTC_JOB_NAME_SIZE];
    int count, removed = 0;
    if (ftc_jobs_list(&jobs, &count) != 0)
        return 0;
    for (int i = 0; i < count; i++)
        removed += ftc_jobs_collect(jobs[i]);
    free(jobs);
    return removed;
}

/* Remove a directory of this host that has no segment. */
static bool collect_directory(int base_fd, const char *leaf, const char *here)
{
    char job[FTC_JOB_NAME_SIZE];
    const char *host;
    if (!split_leaf(leaf, job, &host) || strcmp(host, here) != 0 || segment_exists(job))
        return false;
    int fd = open_directory(base_fd, leaf);
    if (fd < 0)
        return false;
    bool dead = ftc_lock_directory(fd) == FTC_LOCK_TAKEN && ftc_lock_names(base_fd, leaf, fd);
    if (dead)
        remove_tree(base_fd, leaf, 0);
    close(fd);
    return dead;
}

static int collect_directories(void)
{
    char base[108], here[HOST_DIGITS + 1];
    int removed = 0;
    this_host(here);
    if (strcmp(here, UNKNOWN_HOST) == 0 || base_path(base) != 0)
        return 0;
    int base_fd = open_base(base);
    if (base_fd < 0)
        return 0;
    DIR *dir = fdopendir(base_fd);
    if (dir == NULL) {
        close(base_fd);
        return 0;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        removed += collect_directory(base_fd, entry->d_name, here);
    closedir(dir);
    (void)rmdir(base);
    return removed;
}

int ftc_jobs_collect_garbage(void)
{
    return collect_segments() + collect_directories();
}
