/* Lists of environment variables. */
#include "launcher/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "launcher/engine.h"

int ftc_environment_foreign(const char *entry)
{
    return strncmp(entry, "PMIX_", 5) == 0 && strncmp(entry, "PMIX_MCA_", 9) != 0;
}

/* Takes over `entry`, even when it fails. */
static int append(struct ftc_environment *environment, char *entry)
{
    char **grown = NULL;
    if (entry != NULL)
        grown = reallocarray(environment->at, (size_t)environment->count + 2, sizeof(*grown));
    if (grown == NULL) {
        free(entry);
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    }
    grown[environment->count++] = entry;
    grown[environment->count] = NULL;
    environment->at = grown;
    return FTC_SUCCESS;
}

/* The token proves to the ftrun in front that an agent wrote the line. No rank may have it. */
static bool is_for_ranks(const char *entry)
{
    return !ftc_environment_foreign(entry) &&
           strncmp(entry, FTC_ENGINE_TOKEN "=", sizeof(FTC_ENGINE_TOKEN)) != 0;
}

int ftc_environment_copy(struct ftc_environment *environment, char *const from[])
{
    *environment = (struct ftc_environment){0};
    for (int i = 0; from[i] != NULL; i++) {
        if (!is_for_ranks(from[i]))
            continue;
        int rc = append(environment, strdup(from[i]));
        if (rc != FTC_SUCCESS) {
            ftc_environment_fini(environment);
            return rc;
        }
    }
    return FTC_SUCCESS;
}

void ftc_environment_fini(struct ftc_environment *environment)
{
    for (int i = 0; i < environment->count; i++)
        free(environment->at[i]);
    free(environment->at);
    *environment = (struct ftc_environment){0};
}

/* Index of the variable that `assignment` names. -1: it is not in the list. */
static int find(const struct ftc_environment *environment, const char *assignment)
{
    size_t length = strcspn(assignment, "=");
    for (int i = 0; i < environment->count; i++)
        if (strncmp(environment->at[i], assignment, length) == 0 &&
            environment->at[i][length] == '=')
            return i;
    return -1;
}

int ftc_environment_set(struct ftc_environment *environment, const char *assignment)
{
    int at = find(environment, assignment);
    char *copy = strdup(assignment);
    if (at < 0)
        return append(environment, copy);
    if (copy == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    free(environment->at[at]);
    environment->at[at] = copy;
    return FTC_SUCCESS;
}

int ftc_environment_default(struct ftc_environment *environment, const char *assignment)
{
    return find(environment, assignment) >= 0 ? FTC_SUCCESS
                                              : ftc_environment_set(environment, assignment);
}

bool ftc_environment_shows(pid_t pid, const char *entry, bool *any)
{
    char path[40], *shown = NULL;
    size_t room = 0;
    bool found = false;

    *any = false;
    snprintf(path, sizeof(path), "/proc/%ld/environ", (long)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && getdelim(&shown, &room, '\0', file) > 0) {
        *any = true;
        found = strcmp(shown, entry) == 0;
    }
    if (file != NULL)
        fclose(file);
    free(shown);
    return found;
}
