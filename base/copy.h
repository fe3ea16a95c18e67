/* Copies of bytes that nobody reads soon. */
#ifndef FTC_BASE_COPY_H
#define FTC_BASE_COPY_H

#include <stddef.h>

/* As memcpy(), but the written bytes go past the caches where the processor can do that. A large
 * copy takes less time so: the cache lines that it writes need not be read first, and the caches
 * keep what they have. Reading the copy at once would take longer. */
void ftc_copy_past_caches(void *to, const void *from, size_t size);

#endif
