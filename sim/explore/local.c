/* Learns steps by feeding inputs to members. */
#include "sim/explore/local.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/explore/local_learn.h"

/* --- outputs of a step --- */

/* The message as a transport would deliver it: the head, padding, the bytes of the value. */
static struct ftc_buffer *join(const struct ftc_output *output)
{
    size_t head = output->head->size;
    size_t size = output->value.buffer != NULL ? output->value.size : 0;
    struct ftc_buffer *bytes = ftc_value_new_message(head, size);

    if (bytes == NULL)
        return NULL;
    memcpy(bytes->data, output->head->data, head);
    if (size > 0)
        memcpy(bytes->data + ftc_value_offset(head), ftc_value_bytes(&output->value), size);
    return bytes;
}

static int add_output(struct ftc_learning *l, uint32_t output)
{
    struct ftc_local *local = l->local;
    int rc = ftc_array_grow((void **)&local->output, &local->output_room, local->output_count,
                            sizeof(output));

    if (rc != FTC_SUCCESS)
        return rc;
    local->output[local->output_count++] = output;
    l->step.outputs++;
    return FTC_SUCCESS;
}

static int send(struct ftc_learning *l, const struct ftc_output *output)
{
    struct ftc_local_message message = {.from = (uint8_t)l->rank};
    uint32_t found;

    if (output->to < 0 || output->to >= l->local->ranks || output->to == l->rank) {
        ftc_learning_violate(l, "rank %d sends to rank %d", l->rank, output->to);
        return FTC_SUCCESS;
    }
    if (ftc_message_peek(output->head, &message.head) != FTC_SUCCESS ||
        message.head.kind != output->message) {
        ftc_learning_violate(l, "rank %d sends what ftc_message_peek() cannot read", l->rank);
        return FTC_SUCCESS;
    }
    if (message.head.op >= l->history.called && !ftc_op_is_settlement(message.head.op))
        ftc_learning_violate(l, "rank %d sends for operation %llu before it calls it", l->rank,
                             (unsigned long long)message.head.op);
    message.bytes = join(output);
    if (message.bytes == NULL)
        return FTC_ERR_NOMEM;
    int rc = ftc_local_number_message(l->local, &message, &found);
    ftc_buffer_unref(message.bytes);
    return rc == FTC_SUCCESS ? add_output(l, FTC_LOCAL_SEND(output->to, found)) : rc;
}

static int take_output(struct ftc_learning *l, const struct ftc_output *output)
{
    int rc;

    switch (output->kind) {
    case FTC_OUTPUT_SEND:
        return send(l, output);
    case FTC_OUTPUT_DELIVER:
        rc = ftc_learning_delivers(l, output);
        return rc == FTC_SUCCESS ? add_output(l, FTC_LOCAL_DELIVER) : rc;
    case FTC_OUTPUT_MULTICAST: /* ftc_local_init() refuses settings with multicast */
        break;
    case FTC_OUTPUT_MORE:
    case FTC_OUTPUT_TIMER:
        return add_output(l, FTC_LOCAL_SET_TIMER);
    case FTC_OUTPUT_FENCED:
        l->step.fenced = true;
        ftc_learning_violate(l, "rank %d is told that it was declared failed, but it lives",
                             l->rank);
        break;
    case FTC_OUTPUT_TAKEN:
        return add_output(l, FTC_LOCAL_TAKEN + (uint32_t)output->op);
    case FTC_OUTPUT_SETTLED: /* the histories of later calls show it */
        break;
    case FTC_OUTPUT_FLIPPED: /* no explored job has drills */
    case FTC_OUTPUT_CORRUPT:
        ftc_learning_violate(l, "rank %d finds its memory damaged, which it is not", l->rank);
        break;
    case FTC_OUTPUT_ACCUSE:
        ftc_learning_violate(l, "rank %d accuses rank %d, which keeps to the protocol", l->rank,
                             output->to);
        break;
    case FTC_OUTPUT_MISMATCH:
        ftc_learning_violate(l, "rank %d reports a mismatch: %s", l->rank,
                             ftc_member_mismatch(l->member));
        break;
    }
    return FTC_SUCCESS;
}

/* --- feeding members --- */

/* The decision comes from the decision word. This rank may only have posted, without a call of its
 * member. */
static int adopt(struct ftc_local *local, struct ftc_member *member, int rank,
                 const struct ftc_local_decision *d)
{
    bool called = ftc_member_next_op(member) > (uint64_t)d->op;
    unsigned char bytes[FTC_LOCAL_VALUE];
    struct ftc_call call;
    int rc = ftc_member_adopt(member, (uint64_t)d->op, d->decision);

    if (rc != FTC_SUCCESS || called)
        return rc;
    ftc_local_call(local, rank, d->op, bytes, &call);
    call.input = NULL;
    return ftc_member_call(member, &call);
}

/* Combines the posts of the ranks of this node. `posts` has these ranks, as bits. */
static void combine_posts(const struct ftc_local *local, int rank, uint32_t posts,
                          const struct ftc_call *call, unsigned char *bytes,
                          struct ftc_set *missing)
{
    const int *first = local->settings.first_ranks;
    int node = 0;

    while (first[node + 1] <= rank)
        node++;
    for (int r = first[node]; r < first[node + 1]; r++) {
        if (call->combine != NULL)
            bytes[r] = posts >> r & 1;
        if ((posts >> r & 1) == 0)
            ftc_set_add(missing, r);
    }
}

/* `posts`: the ranks of this node that have posted, and the L that they posted. */
static int call_gathered(struct ftc_local *local, struct ftc_member *member, int rank,
                         uint32_t posts)
{
    int op = (int)ftc_member_next_op(member);
    unsigned char bytes[FTC_LOCAL_VALUE], known = (unsigned char)(posts >> 8);
    struct ftc_set missing = {0};
    struct ftc_value list = {0};
    struct ftc_call call;

    ftc_local_call(local, rank, op, bytes, &call);
    if (ftc_set_init(&missing, local->ranks) != 0 ||
        ftc_local_list(op, posts & UINT8_MAX, &list) != FTC_SUCCESS)
        return FTC_ERR_NOMEM;
    combine_posts(local, rank, posts, &call, bytes, &missing);
    if (call.signature.kind == FTC_CALL_VALIDATE)
        call.input = &known;
    if (ftc_signature_gathers(&call.signature)) {
        call.input = ftc_value_bytes(&list);
        call.input_size = list.size;
    }
    call.missing = &missing;
    call.answers = op % 2 == 1;
    int rc = ftc_member_call(member, &call);
    ftc_set_fini(&missing);
    ftc_value_drop(&list);
    return rc;
}

/* `sum`: see FTC_LOCAL_SUM. */
static int send_sum(struct ftc_local *local, struct ftc_member *member, int rank, uint32_t sum)
{
    int op = (int)(sum >> 16);
    unsigned char bytes[FTC_LOCAL_VALUE];
    struct ftc_set missing = {0};
    struct ftc_call call;

    ftc_local_call(local, rank, op, bytes, &call);
    if (ftc_set_init(&missing, local->ranks) != 0)
        return FTC_ERR_NOMEM;
    combine_posts(local, rank, sum, &call, bytes, &missing);
    call.missing = &missing;
    int rc = ftc_member_sum(member, (uint64_t)op, local->epoch[sum >> 8 & 0xff], &call);
    ftc_set_fini(&missing);
    return rc;
}

static int feed(struct ftc_local *local, struct ftc_member *member, int rank, uint32_t input)
{
    unsigned char bytes[FTC_LOCAL_VALUE];
    struct ftc_call call;

    if (input < FTC_LOCAL_RANKS)
        return ftc_member_notice(member, (int)input);
    /* going on and the timer are one event here; the member has asked for one of them */
    if (input == FTC_LOCAL_TIMER) {
        int rc = ftc_member_more(member);
        return rc == FTC_SUCCESS ? ftc_member_timer(member) : rc;
    }
    if (input >= FTC_LOCAL_SUM)
        return send_sum(local, member, rank, input - FTC_LOCAL_SUM);
    if (input >= FTC_LOCAL_MESSAGE) {
        const struct ftc_local_message *message = &local->message[input - FTC_LOCAL_MESSAGE];
        return ftc_member_receive(member, message->from, message->bytes);
    }
    if (input >= FTC_LOCAL_ADOPT)
        return adopt(local, member, rank, &local->decision[input - FTC_LOCAL_ADOPT]);
    if (input >= FTC_LOCAL_GATHERED)
        return call_gathered(local, member, rank, input - FTC_LOCAL_GATHERED);
    assert(input == FTC_LOCAL_CALL);
    ftc_local_call(local, rank, (int)ftc_member_next_op(member), bytes, &call);
    return ftc_member_call(member, &call); /* the member has copied the bytes */
}

/* Find the inputs that lead to a state, the last one first. Returns their number; FTC_TABLE_NONE:
 * no memory. */
static uint32_t find_path(struct ftc_local *local, uint32_t state)
{
    uint32_t length = 0;

    for (; local->state[state].input != FTC_LOCAL_NONE; state = local->state[state].parent) {
        if (local->state[state].input == FTC_LOCAL_FORGET)
            continue;
        if (ftc_array_grow((void **)&local->path, &local->path_room, length, sizeof(uint32_t)) !=
            FTC_SUCCESS)
            return FTC_TABLE_NONE;
        local->path[length++] = local->state[state].input;
    }
    return length;
}

/* Make a member that is in this state. */
static int revive(struct ftc_local *local, uint32_t state, struct ftc_member **member)
{
    struct ftc_member_settings settings = local->settings;
    uint32_t length = find_path(local, state);

    if (length == FTC_TABLE_NONE)
        return FTC_ERR_NOMEM;
    settings.self = local->state[state].history.rank;
    local->outside = false;
    int rc = ftc_member_create(member, &settings);
    while (rc == FTC_SUCCESS && length > 0) {
        if (feed(local, *member, settings.self, local->path[--length]) == FTC_ERR_NOMEM)
            rc = FTC_ERR_NOMEM;
        while (ftc_member_next_output(*member) != NULL)
            ;
    }
    return rc;
}

/* --- learning --- */

static int keep_violation(struct ftc_learning *l)
{
    struct ftc_local *local = l->local;

    l->step.violation = FTC_TABLE_NONE;
    if (l->violation[0] == '\0')
        return FTC_SUCCESS;
    int rc = ftc_array_grow((void **)&local->violation, &local->violation_room,
                            local->violation_count, sizeof(char *));
    if (rc != FTC_SUCCESS)
        return rc;
    char *copy = strdup(l->violation);
    if (copy == NULL)
        return FTC_ERR_NOMEM;
    l->step.violation = (uint32_t)local->violation_count;
    local->violation[local->violation_count++] = copy;
    return FTC_SUCCESS;
}

static bool calls(const struct ftc_learning *l)
{
    if (l->input >= FTC_LOCAL_MESSAGE)
        return false;
    if (l->input >= FTC_LOCAL_ADOPT)
        return l->local->decision[l->input - FTC_LOCAL_ADOPT].op == l->history.called;
    return l->input >= FTC_LOCAL_GATHERED || l->input == FTC_LOCAL_CALL;
}

/* Take the input and then the outputs, with all checks. */
static int watch(struct ftc_learning *l)
{
    const struct ftc_output *output;
    int rc = FTC_SUCCESS;

    if (calls(l) && ftc_member_begin(l->member) < 0)
        return FTC_ERR_NOMEM;
    if (calls(l))
        rc = ftc_learning_calls(l);

    if (rc != FTC_SUCCESS)
        return rc;
    l->local->outside = !l->history.under_way;
    l->local->operator_called = false;
    int returned = feed(l->local, l->member, l->rank, l->input);
    if (returned == FTC_ERR_NOMEM)
        return returned;
    while (rc == FTC_SUCCESS && (output = ftc_member_next_output(l->member)) != NULL)
        rc = take_output(l, output);
    ftc_learning_ends(l, returned);
    return rc;
}

/* Rule 0: a message from another history changes nothing. */
static void check_history(struct ftc_learning *l, uint32_t from)
{
    const struct ftc_local *local = l->local;
    const struct ftc_local_history *h = &local->state[from].history;

    if (l->input < FTC_LOCAL_MESSAGE || l->input >= FTC_LOCAL_SUM)
        return;
    const struct ftc_message_head *head = &local->message[l->input - FTC_LOCAL_MESSAGE].head;
    if (head->op >= h->called || head->op < h->forgotten ||
        (l->step.to == from && l->step.outputs == 0))
        return;
    if (l->step.to == from && ftc_local_sums(local, (int)head->op))
        return; /* nodes.md, S6: TAKEN is of no history */
    if (!ftc_epoch_equal(head->epoch, local->epoch[h->epoch[head->op]]))
        ftc_learning_violate(l, "rank %d takes a message of operation %d of another history",
                             l->rank, (int)head->op);
}

static int record(struct ftc_learning *l, uint32_t from, uint32_t *step)
{
    struct ftc_local *local = l->local;
    struct ftc_local_state state = {
        .history = l->history, .parent = from, .input = l->input, .forgotten = FTC_TABLE_NONE};
    int rc = ftc_local_number_member(local, l->member, &state, &l->step.to);

    if (rc == FTC_SUCCESS) {
        check_history(l, from);
        rc = keep_violation(l);
    }
    if (rc == FTC_SUCCESS)
        rc = ftc_array_grow((void **)&local->step, &local->step_room, local->step_count,
                            sizeof(l->step));
    if (rc != FTC_SUCCESS)
        return rc;
    l->step.idle = l->step.to == from && l->step.outputs == 0 && !l->step.fenced &&
                   l->step.violation == FTC_TABLE_NONE;
    *step = (uint32_t)local->step_count;
    local->step[local->step_count++] = l->step;
    return ftc_table_put(&local->steps, (uint64_t)from << 32 | l->input, *step);
}

int ftc_local_learn(struct ftc_local *local, uint32_t from, uint32_t input, uint32_t *step)
{
    struct ftc_learning l = {
        .local = local,
        .rank = local->state[from].history.rank,
        .input = input,
        .known = local->state[from].known,
        .history = local->state[from].history,
        .step = {.output = (uint32_t)local->output_count, .delivery = FTC_TABLE_NONE},
    };

    *step = ftc_local_find(local, from, input);
    if (*step != FTC_TABLE_NONE)
        return FTC_SUCCESS;
    int rc = revive(local, from, &l.member);
    if (rc == FTC_SUCCESS)
        rc = watch(&l);
    if (rc == FTC_SUCCESS)
        rc = record(&l, from, step);
    ftc_member_destroy(l.member);
    return rc;
}

/* --- life --- */

static int make_first(struct ftc_local *local, int rank)
{
    struct ftc_local_state state = {
        .history = {.rank = (uint8_t)rank}, .input = FTC_LOCAL_NONE, .forgotten = FTC_TABLE_NONE};
    struct ftc_member_settings settings = local->settings;
    struct ftc_member *member = NULL;

    settings.self = rank;
    int rc = ftc_member_create(&member, &settings);
    if (rc == FTC_SUCCESS)
        rc = ftc_local_number_member(local, member, &state, &local->first[rank]);
    ftc_member_destroy(member);
    return rc;
}

int ftc_local_init(struct ftc_local *local, const struct ftc_member_settings *settings,
                   const struct ftc_program *program)
{
    int rc = FTC_SUCCESS;

    *local =
        (struct ftc_local){.settings = *settings, .program = program, .ranks = settings->ranks};
    if (settings->ranks < 1 || settings->ranks > FTC_LOCAL_RANKS)
        return ftc_error_set(FTC_ERR_ARG, "%d ranks cannot be explored; use 1 to %d, or storm",
                             settings->ranks, FTC_LOCAL_RANKS);
    if (program->length < 1 || program->length > FTC_LOCAL_OPERATIONS)
        return ftc_error_set(FTC_ERR_ARG, "%d operations cannot be explored; use 1 to %d, or storm",
                             program->length, FTC_LOCAL_OPERATIONS);
    if (settings->settle_every > UINT8_MAX)
        return ftc_error_set(FTC_ERR_ARG, "settle-every %u cannot be explored; use at most %d",
                             settings->settle_every, UINT8_MAX);
    if (settings->dissemination == FTC_DISSEMINATION_MULTICAST)
        return ftc_error_set(FTC_ERR_ARG,
                             "datagrams that may be lost cannot be explored; use storm");
    for (int rank = 0; rank < settings->ranks && rc == FTC_SUCCESS; rank++)
        rc = make_first(local, rank);
    return rc;
}

void ftc_local_fini(struct ftc_local *local)
{
    for (uint32_t m = 0; m < local->messages.count; m++)
        ftc_buffer_unref(local->message[m].bytes);
    for (size_t v = 0; v < local->violation_count; v++)
        free(local->violation[v]);
    for (uint32_t d = 0; d < local->decisions_kept; d++)
        ftc_decision_unref(local->decision[d].decision);
    ftc_intern_fini(&local->states);
    ftc_intern_fini(&local->messages);
    ftc_intern_fini(&local->decisions);
    ftc_table_fini(&local->steps);
    free(local->state);
    free(local->message);
    free(local->decision);
    free(local->step);
    free(local->delivery);
    free(local->output);
    free(local->violation);
    free(local->epoch);
    free(local->bytes);
    free(local->path);
    *local = (struct ftc_local){0};
}

size_t ftc_local_bytes(const struct ftc_local *local)
{
    return ftc_intern_bytes(&local->states) + ftc_intern_bytes(&local->messages) +
           ftc_table_bytes(&local->steps) + local->state_room * sizeof(*local->state) +
           local->message_room * (sizeof(*local->message) + 128) +
           local->step_room * sizeof(*local->step) +
           local->delivery_room * sizeof(*local->delivery) +
           local->output_room * sizeof(*local->output);
}
