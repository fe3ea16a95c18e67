/* The messages that a member sends (agreement.md, "Messages"). */
#include "collectives/agreement/internal.h"

/* A POKE, a PULL and all messages of a later ballot may need an answer. They cannot wait for the
 * receiver's next call. */
static bool is_urgent(enum ftc_message_kind kind, struct ftc_ballot_id ballot)
{
    return kind == FTC_MESSAGE_POKE || kind == FTC_MESSAGE_PULL || ballot.i > 0 || ballot.s > 0;
}

struct ftc_buffer *ftc_member_encode(struct ftc_member *m, struct ftc_operation *op,
                                     enum ftc_message_kind kind, const struct ftc_message *content)
{
    struct ftc_message message = *content;
    bool poke = kind == FTC_MESSAGE_POKE;

    message.kind = kind;
    message.op = op->k;
    message.epoch = op->epoch;
    message.signature = op->call.signature;
    /* A FRAGMENT has no checksum of its own: the DECIDE that it is a piece of has one. */
    message.sealed = op->checked && kind != FTC_MESSAGE_FRAGMENT;
    if (!poke)
        message.ballot = op->ballot.id;
    message.has_participants =
        !poke && kind != FTC_MESSAGE_FRAGMENT && (message.ballot.i > 0 || message.ballot.s > 0);
    if (message.has_participants)
        message.participants = op->ballot.participants->set;
    message.communicator = m->set.communicator;
    return ftc_message_encode(&message, m->set.scheme);
}

/* Puts out an output with a head of its own. */
static int put(struct ftc_member *m, struct ftc_operation *op, struct ftc_output *output)
{
    if (output->head == NULL)
        return FTC_ERR_NOMEM;
    int rc = ftc_member_output(m, output);
    ftc_buffer_unref(output->head);
    if (rc != 0 || m->set.flips == NULL)
        return rc;
    return ftc_integrity_disturb_message(m, op, (size_t)m->output_count - 1);
}

int ftc_member_send(struct ftc_member *m, struct ftc_operation *op, enum ftc_message_kind kind,
                    int to, const struct ftc_message *content)
{
    if (!ftc_integrity_sound(m, ftc_message_value(content)))
        return ftc_integrity_corrupt(m);
    struct ftc_output output = {.kind = FTC_OUTPUT_SEND,
                                .to = to,
                                .message = kind,
                                .head = ftc_member_encode(m, op, kind, content),
                                .value = *ftc_message_value(content),
                                .op = op->k,
                                .urgent = is_urgent(kind, op->ballot.id)};

    return put(m, op, &output);
}

int ftc_member_multicast(struct ftc_member *m, struct ftc_operation *op,
                         const struct ftc_message *piece)
{
    struct ftc_output output = {.kind = FTC_OUTPUT_MULTICAST,
                                .to = -1,
                                .message = FTC_MESSAGE_FRAGMENT,
                                .head = ftc_member_encode(m, op, FTC_MESSAGE_FRAGMENT, piece),
                                .value = piece->contribution.value,
                                .piece = piece->piece,
                                .op = op->k};

    return put(m, op, &output);
}

int ftc_member_send_decide(struct ftc_member *m, struct ftc_operation *op, int to, enum ftc_way way,
                           uint32_t rounds)
{
    struct ftc_message decide = {.way = way,
                                 .rounds = rounds,
                                 .correcting =
                                     ftc_corrector_takes_part(&op->ballot.spread.corrector),
                                 .contribution = {.decision = op->decision}};

    ftc_set_add(&op->ballot.decide_sent, to);
    return ftc_member_send(m, op, FTC_MESSAGE_DECIDE, to, &decide);
}
