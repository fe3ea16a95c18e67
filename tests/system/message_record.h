/* What a rank of the storm of messages writes down for each step. The driver compares the
 * survivors' files. Sets of ranks are bits. */
#ifndef FTC_TESTS_SYSTEM_MESSAGE_RECORD_H
#define FTC_TESTS_SYSTEM_MESSAGE_RECORD_H

#include <stdint.h>

struct message_record {
    uint64_t blamed;      /* ranks that must have failed: nothing else explains what was seen */
    uint64_t failed;      /* of a step that agrees: the failed set */
    uint32_t agreed;      /* the step agrees */
    uint32_t interrupted; /* waits that ended by the failure of some rank */
    uint32_t received;    /* messages */
    uint32_t done;        /* the step is over; written last */
};

#endif
