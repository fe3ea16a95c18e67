/*
 * The values of a plan: the input of each rank in each operation, how values are combined and
 * taken, and what each result must be.
 *
 * The input of a rank in each operation is a separate stream of bytes. The operator x := 31 x + y
 * depends on the order, so each byte of a result tells which inputs are in it, once and in rank
 * order. A call that is taken from the highest rank down has the operator x := y + 31 x.
 */
#include <string.h>

#include "node/segment/board_memory.h"
#include "tests/node/board_box.h"

#define UNTOUCHED_BYTE 0x5a
#define GAP            5 /* bytes between the places of two ranks, which nobody may touch */

/* --- shapes --- */

static const struct board_operation *operation_of(const struct actor *actor, int op)
{
    return &actor->box->plan->program[op];
}

static bool is_rooted(const struct board_operation *o)
{
    return ftc_call_table[o->kind].rooted;
}

/* Is an operator part of the call? */
static bool folds(const struct board_operation *o)
{
    return ftc_call_table[o->kind].reduces || o->kind == FTC_CALL_SCAN ||
           o->kind == FTC_CALL_EXSCAN;
}

/* Does each rank get a slice of the value? */
static bool is_sliced(const struct board_operation *o)
{
    return o->kind == FTC_CALL_SCATTER || o->kind == FTC_CALL_REDUCE_SCATTER;
}

/* Does each rank give a value? */
static bool all_give(const struct board_operation *o)
{
    return folds(o) || ftc_call_table[o->kind].gathers;
}

static bool is_taken(const struct board_operation *o)
{
    return ftc_call_table[o->kind].gathers || (folds(o) && o->ordered);
}

static size_t value_size(const struct board_operation *o, int ranks)
{
    return o->kind == FTC_CALL_ALLTOALL ? o->size / (unsigned)ranks * (unsigned)ranks : o->size;
}

/* Only values that are put side by side may differ in size. */
static size_t contribution(const struct board_operation *o, int ranks, int rank)
{
    size_t size = value_size(o, ranks);
    bool side_by_side = o->kind == FTC_CALL_ALLGATHER || o->kind == FTC_CALL_GATHER;

    return o->uneven && side_by_side ? size * (size_t)(3 - rank % 4) / 3 : size;
}

/* Where the slice of `rank` begins. */
static size_t boundary(const struct board_operation *o, int ranks, int rank)
{
    size_t element = o->element > 1 ? o->element : 1, r = (size_t)rank, n = (size_t)ranks;
    size_t elements = o->size / element;

    return (o->uneven ? elements * r * r / (n * n) : elements * r / n) * element;
}

static size_t place_of(const struct board_operation *o, int ranks, int self, int rank, size_t *at)
{
    size_t block = o->size / (unsigned)ranks;

    *at = 0;
    switch (o->kind) {
    case FTC_CALL_ALLGATHER:
    case FTC_CALL_GATHER:
        *at = (size_t)(ranks - 1 - rank) * (o->size + GAP);
        return contribution(o, ranks, rank);
    case FTC_CALL_ALLTOALL:
        *at = (size_t)rank * (block + (o->in_place ? 0 : GAP));
        return block;
    default:
        return rank == self ? o->size : 0;
    }
}

size_t values_extent(const struct board_operation *o, int ranks)
{
    size_t n = (size_t)ranks;

    switch (o->kind) {
    case FTC_CALL_ALLGATHER:
    case FTC_CALL_GATHER:
        return n * (o->size + GAP);
    case FTC_CALL_ALLTOALL:
        return value_size(o, ranks) + (o->in_place ? 0 : n * GAP);
    default:
        return o->size;
    }
}

/* --- values --- */

static void write_input(unsigned char *bytes, size_t size, int op, int rank)
{
    struct test_random stream = {((uint64_t)op << 32 | (uint64_t)rank << 8) + 1};

    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = test_random_bits(&stream);
        memcpy(bytes + i, &word, size - i < 8 ? size - i : 8);
    }
}

static void check_elements(const struct part *part, size_t size)
{
    const struct actor *actor = part->actor;
    const struct board_operation *o = operation_of(actor, part->op);

    if (o->element > 1 && size % o->element != 0)
        board_violate(actor->box, "rank %d: operation %d splits an element", actor->rank, part->op);
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
    const struct part *part = arg;

    check_elements(part, size);
    if (!apart(in, out, size) || !apart(with, out, size) || in == with)
        board_violate(part->actor->box, "rank %d: operation %d combines what overlaps",
                      part->actor->rank, part->op);
    fold(in, with, out, size);
}

static void combine(void *arg, const void *in, void *inout, size_t size)
{
    check_elements(arg, size);
    fold(in, inout, inout, size);
}

/* --- taking --- */

struct range {
    size_t from, to;
};

static struct range intersection(struct range a, struct range b)
{
    struct range both = {a.from > b.from ? a.from : b.from, a.to < b.to ? a.to : b.to};

    return both.from < both.to ? both : (struct range){0, 0};
}

/* The part of the contribution of `rank` that goes to the place of `rank`, or, where contributions
 * are combined, to the place of this rank. */
static struct range wanted(const struct board_operation *o, int ranks, int self, int rank)
{
    size_t block = o->size / (unsigned)ranks;

    if (o->kind == FTC_CALL_ALLTOALL)
        return (struct range){(size_t)self * block, (size_t)(self + 1) * block};
    if (is_sliced(o))
        return (struct range){boundary(o, ranks, self), boundary(o, ranks, self + 1)};
    if ((o->kind == FTC_CALL_SCAN && rank > self) || (o->kind == FTC_CALL_EXSCAN && rank >= self))
        return (struct range){0, 0};
    return (struct range){0, contribution(o, ranks, rank)};
}

/* Is this the first contribution that counts for these bytes? This rank comes before all that count
 * in an exscan. */
static bool begins(const struct board_operation *o, struct part *part, int rank, bool first)
{
    if (o->kind == FTC_CALL_SCAN)
        return rank == part->actor->rank;
    if (o->kind != FTC_CALL_EXSCAN)
        return first;
    bool begins = part->begins;
    part->begins = false;
    return begins;
}

static void take_folded(unsigned char *out, const unsigned char *data, size_t size, bool begins)
{
    if (begins)
        memcpy(out, data, size);
    for (size_t i = 0; i < size && !begins; i++)
        out[i] = (unsigned char)(data[i] + 31 * out[i]);
}

static void take(void *arg, int rank, size_t offset, const void *data, size_t size, bool first,
                 void *result)
{
    struct part *own = arg;
    const struct actor *actor = own->actor;
    const struct board_operation *o = operation_of(actor, own->op);
    int ranks = actor->box->plan->ranks;
    struct range whole = wanted(o, ranks, actor->rank, rank),
                 part = intersection((struct range){offset, offset + size}, whole);
    size_t at;

    ftc_board_step();
    if (folds(o))
        check_elements(own, size);
    if (rank == actor->rank)
        own->begins = true;
    if (part.from == part.to)
        return;
    const unsigned char *bytes = (const unsigned char *)data + (part.from - offset);
    place_of(o, ranks, actor->rank, rank, &at);
    unsigned char *out = (unsigned char *)result + at + (part.from - whole.from);
    if (folds(o))
        take_folded(out, bytes, part.to - part.from, begins(o, own, rank, first));
    else
        memmove(out, bytes, part.to - part.from);
}

static size_t place(void *arg, int rank, size_t *offset)
{
    const struct part *own = arg;
    const struct actor *actor = own->actor;

    return place_of(operation_of(actor, own->op), actor->box->plan->ranks, actor->rank, rank,
                    offset);
}

/* --- calls --- */

/* Where in the result the input of this rank is; NULL: elsewhere. */
static unsigned char *input_in(const struct board_operation *o, int ranks, int self,
                               unsigned char *receive)
{
    size_t at;

    if (o->kind == FTC_CALL_BCAST)
        return self == o->root ? receive : NULL;
    if (!o->in_place || !all_give(o) || (o->kind == FTC_CALL_GATHER && self != o->root))
        return NULL;
    if (o->kind == FTC_CALL_ALLTOALL)
        return receive;
    place_of(o, ranks, self, self, &at);
    return receive + at;
}

void values_before(const struct actor *actor, int op, unsigned char *receive)
{
    const struct board_operation *o = operation_of(actor, op);
    int ranks = actor->box->plan->ranks;

    memset(receive, UNTOUCHED_BYTE, values_extent(o, ranks));
    unsigned char *input = input_in(o, ranks, actor->rank, receive);
    if (input != NULL)
        write_input(input, contribution(o, ranks, actor->rank), op, actor->rank);
}

static void prepare_taking(struct part *part, const struct board_operation *o,
                           struct ftc_call *call)
{
    bool combined = folds(o) && o->kind != FTC_CALL_EXSCAN;

    if (folds(o))
        call->signature.operator_code = FTC_OPERATOR_ORDERED;
    call->take = take;
    call->place = combined ? NULL : place;
    call->take_arg = part;
}

static void prepare_combining(struct part *part, const struct board_operation *o,
                              struct ftc_call *call)
{
    call->combine = combine;
    call->merge = o->merge ? merge : NULL;
    call->combine_arg = part;
}

unsigned char *values_prepare(struct part *part)
{
    const struct actor *actor = part->actor;
    int op = part->op, ranks = actor->box->plan->ranks;
    const struct board_operation *o = operation_of(actor, op);
    struct ftc_call *call = &part->call;
    unsigned char *receive = part->output + BOARD_GUARD;
    size_t size = contribution(o, ranks, actor->rank);

    values_before(actor, op, receive);
    *call = (struct ftc_call){.signature = {.kind = (uint8_t)o->kind,
                                            .root = is_rooted(o) ? o->root : -1,
                                            .size = value_size(o, ranks)},
                              .input_size = size,
                              .element = o->element,
                              .slice_offset = boundary(o, ranks, actor->rank)};
    call->slice_size = boundary(o, ranks, actor->rank + 1) - call->slice_offset;
    if (is_taken(o))
        prepare_taking(part, o, call);
    else if (folds(o))
        prepare_combining(part, o, call);
    if (all_give(o) || (is_rooted(o) && actor->rank == o->root))
        call->input = input_in(o, ranks, actor->rank, receive);
    if (call->input == NULL && (all_give(o) || (is_rooted(o) && actor->rank == o->root))) {
        write_input(part->input, size, op, actor->rank);
        call->input = part->input;
    }
    bool scatters = o->kind == FTC_CALL_SCATTER && actor->rank == o->root;
    return values_extent(o, ranks) > 0 && !scatters ? receive : NULL;
}

bool values_input_is_kept(const struct actor *actor, int op)
{
    const struct board_operation *o = operation_of(actor, op);
    int ranks = actor->box->plan->ranks;
    size_t size = contribution(o, ranks, actor->rank);
    unsigned char own[BOARD_SIZE];
    unsigned char nothing;

    if (!all_give(o) || input_in(o, ranks, actor->rank, &nothing) != NULL)
        return true;
    write_input(own, size, op, actor->rank);
    return memcmp(own, part_of(actor, op)->input, size) == 0;
}

/* --- results --- */

/* Folds the inputs of the ranks before `end` that are not missing. False: there are none. */
bool values_fold(const struct board_box *box, int op, const struct ftc_set *missing, int end,
                 unsigned char *value)
{
    const struct board_operation *o = &box->plan->program[op];
    size_t size = o->size;
    unsigned char input[BOARD_SIZE];
    bool first = true;

    for (int i = 0; i < end; i++) {
        int rank = is_taken(o) ? end - 1 - i : i;
        if (ftc_set_has(missing, rank))
            continue;
        write_input(input, size, op, rank);
        for (size_t k = 0; k < size; k++) {
            int other = is_taken(o) ? input[k] + 31 * value[k] : 31 * value[k] + input[k];
            value[k] = (unsigned char)(first ? input[k] : other);
        }
        first = false;
    }
    return !first;
}

/* Puts the contributions of the ranks that are not missing to their places. */
static void put_places(const struct actor *actor, int op, const struct ftc_set *missing,
                       unsigned char *receive)
{
    const struct board_operation *o = operation_of(actor, op);
    int ranks = actor->box->plan->ranks;
    unsigned char input[BOARD_SIZE];
    size_t at;

    for (int rank = 0; rank < ranks; rank++) {
        struct range part = wanted(o, ranks, actor->rank, rank);
        if (ftc_set_has(missing, rank) || part.from == part.to)
            continue;
        write_input(input, part.to, op, rank);
        place_of(o, ranks, actor->rank, rank, &at);
        memcpy(receive + at, input + part.from, part.to - part.from);
    }
}

static void put_slice(const struct actor *actor, int op, const unsigned char *value,
                      unsigned char *receive)
{
    const struct board_operation *o = operation_of(actor, op);
    struct range slice = {0, o->size};

    if (is_sliced(o))
        slice = wanted(o, actor->box->plan->ranks, actor->rank, 0);
    memcpy(receive, value + slice.from, slice.to - slice.from);
}

void values_after(const struct actor *actor, int op, const struct ftc_set *missing,
                  const unsigned char *folded, unsigned char *receive)
{
    const struct board_operation *o = operation_of(actor, op);
    const struct ftc_call_traits *traits = &ftc_call_table[o->kind];
    bool is_root = traits->rooted && actor->rank == o->root;
    unsigned char value[BOARD_SIZE];

    values_before(actor, op, receive);
    if (traits->rooted && is_root == traits->carries) /* only the root, or only the others */
        return;
    if (traits->rooted && traits->carries) {
        write_input(value, o->size, op, o->root);
        put_slice(actor, op, value, receive);
    } else if (traits->reduces && folded != NULL) {
        put_slice(actor, op, folded, receive);
    } else if (folds(o)) {
        if (values_fold(actor->box, op, missing, actor->rank + (o->kind == FTC_CALL_SCAN), value))
            put_slice(actor, op, value, receive);
    } else if (traits->gathers) {
        put_places(actor, op, missing, receive);
    }
}
