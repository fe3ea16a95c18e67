/* Checks what the ranks deliver: results, buffers and failed sets. */
#include <stdlib.h>
#include <string.h>

#include "include/ftcoll.h"
#include "node/segment/board_memory.h"
#include "tests/node/board_box.h"

#define GUARD_BYTE 0xa5

/* --- calls --- */

/* How many bytes of the output are watched: those of the result, and many behind it. */
static size_t watched(const struct board_box *box, int op)
{
    size_t extent = values_extent(&box->plan->program[op], box->plan->ranks);

    return (extent > BOARD_SIZE ? extent : BOARD_SIZE) + 2 * BOARD_GUARD;
}

struct part *ledger_prepare(struct actor *actor, unsigned char **receive)
{
    struct part *part = part_of(actor, actor->called);

    part->actor = actor;
    part->op = actor->called;
    memset(part->output, GUARD_BYTE, watched(actor->box, part->op));
    part->declared = actor->box->declared;
    *receive = values_prepare(part);
    return part;
}

/* --- checks --- */

static bool all_bytes(const unsigned char *bytes, size_t size, int byte)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != byte)
            return false;
    return true;
}

static void check_buffers(const struct actor *actor, const struct board_operation *o)
{
    size_t extent = values_extent(o, actor->box->plan->ranks);
    const unsigned char *output = part_of(actor, actor->returned)->output;

    if (!all_bytes(output, BOARD_GUARD, GUARD_BYTE) ||
        !all_bytes(output + BOARD_GUARD + extent,
                   watched(actor->box, actor->returned) - BOARD_GUARD - extent, GUARD_BYTE))
        board_violate(actor->box, "rank %d: operation %d writes past its buffer", actor->rank,
                      actor->returned);
    if (!values_input_is_kept(actor, actor->returned))
        board_violate(actor->box, "rank %d: operation %d changes its input", actor->rank,
                      actor->returned);
}

/* Is the buffer of the result as this decision makes it? */
static bool is_result(const struct actor *actor, const struct ftc_set *missing, int status,
                      const unsigned char *folded)
{
    struct board_box *box = actor->box;
    int op = actor->returned;
    size_t extent = values_extent(&box->plan->program[op], box->plan->ranks);

    if (status == FTC_SUCCESS)
        values_after(actor, op, missing, folded, box->expected);
    else
        values_before(actor, op, box->expected);
    return memcmp(box->expected, part_of(actor, op)->output + BOARD_GUARD, extent) == 0;
}

/* The failed set holds only declared ranks. A rank that lives, or was killed too late for anybody
 * to know, is not in it. */
static void check_failed(const struct actor *actor, const struct ftc_set *failed)
{
    struct board_box *box = actor->box;

    if (!ftc_set_subset(failed, &box->declared))
        board_violate(box, "rank %d: operation %d calls somebody failed who is not declared",
                      actor->rank, actor->returned);
}

/* All ranks outside the failed set must have entered a collecting operation when it is
 * delivered. */
static void check_entered(const struct actor *actor, const struct ftc_set *failed)
{
    struct board_box *box = actor->box;

    for (int rank = 0; rank < box->plan->ranks; rank++)
        if (!ftc_set_has(failed, rank) && box->actor[rank].called <= actor->returned)
            board_violate(box, "rank %d: operation %d is delivered before rank %d is in it",
                          actor->rank, actor->returned, rank);
}

/* Does each rank learn the decision? Of a plain reduce and a gather only the root has a result. */
static bool is_decided(const struct board_operation *o)
{
    return !ftc_call_table[o->kind].rooted || ftc_call_table[o->kind].carries;
}

static void check_same(const struct actor *actor, const struct ftc_board_report *report, int status)
{
    struct board_box *box = actor->box;
    int op = actor->returned;
    struct fact *fact = &box->fact[op];
    bool decided = is_decided(&box->plan->program[op]);

    if (fact->status != status)
        board_violate(box, "operation %d has status %d at rank %d, %d at another", op, status,
                      actor->rank, fact->status);
    if (fact->restarts != report->restarts)
        board_violate(box, "operation %d has %u restarts at rank %d, %u at another", op,
                      report->restarts, actor->rank, fact->restarts);
    if (decided && !ftc_set_equal(&fact->failed, report->failed))
        board_violate(box, "operation %d has another failed set at rank %d", op, actor->rank);
    if (!ftc_set_equal(&fact->agreed, ftc_board_agreed(actor->board)))
        board_violate(box, "operation %d leaves another G at rank %d", op, actor->rank);
}

static void agreed_before(const struct actor *actor, struct ftc_set *agreed)
{
    if (actor->returned > 0)
        *agreed = actor->box->fact[actor->returned - 1].agreed;
    else
        ck_assert_int_eq(ftc_set_init(agreed, actor->box->plan->ranks), 0);
}

/* G is the failed set of the decision, unless it is not shared. */
static void check_agreed(const struct actor *actor, const struct ftc_board_report *report)
{
    struct board_box *box = actor->box;
    struct ftc_set before;
    bool decided = is_decided(&box->plan->program[actor->returned]);
    bool grows = decided && box->plan->share != FTC_SHARE_OFF;

    agreed_before(actor, &before);
    if (decided && !ftc_set_subset(&before, report->failed))
        board_violate(box, "rank %d: operation %d forgets agreed failures", actor->rank,
                      actor->returned);
    if (!ftc_set_equal(ftc_board_agreed(actor->board), grows ? report->failed : &before))
        board_violate(box, "rank %d: after operation %d G is not the decision's", actor->rank,
                      actor->returned);
}

static void check_sent(const struct actor *actor, const struct board_operation *o,
                       const struct ftc_board_report *report, int status)
{
    struct board_box *box = actor->box;
    struct ftc_set failed;

    agreed_before(actor, &failed);
    if (status != FTC_SUCCESS)
        ftc_set_add(&failed, o->root);
    box->outcome->unnamed += status != FTC_SUCCESS;
    if (!ftc_set_equal(&failed, report->failed))
        board_violate(box, "rank %d: %s %d has the wrong failed set", actor->rank,
                      ftc_call_kind_name(o->kind), actor->returned);
    if (!is_result(actor, &failed, status, NULL))
        board_violate(box, "rank %d: %s %d is not what root %d sent", actor->rank,
                      ftc_call_kind_name(o->kind), actor->returned, o->root);
}

/* The value lacks some set of failed ranks. The root knows all of them, and G is among them. */
static bool is_value_of_some(const struct actor *actor)
{
    const struct ftc_set *known = ftc_board_known(actor->board),
                         *agreed = ftc_board_agreed(actor->board);
    int rank[BOARD_RANKS], count = 0;
    unsigned char value[BOARD_SIZE];

    for (int r = ftc_set_next(known, 0); r >= 0; r = ftc_set_next(known, r + 1))
        if (!ftc_set_has(agreed, r))
            rank[count++] = r;
    for (unsigned choice = 0; choice < 1u << count; choice++) {
        struct ftc_set missing = *agreed;
        for (int i = 0; i < count; i++)
            if (choice >> i & 1)
                ftc_set_add(&missing, rank[i]);
        values_fold(actor->box, actor->returned, &missing, actor->box->plan->ranks, value);
        if (is_result(actor, &missing, FTC_SUCCESS, value))
            return true;
    }
    return false;
}

static void check_reduce(const struct actor *actor, const struct board_operation *o)
{
    if (actor->rank != o->root && !is_result(actor, NULL, FTC_SUCCESS, NULL))
        board_violate(actor->box, "rank %d: operation %d touches the buffer", actor->rank,
                      actor->returned);
    if (actor->rank == o->root && !is_value_of_some(actor))
        board_violate(actor->box, "root %d: reduce %d is of no set of ranks", actor->rank,
                      actor->returned);
}

/* All ranks outside the failed set must have entered a collecting operation when it is delivered,
 * and the result lacks those inside alone. */
static void check_lacks_failed(const struct actor *actor, const struct board_operation *o,
                               const struct ftc_board_report *report)
{
    struct board_box *box = actor->box;
    const struct fact *fact = &box->fact[actor->returned];
    bool rooted = ftc_call_table[o->kind].rooted;

    if (!rooted || actor->rank == o->root)
        check_entered(actor, report->failed);
    if (!is_result(actor, report->failed, FTC_SUCCESS, rooted ? NULL : fact->value))
        board_violate(box, "rank %d: %s %d is not of all but the failed", actor->rank,
                      ftc_call_kind_name(o->kind), actor->returned);
}

static void check_declared(const struct actor *actor, const struct ftc_board_report *report)
{
    if (!ftc_set_subset(&part_of(actor, actor->returned)->declared, report->failed))
        board_violate(actor->box, "rank %d: validate %d does not name all declared ranks",
                      actor->rank, actor->returned);
}

/* A root that has the result of a large operation has it by all restarts. */
static void count_restarts(const struct actor *actor, const struct board_operation *o,
                           const struct ftc_board_report *report)
{
    struct board_outcome *outcome = actor->box->outcome;

    outcome->restarts += report->restarts;
    if (ftc_call_table[o->kind].gathers || o->ordered)
        outcome->taken_again += report->restarts;
}

static void record(const struct actor *actor, const struct ftc_board_report *report, int status)
{
    struct board_box *box = actor->box;
    int op = actor->returned;
    struct fact *fact = &box->fact[op];

    if (fact->known)
        return;
    fact->known = true;
    fact->status = status;
    fact->restarts = report->restarts;
    fact->failed = *report->failed; /* up to 64 ranks, a set has its own memory */
    fact->agreed = *ftc_board_agreed(actor->board);
    const struct ftc_call_traits *traits = &ftc_call_table[box->plan->program[op].kind];
    if (traits->reduces && !traits->rooted)
        values_fold(box, op, report->failed, box->plan->ranks, fact->value);
}

void ledger_check_revoked(struct actor *actor)
{
    struct ftc_board_report report;

    if (!actor->box->revoked)
        board_violate(actor->box, "rank %d: operation %d is revoked by nobody", actor->rank,
                      actor->returned);
    check_buffers(actor, &actor->box->plan->program[actor->returned]);
    ftc_board_report(actor->board, &report);
    check_failed(actor, report.failed);
    actor->box->outcome->revoked++;
}

void ledger_check(struct actor *actor, int status)
{
    const struct board_operation *o = &actor->box->plan->program[actor->returned];
    struct ftc_board_report report;

    ftc_board_report(actor->board, &report);
    check_buffers(actor, o);
    check_failed(actor, report.failed);
    record(actor, &report, status);
    check_same(actor, &report, status);
    check_agreed(actor, &report);
    count_restarts(actor, o, &report);
    if (ftc_call_table[o->kind].rooted && ftc_call_table[o->kind].carries)
        check_sent(actor, o, &report, status);
    else if (o->kind == FTC_CALL_REDUCE)
        check_reduce(actor, o);
    else
        check_lacks_failed(actor, o, &report);
    if (o->kind == FTC_CALL_VALIDATE)
        check_declared(actor, &report);
}
