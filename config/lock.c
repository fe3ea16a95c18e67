/* Keys that /etc/ftcoll.ini locks: no later source may give them another value. */
#include "config/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "config/value.h"

/* "transport" covers every key of that section, "transport.order" only that key. */
static bool covers(const char *name, const struct ftc_config_key *key)
{
    size_t size = strlen(key->section);
    if (strncmp(name, key->section, size) != 0)
        return false;
    return name[size] == '\0' || (name[size] == '.' && strcmp(name + size + 1, key->key) == 0);
}

static int lock_key(struct ftc_settings *settings, size_t index, const char *source)
{
    char *copy = strdup(source);
    if (copy == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory while reading the settings");
    free(settings->lock[index]);
    settings->lock[index] = copy;
    return FTC_SUCCESS;
}

static int refuse_name(const char *name, const char *source)
{
    char section[FTC_CONFIG_TEXT], quoted[FTC_CONFIG_TEXT];
    const char *dot = strchrnul(name, '.');
    snprintf(section, sizeof(section), "%.*s", (int)(dot - name), name);
    const struct ftc_config_key *nearest = ftc_config_nearest(section, *dot != '\0' ? dot + 1 : "");
    ftc_config_quote(name, quoted);
    if (nearest != NULL)
        return ftc_error_set(FTC_ERR_CONFIG,
                             "%s: %s: no such section or key to lock; did you mean %s.%s?", source,
                             quoted, nearest->section, nearest->key);
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "%s: %s: no such section or key to lock; `ftrun --print-config --all` lists them", source,
        quoted);
}

static int lock_name(struct ftc_settings *settings, const char *name, const char *source)
{
    bool found = false;
    int rc = FTC_SUCCESS;
    if (covers(name, &ftc_config_alias) && strchr(name, '.') != NULL) {
        rc = lock_name(settings, "broadcast.dissemination", source);
        return rc == FTC_SUCCESS ? lock_name(settings, "broadcast.correction", source) : rc;
    }
    for (size_t i = 0; rc == FTC_SUCCESS && i < ftc_config_schema_size; i++) {
        if (!covers(name, &ftc_config_schema[i]))
            continue;
        found = true;
        rc = lock_key(settings, i, source);
    }
    return rc == FTC_SUCCESS && !found ? refuse_name(name, source) : rc;
}

int ftc_settings_lock(struct ftc_settings *settings, const char *key, const char *names,
                      const char *source)
{
    static const char between[] = ", \t";
    char name[FTC_CONFIG_TEXT], quoted[FTC_CONFIG_TEXT];
    int rc = FTC_SUCCESS;
    if (strcmp(key, "keys") != 0)
        return ftc_error_set(FTC_ERR_CONFIG, "%s: %s: no such key; [locked] has `keys` alone",
                             source, ftc_config_quote(key, quoted));
    names += strspn(names, between);
    while (rc == FTC_SUCCESS && *names != '\0') {
        size_t length = strcspn(names, between);
        snprintf(name, sizeof(name), "%.*s", (int)length, names);
        rc = lock_name(settings, name, source);
        names += length;
        names += strspn(names, between);
    }
    return rc;
}

/* A value that the key already has is no error, so that the output of --print-config can be read
 * back. */
int ftc_settings_apply_locked(const struct ftc_settings *settings, size_t index, const char *value,
                              const char *source)
{
    const struct ftc_config_key *key = &ftc_config_schema[index];
    struct ftc_config wished = settings->value;
    char here[FTC_CONFIG_TEXT], there[FTC_CONFIG_TEXT], quoted[FTC_CONFIG_TEXT];
    int rc = ftc_config_parse(key, value, source, &wished);
    if (rc != FTC_SUCCESS)
        return rc;
    ftc_config_format(key, &wished, here, sizeof(here));
    ftc_config_format(key, &settings->value, there, sizeof(there));
    if (strcmp(here, there) == 0)
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "%s: %s.%s: %s is not allowed: the administrator has locked it (%s) at %s; "
        "leave this setting out",
        source, key->section, key->key, ftc_config_quote(here, quoted), settings->lock[index],
        there[0] != '\0' ? there : "the empty value");
}
