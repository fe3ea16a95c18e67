/* What the program can learn about the settings of the job. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "config/value.h"
#include "runtime/api/call.h"
#include "runtime/comm/comm.h"

/* The setting that `name` means, "SECTION.KEY"; NULL: there is none. */
static const struct ftc_config_key *find(const char *name)
{
    const char *dot = strchr(name, '.');
    char section[32];

    if (dot == NULL || (size_t)(dot - name) >= sizeof(section))
        return NULL;
    snprintf(section, sizeof(section), "%.*s", (int)(dot - name), name);
    int index = ftc_config_find(section, dot + 1);
    return index < 0 ? NULL : &ftc_config_schema[index];
}

FTC_API int ftc_setting(const ftc_comm *comm, const char *name, char *value, size_t size)
{
    char text[FTC_CONFIG_TEXT];
    int rc = ftc_call_begin(comm);

    if (rc != FTC_SUCCESS)
        return rc;
    const struct ftc_config_key *key = name == NULL || value == NULL ? NULL : find(name);
    if (key == NULL)
        return ftc_call_end(comm, ftc_error_set(FTC_ERR_ARG, "there is no setting of this name; "
                                                             "ftcoll.ini(5) lists all"));
    ftc_config_format(key, &comm->process->config, text, sizeof(text));
    if (strlen(text) >= size)
        return ftc_call_end(comm, ftc_error_set(FTC_ERR_SIZE, "the value of %s takes %zu bytes",
                                                name, strlen(text) + 1));
    memcpy(value, text, strlen(text) + 1);
    return ftc_call_end(comm, FTC_SUCCESS);
}
