/* The environment of the ranks: that of ftrun without the variables of an outer PMIx server, then
 * -x, then what PMIx and ftrun add. Also: the environment that a process shows in /proc. */
#ifndef FTC_LAUNCHER_ENVIRONMENT_H
#define FTC_LAUNCHER_ENVIRONMENT_H

#include <stdbool.h>
#include <sys/types.h>

/* A NULL-terminated, growing list of "NAME=value" strings. Each is malloc'ed, as PMIx's argv
 * functions need it. */
struct ftc_environment {
    char **at;
    int count;
};

/* Copy `from` without two kinds of variables: PMIX_* other than PMIX_MCA_*, which belong to the
 * PMIx server that started ftrun, and the token of an ftrun in front, which no rank may have.
 * FTC_ERR_NOMEM. */
int ftc_environment_copy(struct ftc_environment *environment, char *const from[]);
void ftc_environment_fini(struct ftc_environment *environment); /* legal when zeroed */

/* Set or replace "NAME=value". FTC_ERR_NOMEM. */
int ftc_environment_set(struct ftc_environment *environment, const char *assignment);
/* Set "NAME=value" unless NAME is set already. FTC_ERR_NOMEM. */
int ftc_environment_default(struct ftc_environment *environment, const char *assignment);

/* Does the variable `entry` belong to the PMIx server that started this process, if any? */
int ftc_environment_foreign(const char *entry);

/* Does process `pid` show this entry, "NAME=value", in the environment that it was started with?
 * *any becomes true if the process shows any entry. A process that has ended, or is about to end,
 * shows none. */
bool ftc_environment_shows(pid_t pid, const char *entry, bool *any);

#endif
