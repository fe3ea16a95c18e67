/* Sleeping on a word of shared memory, and waking processes that sleep on it. */
#ifndef FTC_NODE_SYSTEM_FUTEX_H
#define FTC_NODE_SYSTEM_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Sleep at most timeout_ns, and only if *word is `expected`. The caller must look again, whatever
 * has ended the sleep. False: the time was over. */
bool ftc_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);
/* Wake up to `count` sleepers. */
void ftc_futex_wake(_Atomic uint32_t *word, int count);

#endif
