/* Fibers, and which of them goes on. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/segment/board_memory.h"
#include "node/system/futex.h"
#include "tests/node/board_box.h"
#include "tests/suite.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define STACK_SIZE (256u << 10)
#else
#define STACK_SIZE (64u << 10)
#endif
/* Far above what any plan takes. Each rank looks at all others a few times in each block. With
 * direct copies there may be a round for each of many ranks. */
#define STEP_LIMIT(plan)                                                                           \
    (10000u + 2000u * (uint32_t)(plan)->ranks * (uint32_t)(plan)->length *                         \
                  (1 + (uint32_t)(plan)->ranks / 8))

/* ftc_board_step() and the entry of a fiber cannot take an argument. */
static struct board_box *the_box;

/* --- switching --- */

/* Tells AddressSanitizer that the stack changes. `forget`: nothing comes back to the old stack. */
static void start_switch(void **own, const void *stack, size_t size, bool forget)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(forget ? NULL : own, stack, size);
#else
    (void)own, (void)stack, (void)size, (void)forget;
#endif
}

static void finish_switch(struct board_box *box, void *own)
{
#ifdef __SANITIZE_ADDRESS__
    const void *stack;
    size_t size;
    __sanitizer_finish_switch_fiber(own, &stack, &size);
    if (box->outside_stack == NULL) {
        box->outside_stack = stack;
        box->outside_size = size;
    }
#else
    (void)box, (void)own;
#endif
}

static void switch_to(struct board_box *box, int next)
{
    struct fiber *from = &box->fiber[box->self], *to = &box->fiber[next];
    void *own = NULL;

    if (next == box->self)
        return;
    box->self = next;
    start_switch(&own, to->stack, STACK_SIZE, false);
    swapcontext(&from->context, &to->context);
    finish_switch(box, own);
}

void fibers_end(struct board_box *box)
{
    box->self = -1;
    start_switch(NULL, box->outside_stack, box->outside_size, true);
    setcontext(&box->outside);
    abort();
}

void board_violate(struct board_box *box, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    box->outcome->broken = true;
    vsnprintf(box->outcome->words, sizeof(box->outcome->words), format, arguments);
    va_end(arguments);
    fibers_end(box);
}

/* --- choosing --- */

static int ready(const struct board_box *box, int list[BOARD_FIBERS])
{
    int count = 0;

    for (int i = 0; i <= box->plan->ranks; i++)
        if (box->fiber[i].state == FIBER_READY)
            list[count++] = i;
    return count;
}

static int one_of(struct board_box *box, const int list[], int count)
{
    return list[test_random_between(&box->random, 0, count - 1)];
}

/* The fiber in the list that is next after the running one. */
static int next_of(const struct board_box *box, const int list[], int count)
{
    for (int i = 0; i < count; i++)
        if (list[i] > box->self)
            return list[i];
    return list[0];
}

static int first_by_priority(struct board_box *box, const int list[], int count)
{
    int first = list[0];

    if (test_random_chance(&box->random, 3))
        box->fiber[box->self].priority = ++box->lowest_priority;
    for (int i = 1; i < count; i++)
        if (box->fiber[list[i]].priority < box->fiber[first].priority)
            first = list[i];
    return first;
}

static int forced(struct board_box *box)
{
    for (int i = 0; i < BOARD_FORCED; i++)
        if (box->plan->forced[i].step != 0 && box->plan->forced[i].step == box->outcome->steps &&
            box->plan->forced[i].to != box->self &&
            box->fiber[box->plan->forced[i].to].state == FIBER_READY) {
            box->outcome->forced++;
            return box->plan->forced[i].to;
        }
    return -1;
}

static int by_policy(struct board_box *box, const int list[], int count)
{
    int to = forced(box);

    if (to >= 0)
        return to;
    switch (box->plan->policy) {
    case BOARD_RANDOM:
        return one_of(box, list, count);
    case BOARD_PRIORITIES:
        return first_by_priority(box, list, count);
    case BOARD_RUN:
        if (box->fiber[box->self].state == FIBER_READY)
            return box->self;
        return next_of(box, list, count);
    default:
        return next_of(box, list, count);
    }
}

/* Lists the fibers that may stop sleeping by themselves: all ranks if the plan has time limits,
 * otherwise those that sleep uncounted and briefly. */
static int may_time_out(const struct board_box *box, int list[])
{
    int count = 0;

    for (int i = 0; i < box->plan->ranks; i++)
        if (box->fiber[i].state == FIBER_ASLEEP && (box->plan->time_limits || box->fiber[i].brief))
            list[count++] = i;
    return count;
}

static void time_out_one(struct board_box *box, int others)
{
    int list[BOARD_FIBERS], count = may_time_out(box, list);

    if (count > 0 && (others == 0 || test_random_chance(&box->random, 5)))
        box->fiber[one_of(box, list, count)].state = FIBER_READY;
}

static bool all_ended(const struct board_box *box, int *asleep)
{
    *asleep = -1;
    for (int rank = 0; rank < box->plan->ranks; rank++) {
        if (box->fiber[rank].state == FIBER_READY)
            return false;
        if (box->fiber[rank].state == FIBER_ASLEEP)
            *asleep = rank;
    }
    return *asleep < 0;
}

/* Lets one fiber go on, perhaps the one that asks. */
static void go_on(struct board_box *box)
{
    int list[BOARD_FIBERS], asleep;

    if (all_ended(box, &asleep))
        fibers_end(box);
    time_out_one(box, ready(box, list));
    int count = ready(box, list);
    if (count == 0)
        board_violate(box,
                      "deadlock: rank %d sleeps in operation %d, and nobody is left to wake it",
                      asleep, box->actor[asleep].called - 1);
    switch_to(box, by_policy(box, list, count));
}

static bool must_die(const struct board_box *box)
{
    const struct fiber *self = &box->fiber[box->self];

    for (int i = 0; i < BOARD_KILLS; i++)
        if (box->plan->kill[i].rank == box->self && box->plan->kill[i].step == self->steps)
            return true;
    return false;
}

/* Is this the step at which the running rank damages its post? */
static bool is_damage_due(const struct board_box *box)
{
    const struct board_damage *damage = &box->plan->damage;
    uint32_t steps = box->fiber[box->self].steps, closed = box->actor[box->self].closed;

    if (damage->rank != box->self || (damage->lingers && closed == 0))
        return false;
    return damage->step == (damage->lingers ? steps - closed : steps);
}

static void damage_post(struct ftc_board_post *post, enum board_harm harm)
{
    if (harm == BOARD_HARM_CLEARED)
        post->mark = 0;
    else if (harm == BOARD_HARM_MARK)
        post->mark ^= UINT64_C(0x5555);
    else if (harm == BOARD_HARM_AHEAD)
        post->mark += 3 * FTC_BOARD_DEPTH;
    else if (harm == BOARD_HARM_VOID)
        post->mark ^= FTC_BOARD_VOID;
    else if (harm == BOARD_HARM_SIGNATURE)
        post->signature.size ^= 0x40;
}

static struct ftc_board_post *post_at(unsigned char *posts)
{
    return (struct ftc_board_post *)(void *)posts;
}

/* Both posts in the place: that of a call, and that of a started operation. */
static void do_damage(struct board_box *box)
{
    const struct board_damage *damage = &box->plan->damage;
    struct ftc_board_memory memory = box->memory;

    if (!is_damage_due(box))
        return;
    box->damaged = true;
    if (damage->harm == BOARD_HARM_FINISHED)
        memory.progress[damage->rank].finished = 0;
    else if (damage->harm == BOARD_HARM_LEFT)
        memory.progress[damage->rank].left ^= 2;
    damage_post(post_at(memory.posts + damage->place * memory.post_stride) + damage->rank,
                damage->harm);
    damage_post(post_at(memory.ahead) + damage->rank * (int)FTC_BOARD_DEPTH + damage->place,
                damage->harm);
}

/* Called between two touches of shared memory. */
void ftc_board_step(void)
{
    struct board_box *box = the_box;

    if (box == NULL || box->self < 0)
        return;
    struct fiber *self = &box->fiber[box->self];
    self->steps++;
    if (++box->outcome->steps > STEP_LIMIT(box->plan))
        board_violate(box, "no end after %u steps", box->outcome->steps);
    if (box->outcome->steps == box->plan->revoke_step) {
        box->must_revoke = true;
        launcher_notice(box);
    }
    if (box->self < box->plan->ranks)
        do_damage(box);
    if (box->self < box->plan->ranks && must_die(box)) {
        ftc_set_add(&box->killed, box->self);
        launcher_notice(box);
        fiber_leave(box, FIBER_DEAD);
    }
    go_on(box);
}

/* --- waiting --- */

void fiber_leave(struct board_box *box, enum fiber_state state)
{
    box->fiber[box->self].state = state;
    go_on(box);
    abort();
}

void fiber_wait(struct board_box *box, enum fiber_state state)
{
    box->fiber[box->self].state = state;
    go_on(box);
}

/* Looking at the word and queueing are one step, as in the kernel. */
void fiber_sleep(struct board_box *box, _Atomic uint32_t *word, uint32_t expected, bool brief)
{
    ftc_board_step();
    if (atomic_load(word) != expected)
        return;
    box->outcome->asleep = true;
    box->fiber[box->self].word = word;
    box->fiber[box->self].brief = brief;
    fiber_wait(box, FIBER_ASLEEP);
}

/* Wakes any fibers, because the kernel's order is not fixed. */
void fibers_wake(struct board_box *box, const _Atomic uint32_t *word, int count)
{
    ftc_board_step();
    for (; count > 0; count--) {
        int list[BOARD_FIBERS], sleepers = 0;
        for (int i = 0; i < box->plan->ranks; i++)
            if (box->fiber[i].state == FIBER_ASLEEP && box->fiber[i].word == word)
                list[sleepers++] = i;
        if (sleepers == 0)
            return;
        box->fiber[one_of(box, list, sleepers)].state = FIBER_READY;
    }
}

/* Replaces node/system/futex.c, for calls that do not go through the board's host. */
void ftc_futex_wake(_Atomic uint32_t *word, int count)
{
    fibers_wake(the_box, word, count);
}

/* --- life --- */

void fibers_make(struct board_box *box)
{
    for (int i = 0; i < BOARD_FIBERS; i++) {
        box->fiber[i].stack = malloc(STACK_SIZE);
        ck_assert_ptr_nonnull(box->fiber[i].stack);
    }
}

void fibers_free(struct board_box *box)
{
    for (int i = 0; i < BOARD_FIBERS; i++)
        free(box->fiber[i].stack);
}

static void enter(void)
{
    struct board_box *box = the_box;

    finish_switch(box, NULL);
    fiber_body(box, box->self);
    fiber_leave(box, FIBER_ENDED);
}

static void prepare(struct board_box *box, struct fiber *fiber)
{
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = STACK_SIZE;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, enter, 0);
    fiber->state = FIBER_READY;
    fiber->steps = 0;
    fiber->priority = (uint32_t)test_random_bits(&box->random) >> 1;
}

static void prepare_all(struct board_box *box)
{
    for (int i = 0; i <= box->plan->ranks; i++)
        prepare(box, &box->fiber[i]);
    box->lowest_priority = UINT32_MAX >> 1;
}

void fibers_run(struct board_box *box)
{
    void *own = NULL;

    prepare_all(box);
    the_box = box;
    box->outside_stack = NULL;
    box->self = (int)test_random_between(&box->random, 0, box->plan->ranks);
    if (box->plan->policy == BOARD_RUN || box->plan->policy == BOARD_ROUND_ROBIN)
        box->self = 0;
    start_switch(&own, box->fiber[box->self].stack, STACK_SIZE, false);
    swapcontext(&box->outside, &box->fiber[box->self].context);
    finish_switch(box, own);
    the_box = NULL;
}
