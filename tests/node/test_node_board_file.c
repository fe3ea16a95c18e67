/* Tests boards with a file of their own, for some ranks of a job. Each rank is a process. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/set.h"
#include "include/ftcoll.h"
#include "node/board/board.h"
#include "node/system/futex.h"
#include "scratch.h"

/* The job has six ranks. The communicator has three of them, in another order. */
#define JOB_RANKS 6
#define RANKS     3
#define NUMBER    0x2a000003u
#define LOWEST    1
#define LEFT_EXIT 10

static const int rank_of[JOB_RANKS] = {-1, 1, -1, 2, -1, 0};
static const int job_rank[RANKS] = {5, 1, 3};

static struct scratch_job job;

static void setup(void)
{
    scratch_job_make(&job, JOB_RANKS);
}

static void teardown(void)
{
    scratch_job_remove(&job);
}

/* How many files of boards the job has. */
static int files(void)
{
    DIR *dir = opendir("/dev/shm");
    int count = 0;

    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        const char *name = strstr(entry->d_name, job.name);
        count += name != NULL && name[strlen(job.name)] == '.';
    }
    closedir(dir);
    return count;
}

/* --- a rank --- */

struct rank {
    int self;
    struct ftc_board_file *file;
    struct ftc_board *board;
};

static void look(void *arg)
{
    struct rank *rank = arg;

    ftc_board_take_failures(rank->board);
}

static void asleep(void *arg, bool asleep)
{
    (void)arg;
    (void)asleep;
}

static void never(void *arg, const char *what)
{
    (void)arg;
    fprintf(stderr, "%s\n", what);
    _exit(9);
}

static void mismatch(void *arg, int rank, const struct ftc_signature *theirs)
{
    if (rank == 2 && theirs->kind == FTC_CALL_CLOSE)
        _exit(LEFT_EXIT);
    never(arg, "ranks are in different calls");
}

static void accuse(void *arg, int rank, const char *what)
{
    (void)rank;
    never(arg, what);
}

static void exhausted(void *arg, int error)
{
    (void)error;
    never(arg, ftc_last_error());
}

static void pass(void *arg, enum ftc_board_point point)
{
    (void)arg;
    (void)point;
}

static bool allow_copies(void *arg, int rank)
{
    (void)arg;
    (void)rank;
    return false;
}

static bool sleep_on(void *arg, _Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    (void)arg;
    return ftc_futex_wait(word, expected, timeout_ns);
}

static void wake(void *arg, _Atomic uint32_t *word, int count)
{
    (void)arg;
    ftc_futex_wake(word, count);
}

static bool fence_all(void *arg)
{
    (void)arg;
    return false;
}

/* Sleeps end by a wake-up alone: the limit is longer than the test may take. */
static void open_board(struct rank *rank, uint64_t number)
{
    struct ftc_board_setup board = {.segment = job.segment,
                                    .ranks = RANKS,
                                    .rank_of = rank_of,
                                    .file = rank->file,
                                    .communicator = number,
                                    .rank = rank->self,
                                    .longest_ns = UINT64_C(3600) * 1000000000,
                                    .host = {.arg = rank,
                                             .look = look,
                                             .asleep = asleep,
                                             .mismatch = mismatch,
                                             .accuse = accuse,
                                             .damaged = never,
                                             .exhausted = exhausted,
                                             .pass = pass,
                                             .allow_copies = allow_copies,
                                             .sleep = sleep_on,
                                             .wake = wake,
                                             .fence_all = fence_all}};

    ck_assert_int_eq(ftc_board_open(&rank->board, &board), 0);
}

static void join_one(struct rank *rank, int self, uint64_t number)
{
    rank->self = self;
    ck_assert_int_eq(ftc_board_file_open(&rank->file, job.segment, number, LOWEST, RANKS), 0);
    open_board(rank, number);
}

static void join(struct rank *rank, int self)
{
    join_one(rank, self, NUMBER);
}

static void leave(struct rank *rank)
{
    ftc_board_close(rank->board);
    ftc_board_file_close(rank->file);
}

static void unite(void *arg, const void *in, void *inout, size_t size)
{
    (void)arg;
    ftc_set_unite_bytes(NULL, in, inout, size);
}

static int run_call(struct ftc_board *board, const struct ftc_call *call, void *bits)
{
    return ftc_board_call(board, call, bits);
}

/* The same, started and ended. */
static int run_started(struct ftc_board *board, const struct ftc_call *call, void *bits)
{
    struct ftc_board_operation operation = {.call = call, .receive = bits};

    ck_assert(ftc_board_may_start(board, call));
    ftc_board_start(board, &operation);
    ck_assert_ptr_eq(ftc_board_wait(board), &operation);
    return operation.status;
}

typedef int run_fn(struct ftc_board *board, const struct ftc_call *call, void *bits);

/* An allreduce whose result has a bit for each rank that took part, in each of `size` bytes. */
static unsigned combine_by(run_fn *run, struct rank *rank, size_t size)
{
    static unsigned char bits[70000];
    struct ftc_call call = {
        .signature = {.kind = FTC_CALL_ALLREDUCE, .type = 5, .root = -1, .size = size},
        .input = bits,
        .combine = unite};

    memset(bits, 1 << rank->self, size);
    ck_assert_int_eq(run(rank->board, &call, bits), 0);
    ck_assert_int_eq(memcmp(bits, bits + 1, size - 1), 0);
    return bits[0];
}

static unsigned take_part(struct rank *rank, size_t size)
{
    return combine_by(run_call, rank, size);
}

/* --- stories --- */

static int combine_all(void *arg)
{
    struct rank rank;

    join(&rank, *(int *)arg);
    for (size_t size = 8; size <= 65536; size *= 8)
        if (take_part(&rank, size) != 7)
            return 1;
    ftc_board_file_unlink(rank.file);
    leave(&rank);
    return 0;
}

START_TEST(three_of_six_ranks_have_a_board_and_leave_nothing)
{
    pid_t child[RANKS];

    for (int rank = 0; rank < RANKS; rank++)
        child[rank] = scratch_fork(combine_all, &rank);
    for (int rank = 0; rank < RANKS; rank++)
        scratch_wait_success(child[rank]);
    ck_assert_int_eq(files(), 0);
}
END_TEST

/* Rank 1 dies between two operations. The others learn of it, though the wake-up is all that could
 * end their sleep. */
static int combine_and_lose(void *arg)
{
    struct rank rank;

    join(&rank, *(int *)arg);
    if (take_part(&rank, 8) != 7)
        return 1;
    if (rank.self == 1)
        raise(SIGKILL);
    if (take_part(&rank, 8) != 5)
        return 2;
    struct ftc_board_report report;
    ftc_board_report(rank.board, &report);
    if (ftc_set_count(report.failed) != 1 || !ftc_set_has(report.failed, 1))
        return 3;
    return 0;
}

START_TEST(a_member_that_dies_is_known_by_its_rank_in_the_communicator)
{
    struct ftc_failure failure = {.cause = FTC_CAUSE_SIGNAL, .detail = SIGKILL, .seen_by = -1};
    struct ftc_board_file *file;
    struct ftc_set failed;
    pid_t child[RANKS];

    ck_assert_int_eq(ftc_board_file_open(&file, job.segment, NUMBER, LOWEST, RANKS), 0);
    for (int rank = 0; rank < RANKS; rank++)
        child[rank] = scratch_fork(combine_and_lose, &rank);
    (void)scratch_wait(child[1]);
    ftc_segment_declare(job.segment, 4, &failure); /* of the job, and not in the communicator */
    ftc_segment_declare(job.segment, job_rank[1], &failure);
    ck_assert_int_eq(ftc_set_init(&failed, RANKS), 0);
    ftc_set_add(&failed, 1);
    ftc_board_ring_own(file, RANKS, &failed);
    ftc_set_fini(&failed);
    scratch_wait_success(child[0]);
    scratch_wait_success(child[2]);
    ftc_board_file_close(file);
    ck_assert_int_eq(files(), 1);
}
END_TEST

/* Rank 2 revokes instead of its second operation, in which the others wait for it. */
static int combine_and_revoke(void *arg)
{
    static unsigned char bits[8];
    struct ftc_call call = {
        .signature = {.kind = FTC_CALL_ALLREDUCE, .type = 5, .root = -1, .size = sizeof(bits)},
        .input = bits,
        .combine = unite};
    struct ftc_set nobody = {0};
    struct rank rank;

    if (ftc_set_init(&nobody, RANKS) != 0)
        return 4;
    join(&rank, *(int *)arg);
    if (take_part(&rank, 8) != 7)
        return 1;
    if (rank.self == 2)
        ftc_board_revoke(rank.board, &nobody);
    else if (ftc_board_call(rank.board, &call, bits) != FTC_ERR_REVOKED)
        return 2;
    if (ftc_board_operations(rank.board) != (rank.self == 2 ? 1 : 2))
        return 3;
    ftc_board_file_unlink(rank.file);
    leave(&rank);
    return 0;
}

START_TEST(a_revoke_ends_the_calls_of_those_that_sleep)
{
    pid_t child[RANKS];

    for (int rank = 0; rank < RANKS; rank++)
        child[rank] = scratch_fork(combine_and_revoke, &rank);
    for (int rank = 0; rank < RANKS; rank++)
        scratch_wait_success(child[rank]);
    ck_assert_int_eq(files(), 0);
}
END_TEST

/* Rank 2 leaves before the second operation. The others find that, and exit as mismatch() does. */
static int combine_and_leave(void *arg)
{
    struct rank rank;

    join(&rank, *(int *)arg);
    if (take_part(&rank, 8) != 7)
        return 1;
    if (rank.self != 2)
        (void)take_part(&rank, 8);
    leave(&rank);
    return 0;
}

START_TEST(a_rank_that_has_left_is_not_awaited)
{
    pid_t child[RANKS];

    for (int rank = 0; rank < RANKS; rank++)
        child[rank] = scratch_fork(combine_and_leave, &rank);
    scratch_wait_success(child[2]);
    for (int rank = 0; rank < 2; rank++) {
        int status = scratch_wait(child[rank]);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == LEFT_EXIT);
    }
}
END_TEST

/* A closing (communicators.md, C7): rank 2 has left, rank 1 has died, and then rank 0 leaves. */
static int leave_or_die(void *arg)
{
    struct rank rank;

    join(&rank, *(int *)arg);
    if (rank.self == 1)
        raise(SIGKILL);
    leave(&rank);
    return 0;
}

START_TEST(those_that_have_left_are_told_from_those_that_have_not)
{
    struct ftc_board_file *file;

    ck_assert_int_eq(ftc_board_file_open(&file, job.segment, NUMBER, LOWEST, RANKS), 0);
    for (int rank = RANKS - 1; rank >= 0; rank--) {
        ck_assert_int_eq(ftc_board_file_has_left(file, 1, rank), 0);
        (void)scratch_wait(scratch_fork(leave_or_die, &rank));
        ck_assert_int_eq(ftc_board_file_has_left(file, 1, rank), rank != 1);
        ck_assert_int_eq(ftc_board_file_has_left(file, 2, rank), 0);
    }
    ck_assert(!ftc_board_file_is_revoked(file));
    ftc_board_file_unlink(file);
    ftc_board_file_close(file);
}
END_TEST

/* Children of one parent use the same memory, one after the other (communicators.md, C3). */
static int combine_in_turn(void *arg)
{
    struct rank parent, child;

    join_one(&parent, *(int *)arg, NUMBER + 1);
    join(&child, *(int *)arg);
    for (uint64_t use = 1; use <= 4; use++) {
        for (size_t size = 8; size <= 65536; size *= 8)
            for (unsigned times = 0; times < use; times++)
                if (take_part(&child, size) != 7 || combine_by(run_started, &child, size) != 7)
                    return 1;
        ftc_board_close(child.board);
        if (take_part(&parent, 8) != 7) /* the creation */
            return 2;
        for (int rank = 0; rank < RANKS; rank++)
            if (ftc_board_file_has_left(child.file, use, rank) != 1 ||
                ftc_board_file_has_left(child.file, use + 1, rank) != 0)
                return 3;
        ftc_board_file_renew(child.file);
        if (take_part(&parent, 8) != 7) /* the opening */
            return 4;
        open_board(&child, NUMBER + 1 + use);
    }
    ftc_board_file_unlink(parent.file);
    leave(&parent);
    leave(&child);
    return 0;
}

START_TEST(the_memory_of_one_serves_the_next)
{
    struct ftc_board_file *file;
    pid_t child[RANKS];

    ck_assert_int_eq(ftc_board_file_open(&file, job.segment, NUMBER, LOWEST, RANKS), 0);
    for (int rank = 0; rank < RANKS; rank++)
        child[rank] = scratch_fork(combine_in_turn, &rank);
    for (int rank = 0; rank < RANKS; rank++)
        scratch_wait_success(child[rank]);
    ftc_board_file_unlink(file);
    ftc_board_file_close(file);
    ck_assert_int_eq(files(), 0);
}
END_TEST

static int open_and_die(void *arg)
{
    struct rank rank;

    join(&rank, *(int *)arg);
    raise(SIGKILL);
    return 1;
}

START_TEST(what_members_leave_that_died_goes_with_the_segment)
{
    for (int rank = 0; rank < RANKS; rank++)
        (void)scratch_wait(scratch_fork(open_and_die, &rank));
    ck_assert_int_eq(files(), 1);
    scratch_job_remove(&job);
    ck_assert_int_eq(files(), 0);
    scratch_job_make(&job, JOB_RANKS);
}
END_TEST

START_TEST(a_file_of_another_size_is_refused)
{
    struct ftc_board_file *file, *other = NULL;

    ck_assert_int_eq(ftc_board_file_open(&file, job.segment, NUMBER, LOWEST, RANKS), 0);
    ck_assert_int_eq(ftc_board_file_open(&other, job.segment, NUMBER, LOWEST, RANKS + 1),
                     FTC_ERR_SYSTEM);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "is not the file of a board"));
    ftc_board_file_unlink(file);
    ftc_board_file_close(file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("board_file");
    TCase *stories = tcase_create("stories");

    tcase_add_checked_fixture(stories, setup, teardown);
    tcase_add_test(stories, three_of_six_ranks_have_a_board_and_leave_nothing);
    tcase_add_test(stories, a_member_that_dies_is_known_by_its_rank_in_the_communicator);
    tcase_add_test(stories, a_revoke_ends_the_calls_of_those_that_sleep);
    tcase_add_test(stories, a_rank_that_has_left_is_not_awaited);
    tcase_add_test(stories, those_that_have_left_are_told_from_those_that_have_not);
    tcase_add_test(stories, the_memory_of_one_serves_the_next);
    tcase_add_test(stories, what_members_leave_that_died_goes_with_the_segment);
    tcase_add_test(stories, a_file_of_another_size_is_refused);
    suite_add_tcase(suite, stories);
    return scratch_run(suite);
}
