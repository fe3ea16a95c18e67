/* Finding the program before anything is started. */
#ifndef FTC_LAUNCHER_PROGRAM_H
#define FTC_LAUNCHER_PROGRAM_H

/*
 * Find the path to execute for `name`, as execvp() would find it after chdir(directory) (NULL:
 * here). A name with a slash is taken as it is; other names are looked up in $PATH. *path is
 * malloc'ed.
 *
 * On error the function returns FTC_ERR_ARG, FTC_ERR_SYSTEM or FTC_ERR_NOMEM. *exit_code is then
 * 126 (the file is there, but is not executable) or 127 (not found).
 */
int ftc_program_find(const char *name, const char *directory, char **path, int *exit_code);

#endif
