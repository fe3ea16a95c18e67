/* Processes are named by pid and start time, so that a process with a reused pid is never taken for
 * an older one. */
#ifndef FTC_NODE_SYSTEM_PROCESS_H
#define FTC_NODE_SYSTEM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether a process lives. UNKNOWN: that could not be found out, because /proc or a descriptor was
 * missing. The process may live, so nobody declares a rank failed, removes a job or leaves one
 * because of this answer. */
enum ftc_life { FTC_LIFE_GONE, FTC_LIFE_ALIVE, FTC_LIFE_UNKNOWN };

/* Does the process with this pid and start time live? start 0: any start time. A zombie is gone. */
enum ftc_life ftc_process_life(pid_t pid, uint64_t start);
/* Does it live, and is it stopped by job control or by a debugger? */
bool ftc_process_stopped(pid_t pid, uint64_t start);
/* The start time: field 22 of /proc/<pid>/stat. 0: there is no such process, or the field cannot be
 * read. */
uint64_t ftc_process_start(pid_t pid);

/* The pid namespace of this process. 0: unknown. Pids of another namespace mean nothing here. */
uint64_t ftc_process_namespace(void);

int ftc_process_cores(void); /* how many cores the caller may run on; at least 1 */

/* Kill the process by SIGKILL, and wait at most timeout_ns until it is gone. No other process is
 * killed if its pid was reused. True if it is known to be gone. It need not be a child of the
 * caller. */
bool ftc_process_kill(pid_t pid, uint64_t start, uint64_t timeout_ns);

/* A pidfd of the process, close-on-exec, and never of another process that has got its pid. -1 with
 * errno on failure. ESRCH: the process is gone. EPERM: it belongs to another user. ENOSYS: Linux is
 * older than 5.3. Others: it cannot be looked at. */
int ftc_process_open(pid_t pid, uint64_t start);

/* How a process has ended, in the form of waitpid(). The process need not be a child of the caller.
 * `pidfd` was opened while it lived. False: Linux does not tell it; before 6.15 it tells it only
 * until the parent of the process has reaped it. */
bool ftc_process_status(int pidfd, pid_t pid, int *status);

#endif
