/* Copies past the caches. */
#include "base/copy.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>

#define LINE ((size_t)64)

/* `to` is the begin of a cache line. */
static void copy_line(unsigned char *to, const unsigned char *from)
{
    for (size_t i = 0; i < LINE; i += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(void *)(to + i),
                         _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
}

void ftc_copy_past_caches(void *to, const void *from, size_t size)
{
    size_t before = (LINE - (uintptr_t)to % LINE) % LINE, done = before < size ? before : size;

    memcpy(to, from, done);
    for (; size - done >= LINE; done += LINE)
        copy_line((unsigned char *)to + done, (const unsigned char *)from + done);
    _mm_sfence();
    memcpy((unsigned char *)to + done, (const unsigned char *)from + done, size - done);
}
#else
void ftc_copy_past_caches(void *to, const void *from, size_t size)
{
    memcpy(to, from, size);
}
#endif
