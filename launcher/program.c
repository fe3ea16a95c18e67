/* Looks the program up, and checks that it can be executed. So a typing error costs one line of
 * output, and starts no rank. */
#include "launcher/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "launcher/options.h"

/* Returns 0, or the errno that says why `path`, seen from directory `at`, cannot be executed. */
static int judge(int at, const char *path)
{
    struct stat st;
    if (fstatat(at, path, &st, 0) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if (!S_ISREG(st.st_mode))
        return EACCES;
    return faccessat(at, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

static bool missing(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

/* Search $PATH. *path becomes the first file that can be executed. If there is none, the function
 * returns the errno of the last file that was there, or ENOENT. */
static int search(int at, const char *name, char **path)
{
    const char *list = getenv("PATH");
    int reason = ENOENT;
    if (list == NULL)
        list = "/usr/local/bin:/usr/bin:/bin";
    for (const char *entry = list;; entry++) {
        size_t length = strcspn(entry, ":");
        char *candidate;
        /* An empty entry stands for the working directory. */
        if (asprintf(&candidate, "%.*s%s%s", (int)length, entry, length > 0 ? "/" : "./", name) < 0)
            return ENOMEM;
        int error = judge(at, candidate);
        if (error == 0) {
            *path = candidate;
            return 0;
        }
        free(candidate);
        if (!missing(error))
            reason = error;
        entry += length;
        if (*entry == '\0')
            return reason;
    }
}

static int refuse(const char *name, int error, int *exit_code)
{
    *exit_code = missing(error) ? FTC_EXIT_NOT_FOUND : FTC_EXIT_NOT_EXECUTABLE;
    errno = error;
    if (error == ENOENT && strchr(name, '/') == NULL)
        return ftc_error_set(FTC_ERR_ARG,
                             "program '%s' was not found in $PATH; give a path such as ./%s", name,
                             name);
    if (missing(error))
        return ftc_error_set(FTC_ERR_ARG, "program '%s' was not found: %m; check the path", name);
    if (error == EISDIR)
        return ftc_error_set(FTC_ERR_ARG, "'%s' is a directory; give the program in it", name);
    return ftc_error_set(FTC_ERR_ARG,
                         "program '%s' cannot be executed: %m; check its mode (chmod +x)", name);
}

int ftc_program_find(const char *name, const char *directory, char **path, int *exit_code)
{
    int at = AT_FDCWD;
    if (directory != NULL) {
        at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (at < 0) {
            *exit_code = FTC_EXIT_USAGE;
            return ftc_error_set(FTC_ERR_ARG, "--wdir %s: %m; give an existing directory",
                                 directory);
        }
    }
    char *found = NULL;
    int error;
    if (strchr(name, '/') != NULL) {
        error = judge(at, name);
        if (error == 0) {
            found = strdup(name);
            error = found == NULL ? ENOMEM : 0;
        }
    } else {
        error = search(at, name, &found);
    }
    if (at != AT_FDCWD)
        close(at);
    if (error != 0)
        return refuse(name, error, exit_code);
    *path = found;
    return FTC_SUCCESS;
}
