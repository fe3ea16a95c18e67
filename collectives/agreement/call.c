/* Calls of a member: what this process contributes to an operation, and how its first ballot begins
 * (agreement.md, "Operations"). */
#include <string.h>

#include "base/error.h"
#include "collectives/agreement/collector.h"
#include "collectives/agreement/life.h"
#include "collectives/agreement/settle.h"

/* x of a validate is L, as a bit set. */
static int take_known(struct ftc_member *m, struct ftc_operation *op)
{
    size_t size = ftc_set_bytes(m->set.ranks);
    struct ftc_buffer *buffer = ftc_buffer_new(size);

    if (buffer == NULL)
        return FTC_ERR_NOMEM;
    ftc_set_to_bytes(&m->known, buffer->data);
    if (op->levels && op->call.input != NULL) /* the posts of this node's ranks */
        ftc_set_unite_bytes(NULL, op->call.input, buffer->data, size);
    op->input = (struct ftc_value){.buffer = buffer, .size = size};
    op->call.signature.size = size;
    op->call.combine = ftc_set_unite_bytes;
    return 0;
}

static int take_blocks(struct ftc_member *m, struct ftc_operation *op)
{
    const struct ftc_block own = {m->set.self, op->call.input_size, op->call.input};

    return ftc_blocks_make(&op->input, &own, 1);
}

/* Over two levels the input of a call that gathers is a list already (call.h). */
static int take_input(struct ftc_member *m, struct ftc_operation *op)
{
    bool gathers = ftc_operation_gathers(op);
    size_t size = gathers ? op->call.input_size : op->call.signature.size;

    if (gathers && !op->levels)
        return take_blocks(m, op);
    if (op->call.signature.kind == FTC_CALL_VALIDATE)
        return take_known(m, op);
    if (size == 0 || op->call.input == NULL)
        return 0;
    struct ftc_buffer *buffer = ftc_buffer_new(size);
    if (buffer == NULL)
        return FTC_ERR_NOMEM;
    memcpy(buffer->data, op->call.input, size);
    if (ftc_call_table[op->call.signature.kind].names) { /* its first bytes are a set */
        ftc_set_to_bytes(&m->known, buffer->data);
        ftc_set_unite_bytes(NULL, op->call.input, buffer->data, ftc_set_bytes(m->set.ranks));
    }
    op->input = (struct ftc_value){.buffer = buffer, .size = size};
    return 0;
}

/* Two levels: adds the ranks of this node that died without a post to L. */
static int take_missing(struct ftc_member *m, struct ftc_operation *op)
{
    ftc_set_clear(&op->missing);
    if (op->call.missing == NULL)
        return 0;
    ftc_set_copy(&op->missing, op->call.missing);
    op->call.missing = NULL;
    return ftc_member_learn(m, &op->missing);
}

/* Every w-th broadcast in a row has a reduce in ballot (0,0), too (agreement.md, "Operations"). */
bool ftc_member_gathers(const struct ftc_member *m, const struct ftc_signature *signature)
{
    if (!ftc_call_from_root(signature->kind))
        return true;
    return m->set.settle_every > 0 &&
           m->row + ftc_call_row_weight(signature->size) >= m->set.settle_every;
}

static bool first_ballot_collects(struct ftc_member *m, const struct ftc_signature *signature)
{
    bool collects = ftc_member_gathers(m, signature);

    if (ftc_call_from_root(signature->kind))
        m->row = collects ? 0 : m->row + ftc_call_row_weight(signature->size);
    else if (!ftc_call_to_root(signature->kind))
        m->row = 0;
    return collects;
}

/* The index of c_0 in the view. */
static int rotation_start(const struct ftc_member *m, const struct ftc_signature *signature,
                          uint64_t k, const struct ftc_view *participants)
{
    if (signature->root >= 0)
        return ftc_view_index(m->view, signature->root);
    if (participants != m->view &&
        m->set.rotation == FTC_ROTATION_SPREAD) /* two levels: start at a delegate */
        return ftc_view_index(
            m->view, ftc_view_member(participants, (int)(k % (uint64_t)participants->size)));
    return m->set.rotation == FTC_ROTATION_FIRST ? 0 : (int)(k % (uint64_t)m->view->size);
}

/* The root is in G: every member returns at once, with no message and no state. */
static int call_without_root(struct ftc_member *m, const struct ftc_call *call)
{
    bool bcast = ftc_call_from_root(call->signature.kind);
    struct ftc_output output = {.kind = FTC_OUTPUT_DELIVER,
                                .status = bcast ? FTC_ERR_ROOT_FAILED : FTC_SUCCESS};

    m->report = (struct ftc_member_report){.coordinator = -1};
    ftc_set_clear(&m->report_wrong);
    ftc_set_copy(&m->report_failed, bcast ? &m->agreed : &m->known);
    int rc = ftc_receive_kept(m, m->next_op - 1, NULL);
    return rc == 0 ? ftc_member_output(m, &output) : rc;
}

/* Has the call what its contribution is made of? */
static int check_input(const struct ftc_member *m, const struct ftc_call *call)
{
    const struct ftc_signature *s = &call->signature;
    bool decided = m->word != NULL; /* the decision is here already: no input is needed */

    if (ftc_call_table[s->kind].names && s->kind != FTC_CALL_VALIDATE &&
        s->size < ftc_set_bytes(m->set.ranks))
        return ftc_error_set(FTC_ERR_ARG, "a value of %llu bytes cannot name failed ranks of %d",
                             (unsigned long long)s->size, m->set.ranks);
    if (s->size == 0 || decided)
        return 0;
    if (ftc_signature_gathers(s)) {
        uint64_t most = s->size;
        if (most <= FTC_BLOCK_MOST && ftc_member_two_levels(m, s))
            most = ftc_blocks_most(m->set.ranks, s->size);
        if (s->size > FTC_BLOCK_MOST || call->input_size > most)
            return ftc_error_set(
                FTC_ERR_ARG, "a contribution has %zu bytes, and at most %llu fit", call->input_size,
                (unsigned long long)(s->size > FTC_BLOCK_MOST ? FTC_BLOCK_MOST : most));
        if (call->input == NULL && call->input_size > 0)
            return ftc_error_set(FTC_ERR_ARG, "a call that gathers needs an input");
    } else if (ftc_call_table[s->kind].reduces && (call->input == NULL || call->combine == NULL)) {
        return ftc_error_set(FTC_ERR_ARG, "a reduction needs an input and an operator");
    }
    if (ftc_call_from_root(s->kind) && s->root == m->set.self && call->input == NULL)
        return ftc_error_set(FTC_ERR_ARG, "the root of a broadcast needs an input");
    return 0;
}

int ftc_member_check_call(const struct ftc_member *m, const struct ftc_call *call)
{
    const struct ftc_signature *s = &call->signature;

    if (s->kind <= FTC_CALL_NONE || s->kind >= FTC_CALL_KINDS || s->kind == FTC_CALL_SETTLE)
        return ftc_error_set(FTC_ERR_ARG, "call kind %d does not exist", s->kind);
    const struct ftc_call_traits *traits = &ftc_call_table[s->kind];
    if (traits->rooted ? s->root < 0 || s->root >= m->set.ranks : s->root != -1)
        return ftc_error_set(FTC_ERR_ARG, "root %d is not allowed here", (int)s->root);
    if (ftc_member_busy(m))
        return ftc_error_set(FTC_ERR_STATE,
                             "another operation is under way; wait for it to return");
    return check_input(m, call);
}

static int begin(struct ftc_member *m, const struct ftc_call *call, struct ftc_operation **out)
{
    struct ftc_operation *op;
    int rc = ftc_operation_new(m, m->next_op - 1, call, m->view, &op);

    if (rc != 0)
        return rc;
    op->epoch = m->epoch;
    op->levels = ftc_member_two_levels(m, &call->signature);
    op->sums = ftc_member_sums(m, &call->signature);
    struct ftc_view *participants =
        op->levels ? ftc_levels_delegates(m, call->signature.root) : op->view;
    *out = op;
    if (participants == NULL)
        return FTC_ERR_NOMEM;
    op->start = rotation_start(m, &call->signature, op->k, participants);
    if (op->levels && call->signature.root >= 0)
        ftc_levels_rotation(m, op);
    op->first_collects = first_ballot_collects(m, &call->signature);
    op->exchanges = ftc_exchange_refuses(&m->set, &call->signature, participants->size) == NULL;
    rc = take_input(m, op);
    if (rc == 0 && op->levels)
        rc = take_missing(m, op);
    if (rc == 0)
        rc = ftc_integrity_protect(m, op, FTC_FLIP_INPUT, &op->input);
    if (rc == 0)
        rc = ftc_ballot_enter(m, op, (struct ftc_ballot_id){0}, participants);
    return rc == 0 ? ftc_member_deliver_kept_word(m, op) : rc;
}

int ftc_member_begin_call(struct ftc_member *m, const struct ftc_call *call)
{
    struct ftc_operation *op;
    int rc = ftc_sums_answer_before(m, &call->signature);

    if (rc != 0)
        return rc;
    ftc_settling_note_call(m, false);
    if (call->signature.root >= 0 && ftc_set_has(&m->agreed, call->signature.root))
        return call_without_root(m, call);
    if (ftc_member_sums(m, &call->signature) && call->signature.root != m->set.self)
        return ftc_sums_pass(m, (int)call->signature.root);
    rc = begin(m, call, &op);
    if (rc == 0)
        ftc_settling_note_call(m, ftc_operation_plain_reduce(op) && !op->levels &&
                                      op->ballot.position == 0);
    if (rc == 0 && !op->ballot.collects && op->ballot.position == 0)
        rc = ftc_collect_decide(m, op); /* a broadcast's root sends DECIDE straight away */
    return rc == 0 ? ftc_receive_kept(m, op->k, op) : rc;
}
