/* What a member does with a message (agreement.md, rule 0), and how messages make it enter a ballot
 * (rule 1). */
#include <stdlib.h>

#include "collectives/agreement/collector.h"
#include "collectives/agreement/life.h"

#define KEPT_BUCKETS  64
#define KEPT_FURTHEST (1u << 20) /* an op further ahead than this is none of this job */
/* Limits for kept datagrams, which anybody can send and which may get lost anyway: how many ops
 * ahead they may be, and how many bytes are kept in all. */
#define DATAGRAMS_FURTHEST 256
#define DATAGRAMS_MOST     (64u << 20)

struct kept {
    struct kept *next;
    uint64_t k;
    int from;
    bool datagram;
    struct ftc_buffer *buffer;
};

/* Messages in the order of arrival. */
struct ftc_kept_bucket {
    struct kept *first, *last;
};

/* --- messages of ops that are not called yet --- */

static bool too_much(const struct ftc_member *m, uint64_t ahead, const struct ftc_buffer *datagram)
{
    return ahead > DATAGRAMS_FURTHEST || m->kept_datagrams + datagram->size > DATAGRAMS_MOST;
}

static int keep(struct ftc_member *m, const struct kept *message)
{
    struct ftc_kept_bucket *bucket = &m->kept[message->k % KEPT_BUCKETS];
    struct kept *kept = malloc(sizeof(*kept));

    if (kept == NULL)
        return FTC_ERR_NOMEM;
    *kept = *message;
    ftc_buffer_ref(kept->buffer);
    if (bucket->last != NULL)
        bucket->last->next = kept;
    else
        bucket->first = kept;
    bucket->last = kept;
    m->kept_datagrams += kept->datagram ? kept->buffer->size : 0;
    ftc_rule_taken(m, FTC_RULE_KEEP_EARLY);
    return 0;
}

int ftc_receive_keep(struct ftc_member *m, uint64_t k, uint64_t ahead, int from, bool datagram,
                     struct ftc_buffer *buffer)
{
    /* Nobody delivers the next settlement without this rank, so nobody is ahead of that one. */
    if (ahead > (ftc_op_is_settlement(k) ? 0 : KEPT_FURTHEST))
        return FTC_ERR_PROTO;
    if (datagram && too_much(m, ahead, buffer))
        return 0;
    if (m->kept == NULL && (m->kept = calloc(KEPT_BUCKETS, sizeof(*m->kept))) == NULL)
        return FTC_ERR_NOMEM;
    return keep(m, &(struct kept){.k = k, .from = from, .datagram = datagram, .buffer = buffer});
}

static void kept_free(struct ftc_member *m, struct kept *kept)
{
    m->kept_datagrams -= kept->datagram ? kept->buffer->size : 0;
    ftc_buffer_unref(kept->buffer);
    free(kept);
}

/* The oldest kept message of op k, and the one before it in its bucket; NULL: there is none. */
static struct kept *kept_find(const struct ftc_member *m, uint64_t k, struct kept **before)
{
    *before = NULL;
    if (m->kept == NULL)
        return NULL;
    struct kept *kept = m->kept[k % KEPT_BUCKETS].first;
    for (; kept != NULL && kept->k != k; kept = kept->next)
        *before = kept;
    return kept;
}

bool ftc_receive_has_kept(const struct ftc_member *m, uint64_t k)
{
    struct kept *before;

    return kept_find(m, k, &before) != NULL;
}

/* Takes the oldest kept message of op k out of its bucket; NULL: there is none. */
static struct kept *kept_take(struct ftc_member *m, uint64_t k)
{
    struct kept *before, *kept = kept_find(m, k, &before);

    if (kept == NULL)
        return NULL;
    struct ftc_kept_bucket *bucket = &m->kept[k % KEPT_BUCKETS];
    if (before == NULL)
        bucket->first = kept->next;
    else
        before->next = kept->next;
    if (bucket->last == kept)
        bucket->last = before;
    return kept;
}

void ftc_receive_drop_kept(struct ftc_member *m)
{
    for (int i = 0; m->kept != NULL && i < KEPT_BUCKETS; i++) {
        while (m->kept[i].first != NULL) {
            struct kept *kept = m->kept[i].first;
            m->kept[i].first = kept->next;
            kept_free(m, kept);
        }
    }
    free(m->kept);
}

/* Messages of one operation are judged in the order of arrival. The order between operations does
 * not matter, so it is not in the digest. */
void ftc_receive_digest(const struct ftc_member *m, ftc_digest_sink *sink, void *arg)
{
    for (int i = 0; m->kept != NULL && i < KEPT_BUCKETS; i++) {
        for (const struct kept *kept = m->kept[i].first; kept != NULL; kept = kept->next) {
            uint64_t head[] = {kept->k, (uint64_t)kept->from << 1 | kept->datagram,
                               kept->buffer->size};
            sink(arg, head, sizeof(head));
            sink(arg, kept->buffer->data, kept->buffer->size);
        }
    }
}

int ftc_receive_kept(struct ftc_member *m, uint64_t k, struct ftc_operation *op)
{
    struct kept *kept;
    int rc = 0;

    while (rc == 0 && (kept = kept_take(m, k)) != NULL) {
        if (op != NULL)
            rc = ftc_message_decode(&m->scratch, kept->buffer, m->set.ranks, m->set.scheme);
        if (rc == FTC_ERR_PROTO) /* the message was sound when it came */
            rc = ftc_integrity_corrupt(m);
        if (op != NULL && rc == 0)
            rc = ftc_receive_judge(m, op, kept->from, kept->datagram);
        ftc_contribution_drop(&m->scratch.contribution);
        if (rc == FTC_ERR_PROTO && kept->datagram)
            rc = 0; /* anybody can send a datagram */
        if (rc == FTC_ERR_PROTO)
            rc = ftc_member_output(
                m, &(struct ftc_output){.kind = FTC_OUTPUT_ACCUSE, .to = kept->from});
        kept_free(m, kept);
    }
    return rc;
}

/* --- judging --- */

static int mismatch(struct ftc_member *m, const struct ftc_operation *op, int from)
{
    const struct ftc_signature *own = &op->call.signature, *theirs = &m->scratch.signature;

    if (m->mismatch == NULL && (m->mismatch = malloc(FTC_MISMATCH_WORDS)) == NULL)
        return FTC_ERR_NOMEM;
    ftc_mismatch_words(m->mismatch, op->k, from, theirs, m->set.self, own);
    return ftc_member_output(m, &(struct ftc_output){.kind = FTC_OUTPUT_MISMATCH, .to = from});
}

/* Are these participants of a later ballot possible? They are part of the view at op k, have the
 * coordinator and the sender among them, and none of the coordinators before (rule 7). */
static bool participants_sound(const struct ftc_operation *op, const struct ftc_message *message,
                               int from)
{
    bool sound =
        message->ballot.i < (uint32_t)op->view->size &&
        ftc_set_subset(&message->participants, &op->view->set) &&
        ftc_set_has(&message->participants, ftc_operation_coordinator(op, message->ballot.i)) &&
        ftc_set_has(&message->participants, from);

    for (uint32_t i = 0; sound && i < message->ballot.i; i++)
        sound = !ftc_set_has(&message->participants, ftc_operation_coordinator(op, i));
    return sound;
}

/* Is UNDECIDED(x) one of the operation? A TREE from a group that leaves its value to the
 * coordinator must have no value. */
static bool contribution_fits(const struct ftc_member *m, const struct ftc_operation *op, int from)
{
    const struct ftc_message *message = &m->scratch;
    int position = ftc_ballot_position(&op->ballot, from);
    bool empty = message->kind == FTC_MESSAGE_TREE && ftc_vote_left_out(m, op, position);

    return empty ? message->contribution.value.size == 0
                 : ftc_operation_contribution_fits(op, &message->contribution.value);
}

static bool value_fits(const struct ftc_member *m, const struct ftc_operation *op, int from)
{
    const struct ftc_decision *decision = m->scratch.contribution.decision;
    if (decision == NULL)
        return contribution_fits(m, op, from);
    bool compared = decision->verdict.compared > 0;
    if (compared && !ftc_vote_compares(&m->set, &op->call.signature))
        return false;
    if (decision->status == FTC_ERR_CORRUPT)
        return compared && decision->value.size == 0;
    return ftc_decision_fits(op, decision);
}

static bool awaits(const struct ftc_awaited *list, int count, int rank)
{
    for (int i = 0; i < count; i++)
        if (list[i].rank == rank)
            return true;
    return false;
}

/* Two levels: a delegate that took over too late to be in this coordinator's ballot asks for the
 * next ballot. */
static bool calls_for_ballot(const struct ftc_member *m, const struct ftc_operation *op,
                             struct ftc_ballot_id id, int from)
{
    return op->levels && op->ballot.id.i == id.i && op->ballot.position == 0 &&
           !ftc_knows_failed(m, from) && !ftc_set_has(&op->ballot.participants->set, from) &&
           !FTC_MUTATED(DELEGATE_IGNORED);
}

/* POKE asks for (i', 0). After an exchange c_0 may be asked for (0,1), and over two levels for
 * (0,0). */
static bool poke_sound(const struct ftc_operation *op, struct ftc_ballot_id id)
{
    bool sound = id.i > 0 ? id.s == 0 : id.s == 0 ? op->levels : id.s == 1 && op->exchanges;

    return sound && id.i < (uint32_t)op->view->size && !ftc_operation_plain_reduce(op);
}

/* agreement.md, rule 7, second half: c_i' is poked in a smaller ballot, decided or not, and starts
 * (i', 0). Rule 2, "Exchange": c_0 may start (0,1). */
static int judge_poke(struct ftc_member *m, struct ftc_operation *op, int from)
{
    struct ftc_ballot_id id = m->scratch.ballot;

    if (!poke_sound(op, id) || ftc_operation_coordinator(op, id.i) != m->set.self)
        return FTC_ERR_PROTO;
    if (FTC_MUTATED(DECIDED_IGNORE_POKE) && op->returned)
        return 0;
    if (id.s > 0) {
        ftc_exchange_given_up(m, op);
        return 0;
    }
    bool new_delegate = calls_for_ballot(m, op, id, from);
    if (!new_delegate && ftc_ballot_compare(op->ballot.id, id) >= 0) {
        ftc_rule_taken(m, FTC_RULE_DROP_SMALLER);
        return 0;
    }
    ftc_rule_taken(m, new_delegate ? FTC_RULE_CALLED_BALLOT : FTC_RULE_POKED);
    if (new_delegate)
        id.s = op->ballot.id.s + 1;
    int rc = op->levels ? ftc_levels_learn_before(m, op, from) : 0;
    return rc == 0 ? ftc_ballot_start(m, op, id) : rc;
}

/* A failed set has all ranks that are not in the view. */
static bool names_missing(const struct ftc_operation *op, const struct ftc_set *failed)
{
    const struct ftc_view *view = op->view;

    for (int i = 0; i < view->set.size - view->size; i++)
        if (!ftc_set_has(failed, view->missing[i]))
            return false;
    return true;
}

/* Judges m->scratch, a DECIDE of the ballot that p is in. */
static int judge_decide(struct ftc_member *m, struct ftc_operation *op, int from, bool pieces)
{
    struct ftc_decision *decision = m->scratch.contribution.decision;
    struct ftc_arrival arrival = {.from = from,
                                  .way = m->scratch.way,
                                  .correcting = m->scratch.correcting,
                                  .pieces = pieces,
                                  .rounds = m->scratch.rounds};

    if (ftc_operation_plain_reduce(op) || !value_fits(m, op, from))
        return FTC_ERR_PROTO;
    if (!op->ballot.holding && !op->returned && !names_missing(op, &decision->failed))
        return FTC_ERR_PROTO;
    int rc = ftc_spread_heard(m, op, &arrival);
    if (rc != 0 || op->ballot.holding)
        return rc;
    ftc_decision_ref(decision);
    rc = ftc_broadcast_hold(m, op, decision, &arrival);
    ftc_decision_unref(decision);
    return rc;
}

/* Could this be a piece of DECIDE(b)? This is checked before memory is allocated for the whole. */
static bool piece_sound(const struct ftc_member *m, const struct ftc_operation *op, int from,
                        bool datagram)
{
    const struct ftc_ballot *b = &op->ballot;
    size_t most = ftc_message_decide_most(m->set.ranks, ftc_operation_most(op));

    return !ftc_operation_plain_reduce(op) &&
           b->spread.dissemination == FTC_DISSEMINATION_MULTICAST && b->position > 0 &&
           (!datagram || from == b->coordinator) && m->scratch.piece.whole <= most;
}

/* Is m->scratch, which was made of pieces, a DECIDE of this ballot? */
static bool whole_sound(const struct ftc_member *m, const struct ftc_operation *op)
{
    const struct ftc_message *whole = &m->scratch;

    return whole->kind == FTC_MESSAGE_DECIDE && whole->op == op->k &&
           ftc_ballot_compare(whole->ballot, op->ballot.id) == 0 &&
           ftc_epoch_equal(whole->epoch, op->epoch) &&
           ftc_signature_equal(&whole->signature, &op->call.signature) &&
           (!whole->has_participants ||
            ftc_set_equal(&whole->participants, &op->ballot.participants->set));
}

/* Nobody is to blame for pieces that contradict each other, or make no DECIDE(b). Anybody can send
 * a datagram, and a rank that passes a piece on along the ring cannot know. */
static int judge_piece(struct ftc_member *m, struct ftc_operation *op, int from, bool datagram)
{
    bool complete;

    if (!piece_sound(m, op, from, datagram))
        return FTC_ERR_PROTO;
    int rc = ftc_broadcast_piece(m, op, datagram, &complete);
    if (rc == 0 && complete)
        rc = whole_sound(m, op) ? judge_decide(m, op, op->ballot.coordinator, true) : FTC_ERR_PROTO;
    return rc == FTC_ERR_PROTO ? ftc_broadcast_drop_pieces(m, op) : rc;
}

/* Judges a message of the ballot that p is in. */
static int judge_equal(struct ftc_member *m, struct ftc_operation *op, int from, bool datagram)
{
    struct ftc_ballot *b = &op->ballot;
    struct ftc_message *message = &m->scratch;

    if (op->sums)
        return ftc_sums_receive(m, op, from);
    if (op->levels && (b->position < 0 || !ftc_set_has(&b->participants->set, from)))
        return FTC_ERR_PROTO;
    switch (message->kind) {
    case FTC_MESSAGE_UP:
        if (message->has_list != op->levels || !b->collects ||
            !awaits(b->group, b->group_size, from) ||
            (ftc_ballot_exchanges(b) && message->contribution.decision != NULL) ||
            !value_fits(m, op, from))
            return FTC_ERR_PROTO;
        ftc_contribution_receive(b, from, message);
        return 0;
    case FTC_MESSAGE_TREE:
        if (!b->collects || !awaits(b->child, b->child_size, from) || !value_fits(m, op, from))
            return FTC_ERR_PROTO;
        return b->collector->take(m, op, from, message);
    case FTC_MESSAGE_DECIDE:
        if (ftc_ballot_exchanges(b) && (!b->collects || from != ftc_exchange_decider(m, b)))
            return FTC_ERR_PROTO;
        return judge_decide(m, op, from, false);
    case FTC_MESSAGE_FRAGMENT:
        return judge_piece(m, op, from, datagram);
    case FTC_MESSAGE_PULL:
        if (ftc_operation_plain_reduce(op) || ftc_ballot_exchanges(b))
            return FTC_ERR_PROTO;
        return ftc_repair_asked(m, op, from);
    default:
        /* p has entered on PREPARE already. Ballot (0,0) has no PREPARE. */
        return b->id.i == 0 && b->id.s == 0 ? FTC_ERR_PROTO : 0;
    }
}

static void count_entry(struct ftc_member *m)
{
    switch (m->scratch.kind) {
    case FTC_MESSAGE_UP:
        ftc_rule_taken(m, FTC_RULE_ENTER_UP);
        break;
    case FTC_MESSAGE_TREE:
        ftc_rule_taken(m, FTC_RULE_ENTER_TREE);
        break;
    case FTC_MESSAGE_PULL:
        ftc_rule_taken(m, FTC_RULE_ENTER_PULL);
        break;
    default:
        ftc_rule_taken(m, FTC_RULE_ENTER_PREPARE);
        break;
    }
}

/* The next two functions are mutations: agreement.md, "Why rule 5 drops old decisions". */

static int deliver_smaller(struct ftc_member *m, struct ftc_operation *op)
{
    struct ftc_decision *decision = m->scratch.contribution.decision;

    return ftc_member_deliver(m, op, decision->status, decision, &decision->value);
}

static int short_cut(struct ftc_member *m, struct ftc_operation *op, int to)
{
    struct ftc_message decide = {.contribution = {.decision = op->decision}};

    return ftc_member_send(m, op, FTC_MESSAGE_DECIDE, to, &decide);
}

/* Judges a message of a greater ballot (rule 1). A DECIDE of one cannot come, since that ballot
 * would have collected from p first. A piece of one comes only from a rank that believed a false
 * datagram. */
static int judge_greater(struct ftc_member *m, struct ftc_operation *op, int from)
{
    struct ftc_message *message = &m->scratch;

    if (message->kind == FTC_MESSAGE_FRAGMENT)
        return 0;
    if (message->kind == FTC_MESSAGE_DECIDE || ftc_operation_plain_reduce(op))
        return FTC_ERR_PROTO;
    if (FTC_MUTATED(ONLY_UNDECIDED_ENTER) && op->returned)
        return 0;
    struct ftc_view *participants = ftc_view_new(&message->participants);
    if (participants == NULL)
        return FTC_ERR_NOMEM;
    count_entry(m);
    int rc = ftc_ballot_enter(m, op, message->ballot, participants);
    ftc_view_unref(participants);
    if (FTC_MUTATED(SHORT_CUT) && rc == 0 && op->returned && message->kind == FTC_MESSAGE_PREPARE)
        return short_cut(m, op, from);
    return rc == 0 ? judge_equal(m, op, from, false) : rc;
}

/* Judges a message of a ballot that p is in, or may enter. */
static int judge_ballot(struct ftc_member *m, struct ftc_operation *op, int from, bool datagram)
{
    struct ftc_message *message = &m->scratch;
    int order = ftc_ballot_compare(message->ballot, op->ballot.id);

    if (order < 0) {
        if (FTC_MUTATED(DELIVER_SMALLER) && message->kind == FTC_MESSAGE_DECIDE && !op->returned)
            return deliver_smaller(m, op);
        ftc_rule_taken(m, FTC_RULE_DROP_SMALLER);
        return 0;
    }
    if (message->has_participants) {
        if (!participants_sound(op, message, from))
            return FTC_ERR_PROTO;
        if (op->levels && !ftc_levels_one_of_each(m, &message->participants))
            return FTC_ERR_PROTO;
        if (!ftc_set_has(&message->participants, m->set.self))
            return op->levels &&
                           ftc_levels_before_me(m, op->call.signature.root, &message->participants)
                       ? FTC_ERR_PROTO
                       : ftc_member_fence(m);
    }
    if (order > 0)
        return judge_greater(m, op, from);
    if (message->has_participants &&
        !ftc_set_equal(&message->participants, &op->ballot.participants->set))
        return FTC_ERR_PROTO;
    return judge_equal(m, op, from, datagram);
}

int ftc_receive_judge(struct ftc_member *m, struct ftc_operation *op, int from, bool datagram)
{
    bool foreign = !ftc_epoch_equal(m->scratch.epoch, op->epoch) && !FTC_MUTATED(NO_EPOCH) &&
                   !FTC_MUTATED(VIEW_FOR_EPOCH);
    if (foreign || (!ftc_set_has(&op->view->set, from) && !FTC_MUTATED(NO_EPOCH))) {
        ftc_rule_taken(m, FTC_RULE_DROP_EPOCH);
        return 0;
    }
    if (!ftc_signature_equal(&m->scratch.signature, &op->call.signature) && datagram)
        return FTC_ERR_PROTO;
    if (!ftc_signature_equal(&m->scratch.signature, &op->call.signature))
        return mismatch(m, op, from);
    return m->scratch.kind == FTC_MESSAGE_POKE ? judge_poke(m, op, from)
                                               : judge_ballot(m, op, from, datagram);
}
