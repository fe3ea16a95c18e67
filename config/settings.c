/* Settings: the values and their sources, and reading the sources that are no files: defaults,
 * variables, options. */
#include "config/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "config/value.h"

#define VARIABLE_PREFIX "FTCOLL_"

/* FTCOLL_* variables that are no settings. The project, or a test, sets them for its own
 * processes. */
static const char *const own_variables[] = {"FTCOLL_JOB_SEGMENT", "FTCOLL_RANK", "FTCOLL_CONFIG",
                                            "FTCOLL_FTRUN"};
static const char test_prefix[] = "FTCOLL_TEST_";

/* --- one value --- */

static int refuse_key(const char *section, const char *key, const char *source)
{
    char name[FTC_CONFIG_TEXT], quoted[FTC_CONFIG_TEXT];
    const struct ftc_config_key *nearest = ftc_config_nearest(section, key);
    snprintf(name, sizeof(name), "%s%s%s", section, section[0] != '\0' ? "." : "", key);
    ftc_config_quote(name, quoted);
    if (section[0] == '\0')
        return ftc_error_set(
            FTC_ERR_CONFIG, "%s: %s: a key without a section%s%s%s", source, quoted,
            nearest != NULL ? "; did you mean [" : "; begin with a line like [job]",
            nearest != NULL ? nearest->section : "", nearest != NULL ? "]?" : "");
    if (nearest != NULL)
        return ftc_error_set(FTC_ERR_CONFIG, "%s: %s: no such key; did you mean %s.%s?", source,
                             quoted, nearest->section, nearest->key);
    return ftc_error_set(FTC_ERR_CONFIG,
                         "%s: %s: no such key; `ftrun --print-config --all` lists them", source,
                         quoted);
}

static bool is_alias(const char *section, const char *key)
{
    return strcmp(section, ftc_config_alias.section) == 0 && strcmp(key, ftc_config_alias.key) == 0;
}

/* Set both keys, or none of them. */
static int apply_alias(struct ftc_settings *settings, const char *value, const char *source)
{
    struct ftc_settings draft;
    int choice = 0;
    int rc = ftc_config_choose(&ftc_config_alias, value, source, &choice);
    if (rc == FTC_SUCCESS)
        rc = ftc_settings_draft(settings, &draft);
    if (rc != FTC_SUCCESS)
        return rc;
    const struct ftc_config_combination *pair = &ftc_config_combinations[choice];
    rc = ftc_settings_apply(&draft, "broadcast", "dissemination", pair->dissemination, source);
    if (rc == FTC_SUCCESS)
        rc = ftc_settings_apply(&draft, "broadcast", "correction", pair->correction, source);
    return ftc_settings_conclude(settings, &draft, rc);
}

int ftc_settings_apply(struct ftc_settings *settings, const char *section, const char *key,
                       const char *value, const char *source)
{
    int index = ftc_config_find(section, key);
    if (index < 0)
        return is_alias(section, key) ? apply_alias(settings, value, source)
                                      : refuse_key(section, key, source);
    if (settings->locks_hold && settings->lock[index] != NULL)
        return ftc_settings_apply_locked(settings, (size_t)index, value, source);
    char *copy = strdup(source);
    if (copy == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory while reading the settings");
    int rc = ftc_config_parse(&ftc_config_schema[index], value, source, &settings->value);
    if (rc != FTC_SUCCESS) {
        free(copy);
        return rc;
    }
    free(settings->source[index]);
    settings->source[index] = copy;
    settings->common[index] = false;
    return FTC_SUCCESS;
}

/* --- all values --- */

int ftc_settings_init(struct ftc_settings *settings)
{
    struct ftc_settings defaults = {0};
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        const struct ftc_config_key *key = &ftc_config_schema[i];
        int rc = ftc_settings_apply(&defaults, key->section, key->key, key->fallback, "default");
        if (rc != FTC_SUCCESS) {
            ftc_settings_fini(&defaults);
            return rc;
        }
    }
    *settings = defaults;
    return FTC_SUCCESS;
}

void ftc_settings_fini(struct ftc_settings *settings)
{
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        free(settings->source[i]);
        free(settings->lock[i]);
    }
    memset(settings, 0, sizeof(*settings));
}

/* Copy the texts that are not NULL. False: out of memory. */
static bool copy_texts(char *const *from, char **to)
{
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        if (from[i] == NULL)
            continue;
        to[i] = strdup(from[i]);
        if (to[i] == NULL)
            return false;
    }
    return true;
}

int ftc_settings_draft(const struct ftc_settings *settings, struct ftc_settings *draft)
{
    struct ftc_settings copy = {.value = settings->value, .locks_hold = settings->locks_hold};
    memcpy(copy.common, settings->common, sizeof(copy.common));
    if (!copy_texts(settings->source, copy.source) || !copy_texts(settings->lock, copy.lock)) {
        ftc_settings_fini(&copy);
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory while reading the settings");
    }
    *draft = copy;
    return FTC_SUCCESS;
}

int ftc_settings_conclude(struct ftc_settings *settings, struct ftc_settings *draft, int rc)
{
    if (rc != FTC_SUCCESS) {
        ftc_settings_fini(draft);
        return rc;
    }
    ftc_settings_fini(settings);
    *settings = *draft;
    return FTC_SUCCESS;
}

/* --- variables and options --- */

static bool is_own_variable(const char *name)
{
    if (strncmp(name, test_prefix, sizeof(test_prefix) - 1) == 0)
        return true;
    for (size_t i = 0; i < sizeof(own_variables) / sizeof(own_variables[0]); i++)
        if (strcmp(name, own_variables[i]) == 0)
            return true;
    return false;
}

static int refuse_variable(const char *name)
{
    char quoted[FTC_CONFIG_TEXT], variable[FTC_CONFIG_TEXT];
    const struct ftc_config_key *nearest = ftc_config_nearest_variable(name);
    ftc_config_quote(name, quoted);
    if (nearest != NULL)
        return ftc_error_set(FTC_ERR_CONFIG,
                             "environment variable %s: no such setting; did you mean %s?", quoted,
                             ftc_config_variable(nearest, variable, sizeof(variable)));
    return ftc_error_set(FTC_ERR_CONFIG,
                         "environment variable %s: no such setting; unset it (`ftrun "
                         "--print-config --all` lists them)",
                         quoted);
}

static bool is_alias_variable(const char *name)
{
    char variable[FTC_CONFIG_TEXT];
    return strcmp(name, ftc_config_variable(&ftc_config_alias, variable, sizeof(variable))) == 0;
}

/* The alias is applied before the keys, so that a variable for one of its keys overrides it,
 * whatever their order in the environment is. */
static int apply_alias_variable(struct ftc_settings *settings, const char *name, const char *value)
{
    if (!is_alias_variable(name))
        return FTC_SUCCESS;
    return ftc_settings_apply(settings, ftc_config_alias.section, ftc_config_alias.key, value,
                              name);
}

static int apply_variable(struct ftc_settings *settings, const char *name, const char *value)
{
    char variable[FTC_CONFIG_TEXT];
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        const struct ftc_config_key *key = &ftc_config_schema[i];
        if (strcmp(name, ftc_config_variable(key, variable, sizeof(variable))) == 0)
            return ftc_settings_apply(settings, key->section, key->key, value, variable);
    }
    if (is_alias_variable(name))
        return FTC_SUCCESS;
    return is_own_variable(name) ? FTC_SUCCESS : refuse_variable(name);
}

/* Call `apply` for one "NAME=value" of the environment, if the name begins with FTCOLL_. */
static int read_variable(struct ftc_settings *settings, const char *entry,
                         int (*apply)(struct ftc_settings *settings, const char *name,
                                      const char *value))
{
    const char *equals = strchr(entry, '=');
    if (equals == NULL || strncmp(entry, VARIABLE_PREFIX, sizeof(VARIABLE_PREFIX) - 1) != 0)
        return FTC_SUCCESS;
    char *name = strndup(entry, (size_t)(equals - entry));
    if (name == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory while reading the environment");
    int rc = apply(settings, name, equals + 1);
    free(name);
    return rc;
}

int ftc_settings_read_environment(struct ftc_settings *settings, char *const environment[])
{
    struct ftc_settings draft;
    int rc = ftc_settings_draft(settings, &draft);
    if (rc != FTC_SUCCESS)
        return rc;
    for (size_t i = 0; rc == FTC_SUCCESS && environment[i] != NULL; i++)
        rc = read_variable(&draft, environment[i], apply_alias_variable);
    for (size_t i = 0; rc == FTC_SUCCESS && environment[i] != NULL; i++)
        rc = read_variable(&draft, environment[i], apply_variable);
    return ftc_settings_conclude(settings, &draft, rc);
}

int ftc_settings_set(struct ftc_settings *settings, const char *assignment, const char *source)
{
    char quoted[FTC_CONFIG_TEXT];
    const char *equals = strchr(assignment, '=');
    const char *dot =
        equals != NULL ? memchr(assignment, '.', (size_t)(equals - assignment)) : NULL;
    if (dot == NULL)
        return ftc_error_set(FTC_ERR_CONFIG, "%s: %s is not of the form section.key=value", source,
                             ftc_config_quote(assignment, quoted));
    int rc = FTC_ERR_NOMEM;
    char *section = strndup(assignment, (size_t)(dot - assignment));
    char *key = strndup(dot + 1, (size_t)(equals - dot - 1));
    if (section != NULL && key != NULL)
        rc = ftc_settings_apply(settings, section, key, equals + 1, source);
    else
        ftc_error_set(rc, "out of memory while reading the settings");
    free(key);
    free(section);
    return rc;
}

/* --- rules between keys --- */

static const char *source_of(const struct ftc_settings *settings, const char *section,
                             const char *key)
{
    return settings->source[ftc_config_find(section, key)];
}

/* The value of a key, as text. */
static const char *value_of(const struct ftc_settings *settings, const char *section,
                            const char *key, char text[FTC_CONFIG_TEXT])
{
    return ftc_config_format(&ftc_config_schema[ftc_config_find(section, key)], &settings->value,
                             text, FTC_CONFIG_TEXT);
}

static int check_heartbeats(const struct ftc_settings *settings)
{
    const struct ftc_config *value = &settings->value;
    if (value->heartbeat_timeout_ms >= 2 * value->heartbeat_period_ms)
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "detector.heartbeat_timeout_ms: %lld ms (%s) is less than two heartbeat periods of %lld "
        "ms (%s): one late heartbeat would count as a failure; set at least %lld",
        (long long)value->heartbeat_timeout_ms,
        source_of(settings, "detector", "heartbeat_timeout_ms"),
        (long long)value->heartbeat_period_ms,
        source_of(settings, "detector", "heartbeat_period_ms"),
        2 * (long long)value->heartbeat_period_ms);
}

static int check_notices(const struct ftc_settings *settings)
{
    if (settings->value.exit_notices || settings->value.fence)
        return FTC_SUCCESS;
    return ftc_error_set(FTC_ERR_CONFIG,
                         "detector.exit_notices: off (%s) needs detector.fence on (%s): else no "
                         "failure is ever declared",
                         source_of(settings, "detector", "exit_notices"),
                         source_of(settings, "detector", "fence"));
}

static int check_tree(const struct ftc_settings *settings)
{
    if (settings->value.tree != FTC_TREE_KARY || settings->value.arity >= 2)
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "broadcast.arity: %lld (%s) is too small for broadcast.tree kary (%s): set at least 2",
        (long long)settings->value.arity, source_of(settings, "broadcast", "arity"),
        source_of(settings, "broadcast", "tree"));
}

/* A dissemination other than auto needs messages, which the board does not send. */
static int check_board(const struct ftc_settings *settings)
{
    char dissemination[FTC_CONFIG_TEXT];
    if (settings->value.algorithm != FTC_ALGORITHM_BOARD ||
        settings->value.dissemination == FTC_CONFIG_DISSEMINATION_AUTO)
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "broadcast.dissemination: %s (%s) needs messages, but collectives.algorithm is board (%s): "
        "set one of them to auto",
        value_of(settings, "broadcast", "dissemination", dissemination),
        source_of(settings, "broadcast", "dissemination"),
        source_of(settings, "collectives", "algorithm"));
}

static int check_multicast(const struct ftc_settings *settings)
{
    if (settings->value.dissemination != FTC_CONFIG_DISSEMINATION_MULTICAST ||
        settings->value.multicast_transport != FTC_MULTICAST_OFF)
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "broadcast.dissemination: multicast (%s) needs datagrams, but multicast.transport "
        "is off (%s): set another dissemination",
        source_of(settings, "broadcast", "dissemination"),
        source_of(settings, "multicast", "transport"));
}

/* The board has neither messages to check nor subtrees to compare. A vote needs the lists of
 * failures to know which results can be compared. */
static int check_integrity(const struct ftc_settings *settings)
{
    char mode[FTC_CONFIG_TEXT], scheme[FTC_CONFIG_TEXT];
    const struct ftc_config *value = &settings->value;
    if (value->integrity != FTC_INTEGRITY_NONE && value->algorithm == FTC_ALGORITHM_BOARD)
        return ftc_error_set(
            FTC_ERR_CONFIG,
            "integrity.mode: %s (%s) needs messages, but collectives.algorithm is board (%s): "
            "set that to auto or corrected, or the mode to none",
            value_of(settings, "integrity", "mode", mode), source_of(settings, "integrity", "mode"),
            source_of(settings, "collectives", "algorithm"));
    if (value->integrity == FTC_INTEGRITY_VOTE && value->scheme != FTC_SCHEME_LIST)
        return ftc_error_set(
            FTC_ERR_CONFIG,
            "integrity.mode: vote (%s) needs to know whose inputs a result leaves out, which "
            "failure_info.scheme %s (%s) does not say: set that to list",
            source_of(settings, "integrity", "mode"),
            value_of(settings, "failure_info", "scheme", scheme),
            source_of(settings, "failure_info", "scheme"));
    return FTC_SUCCESS;
}

/* Can gossip or datagrams miss a rank that no correction is sure to reach either? Only a PULL then
 * reaches it (docs/design/broadcast.md, "PULL"). */
static bool may_miss(const struct ftc_config *value)
{
    if (value->dissemination != FTC_CONFIG_DISSEMINATION_GOSSIP &&
        value->dissemination != FTC_CONFIG_DISSEMINATION_MULTICAST)
        return false;
    return value->correction == FTC_CONFIG_CORRECTION_NONE ||
           value->correction == FTC_CONFIG_CORRECTION_OPPORTUNISTIC ||
           value->correction == FTC_CONFIG_CORRECTION_OPTIMISED ||
           value->correction == FTC_CONFIG_CORRECTION_DELAYED;
}

static int check_patience(const struct ftc_settings *settings)
{
    char dissemination[FTC_CONFIG_TEXT], correction[FTC_CONFIG_TEXT];
    if (settings->value.patience_us > 0 || !may_miss(&settings->value))
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "broadcast.patience_us: 0 (%s) with broadcast.dissemination %s (%s) and "
        "broadcast.correction %s (%s): a rank that was missed would wait for ever; set a "
        "patience, or checked correction",
        source_of(settings, "broadcast", "patience_us"),
        value_of(settings, "broadcast", "dissemination", dissemination),
        source_of(settings, "broadcast", "dissemination"),
        value_of(settings, "broadcast", "correction", correction),
        source_of(settings, "broadcast", "correction"));
}

/* Neither datagrams nor verbs can be sealed (docs/design/tcp.md, "Seal"). */
static int check_seal(const struct ftc_settings *settings)
{
    char seal[FTC_CONFIG_TEXT];
    const struct ftc_config *value = &settings->value;
    if (value->seal == 0)
        return FTC_SUCCESS;
    if (value->dissemination == FTC_CONFIG_DISSEMINATION_MULTICAST)
        return ftc_error_set(
            FTC_ERR_CONFIG,
            "transport.seal: %s (%s) cannot protect datagrams, which broadcast.dissemination "
            "multicast (%s) sends: set another dissemination, or seal to off",
            value_of(settings, "transport", "seal", seal), source_of(settings, "transport", "seal"),
            source_of(settings, "broadcast", "dissemination"));
    if (value->transport_order[0] == FTC_CONFIG_VERBS && value->transport_order[1] < 0)
        return ftc_error_set(
            FTC_ERR_CONFIG,
            "transport.seal: %s (%s) cannot protect messages by verbs, and transport.order (%s) "
            "has nothing else: add tcp to the order, or set seal to off",
            value_of(settings, "transport", "seal", seal), source_of(settings, "transport", "seal"),
            source_of(settings, "transport", "order"));
    return FTC_SUCCESS;
}

static int check_range(const struct ftc_settings *settings, const char *first, int64_t from,
                       const char *last, int64_t to)
{
    if (to == 0 || (from > 0 && from <= to))
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_CONFIG,
        "transport.%s: %lld (%s) ends no range that begins with transport.%s %lld (%s): set both, "
        "the last above the first",
        last, (long long)to, source_of(settings, "transport", last), first, (long long)from,
        source_of(settings, "transport", first));
}

static int check_ports(const struct ftc_settings *settings)
{
    const struct ftc_config *value = &settings->value;
    int rc =
        check_range(settings, "tcp_port", value->tcp_port, "tcp_port_last", value->tcp_port_last);
    return rc != 0 ? rc
                   : check_range(settings, "verbs_port", value->verbs_port, "verbs_port_last",
                                 value->verbs_port_last);
}

int ftc_settings_check(const struct ftc_settings *settings)
{
    static int (*const rules[])(const struct ftc_settings *) = {
        check_heartbeats, check_notices,  check_tree,  check_board, check_integrity,
        check_multicast,  check_patience, check_ports, check_seal};
    int rc = FTC_SUCCESS;
    for (size_t i = 0; rc == FTC_SUCCESS && i < sizeof(rules) / sizeof(rules[0]); i++)
        rc = rules[i](settings);
    return rc;
}
