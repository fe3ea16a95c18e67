/* Makes plans from seeds. */
#include <stdio.h>

#include "node/segment/board_memory.h"
#include "tests/node/board_harness.h"
#include "tests/random.h"

#define FEW         5  /* ranks; larger plans are slow, but wake a round in several steps */
#define AHEAD_STEPS 32 /* about as many as a rank needs to run ahead */

/* Draws sizes on both sides of every border: in the post, in its line or small, a block of some
 * chunks, several blocks. For operations whose posts may be larger also several wholes. */
static uint32_t random_size(struct test_random *random, bool whole)
{
    switch (test_random_between(random, 0, whole ? 4 : 3)) {
    case 0:
        return (uint32_t)test_random_between(random, 1, FTC_BOARD_INLINE);
    case 1:
        return (uint32_t)test_random_between(random, FTC_BOARD_INLINE, FTC_BOARD_SMALL);
    case 2:
        return (uint32_t)test_random_between(random, FTC_BOARD_SMALL, FTC_BOARD_BLOCK);
    case 3:
        return (uint32_t)test_random_between(random, FTC_BOARD_BLOCK, 3 * FTC_BOARD_BLOCK);
    default:
        return (uint32_t)test_random_between(random, FTC_BOARD_WHOLE, BOARD_SIZE);
    }
}

static bool has_operator(enum ftc_call_kind kind)
{
    return ftc_call_table[kind].reduces || kind == FTC_CALL_SCAN || kind == FTC_CALL_EXSCAN;
}

/* Elements divide no block, and some are larger than a chunk. */
static void random_elements(struct board_operation *o, struct test_random *random)
{
    static const uint32_t sizes[] = {0, 0, 3, 24, 40, 160};

    if (!has_operator(o->kind))
        return;
    o->element = sizes[test_random_between(random, 0, 5)];
    if (o->element > 0)
        o->size = (o->size + o->element - 1) / o->element * o->element;
    if (o->size > BOARD_SIZE)
        o->size -= o->element;
}

static struct board_operation random_operation(struct test_random *random, int ranks)
{
    static const enum ftc_call_kind kinds[] = {
        FTC_CALL_ALLREDUCE, FTC_CALL_ALLREDUCE, FTC_CALL_REDUCE,    FTC_CALL_BCAST,
        FTC_CALL_BARRIER,   FTC_CALL_VALIDATE,  FTC_CALL_GATHER,    FTC_CALL_ALLGATHER,
        FTC_CALL_ALLTOALL,  FTC_CALL_SCATTER,   FTC_CALL_SCAN,      FTC_CALL_REDUCE_SCATTER,
        FTC_CALL_EXSCAN,    FTC_CALL_SIZES,     FTC_CALL_ALLREDUCE, FTC_CALL_BCAST,
        FTC_CALL_BCAST,     FTC_CALL_REDUCE};
    struct board_operation o = {.kind = kinds[test_random_between(random, 0, 17)],
                                .root = (int)test_random_between(random, 0, ranks - 1),
                                .in_place = test_random_chance(random, 50),
                                .merge = test_random_chance(random, 50),
                                .uneven = test_random_chance(random, 50)};

    if (o.kind == FTC_CALL_BARRIER || o.kind == FTC_CALL_VALIDATE)
        return o;
    o.ordered = ftc_call_table[o.kind].reduces && o.kind != FTC_CALL_SIZES &&
                test_random_chance(random, 30);
    o.size = random_size(random, o.ordered || !ftc_call_table[o.kind].reduces ||
                                     o.kind == FTC_CALL_REDUCE_SCATTER);
    random_elements(&o, random);
    return o;
}

/* Draws a mixture of operations, or runs of one. Pipelined operations then use every place and
 * buffer again. */
static void random_program(struct board_plan *plan, struct test_random *random)
{
    bool mixed = test_random_chance(random, 60);
    int length = (int)test_random_between(random, 1, mixed ? 8 : 4);

    plan->length = 0;
    bool starts = test_random_chance(random, 70);
    for (int i = 0; i < length; i++) {
        struct board_operation o = random_operation(random, plan->ranks);
        o.started = starts && test_random_chance(random, 85);
        int times = mixed ? 1 : (int)test_random_between(random, 1, plan->ranks <= FEW ? 15 : 6);
        while (times-- > 0)
            plan->program[plan->length++] = o;
    }
    plan->program[plan->length++] = (struct board_operation){.kind = FTC_CALL_FINALIZE};
}

/* Kills are early as often as late. */
static void random_kills(struct board_plan *plan, struct test_random *random)
{
    int kills = (int)test_random_between(random, 0, BOARD_KILLS);

    for (int i = 0; i < kills; i++) {
        int64_t scale = (int64_t)1 << test_random_between(random, 3, 9);
        plan->kill[i].rank = (int)test_random_between(random, 0, plan->ranks - 1);
        plan->kill[i].step = (uint32_t)test_random_between(random, 1, scale);
    }
}

static void random_damage(struct board_plan *plan, struct test_random *random)
{
    int64_t scale = (int64_t)1 << test_random_between(random, 3, 9);

    plan->damage = (struct board_damage){
        .rank = (int)test_random_between(random, 0, plan->ranks - 1),
        .step = (uint32_t)test_random_between(random, 1, scale),
        .place = (unsigned)test_random_between(random, 0, FTC_BOARD_DEPTH - 1),
        .harm = (enum board_harm)test_random_between(random, 0, BOARD_HARMS - 1)};
}

/* Each rank starts so many operations before it waits, or waits for each of them. */
static void random_ahead(struct board_plan *plan, struct test_random *random)
{
    int64_t most = (int64_t)1 << test_random_between(random, 0, 3);

    for (int rank = 0; rank < plan->ranks; rank++)
        plan->ahead[rank] =
            (int)test_random_between(random, test_random_chance(random, 20) ? 1 : most, most);
}

/* A root runs ahead of the others, as far as it may, and then waits for one of them. One of its own
 * posts is damaged. */
static void run_ahead(struct board_plan *plan, struct test_random *random)
{
    int64_t last = plan->ranks - 1;
    struct board_operation o = {.kind = FTC_CALL_BCAST, .size = FTC_BOARD_INLINE};

    o.root = (int)test_random_between(random, 0, last);
    plan->program[0] = random_operation(random, plan->ranks);
    for (plan->length = 1; plan->length < (int)FTC_BOARD_DEPTH; plan->length++)
        plan->program[plan->length] = o;
    random_damage(plan, random);
    plan->damage.rank = o.root;
    plan->damage.step = (uint32_t)test_random_between(random, 1, AHEAD_STEPS);
    o.root = (int)test_random_between(random, 0, last);
    plan->program[plan->length++] = o;
    plan->program[plan->length++] = (struct board_operation){.kind = FTC_CALL_FINALIZE};
    if (test_random_chance(random, 50))
        plan->policy = BOARD_RUN;
}

/* A rank leaves early, or a rank revokes and leaves, or another thread revokes. Or none of it. */
static void random_departure(struct board_plan *plan, struct test_random *random)
{
    plan->own_file = test_random_chance(random, 50);
    if (test_random_chance(random, 10))
        plan->revoke_step =
            (uint32_t)test_random_between(random, 1, 1 << test_random_between(random, 3, 11));
    if (!test_random_chance(random, 12))
        return;
    plan->departure =
        (struct board_departure){.rank = (int)test_random_between(random, 0, plan->ranks - 1),
                                 .op = (int)test_random_between(random, 1, plan->length),
                                 .revokes = !plan->own_file || test_random_chance(random, 50)};
    if (test_random_chance(random, 50))
        plan->kill[0] = (struct board_kill){plan->departure.rank,
                                            (uint32_t)test_random_between(random, 1, 100)};
}

/* Ranks that copy between their memories are revoked, or lose one, meanwhile. */
static void disturb_copies(struct board_plan *plan, struct test_random *random)
{
    static const enum ftc_call_kind kinds[] = {FTC_CALL_ALLREDUCE, FTC_CALL_ALLGATHER,
                                               FTC_CALL_ALLTOALL};
    struct board_operation o = {.kind = kinds[test_random_between(random, 0, 2)],
                                .size = BOARD_SIZE,
                                .in_place = test_random_chance(random, 50)};

    plan->ranks = o.kind == FTC_CALL_ALLREDUCE ? 2 : (int)test_random_between(random, 2, 4);
    plan->length = 0;
    plan->program[plan->length++] = (struct board_operation){.kind = FTC_CALL_BARRIER};
    plan->program[plan->length++] = o;
    plan->spins = plan->yields = 0;
    plan->copies = BOARD_COPIES_WORK;
    plan->departure.op = 0;
    plan->damage.step = 0;
    for (int i = 0; i < BOARD_KILLS; i++)
        plan->kill[i].step = 0;
    plan->revoke_step = (uint32_t)test_random_between(random, 1, 400);
    if (!test_random_chance(random, 40))
        return;
    plan->revoke_step = 0;
    plan->kill[0].rank = (int)test_random_between(random, 0, plan->ranks - 1);
    plan->kill[0].step = (uint32_t)test_random_between(random, 1, 200);
}

void board_plan_random(struct board_plan *plan, uint64_t seed)
{
    struct test_random random = {seed};

    *plan = (struct board_plan){.ranks = (int)test_random_between(&random, 1, FEW), .seed = seed};
    if (test_random_chance(&random, 1))
        plan->ranks = (int)test_random_between(&random, 24, BOARD_RANKS);
    random_program(plan, &random);
    random_kills(plan, &random);
    random_ahead(plan, &random);
    plan->policy = test_random_chance(&random, 50)
                       ? BOARD_PRIORITIES
                       : (enum board_policy)test_random_between(&random, 0, 2);
    plan->share = test_random_chance(&random, 20) ? FTC_SHARE_OFF : FTC_SHARE_PIGGYBACK;
    plan->spins = (int)test_random_between(&random, 0, 2);
    plan->yields = (int)test_random_between(&random, 0, 1);
    plan->fenced_by_others = test_random_chance(&random, 80);
    plan->copies = (enum board_copies)test_random_between(&random, 0, BOARD_COPIES - 1);
    plan->copies_made = (int)test_random_between(&random, 0, 20);
    plan->time_limits = test_random_chance(&random, 10);
    if (test_random_chance(&random, 40))
        random_damage(plan, &random);
    if (test_random_chance(&random, 8))
        run_ahead(plan, &random);
    random_departure(plan, &random);
    if (test_random_chance(&random, 6))
        disturb_copies(plan, &random);
    if (plan->own_file && plan->damage.step > 0 && test_random_chance(&random, 30)) {
        plan->damage.lingers = true;
        plan->damage.step = (uint32_t)test_random_between(&random, 1, BOARD_LINGERING);
    }
    /* A rank that sleeps while its mark is damaged finds that when it wakes. */
    plan->time_limits |= plan->damage.step > 0;
}

const char *board_plan_words(const struct board_plan *plan, char words[BOARD_WORDS])
{
    int at = snprintf(
        words, BOARD_WORDS, "%d ranks, policy %d, copies %d (%d)%s, seed %llu:", plan->ranks,
        plan->policy, plan->copies, plan->copies_made,
        plan->share == FTC_SHARE_OFF ? ", share off" : "", (unsigned long long)plan->seed);

    for (int i = 0; i < plan->length && at < BOARD_WORDS; i++) {
        const struct board_operation *o = &plan->program[i];
        at += snprintf(words + at, (size_t)(BOARD_WORDS - at), " %s%s",
                       o->ordered ? "ordered " : "", ftc_call_kind_name(o->kind));
        if (o->started && at < BOARD_WORDS)
            at += snprintf(words + at, (size_t)(BOARD_WORDS - at), " started");
        if (o->size > 0 && at < BOARD_WORDS)
            at += snprintf(words + at, (size_t)(BOARD_WORDS - at), "(%u,%d,element %u%s%s)",
                           o->size, o->root, o->element, o->uneven ? ",uneven" : "",
                           o->in_place ? ",in place" : "");
    }
    for (int rank = 0; rank < plan->ranks && at < BOARD_WORDS; rank++)
        if (plan->ahead[rank] > 1)
            at += snprintf(words + at, (size_t)(BOARD_WORDS - at), "; rank %d starts %d", rank,
                           plan->ahead[rank]);
    for (int i = 0; i < BOARD_KILLS && at < BOARD_WORDS; i++)
        if (plan->kill[i].step > 0)
            at += snprintf(words + at, (size_t)(BOARD_WORDS - at), "; kill %d at %u",
                           plan->kill[i].rank, plan->kill[i].step);
    if (plan->damage.step > 0 && at < BOARD_WORDS)
        at += snprintf(words + at, (size_t)(BOARD_WORDS - at),
                       "; damage %d of rank %d, place %u, at %u", plan->damage.harm,
                       plan->damage.rank, plan->damage.place, plan->damage.step);
    if (plan->departure.op > 0 && at < BOARD_WORDS)
        at += snprintf(words + at, (size_t)(BOARD_WORDS - at), "; rank %d leaves%s before %d",
                       plan->departure.rank, plan->departure.revokes ? ", and revokes," : "",
                       plan->departure.op - 1);
    if (plan->revoke_step > 0 && at < BOARD_WORDS)
        at +=
            snprintf(words + at, (size_t)(BOARD_WORDS - at), "; revoked at %u", plan->revoke_step);
    if (plan->own_file && at < BOARD_WORDS)
        at += snprintf(words + at, (size_t)(BOARD_WORDS - at), "; file of its own");
    for (int i = 0; i < BOARD_FORCED && at < BOARD_WORDS; i++)
        if (plan->forced[i].step > 0)
            at += snprintf(words + at, (size_t)(BOARD_WORDS - at), "; at %u to %d",
                           plan->forced[i].step, plan->forced[i].to);
    return words;
}
