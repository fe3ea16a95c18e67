/* ftc_gossip_allreduce(): checks the arguments, runs the gossip aggregation and the agreements that
 * end it (collectives/gossip/end.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mix.h"
#include "base/probes.h"
#include "collectives/values/types.h"
#include "runtime/algorithms/gossip.h"
#include "runtime/api/call.h"
#include "runtime/comm/drive.h"
#include "runtime/comm/publish.h"
#include "runtime/comm/request.h"
#include "runtime/process/progress.h"

#define ATTEMPTS                                                                                   \
    64 /* most attempts; each but the last found ranks too far apart, or a death in between */
#define CODE_SUM 1
#define CODE_AVG 12

/* One call of ftc_gossip_allreduce(). */
struct aggregation {
    struct ftc_comm *comm;
    struct ftc_gossip_settings core;
    struct ftc_gossip_end_settings end;
    enum ftc_neighbourhood_kind neighbourhood;
    int operator_code;
    double weight; /* of this rank */
    /* count doubles, the input times the weight, and the weight; zeroes if a product is not
     * finite. */
    double *input;
    bool finite;     /* all products are finite */
    double *average; /* count doubles: the result */
    double *decided; /* ftc_gossip_end_contributes() doubles: the value of the last agreement */
};

/* --- arguments --- */

static int find_name(const char *name, const char *(*name_of)(int), int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name_of(i), name) == 0)
            return i;
    return -1;
}

static const char *algorithm_name(int algorithm)
{
    return ftc_gossip_algorithm_name((enum ftc_gossip_algorithm)algorithm);
}

static const char *neighbourhood_name(int kind)
{
    return ftc_neighbourhood_name((enum ftc_neighbourhood_kind)kind);
}

/* Takes the settings from the configuration. */
static void configure(struct aggregation *a)
{
    const struct ftc_config *config = &a->comm->process->config;

    a->core.algorithm = (enum ftc_gossip_algorithm)config->gossip_algorithm;
    a->core.accuracy = config->gossip_accuracy;
    a->core.tau = config->gossip_tau;
    a->core.patience_ns = (uint64_t)config->gossip_patience_us * 1000;
    a->neighbourhood = (enum ftc_neighbourhood_kind)config->gossip_neighbourhood;
    a->end.most_messages = (uint64_t)config->gossip_most_messages;
    a->end.most_attempts = ATTEMPTS;
}

static int take_weight(struct aggregation *a, const double *weight)
{
    if (weight == NULL)
        return FTC_SUCCESS;
    if (a->operator_code == CODE_SUM)
        return ftc_error_set(FTC_ERR_ARG, "a weight goes with FTC_AVG alone: for a weighted sum, "
                                          "multiply the inputs before the call");
    if (!(*weight >= 0 && isfinite(*weight)))
        return ftc_error_set(FTC_ERR_ARG, "weight %g: take 0 or more, and no infinity", *weight);
    a->weight = *weight;
    return FTC_SUCCESS;
}

/* Takes the settings that the options of the call give instead. */
static int override(struct aggregation *a, const ftc_gossip_options *options)
{
    int algorithm = (int)a->core.algorithm, neighbourhood = (int)a->neighbourhood;

    if (options->algorithm != NULL)
        algorithm = find_name(options->algorithm, algorithm_name, FTC_GOSSIP_ALGORITHMS);
    if (options->neighbourhood != NULL)
        neighbourhood = find_name(options->neighbourhood, neighbourhood_name, FTC_NEIGHBOURHOODS);
    if (algorithm < 0)
        return ftc_error_set(
            FTC_ERR_ARG,
            "gossip algorithm \"%s\": take push-sum, push-flow, push-cancel-flow, pflc or pfcc",
            options->algorithm);
    if (neighbourhood < 0)
        return ftc_error_set(
            FTC_ERR_ARG, "neighbourhood \"%s\": take full, hypercube, directed-hypercube or torus",
            options->neighbourhood);
    a->core.algorithm = (enum ftc_gossip_algorithm)algorithm;
    a->neighbourhood = (enum ftc_neighbourhood_kind)neighbourhood;
    if (options->accuracy != 0)
        a->core.accuracy = options->accuracy;
    if (options->max_messages != 0)
        a->end.most_messages = options->max_messages;
    return take_weight(a, options->weight);
}

/* Without an option of the call, turns are used if the configuration says so and they are possible.
 * If the call asks for impossible turns, ftc_gossip_check() refuses. */
static bool choose_turns(const struct aggregation *a, int turns)
{
    bool possible = a->core.algorithm != FTC_GOSSIP_PUSH_SUM &&
                    a->neighbourhood != FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE;

    if (turns != 0)
        return turns > 0;
    return a->comm->process->config.gossip_turns && possible;
}

static int check_buffers(const void *send, const void *recv, size_t count, ftc_op op)
{
    if (op != FTC_SUM && op != FTC_AVG)
        return ftc_error_set(FTC_ERR_TYPE, "gossip aggregates by FTC_SUM and FTC_AVG alone");
    if (count > SIZE_MAX / 64)
        return ftc_error_set(FTC_ERR_ARG, "%zu doubles do not fit into memory", count);
    if (count > 0 && (recv == NULL || send == NULL))
        return ftc_error_set(FTC_ERR_ARG, "%s is NULL", recv == NULL ? "recv" : "send");
    return FTC_SUCCESS;
}

static int check(struct aggregation *a, const void *send, const void *recv, size_t count, ftc_op op,
                 const ftc_gossip_options *options)
{
    ftc_gossip_options full = {0}; /* that of an older program is shorter: it ends before weight */
    int rc = check_buffers(send, recv, count, op);

    if (rc == FTC_SUCCESS && options != NULL &&
        options->struct_size < offsetof(ftc_gossip_options, weight))
        rc = ftc_error_set(FTC_ERR_ARG, "set options.struct_size to sizeof(ftc_gossip_options)");
    if (rc != FTC_SUCCESS)
        return rc;
    if (options != NULL)
        memcpy(&full, options,
               options->struct_size < sizeof(full) ? options->struct_size : sizeof(full));
    a->operator_code = op == FTC_SUM ? CODE_SUM : CODE_AVG;
    configure(a);
    rc = override(a, &full);
    a->core.turns = choose_turns(a, full.turns);
    a->core.count = a->end.count = count;
    a->end.accuracy = a->core.accuracy;
    a->end.survives =
        ftc_gossip_survives(a->core.algorithm) &&
        a->neighbourhood != FTC_NEIGHBOURHOOD_DIRECTED_HYPERCUBE; /* it needs each of its links */
    return rc;
}

/* --- beginning --- */

static const struct ftc_set *agreed_failed(const struct ftc_comm *comm)
{
    return comm->board != NULL ? ftc_board_agreed(comm->board)
                               : ftc_member_agreed_failed(comm->member);
}

static int make_places(struct ftc_comm *comm)
{
    struct ftc_gossip_run *run = comm->gossip;

    if (run->rank == NULL)
        run->rank = calloc(2 * (size_t)comm->size, sizeof(int));
    if (run->rank == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for gossip among %d ranks", comm->size);
    run->place = run->rank + comm->size;
    return FTC_SUCCESS;
}

/* The ranks that are not in `failed`, a set that all agree on, gossip with each other. */
static void place_ranks(struct ftc_comm *comm, const struct ftc_set *failed)
{
    struct ftc_gossip_run *run = comm->gossip;

    run->places = 0;
    for (int rank = 0; rank < comm->size; rank++) {
        run->place[rank] = ftc_set_has(failed, rank) ? -1 : run->places;
        if (run->place[rank] >= 0)
            run->rank[run->places++] = rank;
    }
}

/* Makes and checks the settings that are the same at all ranks. So an error here comes at all
 * ranks. Under the lock. */
static int settle_settings(struct aggregation *a, const struct ftc_set *failed)
{
    struct ftc_gossip_run *run = a->comm->gossip;

    place_ranks(a->comm, failed);
    a->core.self = run->place[a->comm->rank];
    a->core.seed = ftc_mix(ftc_member_next_op(a->comm->member) + 1);
    int rc = ftc_neighbourhood_init(&a->core.neighbourhood, a->neighbourhood, run->places);
    run->neighbourhood = a->core.neighbourhood;
    a->end.removed = failed;
    return rc == FTC_SUCCESS ? ftc_gossip_check(&a->core) : rc;
}

/* Products that are not finite are replaced by zeroes. The result cannot be right then, and begin()
 * gives up, which all ranks learn. The input of a rank without weight is not read. */
static int take_input(struct aggregation *a, const double *input)
{
    size_t count = a->core.count, contributes = ftc_gossip_end_contributes(count);

    a->input = calloc(2 * count + 1 + contributes, sizeof(double));
    if (a->input == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for gossip about %zu doubles", count);
    a->average = a->input + count + 1;
    a->decided = a->average + count;
    a->core.weight = &a->input[count];
    a->input[count] = a->weight;
    a->finite = true;
    for (size_t i = 0; a->weight > 0 && i < count; i++) {
        a->input[i] = input[i] * a->weight;
        a->finite &= isfinite(a->input[i]) != 0;
    }
    if (!a->finite)
        memset(a->input, 0, count * sizeof(double));
    return FTC_SUCCESS;
}

static int create(struct aggregation *a)
{
    struct ftc_gossip_run *run = a->comm->gossip;

    int rc = ftc_gossip_create(&run->core, &a->core, a->input);
    if (rc == FTC_SUCCESS)
        rc = ftc_gossip_end_create(&run->end, &a->end, run->core);
    return rc;
}

static void destroy(struct ftc_comm *comm)
{
    struct ftc_gossip_run *run = comm->gossip;

    ftc_gossip_end_destroy(run->end);
    ftc_gossip_destroy(run->core);
    run->end = NULL;
    run->core = NULL;
    run->head.op = ftc_member_next_op(comm->member);
    ftc_comm_algorithm_due(comm, 0);
}

/* Resets all that belongs to one gossip, which begins, or begins anew. */
static void reset(struct aggregation *a)
{
    struct ftc_gossip_run *run = a->comm->gossip;

    run->head = (struct ftc_gossip_head){.communicator = a->comm->driven.number,
                                         .op = ftc_member_next_op(a->comm->member),
                                         .count = a->core.count,
                                         .algorithm = (uint8_t)a->core.algorithm,
                                         .neighbourhood = (uint8_t)a->neighbourhood,
                                         .turns = a->core.turns,
                                         .operator_code = (uint8_t)a->operator_code};
    run->frozen = run->owing = run->putting_off = false;
    run->sent = run->spared = run->stood = run->damaged = 0;
    run->began_ns = run->spent_ns = run->unsettled_ns = 0;
    run->silent = 0;
    ftc_set_clear(&run->heard);
    if (a->comm->flips.drawn)
        run->drawn = ftc_flips_draw(&a->comm->flips, run->head.op, a->comm->size);
}

static void reset_report(struct aggregation *a)
{
    struct ftc_gossip_run *run = a->comm->gossip;

    memset(run->struck, 0, sizeof(run->struck));
    run->report = (ftc_gossip_report){.algorithm = algorithm_name((int)a->core.algorithm),
                                      .neighbourhood = neighbourhood_name((int)a->neighbourhood),
                                      .accuracy = a->core.accuracy};
}

static void begin(struct aggregation *a)
{
    struct ftc_comm *comm = a->comm;
    struct ftc_gossip_run *run = comm->gossip;
    const struct ftc_set *known = ftc_member_known_failed(comm->member);

    ftc_comm_expect_delivery(comm); /* so that a step takes in more than one message */
    ftc_publish_ran(comm, FTC_CHOICE_GOSSIP);
    ftc_publish_called(comm, run->head.op);
    for (int rank = ftc_set_next(known, 0); rank >= 0; rank = ftc_set_next(known, rank + 1))
        ftc_gossip_run_notice(comm, rank);
    if (!a->finite || (ftc_gossip_run_lost(run) && !a->end.survives))
        ftc_gossip_end_give_up(run->end);
    ftc_gossip_run_strike(comm);
    ftc_gossip_start(run->core);
    ftc_gossip_run_outputs(comm);
    ftc_gossip_run_take_kept(comm);
}

/* --- agreements --- */

static const struct ftc_set *decided_failed(const struct ftc_comm *comm)
{
    struct ftc_member_report report;

    ftc_member_report(comm->member, &report);
    return report.failed;
}

/* Runs an agreement by messages, even if there is a board: messages have checksums of values and
 * heads, and the board has none. */
static int run_agreement(struct ftc_comm *comm, const struct ftc_call *call, void *receive)
{
    comm->agreeing = true;
    int rc = ftc_request_run(comm, call, receive, FTC_CHOICE_BOARD + 1);
    comm->agreeing = false;
    ftc_publish_ran(comm, FTC_CHOICE_GOSSIP);
    ftc_comm_expect_delivery(comm); /* gossip goes on: steps take in many messages */
    return rc;
}

/* Runs one agreement. Its decision may name a failed rank before the detector tells this rank, so
 * the gossip is told of its failed set. */
static int agree(struct aggregation *a, const double *contribution, double *decided)
{
    struct ftc_comm *comm = a->comm;
    struct ftc_reduction greatest;
    struct ftc_call call = {.signature = {.kind = FTC_CALL_GOSSIP,
                                          .type = FTC_DOUBLE,
                                          .operator_code = (uint8_t)a->operator_code,
                                          .root = -1}};
    int rc = ftc_reduction_init(&greatest, FTC_DOUBLE, FTC_MAX);

    if (rc != FTC_SUCCESS)
        return rc;
    if (contribution != NULL)
        call.signature.size = ftc_gossip_end_contributes(a->core.count) * sizeof(double);
    call.input = contribution;
    call.combine = ftc_reduction_combine;
    call.merge = ftc_reduction_merges(&greatest) ? ftc_reduction_merge : NULL;
    call.combine_arg = &greatest;
    rc = run_agreement(comm, &call, decided);
    const struct ftc_set *failed = decided_failed(comm);
    for (int rank = ftc_set_next(failed, 0); rank >= 0; rank = ftc_set_next(failed, rank + 1))
        ftc_gossip_run_notice(comm, rank);
    return rc;
}

static bool is_ready(struct ftc_comm *comm, void *arg)
{
    (void)arg;
    ftc_gossip_run_clock(comm);
    return ftc_comm_is_revoked(comm) || ftc_gossip_run_ready(comm->gossip);
}

static bool is_complete(struct ftc_comm *comm, void *arg)
{
    (void)arg;
    return ftc_comm_is_revoked(comm) || ftc_gossip_end_complete(comm->gossip->end);
}

/* Takes in all that the neighbours sent before the barrier (gossip.md, rule 5), and then nothing
 * more. The wait ends: each neighbour either sent its mark before it came to the barrier, or is
 * declared failed. */
static void freeze(struct ftc_comm *comm)
{
    comm->gossip->taking = true;
    ftc_gossip_run_take_kept(comm);
    ftc_comm_wait(comm, &(struct ftc_until){.done = is_complete});
    comm->gossip->taking = false;
    comm->gossip->frozen = true;
    ftc_comm_algorithm_due(comm, 0);
}

static void thaw(struct aggregation *a)
{
    struct ftc_comm *comm = a->comm;
    struct ftc_gossip_run *run = comm->gossip;

    run->frozen = false;
    if (ftc_gossip_run_lost(run) && !a->end.survives)
        ftc_gossip_end_give_up(run->end);
    ftc_comm_algorithm_due(
        comm, ftc_clock_now()); /* at once: messages under way may have died with their sender */
    ftc_gossip_run_take_kept(comm);
}

static double seconds_since(uint64_t *ns)
{
    uint64_t now = ftc_clock_now(), before = *ns;

    *ns = now;
    return (double)(now - before) / 1e9;
}

/* Runs one attempt. FTC_SUCCESS with its verdict, or an error of the agreement core. */
static int attempt(struct aggregation *a, enum ftc_gossip_verdict *verdict)
{
    struct ftc_comm *comm = a->comm;
    struct ftc_gossip_run *run = comm->gossip;
    uint64_t ns = ftc_clock_now();

    ftc_comm_wait(comm, &(struct ftc_until){.done = is_ready});
    ftc_gossip_run_clock_stop(comm);
    run->report.gossip_seconds += seconds_since(&ns);
    ftc_gossip_end_enter(run->end, run->sent - run->spared);
    ftc_gossip_run_outputs(comm);
    int rc = agree(a, NULL, NULL);
    run->report.barrier_seconds += seconds_since(&ns);
    if (rc != FTC_SUCCESS)
        return rc;
    freeze(comm);
    rc = agree(a, ftc_gossip_end_freeze(run->end), a->decided);
    if (rc == FTC_SUCCESS)
        *verdict = ftc_gossip_end_decide(run->end, a->decided, decided_failed(comm), a->average);
    run->report.agreement_seconds += seconds_since(&ns);
    return rc;
}

/* Adds the counters of this gossip. The call may have begun gossip more than once. */
static void add_to_report(struct ftc_comm *comm)
{
    struct ftc_gossip_run *run = comm->gossip;
    struct ftc_gossip_counters counters;

    ftc_gossip_counters(run->core, &counters);
    run->report.messages += run->sent;
    run->report.attempts += ftc_gossip_end_attempts(run->end);
    run->report.corrupt += counters.corrupt + run->damaged;
    run->damaged = 0;
    run->report.repairs += counters.repairs;
}

static int start(struct aggregation *a, const struct ftc_set *failed)
{
    int rc = settle_settings(a, failed);

    if (rc != FTC_SUCCESS)
        return rc;
    reset(a);
    rc = create(a);
    if (rc == FTC_SUCCESS)
        begin(a);
    return rc;
}

/* Deaths have parted the survivors, so gossip begins anew among the living ranks. The input is
 * taken from the gossip, which has kept it under a checksum. */
static void start_anew(struct aggregation *a)
{
    struct ftc_comm *comm = a->comm;

    memcpy(a->input, ftc_gossip_initial(comm->gossip->core), (a->core.count + 1) * sizeof(double));
    add_to_report(comm);
    destroy(comm);
    if (start(a, decided_failed(comm)) != FTC_SUCCESS)
        ftc_process_leave(comm->process, FTC_EXIT_INTERNAL, "out of memory");
}

/* Sets the error. Its cause is the same at every survivor. */
static int no_result(const struct aggregation *a)
{
    static const char *const words[FTC_GOSSIP_CAUSES] = {
        [FTC_GOSSIP_CAUSE_ATTEMPTS] =
            "no attempt had one: take a coarser accuracy, or another algorithm",
        [FTC_GOSSIP_CAUSE_HOPELESS] =
            "an input is not finite, or a rank died: take finite inputs, and push-flow, pflc or "
            "pfcc in an undirected neighbourhood",
        [FTC_GOSSIP_CAUSE_WEIGHTLESS] = "the weights of all survivors are 0: give one of them more",
        [FTC_GOSSIP_CAUSE_MESSAGES] =
            "a rank has sent as many messages as it may: take a coarser accuracy, another "
            "algorithm, or a greater gossip.most_messages",
        [FTC_GOSSIP_CAUSE_TIME] =
            "a rank has gossiped for as long as it may: take a coarser accuracy, another "
            "algorithm, or a greater gossip.most_seconds"};
    const struct ftc_gossip_run *run = a->comm->gossip;

    return ftc_error_set(
        FTC_ERR_NOT_CONVERGED,
        "gossip by %s, accuracy %g, ended without a result after %d attempts and %llu messages of "
        "this rank; %s",
        algorithm_name((int)a->core.algorithm), a->core.accuracy, run->report.attempts,
        (unsigned long long)run->report.messages, words[ftc_gossip_end_cause(run->end)]);
}

static bool is_over(enum ftc_gossip_verdict verdict)
{
    return verdict == FTC_GOSSIP_AGREED || verdict == FTC_GOSSIP_GIVEN_UP;
}

static int run_attempts(struct aggregation *a)
{
    enum ftc_gossip_verdict verdict = FTC_GOSSIP_AGAIN;
    int rc = FTC_SUCCESS;

    while (rc == FTC_SUCCESS && !is_over(verdict)) {
        rc = attempt(a, &verdict);
        if (rc == FTC_SUCCESS && verdict == FTC_GOSSIP_AGAIN)
            thaw(a);
        else if (rc == FTC_SUCCESS && verdict == FTC_GOSSIP_ANEW)
            start_anew(a);
    }
    add_to_report(a->comm);
    return rc == FTC_SUCCESS && verdict == FTC_GOSSIP_GIVEN_UP ? no_result(a) : rc;
}

static void give_result(struct aggregation *a, double *recv)
{
    struct ftc_comm *comm = a->comm;
    int living = comm->size - ftc_set_count(decided_failed(comm));
    int times = a->operator_code == CODE_SUM ? living : 1;

    for (size_t i = 0; i < a->core.count; i++)
        recv[i] = a->average[i] * times;
    comm->gossip->report.error_bound = ftc_gossip_end_error(comm->gossip->end) * times;
}

static int aggregate(struct aggregation *a, const double *input, double *recv)
{
    struct ftc_comm *comm = a->comm;

    ftc_call_enter(comm);
    ftc_publish_record(comm);
    int rc = make_places(comm);
    if (rc == FTC_SUCCESS)
        rc = take_input(a, input);
    if (rc == FTC_SUCCESS) {
        reset_report(a);
        ftc_comm_leave_board(comm);
        ftc_request_begin(comm);
        int before = ftc_set_count(agreed_failed(comm));
        rc = start(a, agreed_failed(comm));
        if (rc == FTC_SUCCESS) {
            rc = run_attempts(a);
            ftc_publish_ran(comm, FTC_CHOICE_GOSSIP);
            comm->lost = ftc_set_count(decided_failed(comm)) - before;
            if (rc != FTC_ERR_REVOKED)
                ftc_comm_return_to_board(comm);
        }
        if (rc == FTC_SUCCESS)
            give_result(a, recv);
        destroy(comm);
    }
    ftc_call_leave(comm);
    free(a->input);
    return rc;
}

/* Without values, or in a job of one rank, only a barrier is left to do. */
static int aggregate_nothing(const struct aggregation *a, const void *send, void *recv,
                             size_t count)
{
    struct ftc_call call = {.signature = {.kind = FTC_CALL_GOSSIP,
                                          .type = FTC_DOUBLE,
                                          .operator_code = (uint8_t)a->operator_code,
                                          .root = -1}};
    int rc = ftc_call_run(a->comm, &call, NULL);

    if (rc == FTC_SUCCESS && a->weight == 0 && count > 0)
        return ftc_error_set(FTC_ERR_NOT_CONVERGED,
                             "the weight of the only rank is 0: give it more");
    if (rc == FTC_SUCCESS && send != FTC_IN_PLACE && count > 0)
        memmove(recv, send, count * sizeof(double));
    return rc;
}

FTC_API int ftc_gossip_allreduce(const double *send, double *recv, size_t count, ftc_op op,
                                 const ftc_gossip_options *options, ftc_comm *comm)
{
    struct aggregation a = {.comm = comm, .weight = 1};
    int rc = ftc_call_check(comm);

    if (rc == FTC_SUCCESS)
        rc = comm->job_ranks != NULL ? ftc_error_set(FTC_ERR_UNSUPPORTED, "gossip needs the world")
                                     : check(&a, send, recv, count, op, options);
    if (rc == FTC_SUCCESS)
        rc = ftc_call_begin(comm);
    if (rc != FTC_SUCCESS)
        return rc;
    if (comm->process->alone || count == 0)
        return ftc_call_end(comm, aggregate_nothing(&a, send, recv, count));
    struct ftc_signature signature = {.kind = FTC_CALL_GOSSIP, .size = count * sizeof(double)};
    uint64_t number = ftc_call_starts(comm, &signature);

    const double *input = (const void *)send == FTC_IN_PLACE ? recv : send;
    rc = ftc_call_detour(comm);
    if (rc == FTC_SUCCESS)
        rc = aggregate(&a, input, recv);
    rc = ftc_call_ends(comm, &signature, number, rc);
    return ftc_call_end(comm, rc == FTC_ERR_REVOKED ? ftc_call_revoked(comm) : rc);
}
