/* Calls the non-blocking functions, and those that end requests, for walk_app.c. */
#include "tests/man/walk.h"

#include <math.h>
#include <unistd.h>

#define RANKS    WALK_RANKS
#define PATIENCE 60.0 /* seconds */
#define STEP_US  1000

/* Starts a form. The request comes last among its arguments. */
#define START(function, ...)                                                                       \
    do {                                                                                           \
        form->name = #function;                                                                    \
        form->code = function(__VA_ARGS__, &form->request);                                        \
        form++;                                                                                    \
    } while (0)

static struct form *start_blocks(struct forms *f, struct form *form, ftc_comm *comm)
{
    const size_t *one = f->one, *at = f->displs;
    const int32_t *in = f->in;

    START(ftc_iallgather, in, form->out, 1, FTC_INT32, comm);
    START(ftc_iallgatherv, in, 1, form->out, one, at, FTC_INT32, comm);
    START(ftc_igather, in, form->out, 1, FTC_INT32, 0, comm);
    START(ftc_igatherv, in, 1, form->out, one, at, FTC_INT32, 0, comm);
    START(ftc_iscatter, in, form->out, 1, FTC_INT32, 0, comm);
    START(ftc_iscatterv, in, one, at, form->out, 1, FTC_INT32, 0, comm);
    START(ftc_ialltoall, in, form->out, 1, FTC_INT32, comm);
    START(ftc_ialltoallv, in, one, at, form->out, one, at, FTC_INT32, comm);
    return form;
}

static struct form *start_reductions(struct forms *f, struct form *form, ftc_comm *comm)
{
    const int32_t *in = f->in;

    START(ftc_iallreduce, in, form->out, 1, FTC_INT32, FTC_SUM, comm);
    START(ftc_ireduce, in, form->out, 1, FTC_INT32, FTC_SUM, 0, comm);
    START(ftc_ireduce_scatter_block, in, form->out, 1, FTC_INT32, FTC_SUM, comm);
    START(ftc_ireduce_scatter, in, form->out, f->one, FTC_INT32, FTC_SUM, comm);
    START(ftc_iscan, in, form->out, 1, FTC_INT32, FTC_SUM, comm);
    START(ftc_iexscan, in, form->out, 1, FTC_INT32, FTC_SUM, comm);
    return form;
}

/* All but the agreements, which work in a revoked communicator, too. */
static struct form *start_most(struct forms *f, ftc_comm *comm)
{
    struct form *form = f->form;

    *f = (struct forms){.failed = -1};
    for (int i = 0; i < RANKS; i++) {
        f->in[i] = 1;
        f->one[i] = 1;
        f->displs[i] = (size_t)i;
    }
    form = start_blocks(f, form, comm);
    form = start_reductions(f, form, comm);
    START(ftc_ibarrier, comm);
    START(ftc_ibcast, form->out, 1, FTC_INT32, 0, comm);
    START(ftc_comm_idup, comm, &f->copy);
    START(ftc_comm_isplit, comm, 0, 0, &f->part);
    return form;
}

static struct form *start_agreements(struct forms *f, struct form *form, ftc_comm *comm)
{
    START(ftc_comm_ishrink, comm, &f->rest);
    START(ftc_iagree, comm, &f->flag);
    START(ftc_ivalidate_global, comm, &f->failed);
    return form;
}

void walk_start_forms(struct forms *f, ftc_comm *comm)
{
    MUST(start_agreements(f, start_most(f, comm), comm) == f->form + WALK_FORMS);
}

static void see_form(const struct form *form, int code)
{
    walk_see(code, form->name, form->code);
    MUST((form->request != NULL) == (code == FTC_SUCCESS));
}

void walk_see_forms(const struct forms *f, int code)
{
    for (int i = 0; i < WALK_FORMS; i++)
        see_form(&f->form[i], code);
}

/* --- the ends of requests --- */

static void end_by_test(ftc_request **request, ftc_status *status, int code)
{
    int done = 0, got = FTC_SUCCESS;

    for (double s = 0; !done && s < PATIENCE; s += STEP_US * 1e-6) {
        MUST(got == FTC_SUCCESS);
        got = ftc_test(request, &done, status);
        usleep(done ? 0 : STEP_US);
    }
    MUST(done == 1);
    walk_see(code, "ftc_test", got);
}

/* Ends *request by the call that `way` chooses. The operation returns `code`. */
static void end(ftc_request **request, int way, int code)
{
    ftc_status status = {.error = 1};
    int index = -1;

    switch (way % 5) {
    case 0:
        SEE(code, ftc_wait, (request, &status));
        break;
    case 1:
        end_by_test(request, &status, code);
        break;
    case 2:
        SEE(code, ftc_wait_for, (request, PATIENCE, &status));
        break;
    case 3:
        SEE(code, ftc_wait_all, (1, request, &status));
        break;
    default:
        SEE(code, ftc_wait_any, (1, request, &index, &status));
        MUST(index == 0);
    }
    MUST(*request == NULL && status.error == code && status.rank == -1 && status.tag == -1 &&
         status.bytes == 0);
}

/* --- all is well --- */

static void requests_that_are_none(void)
{
    ftc_request *none = NULL;
    int done = 0, index = 0;

    SEE(FTC_SUCCESS, ftc_wait, (&none, NULL));
    SEE(FTC_SUCCESS, ftc_test, (&none, &done, NULL));
    SEE(FTC_SUCCESS, ftc_wait_all, (0, NULL, NULL));
    SEE(FTC_SUCCESS, ftc_wait_any, (1, &none, &index, NULL));
    MUST(done == 1 && index == FTC_UNDEFINED);
}

/* The last rank starts the barrier of `world` after the others have seen that it has not ended. */
static void the_last_one_is_late(ftc_comm *world, ftc_comm *other)
{
    ftc_request *request = NULL;
    ftc_status status = {.error = 1};
    int done = 1;

    if (ftc_rank(world) == ftc_size(world) - 1)
        SEE(FTC_SUCCESS, ftc_barrier, (other));
    SEE(FTC_SUCCESS, ftc_ibarrier, (world, &request));
    if (ftc_rank(world) < ftc_size(world) - 1) {
        SEE(FTC_ERR_TIMEOUT, ftc_wait_for, (&request, 0.01, &status));
        SEE(FTC_SUCCESS, ftc_test, (&request, &done, &status));
        MUST(done == 0 && request != NULL && status.error == 1);
        SEE(FTC_SUCCESS, ftc_barrier, (other));
    }
    SEE(FTC_SUCCESS, ftc_wait, (&request, NULL));
}

void walk_requests(ftc_comm *world)
{
    struct forms f;
    int size = ftc_size(world);

    walk_start_forms(&f, world);
    walk_see_forms(&f, FTC_SUCCESS);
    for (int i = 0; i < WALK_FORMS; i++)
        end(&f.form[i].request, i, FTC_SUCCESS);
    MUST(f.form[0].out[size - 1] == 1 && f.form[8].out[0] == size && f.failed == 0);
    MUST(ftc_size(f.copy) == size && ftc_size(f.part) == size && ftc_size(f.rest) == size);
    the_last_one_is_late(world, f.copy);
    requests_that_are_none();
}

/* --- wrong arguments --- */

/* There is no place for the request. */
#define NOWHERE(function, ...) SEE(FTC_ERR_ARG, function, (__VA_ARGS__, NULL))

static void nowhere(ftc_comm *world)
{
    ftc_comm *out = NULL;
    int count = -1;

    NOWHERE(ftc_ibarrier, world);
    NOWHERE(ftc_ibcast, &count, 1, FTC_INT32, 0, world);
    NOWHERE(ftc_comm_idup, world, &out);
    NOWHERE(ftc_comm_isplit, world, 0, 0, &out);
    NOWHERE(ftc_comm_ishrink, world, &out);
    NOWHERE(ftc_iagree, world, &count);
    NOWHERE(ftc_ivalidate_global, world, &count);
    MUST(out == NULL && count == -1);
}

#define WRONG(code, function, ...) SEE(code, function, (__VA_ARGS__, request))

static void wrong_reductions(ftc_comm *world, ftc_request **request)
{
    size_t one[RANKS] = {1, 1, 1, 1, 1, 1, 1, 1};
    float in[RANKS] = {0}, out[RANKS] = {0};

    WRONG(FTC_ERR_ARG, ftc_iallreduce, in, NULL, 1, FTC_FLOAT, FTC_SUM, world);
    WRONG(FTC_ERR_ARG, ftc_ireduce, in, out, 1, FTC_FLOAT, FTC_SUM, -1, world);
    WRONG(FTC_ERR_ARG, ftc_ireduce_scatter_block, in, NULL, 1, FTC_FLOAT, FTC_SUM, world);
    WRONG(FTC_ERR_ARG, ftc_ireduce_scatter, in, out, NULL, FTC_FLOAT, FTC_SUM, world);
    WRONG(FTC_ERR_ARG, ftc_iscan, in, NULL, 1, FTC_FLOAT, FTC_SUM, world);
    WRONG(FTC_ERR_ARG, ftc_iexscan, in, out, 1, FTC_FLOAT, FTC_AVG, world);
    WRONG(FTC_ERR_TYPE, ftc_iallreduce, in, out, 1, FTC_FLOAT, FTC_BAND, world);
    WRONG(FTC_ERR_TYPE, ftc_ireduce, in, out, 1, FTC_FLOAT, FTC_BAND, 0, world);
    WRONG(FTC_ERR_TYPE, ftc_ireduce_scatter_block, in, out, 1, FTC_FLOAT, FTC_BAND, world);
    WRONG(FTC_ERR_TYPE, ftc_ireduce_scatter, in, out, one, FTC_FLOAT, FTC_BAND, world);
    WRONG(FTC_ERR_TYPE, ftc_iscan, in, out, 1, FTC_FLOAT, FTC_BAND, world);
    WRONG(FTC_ERR_TYPE, ftc_iexscan, in, out, 1, FTC_FLOAT, FTC_BAND, world);
}

static void wrong_forms(ftc_comm *world, ftc_request **request)
{
    size_t one[RANKS] = {1, 1, 1, 1, 1, 1, 1, 1}, at[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
    int32_t in[RANKS] = {0}, out[RANKS] = {0};
    int me = ftc_rank(world);
    ftc_comm *part = NULL;

    WRONG(FTC_ERR_ARG, ftc_ibcast, NULL, 1, FTC_INT32, 0, world);
    WRONG(FTC_ERR_ARG, ftc_iallgather, NULL, out, 1, FTC_INT32, world);
    WRONG(FTC_ERR_ARG, ftc_iallgatherv, in, 2, out, one, at, FTC_INT32, world);
    WRONG(FTC_ERR_ARG, ftc_igather, in, out, 1, FTC_INT32, -1, world);
    WRONG(FTC_ERR_ARG, ftc_igatherv, in, 1, out, NULL, NULL, FTC_INT32, me, world);
    WRONG(FTC_ERR_ARG, ftc_iscatter, NULL, out, 1, FTC_INT32, me, world);
    WRONG(FTC_ERR_ARG, ftc_iscatterv, in, one, at, NULL, 1, FTC_INT32, me, world);
    WRONG(FTC_ERR_ARG, ftc_ialltoall, in, NULL, 1, FTC_INT32, world);
    WRONG(FTC_ERR_ARG, ftc_ialltoallv, in, NULL, at, out, one, at, FTC_INT32, world);
    WRONG(FTC_ERR_ARG, ftc_comm_idup, world, NULL);
    WRONG(FTC_ERR_ARG, ftc_comm_isplit, world, 0, 0, NULL);
    WRONG(FTC_ERR_ARG, ftc_comm_isplit, world, -1, 0, &part);
    WRONG(FTC_ERR_ARG, ftc_comm_ishrink, world, NULL);
    WRONG(FTC_ERR_ARG, ftc_iagree, world, NULL);
    WRONG(FTC_ERR_ARG, ftc_ivalidate_global, world, NULL);
    MUST(part == NULL);
}

static void wrong_waits(ftc_request **request)
{
    int done = 7, index = 7;

    SEE(FTC_ERR_ARG, ftc_wait, (NULL, NULL));
    SEE(FTC_ERR_ARG, ftc_test, (request, NULL, NULL));
    SEE(FTC_ERR_ARG, ftc_wait_for, (NULL, 1, NULL));
    SEE(FTC_ERR_ARG, ftc_wait_for, (request, -1, NULL));
    SEE(FTC_ERR_ARG, ftc_wait_for, (request, NAN, NULL));
    SEE(FTC_ERR_ARG, ftc_wait_all, (-1, request, NULL));
    SEE(FTC_ERR_ARG, ftc_wait_all, (1, NULL, NULL));
    SEE(FTC_ERR_ARG, ftc_wait_any, (-1, request, &index, NULL));
    SEE(FTC_ERR_ARG, ftc_wait_any, (1, NULL, &index, NULL));
    SEE(FTC_ERR_ARG, ftc_wait_any, (1, request, NULL, NULL));
    SEE(FTC_ERR_ARG, ftc_test, (NULL, &done, NULL));
    MUST(index == 7);
}

void walk_wrong_requests(ftc_comm *world)
{
    ftc_request *request = NULL;
    ftc_comm *copy = NULL;

    nowhere(world);
    wrong_forms(world, &request);
    wrong_reductions(world, &request);
    MUST(request == NULL);
    SEE(FTC_SUCCESS, ftc_comm_dup, (world, &copy));
    SEE(FTC_SUCCESS, ftc_ibarrier, (copy, &request));
    wrong_waits(&request);
    SEE(FTC_ERR_STATE, ftc_comm_free, (&copy));
    SEE(FTC_SUCCESS, ftc_wait, (&request, NULL));
    SEE(FTC_SUCCESS, ftc_comm_free, (&copy));
    SEE(FTC_SUCCESS, ftc_ibarrier, (world, &request));
    SEE(FTC_ERR_STATE, ftc_finalize, (world));
    SEE(FTC_SUCCESS, ftc_wait, (&request, NULL));
}

/* --- communicators that are none, or are revoked --- */

void walk_refused_requests(ftc_comm *comm, int code)
{
    struct forms f;

    walk_start_forms(&f, comm);
    walk_see_forms(&f, code);
}

void walk_refused_waits(ftc_request *request)
{
    ftc_request *given = request;
    int done = 7, index = 7;

    SEE(FTC_ERR_STATE, ftc_wait, (&given, NULL));
    SEE(FTC_ERR_STATE, ftc_test, (&given, &done, NULL));
    SEE(FTC_ERR_STATE, ftc_wait_for, (&given, 1, NULL));
    SEE(FTC_ERR_STATE, ftc_wait_all, (1, &given, NULL));
    SEE(FTC_ERR_STATE, ftc_wait_any, (1, &given, &index, NULL));
    SEE(FTC_ERR_STATE, ftc_cancel, (given));
    MUST(given == request && index == 7);
}

/* Rank 0 has revoked `comm`. The others learn of that by the first request that ends. */
void walk_revoked_requests(ftc_comm *comm)
{
    struct forms f;
    struct form *next = start_most(&f, comm);

    for (struct form *form = f.form; form < next; form++) {
        see_form(form, FTC_SUCCESS);
        end(&form->request, (int)(form - f.form), FTC_ERR_REVOKED);
    }
    MUST(f.copy == NULL && f.part == NULL);
    for (struct form *last = start_agreements(&f, next, comm); next < last; next++) {
        see_form(next, FTC_SUCCESS);
        SEE(FTC_SUCCESS, ftc_wait, (&next->request, NULL));
    }
    MUST(ftc_size(f.rest) == ftc_size(comm) && f.failed == 0);
}

/* The same, where the first request is one that works in a revoked communicator. */
void walk_revoked_agreement(ftc_comm *comm)
{
    ftc_comm *rest = NULL;
    ftc_request *request = NULL;

    if (ftc_rank(comm) != 0) {
        SEE(FTC_SUCCESS, ftc_comm_ishrink, (comm, &rest, &request));
        SEE(FTC_ERR_REVOKED, ftc_wait, (&request, NULL));
        MUST(rest == NULL);
    }
    SEE(FTC_SUCCESS, ftc_comm_ishrink, (comm, &rest, &request));
    SEE(FTC_SUCCESS, ftc_wait, (&request, NULL));
    MUST(ftc_size(rest) == ftc_size(comm));
}

/* --- failures --- */

/* Rank 0 is dead, or dies. */
void walk_requests_without_root(ftc_comm *world)
{
    ftc_request *requests[5] = {NULL};
    int32_t value[5] = {7, 7, 7, 7, 7};
    int flag = 5;

    for (int i = 0; i < 5; i++)
        SEE(FTC_SUCCESS, ftc_ibcast, (&value[i], 1, FTC_INT32, 0, world, &requests[i]));
    for (int i = 0; i < 5; i++) {
        end(&requests[i], i, FTC_ERR_ROOT_FAILED);
        MUST(value[i] == 7);
    }
    SEE(FTC_ERR_RANK_FAILED, ftc_agree, (world, &flag));
    MUST(flag == 5);
}
