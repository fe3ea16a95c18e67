/* Holding a decision and sending it: agreement.md, rule 5; docs/design/broadcast.md. */
#include <assert.h>
#include <string.h>

#include "collectives/agreement/collector.h"
#include "collectives/agreement/life.h"

/* --- pieces --- */

/* The successor of this rank on the ring: the next live position; -1: there is none before the
 * coordinator. */
static int successor(const struct ftc_member *m, const struct ftc_ballot *b)
{
    for (int position = b->position + 1; position < b->size; position++) {
        int rank = ftc_ballot_rank(b, position);
        if (!ftc_knows_failed(m, rank))
            return rank;
    }
    return -1;
}

/* A rank to which all pieces were passed on counts as sent to: the correction has nothing left to
 * do for it. */
static void count_passed(struct ftc_ballot *b, int to, uint32_t count)
{
    struct ftc_spread *s = &b->spread;

    if (s->passed_to != to)
        s->passed = 0;
    s->passed_to = to;
    if (++s->passed == count)
        ftc_set_add(&b->decide_sent, to);
}

/* broadcast.md, "ring": a piece is passed on as soon as it has come. */
static int pass_piece(struct ftc_member *m, struct ftc_operation *op,
                      const struct ftc_message *piece)
{
    int to = m->correction.kind == FTC_CORRECTION_RING ? successor(m, &op->ballot) : -1;

    if (to < 0)
        return 0;
    ftc_rule_taken(m, FTC_RULE_PASS_PIECE);
    count_passed(&op->ballot, to, piece->piece.count);
    return ftc_member_send(m, op, FTC_MESSAGE_FRAGMENT, to, piece);
}

/* Encodes DECIDE as a receiver has it in memory: head, padding, value. */
static struct ftc_buffer *encode_whole(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_message decide = {.correcting =
                                     ftc_corrector_takes_part(&op->ballot.spread.corrector),
                                 .contribution = {.decision = op->decision}};
    const struct ftc_value *value = &op->decision->value;
    struct ftc_buffer *head = ftc_member_encode(m, op, FTC_MESSAGE_DECIDE, &decide);
    size_t size = value->buffer != NULL ? value->size : 0;

    if (head == NULL || size == 0)
        return head;
    struct ftc_buffer *whole = ftc_value_new_message(head->size, size);
    if (whole != NULL) {
        memcpy(whole->data, head->data, head->size);
        memcpy(whole->data + ftc_value_offset(head->size), ftc_value_bytes(value), size);
    }
    ftc_buffer_unref(head);
    return whole;
}

/* Sends all pieces: to all by multicast, or along the ring. */
static int multicast_pieces(struct ftc_member *m, struct ftc_operation *op,
                            struct ftc_buffer *whole, bool ring)
{
    uint32_t count = ftc_fragments_count(whole->size, m->set.fragment);
    int rc = 0;

    for (uint32_t number = 0; rc == 0 && number < count; number++) {
        struct ftc_message piece = {0};
        struct ftc_value *bytes = &piece.contribution.value;
        bytes->buffer = whole;
        ftc_fragments_cut(whole->size, m->set.fragment, number, &piece.piece, &bytes->offset,
                          &bytes->size);
        rc = ring ? pass_piece(m, op, &piece) : ftc_member_multicast(m, op, &piece);
    }
    return rc;
}

/* The coordinator's part of a multicast: the pieces go to all first, and then along the ring. */
static int multicast(struct ftc_member *m, struct ftc_operation *op)
{
    if (!ftc_integrity_sound(m, &op->decision->value))
        return ftc_integrity_corrupt(m);
    struct ftc_buffer *whole = encode_whole(m, op);
    if (whole == NULL)
        return FTC_ERR_NOMEM;
    ftc_rule_taken(m, FTC_RULE_MULTICAST);
    int rc = multicast_pieces(m, op, whole, false);
    if (rc == 0 && m->correction.kind == FTC_CORRECTION_RING)
        rc = multicast_pieces(m, op, whole, true);
    ftc_buffer_unref(whole);
    return rc;
}

int ftc_broadcast_piece(struct ftc_member *m, struct ftc_operation *op, bool datagram,
                        bool *complete)
{
    struct ftc_ballot *b = &op->ballot;
    int rc = 0;

    *complete = false;
    if (!b->holding)
        rc = ftc_fragments_add(&b->spread.fragments, &m->scratch.piece,
                               &m->scratch.contribution.value);
    if (rc < 0)
        return rc;
    m->pieces[rc == 0 ? FTC_PIECES_AGAIN : datagram ? FTC_PIECES_DATAGRAM : FTC_PIECES_RING]++;
    if (rc == 0)
        return 0;
    rc = pass_piece(m, op, &m->scratch);
    if (rc != 0 || !ftc_fragments_complete(&b->spread.fragments))
        return rc;
    *complete = true;
    return ftc_message_decode(&m->scratch, b->spread.fragments.whole, m->set.ranks, m->set.scheme);
}

int ftc_broadcast_drop_pieces(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_spread *s = &op->ballot.spread;

    ftc_fragments_drop(&s->fragments);
    s->passed = 0;
    s->impatient = true;
    return ftc_repair_pull(m, op);
}

/* --- holding --- */

static int pass_to_children(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_ballot *b = &op->ballot;
    int rc = 0;

    for (int c = 0; rc == 0; c++) {
        int j = ftc_topology_broadcast_child(&m->set.tree, b->size, b->position, c);
        if (j < 0)
            break;
        int to = ftc_ballot_rank(b, j);
        if (!ftc_knows_failed(m, to))
            rc = ftc_member_send_decide(m, op, to, FTC_WAY_OWED, 0);
    }
    return rc;
}

static int pass_on(struct ftc_member *m, struct ftc_operation *op,
                   const struct ftc_arrival *arrival)
{
    struct ftc_ballot *b = &op->ballot;
    int rc = 0;

    if (b->spread.dissemination == FTC_DISSEMINATION_TREE)
        rc = pass_to_children(m, op);
    else if (b->spread.dissemination == FTC_DISSEMINATION_MULTICAST &&
             arrival->from == m->set.self && b->size > 1)
        rc = multicast(m, op);
    for (int to = ftc_set_next(&b->asked, 0); rc == 0 && to >= 0;
         to = ftc_set_next(&b->asked, to + 1)) {
        ftc_rule_taken(m, FTC_RULE_PULL_ANSWER);
        rc = ftc_member_send_decide(m, op, to, FTC_WAY_OWED, 0);
    }
    ftc_set_clear(&b->asked);
    return rc;
}

static int spread(struct ftc_member *m, struct ftc_operation *op, const struct ftc_arrival *arrival)
{
    ftc_spread_colour(m, op, arrival);
    int rc = pass_on(m, op, arrival);
    return rc == 0 ? ftc_spread_begin(m, op) : rc;
}

/* Counts the pieces that this process will not need any more. */
static void count_pieces(struct ftc_member *m, const struct ftc_ballot *b,
                         const struct ftc_arrival *arrival)
{
    const struct ftc_fragments *fragments = &b->spread.fragments;

    if (b->spread.dissemination != FTC_DISSEMINATION_MULTICAST || arrival->pieces ||
        arrival->from == m->set.self)
        return;
    m->pieces[FTC_PIECES_OTHER] +=
        fragments->whole != NULL ? fragments->count - fragments->there : 1;
}

/* Holds DECIDE(b), from the coordinator's own decision or from a message: delivers it, and passes
 * it on (rule 5). */
int ftc_broadcast_hold(struct ftc_member *m, struct ftc_operation *op,
                       struct ftc_decision *decision, const struct ftc_arrival *arrival)
{
    struct ftc_ballot *b = &op->ballot;
    bool again = op->returned;
    int rc = 0;

    assert(!b->holding);
    if (b->phase != FTC_BALLOT_DONE)
        ftc_rule_taken(m, FTC_RULE_STOP_EARLY);
    b->phase = FTC_BALLOT_DONE;
    b->holding = true;
    count_pieces(m, b, arrival);
    ftc_ballot_forget(b);
    if (again)
        ftc_rule_taken(m, FTC_RULE_PASS_AGAIN);
    else
        rc = ftc_member_deliver(m, op, decision->status, decision,
                                op->result.buffer != NULL ? &op->result : &decision->value);
    if (rc != 0)
        return rc;
    if (FTC_MUTATED(DECIDED_KEEP_DECIDE) && again)
        return 0;
    rc = ftc_ballot_exchanges(b) ? ftc_exchange_pass_on(m, op) : spread(m, op, arrival);
    if (rc == 0 && (ftc_operation_settles(op, b->id) || FTC_MUTATED(FORGET_ON_BROADCAST)))
        ftc_operation_free_before(m, op->k);
    return rc;
}
