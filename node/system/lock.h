/* A launcher holds locks on the files that it has made. They tell whether it lives, because the
 * kernel drops them when it ends, however it ends. A lock means the same in every pid namespace,
 * and also where there is no /proc. */
#ifndef FTC_NODE_SYSTEM_LOCK_H
#define FTC_NODE_SYSTEM_LOCK_H

#include <stdbool.h>

#include "node/system/process.h"

enum ftc_lock {
    FTC_LOCK_TAKEN,
    FTC_LOCK_HELD,    /* by another open file description */
    FTC_LOCK_UNKNOWN, /* this file system or kernel has no such locks */
};

/* Lock a regular file that is open for writing, or a directory, without waiting. The lock belongs
 * to the open file description. It lasts until the last descriptor and the last mapping of that are
 * gone, also those that a fork() has copied. */
enum ftc_lock ftc_lock_file(int fd);
enum ftc_lock ftc_lock_directory(int fd);

/* Does a process hold the lock of this file? This takes no lock. */
enum ftc_life ftc_lock_life(int fd);

/* Does `name` in the directory `parent` (or AT_FDCWD) still lead to the file that `fd` has open?
 * Ask this after locking: a file that had lost its name before the lock belongs to no job. */
bool ftc_lock_names(int parent, const char *name, int fd);

#endif
