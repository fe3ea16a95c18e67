/* Finding the program before anything is started. */
#ifndef FTC_LAUNCHER_PROGRAM_H
#define FTC_LAUNCHER_PROGRAM_H

/*
 * The path to execute for `name`, as execvp() would choose it after chdir(directory) (NULL: here):
 * a name with a slash is taken as it is, others are looked up in $PATH. *path is malloc'ed. On
 * error *exit_code is 126 (there, but not executable) or 127 (not found), and FTC_ERR_ARG,
 * FTC_ERR_SYSTEM or FTC_ERR_NOMEM is returned.
 */
int ftc_program_find(const char *name, const char *directory, char **path, int *exit_code);

#endif
