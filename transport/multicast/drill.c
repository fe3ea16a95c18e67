/* Loss, duplicates, disorder and damage on purpose: see multicast/drill.h. */
#include "transport/multicast/drill.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/mix.h"

int ftc_multicast_drill_init(struct ftc_multicast_drill_state *state,
                             const struct ftc_multicast_drill *drill, uint32_t rank)
{
    const uint32_t parts[] = {drill->loss_ppm, drill->duplicate_ppm, drill->reorder_ppm,
                              drill->corrupt_ppm, drill->foreign_ppm};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i] > FTC_DRILL_CERTAIN)
            return ftc_error_set(FTC_ERR_ARG, "a drill of %u parts per million: give at most %u",
                                 parts[i], FTC_DRILL_CERTAIN);
    memset(state, 0, sizeof(*state));
    state->drill = *drill;
    /* So that ranks do not all lose the same datagrams. */
    state->random = drill->seed ^ (uint64_t)rank << 32;
    return 0;
}

void ftc_multicast_drill_fini(struct ftc_multicast_drill_state *state)
{
    for (int i = 0; i < state->count; i++)
        ftc_buffer_unref(state->held[i].payload);
    state->count = 0;
}

static uint32_t draw(struct ftc_multicast_drill_state *state, uint32_t limit)
{
    uint64_t bits = ftc_mix(state->random += 0x9e3779b97f4a7c15u);
    return (uint32_t)((bits >> 32) * limit >> 32);
}

static bool strikes(struct ftc_multicast_drill_state *state, uint32_t ppm, uint64_t *counter)
{
    if (ppm == 0 || draw(state, FTC_DRILL_CERTAIN) >= ppm)
        return false;
    ++*counter;
    return true;
}

bool ftc_multicast_drill_loss(struct ftc_multicast_drill_state *state)
{
    return strikes(state, state->drill.loss_ppm, &state->drilled.lost);
}

bool ftc_multicast_drill_foreign(struct ftc_multicast_drill_state *state)
{
    return strikes(state, state->drill.foreign_ppm, &state->drilled.foreign);
}

bool ftc_multicast_drill_corrupt(struct ftc_multicast_drill_state *state, unsigned char *bytes,
                                 size_t size)
{
    if (!strikes(state, state->drill.corrupt_ppm, &state->drilled.corrupted))
        return false;
    uint32_t bit = draw(state, (uint32_t)size * 8);
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    return true;
}

static void append(struct ftc_multicast_drill_state *state, const struct ftc_datagram *fields,
                   struct ftc_buffer *payload, unsigned after)
{
    assert(state->count < FTC_DRILL_HELD);
    state->held[state->count++] = (struct ftc_multicast_held){*fields, payload, after};
}

void ftc_multicast_drill_put(struct ftc_multicast_drill_state *state,
                             const struct ftc_datagram *fields, struct ftc_buffer *payload)
{
    const struct ftc_multicast_drill *drill = &state->drill;
    unsigned after = 0;
    /* Without room the datagram goes as it came. That brings the held ones nearer to their turn. */
    bool room = state->count + 2 < FTC_DRILL_HELD;
    if (room && strikes(state, drill->duplicate_ppm, &state->drilled.duplicated))
        append(state, fields, ftc_buffer_ref(payload), 0);
    if (room && strikes(state, drill->reorder_ppm, &state->drilled.reordered))
        after = 1 + draw(state, FTC_DRILL_LATE);
    append(state, fields, payload, after);
}

static void take(struct ftc_multicast_drill_state *state, int at, struct ftc_datagram *fields,
                 struct ftc_buffer **payload)
{
    *fields = state->held[at].fields;
    *payload = state->held[at].payload;
    state->count--;
    memmove(&state->held[at], &state->held[at + 1],
            (size_t)(state->count - at) * sizeof(state->held[0]));
    for (int i = 0; i < state->count; i++)
        if (state->held[i].after > 0)
            state->held[i].after--;
}

bool ftc_multicast_drill_take(struct ftc_multicast_drill_state *state, bool idle,
                              struct ftc_datagram *fields, struct ftc_buffer **payload)
{
    for (int i = 0; i < state->count; i++)
        if (idle || state->held[i].after == 0) {
            take(state, i, fields, payload);
            return true;
        }
    return false;
}
