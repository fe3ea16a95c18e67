/* The file of a segment in /dev/shm. Its launcher makes and locks it. Only a process that holds
 * this lock removes it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "node/segment/internal.h"
#include "node/system/lock.h"

#define NAME_DIGITS 6

bool ftc_job_name_valid(const char *job)
{
    size_t pid = strspn(job, "0123456789");
    if (pid == 0 || pid > 10 || job[pid] != '.')
        return false;
    size_t number = strspn(job + pid + 1, "0123456789");
    return number == NAME_DIGITS && job[pid + 1 + number] == '\0';
}

void ftc_segment_path(char path[128], uid_t uid, const char *job)
{
    snprintf(path, 128, "/dev/shm/ftcoll-%lu-%s", (unsigned long)uid, job);
}

static int create_error(const char *path)
{
    if (errno == ENOENT || errno == ENOTDIR)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot create %s: %m: /dev/shm is missing; mount a tmpfs there "
                             "(mount -t tmpfs tmpfs /dev/shm)",
                             path);
    if (errno == EROFS)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot create %s: %m: make /dev/shm writable "
                             "(mount -o remount,rw /dev/shm)",
                             path);
    if (errno == EEXIST)
        return ftc_error_set(FTC_ERR_STATE,
                             "cannot create %s: %m: another job has this name; "
                             "ftcoll-status --gc removes dead ones",
                             path);
    if (errno == ENOSPC)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot create %s: %m: free some space or files in /dev/shm "
                             "(ftcoll-status --gc removes dead jobs)",
                             path);
    if (errno == EACCES || errno == EPERM)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot create %s: %m: /dev/shm must be writable for every user "
                             "(mode 1777)",
                             path);
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot create %s: %m", path);
}

/* Between making and locking, a collector may find a file without a lock, and remove it. The
 * collector locks the file first, too. So either it finds the file locked, or our lock is refused,
 * or the file has lost its name when we look for it after locking. */
int ftc_segment_file_make(const char *path, int *fd)
{
    *fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0)
        return create_error(path);
    if (ftc_lock_file(*fd) != FTC_LOCK_HELD && ftc_lock_names(AT_FDCWD, path, *fd))
        return 0;
    close(*fd);
    *fd = -1;
    return ftc_error_set(FTC_ERR_STATE, "%s was taken for what a dead job left: use another name",
                         path);
}

void ftc_segment_file_keep(struct ftc_segment *segment, int fd)
{
    struct stat info;

    segment->fd = fd;
    if (fstat(fd, &info) != 0)
        return;
    segment->device = info.st_dev;
    segment->inode = info.st_ino;
}

bool ftc_segment_file_kept(const struct ftc_segment *segment)
{
    struct stat info;

    return segment->fd >= 0 && fstat(segment->fd, &info) == 0 && info.st_dev == segment->device &&
           info.st_ino == segment->inode;
}

void ftc_segment_boards_remove(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    size_t length = strlen(name);
    DIR *dir = opendir("/dev/shm");

    if (dir == NULL)
        return;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        if (strncmp(entry->d_name, name, length) == 0 && entry->d_name[length] == '.')
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

void ftc_segment_remove(struct ftc_segment *segment)
{
    if (!ftc_lock_names(AT_FDCWD, segment->path, segment->fd))
        return;
    ftc_segment_boards_remove(segment->path);
    (void)unlink(segment->path);
}

int ftc_segment_seize(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
        ftc_lock_file(fd) == FTC_LOCK_TAKEN && ftc_lock_names(AT_FDCWD, path, fd))
        return fd;
    close(fd);
    return -1;
}

enum ftc_life ftc_segment_launcher(struct ftc_segment *segment)
{
    const struct ftc_segment_header *header = ftc_segment_header(segment);
    bool kept = ftc_segment_file_kept(segment);
    enum ftc_life life = kept ? ftc_lock_life(segment->fd) : FTC_LIFE_UNKNOWN;
    if (life != FTC_LIFE_UNKNOWN || header->pid_namespace == 0 ||
        header->pid_namespace != ftc_process_namespace())
        return life;
    return ftc_process_life(header->launcher_pid, header->launcher_start);
}
