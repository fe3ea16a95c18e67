/* The messages of a step of the storm of messages: who sends what to whom. All ranks draw the same
 * ones. */
#ifndef FTC_TESTS_SYSTEM_MESSAGES_STORM_STEP_H
#define FTC_TESTS_SYSTEM_MESSAGES_STORM_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEP_MOST 128 /* messages */
#define STEP_TAGS 4

struct message {
    int from, to, tag;
    size_t bytes;
    uint64_t key; /* of its bytes */
};

struct step {
    struct message messages[STEP_MOST]; /* a sender starts its own in this order */
    int count;
    size_t largest;
};

/* `number` makes the tags those of this step alone. */
void step_draw(struct step *step, uint64_t salt, int number, int ranks);

/* The bytes of a message, or its first ones. */
void step_fill(const struct message *message, unsigned char *buffer, size_t bytes);
bool step_matches(const struct message *message, const unsigned char *buffer, size_t bytes);

#endif
