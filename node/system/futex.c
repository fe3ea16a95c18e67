#include "node/system/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* The word is shared between processes, so the futex is not FUTEX_PRIVATE. */
bool ftc_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / FTC_NS_PER_S),
                               .tv_nsec = (long)(timeout_ns % FTC_NS_PER_S)};

    return syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, NULL, 0) == 0 ||
           errno != ETIMEDOUT;
}

void ftc_futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}
