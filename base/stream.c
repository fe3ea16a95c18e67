#include "base/stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>

bool ftc_stream_put(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t count = send(fd, at, size, MSG_NOSIGNAL);
        if (count < 0 && errno != EINTR)
            return false;
        at += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

bool ftc_stream_get(int fd, void *bytes, size_t size)
{
    char *at = bytes;

    while (size > 0) {
        ssize_t count = recv(fd, at, size, 0);
        if (count == 0 || (count < 0 && errno != EINTR))
            return false;
        at += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

void ftc_stream_patience(int fd, int seconds)
{
    struct timeval most = {.tv_sec = seconds};

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
}
