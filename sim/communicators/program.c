/* The program at one process: its threads, and what follows. */
#include "base/mix.h"
#include "collectives/values/types.h"
#include "include/ftcoll.h"
#include "sim/communicators/world.h"

/* --- which item comes next --- */

static bool mine(const struct ftc_comms_world *w, int index, int thread)
{
    return w->story->owner[w->story->item[index].slot] == thread;
}

/* The index of the thread's next item; story->items at its end. */
static int next_item(const struct ftc_comms_world *w, int rank, int thread)
{
    int at = w->process[rank].at[thread];

    while (at < w->story->items && !mine(w, at, thread))
        at++;
    return at;
}

bool ftc_comms_can_step(const struct ftc_comms_world *w, int rank, int thread)
{
    const struct ftc_comms_process *p = &w->process[rank];
    int at = next_item(w, rank, thread);

    if (p->waits[thread] != 0 || at == w->story->items)
        return false;
    const struct ftc_comms_item *item = &w->story->item[at];
    const struct ftc_comms_slot *slot = &p->slot[item->slot];
    if (slot->state == FTC_COMMS_SLOT_EMPTY)
        return false;
    return !item->recovers || slot->outstanding == 0;
}

/* --- doing it --- */

static void add(void *arg, const void *in, void *inout, size_t size)
{
    const uint64_t *from = in;
    uint64_t *to = inout;

    (void)arg;
    for (size_t i = 0; i < size / sizeof(*to); i++)
        to[i] += from[i];
}

/* The bit of this rank is in the flags of the others alone. */
static int agree(struct ftc_comms_world *w, int rank, int at)
{
    struct ftc_comms_process *p = &w->process[rank];
    struct ftc_communicator *c = p->slot[w->story->item[at].slot].communicator;
    struct ftc_call call = {.signature = {.kind = FTC_CALL_AGREE, .root = -1},
                            .input = &p->agree[at]};

    p->agree[at] = (struct ftc_agree_input){.flag = ~(UINT32_C(1) << ftc_communicator_self(c))};
    return ftc_communicator_start(c, &call, &p->ticket[at]);
}

static int operate(struct ftc_comms_world *w, int rank, int at)
{
    const struct ftc_comms_item *item = &w->story->item[at];
    struct ftc_comms_process *p = &w->process[rank];
    struct ftc_communicator *c = p->slot[item->slot].communicator;
    bool rooted = ftc_call_table[item->call].rooted;
    int root = rooted ? item->who % ftc_communicator_size(c) : -1;
    struct ftc_call call = {.signature = {.kind = (uint8_t)item->call, .root = root}};

    if (rooted || ftc_call_table[item->call].reduces) {
        call.signature.type = FTC_UINT64;
        call.signature.size = sizeof(p->input[at]);
    }
    if (ftc_call_table[item->call].reduces) {
        call.signature.operator_code = FTC_OPERATOR_USER;
        call.combine = add;
    }
    p->input[at][0] = UINT64_C(1) << (4 * ftc_communicator_self(c));
    p->input[at][1] = ftc_comms_tag(ftc_communicator_name(c), at);
    if (item->call != FTC_CALL_BCAST || root == ftc_communicator_self(c))
        call.input = p->input[at];
    return ftc_communicator_start(c, &call, &p->ticket[at]);
}

/* The list of a group. */
static int list_group(const struct ftc_comms_item *item, const struct ftc_communicator *c,
                      int ranks[FTC_COMMS_N], bool *listed)
{
    int size = ftc_communicator_size(c), count = 0;

    *listed = false;
    for (int i = 0; i < size; i++) {
        int rank = (int)(((uint64_t)i + item->first) % (uint64_t)size);
        if (!item->listed[ftc_communicator_job_rank(c, rank)])
            continue;
        *listed |= rank == ftc_communicator_self(c);
        ranks[count++] = rank;
    }
    return count;
}

/* C3: it offers the memory of a communicator that it has left. If it is lucky, so do the others. */
static uint64_t offer(const struct ftc_comms_world *w, int rank, int at)
{
    const struct ftc_comms_boards *boards = &w->boards;
    int from = at % 2 == 0 ? 0 : boards->count / 2;

    for (int i = from; i < boards->count; i++)
        if ((boards->board[i].left >> rank & 1) != 0)
            return boards->board[i].number;
    return 0;
}

/* *started: the process takes part. */
static int create(struct ftc_comms_world *w, int rank, int at, bool *started)
{
    const struct ftc_comms_item *item = &w->story->item[at];
    struct ftc_comms_process *p = &w->process[rank];
    struct ftc_communicator *c = p->slot[item->slot].communicator;
    int ranks[FTC_COMMS_N];

    *started = true;
    if (item->creation != FTC_CREATION_GROUP)
        return ftc_communicator_create(c, item->creation, item->color[rank], item->key[rank],
                                       offer(w, rank, at), &p->ticket[at]);
    int count = list_group(item, c, ranks, started);
    return *started
               ? ftc_communicator_create_group(c, count, ranks, item->child % 2, &p->ticket[at])
               : 0;
}

/* A call that was started. */
static void start(struct ftc_comms_world *w, int rank, int thread, int at)
{
    const struct ftc_comms_item *item = &w->story->item[at];
    struct ftc_comms_process *p = &w->process[rank];
    bool started = true;

    ftc_comms_say(w, "rank %d starts item %d in %llx", rank, at,
                  (unsigned long long)ftc_communicator_name(p->slot[item->slot].communicator));
    int rc = item->kind == FTC_COMMS_CREATE ? create(w, rank, at, &started)
             : item->call == FTC_CALL_AGREE ? agree(w, rank, at)
                                            : operate(w, rank, at);
    ftc_comms_check(w, rank, "a call", rc);
    if (!started) {
        p->slot[item->child].state = FTC_COMMS_SLOT_NONE;
        return;
    }
    p->slot[item->slot].outstanding++;
    if (item->waits)
        p->waits[thread] = p->ticket[at];
}

static void give_up(struct ftc_comms_world *w, int rank, struct ftc_comms_slot *slot, bool free)
{
    ftc_comms_say(w, "rank %d %s %llx", rank, free ? "frees" : "revokes",
                  (unsigned long long)ftc_communicator_name(slot->communicator));
    if (free) {
        ftc_comms_check(w, rank, "free", ftc_communicator_free(slot->communicator));
        slot->state = FTC_COMMS_SLOT_NONE;
        slot->communicator = NULL;
    } else {
        slot->told = true;
        ftc_comms_check(w, rank, "revoke", ftc_communicator_revoke(slot->communicator));
    }
}

void ftc_comms_step(struct ftc_comms_world *w, int rank, int thread)
{
    struct ftc_comms_process *p = &w->process[rank];
    int at = next_item(w, rank, thread);
    const struct ftc_comms_item *item = &w->story->item[at];
    struct ftc_comms_slot *slot = &p->slot[item->slot];
    bool calls = item->kind == FTC_COMMS_OPERATE || item->kind == FTC_COMMS_CREATE;

    bool agrees = item->kind == FTC_COMMS_OPERATE && item->call == FTC_CALL_AGREE;

    p->at[thread] = at + 1;
    if (slot->state != FTC_COMMS_SLOT_LIVE || (calls && !agrees && slot->told != item->recovers)) {
        if (item->kind == FTC_COMMS_CREATE)
            p->slot[item->child].state = FTC_COMMS_SLOT_NONE;
        return;
    }
    if (calls)
        start(w, rank, thread, at);
    else if (item->kind == FTC_COMMS_FREE)
        give_up(w, rank, slot, true);
    else if (item->who == rank && !slot->told)
        give_up(w, rank, slot, false);
    ftc_comms_outputs(w, rank);
}

/* --- the end --- */

static bool program_done(const struct ftc_comms_world *w, int rank)
{
    const struct ftc_comms_process *p = &w->process[rank];

    for (int thread = 0; thread < w->story->threads; thread++)
        if (p->waits[thread] != 0 || next_item(w, rank, thread) < w->story->items)
            return false;
    for (int slot = 0; slot < w->story->slots; slot++)
        if (p->slot[slot].outstanding > 0)
            return false;
    return true;
}

bool ftc_comms_can_end(const struct ftc_comms_world *w, int rank)
{
    return w->process[rank].phase == FTC_COMMS_PHASE_RUNS && program_done(w, rank);
}

/* C12: in an order that depends on the run. */
void ftc_comms_end(struct ftc_comms_world *w, int rank)
{
    struct ftc_comms_process *p = &w->process[rank];
    int slots = w->story->slots, from = (int)ftc_comms_below(w, (uint64_t)slots);

    p->phase = FTC_COMMS_PHASE_ENDS;
    for (int i = 0; i < slots && !ftc_comms_is_gone(w, rank); i++) {
        struct ftc_comms_slot *slot = &p->slot[(from + i) % slots];
        if (slot->state != FTC_COMMS_SLOT_LIVE)
            continue;
        give_up(w, rank, slot, true);
        ftc_comms_outputs(w, rank);
    }
}
