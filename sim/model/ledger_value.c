/* The inputs of a simulated job. A result tells which inputs were counted, and how often. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "collectives/values/blocks.h"
#include "sim/model/ledger_record.h"

#define BLOCK_MOST 12 /* bytes of the greatest block */

/* A value has a u64 sum of tickets (left out if each rank has a count), and then u16 counts. */

static size_t tickets_size(const struct ftc_ledger *l)
{
    return l->place != NULL ? sizeof(uint64_t) : 0;
}

static size_t counts_size(const struct ftc_ledger *l)
{
    return tickets_size(l) + (size_t)l->counted * sizeof(uint16_t);
}

static uint64_t ticket(int op, int rank)
{
    return ftc_mix(ftc_mix((uint64_t)op + 1) + (uint64_t)rank);
}

static int place_of(const struct ftc_ledger *l, int rank)
{
    return l->place != NULL ? l->place[rank] : rank;
}

static int place_mortals(struct ftc_ledger *l, const struct ftc_set *mortal)
{
    l->place = malloc((size_t)l->n * sizeof(*l->place));
    if (l->place == NULL)
        return FTC_ERR_NOMEM;
    l->counted = 0;
    for (int rank = 0; rank < l->n; rank++)
        l->place[rank] = ftc_set_has(mortal, rank) ? l->counted++ : -1;
    return FTC_SUCCESS;
}

int ftc_ledger_values_init(struct ftc_ledger *l, const struct ftc_set *mortal)
{
    l->counted = l->n;
    if (mortal != NULL && ftc_set_count(mortal) < l->n && place_mortals(l, mortal) != FTC_SUCCESS)
        return FTC_ERR_NOMEM;
    l->input_room =
        counts_size(l) > FTC_LEDGER_BROADCAST_SIZE ? counts_size(l) : FTC_LEDGER_BROADCAST_SIZE;
    l->input = malloc(l->input_room);
    return l->input == NULL ? FTC_ERR_NOMEM : FTC_SUCCESS;
}

void ftc_ledger_values_fini(struct ftc_ledger *l)
{
    free(l->place);
    free(l->input);
}

/* --- operators --- */

/* The product may combine only for a caller whose call is under way. */
static bool may_combine(const struct ftc_ledger_process *p, size_t size, size_t expected)
{
    if (p->under_way && size == expected)
        return true;
    ftc_ledger_violate(
        p->ledger, "rank %d: an operator is called after its call was delivered, or with %zu bytes",
        (int)(p - p->ledger->process), size);
    return false;
}

static void add_counts(void *arg, const void *in, void *inout, size_t size)
{
    const struct ftc_ledger_process *p = arg;
    const struct ftc_ledger *l = p->ledger;
    const uint16_t *from = (const uint16_t *)((const char *)in + tickets_size(l));
    uint16_t *to = (uint16_t *)((char *)inout + tickets_size(l));
    uint64_t a, b;

    if (!may_combine(p, size, counts_size(l)))
        return;
    for (int c = 0; c < l->counted; c++)
        to[c] = (uint16_t)(to[c] + from[c]);
    if (l->place == NULL)
        return;
    memcpy(&a, in, sizeof(a));
    memcpy(&b, inout, sizeof(b));
    b += a;
    memcpy(inout, &b, sizeof(b));
}

static void add_doubles(void *arg, const void *in, void *inout, size_t size)
{
    double a, b;

    if (!may_combine(arg, size, sizeof(double)))
        return;
    memcpy(&a, in, sizeof(a));
    memcpy(&b, inout, sizeof(b));
    b += a;
    memcpy(inout, &b, sizeof(b));
}

/* --- inputs --- */

/* The sum of these depends on the order. */
static double floating_input(int rank)
{
    return 1.0 / (3.0 + 7.0 * rank) * (rank % 2 == 0 ? 1e9 : 1.0);
}

static void write_counts(const struct ftc_ledger *l, int rank, int op, unsigned char *bytes)
{
    int place = place_of(l, rank);
    uint64_t mine = ticket(op, rank);
    uint16_t one = 1;

    memset(bytes, 0, counts_size(l));
    if (place < 0)
        memcpy(bytes, &mine, sizeof(mine));
    else
        memcpy(bytes + tickets_size(l) + (size_t)place * sizeof(one), &one, sizeof(one));
}

static void write_broadcast(int op, int root, unsigned char bytes[FTC_LEDGER_BROADCAST_SIZE])
{
    for (int b = 0; b < FTC_LEDGER_BROADCAST_SIZE; b++)
        bytes[b] = (unsigned char)(17 * op + 5 * root + b + 1);
}

/* Blocks have different sizes, and one in four is empty. Returns the size. */
static size_t write_block(int op, int rank, unsigned char bytes[BLOCK_MOST])
{
    uint64_t random = ticket(op, rank);
    size_t size = random % 4 == 0 ? 0 : 1 + random / 4 % BLOCK_MOST;

    for (size_t b = 0; b < size; b++)
        bytes[b] = (unsigned char)(random >> (8 * (b % 8)));
    return size;
}

/* Returns the size. */
static size_t write_input(struct ftc_ledger *l, int rank, int op)
{
    const struct ftc_program_operation *o = &l->program->operation[op];

    if (ftc_call_from_root(o->kind)) {
        write_broadcast(op, o->root, l->input);
        return FTC_LEDGER_BROADCAST_SIZE;
    }
    if (!ftc_program_combines(o))
        return 0;
    if (ftc_program_gathers(o))
        return write_block(op, rank, l->input);
    if (o->floating) {
        double x = floating_input(rank);
        memcpy(l->input, &x, sizeof(x));
        return sizeof(x);
    }
    write_counts(l, rank, op, l->input);
    return counts_size(l);
}

void ftc_ledger_prepare(struct ftc_ledger *l, int rank, int op, struct ftc_call *call)
{
    assert(op >= 0 && op < l->program->length);
    const struct ftc_program_operation *o = &l->program->operation[op];
    bool combines = ftc_program_combines(o);

    l->input_size = write_input(l, rank, op);
    *call = (struct ftc_call){
        .signature = {.kind = (uint8_t)o->kind, .root = o->root, .size = l->input_size},
        .input = l->input_size > 0 && (combines || o->root == rank) ? l->input : NULL,
        .input_size = l->input_size,
    };
    if (!combines)
        return;
    if (ftc_program_gathers(o)) {
        call->signature.size = BLOCK_MOST;
        call->signature.operator_code = o->ordered ? FTC_OPERATOR_ORDERED : 0;
        return;
    }
    call->signature.type = o->floating ? FTC_DOUBLE : FTC_UINT16;
    call->signature.operator_code = FTC_OPERATOR_USER;
    call->combine = o->floating ? add_doubles : add_counts;
    call->combine_arg = &l->process[rank];
}

/* --- results --- */

bool ftc_ledger_same_value(const struct ftc_value *a, const struct ftc_value *b)
{
    if ((a->buffer == NULL) != (b->buffer == NULL) || a->size != b->size)
        return false;
    return a->buffer == NULL || memcmp(ftc_value_bytes(a), ftc_value_bytes(b), a->size) == 0;
}

/* The ranks without a count are alive, so each must be counted once. If the sum is wrong, it may be
 * that one of them is missing or is counted twice. */
static void check_tickets(struct ftc_ledger *l, int rank, int op, const unsigned char *bytes)
{
    uint64_t sum, missing = 0;

    memcpy(&sum, bytes, sizeof(sum));
    for (int other = 0; other < l->n; other++)
        missing += l->place[other] < 0 ? ticket(op, other) : 0;
    missing -= sum;
    if (missing == 0)
        return;
    for (int other = 0; other < l->n; other++) {
        if (l->place[other] < 0 && ticket(op, other) == missing)
            ftc_ledger_violate(l, "rank %d: operation %d leaves live rank %d out", rank, op, other);
        if (l->place[other] < 0 && ticket(op, other) == 0 - missing)
            ftc_ledger_violate(l, "rank %d: operation %d counts rank %d 2 times", rank, op, other);
    }
    ftc_ledger_violate(l, "rank %d: operation %d does not count all that live once", rank, op);
}

static void check_count(struct ftc_ledger *l, int rank, int op, int other, int count,
                        const struct ftc_set *failed)
{
    if (count > 1)
        ftc_ledger_violate(l, "rank %d: operation %d counts rank %d %d times", rank, op, other,
                           count);
    if (count != 0)
        return;
    if (!l->process[other].dead)
        ftc_ledger_violate(l, "rank %d: operation %d leaves live rank %d out", rank, op, other);
    if (l->settings.scheme == FTC_SCHEME_LIST && !ftc_set_has(failed, other))
        ftc_ledger_violate(l, "rank %d: operation %d leaves rank %d out and does not name it", rank,
                           op, other);
}

/* Checks a block of a rank: it is all that the rank has given. */
static void check_block(struct ftc_ledger *l, int rank, int op, const struct ftc_block *block)
{
    unsigned char expected[BLOCK_MOST];
    size_t size = write_block(op, block->rank, expected);

    if (block->size != size || memcmp(block->bytes, expected, size) != 0)
        ftc_ledger_violate(l, "rank %d: operation %d does not have what rank %d gave", rank, op,
                           block->rank);
}

/* A caller that takes blocks. */
struct taker {
    struct ftc_ledger *ledger;
    int rank, op;
    const struct ftc_set *failed;
    int next; /* the highest rank that may come now */
    bool any; /* a block has come */
};

/* The ranks down to this one have not come. */
static void skip_to(struct taker *t, int rank)
{
    for (; t->next > rank; t->next--)
        if (!ftc_set_has(t->failed, t->next))
            check_count(t->ledger, t->rank, t->op, t->next, 0, t->failed);
}

static void take_block(void *arg, int rank, size_t offset, const void *data, size_t size,
                       bool first, void *result)
{
    struct taker *t = arg;
    struct ftc_block block = {.rank = rank, .size = size, .bytes = data};

    (void)result;
    if (rank > t->next || offset != 0 || first == t->any) {
        ftc_ledger_violate(t->ledger, "rank %d: operation %d gives blocks out of their order",
                           t->rank, t->op);
        return;
    }
    t->any = true;
    if (ftc_set_has(t->failed, rank))
        ftc_ledger_violate(t->ledger, "rank %d: operation %d gives a block of failed rank %d",
                           t->rank, t->op, rank);
    skip_to(t, rank);
    check_block(t->ledger, t->rank, t->op, &block);
    t->next = rank - 1;
}

/* Takes the blocks as a caller does. */
static void check_blocks(struct ftc_ledger *l, int rank, int op, const struct ftc_value *value,
                         const struct ftc_set *failed)
{
    struct taker taker = {.ledger = l, .rank = rank, .op = op, .failed = failed, .next = l->n - 1};
    struct ftc_call call = {.take = take_block, .take_arg = &taker};
    struct ftc_set all = {0};

    if (ftc_set_init(&all, l->n) != FTC_SUCCESS) {
        ftc_ledger_violate(l, "out of memory");
        return;
    }
    ftc_set_fill(&all);
    if (!ftc_blocks_sound(value, &all, BLOCK_MOST))
        ftc_ledger_violate(l, "rank %d: operation %d has a list that makes no sense", rank, op);
    else
        ftc_blocks_take(value, failed, &call, NULL);
    skip_to(&taker, -1);
    ftc_set_fini(&all);
}

/* How often the value counts a rank that has a count. */
static int count_in(const struct ftc_ledger *l, const struct ftc_value *value, int rank)
{
    uint16_t count;

    memcpy(&count,
           ftc_value_bytes(value) + tickets_size(l) + (size_t)place_of(l, rank) * sizeof(count),
           sizeof(count));
    return count;
}

void ftc_ledger_check_counts(struct ftc_ledger *l, int rank, int op, const struct ftc_value *value,
                             const struct ftc_set *failed)
{
    if (ftc_program_gathers(&l->program->operation[op])) {
        check_blocks(l, rank, op, value, failed);
        return;
    }
    if (value->buffer == NULL || value->size != counts_size(l)) {
        ftc_ledger_violate(l, "rank %d: operation %d has a value of %zu bytes", rank, op,
                           value->size);
        return;
    }
    if (l->place != NULL)
        check_tickets(l, rank, op, ftc_value_bytes(value));
    for (int other = 0; other < l->n; other++) {
        if (place_of(l, other) >= 0)
            check_count(l, rank, op, other, count_in(l, value, other), failed);
    }
}

void ftc_ledger_check_broadcast(struct ftc_ledger *l, int rank, int op,
                                const struct ftc_value *value)
{
    unsigned char expected[FTC_LEDGER_BROADCAST_SIZE];
    int root = l->program->operation[op].root;

    write_broadcast(op, root, expected);
    if (value->buffer == NULL || value->size != sizeof(expected) ||
        memcmp(ftc_value_bytes(value), expected, sizeof(expected)) != 0)
        ftc_ledger_violate(l, "rank %d: operation %d does not deliver what root %d sent", rank, op,
                           root);
}

static int blocks_of(const struct ftc_value *value, int rank)
{
    struct ftc_blocks walk = ftc_blocks_begin(value);
    struct ftc_block block;
    int count = 0;

    while (ftc_blocks_next(&walk, &block))
        count += block.rank == rank;
    return walk.sound ? count : -1;
}

int ftc_ledger_counts_in(const struct ftc_ledger *l, int op, const struct ftc_value *value,
                         int rank)
{
    if (ftc_program_gathers(&l->program->operation[op]))
        return value->buffer != NULL ? blocks_of(value, rank) : -1;
    if (value->buffer == NULL || value->size != counts_size(l) || place_of(l, rank) < 0)
        return -1;
    return count_in(l, value, rank);
}

int ftc_ledger_counts(const struct ftc_ledger *l, int op, int at, int rank)
{
    struct ftc_value value = ftc_ledger_result(l, op, at);

    return ftc_ledger_counts_in(l, op, &value, rank);
}
