/*
 * Large reductions of two ranks, which copy between their memories. They use sums and an operator
 * that depends on the order, in place and not, to both ranks and to one. Every result is of both
 * ranks. Once the other rank is reported failed, the result is the rank's own input.
 *
 *   copies_app [RANK]   the kernel forbids rank RANK to copy
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "ftcoll.h"

#define MOST  300001 /* elements */
#define TIMES 3
#define SMALL (128 << 10) /* bytes */

struct app {
    ftc_comm *world;
    int rank;
    ftc_op in_order;
    uint32_t input[MOST], output[MOST];
};

static bool refuse_copies(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* inout := 31 inout + in. This is associative enough for two ranks, and not commutative. */
static void in_order(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    const uint32_t *right = in;
    uint32_t *left = inout;

    (void)type;
    (void)arg;
    for (size_t i = 0; i < count; i++)
        left[i] = 31 * left[i] + right[i];
}

static uint32_t element(int rank, size_t i)
{
    return (uint32_t)i * 2654435761u + (uint32_t)rank * 40503u;
}

static uint32_t expected(const struct app *app, ftc_op op, bool alone, size_t i)
{
    uint32_t first = element(0, i), second = element(1, i);

    if (alone)
        return app->rank == 0 ? first : second;
    return op == FTC_SUM ? first + second : 31 * first + second;
}

static bool other_failed(struct app *app)
{
    ftc_report report = {.struct_size = sizeof(report)};

    return ftc_last_report(app->world, &report) == FTC_SUCCESS && report.failed_count > 0;
}

static bool is_of(const struct app *app, const uint32_t *result, size_t count, ftc_op op,
                  bool alone)
{
    for (size_t i = 0; i < count; i++)
        if (result[i] != expected(app, op, alone, i))
            return false;
    return true;
}

/* A small reduce decides nothing, so its root may have the input of a rank that is reported
 * failed. */
static bool right(struct app *app, const uint32_t *result, size_t count, ftc_op op, int root)
{
    bool failed = other_failed(app), decides = root < 0 || count * sizeof(*result) > SMALL;

    if (is_of(app, result, count, op, failed) || (!decides && is_of(app, result, count, op, false)))
        return true;
    fprintf(stderr, "rank %d, %zu elements, root %d: the result is wrong\n", app->rank, count,
            root);
    return false;
}

/* Root -1 means an allreduce. */
static bool reduce(struct app *app, size_t count, ftc_op op, int root, bool in_place)
{
    uint32_t *input = in_place ? app->output : app->input;
    const void *send = in_place ? FTC_IN_PLACE : input;

    for (size_t i = 0; i < count; i++)
        input[i] = element(app->rank, i);
    int status = root < 0 ? ftc_allreduce(send, app->output, count, FTC_UINT32, op, app->world)
                          : ftc_reduce(send, app->output, count, FTC_UINT32, op, root, app->world);
    if (root >= 0 && app->rank != root)
        return status == FTC_SUCCESS || other_failed(app);
    return status == FTC_SUCCESS && right(app, app->output, count, op, root);
}

static bool reduce_all(struct app *app, size_t count)
{
    ftc_op ops[] = {FTC_SUM, app->in_order};

    for (int root = -1; root < 2; root++)
        for (int op = 0; op < 2; op++)
            for (int in_place = 0; in_place < 2; in_place++)
                if (!reduce(app, count, ops[op], root, in_place))
                    return false;
    return true;
}

int main(int argc, char **argv)
{
    static const size_t counts[] = {4096, 4097, 40000, MOST};
    static struct app app;

    if (ftc_init(NULL, &app.world) != FTC_SUCCESS ||
        ftc_op_create(in_order, NULL, &app.in_order) != FTC_SUCCESS)
        return 1;
    app.rank = ftc_rank(app.world);
    if (argc > 1 && atoi(argv[1]) == app.rank && !refuse_copies()) {
        perror("seccomp");
        return 1;
    }
    for (int i = 0; i < TIMES; i++)
        for (size_t size = 0; size < sizeof(counts) / sizeof(counts[0]); size++)
            if (!reduce_all(&app, counts[size]))
                return 1;
    if (!reduce(&app, MOST, FTC_SUM, -1, false))
        return 1;
    ftc_report report = {.struct_size = sizeof(report)};
    ftc_last_report(app.world, &report);
    printf("rank %d is through, the last call by %s\n", app.rank, report.algorithm);
    fflush(stdout);
    return ftc_finalize(app.world) == FTC_SUCCESS && ftc_op_free(&app.in_order) == FTC_SUCCESS ? 0
                                                                                               : 1;
}
