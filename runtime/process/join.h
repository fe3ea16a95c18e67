/* Joining a job, and leaving it: the life of struct ftc_process. */
#ifndef FTC_RUNTIME_PROCESS_JOIN_H
#define FTC_RUNTIME_PROCESS_JOIN_H

#include "include/ftcoll.h"
#include "runtime/process/process.h"

/* Makes this process a rank of its job: finds out which, reads the settings, attaches to the
 * segment of the node and opens the transport. `options` are those of ftc_init(); NULL: none.
 * Errors: those of ftc_init(). */
int ftc_process_join(struct ftc_process **out, const ftc_options *options);

/* Closes all that is open. The communicators must be closed before, and the thread stopped. After
 * an ftc_init() that has failed the process may try again. */
void ftc_process_close(struct ftc_process *process);

#endif
