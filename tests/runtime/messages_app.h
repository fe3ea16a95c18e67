/* Shared by the stories of messages_app. A call that fails ends the process with 1. */
#ifndef FTC_TESTS_RUNTIME_MESSAGES_APP_H
#define FTC_TESTS_RUNTIME_MESSAGES_APP_H

#include <ftcoll.h>

#include <stdbool.h>
#include <stdint.h>

#define MOST (5u << 20) /* bytes of a message */

extern ftc_comm *world;
extern int me, size;
extern uint64_t seed; /* of this run */

void must(bool good, const char *what, int line);
#define MUST(condition) must(condition, #condition, __LINE__)
#define OK(call)        MUST((call) == FTC_SUCCESS)

/* A number below `below`: the same numbers follow from the same *state. */
unsigned draw_from(uint64_t *state, unsigned below);
/* A size of a message, up to MOST bytes. */
size_t draw_size(uint64_t *state);

unsigned char *memory(size_t bytes);

/* Messages that tell who sent them. */
void write_message(unsigned char *buffer, size_t bytes, int from, int number);
bool is_message(const unsigned char *buffer, size_t bytes, int from, int number);

/* The stories with several threads (messages_threads.c). */
void several_threads(void);
void driven_send(void);

/* messages_cancelled.c */
void cancelled(void);

#endif
