/* Bytes over a connected stream socket between two processes of this machine. */
#ifndef FTC_BASE_STREAM_H
#define FTC_BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>

/* Write, or read, all `size` bytes. False: the other end is gone, or the time of
 * ftc_stream_patience() has passed. */
bool ftc_stream_put(int fd, const void *bytes, size_t size);
bool ftc_stream_get(int fd, void *bytes, size_t size);

/* From now on both functions wait at most so long before each further byte. */
void ftc_stream_patience(int fd, int seconds);

#endif
