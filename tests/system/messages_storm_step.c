#include "tests/system/messages_storm_step.h"

#include <string.h>

#include "tests/system/record.h"

#define SMALL 20000u /* most bytes where there are many: more than what goes as a whole */
#define EAGER 16384u

static uint64_t draw(uint64_t salt, uint64_t what, uint64_t below)
{
    return record_draw(salt, what) % below;
}

/* Of all sizes, and often next to the largest one that goes as a whole. */
static size_t draw_bytes(uint64_t salt, size_t most)
{
    static const size_t classes[] = {1, 9, 300, 8000, SMALL, SMALL, 70000, 1u << 20, 3u << 20};
    size_t limit = classes[draw(salt, 1, sizeof(classes) / sizeof(classes[0]))];

    if (draw(salt, 2, 8) == 0)
        return EAGER - 2 + (size_t)draw(salt, 3, 5);
    return (size_t)draw(salt, 3, (limit < most ? limit : most) + 1);
}

static void add(struct step *step, uint64_t salt, int number, int from, int to, size_t most)
{
    uint64_t own = record_draw(salt, 1000 + (uint64_t)step->count);

    if (step->count == STEP_MOST)
        return;
    struct message *message = &step->messages[step->count++];
    *message = (struct message){.from = from,
                                .to = to,
                                .tag = number * STEP_TAGS + (int)draw(own, 4, STEP_TAGS),
                                .bytes = draw_bytes(own, most),
                                .key = own};
    step->largest = message->bytes > step->largest ? message->bytes : step->largest;
}

/* Each rank sends to the one some places on, once or some times around. */
static void add_ring(struct step *step, uint64_t salt, int number, int ranks)
{
    int shift = 1 + (int)draw(salt, 10, (uint64_t)ranks), times = 1 + (int)draw(salt, 11, 3);

    for (int i = 0; i < ranks * times; i++)
        add(step, salt, number, i % ranks, (i + shift) % ranks, (size_t)-1);
}

static void add_pairs(struct step *step, uint64_t salt, int number, int ranks)
{
    int half = ranks / 2, times = 1 + (int)draw(salt, 11, 4);

    for (int i = 0; i < half * times; i++) {
        add(step, salt, number, i % half, i % half + half, (size_t)-1);
        add(step, salt, number, i % half + half, i % half, (size_t)-1);
    }
}

/* To one rank from all others: more than its senders have credit for. */
static void add_flood(struct step *step, uint64_t salt, int number, int ranks)
{
    int to = (int)draw(salt, 10, (uint64_t)ranks);
    int few = ranks < 4 ? ranks : 4; /* senders */

    for (int i = 0; i < STEP_MOST; i++)
        add(step, salt, number, (to + 1 + i % (few - 1)) % ranks, to, SMALL);
}

static void add_any(struct step *step, uint64_t salt, int number, int ranks)
{
    int count = 1 + (int)draw(salt, 10, 4 * (uint64_t)ranks);

    for (int i = 0; i < count; i++)
        add(step, salt, number, (int)draw(salt, 100 + (uint64_t)i, (uint64_t)ranks),
            (int)draw(salt, 300 + (uint64_t)i, (uint64_t)ranks), 1u << 20);
}

void step_draw(struct step *step, uint64_t salt, int number, int ranks)
{
    static void (*const patterns[])(struct step *, uint64_t, int,
                                    int) = {add_ring, add_pairs, add_any, add_any, add_flood};

    *step = (struct step){.count = 0};
    patterns[draw(salt, 9, sizeof(patterns) / sizeof(patterns[0]))](step, salt, number, ranks);
}

/* --- bytes --- */

static uint64_t word(const struct message *message, size_t at)
{
    return (message->key | 1) * (at + 1);
}

void step_fill(const struct message *message, unsigned char *buffer, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t next = word(message, at);
        memcpy(buffer + at, &next, bytes - at < sizeof(next) ? bytes - at : sizeof(next));
    }
}

bool step_matches(const struct message *message, const unsigned char *buffer, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t next = word(message, at);
        if (memcmp(buffer + at, &next, bytes - at < sizeof(next) ? bytes - at : sizeof(next)) != 0)
            return false;
    }
    return true;
}
