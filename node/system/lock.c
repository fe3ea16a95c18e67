/* A directory can only be locked by flock(). Files get locks of open file descriptions, because a
 * reader can look at these without taking them. So a reader that is stopped at that moment keeps
 * nobody from the lock. */
#include "node/system/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

static enum ftc_lock answer(int rc)
{
    if (rc == 0)
        return FTC_LOCK_TAKEN;
    return errno == EWOULDBLOCK || errno == EACCES ? FTC_LOCK_HELD : FTC_LOCK_UNKNOWN;
}

enum ftc_lock ftc_lock_file(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return answer(fcntl(fd, F_OFD_SETLK, &whole));
}

enum ftc_lock ftc_lock_directory(int fd)
{
    return answer(flock(fd, LOCK_EX | LOCK_NB));
}

enum ftc_life ftc_lock_life(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_GETLK, &whole) != 0)
        return FTC_LIFE_UNKNOWN;
    return whole.l_type == F_UNLCK ? FTC_LIFE_GONE : FTC_LIFE_ALIVE;
}

bool ftc_lock_names(int parent, const char *name, int fd)
{
    struct stat there, open;
    return fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &open) == 0 &&
           there.st_dev == open.st_dev && there.st_ino == open.st_ino;
}
