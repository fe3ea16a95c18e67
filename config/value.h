/* Functions that the files of config/ share: finding a key, parsing and printing a value, changing
 * several settings together. */
#ifndef FTC_CONFIG_VALUE_H
#define FTC_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"

/* Room for any text about a key: the name of its variable, a value, the allowed values. */
#define FTC_CONFIG_TEXT 128

/* The index of the key in the schema, or -1. */
int ftc_config_find(const char *section, const char *key);
bool ftc_config_has_section(const char *section);

/* The key whose name is nearest to `section`.`key`, for "did you mean"; NULL if none is near.
 * `section` may be "". */
const struct ftc_config_key *ftc_config_nearest(const char *section, const char *key);
/* The same for the name of a section, and for that of a variable. */
const char *ftc_config_nearest_section(const char *section);
const struct ftc_config_key *ftc_config_nearest_variable(const char *name);

/* Put untrusted input in quotes for an error text. Control characters become '?', and long input is
 * cut. Returns text. */
char *ftc_config_quote(const char *input, char text[FTC_CONFIG_TEXT]);

/* Parse one value into its field. FTC_ERR_CONFIG: the value is wrong, and nothing has changed; the
 * error names `source` and the allowed values. */
int ftc_config_parse(const struct ftc_config_key *key, const char *value, const char *source,
                     struct ftc_config *config);
/* The same for a key of type FTC_CONFIG_ENUM, with the index of the name in *choice. */
int ftc_config_choose(const struct ftc_config_key *key, const char *value, const char *source,
                      int *choice);

/* The value of a key as text, in the form that an INI file has. Returns text. */
char *ftc_config_format(const struct ftc_config_key *key, const struct ftc_config *config,
                        char *text, size_t size);

/* Parse and store one value, and a copy of `source`. After FTC_ERR_CONFIG or FTC_ERR_NOMEM nothing
 * has changed. */
int ftc_settings_apply(struct ftc_settings *settings, const char *section, const char *key,
                       const char *value, const char *source);
/* Check a value for a locked key. FTC_ERR_CONFIG unless the key already has this value. */
int ftc_settings_apply_locked(const struct ftc_settings *settings, size_t index, const char *value,
                              const char *source);
/* Take a line of the section [locked]. `names` are sections and keys, separated by commas or
 * blanks. */
int ftc_settings_lock(struct ftc_settings *settings, const char *key, const char *names,
                      const char *source);

/* A copy of the settings. Changes that must be made together are made in the copy. Then
 * ftc_settings_conclude() takes the copy over if rc is FTC_SUCCESS, else drops it, and returns
 * rc. */
int ftc_settings_draft(const struct ftc_settings *settings, struct ftc_settings *draft);
int ftc_settings_conclude(struct ftc_settings *settings, struct ftc_settings *draft, int rc);

#endif
