/* Gives numbers to states, messages, decisions and epochs. */
#include <string.h>

#include "base/error.h"
#include "sim/explore/local_learn.h"

/* --- bytes that get a number --- */

struct scratch {
    struct ftc_local *local;
    int rc;
};

static void append(struct scratch *s, const void *bytes, size_t size)
{
    struct ftc_local *local = s->local;

    while (s->rc == FTC_SUCCESS && local->byte_count + size > local->byte_room)
        s->rc = ftc_array_grow((void **)&local->bytes, &local->byte_room, local->byte_room, 1);
    if (s->rc != FTC_SUCCESS)
        return;
    memcpy(local->bytes + local->byte_count, bytes, size);
    local->byte_count += size;
}

static void append_from_member(void *arg, const void *bytes, size_t size)
{
    append(arg, bytes, size);
}

static struct scratch begin(struct ftc_local *local)
{
    local->byte_count = 0;
    return (struct scratch){.local = local};
}

static int number(struct scratch *s, struct ftc_intern *intern, uint32_t *out, bool *fresh)
{
    if (s->rc != FTC_SUCCESS)
        return s->rc;
    return ftc_intern_number(intern, ftc_digest_of(s->local->bytes, s->local->byte_count), out,
                             fresh);
}

/* --- epochs --- */

int ftc_local_number_epoch(struct ftc_local *local, struct ftc_epoch epoch, uint8_t *out)
{
    for (size_t e = 0; e < local->epoch_count; e++) {
        if (ftc_epoch_equal(local->epoch[e], epoch)) {
            *out = (uint8_t)e;
            return FTC_SUCCESS;
        }
    }
    if (local->epoch_count > UINT8_MAX)
        return ftc_error_set(FTC_ERR_NOMEM, "more than 256 epochs; explore fewer operations");
    int rc = ftc_array_grow((void **)&local->epoch, &local->epoch_room, local->epoch_count,
                            sizeof(epoch));
    if (rc != FTC_SUCCESS)
        return rc;
    *out = (uint8_t)local->epoch_count;
    local->epoch[local->epoch_count++] = epoch;
    return FTC_SUCCESS;
}

/* --- states --- */

static int number_state(struct ftc_local *local, const struct ftc_local_state *state, uint32_t *out)
{
    const struct ftc_local_history *h = &state->history;
    struct scratch s = begin(local);
    bool fresh;

    append(&s, &state->member, sizeof(state->member));
    append(&s, (uint8_t[]){h->rank, h->called, h->under_way, h->forgotten, h->row}, 5);
    append(&s, h->agreed, sizeof(h->agreed));
    append(&s, h->known, sizeof(h->known));
    append(&s, h->epoch, sizeof(h->epoch));
    append(&s, h->decision, sizeof(h->decision));
    int rc = number(&s, &local->states, out, &fresh);
    if (rc != FTC_SUCCESS || !fresh)
        return rc;
    rc = ftc_array_grow((void **)&local->state, &local->state_room, *out, sizeof(*state));
    if (rc == FTC_SUCCESS)
        local->state[*out] = *state;
    return rc;
}

int ftc_local_number_member(struct ftc_local *local, const struct ftc_member *member,
                            struct ftc_local_state *state, uint32_t *out)
{
    struct scratch s = begin(local);

    ftc_member_digest(member, append_from_member, &s);
    if (s.rc != FTC_SUCCESS)
        return s.rc;
    state->member = ftc_digest_of(local->bytes, local->byte_count);
    state->known = ftc_local_mask(ftc_member_known_failed(member));
    state->agreed = ftc_local_mask(ftc_member_agreed_failed(member));
    state->held_back = ftc_member_held_back(member);
    state->unsettled = ftc_member_unsettled(member);
    int rc = ftc_local_number_epoch(local, ftc_member_epoch(member), &state->epoch);
    return rc == FTC_SUCCESS ? number_state(local, state, out) : rc;
}

static int forget_one(struct ftc_local *local, uint32_t from, uint32_t *to)
{
    struct ftc_local_state state = local->state[from];
    int op = state.history.forgotten++;

    state.history.agreed[op] = state.history.known[op] = state.history.epoch[op] = 0;
    state.history.decision[op] = 0;
    state.parent = from;
    state.input = FTC_LOCAL_FORGET;
    state.forgotten = FTC_TABLE_NONE;
    int rc = number_state(local, &state, to);
    if (rc == FTC_SUCCESS)
        local->state[from].forgotten = *to;
    return rc;
}

int ftc_local_forget(struct ftc_local *local, uint32_t *state, int op)
{
    int rc = FTC_SUCCESS;

    while (rc == FTC_SUCCESS && local->state[*state].history.forgotten < op) {
        if (local->state[*state].forgotten == FTC_TABLE_NONE)
            rc = forget_one(local, *state, state);
        else
            *state = local->state[*state].forgotten;
    }
    return rc;
}

/* --- messages and decisions --- */

int ftc_local_number_message(struct ftc_local *local, const struct ftc_local_message *message,
                             uint32_t *out)
{
    struct scratch s = begin(local);
    bool fresh = false;

    append(&s, &message->from, 1);
    append(&s, message->bytes->data, message->bytes->size);
    /* Make room first, because fini() frees as many entries as there are numbers. */
    int rc = ftc_array_grow((void **)&local->message, &local->message_room, local->messages.count,
                            sizeof(*message));
    if (rc == FTC_SUCCESS)
        rc = number(&s, &local->messages, out, &fresh);
    if (rc != FTC_SUCCESS || !fresh)
        return rc;
    local->message[*out] = *message;
    ftc_buffer_ref(message->bytes);
    return *out <= FTC_LOCAL_SENT(UINT32_MAX)
               ? FTC_SUCCESS
               : ftc_error_set(FTC_ERR_NOMEM, "more than 2^24 distinct messages; explore less");
}

int ftc_local_decide(struct ftc_learning *l, const struct ftc_output *output, unsigned retries,
                     uint16_t *out)
{
    struct ftc_local *local = l->local;
    const struct ftc_decision *decision = output->decision;
    struct ftc_local_decision d = {.status = output->status, .op = l->history.called - 1};
    struct scratch s = begin(local);
    uint32_t found;
    bool fresh;

    append(&s, (uint32_t[]){(uint32_t)l->history.called, (uint32_t)output->status, retries}, 12);
    if (decision != NULL) {
        d.ballot = decision->ballot;
        ftc_mask failed = ftc_local_mask(&decision->failed);
        append(&s, &d.ballot, sizeof(d.ballot));
        append(&s, &failed, sizeof(failed));
        if (decision->value.buffer != NULL)
            append(&s, ftc_value_bytes(&decision->value), decision->value.size);
    }
    int rc = number(&s, &local->decisions, &found, &fresh);
    if (rc != FTC_SUCCESS)
        return rc;
    if (found > UINT16_MAX)
        return ftc_error_set(FTC_ERR_NOMEM, "more than 65536 distinct decisions; explore less");
    *out = (uint16_t)found;
    if (!fresh)
        return FTC_SUCCESS;
    rc = ftc_array_grow((void **)&local->decision, &local->decision_room, found, sizeof(d));
    if (rc != FTC_SUCCESS)
        return rc;
    if (local->settings.nodes > 1 && decision != NULL)
        d.decision = ftc_decision_ref((struct ftc_decision *)(uintptr_t)decision);
    local->decision[found] = d;
    local->decisions_kept = found + 1;
    return FTC_SUCCESS;
}
