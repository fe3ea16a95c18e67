#include "endpoint_files.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "transport/tcp/endpoint.h"

static const char *job_directory;

void endpoint_files_in(const char *directory)
{
    job_directory = directory;
}

const char *endpoint_files_look_up(void *context, int rank)
{
    static char text[FTC_TCP_ENDPOINT_SIZE];
    char path[256];
    (void)context;
    snprintf(path, sizeof(path), "%s/endpoint.%d", job_directory, rank);
    FILE *file = fopen(path, "r");
    bool there = file != NULL && fgets(text, sizeof(text), file) != NULL;
    if (file != NULL)
        fclose(file);
    return there ? text : NULL;
}

/* Publishes the file whole or not at all, because another process may be looking. */
int endpoint_files_publish(const char *endpoint, int rank)
{
    char path[256], draft[256];
    snprintf(path, sizeof(path), "%s/endpoint.%d", job_directory, rank);
    snprintf(draft, sizeof(draft), "%s/draft.%d", job_directory, rank);
    FILE *file = fopen(draft, "w");
    if (file == NULL || fputs(endpoint, file) < 0 || fclose(file) != 0 || rename(draft, path) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot write %s: %m", path);
    return 0;
}
