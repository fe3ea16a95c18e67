/* Checksums of values, and damage on request (docs/design/integrity.md). */
#include "collectives/operation.h"

int ftc_integrity_protect(struct ftc_member *m, const struct ftc_operation *op,
                          enum ftc_flip_variable variable, struct ftc_value *value)
{
    if (m->set.integrity == FTC_INTEGRITY_CHECKSUM && value->buffer != NULL && value->checksum == 0) {
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

static bool is_meant(const struct ftc_member *m, const struct ftc_flip *flip, const struct ftc_operation *op,
                     enum ftc_flip_variable variable, uint64_t step)
{
    return flip->rank == m->set.self && flip->variable == variable && flip->op == op->k && flip->step == step;
}

int ftc_integrity_disturb(struct ftc_member *m, const struct ftc_operation *op,
                          enum ftc_flip_variable variable, uint64_t step, struct ftc_value *value)
{
    const struct ftc_flips *flips = m->set.flips;

    if (flips == NULL || value->buffer == NULL)
        return 0;
    for (int i = 0; i < flips->count; i++) {
        if (m->flipped[i] || !is_meant(m, &flips->flip[i], op, variable, step))
            continue;
        int rc = ftc_value_own(value);
        if (rc != 0)
            return rc;
        m->flipped[i] = ftc_flip_bytes(&flips->flip[i], ftc_value_bytes(value), value->size);
        m->looked = (struct ftc_value){0};
    }
    return 0;
}

int ftc_integrity_corrupt(struct ftc_member *m)
{
    int rc = ftc_member_output(m, &(struct ftc_output){.kind = FTC_OUTPUT_CORRUPT});

    m->fenced = true;
    return rc == 0 ? FTC_ERR_FENCED : rc;
}
