/* Each counter that is not 0 is its index, u8, and its value, u64. The indices ascend. */
#include "launcher/counters.h"

#include <stdatomic.h>
#include <string.h>

#include "base/wire.h"

_Static_assert(sizeof(struct ftc_counters) % sizeof(uint64_t) == 0,
               "counters are numbers of 64 bits");
_Static_assert(FTC_COUNTERS_NUMBERS <= 256, "an index is a byte");

size_t ftc_counters_pack(const struct ftc_counters *counters,
                         unsigned char bytes[FTC_COUNTERS_PACKED])
{
    const _Atomic uint64_t *numbers = (const void *)counters;
    struct ftc_writer w = {.data = bytes, .size = FTC_COUNTERS_PACKED};

    for (size_t i = 0; i < FTC_COUNTERS_NUMBERS; i++) {
        uint64_t number = atomic_load_explicit(&numbers[i], memory_order_relaxed);
        if (number == 0)
            continue;
        ftc_write_u8(&w, (uint8_t)i);
        ftc_write_u64(&w, number);
    }
    return w.used;
}

bool ftc_counters_unpack(struct ftc_counters *counters, const unsigned char *bytes, size_t size)
{
    struct ftc_reader r = {.data = bytes, .size = size};
    _Atomic uint64_t *numbers = (void *)counters;
    int last = -1;

    memset(counters, 0, sizeof(*counters));
    while (r.used < size) {
        int index = ftc_read_u8(&r);
        uint64_t number = ftc_read_u64(&r);
        if (r.failed || index <= last || index >= (int)FTC_COUNTERS_NUMBERS)
            return false;
        atomic_store_explicit(&numbers[index], number, memory_order_relaxed);
        last = index;
    }
    return true;
}
