/* Processes by pid and start time, so that a reused pid is never taken for the one that is
 * meant. */
#ifndef FTC_NODE_SYSTEM_PROCESS_H
#define FTC_NODE_SYSTEM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What can be known of a process. UNKNOWN: it could not be looked at, for want of /proc or of a
 * descriptor. It may live: no rank is declared failed, and no job is removed or left, because of
 * this answer. */
enum ftc_life { FTC_LIFE_GONE, FTC_LIFE_ALIVE, FTC_LIFE_UNKNOWN };

/* Is the process with this pid and start time still there? start 0: any start time. A zombie is
 * gone. */
enum ftc_life ftc_process_life(pid_t pid, uint64_t start);
/* Is it there and stopped, by a signal of job control or by a debugger? */
bool ftc_process_stopped(pid_t pid, uint64_t start);
/* Field 22 of /proc/<pid>/stat. 0: there is no such process, or it cannot be read. */
uint64_t ftc_process_start(pid_t pid);

/* The pid namespace of this process; 0: unknown. Pids from another one mean nothing here. */
uint64_t ftc_process_namespace(void);

int ftc_process_cores(void); /* that the caller may run on; at least 1 */

/* SIGKILL that process, and nobody else if its pid was reused meanwhile, and wait until it is gone,
 * at most timeout_ns. True if it is known to be gone. It need not be a child of the caller. */
bool ftc_process_kill(pid_t pid, uint64_t start, uint64_t timeout_ns);

/* A descriptor for that process, close-on-exec, and never for another one that has its pid since;
 * -1 with errno. ESRCH: it is gone. EPERM: it is another user's. ENOSYS: Linux is older than 5.3.
 * Others: it cannot be looked at. */
int ftc_process_open(pid_t pid, uint64_t start);

/* How a process has ended that need be no child of the caller: as waitpid() would tell. False:
 * Linux does not say it (before 6.15 only until its parent has reaped it). `pidfd` was opened while
 * it lived. */
bool ftc_process_status(int pidfd, pid_t pid, int *status);

#endif
