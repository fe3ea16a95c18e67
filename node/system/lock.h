/* Which launcher lives is told by locks on what it has made: the kernel drops them when it ends,
 * however it ends. A lock means the same in every pid namespace, and where there is no /proc. */
#ifndef FTC_NODE_SYSTEM_LOCK_H
#define FTC_NODE_SYSTEM_LOCK_H

#include <stdbool.h>

#include "node/system/process.h"

enum ftc_lock {
    FTC_LOCK_TAKEN,
    FTC_LOCK_HELD,    /* by another open file description */
    FTC_LOCK_UNKNOWN, /* this file system, or kernel, has no such locks */
};

/* Lock a regular file that is open for writing, or a directory, without waiting. The lock belongs
 * to the open file description: it lasts until the last descriptor and the last mapping made of it
 * are gone, those that a fork() has doubled among them. */
enum ftc_lock ftc_lock_file(int fd);
enum ftc_lock ftc_lock_directory(int fd);

/* Does a process hold the lock of this file? Nothing is locked to find out. */
enum ftc_life ftc_lock_life(int fd);

/* Does `name` in the directory `parent` (or AT_FDCWD) still lead to the file that `fd` has open? A
 * file that was locked after it had lost its name is nobody's. */
bool ftc_lock_names(int parent, const char *name, int fd);

#endif
