/*
 * Checks results. The input of a rank in each operation is a separate stream of bytes. The
 * operator, x := 31 x + y, depends on the order. So each byte of a result tells which inputs are in
 * it, once and in rank order.
 */
#include <stdlib.h>
#include <string.h>

#include "include/ftcoll.h"
#include "node/segment/board_memory.h"
#include "tests/node/board_box.h"

#define GUARD_BYTE     0xa5
#define UNTOUCHED_BYTE 0x5a

/* --- values --- */

static void write_input(unsigned char *bytes, size_t size, int op, int rank)
{
    struct test_random stream = {((uint64_t)op << 32 | (uint64_t)rank << 8) + 1};

    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = test_random_bits(&stream);
        memcpy(bytes + i, &word, size - i < 8 ? size - i : 8);
    }
}

static void fold(const unsigned char *y, const unsigned char *x, unsigned char *to, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (i == size / 2) /* a death may leave half a result */
            ftc_board_step();
        to[i] = (unsigned char)(31 * x[i] + y[i]);
    }
}

/* Are the two buffers the same one, or without a byte in common? */
static bool apart(const unsigned char *a, const unsigned char *b, size_t size)
{
    return a == b || a + size <= b || b + size <= a;
}

static void merge(void *arg, const void *in, const void *with, void *out, size_t size)
{
    struct actor *actor = arg;

    if (!apart(in, out, size) || !apart(with, out, size) || in == with)
        board_violate(actor->box, "rank %d: operation %d combines what overlaps", actor->rank,
                      actor->called - 1);
    fold(in, with, out, size);
}

static void combine(void *arg, const void *in, void *inout, size_t size)
{
    (void)arg;
    fold(in, inout, inout, size);
}

/* Computes the value of all ranks but `missing`. */
static void expect(const struct board_box *box, int op, const struct ftc_set *missing,
                   unsigned char *value)
{
    size_t size = box->plan->program[op].size;
    unsigned char input[BOARD_SIZE];
    bool first = true;

    for (int rank = 0; rank < box->plan->ranks; rank++) {
        if (ftc_set_has(missing, rank))
            continue;
        write_input(input, size, op, rank);
        for (size_t i = 0; i < size; i++)
            value[i] = (unsigned char)(first ? input[i] : 31 * value[i] + input[i]);
        first = false;
    }
}

/* --- calls --- */

static bool combines(const struct board_operation *o)
{
    return o->kind == FTC_CALL_ALLREDUCE || o->kind == FTC_CALL_REDUCE;
}

unsigned char *ledger_prepare(struct actor *actor, struct ftc_call *call)
{
    int op = actor->called;
    const struct board_operation *o = &actor->box->plan->program[op];
    unsigned char *receive = actor->output + BOARD_GUARD;
    bool has_input = combines(o) || (o->kind == FTC_CALL_BCAST && o->root == actor->rank);

    memset(actor->output, GUARD_BYTE, sizeof(actor->output));
    memset(receive, UNTOUCHED_BYTE, o->size);
    actor->declared = actor->box->declared;
    *call = (struct ftc_call){.signature = {.kind = (uint8_t)o->kind, .root = -1, .size = o->size}};
    if (o->kind == FTC_CALL_BCAST || o->kind == FTC_CALL_REDUCE)
        call->signature.root = o->root;
    if (combines(o)) {
        call->combine = combine;
        call->merge = o->merge ? merge : NULL;
        call->combine_arg = actor;
    }
    if (!has_input || o->size == 0)
        return o->size > 0 ? receive : NULL;
    unsigned char *input = o->in_place || o->kind == FTC_CALL_BCAST ? receive : actor->input;
    write_input(input, o->size, op, actor->rank);
    call->input = input;
    return receive;
}

/* --- checks --- */

static bool all_bytes(const unsigned char *bytes, size_t size, int byte)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != byte)
            return false;
    return true;
}

static bool buffer_is_own(const struct actor *actor, const unsigned char *bytes, size_t size)
{
    unsigned char own[BOARD_SIZE];

    write_input(own, size, actor->returned, actor->rank);
    return memcmp(own, bytes, size) == 0;
}

static void check_buffers(const struct actor *actor, const struct board_operation *o)
{
    if (!all_bytes(actor->output, BOARD_GUARD, GUARD_BYTE) ||
        !all_bytes(actor->output + BOARD_GUARD + o->size,
                   sizeof(actor->output) - BOARD_GUARD - o->size, GUARD_BYTE))
        board_violate(actor->box, "rank %d: operation %d writes past its buffer", actor->rank,
                      actor->returned);
    if (combines(o) && !o->in_place && o->size > 0 && !buffer_is_own(actor, actor->input, o->size))
        board_violate(actor->box, "rank %d: operation %d changes its input", actor->rank,
                      actor->returned);
}

/* Checks that the buffer is as it was before the call. */
static void check_untouched(const struct actor *actor, const struct board_operation *o,
                            const unsigned char *receive)
{
    bool own =
        (combines(o) && o->in_place) || (o->kind == FTC_CALL_BCAST && o->root == actor->rank);

    if (o->size > 0 && !(own ? buffer_is_own(actor, receive, o->size)
                             : all_bytes(receive, o->size, UNTOUCHED_BYTE)))
        board_violate(actor->box, "rank %d: operation %d touches the buffer", actor->rank,
                      actor->returned);
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

static void check_same(const struct actor *actor, const struct ftc_board_report *report, int status)
{
    struct board_box *box = actor->box;
    int op = actor->returned;
    struct fact *fact = &box->fact[op];
    bool reduce = box->plan->program[op].kind == FTC_CALL_REDUCE;

    if (fact->status != status)
        board_violate(box, "operation %d has status %d at rank %d, %d at another", op, status,
                      actor->rank, fact->status);
    if (fact->restarts != report->restarts)
        board_violate(box, "operation %d has %u restarts at rank %d, %u at another", op,
                      report->restarts, actor->rank, fact->restarts);
    if (!reduce && !ftc_set_equal(&fact->failed, report->failed))
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
    bool decided = box->plan->program[actor->returned].kind != FTC_CALL_REDUCE;
    bool grows = decided && box->plan->share != FTC_SHARE_OFF;

    agreed_before(actor, &before);
    if (decided && !ftc_set_subset(&before, report->failed))
        board_violate(box, "rank %d: operation %d forgets agreed failures", actor->rank,
                      actor->returned);
    if (!ftc_set_equal(ftc_board_agreed(actor->board), grows ? report->failed : &before))
        board_violate(box, "rank %d: after operation %d G is not the decision's", actor->rank,
                      actor->returned);
}

static void check_broadcast(const struct actor *actor, const struct board_operation *o,
                            const unsigned char *receive, const struct ftc_board_report *report,
                            int status)
{
    struct board_box *box = actor->box;
    struct ftc_set failed;
    unsigned char sent[BOARD_SIZE];

    agreed_before(actor, &failed);
    if (status != FTC_SUCCESS)
        ftc_set_add(&failed, o->root);
    if (!ftc_set_equal(&failed, report->failed))
        board_violate(box, "rank %d: broadcast %d has the wrong failed set", actor->rank,
                      actor->returned);
    if (status != FTC_SUCCESS) {
        box->outcome->unnamed++;
        check_untouched(actor, o, receive);
        return;
    }
    write_input(sent, o->size, actor->returned, o->root);
    if (o->size > 0 && memcmp(sent, receive, o->size) != 0)
        board_violate(box, "rank %d: broadcast %d is not what root %d sent", actor->rank,
                      actor->returned, o->root);
}

/* The value lacks some set of failed ranks. The root knows all of them, and G is among them. */
static bool is_value_of_some(const struct actor *actor, const struct board_operation *o,
                             const unsigned char *receive)
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
        expect(actor->box, actor->returned, &missing, value);
        if (memcmp(value, receive, o->size) == 0)
            return true;
    }
    return false;
}

static void check_reduce(const struct actor *actor, const struct board_operation *o,
                         const unsigned char *receive)
{
    if (actor->rank != o->root) {
        check_untouched(actor, o, receive);
        return;
    }
    if (o->size > 0 && !is_value_of_some(actor, o, receive))
        board_violate(actor->box, "root %d: reduce %d is of no set of ranks", actor->rank,
                      actor->returned);
}

/* Checks allreduce, barrier, validate and finalize. There the failed set names the inputs that the
 * value lacks. */
static void check_collecting(const struct actor *actor, const struct board_operation *o,
                             const unsigned char *receive, const struct ftc_board_report *report)
{
    struct board_box *box = actor->box;
    const struct fact *fact = &box->fact[actor->returned];

    check_entered(actor, report->failed);
    if (o->kind == FTC_CALL_VALIDATE && !ftc_set_subset(&actor->declared, report->failed))
        board_violate(box, "rank %d: validate %d does not name all that were declared before",
                      actor->rank, actor->returned);
    if (o->kind == FTC_CALL_ALLREDUCE && o->size > 0 && memcmp(fact->value, receive, o->size) != 0)
        board_violate(box, "rank %d: allreduce %d is not of all but the failed", actor->rank,
                      actor->returned);
    box->outcome->restarts += report->restarts;
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
    if (box->plan->program[op].kind == FTC_CALL_ALLREDUCE)
        expect(box, op, report->failed, fact->value);
}

void ledger_check(struct actor *actor, const unsigned char *receive, int status)
{
    const struct board_operation *o = &actor->box->plan->program[actor->returned];
    struct ftc_board_report report;

    ftc_board_report(actor->board, &report);
    check_buffers(actor, o);
    check_failed(actor, report.failed);
    record(actor, &report, status);
    check_same(actor, &report, status);
    check_agreed(actor, &report);
    if (o->kind == FTC_CALL_BCAST)
        check_broadcast(actor, o, receive, &report, status);
    else if (o->kind == FTC_CALL_REDUCE)
        check_reduce(actor, o, receive);
    else
        check_collecting(actor, o, receive, &report);
}
