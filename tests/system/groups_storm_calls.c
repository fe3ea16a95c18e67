/* The calls of the storm of communicators. */
#include "tests/system/groups_storm_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/segment/board_memory.h"
#include "tests/system/record.h"

#define COLORS 3

uint64_t call_draw(uint64_t salt, uint64_t what)
{
    return record_draw(salt, what);
}

uint64_t call_members(ftc_comm *comm, ftc_comm *world)
{
    uint64_t bits = 0;

    for (int i = 0; i < ftc_size(comm); i++)
        bits |= 1ull << ftc_comm_translate(comm, i, world);
    return bits;
}

void call_wrong(const struct call *call, const char *what)
{
    fprintf(stderr,
            "groups_storm: rank %d: kind %d of %zu words%s%s in %s, size %d, salt %llu: %s (%s)\n",
            ftc_rank(call->world), (int)call->kind, call->words, call->sized ? ", sized" : "",
            call->in_place ? ", in place" : "", call->comm != NULL ? ftc_comm_name(call->comm) : "",
            call->comm != NULL ? ftc_size(call->comm) : 0, (unsigned long long)call->salt, what,
            ftc_last_error());
    exit(99);
}

static uint64_t hash_words(const void *words, size_t size)
{
    uint64_t hash = 14695981039346656037ull;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)words)[i]) * 1099511628211ull;
    return hash | 1;
}

static int job_rank(const struct call *call, int rank)
{
    return ftc_comm_translate(call->comm, rank, call->world);
}

uint64_t call_word(const struct call *call, int from, int to)
{
    return call_draw(call->salt,
                     10000 + 64 * (uint64_t)job_rank(call, from) + (uint64_t)job_rank(call, to));
}

void *call_space(const struct call *call, size_t size, int value)
{
    void *memory = malloc(size + 1);

    if (memory == NULL)
        call_wrong(call, "no memory");
    return memset(memory, value, size + 1);
}

/* --- preparing --- */

/* From how many bytes on a rank's contribution takes several rounds, and copies several phases. */
static size_t several_rounds(const struct call *call)
{
    size_t size = (size_t)ftc_size(call->comm), all = FTC_BOARD_APART / size;

    if (call->kind == GROUP_ALLTOALL || call->kind == GROUP_SCATTER ||
        call->kind == GROUP_REDUCE_SCATTER)
        return FTC_BOARD_PHASE / size; /* the contribution is a block for each rank */
    return all < FTC_BOARD_WHOLE ? all : FTC_BOARD_WHOLE;
}

static void draw_size(struct call *call)
{
    uint64_t dice = call_draw(call->salt, 4) % 16;
    size_t bytes = 0;

    if (dice < 8)
        bytes = FTC_BOARD_DIRECT;
    if (dice < 3)
        bytes = FTC_BOARD_PIECE;
    if (dice < 1)
        bytes = several_rounds(call);
    call->words = bytes / sizeof(uint64_t) + 1 + call_draw(call->salt, 5) % 40;
    call->sized = call_draw(call->salt, 6) % 3 == 0;
    call->in_place =
        call_draw(call->salt, 4000 + (uint64_t)job_rank(call, ftc_rank(call->comm))) % 4 == 0;
}

/* Each rank adds one at its own place, and the vector repeats the places. */
static void prepare_sums(struct call *call)
{
    size_t size = (size_t)ftc_size(call->comm), rank = (size_t)ftc_rank(call->comm);
    bool slices = call->kind == GROUP_REDUCE_SCATTER;

    call->counts = call_space(call, 2 * size * sizeof(size_t), 0);
    for (size_t i = 0; i < size; i++) {
        call->counts[i] = call->words + size + (slices && call->sized ? i % 4 : 0);
        call->counts[size + i] = call->total;
        call->total += slices ? call->counts[i] : 0;
    }
    call->count = call->counts[rank];
    call->total = slices ? call->total : call->count;
    int32_t *in = call->in = call_space(call, call->total * sizeof(*in), 0);
    for (size_t i = rank; i < call->total; i += size)
        in[i] = 1;
    call->out = call_space(call, call->total * sizeof(*in), 0);
    memcpy(call->out, in, call->in_place ? call->total * sizeof(*in) : 0);
}

static void prepare_bcast(struct call *call)
{
    uint64_t *out = call->out = call_space(call, call->words * sizeof(*out), 0xee);

    for (size_t i = 0; i < call->words && ftc_rank(call->comm) == call->root; i++)
        out[i] = call_word(call, call->root, 0) + i;
}

static int color_of(const struct call *call, int rank)
{
    int color = (int)(call_draw(call->salt, 2000 + (uint64_t)job_rank(call, rank)) % COLORS);

    return color == COLORS - 1 && call->salt % 2 == 0 ? FTC_UNDEFINED : color;
}

static int key_of(const struct call *call, int rank)
{
    return (int)(call_draw(call->salt, 3000 + (uint64_t)job_rank(call, rank)) % 5) - 2;
}

/* The ranks of one color in the order of their keys. */
static void order_part(struct call *call)
{
    for (int key = -2; key <= 2; key++)
        for (int i = 0; i < ftc_size(call->comm); i++)
            if (color_of(call, i) == call->color && key_of(call, i) == key)
                call->order[call->ordered++] = i;
}

/* Draws a list of ranks. A rank that is not listed makes no call. */
static void order_group(struct call *call)
{
    int size = ftc_size(call->comm), first = (int)(call_draw(call->salt, 1) % (uint64_t)size);
    int count = 1 + (int)(call_draw(call->salt, 2) % (uint64_t)size);
    bool listed = false;

    for (int i = 0; i < count; i++) {
        call->order[call->ordered++] = (first + (call->salt % 2 ? i : size - i)) % size;
        listed |= call->order[i] == ftc_rank(call->comm);
    }
    if (!listed)
        call->comm = NULL;
}

static void prepare_creation(struct call *call)
{
    if (call->kind == GROUP_SPLIT) {
        call->color = color_of(call, ftc_rank(call->comm));
        if (call->color != FTC_UNDEFINED)
            order_part(call);
    } else if (call->kind == GROUP_CREATE) {
        order_group(call);
    } else {
        for (int i = 0; i < ftc_size(call->comm); i++)
            call->order[call->ordered++] = i;
    }
}

void call_prepare(struct call *call)
{
    call->comm = call->slot->lost ? NULL : call->slot->comm;
    if (call->comm == NULL)
        return;
    call->root = (int)(call_draw(call->salt, 3) % (uint64_t)ftc_size(call->comm));
    draw_size(call);
    if (call->kind <= GROUP_REDUCE_SCATTER)
        prepare_sums(call);
    else if (call->kind == GROUP_BCAST)
        prepare_bcast(call);
    else if (call->kind >= GROUP_CALLS)
        prepare_creation(call);
    else if (call->kind >= GROUP_BLOCKS)
        call_prepare_blocks(call);
}

/* --- calling --- */

static int run_creation(struct call *call)
{
    ftc_comm *comm = call->comm;

    switch (call->kind) {
    case GROUP_DUP:
        return ftc_comm_dup(comm, &call->child);
    case GROUP_SPLIT:
        return ftc_comm_split(comm, call->color, key_of(call, ftc_rank(comm)), &call->child);
    case GROUP_SHRINK:
        return ftc_comm_shrink(comm, &call->child);
    default:
        return ftc_comm_create(comm, call->ordered, call->order, (int)(call->salt % 3),
                               &call->child);
    }
}

int call_run(struct call *call)
{
    const void *in = call->in_place ? FTC_IN_PLACE : call->in;
    void *out = call->out;
    ftc_comm *comm = call->comm;

    switch (call->kind) {
    case GROUP_ALLREDUCE:
        return ftc_allreduce(in, out, call->count, FTC_INT32, FTC_SUM, comm);
    case GROUP_REDUCE:
        return ftc_reduce(in, out, call->count, FTC_INT32, FTC_SUM, call->root, comm);
    case GROUP_REDUCE_SCATTER:
        return call->sized
                   ? ftc_reduce_scatter(in, out, call->counts, FTC_INT32, FTC_SUM, comm)
                   : ftc_reduce_scatter_block(in, out, call->count, FTC_INT32, FTC_SUM, comm);
    case GROUP_BCAST:
        return ftc_bcast(out, call->words, FTC_UINT64, call->root, comm);
    case GROUP_BARRIER:
        return ftc_barrier(comm);
    case GROUP_VALIDATE:
        return ftc_validate_global(comm, &call->failed_count);
    default:
        return call->kind < GROUP_CALLS ? call_run_blocks(call) : run_creation(call);
    }
}

static int start_creation(struct call *call)
{
    ftc_comm *comm = call->comm;

    if (call->kind == GROUP_SPLIT)
        return ftc_comm_isplit(comm, call->color, key_of(call, ftc_rank(comm)), &call->child,
                               &call->request);
    return call->kind == GROUP_DUP ? ftc_comm_idup(comm, &call->child, &call->request)
                                   : ftc_comm_ishrink(comm, &call->child, &call->request);
}

int call_start(struct call *call)
{
    const void *in = call->in_place ? FTC_IN_PLACE : call->in;
    void *out = call->out;
    ftc_comm *comm = call->comm;
    ftc_request **request = &call->request;

    switch (call->kind) {
    case GROUP_ALLREDUCE:
        return ftc_iallreduce(in, out, call->count, FTC_INT32, FTC_SUM, comm, request);
    case GROUP_REDUCE:
        return ftc_ireduce(in, out, call->count, FTC_INT32, FTC_SUM, call->root, comm, request);
    case GROUP_REDUCE_SCATTER:
        return call->sized
                   ? ftc_ireduce_scatter(in, out, call->counts, FTC_INT32, FTC_SUM, comm, request)
                   : ftc_ireduce_scatter_block(in, out, call->count, FTC_INT32, FTC_SUM, comm,
                                               request);
    case GROUP_BCAST:
        return ftc_ibcast(out, call->words, FTC_UINT64, call->root, comm, request);
    case GROUP_BARRIER:
        return ftc_ibarrier(comm, request);
    case GROUP_VALIDATE:
        return ftc_ivalidate_global(comm, &call->failed_count, request);
    default:
        return call->kind < GROUP_CALLS ? call_start_blocks(call) : start_creation(call);
    }
}

/* --- judging --- */

static uint64_t counted_sums(const struct call *call)
{
    const int32_t *sums = call->out;
    size_t size = (size_t)ftc_size(call->comm);
    size_t first = call->counts[size + (size_t)ftc_rank(call->comm)];
    uint64_t ranks = 0;

    for (size_t i = 0; i < call->count; i++) {
        if (sums[i] < 0 || sums[i] > 1)
            call_wrong(call, "an input was counted twice");
        if (i >= size && sums[i] != sums[i - size])
            call_wrong(call, "an input is in the result in part");
        if (i < size && sums[i] == 1)
            ranks |= 1ull << job_rank(call, (int)((first + i) % size));
    }
    return ranks;
}

static void check_bcast(const struct call *call, int status)
{
    bool has = status == FTC_SUCCESS || ftc_rank(call->comm) == call->root;

    for (size_t i = 0; i < call->words; i++)
        if (((uint64_t *)call->out)[i] !=
            (has ? call_word(call, call->root, 0) + i : CALL_UNTOUCHED))
            call_wrong(call, "a broadcast is damaged");
}

/* The ranks of the child are those that it was to have, in that order. */
static void conclude_creation(struct call *call)
{
    struct group_record *record = call->record;
    int at = 0;

    for (int i = 0; i < call->ordered; i++)
        record->wanted |= 1ull << job_rank(call, call->order[i]);
    record->hash = 1;
    if (call->child == NULL) {
        if (call->ordered > 0)
            call_wrong(call, "a creation has made no communicator");
        return;
    }
    const char *name = ftc_comm_name(call->child);
    record->hash = hash_words(name, strlen(name));
    record->child = call_members(call->child, call->world);
    for (int i = 0; i < ftc_size(call->child); i++) {
        int rank = ftc_comm_translate(call->child, i, call->comm);
        while (at < call->ordered && call->order[at] != rank)
            at++;
        if (at == call->ordered)
            call_wrong(call, "a child has a rank that it should not have, or in another order");
    }
    if (ftc_comm_translate(call->child, ftc_rank(call->child), call->world) !=
        ftc_rank(call->world))
        call_wrong(call, "a child has another rank in the place of this one");
}

static void take_report(const struct call *call)
{
    ftc_report report = {.struct_size = sizeof(report)};

    if (ftc_last_report(call->comm, &report) != FTC_SUCCESS)
        call_wrong(call, "there is no report");
    for (int i = 0; i < report.failed_count; i++)
        call->record->failed |= 1ull << job_rank(call, report.failed[i]);
    call->record->reported = 1;
}

static bool is_at_root(const struct call *call)
{
    return call->kind == GROUP_REDUCE || call->kind == GROUP_GATHER;
}

static void judge_value(struct call *call, int status)
{
    struct group_record *record = call->record;
    bool has = status == FTC_SUCCESS && (!is_at_root(call) || ftc_rank(call->comm) == call->root);

    if (call->kind == GROUP_BCAST)
        check_bcast(call, status);
    else if (call->kind >= GROUP_CALLS)
        conclude_creation(call);
    else if (call->kind == GROUP_VALIDATE)
        record->hash = (uint64_t)call->failed_count;
    else if (call->kind >= GROUP_BLOCKS)
        record->counted = call_counted_blocks(call, status);
    else if (call->kind != GROUP_BARRIER && has)
        record->counted = counted_sums(call);
}

static bool is_allowed(const struct call *call, int status)
{
    if (status == FTC_ERR_REVOKED)
        return call->may_be_revoked || call->slot->loose;
    return status == FTC_SUCCESS ||
           (status == FTC_ERR_ROOT_FAILED &&
            (call->kind == GROUP_BCAST || call->kind == GROUP_SCATTER)) ||
           (status == FTC_ERR_TOO_MANY_FAILURES && is_at_root(call) &&
            ftc_rank(call->comm) == call->root);
}

static void release(struct call *call)
{
    free(call->in);
    free(call->out);
    free(call->counts);
    call->in = call->out = NULL;
    call->counts = NULL;
}

/* For a replay by hand. */
static void trace(const struct call *call, int status)
{
    if (getenv("STORM_TRACE") != NULL)
        fprintf(stderr, "rank %d: kind %d of %zu words in %s of %d ranks: status %d%s%s\n",
                ftc_rank(call->world), (int)call->kind, call->words, ftc_comm_name(call->comm),
                ftc_size(call->comm), status, call->child != NULL ? ", makes " : "",
                call->child != NULL ? ftc_comm_name(call->child) : "");
}

void call_conclude(struct call *call, int status, bool reported)
{
    struct group_record *record = call->record;

    if (!is_allowed(call, status)) {
        fprintf(stderr, "groups_storm: status %d\n", status);
        call_wrong(call, "the call failed");
    }
    *record = (struct group_record){.kind = call->kind,
                                    .status = status,
                                    .root = job_rank(call, call->root),
                                    .group = call->slot->name,
                                    .members = call->slot->members,
                                    .counted = ~0ull,
                                    .loose = call->slot->loose};
    if (status != FTC_ERR_REVOKED)
        judge_value(call, status);
    else if (!call->may_be_revoked)
        call->slot->lost = true;
    trace(call, status);
    bool agreed = !is_at_root(call) || record->counted != ~0ull; /* the root names what it lacks */
    if (status != FTC_ERR_REVOKED && reported && call->kind < GROUP_CALLS && agreed)
        take_report(call);
    release(call);
}
