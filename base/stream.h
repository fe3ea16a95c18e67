/* Bytes over a connected stream socket between two processes of this machine. */
#ifndef FTC_BASE_STREAM_H
#define FTC_BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>

/* All of them. False: the other end is gone, or SO_RCVTIMEO has passed. */
bool ftc_stream_put(int fd, const void *bytes, size_t size);
bool ftc_stream_get(int fd, void *bytes, size_t size);

/* From now on a wait for bytes ends after so long. */
void ftc_stream_patience(int fd, int seconds);

#endif
