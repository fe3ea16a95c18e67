/* Tests jobs: names, the refusal of foreign directories, and what is collected after a launcher's
 * death. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/bell.h"
#include "node/jobs.h"
#include "node/segment/internal.h"
#include "scratch.h"

static bool exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static void base_of(char base[256])
{
    snprintf(base, 256, "%s/ftcoll-%lu", getenv("TMPDIR"), (unsigned long)geteuid());
}

START_TEST(names_of_one_process_differ)
{
    char first[FTC_JOB_NAME_SIZE], second[FTC_JOB_NAME_SIZE], one[108], other[108], base[256];
    int one_lock, other_lock;
    struct stat info;
    base_of(base);
    ck_assert_int_eq(ftc_jobs_new(first, one, &one_lock), 0);
    ck_assert_int_eq(ftc_jobs_new(second, other, &other_lock), 0);
    ck_assert_str_ne(first, second);
    ck_assert(ftc_job_name_valid(first));
    ck_assert_int_eq(strtol(first, NULL, 10), getpid());
    ck_assert_int_eq(lstat(one, &info), 0);
    ck_assert_int_eq(info.st_mode & 07777, 0700);
    ftc_jobs_remove(one, one_lock, NULL);
    ck_assert(!exists(one) && exists(other));
    ftc_jobs_remove(other, other_lock, NULL);
    ck_assert(!exists(base));
    ftc_jobs_remove(other, other_lock, NULL);
    ck_assert(!ftc_jobs_collect("../etc"));
}
END_TEST

START_TEST(a_umask_takes_nothing_away)
{
    char name[FTC_JOB_NAME_SIZE], directory[108];
    int lock;
    umask(0777);
    int rc = ftc_jobs_new(name, directory, &lock);
    umask(022);
    ck_assert_msg(rc == 0, "%s", ftc_last_error());
    ftc_jobs_remove(directory, lock, NULL);
}
END_TEST

START_TEST(foreign_directories_are_refused)
{
    char name[FTC_JOB_NAME_SIZE] = "", directory[108] = "", base[256];
    int lock;
    base_of(base);
    ck_assert_int_eq(mkdir(base, 0777), 0);
    ck_assert_int_eq(chmod(base, 0777), 0);
    ck_assert_int_eq(ftc_jobs_new(name, directory, &lock), FTC_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "TMPDIR"));
    ck_assert_str_eq(name, "");
    if (geteuid() == 0) {
        ck_assert_int_eq(chmod(base, 0700), 0);
        ck_assert_int_eq(chown(base, 1, 1), 0);
        ck_assert_int_eq(ftc_jobs_new(name, directory, &lock), FTC_ERR_SYSTEM);
    }
    rmdir(base);
    ck_assert_int_eq(symlink("/", base), 0);
    ck_assert_int_eq(ftc_jobs_new(name, directory, &lock), FTC_ERR_SYSTEM);
    unlink(base);
    char long_path[200];
    memset(long_path, 'x', sizeof(long_path));
    long_path[0] = '/';
    long_path[sizeof(long_path) - 1] = '\0';
    setenv("TMPDIR", long_path, 1);
    ck_assert_int_eq(ftc_jobs_new(name, directory, &lock), FTC_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "shorter"));
}
END_TEST

START_TEST(jobs_are_listed_oldest_first)
{
    struct scratch_job first, second;
    char(*jobs)[FTC_JOB_NAME_SIZE];
    int count, place_first = -1, place_second = -1;
    scratch_job_make(&first, 1);
    scratch_job_make(&second, 1);
    ck_assert_int_eq(ftc_jobs_list(&jobs, &count), 0);
    for (int i = 0; i < count; i++) {
        if (strcmp(jobs[i], first.name) == 0)
            place_first = i;
        if (strcmp(jobs[i], second.name) == 0)
            place_second = i;
    }
    ck_assert(place_first >= 0 && place_first < place_second);
    ck_assert(!ftc_jobs_collect(first.name));
    ck_assert(!ftc_jobs_collect("1.424242"));
    free(jobs);
    scratch_job_remove(&first);
    scratch_job_remove(&second);
}
END_TEST

/* --- processes --- */

_Noreturn static void pause_for_ever(void)
{
    for (;;)
        pause();
}

static int pause_with_name(void *arg)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, arg);
    pause_for_ever();
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    scratch_wait(child);
}

START_TEST(a_process_with_a_strange_name_is_read)
{
    pid_t child = scratch_fork(pause_with_name, ") R 1 (x) 2");
    uint64_t deadline = ftc_clock_now() + 10 * FTC_NS_PER_S;
    char path[64], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%ld/comm", (long)child);
    while (strchr(name, ')') == NULL && ftc_clock_now() < deadline) {
        FILE *file = fopen(path, "r");
        ck_assert_ptr_nonnull(file);
        ck_assert_ptr_nonnull(fgets(name, sizeof(name), file));
        fclose(file);
    }
    uint64_t mine = ftc_process_start(getpid()), its = ftc_process_start(child);
    ck_assert_uint_ne(mine, 0);
    ck_assert_uint_ge(its, mine);
    ck_assert_uint_le(its, mine + 100 * 100); /* in ticks */
    ck_assert_int_eq(ftc_process_life(child, its), FTC_LIFE_ALIVE);
    ck_assert_int_eq(ftc_process_life(child, 0), FTC_LIFE_ALIVE);
    ck_assert_int_eq(ftc_process_life(child, its + 1), FTC_LIFE_GONE);
    ck_assert(!ftc_process_kill(child, 0, 0));
    /* The process with the later start is gone; this one is spared. */
    ck_assert(ftc_process_kill(child, its + 1, 0));
    ck_assert_int_eq(ftc_process_life(child, its), FTC_LIFE_ALIVE);
    ck_assert(ftc_process_kill(child, its, 10 * FTC_NS_PER_S));
    ck_assert_int_eq(ftc_process_life(child, its), FTC_LIFE_GONE); /* a zombie */
    scratch_wait(child);
    ck_assert_uint_eq(ftc_process_start(child), 0);
    ck_assert_int_eq(ftc_process_life(child, its), FTC_LIFE_GONE);
    ck_assert_int_eq(ftc_process_life(-1, 0), FTC_LIFE_GONE);
    ck_assert_int_eq(ftc_process_life(0, 0), FTC_LIFE_GONE);
}
END_TEST

/* A process without a free descriptor gets these answers about a process that lives and about one
 * that has ended. */
START_TEST(what_cannot_be_looked_at_is_not_taken_for_dead)
{
    struct rlimit none, before;
    pid_t living = scratch_fork(pause_with_name, "living"),
          dead = scratch_fork(pause_with_name, "dead");
    uint64_t start = ftc_process_start(living), its = ftc_process_start(dead);
    end_child(dead);
    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    enum ftc_life of_living = ftc_process_life(living, start),
                  of_dead = ftc_process_life(dead, its);
    bool said_killed = ftc_process_kill(living, start, 0);
    int fd = ftc_process_open(living, start), error = errno;
    setrlimit(RLIMIT_NOFILE, &before);
    enum ftc_life after = ftc_process_life(living, start);
    end_child(living);
    ck_assert_int_eq(of_living, FTC_LIFE_UNKNOWN);
    ck_assert_int_eq(of_dead, FTC_LIFE_GONE);
    ck_assert(!said_killed);
    ck_assert(fd < 0 && error != ESRCH);
    ck_assert_int_eq(after, FTC_LIFE_ALIVE);
}
END_TEST

/* A descriptor is for the intended process only. It tells how the process ended, before it is
 * reaped and, where Linux does so, after. */
START_TEST(another_process_is_watched_by_a_descriptor)
{
    int status = 0, later = 0;
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    uint64_t its = ftc_process_start(child);
    ck_assert_int_lt(ftc_process_open(child, its + 1), 0);
    ck_assert_int_lt(ftc_process_open(child, 0), 0);
    int fd = ftc_process_open(child, its);
    ck_assert_int_ge(fd, 0);
    ck_assert(!ftc_process_status(fd, child, &status));
    ck_assert_int_eq(kill(child, SIGUSR1), 0);
    struct pollfd item = {.fd = fd, .events = POLLIN};
    ck_assert_int_eq(poll(&item, 1, 10000), 1);
    ck_assert(ftc_process_status(fd, child, &status));
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    scratch_wait(child);
    if (ftc_process_status(fd, child, &later))
        ck_assert_int_eq(later, status);
    ck_assert_int_lt(ftc_process_open(child, its), 0);
    close(fd);
}
END_TEST

/* --- garbage --- */

/* What the fake launcher shows to the test, in memory that both share. */
struct show {
    char job[FTC_JOB_NAME_SIZE], directory[108];
    _Atomic int rank_pid;
    _Atomic int ready;
};

static struct show *show_make(void)
{
    struct show *show =
        mmap(NULL, sizeof(*show), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(show, MAP_FAILED);
    return show;
}

/* A launcher with a segment, a rank that survives it, and sockets and files as PMIx leaves them. */
static int fake_launcher(void *arg)
{
    struct show *show = arg;
    struct scratch_job made;
    struct ftc_bell bell;
    char path[256];
    scratch_job_make(&made, 2);
    strcpy(show->job, made.name);
    strcpy(show->directory, made.directory);
    ftc_bell_open(&bell, made.segment, FTC_BELL_LAUNCHER);
    snprintf(path, sizeof(path), "%s/pmix_dstor_1", made.directory);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/pmix_dstor_1/deep", made.directory);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/pmix_dstor_1/deep/file", made.directory);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    snprintf(path, sizeof(path), "%s/outward", made.directory);
    (void)!symlink(getenv("TMPDIR"), path);
    pid_t rank = fork();
    if (rank == 0) {
        ftc_segment_detach(made.segment); /* as after exec(): the locks are the launcher's */
        close(made.lock);
        atomic_store(&show->rank_pid, getpid());
        pause_for_ever();
    }
    while (atomic_load(&show->rank_pid) == 0)
        usleep(1000);
    struct ftc_slot *slot = ftc_segment_slot(made.segment, 1);
    struct ftc_standing *standing = ftc_segment_standing(made.segment, 1);
    atomic_store(&standing->pid, rank);
    atomic_store(&slot->pid_start, ftc_process_start(rank));
    /* Rank 0's pid is reused by the test itself, which must not be hurt. */
    atomic_store(&ftc_segment_standing(made.segment, 0)->pid, getppid());
    atomic_store(&ftc_segment_slot(made.segment, 0)->pid_start, 1);
    atomic_store(&show->ready, 1);
    pause_for_ever();
}

static void wait_ready(struct show *show)
{
    uint64_t deadline = ftc_clock_now() + 20 * FTC_NS_PER_S;
    while (atomic_load(&show->ready) == 0) {
        ck_assert(ftc_clock_now() < deadline);
        usleep(1000);
    }
}

START_TEST(a_dead_launchers_job_is_collected_and_a_living_ones_is_not)
{
    struct show *dead = show_make();
    struct scratch_job living;
    char segment[128], precious[256], base[256];
    base_of(base);
    snprintf(precious, sizeof(precious), "%s/precious", getenv("TMPDIR"));
    close(open(precious, O_CREAT | O_WRONLY, 0600));
    scratch_job_make(&living, 1);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t launcher = scratch_fork(fake_launcher, dead);
    wait_ready(dead);
    ck_assert(!ftc_jobs_collect(dead->job));
    end_child(launcher);
    pid_t rank = atomic_load(&dead->rank_pid);
    ck_assert_int_eq(ftc_process_life(rank, 0), FTC_LIFE_ALIVE);

    ftc_jobs_collect_garbage();

    int status = scratch_wait(rank);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ftc_segment_path(segment, geteuid(), dead->job);
    ck_assert(!exists(segment) && !exists(dead->directory));
    ck_assert(exists(precious)); /* the link was removed, not followed */
    ftc_segment_path(segment, geteuid(), living.name);
    ck_assert(exists(segment) && exists(living.directory));
    scratch_job_remove(&living);
    ck_assert(!exists(base));
    unlink(precious);
}
END_TEST

static int make_directory_only(void *arg)
{
    struct show *show = arg;
    int lock;
    return ftc_jobs_new(show->job, show->directory, &lock) == 0 ? 0 : 1;
}

START_TEST(a_directory_without_a_segment_is_collected_when_its_lock_is_free)
{
    struct show *show = show_make();
    char name[FTC_JOB_NAME_SIZE], mine[108], base[256];
    int lock;
    base_of(base);
    scratch_in_child(make_directory_only, show);
    ck_assert_int_eq(ftc_jobs_new(name, mine, &lock), 0);
    ck_assert(exists(show->directory));
    ck_assert_int_ge(ftc_jobs_collect_garbage(), 1);
    ck_assert(!exists(show->directory) && exists(mine));
    ftc_jobs_remove(mine, lock, NULL);
    ck_assert(!exists(base));
}
END_TEST

/* Its processes are not visible here, and its locks need not be. */
START_TEST(a_directory_of_another_host_is_left_alone)
{
    struct show *show = show_make();
    char base[256], stranger[300];
    base_of(base);
    scratch_in_child(make_directory_only, show);
    snprintf(stranger, sizeof(stranger), "%s/%s-%s", base, show->job,
             strstr(show->directory, "-0123abcd") == NULL ? "0123abcd" : "abcd0123");
    ck_assert_int_eq(rename(show->directory, stranger), 0);
    ftc_jobs_collect_garbage();
    ck_assert(exists(stranger));
    rmdir(stranger);
    rmdir(base);
}
END_TEST

/* --- files that no header explains --- */

/* Makes a file as a launcher has it between two steps of making a segment, or as another release
 * makes it. */
static int make_file(const char *path, const char *content)
{
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &whole), 0);
    return fd;
}

/* Its name has the pid of no process here, as happens with a launcher in another pid namespace. Its
 * lock decides. */
START_TEST(a_file_without_a_sound_header_is_judged_by_its_lock)
{
    static const char *const contents[] = {"", "FTCOLL of the year 2100"};
    char path[128];
    pid_t child = scratch_fork(pause_with_name, "short");
    end_child(child);
    char name[FTC_JOB_NAME_SIZE];
    snprintf(name, sizeof(name), "%ld.%06d", (long)child, 90 + _i);
    ftc_segment_path(path, geteuid(), name);
    int fd = make_file(path, contents[_i]);
    ftc_jobs_collect_garbage();
    bool there_while_locked = exists(path);
    close(fd);
    ftc_jobs_collect_garbage();
    bool there_after = exists(path);
    unlink(path);
    ck_assert(there_while_locked);
    ck_assert(!there_after);
}
END_TEST

/* Two pid namespaces can have the same pids. So the name does not tell whose segment it is. */
START_TEST(the_end_of_a_job_leaves_another_one_of_the_same_name)
{
    struct scratch_job first;
    struct ftc_segment *second = NULL;
    char path[128], moved[140];
    scratch_job_make(&first, 1);
    ftc_segment_path(path, geteuid(), first.name);
    struct ftc_segment_spec spec = {.job = first.name, .directory = first.directory, .ranks = 2};
    ck_assert_int_eq(ftc_segment_create(&second, &spec), FTC_ERR_STATE);
    ftc_jobs_remove(first.directory, -1, NULL); /* removes what that launcher has made: nothing */
    ck_assert(exists(path) && exists(first.directory));

    snprintf(moved, sizeof(moved), "%s.old", path);
    ck_assert_int_eq(rename(path, moved), 0);
    ck_assert_int_eq(ftc_segment_create(&second, &spec), 0);
    ftc_jobs_remove(first.directory, first.lock, first.segment);
    bool left = exists(path);
    ftc_segment_remove(second);
    ftc_segment_detach(second);
    unlink(moved);
    scratch_job_remove(&first);
    ck_assert(left);
}
END_TEST

/* Where pids mean nothing, the lock still tells. Dead containers leave nothing, and no process is
 * killed for it. */
START_TEST(a_job_of_another_pid_namespace_is_collected_when_its_launcher_is_gone)
{
    struct show *show = show_make();
    struct ftc_segment *segment;
    char path[128];
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t launcher = scratch_fork(fake_launcher, show);
    wait_ready(show);
    ck_assert_int_eq(ftc_segment_attach(&segment, show->job, true), 0);
    ftc_segment_header(segment)->pid_namespace++;
    ck_assert_int_eq(ftc_segment_launcher(segment), FTC_LIFE_ALIVE);
    ck_assert(!ftc_jobs_collect(show->job));
    end_child(launcher);
    ck_assert_int_eq(ftc_segment_launcher(segment), FTC_LIFE_GONE);
    ftc_segment_detach(segment);
    ck_assert(ftc_jobs_collect(show->job));
    pid_t rank = atomic_load(&show->rank_pid);
    ck_assert_int_eq(ftc_process_life(rank, 0), FTC_LIFE_ALIVE);
    end_child(rank);
    ftc_segment_path(path, geteuid(), show->job);
    ck_assert(!exists(path) && !exists(show->directory));
}
END_TEST

/* A rank keeps a descriptor of the segment, and its program does not know of it. */
START_TEST(a_descriptor_that_is_another_files_by_now_tells_nothing_and_is_not_closed)
{
    struct show *show = show_make();
    struct ftc_segment *segment;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t launcher = scratch_fork(fake_launcher, show);
    wait_ready(show);
    ck_assert_int_eq(ftc_segment_attach(&segment, show->job, true), 0);
    int its = segment->fd, mine = open("/dev/null", O_RDWR);
    ck_assert_int_eq(dup2(mine, its), its);
    enum ftc_life life = ftc_segment_launcher(segment);
    ftc_segment_detach(segment);
    bool still_mine = fcntl(its, F_GETFD) >= 0;
    end_child(launcher);
    ck_assert(ftc_jobs_collect(show->job)); /* also kills the rank */
    ck_assert_int_eq(life, FTC_LIFE_ALIVE);
    ck_assert(still_mine);
}
END_TEST

/* --- a kernel without locks --- */

#define NO_SECCOMP 77

static int forbid_locks(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_SETLK, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_GETLK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return NO_SECCOMP;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : NO_SECCOMP;
}

/* A job can be made all the same. Its launcher ends without removing it. */
static int make_job_without_locks(void *arg)
{
    struct show *show = arg;
    struct scratch_job made;
    int rc = forbid_locks();
    if (rc != 0)
        return rc;
    scratch_job_make(&made, 1);
    strcpy(show->job, made.name);
    strcpy(show->directory, made.directory);
    return ftc_segment_launcher(made.segment) == FTC_LIFE_ALIVE ? 0 : 1;
}

static int collect_without_locks(void *arg)
{
    struct show *show = arg;
    int rc = forbid_locks();
    return rc != 0 ? rc : ftc_jobs_collect(show->job);
}

START_TEST(where_there_are_no_locks_nothing_is_removed)
{
    struct show *show = show_make();
    char path[128];
    int status = scratch_wait(scratch_fork(make_job_without_locks, show));
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SECCOMP) {
        fprintf(stderr, "skipped: no system call filters here\n");
        return;
    }
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ftc_segment_path(path, geteuid(), show->job);
    scratch_in_child(collect_without_locks, show);
    ck_assert(exists(path) && exists(show->directory));
    ck_assert(ftc_jobs_collect(show->job));
    ck_assert(!exists(path) && !exists(show->directory));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node/jobs");
    TCase *tcase = tcase_create("jobs");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, names_of_one_process_differ);
    tcase_add_test(tcase, a_umask_takes_nothing_away);
    tcase_add_test(tcase, foreign_directories_are_refused);
    tcase_add_test(tcase, jobs_are_listed_oldest_first);
    tcase_add_test(tcase, a_process_with_a_strange_name_is_read);
    tcase_add_test(tcase, another_process_is_watched_by_a_descriptor);
    tcase_add_test(tcase, a_dead_launchers_job_is_collected_and_a_living_ones_is_not);
    tcase_add_test(tcase, what_cannot_be_looked_at_is_not_taken_for_dead);
    tcase_add_test(tcase, a_directory_without_a_segment_is_collected_when_its_lock_is_free);
    tcase_add_test(tcase, a_directory_of_another_host_is_left_alone);
    tcase_add_loop_test(tcase, a_file_without_a_sound_header_is_judged_by_its_lock, 0, 2);
    tcase_add_test(tcase, the_end_of_a_job_leaves_another_one_of_the_same_name);
    tcase_add_test(tcase, a_job_of_another_pid_namespace_is_collected_when_its_launcher_is_gone);
    tcase_add_test(tcase,
                   a_descriptor_that_is_another_files_by_now_tells_nothing_and_is_not_closed);
    tcase_add_test(tcase, where_there_are_no_locks_nothing_is_removed);
    suite_add_tcase(suite, tcase);
    return scratch_run(suite);
}
