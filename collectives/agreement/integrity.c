/* Checksums of values and messages, and damage on request (docs/design/integrity.md). */
#include "collectives/agreement/internal.h"

/* The agreements that end gossip carry checksums in every mode: if ranks got different results from
 * them, they would go different ways. */
bool ftc_integrity_checks(const struct ftc_member *m, const struct ftc_signature *signature)
{
    bool ends_gossip = signature->kind == FTC_CALL_GOSSIP && !FTC_MUTATED(GOSSIP_UNCHECKED);

    return ends_gossip || m->set.integrity == FTC_INTEGRITY_CHECKSUM;
}

int ftc_integrity_protect(struct ftc_member *m, const struct ftc_operation *op,
                          enum ftc_flip_variable variable, struct ftc_value *value)
{
    if (op->checked && value->buffer != NULL && value->checksum == 0) {
        ftc_value_seal(value);
        m->looked = *value;
    }
    return ftc_integrity_disturb(m, op, variable, 0, value);
}

static bool same_place(const struct ftc_value *a, const struct ftc_value *b)
{
    return a->buffer == b->buffer && a->offset == b->offset && a->size == b->size &&
           a->checksum == b->checksum;
}

bool ftc_integrity_sound(struct ftc_member *m, const struct ftc_value *value)
{
    if (value->checksum == 0 || same_place(&m->looked, value))
        return true;
    if (!ftc_value_sound(value))
        return false;
    m->looked = *value;
    return true;
}

static bool is_meant(const struct ftc_member *m, const struct ftc_flip *flip,
                     const struct ftc_operation *op, enum ftc_flip_variable variable, uint64_t step)
{
    return flip->rank == m->set.self && flip->variable == variable && flip->op == op->k &&
           flip->step == step;
}

/* Turns the bit over, if the value has it. *done: it has. In a list of blocks the bits are counted
 * from the first block: with another table it would be no list, and its sender would be accused. */
static int strike(struct ftc_member *m, const struct ftc_operation *op, const struct ftc_flip *flip,
                  struct ftc_value *value, bool *done)
{
    bool list = ftc_operation_gathers(op) && flip->variable != FTC_FLIP_HEAD;
    size_t table = list ? ftc_blocks_head(value) : 0;
    int rc = ftc_value_own(value);

    if (rc != 0)
        return rc;
    m->looked = (struct ftc_value){0};
    *done = ftc_flip_bytes(flip, ftc_value_bytes(value) + table, value->size - table);
    if (!*done)
        return 0;
    m->flip = *flip;
    return ftc_member_output(m, &(struct ftc_output){.kind = FTC_OUTPUT_FLIPPED});
}

/* Carries out the flip that is drawn for an agreement of gossip. */
static int disturb_as_drawn(struct ftc_member *m, const struct ftc_operation *op,
                            enum ftc_flip_variable variable, uint64_t step, struct ftc_value *value)
{
    struct ftc_flip flip = ftc_flips_draw(m->set.flips, op->k, m->set.ranks);
    bool done = false;

    if (m->drawn_for == op->k + 1 || op->call.signature.kind != FTC_CALL_GOSSIP ||
        !is_meant(m, &flip, op, variable, step))
        return 0;
    int rc = strike(m, op, &flip, value, &done);
    if (done)
        m->drawn_for = op->k + 1;
    return rc;
}

int ftc_integrity_disturb(struct ftc_member *m, const struct ftc_operation *op,
                          enum ftc_flip_variable variable, uint64_t step, struct ftc_value *value)
{
    const struct ftc_flips *flips = m->set.flips;
    int rc = 0;

    if (flips == NULL || value->buffer == NULL)
        return 0;
    for (int i = 0; rc == 0 && i < flips->count; i++)
        if (!m->flipped[i] && is_meant(m, &flips->flip[i], op, variable, step))
            rc = strike(m, op, &flips->flip[i], value, &m->flipped[i]);
    return rc == 0 && flips->drawn ? disturb_as_drawn(m, op, variable, step, value) : rc;
}

int ftc_integrity_disturb_message(struct ftc_member *m, struct ftc_operation *op, size_t at)
{
    struct ftc_output *output = &m->output[at];
    struct ftc_value head = {.buffer = output->head, .size = output->head->size},
                     value = output->value;
    uint64_t step = op->sent++;

    int rc = ftc_integrity_disturb(m, op, FTC_FLIP_HEAD, step, &head);
    if (rc == 0)
        rc = ftc_integrity_disturb(m, op, FTC_FLIP_MESSAGE, step, &value);
    m->output[at].head = head.buffer; /* the queue may have grown, and moved */
    m->output[at].value = value;
    return rc;
}

int ftc_integrity_corrupt(struct ftc_member *m)
{
    int rc = ftc_member_output(m, &(struct ftc_output){.kind = FTC_OUTPUT_CORRUPT});

    m->fenced = true;
    return rc == 0 ? FTC_ERR_FENCED : rc;
}
