/*
 * Calls every function of ftcoll.h, so that it succeeds and so that it fails. man_functions.bats
 * and man_exits.bats run it. Each mode is one story, described at the function that plays it. Each
 * return value is appended to the file that WALK_SEEN names, as a line "function code". If a value
 * differs from what the story expects, the process ends with 99.
 *
 *   [ftrun options] walk_app MODE [NUMBER]
 */
#include "tests/man/walk.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 1000 /* steps of 20 ms */
#define STEP_US  20000

static const char *name_of(int code)
{
#define NAME_CODE(name, value, text)                                                               \
    if (code == (value))                                                                           \
        return #name;
    FTC_ERRORS(NAME_CODE)
    return "FTC_SUCCESS";
}

/* Uses one write for each line, because processes share the file. */
static void note(const char *function, int code)
{
    const char *path = getenv("WALK_SEEN");
    FILE *file = path != NULL ? fopen(path, "a") : NULL;

    if (file == NULL)
        return;
    fprintf(file, "%s %s\n", function, name_of(code));
    fclose(file);
}

int walk_see(int expected, const char *function, int code)
{
    int kind = code > 0 ? FTC_SUCCESS : code; /* a positive value is a rank or a size */

    if (kind != expected) {
        fprintf(stderr, "walk_app: %s: %s, not %s (%s)\n", function, name_of(kind),
                name_of(expected), ftc_last_error());
        exit(99);
    }
    if (kind != FTC_SUCCESS && ftc_last_error()[0] == '\0') {
        fprintf(stderr, "walk_app: %s: %s without a cause\n", function, name_of(kind));
        exit(99);
    }
    note(function, kind);
    return code;
}

void walk_must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "walk_app: not so: %s\n", what);
    exit(99);
}

static ftc_comm *join(void)
{
    ftc_comm *world = NULL;

    SEE(FTC_SUCCESS, ftc_init, (NULL, &world));
    return world;
}

static int leave(ftc_comm *world)
{
    SEE(FTC_SUCCESS, ftc_finalize, (world));
    return 0;
}

static void await_file(const char *path)
{
    for (int i = 0; i < PATIENCE && access(path, F_OK) != 0; i++)
        usleep(STEP_US);
    MUST(access(path, F_OK) == 0);
}

static void make_file(const char *path)
{
    FILE *file = fopen(path, "w");

    MUST(file != NULL);
    fclose(file);
}

/* Waits until this rank knows of so many failures. */
static void await_failures(ftc_comm *world, int count)
{
    int failed = 0;

    for (int i = 0; i < PATIENCE && failed < count; i++) {
        SEE(FTC_SUCCESS, ftc_validate_local, (world, &failed));
        usleep(failed < count ? STEP_US : 0);
    }
    MUST(failed == count);
}

static void add(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    (void)arg;
    for (size_t i = 0; type == FTC_INT32 && i < count; i++)
        ((int32_t *)inout)[i] += ((const int32_t *)in)[i];
}

/* --- everything goes well
 * -------------------------------------------------------------------------- */

static void reductions(ftc_comm *world, int size)
{
    int32_t one = 1, sum = 0;
    double half = 0.5, mean = 0;
    ftc_gossip_report gossip = {.struct_size = sizeof(gossip)};
    ftc_op op = NULL;

    SEE(FTC_SUCCESS, ftc_allreduce, (&one, &sum, 1, FTC_INT32, FTC_SUM, world));
    MUST(sum == size);
    SEE(FTC_SUCCESS, ftc_reduce, (&one, &sum, 1, FTC_INT32, FTC_MAX, 0, world));
    MUST(sum == (ftc_rank(world) == 0 ? 1 : size));
    SEE(FTC_SUCCESS, ftc_op_create, (add, NULL, &op));
    SEE(FTC_SUCCESS, ftc_allreduce, (&one, &sum, 1, FTC_INT32, op, world));
    MUST(sum == size);
    SEE(FTC_SUCCESS, ftc_op_free, (&op));
    MUST(op == NULL);
    SEE(FTC_SUCCESS, ftc_gossip_allreduce, (&half, &mean, 1, FTC_AVG, NULL, world));
    MUST(fabs(mean - 0.5) < 1e-8);
    /* A program that was built before there were weights says a shorter length. */
    ftc_gossip_options old = {.struct_size = offsetof(ftc_gossip_options, weight),
                              .weight = &(double){-1}};
    SEE(FTC_SUCCESS, ftc_gossip_allreduce, (&half, &mean, 1, FTC_SUM, &old, world));
    MUST(fabs(mean - 0.5 * size) < 1e-8 * size);
    SEE(FTC_SUCCESS, ftc_last_gossip_report, (world, &gossip));
}

static int all_is_well(ftc_comm *world, long number)
{
    char setting[8];
    int32_t value = ftc_rank(world) == 0 ? 42 : 0;
    int size = SEE(FTC_SUCCESS, ftc_size, (world)), failed = -1, count = -1;
    ftc_report report = {.struct_size = sizeof(report)};

    (void)number;
    MUST(SEE(FTC_SUCCESS, ftc_rank, (world)) < size);
    reductions(world, size);
    walk_blocks(world);
    walk_communicators(world);
    walk_requests(world);
    walk_messages(world);
    SEE(FTC_SUCCESS, ftc_bcast, (&value, 1, FTC_INT32, 0, world));
    MUST(value == 42);
    SEE(FTC_SUCCESS, ftc_barrier, (world));
    SEE(FTC_SUCCESS, ftc_last_report, (world, &report));
    SEE(FTC_SUCCESS, ftc_note_masked, (world, 0));
    SEE(FTC_SUCCESS, ftc_setting, (world, "detector.fence", setting, sizeof(setting)));
    MUST(strcmp(setting, "on") == 0);
    MUST(report.failed_count == 0);
    SEE(FTC_SUCCESS, ftc_validate_local, (world, &failed));
    SEE(FTC_SUCCESS, ftc_validate_global, (world, &failed));
    MUST(failed == 0);
    SEE(FTC_SUCCESS, ftc_get_state_local, (world, FTC_RANK_OK, 0, &count, NULL));
    MUST(count == size);
    SEE(FTC_SUCCESS, ftc_get_state_global, (world, FTC_RANK_FAILED, 0, &count, NULL));
    MUST(count == 0);
    SEE(FTC_SUCCESS, ftc_recognize, (world, 0, NULL));
    return leave(world);
}

static int words(long number)
{
    (void)number;
    MUST(strcmp(ftc_strerror(FTC_ERR_SIZE), "array too small") == 0);
    note("ftc_strerror", FTC_SUCCESS);
    MUST(ftc_last_error()[0] == '\0');
    note("ftc_last_error", FTC_SUCCESS);
    MUST(strcmp(ftc_version(), "0.1.0") == 0);
    note("ftc_version", FTC_SUCCESS);
    return 0;
}

/* --- calls that are refused
 * ------------------------------------------------------------------------ */

static void wrong_reductions(ftc_comm *world)
{
    double in[2] = {1, 2}, out[2] = {0, 0};
    ftc_gossip_options options = {.struct_size = sizeof(options), .algorithm = "hearsay"};
    ftc_op op = FTC_SUM, nowhere = NULL;

    SEE(FTC_ERR_ARG, ftc_allreduce, (NULL, out, 2, FTC_DOUBLE, FTC_SUM, world));
    SEE(FTC_ERR_ARG, ftc_allreduce, (in, NULL, 2, FTC_DOUBLE, FTC_SUM, world));
    SEE(FTC_ERR_ARG, ftc_allreduce, (in, out, 2, (ftc_type)99, FTC_SUM, world));
    SEE(FTC_ERR_ARG, ftc_allreduce, (in, out, 2, FTC_DOUBLE, NULL, world));
    SEE(FTC_ERR_TYPE, ftc_allreduce, (in, out, 2, FTC_DOUBLE, FTC_BAND, world));
    SEE(FTC_ERR_ARG, ftc_allreduce, (in, out, 2, FTC_DOUBLE, FTC_AVG, world));
    MUST(strstr(ftc_last_error(), "FTC_AVG") != NULL);
    SEE(FTC_ERR_ARG, ftc_reduce, (in, out, 2, FTC_DOUBLE, FTC_SUM, ftc_size(world), world));
    SEE(FTC_ERR_TYPE, ftc_reduce, (in, out, 2, FTC_DOUBLE, FTC_MINLOC, 0, world));
    SEE(FTC_ERR_ARG, ftc_gossip_allreduce, (in, out, 2, FTC_SUM, &options, world));
    SEE(FTC_ERR_TYPE, ftc_gossip_allreduce, (in, out, 2, FTC_MAX, NULL, world));
    options = (ftc_gossip_options){.struct_size = sizeof(options), .weight = &(double){1}};
    SEE(FTC_ERR_ARG, ftc_gossip_allreduce, (in, out, 2, FTC_SUM, &options, world));
    for (int i = 0; i < 3; i++) {
        options.weight = &(double[]){-1, NAN, INFINITY}[i];
        SEE(FTC_ERR_ARG, ftc_gossip_allreduce, (in, out, 2, FTC_AVG, &options, world));
    }
    options = (ftc_gossip_options){.struct_size = offsetof(ftc_gossip_options, weight) - 1};
    SEE(FTC_ERR_ARG, ftc_gossip_allreduce, (in, out, 2, FTC_AVG, &options, world));
    SEE(FTC_ERR_ARG, ftc_op_create, (NULL, NULL, &op));
    SEE(FTC_ERR_ARG, ftc_op_create, (add, NULL, NULL));
    SEE(FTC_ERR_ARG, ftc_op_free, (&op));
    SEE(FTC_ERR_ARG, ftc_op_free, (&nowhere));
    MUST(op == FTC_SUM && out[0] == 0 && out[1] == 0);
}

static int wrong_arguments(ftc_comm *world, long number)
{
    ftc_options options = {.struct_size = 0};
    ftc_report report = {.struct_size = 0};
    ftc_gossip_report gossip = {.struct_size = 0};
    ftc_rank_info info;
    int count = -1;
    char value[128];

    (void)number;
    wrong_reductions(world);
    walk_wrong_blocks(world);
    walk_wrong_communicators(world);
    walk_wrong_requests(world);
    walk_wrong_messages(world);
    SEE(FTC_ERR_ARG, ftc_init, (NULL, NULL));
    SEE(FTC_ERR_ARG, ftc_init, (&options, &world));
    SEE(FTC_ERR_ARG, ftc_bcast, (NULL, 1, FTC_INT8, 0, world));
    SEE(FTC_ERR_ARG, ftc_bcast, (&count, 1, FTC_INT32, -1, world));
    SEE(FTC_ERR_ARG, ftc_last_report, (world, &report));
    SEE(FTC_ERR_ARG, ftc_last_report, (world, NULL));
    SEE(FTC_ERR_ARG, ftc_setting, (world, "job.none", value, sizeof(value)));
    SEE(FTC_ERR_ARG, ftc_setting, (world, NULL, value, sizeof(value)));
    SEE(FTC_ERR_SIZE, ftc_setting, (world, "job.f", value, 1));
    SEE(FTC_ERR_ARG, ftc_note_masked, (world, ftc_size(world)));
    SEE(FTC_ERR_ARG, ftc_last_gossip_report, (world, &gossip));
    SEE(FTC_ERR_ARG, ftc_validate_local, (world, NULL));
    SEE(FTC_ERR_ARG, ftc_validate_global, (world, NULL));
    SEE(FTC_ERR_ARG, ftc_get_state_local, (world, 0, 0, &count, NULL));
    SEE(FTC_ERR_ARG, ftc_get_state_global, (world, FTC_RANK_OK, 1, &count, NULL));
    SEE(FTC_ERR_SIZE, ftc_get_state_local, (world, FTC_RANK_OK, 1, &count, &info));
    SEE(FTC_ERR_SIZE, ftc_get_state_global, (world, FTC_RANK_OK, 1, &count, &info));
    MUST(count == -1);
    SEE(FTC_ERR_ARG, ftc_recognize, (world, 1, &(int){0}));
    return leave(world);
}

/* Calls all functions that take a communicator with a pointer that is none. */
static void all_refuse(ftc_comm *world, int code)
{
    int32_t one = 1, sum = 0;
    char value[128];
    double half = 0.5, mean = 0;
    ftc_report report = {.struct_size = sizeof(report)};
    ftc_gossip_report gossip = {.struct_size = sizeof(gossip)};
    int count = 0;

    walk_refused_blocks(world, code);
    walk_refused_communicators(world, code);
    walk_refused_requests(world, code);
    walk_refused_messages(world, code);
    walk_refused_message_requests(world, code);
    SEE(code, ftc_rank, (world));
    SEE(code, ftc_size, (world));
    SEE(code, ftc_allreduce, (&one, &sum, 1, FTC_INT32, FTC_SUM, world));
    SEE(code, ftc_reduce, (&one, &sum, 1, FTC_INT32, FTC_SUM, 0, world));
    SEE(code, ftc_bcast, (&one, 1, FTC_INT32, 0, world));
    SEE(code, ftc_barrier, (world));
    SEE(code, ftc_gossip_allreduce, (&half, &mean, 1, FTC_AVG, NULL, world));
    SEE(code, ftc_last_gossip_report, (world, &gossip));
    SEE(code, ftc_validate_local, (world, &count));
    SEE(code, ftc_validate_global, (world, &count));
    SEE(code, ftc_get_state_local, (world, FTC_RANK_OK, 0, &count, NULL));
    SEE(code, ftc_get_state_global, (world, FTC_RANK_OK, 0, &count, NULL));
    SEE(code, ftc_recognize, (world, 0, NULL));
    SEE(code, ftc_last_report, (world, &report));
    SEE(code, ftc_setting, (world, "job.f", value, sizeof(value)));
    SEE(code, ftc_note_masked, (world, 0));
    SEE(code, ftc_abort, (world, 7));
    SEE(code, ftc_finalize, (world));
}

static int no_communicator(long number)
{
    (void)number;
    all_refuse(NULL, FTC_ERR_ARG);
    return 0;
}

static int forked(ftc_comm *world, long number)
{
    ftc_request *request = NULL;
    int status = -1;

    SEE(FTC_SUCCESS, ftc_ibarrier, (world, &request));
    pid_t child = fork();
    (void)number;
    if (child == 0) {
        all_refuse(world, FTC_ERR_STATE);
        walk_refused_waits(request);
        _exit(0);
    }
    MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    SEE(FTC_SUCCESS, ftc_wait, (&request, NULL));
    return leave(world);
}

static int join_twice(ftc_comm *world, long number)
{
    ftc_comm *second = NULL;

    (void)number;
    SEE(FTC_ERR_STATE, ftc_init, (NULL, &second));
    MUST(second == NULL);
    return leave(world);
}

/* Environments in which no process can join. man_functions.bats makes them; NUMBER is the expected
 * code. */
static int cannot_join(long number)
{
    ftc_comm *world = NULL;

    SEE((int)number, ftc_init, (NULL, &world));
    MUST(world == NULL);
    return 0;
}

/* Runs as a child of the process that ftrun started. Once the child is in its own session, its
 * parent ends; then the child joins. Rank 0 stays until the child has tried. */
static int late(long number)
{
    const char *rank = getenv("FTCOLL_RANK");

    if (rank != NULL && strcmp(rank, "1") == 0) {
        make_file("apart");
        await_file("failed");
        cannot_join(number);
        make_file("tried");
        return 0;
    }
    ftc_comm *world = join();
    await_failures(world, 1);
    make_file("failed");
    await_file("tried");
    return leave(world);
}

/* --- operations that fail
 * --------------------------------------------------------------------------- */

static int root_dies(ftc_comm *world, long number)
{
    int32_t value = 7;

    (void)number;
    if (ftc_rank(world) == 0)
        _exit(0);
    SEE(FTC_ERR_ROOT_FAILED, ftc_bcast, (&value, 1, FTC_INT32, 0, world));
    MUST(value == 7);
    SEE(FTC_ERR_ROOT_FAILED, ftc_scatter, (NULL, &value, 1, FTC_INT32, 0, world));
    MUST(value == 7);
    walk_requests_without_root(world);
    walk_messages_of_dead(world);
    return leave(world);
}

/* With f = 0 and by messages, the last rank dies before the call. The ranks have not agreed on
 * that. NUMBER: 0 for a reduce, 1 for a gather, 2 for a request of a reduce. */
static int many_die(ftc_comm *world, long number)
{
    int32_t one = 1, sum = 0, all[8] = {0};
    ftc_request *request = NULL;

    if (ftc_rank(world) == ftc_size(world) - 1)
        _exit(0);
    await_failures(world, 1);
    int code = ftc_rank(world) == 0 ? FTC_ERR_TOO_MANY_FAILURES : FTC_SUCCESS;
    if (number == 0)
        SEE(code, ftc_reduce, (&one, &sum, 1, FTC_INT32, FTC_SUM, 0, world));
    else if (number == 1)
        SEE(code, ftc_gather, (&one, all, 1, FTC_INT32, 0, world));
    else
        MUST(ftc_ireduce(&one, &sum, 1, FTC_INT32, FTC_SUM, 0, world, &request) == FTC_SUCCESS &&
             ftc_wait(&request, NULL) == code);
    MUST(sum == 0 && all[0] == 0);
    return leave(world);
}

/* Two results are compared by vote. One of them is damaged in operations 0, 2 and 3. */
static int vote(ftc_comm *world, long number)
{
    double one = 1, sum = 0;
    ftc_request *request = NULL;

    (void)number;
    SEE(FTC_ERR_CORRUPT, ftc_allreduce, (&one, &sum, 1, FTC_DOUBLE, FTC_SUM, world));
    MUST(sum == 0);
    SEE(FTC_SUCCESS, ftc_allreduce, (&one, &sum, 1, FTC_DOUBLE, FTC_SUM, world));
    MUST(sum == ftc_size(world));
    int code = ftc_rank(world) == 0 ? FTC_ERR_CORRUPT : FTC_SUCCESS;
    SEE(code, ftc_reduce, (&one, &sum, 1, FTC_DOUBLE, FTC_SUM, 0, world));
    SEE(FTC_SUCCESS, ftc_iallreduce, (&one, &sum, 1, FTC_DOUBLE, FTC_SUM, world, &request));
    MUST(ftc_wait(&request, NULL) == FTC_ERR_CORRUPT);
    MUST(sum == ftc_size(world));
    return leave(world);
}

static int not_finite(ftc_comm *world, long number)
{
    double in = ftc_rank(world) == 0 ? NAN : 1, out = 7;

    (void)number;
    SEE(FTC_ERR_NOT_CONVERGED, ftc_gossip_allreduce, (&in, &out, 1, FTC_SUM, NULL, world));
    MUST(out == 7);
    return leave(world);
}

static int one_dies(ftc_comm *world, long number)
{
    ftc_rank_info info = {.rank = -1};
    int count = 0, last = ftc_size(world) - 1;

    (void)number;
    if (ftc_rank(world) == last)
        _exit(0);
    await_failures(world, 1);
    SEE(FTC_SUCCESS, ftc_recognize, (world, 1, &last));
    SEE(FTC_SUCCESS, ftc_get_state_local, (world, FTC_RANK_NULL, 1, &count, &info));
    MUST(count == 1 && info.rank == last && info.state == FTC_RANK_NULL);
    SEE(FTC_SUCCESS, ftc_validate_global, (world, &count));
    MUST(count == 1);
    return leave(world);
}

/* --- how processes end
 * ------------------------------------------------------------------------------- */

static int ends_with(ftc_comm *world, long number)
{
    leave(world);
    return (int)number;
}

static int dies_with(ftc_comm *world, long number)
{
    (void)world;
    _exit((int)number);
}

static int aborts(ftc_comm *world, long number)
{
    SEE(FTC_SUCCESS, ftc_barrier, (world));
    if (ftc_rank(world) == 0) {
        note("ftc_abort", FTC_SUCCESS); /* this call does not return */
        ftc_abort(world, (int)number);
        return 98;
    }
    ftc_barrier(world);
    return 98;
}

static void *wait_in_barrier(void *arg)
{
    ftc_barrier(arg);
    return NULL;
}

/* Aborts while another thread is in a call, and while the other ranks are outside of the
 * library. */
static int aborts_beside(ftc_comm *world, long number)
{
    pthread_t thread;

    SEE(FTC_SUCCESS, ftc_barrier, (world));
    if (ftc_rank(world) != 0)
        pause();
    MUST(pthread_create(&thread, NULL, wait_in_barrier, world) == 0);
    printf("not flushed");
    ftc_abort(world, (int)number);
    return 98;
}

static int dies_second(ftc_comm *world, long number)
{
    await_failures(world, 1);
    _exit((int)number);
}

/* The ranks make two kinds of call at once. */
static int mismatches(ftc_comm *world, long number)
{
    int32_t one = 1, sum = 0;

    (void)number;
    if (ftc_rank(world) == 0)
        ftc_barrier(world);
    else
        ftc_allreduce(&one, &sum, 1, FTC_INT32, FTC_SUM, world);
    ftc_barrier(world);
    return 98;
}

/* Runs operations until the process is ended, whatever they return. A file tells that they go
 * on. */
static int goes_on(ftc_comm *world, long number)
{
    int32_t one = 1, sum = 0;

    for (long i = 0; i < number; i++) {
        ftc_allreduce(&one, &sum, 1, FTC_INT32, FTC_SUM, world);
        if (i == 1)
            make_file("going");
        usleep(STEP_US);
    }
    return leave(world);
}

static const struct story {
    const char *name;
    int (*alone)(long number); /* before ftc_init() */
    int (*joined)(ftc_comm *world, long number);
} stories[] = {
    {"well", NULL, all_is_well},
    {"words", words, NULL},
    {"arguments", NULL, wrong_arguments},
    {"null", no_communicator, NULL},
    {"fork", NULL, forked},
    {"revoked", NULL, walk_revoked},
    {"twice", NULL, join_twice},
    {"refused", cannot_join, NULL},
    {"late", late, NULL},
    {"memory", walk_without_memory, NULL},
    {"request-memory", NULL, walk_requests_without_memory},
    {"gossip-memory", NULL, walk_gossip_without_memory},
    {"memory-inside", NULL, walk_no_memory_inside},
    {"root", NULL, root_dies},
    {"many", NULL, many_die},
    {"vote", NULL, vote},
    {"infinite", NULL, not_finite},
    {"one", NULL, one_dies},
    {"end", NULL, ends_with},
    {"die", NULL, dies_with},
    {"die-second", NULL, dies_second},
    {"abort", NULL, aborts},
    {"abort-beside", NULL, aborts_beside},
    {"mismatch", NULL, mismatches},
    {"go", NULL, goes_on},
    {NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
    const struct story *story = stories;
    long number = argc > 2 ? atol(argv[2]) : 0;

    while (argc > 1 && story->name != NULL && strcmp(story->name, argv[1]) != 0)
        story++;
    if (argc < 2 || story->name == NULL)
        return 2;
    return story->alone != NULL ? story->alone(number) : story->joined(join(), number);
}
