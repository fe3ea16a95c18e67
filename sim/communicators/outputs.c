/* Carries out the outputs of a process. */
#include "include/ftcoll.h"
#include "sim/communicators/world.h"

#define GONE 0 /* the word, in its message */

static void end_call(struct ftc_comms_world *w, int rank, int item, uint64_t ticket)
{
    struct ftc_comms_process *p = &w->process[rank];

    for (int thread = 0; thread < w->story->threads; thread++)
        if (p->waits[thread] == ticket)
            p->waits[thread] = 0;
    p->ticket[item] = 0;
    p->slot[w->story->item[item].slot].outstanding--;
}

static void take_child(struct ftc_comms_world *w, int rank, int item,
                       struct ftc_communicator *child)
{
    struct ftc_comms_slot *slot = &w->process[rank].slot[w->story->item[item].child];

    slot->state = child != NULL ? FTC_COMMS_SLOT_LIVE : FTC_COMMS_SLOT_NONE;
    slot->communicator = child;
}

static void created(struct ftc_comms_world *w, int rank, int item,
                    const struct ftc_comms_output *output)
{
    ftc_comms_say(w, "rank %d has item %d: a child %llx", rank, item,
                  output->child == NULL ? 0
                                        : (unsigned long long)ftc_communicator_name(output->child));
    ftc_comms_judge_created(w, rank, item, output);
    take_child(w, rank, item, output->child);
    end_call(w, rank, item, output->ticket);
    if (output->child == NULL)
        return;
    w->sums->children++;
    w->sums->groups += w->story->item[item].creation == FTC_CREATION_GROUP;
    w->sums->by_messages += ftc_communicator_by_messages(output->child);
}

static void delivered(struct ftc_comms_world *w, int rank, int item,
                      const struct ftc_comms_output *output)
{
    ftc_comms_say(w, "rank %d has the result of item %d in %llx: %d", rank, item,
                  (unsigned long long)output->number, output->is.status);
    ftc_comms_judge_delivery(w, rank, item, output);
    end_call(w, rank, item, output->ticket);
    w->sums->results++;
    w->sums->agreements += output->after;
}

static void cut_off(struct ftc_comms_world *w, int rank, int item,
                    const struct ftc_comms_output *output)
{
    struct ftc_comms_process *p = &w->process[rank];

    ftc_comms_say(w, "rank %d: item %d in %llx is cut off", rank, item,
                  (unsigned long long)output->number);
    if (w->story->item[item].kind == FTC_COMMS_OPERATE &&
        w->story->item[item].call == FTC_CALL_AGREE)
        ftc_comms_violate(w, "rank %d: an agree is cut off", rank);
    if (!w->story->revokes)
        ftc_comms_violate(w, "rank %d: a call is cut off, and nobody has revoked", rank);
    w->sums->cut_off++;
    p->slot[w->story->item[item].slot].told = true;
    if (w->story->item[item].kind == FTC_COMMS_CREATE)
        take_child(w, rank, item, NULL);
    end_call(w, rank, item, output->ticket);
}

/* An output that ends a call. */
static void ended(struct ftc_comms_world *w, int rank, const struct ftc_comms_output *output)
{
    int item = ftc_comms_item_of(&w->process[rank], output->ticket);

    if (item < 0)
        ftc_comms_violate(w, "rank %d: a call ends that is not under way", rank);
    else if (output->kind == FTC_COMMS_CREATED)
        created(w, rank, item, output);
    else if (output->kind == FTC_COMMS_DELIVERED)
        delivered(w, rank, item, output);
    else
        cut_off(w, rank, item, output);
}

/* A process that sends a word about a communicator, such as REVOKE, may die soon after it. */
static void send_word(struct ftc_comms_world *w, int rank, const struct ftc_buffer *word)
{
    struct ftc_comms_process *p = &w->process[rank];

    if (word->data[2] == GONE)
        ftc_comms_judge_forgotten(w, rank, ftc_frame_communicator(word));
    if (w->story->struck > 0 && ftc_comms_below(w, 64) < (uint64_t)w->story->struck)
        p->doom = p->outputs + 1 + (int)ftc_comms_below(w, 3);
}

static void member_output(struct ftc_comms_world *w, int rank,
                          const struct ftc_comms_output *output)
{
    struct ftc_comms_process *p = &w->process[rank];
    const struct ftc_output *is = &output->is;

    if (is->kind == FTC_OUTPUT_SEND) {
        ftc_comms_send(w, rank, is->to, is->head, &is->value);
        if (ftc_frame_kind(is->head) == FTC_FRAME_COMMUNICATOR)
            send_word(w, rank, is->head);
    } else if (is->kind == FTC_OUTPUT_MORE)
        p->more = true;
    else if (is->kind == FTC_OUTPUT_TIMER)
        p->timer = true;
    else if (is->kind != FTC_OUTPUT_SETTLED)
        ftc_comms_violate(w, "rank %d, communicator %llx: an output of kind %d about rank %d", rank,
                          (unsigned long long)output->number, (int)is->kind, is->to);
}

/* Of a board: this process has left, or has revoked the communicator. */
static void set_word(struct ftc_comms_world *w, int rank, const struct ftc_comms_output *output)
{
    struct ftc_comms_boards *boards = &w->boards;
    bool left = output->kind == FTC_COMMS_SET_LEFT;
    int i = 0;

    while (i < boards->count && boards->board[i].number != output->number)
        i++;
    if (i == FTC_COMMS_BOARDS) {
        ftc_comms_violate(w, "more than %d boards", FTC_COMMS_BOARDS);
        return;
    }
    if (i == boards->count)
        boards->board[boards->count++].number = output->number;
    ftc_comms_say(w, "rank %d sets %s of %llx", rank, left ? "left" : "revoked",
                  (unsigned long long)output->number);
    *(left ? &boards->board[i].left : &boards->board[i].revoked) |= UINT64_C(1) << rank;
}

static bool has_member(const struct ftc_communicator *c, int job_rank)
{
    int rank = 0;

    while (rank < ftc_communicator_size(c) && ftc_communicator_job_rank(c, rank) != job_rank)
        rank++;
    return rank < ftc_communicator_size(c);
}

/* C7: while a member may use the board, no other one has forgotten it, unless it was revoked. */
static void check_forgotten(struct ftc_comms_world *w, int rank, uint64_t number)
{
    const struct ftc_comms_boards *boards = &w->boards;
    uint64_t users = 0;
    int i = 0;

    while (i < boards->count && boards->board[i].number != number)
        i++;
    if (i == boards->count || boards->board[i].revoked != 0)
        return;
    for (int r = 0; r < w->n; r++) {
        const struct ftc_communicator *c =
            w->process[r].alive
                ? ftc_communicators_find(ftc_comms_engine_set(w->process[r].engine), number)
                : NULL;
        if (c != NULL && has_member(c, rank) && ftc_communicator_has_callers(c))
            users |= UINT64_C(1) << r;
    }
    if ((users & ~boards->board[i].left) != 0)
        ftc_comms_violate(w, "rank %d forgets %llx, and others have not left its board", rank,
                          (unsigned long long)number);
}

static void carry_out(struct ftc_comms_world *w, int rank, const struct ftc_comms_output *output)
{
    struct ftc_comms_process *p = &w->process[rank];

    switch (output->kind) {
    case FTC_COMMS_MEMBER:
        member_output(w, rank, output);
        break;
    case FTC_COMMS_OPEN:
        ftc_comms_judge_child(w, rank, output);
        if (p->openings == FTC_COMMS_SLOTS)
            ftc_comms_violate(w, "rank %d opens too much", rank);
        else
            p->opening[p->openings++] = output->number;
        break;
    case FTC_COMMS_FORGET:
        ftc_comms_say(w, "rank %d forgets %llx", rank, (unsigned long long)output->number);
        check_forgotten(w, rank, output->number);
        ftc_comms_judge_forgotten(w, rank, output->number);
        w->sums->forgotten++;
        break;
    case FTC_COMMS_SET_REVOKED:
    case FTC_COMMS_SET_LEFT:
        set_word(w, rank, output);
        break;
    case FTC_COMMS_MISMATCH:
        ftc_comms_violate(w, "rank %d: different agreements in %llx", rank,
                          (unsigned long long)output->number);
        break;
    default:
        ended(w, rank, output);
        break;
    }
}

void ftc_comms_outputs(struct ftc_comms_world *w, int rank)
{
    struct ftc_comms_engine *engine = w->process[rank].engine;
    const struct ftc_comms_output *output;
    int rc = 0;

    while (!ftc_comms_is_gone(w, rank) &&
           (rc = ftc_comms_engine_next_output(engine, &output)) == 1) {
        if (ftc_comms_struck(w, rank))
            return;
        carry_out(w, rank, output);
    }
    if (rc < 0)
        ftc_comms_check(w, rank, "an output", rc);
}
