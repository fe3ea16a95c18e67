/* Options of the commands that run in virtual time. The struct of such a command begins with struct
 * ftc_timed_options, and its option table contains the rows FTC_TIMED_OPTIONS. */
#ifndef FTC_SIM_TIMED_OPTIONS_H
#define FTC_SIM_TIMED_OPTIONS_H

#include "sim/options.h"
#include "sim/timed/timed.h"

struct ftc_timed_options {
    struct ftc_timed_settings timed; /* cost and seed are not set */
    bool detect_given, jitter_given;
};

#define FTC_TIMED_OPTIONS                                                                          \
    {"bytes", 'b', "B", "size of a value for the cost model (default: 8)", ftc_timed_take_bytes},  \
        {"topology", 0, "T", "flat, torus, fat-tree or fat-tree:RADIX (default: flat)",            \
         ftc_timed_take_topology},                                                                 \
        {"hop", 0, "TIME", "the time of each hop but the first (default: 150ns)",                  \
         ftc_timed_take_hop},                                                                      \
        {"think", 0, "TIME", "mean time outside the library before each operation (default: 0)",   \
         ftc_timed_take_think},                                                                    \
        {"detect", 0, "TIME",                                                                      \
         "the time from a death to the first notice of it (default: by cost model)",               \
         ftc_timed_take_detect},                                                                   \
        {"jitter", 0, "TIME", "by how much later some ranks hear of it (default: by cost model)",  \
         ftc_timed_take_jitter},                                                                   \
        {"kill-kind", 0, "KIND",                                                                   \
         "any, others (not the root or first coordinator), coordinator, head, last-group",         \
         ftc_timed_take_victims},                                                                  \
        {"kill-at", 0, "WHEN",                                                                     \
         "run: at random moments of the run (default); start: before the first call",              \
         ftc_timed_take_when},                                                                     \
    {                                                                                              \
        "burst", 0, NULL, "all deaths at one moment", ftc_timed_take_burst                         \
    }

int ftc_timed_take_bytes(void *command, const char *text);
int ftc_timed_take_topology(void *command, const char *text);
int ftc_timed_take_hop(void *command, const char *text);
int ftc_timed_take_think(void *command, const char *text);
int ftc_timed_take_detect(void *command, const char *text);
int ftc_timed_take_jitter(void *command, const char *text);
int ftc_timed_take_victims(void *command, const char *text);
int ftc_timed_take_when(void *command, const char *text);
int ftc_timed_take_burst(void *command, const char *text);

/* Read "1.5us" or "200" (ns). FTC_ERR_ARG names the option. */
int ftc_timed_read_time(const char *option, const char *text, uint64_t *out);
/* Read "3us:1us..8ms,1s": the rank, the time and the lengths of a stall. A range of lengths
 * doubles. Sets the stall to the first length, and fills in at most `most` lengths. FTC_ERR_ARG. */
int ftc_timed_read_stall(const char *text, struct ftc_timed_settings *settings, uint64_t lengths[],
                         int most, int *count);

void ftc_timed_options_init(struct ftc_timed_options *options);
/* The settings of a run with this cost model and seed. */
struct ftc_timed_settings ftc_timed_options_settings(const struct ftc_timed_options *options,
                                                     const struct ftc_cost *cost, uint64_t seed);
/* Write the options of `ftcoll-sim run` that give these settings again. */
void ftc_timed_options_write(const struct ftc_timed_settings *settings, FILE *out);

#endif
