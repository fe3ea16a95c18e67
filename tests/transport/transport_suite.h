/* What every transport has to do: one suite, which gets a kit. A transport's test is its own
 * main(). */
#ifndef FTC_TEST_TRANSPORT_SUITE_H
#define FTC_TEST_TRANSPORT_SUITE_H

#include "transport/transport.h"

struct transport_kit {
    const struct ftc_transport_ops *ops;
    /* Opens an end; `setup` has ranks, self, segment and bell. NULL: ops->open(). */
    int (*open)(struct ftc_transport **out, struct ftc_transport_setup *setup,
                const char *directory);
    /* May an end leave without taking messages with it? NULL: the end may leave when flush() is
     * idle. */
    bool (*settled)(const struct ftc_transport *transport);
    /* A message is at the receiver when send() or flush() has returned, and the room is that of a
     * ring. The suite also tests what that means for ready(). */
    bool rings;
    bool endpoints; /* ranks write into the segment where they listen */
};

/* Runs the suite. Returns main()'s exit code. */
int transport_suite_run(const struct transport_kit *given);

#endif
