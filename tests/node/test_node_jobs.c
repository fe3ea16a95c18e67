/* Jobs: names, the refusal of foreign directories, and what is collected after a launcher's death. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/bell.h"
#include "node/jobs.h"
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
    struct stat info;
    base_of(base);
    ck_assert_int_eq(ftc_jobs_new(first, one), 0);
    ck_assert_int_eq(ftc_jobs_new(second, other), 0);
    ck_assert_str_ne(first, second);
    ck_assert_int_eq(strtol(first, NULL, 10), getpid());
    ck_assert_int_eq(lstat(one, &info), 0);
    ck_assert_int_eq(info.st_mode & 07777, 0700);
    ftc_jobs_remove(first);
    ck_assert(!exists(one) && exists(other));
    ftc_jobs_remove(second);
    ck_assert(!exists(base));
    ftc_jobs_remove(second);
    ftc_jobs_remove("../etc");
}
END_TEST

START_TEST(a_umask_takes_nothing_away)
{
    char name[FTC_JOB_NAME_SIZE], directory[108];
    umask(0777);
    int rc = ftc_jobs_new(name, directory);
    umask(022);
    ck_assert_msg(rc == 0, "%s", ftc_last_error());
    ftc_jobs_remove(name);
}
END_TEST

START_TEST(foreign_directories_are_refused)
{
    char name[FTC_JOB_NAME_SIZE] = "", directory[108] = "", base[256];
    base_of(base);
    ck_assert_int_eq(mkdir(base, 0777), 0);
    ck_assert_int_eq(chmod(base, 0777), 0);
    ck_assert_int_eq(ftc_jobs_new(name, directory), FTC_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "TMPDIR"));
    ck_assert_str_eq(name, "");
    if (geteuid() == 0) {
        ck_assert_int_eq(chmod(base, 0700), 0);
        ck_assert_int_eq(chown(base, 1, 1), 0);
        ck_assert_int_eq(ftc_jobs_new(name, directory), FTC_ERR_SYSTEM);
    }
    rmdir(base);
    ck_assert_int_eq(symlink("/", base), 0);
    ck_assert_int_eq(ftc_jobs_new(name, directory), FTC_ERR_SYSTEM);
    unlink(base);
    char long_path[200];
    memset(long_path, 'x', sizeof(long_path));
    long_path[0] = '/';
    long_path[sizeof(long_path) - 1] = '\0';
    setenv("TMPDIR", long_path, 1);
    ck_assert_int_eq(ftc_jobs_new(name, directory), FTC_ERR_SYSTEM);
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
    ck_assert(ftc_jobs_alive(first.name));
    ck_assert(!ftc_jobs_alive("1.424242"));
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
    ck_assert_uint_le(its, mine + 100 * 100); /* ticks */
    ck_assert(ftc_process_life(child, its) != FTC_LIFE_GONE && ftc_process_life(child, 0) != FTC_LIFE_GONE &&
              ftc_process_life(child, its + 1) == FTC_LIFE_GONE);
    ck_assert(!ftc_process_kill(child, 0, 0));
    ck_assert(ftc_process_kill(child, its + 1, 0)); /* that one is gone, and this one is spared */
    ck_assert(ftc_process_life(child, its) != FTC_LIFE_GONE);
    ck_assert(ftc_process_kill(child, its, 10 * FTC_NS_PER_S));
    ck_assert(ftc_process_life(child, its) == FTC_LIFE_GONE); /* a zombie is not alive */
    scratch_wait(child);
    ck_assert_uint_eq(ftc_process_start(child), 0);
    ck_assert(ftc_process_life(-1, 0) == FTC_LIFE_GONE && ftc_process_life(0, 0) == FTC_LIFE_GONE);
}
END_TEST

/* What a process without a free descriptor can know of one that lives, and of one that has ended.
 * */
START_TEST(what_cannot_be_looked_at_is_not_taken_for_dead)
{
    struct rlimit none, before;
    pid_t living = scratch_fork(pause_with_name, "living"), dead = scratch_fork(pause_with_name, "dead");
    uint64_t start = ftc_process_start(living), its = ftc_process_start(dead);
    end_child(dead);
    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    enum ftc_life of_living = ftc_process_life(living, start), of_dead = ftc_process_life(dead, its);
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

/* A descriptor is for the process that is meant only, and tells how it ended, before it is reaped and, where Linux does, after. */
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

/* What the fake launcher shows to the test, in memory of both. */
struct show {
    char job[FTC_JOB_NAME_SIZE], directory[108];
    _Atomic int rank_pid;
    _Atomic int ready;
};

static struct show *show_make(void)
{
    struct show *show = mmap(NULL, sizeof(*show), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(show, MAP_FAILED);
    return show;
}

/* A launcher with a segment, a rank that survives it, sockets and files as PMIx leaves them. */
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
    if (rank == 0)
        pause_for_ever();
    struct ftc_slot *slot = ftc_segment_slot(made.segment, 1);
    atomic_store(&slot->pid, rank);
    atomic_store(&slot->pid_start, ftc_process_start(rank));
    atomic_store(&show->rank_pid, rank);
    /* Rank 0's pid was reused by the test itself, which is not to be hurt. */
    atomic_store(&ftc_segment_slot(made.segment, 0)->pid, getppid());
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
    ck_assert(ftc_jobs_alive(dead->job));
    end_child(launcher);
    ck_assert(!ftc_jobs_alive(dead->job));
    pid_t rank = atomic_load(&dead->rank_pid);
    ck_assert(ftc_process_life(rank, 0) != FTC_LIFE_GONE);

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
    return ftc_jobs_new(show->job, show->directory) == 0 ? 0 : 1;
}

START_TEST(a_directory_without_a_segment_is_collected_with_its_owner)
{
    struct show *show = show_make();
    char name[FTC_JOB_NAME_SIZE], mine[108], stranger[300], base[256];
    base_of(base);
    scratch_in_child(make_directory_only, show);
    ck_assert_int_eq(ftc_jobs_new(name, mine), 0);
    /* Made by a process of another pid namespace, or unmarked: not judged by its pid. */
    snprintf(stranger, sizeof(stranger), "%s/4194303.5", base);
    ck_assert_int_eq(mkdir(stranger, 0700), 0);
    strcat(stranger, "/file");
    close(open(stranger, O_CREAT | O_WRONLY, 0600));
    ck_assert(exists(show->directory));
    ck_assert_int_ge(ftc_jobs_collect_garbage(), 1);
    ck_assert(!exists(show->directory) && exists(mine) && exists(stranger));
    unlink(stranger);
    ck_assert_int_ge(ftc_jobs_collect_garbage(), 1);
    ftc_jobs_remove(name);
    ck_assert(!exists(base));
}
END_TEST

START_TEST(a_half_made_segment_is_judged_by_its_name)
{
    char dead_path[128], live_path[128], live[FTC_JOB_NAME_SIZE];
    pid_t child = scratch_fork(pause_with_name, "short");
    end_child(child);
    char dead[FTC_JOB_NAME_SIZE];
    snprintf(dead, sizeof(dead), "%ld.90", (long)child);
    snprintf(live, sizeof(live), "%ld.90", (long)getpid());
    ftc_segment_path(dead_path, geteuid(), dead);
    ftc_segment_path(live_path, geteuid(), live);
    close(open(dead_path, O_CREAT | O_WRONLY, 0600));
    close(open(live_path, O_CREAT | O_WRONLY, 0600));
    bool live_alive = ftc_jobs_alive(live), dead_alive = ftc_jobs_alive(dead);
    ftc_jobs_collect_garbage();
    bool live_there = exists(live_path), dead_there = exists(dead_path);
    unlink(live_path);
    unlink(dead_path);
    ck_assert(live_alive && live_there);
    ck_assert(!dead_alive && !dead_there);
}
END_TEST

START_TEST(a_job_of_another_pid_namespace_is_left_alone)
{
    struct scratch_job made;
    scratch_job_make(&made, 1);
    ftc_segment_header(made.segment)->launcher_pid = 4194303;
    ftc_segment_header(made.segment)->pid_namespace++;
    ck_assert(ftc_jobs_alive(made.name));
    ftc_segment_header(made.segment)->pid_namespace--;
    ck_assert(!ftc_jobs_alive(made.name));
    scratch_job_remove(&made);
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
    tcase_add_test(tcase, what_cannot_be_looked_at_is_not_taken_for_dead);
    tcase_add_test(tcase, another_process_is_watched_by_a_descriptor);
    tcase_add_test(tcase, a_dead_launchers_job_is_collected_and_a_living_ones_is_not);
    tcase_add_test(tcase, a_directory_without_a_segment_is_collected_with_its_owner);
    tcase_add_test(tcase, a_half_made_segment_is_judged_by_its_name);
    tcase_add_test(tcase, a_job_of_another_pid_namespace_is_left_alone);
    suite_add_tcase(suite, tcase);
    return scratch_run(suite);
}
