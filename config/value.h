/* What the files of this room share: finding a key, parsing and printing a value, changing settings
 * as a whole. */
#ifndef FTC_CONFIG_VALUE_H
#define FTC_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"

/* Room for any text about a key: a variable's name, a value, what is allowed. */
#define FTC_CONFIG_TEXT 128

/* Index in the schema, or -1. */
int ftc_config_find(const char *section, const char *key);
bool ftc_config_has_section(const char *section);

/* The key that `section`.`key` was probably meant to be, NULL if none is near; `section` "" is
 * legal. */
const struct ftc_config_key *ftc_config_nearest(const char *section, const char *key);
/* The same for the name of a section, and of a variable. */
const char *ftc_config_nearest_section(const char *section);
const struct ftc_config_key *ftc_config_nearest_variable(const char *name);

/* Input in quotes for an error text: control characters become '?', long input is cut. Returns
 * text. */
char *ftc_config_quote(const char *input, char text[FTC_CONFIG_TEXT]);

/* Parse one value into its field. FTC_ERR_CONFIG naming `source` and what is allowed: nothing has
 * changed. */
int ftc_config_parse(const struct ftc_config_key *key, const char *value, const char *source,
                     struct ftc_config *config);
/* The same for the index of a name of an FTC_CONFIG_ENUM. */
int ftc_config_choose(const struct ftc_config_key *key, const char *value, const char *source,
                      int *choice);

/* The value of a key in words, as it is written in a file. Returns text. */
char *ftc_config_format(const struct ftc_config_key *key, const struct ftc_config *config,
                        char *text, size_t size);

/* Parse and store one value; `source` is copied. FTC_ERR_CONFIG, FTC_ERR_NOMEM: nothing has
 * changed. */
int ftc_settings_apply(struct ftc_settings *settings, const char *section, const char *key,
                       const char *value, const char *source);
/* The same for a key that is locked: FTC_ERR_CONFIG unless `value` is the one that it has. */
int ftc_settings_apply_locked(const struct ftc_settings *settings, size_t index, const char *value,
                              const char *source);
/* A line of the section [locked]: `names` are sections and keys, separated by commas. */
int ftc_settings_lock(struct ftc_settings *settings, const char *key, const char *names,
                      const char *source);

/* Several changes that are made together or not at all: change `draft`, then commit or drop it. */
int ftc_settings_draft(const struct ftc_settings *settings, struct ftc_settings *draft);
/* Ends the draft: takes it over if rc is FTC_SUCCESS, else drops it. Returns rc. */
int ftc_settings_conclude(struct ftc_settings *settings, struct ftc_settings *draft, int rc);

#endif
