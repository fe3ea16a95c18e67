/* The ledger: records what happened, finds equal histories and outcomes, and checks promises. */
#include "sim/model/ledger.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/model/ledger_record.h"

static void out_of_memory(struct ftc_ledger *l)
{
    ftc_ledger_violate(l, "out of memory for the ledger; simulate fewer ranks or operations");
}

/* --- life --- */

static int init_processes(struct ftc_ledger *l)
{
    for (int rank = 0; rank < l->n; rank++) {
        l->process[rank].ledger = l;
        if (ftc_set_init(&l->process[rank].known, l->n) != FTC_SUCCESS ||
            (l->validating != NULL && ftc_set_init(&l->validating[rank], l->n) != FTC_SUCCESS))
            return FTC_ERR_NOMEM;
    }
    return FTC_SUCCESS;
}

static bool has_validate(const struct ftc_program *program)
{
    for (int op = 0; op < program->length; op++) {
        if (program->operation[op].kind == FTC_CALL_VALIDATE)
            return true;
    }
    return false;
}

static int init(struct ftc_ledger *l, const struct ftc_set *mortal)
{
    size_t n = (size_t)l->n, length = (size_t)l->program->length;

    l->process = calloc(n, sizeof(*l->process));
    l->record = calloc(length > 0 ? length : 1, sizeof(*l->record));
    if (has_validate(l->program) && (l->validating = calloc(n, sizeof(*l->validating))) == NULL)
        return FTC_ERR_NOMEM;
    if (l->process == NULL || l->record == NULL || ftc_set_init(&l->dead, l->n) != FTC_SUCCESS ||
        ftc_set_init(&l->scratch, l->n) != FTC_SUCCESS || init_processes(l) != FTC_SUCCESS)
        return FTC_ERR_NOMEM;
    return ftc_ledger_values_init(l, mortal);
}

struct ftc_ledger *ftc_ledger_new(const struct ftc_member_settings *settings,
                                  const struct ftc_program *program, const struct ftc_set *mortal)
{
    struct ftc_ledger *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return NULL;
    l->settings = *settings;
    l->program = program;
    l->n = l->alive = settings->ranks;
    if (init(l, mortal) == FTC_SUCCESS)
        return l;
    ftc_ledger_free(l);
    return NULL;
}

static void free_record(struct ftc_ledger_record *record)
{
    for (int h = 0; h < record->histories; h++)
        ftc_set_fini(&record->history[h].agreed);
    for (int o = 0; o < record->outcomes; o++) {
        ftc_value_drop(&record->outcome[o].value);
        ftc_decision_unref(record->outcome[o].decision);
    }
    free(record->history);
    free(record->outcome);
    free(record->entry);
}

void ftc_ledger_free(struct ftc_ledger *l)
{
    if (l == NULL)
        return;
    for (int rank = 0; l->process != NULL && rank < l->n; rank++)
        ftc_set_fini(&l->process[rank].known);
    for (int rank = 0; l->validating != NULL && rank < l->n; rank++)
        ftc_set_fini(&l->validating[rank]);
    for (int op = 0; l->record != NULL && op < l->program->length; op++)
        free_record(&l->record[op]);
    ftc_ledger_settlements_free(l);
    ftc_ledger_values_fini(l);
    ftc_set_fini(&l->dead);
    ftc_set_fini(&l->scratch);
    free(l->process);
    free(l->validating);
    free(l->record);
    free(l);
}

/* --- calls: live ranks have equal G and epochs --- */

/* Make room for one more element. The array grows when its length is a power of two. */
static void *grow(void *array, int length, size_t size)
{
    if ((length & (length - 1)) != 0)
        return array;
    return realloc(array, (length > 0 ? 2 * (size_t)length : 1) * size);
}

static bool same_history(const struct ftc_ledger_history *history, const struct ftc_member *member)
{
    return ftc_epoch_equal(history->epoch, ftc_member_epoch(member)) &&
           ftc_set_equal(&history->agreed, ftc_member_agreed_failed(member));
}

/* Index of the history; -1: out of memory. */
static int intern_history(struct ftc_ledger *l, struct ftc_ledger_record *record,
                          const struct ftc_member *member, bool collects)
{
    for (int h = 0; h < record->histories; h++) {
        if (same_history(&record->history[h], member))
            return h;
    }
    struct ftc_ledger_history *grown = grow(record->history, record->histories, sizeof(*grown));
    struct ftc_ledger_history added = {.epoch = ftc_member_epoch(member), .collects = collects};
    if (grown == NULL)
        return -1;
    record->history = grown;
    if (ftc_set_init(&added.agreed, l->n) != FTC_SUCCESS)
        return -1;
    ftc_set_copy(&added.agreed, ftc_member_agreed_failed(member));
    record->history[record->histories] = added;
    return record->histories++;
}

/* Every call counts, not every ballot. Only allreduce, barrier and validate start a new row of
 * broadcasts. */
static bool collects(struct ftc_ledger *l, int rank, int op, const struct ftc_member *member)
{
    struct ftc_ledger_process *p = &l->process[rank];
    const struct ftc_program_operation *o = &l->program->operation[op];
    uint32_t w = l->settings.settle_every;

    if (!ftc_call_table[o->kind].rooted)
        p->row = 0;
    if (!ftc_call_from_root(o->kind))
        return true;
    p->row += !ftc_set_has(ftc_member_agreed_failed(member), o->root);
    return w > 0 && (uint32_t)p->row % w == 0;
}

/* A live rank that has called with another history. */
static int other_caller(const struct ftc_ledger *l, int op, int history)
{
    for (int rank = 0; rank < l->n; rank++) {
        const struct ftc_ledger_process *p = &l->process[rank];
        if (!p->dead && p->called > op && l->record[op].entry[rank].history != history)
            return rank;
    }
    return -1;
}

static void check_histories(struct ftc_ledger *l, int rank, int op)
{
    const struct ftc_ledger_record *record = &l->record[op];
    const struct ftc_ledger_history *mine = ftc_ledger_history_of(l, op, rank);

    if (record->callers == mine->living)
        return;
    int other = other_caller(l, op, record->entry[rank].history);
    const struct ftc_ledger_history *theirs = ftc_ledger_history_of(l, op, other);
    if (!ftc_set_equal(&mine->agreed, &theirs->agreed))
        ftc_ledger_violate(l, "ranks %d and %d call operation %d with different G", rank, other,
                           op);
    else
        ftc_ledger_violate(l, "ranks %d and %d call operation %d in different epochs", rank, other,
                           op);
}

/* Rule 5: a delivered decision changes G, and also the epoch if it was not made in ballot (0,0).
 * Rule 9: so does a settlement that comes into force. Nothing else changes them. */
static void check_unchanged(struct ftc_ledger *l, int rank, int op, const struct ftc_member *member)
{
    if (op == 0)
        return;
    const struct ftc_ledger_history *before = ftc_ledger_history_of(l, op - 1, rank);
    const struct ftc_decision *decision = ftc_ledger_decision(l, op - 1, rank);
    struct ftc_epoch epoch = before->epoch;

    if (decision != NULL && (decision->ballot.i > 0 || decision->ballot.s > 0))
        epoch = (struct ftc_epoch){
            .op = (uint64_t)op - 1, .ballot = decision->ballot, .settled = epoch.settled};
    bool shared = decision != NULL && l->settings.share == FTC_SHARE_PIGGYBACK;
    ftc_set_copy(&l->scratch, shared ? &decision->failed : &before->agreed);
    ftc_ledger_in_force(l, rank, op, &l->scratch, &epoch);
    if (!ftc_set_equal(&l->scratch, ftc_member_agreed_failed(member)))
        ftc_ledger_violate(l, "rank %d: G after operation %d is not what was decided", rank,
                           op - 1);
    if (!ftc_epoch_equal(epoch, ftc_member_epoch(member)))
        ftc_ledger_violate(l, "rank %d: the epoch after operation %d is not that of the decision",
                           rank, op - 1);
}

void ftc_ledger_calls(struct ftc_ledger *l, int rank, const struct ftc_member *member)
{
    struct ftc_ledger_process *p = &l->process[rank];
    int op = p->called;

    assert(!p->dead && !p->under_way && op < l->program->length);
    struct ftc_ledger_record *record = &l->record[op];
    if (record->entry == NULL)
        record->entry = calloc((size_t)l->n, sizeof(*record->entry));
    int history = record->entry == NULL
                      ? -1
                      : intern_history(l, record, member, collects(l, rank, op, member));
    if (history < 0) {
        out_of_memory(l);
        return;
    }
    record->entry[rank].history = history;
    record->history[history].living++;
    record->callers++;
    p->called++;
    p->under_way = true;
    if (ftc_member_next_op(member) != (uint64_t)op)
        ftc_ledger_violate(l, "rank %d counts %llu operations, it called %d", rank,
                           (unsigned long long)ftc_member_next_op(member), op);
    if (l->program->operation[op].kind == FTC_CALL_VALIDATE)
        ftc_set_copy(&l->validating[rank], ftc_member_known_failed(member));
    check_unchanged(l, rank, op, member);
    check_histories(l, rank, op);
}

/* --- messages --- */

/* Read the head of an output. A head that a drill has damaged is read as it was before. */
static bool read_head(const struct ftc_ledger *l, const struct ftc_output *output,
                      struct ftc_message_head *head)
{
    bool read =
        ftc_message_peek(output->head, head) == FTC_SUCCESS && head->kind == output->message;

    if (l->settings.flips == NULL || (read && head->op == output->op))
        return read;
    *head = (struct ftc_message_head){.kind = output->message, .op = output->op};
    return true;
}

void ftc_ledger_sends(struct ftc_ledger *l, int rank, const struct ftc_output *output)
{
    struct ftc_message_head head;
    int to = output->to;

    ftc_ledger_spoil_input(l);
    if (output->kind != FTC_OUTPUT_MULTICAST && (to < 0 || to >= l->n || to == rank)) {
        ftc_ledger_violate(l, "rank %d sends to rank %d", rank, to);
    } else if (!read_head(l, output, &head)) {
        ftc_ledger_violate(l, "rank %d sends what ftc_message_peek() cannot read", rank);
    } else if (ftc_op_is_settlement(head.op)) {
        if (l->alive == l->n)
            ftc_ledger_violate(l, "rank %d settles, and nobody has died", rank);
    } else if (head.op >= (uint64_t)l->program->length) {
        ftc_ledger_violate(l, "rank %d sends for operation %llu, which nobody has", rank,
                           (unsigned long long)head.op);
    } else if (head.op >= (uint64_t)l->process[rank].called) {
        ftc_ledger_violate(l, "rank %d sends for operation %d before it calls it", rank,
                           (int)head.op);
    } else {
        struct ftc_ledger_record *record = &l->record[head.op];
        record->history[record->entry[rank].history].sent[head.kind]++;
        record->bytes += output->head->size + output->value.size;
    }
}

/* --- deliveries: at most one each, and all live ranks agree --- */

static bool same_verdict(const struct ftc_vote_verdict *a, const struct ftc_vote_verdict *b)
{
    return a->compared == b->compared && (a->compared == 0 || ftc_set_equal(&a->wrong, &b->wrong));
}

static bool same_decision(const struct ftc_decision *a, const struct ftc_decision *b)
{
    return a->status == b->status && ftc_ballot_compare(a->ballot, b->ballot) == 0 &&
           a->write_offs == b->write_offs && ftc_set_equal(&a->failed, &b->failed) &&
           ftc_ledger_same_value(&a->value, &b->value) && same_verdict(&a->verdict, &b->verdict);
}

static bool same_outcome(const struct ftc_ledger_outcome *a, const struct ftc_output *output,
                         int history, unsigned retries)
{
    if (a->history != history || a->status != output->status || a->retries != retries ||
        (a->decision == NULL) != (output->decision == NULL))
        return false;
    return a->decision != NULL ? same_decision(a->decision, output->decision)
                               : ftc_ledger_same_value(&a->value, &output->result);
}

/* The copy does not show later changes of the original. */
static int copy_value(struct ftc_value *to, const struct ftc_value *from)
{
    if (from->buffer == NULL)
        return FTC_SUCCESS;
    struct ftc_buffer *bytes = ftc_buffer_new(from->size);
    if (bytes == NULL)
        return FTC_ERR_NOMEM;
    memcpy(bytes->data, ftc_value_bytes(from), from->size);
    *to = (struct ftc_value){.buffer = bytes, .size = from->size};
    return FTC_SUCCESS;
}

static int copy_verdict(struct ftc_vote_verdict *to, const struct ftc_vote_verdict *from)
{
    if (from->compared == 0)
        return FTC_SUCCESS;
    if (ftc_set_init(&to->wrong, from->wrong.size) != FTC_SUCCESS)
        return FTC_ERR_NOMEM;
    to->compared = from->compared;
    ftc_set_copy(&to->wrong, &from->wrong);
    return FTC_SUCCESS;
}

static int copy_decision(struct ftc_ledger_outcome *outcome, const struct ftc_decision *decision)
{
    outcome->decision = ftc_decision_new(decision->failed.size);
    if (outcome->decision == NULL || copy_value(&outcome->value, &decision->value) != FTC_SUCCESS)
        return FTC_ERR_NOMEM;
    outcome->decision->status = decision->status;
    outcome->decision->ballot = decision->ballot;
    outcome->decision->write_offs = decision->write_offs;
    ftc_set_copy(&outcome->decision->failed, &decision->failed);
    ftc_value_set(&outcome->decision->value, &outcome->value);
    return copy_verdict(&outcome->decision->verdict, &decision->verdict);
}

static int copy_outcome(struct ftc_ledger_outcome *outcome, const struct ftc_output *output)
{
    outcome->status = output->status;
    return output->decision != NULL ? copy_decision(outcome, output->decision)
                                    : copy_value(&outcome->value, &output->result);
}

/* The outcome. It is new if no rank, live or dead, has delivered it yet. NULL: out of memory. */
static struct ftc_ledger_outcome *intern_outcome(struct ftc_ledger_record *record, int history,
                                                 unsigned retries, const struct ftc_output *output,
                                                 bool *is_new)
{
    for (int o = 0; o < record->outcomes; o++) {
        if (same_outcome(&record->outcome[o], output, history, retries))
            return &record->outcome[o];
    }
    struct ftc_ledger_outcome *grown = grow(record->outcome, record->outcomes, sizeof(*grown));
    if (grown == NULL)
        return NULL;
    record->outcome = grown;
    struct ftc_ledger_outcome *added = &grown[record->outcomes++];
    *added = (struct ftc_ledger_outcome){.history = history, .retries = retries};
    *is_new = true;
    return copy_outcome(added, output) == FTC_SUCCESS ? added : NULL;
}

/* A plain reduce needs no agreement: only the root gets a result. */
static void check_agreement(struct ftc_ledger *l, int rank, int op,
                            const struct ftc_ledger_outcome *mine)
{
    const struct ftc_ledger_record *record = &l->record[op];

    if (record->deliverers == mine->living || ftc_call_to_root(l->program->operation[op].kind))
        return;
    for (int other = 0; other < l->n; other++) {
        uint32_t theirs = record->entry[other].outcome;
        if (theirs == 0 || theirs == record->entry[rank].outcome || l->process[other].dead)
            continue;
        const struct ftc_decision *a = record->outcome[theirs - 1].decision, *b = mine->decision;
        if (a != NULL && b != NULL && same_decision(a, b) &&
            record->outcome[theirs - 1].retries != mine->retries)
            ftc_ledger_violate(l, "ranks %d and %d report %u and %u retries of operation %d", other,
                               rank, record->outcome[theirs - 1].retries, mine->retries, op);
        ftc_ledger_violate(l, "ranks %d and %d, both alive, deliver operation %d differently",
                           other, rank, op);
    }
}

static void record_delivery(struct ftc_ledger *l, int rank, int op, const struct ftc_member *member,
                            const struct ftc_output *output)
{
    struct ftc_ledger_record *record = &l->record[op];
    struct ftc_ledger_entry *entry = &record->entry[rank];
    struct ftc_member_report report = {0};
    bool is_new = false;

    ftc_member_report(member, &report);
    struct ftc_ledger_outcome *outcome =
        intern_outcome(record, entry->history, report.retries, output, &is_new);
    if (outcome == NULL) {
        out_of_memory(l);
        return;
    }
    entry->outcome = (uint32_t)(outcome - record->outcome) + 1;
    entry->has_result = output->result.buffer != NULL;
    outcome->living++;
    record->deliverers++;
    if (is_new)
        ftc_ledger_check_outcome(l, rank, op, outcome);
    check_agreement(l, rank, op, outcome);
}

void ftc_ledger_delivers(struct ftc_ledger *l, int rank, const struct ftc_member *member,
                         const struct ftc_output *output)
{
    struct ftc_ledger_process *p = &l->process[rank];
    int op = p->called - 1;

    ftc_ledger_spoil_input(l);
    if (!p->under_way) {
        ftc_ledger_violate(l,
                           op < 0 ? "rank %d delivers operation %d before it calls any"
                                  : "rank %d delivers operation %d twice",
                           rank, op);
        return;
    }
    p->under_way = false;
    ftc_ledger_check_delivery(l, rank, op, member, output);
    if (!ftc_ledger_broken(l))
        record_delivery(l, rank, op, member, output);
}

/* --- other events --- */

void ftc_ledger_protests(struct ftc_ledger *l, int rank, const struct ftc_member *member,
                         const struct ftc_output *output)
{
    if (output->kind == FTC_OUTPUT_SETTLED)
        ftc_ledger_settles(l, rank, output);
    else if (output->kind == FTC_OUTPUT_FENCED)
        ftc_ledger_violate(l, "rank %d is told that it was declared failed, but it lives", rank);
    else if (output->kind == FTC_OUTPUT_CORRUPT && l->settings.flips == NULL)
        ftc_ledger_violate(l, "rank %d finds its memory damaged, which it is not", rank);
    else if (output->kind == FTC_OUTPUT_ACCUSE && l->settings.flips == NULL)
        ftc_ledger_violate(l, "rank %d accuses rank %d, which keeps to the protocol", rank,
                           output->to);
    else if (output->kind == FTC_OUTPUT_MISMATCH)
        ftc_ledger_violate(l, "rank %d reports a mismatch: %s", rank, ftc_member_mismatch(member));
}

/* Have both called it with different G or epochs? */
static bool is_foreign(const struct ftc_ledger *l, int from, int to, uint64_t op)
{
    if (op >= (uint64_t)l->process[from].called || op >= (uint64_t)l->process[to].called)
        return false;
    const struct ftc_ledger_entry *entry = l->record[op].entry;
    return entry[from].history != entry[to].history;
}

/* Number of messages that the member did not take. One that is kept early is checked at the
 * call. */
static uint64_t not_taken(const struct ftc_member *member)
{
    const uint32_t *rules = ftc_member_rules(member);

    return rules[FTC_RULE_KEEP_EARLY] + rules[FTC_RULE_DROP_SMALLER] + rules[FTC_RULE_DROP_FREED] +
           rules[FTC_RULE_DROP_EPOCH];
}

int ftc_ledger_receive(struct ftc_ledger *l, int rank, struct ftc_member *member, int from,
                       uint64_t op, bool datagram, struct ftc_buffer *message)
{
    int (*receive)(struct ftc_member *, int, struct ftc_buffer *) =
        datagram ? ftc_member_datagram : ftc_member_receive;

    if (!is_foreign(l, from, rank, op))
        return receive(member, from, message);
    uint64_t before = not_taken(member);
    int rc = receive(member, from, message);
    bool refused = rc == FTC_ERR_PROTO && l->settings.flips != NULL; /* a drill has damaged it */
    if (not_taken(member) == before && !refused)
        ftc_ledger_violate(
            l, "rank %d takes a message of operation %d of another history from rank %d", rank,
            (int)op, from);
    return rc;
}

void ftc_ledger_hears(struct ftc_ledger *l, int rank, const struct ftc_member *member, int dead)
{
    if (!ftc_set_has(ftc_member_known_failed(member), dead))
        ftc_ledger_violate(l, "rank %d was told of rank %d's death and does not know it", rank,
                           dead);
}

/* L only grows, holds only dead ranks, and contains G. */
static void check_known(struct ftc_ledger *l, int rank, const struct ftc_member *member)
{
    struct ftc_set *before = &l->process[rank].known;
    const struct ftc_set *known = ftc_member_known_failed(member);
    const struct ftc_set *agreed = ftc_member_agreed_failed(member);

    if (!ftc_set_equal(before, known)) {
        if (!ftc_set_subset(before, known))
            ftc_ledger_violate(l, "rank %d: L has shrunk", rank);
        if (!ftc_set_subset(known, &l->dead))
            ftc_ledger_violate(l, "rank %d: a live rank is in its L", rank);
        ftc_set_copy(before, known);
    }
    if (!ftc_set_subset(agreed, known))
        ftc_ledger_violate(l, "rank %d: G is not in L", rank);
    if (l->settings.share == FTC_SHARE_OFF && !ftc_set_empty(agreed))
        ftc_ledger_violate(l, "rank %d: G changes though share is off", rank);
}

/* Rule 8: with w, a rank retains at most w + 1 operations. After an operation that collects from
 * all ranks, it retains only that one. */
static void check_retained(struct ftc_ledger *l, int rank, const struct ftc_member *member)
{
    const struct ftc_ledger_process *p = &l->process[rank];
    int w = (int)l->settings.settle_every, retained = ftc_member_retained(member);

    if (w > 0 && retained > w + 1)
        ftc_ledger_violate(l, "rank %d retains %d operations, with w = %d", rank, retained, w);
    if (p->called == 0 || p->under_way || retained <= 1)
        return;
    enum ftc_call_kind last = l->program->operation[p->called - 1].kind;
    if (!ftc_call_table[last].rooted)
        ftc_ledger_violate(l, "rank %d retains %d operations after one that settles", rank,
                           retained);
}

void ftc_ledger_input_done(struct ftc_ledger *l, int rank, const struct ftc_member *member, int rc)
{
    ftc_ledger_spoil_input(l);
    if (rc != FTC_SUCCESS)
        ftc_ledger_violate(l, "rank %d: an input returns %d in a sound run", rank, rc);
    check_known(l, rank, member);
    check_retained(l, rank, member);
    l->process[rank].unsettled = ftc_member_unsettled(member);
    if (ftc_member_stuck_behind(member))
        ftc_ledger_violate(l, "rank %d waits for a straggler for ever", rank);
}

void ftc_ledger_dies(struct ftc_ledger *l, int rank, const struct ftc_member *member)
{
    struct ftc_ledger_process *p = &l->process[rank];

    assert(!p->dead);
    if (l->place != NULL && l->place[rank] < 0)
        ftc_ledger_violate(l, "rank %d dies, which was said not to", rank);
    p->dead = true;
    l->alive--;
    ftc_set_add(&l->dead, rank);
    for (int rule = 0; rule < FTC_RULES_COUNT; rule++)
        l->rules[rule] += ftc_member_rules(member)[rule];
    for (int op = 0; op < p->called; op++) {
        struct ftc_ledger_record *record = &l->record[op];
        const struct ftc_ledger_entry *entry = &record->entry[rank];
        record->callers--;
        record->history[entry->history].living--;
        if (entry->outcome == 0)
            continue;
        record->deliverers--;
        record->outcome[entry->outcome - 1].living--;
    }
}

int ftc_ledger_unfinished(const struct ftc_ledger *l)
{
    for (int rank = 0; rank < l->n; rank++) {
        const struct ftc_ledger_process *p = &l->process[rank];
        if (!p->dead && (p->called < l->program->length || p->under_way))
            return rank;
    }
    return -1;
}

void ftc_ledger_ends(struct ftc_ledger *l)
{
    int stuck = ftc_ledger_unfinished(l), survivor = ftc_set_next_missing(&l->dead, 0);

    if (stuck >= 0)
        ftc_ledger_violate(l, "deadlock: rank %d never delivers operation %d", stuck,
                           l->process[stuck].called - 1);
    for (int rank = 0; rank < l->n; rank++)
        if (!l->process[rank].dead && l->process[rank].unsettled)
            ftc_ledger_violate(l, "rank %d knows of a failure that is never settled", rank);
    for (int op = 0; survivor >= 0 && op < l->program->length && !ftc_ledger_broken(l); op++)
        ftc_ledger_check_messages(l, op, survivor);
}
