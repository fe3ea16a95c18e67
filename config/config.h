/*
 * Settings: one schema table (key, type, range, default, help) from which the INI reader, FTCOLL_*
 * variables, flags, `ftrun --print-config` and the manual are made. Precedence, later wins:
 * defaults, /etc/ftcoll.ini, ~/.config/ftcoll.ini ($XDG_CONFIG_HOME), the file of FTCOLL_CONFIG,
 * --config FILE, FTCOLL_<SECTION>_<KEY> variables, --set section.key=value. What the section
 * [locked] of /etc/ftcoll.ini names keeps its value.
 *
 * Strict: an unknown section or key, a wrong type or a value out of range is FTC_ERR_CONFIG with
 * source, line, key and what is allowed in ftc_last_error(); nothing starts.
 */
#ifndef FTC_CONFIG_CONFIG_H
#define FTC_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"
#include "base/settings.h"

enum ftc_algorithm { FTC_ALGORITHM_AUTO, FTC_ALGORITHM_BOARD, FTC_ALGORITHM_CORRECTED };
enum ftc_config_levels { FTC_LEVELS_AUTO, FTC_LEVELS_ONE };

/* collectives.large */
enum ftc_config_large { FTC_CONFIG_LARGE_AUTO, FTC_CONFIG_LARGE_RING, FTC_CONFIG_LARGE_OFF };

/* What was wished for: auto, or one more than the value in base/settings.h. */
enum ftc_config_dissemination {
    FTC_CONFIG_DISSEMINATION_AUTO, /* in shared memory where all ranks are on one node, else the tree */
    FTC_CONFIG_DISSEMINATION_TREE,
    FTC_CONFIG_DISSEMINATION_GOSSIP,
    FTC_CONFIG_DISSEMINATION_MULTICAST,
};
enum ftc_config_correction {
    FTC_CONFIG_CORRECTION_AUTO, /* none for tree, checked for gossip, ring for multicast */
    FTC_CONFIG_CORRECTION_NONE,
    FTC_CONFIG_CORRECTION_OPPORTUNISTIC,
    FTC_CONFIG_CORRECTION_OPTIMISED,
    FTC_CONFIG_CORRECTION_CHECKED,
    FTC_CONFIG_CORRECTION_THROTTLED,
    FTC_CONFIG_CORRECTION_FAILURE_PROOF,
    FTC_CONFIG_CORRECTION_DELAYED,
    FTC_CONFIG_CORRECTION_RING,
};

/* What carries multicast datagrams. */
enum ftc_multicast_transport { FTC_MULTICAST_UDP, FTC_MULTICAST_VERBS, FTC_MULTICAST_OFF };

#define FTC_CONFIG_SYSTEM_FILE "/etc/ftcoll.ini"

#define FTC_CONFIG_PPM        INT64_C(1000000) /* all of it, where a share is in parts per million */
#define FTC_CONFIG_PRESET_PPM INT64_C(2870)    /* lost datagrams (Hoefler, Siebert, Rehm 2007) */
#define FTC_CONFIG_STRING_MAX 127              /* characters of a string */
#define FTC_CONFIG_LIST_MAX   4                /* places of a list with its end */
#define FTC_CONFIG_SHM        0                /* in transport.order: shared memory */

struct ftc_config {
    int64_t f;                    /* job.f */
    int64_t heartbeat_period_ms;  /* detector.heartbeat_period_ms */
    int64_t heartbeat_timeout_ms; /* detector.heartbeat_timeout_ms */
    bool fence;                   /* detector.fence: kill what is suspected; off: only report it */
    bool exit_notices;      /* detector.exit_notices: off is a test switch, heartbeats alone */
    enum ftc_scheme scheme; /* failure_info.scheme */
    enum ftc_share share;   /* failure_info.share */
    enum ftc_reduce_tree reduce_tree; /* reduce.tree */
    int64_t reduce_arity;             /* reduce.arity: of the heap */
    int64_t reduce_direct;            /* reduce.direct: 0: auto */
    int64_t reduce_doubling;          /* reduce.doubling: 0: auto */
    enum ftc_rotation
        rotation; /* collectives.rotation: coordinator of allreduce, barrier, validate */
    enum ftc_config_dissemination dissemination; /* broadcast.dissemination */
    enum ftc_tree tree;                          /* broadcast.tree */
    int64_t arity;                         /* broadcast.arity: k of the k-ary and Lamé trees */
    enum ftc_config_correction correction; /* broadcast.correction */
    int64_t distance;                      /* broadcast.distance: d; 0: auto */
    int64_t correction_delay_us; /* broadcast.correction_delay_us: pace of correction messages */
    int64_t patience_us;         /* broadcast.patience_us; 0: for ever */
    enum ftc_gossip_bound gossip_bound; /* broadcast.gossip_bound */
    int64_t gossip_rounds;              /* broadcast.gossip_rounds; 0: auto */
    int64_t gossip_hop;                 /* broadcast.gossip_hop */
    int64_t broadcast_seed;             /* broadcast.seed */
    int64_t settle_every;               /* broadcast.settle_every: w; 0: never */
    enum ftc_prepare prepare;           /* collectives.prepare */
    enum ftc_algorithm algorithm;       /* collectives.algorithm */
    enum ftc_config_levels levels;      /* collectives.levels */
    bool direct_copies;          /* collectives.direct_copies: between the memories of two ranks */
    enum ftc_config_large large; /* collectives.large: how large allreduces go across nodes */
    int64_t large_at;            /* collectives.large_at: from so many bytes on */
    enum ftc_multicast_transport multicast_transport; /* multicast.transport */
    char multicast_interface[FTC_CONFIG_STRING_MAX +
                             1];   /* multicast.interface: names, separated by commas */
    int64_t multicast_receives;    /* multicast.receives */
    int64_t multicast_least_ranks; /* multicast.least_ranks: down the tree with fewer */
    int64_t multicast_most_bytes;  /* multicast.most_bytes: ... or with more */
    int64_t drill_loss_ppm;        /* drill.multicast_loss */
    int64_t drill_duplicate_ppm;   /* drill.multicast_duplicate */
    int64_t drill_reorder_ppm;     /* drill.multicast_reorder */
    int64_t drill_corrupt_ppm;     /* drill.multicast_corrupt */
    int64_t drill_foreign_ppm;     /* drill.multicast_foreign */
    enum ftc_integrity integrity;  /* integrity.mode */
    int gossip_algorithm; /* gossip.algorithm: enum ftc_gossip_algorithm of collectives/gossip/gossip.h */
    int gossip_neighbourhood;       /* gossip.neighbourhood: enum ftc_neighbourhood_kind */
    double gossip_accuracy;         /* gossip.accuracy: relative */
    bool gossip_turns;              /* gossip.turns: where the algorithm can take them */
    int64_t gossip_patience_us;     /* gossip.patience_us */
    int64_t gossip_most_messages;   /* gossip.most_messages */
    int64_t gossip_most_seconds;    /* gossip.most_seconds */
    int64_t drill_message_loss_ppm; /* drill.message_loss */
    int64_t drill_seed;             /* drill.seed */
    char drill_flip[FTC_CONFIG_STRING_MAX + 1]; /* drill.flip: collectives/values/flip.h reads it */
    int8_t transport_order
        [FTC_CONFIG_LIST_MAX]; /* transport.order: enum ftc_carrier of node/segment/segment.h */
    char tcp_address[FTC_CONFIG_STRING_MAX + 1];   /* transport.tcp_address; empty: all */
    char agent_address[FTC_CONFIG_STRING_MAX + 1]; /* transport.agent_address; empty: tcp_address */
    int64_t tcp_port;                              /* transport.tcp_port: the first; 0: any */
    int64_t tcp_port_last;                         /* transport.tcp_port_last; 0: the first alone */
    char tcp_congestion[FTC_CONFIG_STRING_MAX + 1]; /* transport.tcp_congestion; empty: chosen */
    char verbs_device[FTC_CONFIG_STRING_MAX + 1];   /* transport.verbs_device; empty: the first */
    int64_t verbs_port;                             /* transport.verbs_port: the first; 0: any */
    int64_t verbs_port_last;      /* transport.verbs_port_last; 0: the first alone */
    int64_t verbs_memory;         /* transport.verbs_memory: bytes; 0: by the number of ranks */
    int64_t verbs_timeout_ms;     /* transport.verbs_timeout_ms */
    enum ftc_log_level log_level; /* log.level */
};

enum ftc_config_type {
    FTC_CONFIG_INT,      /* int64_t */
    FTC_CONFIG_BOOL,     /* bool */
    FTC_CONFIG_ENUM,     /* any enum */
    FTC_CONFIG_PERCENT,  /* int64_t, parts per million */
    FTC_CONFIG_STRING,   /* char[], one word of printable ASCII; may be empty */
    FTC_CONFIG_FRACTION, /* double, above 0 and below 1 */
    FTC_CONFIG_LIST, /* int8_t[]: indices of names in the order given, each at most once, then -1 */
};

/* A row of the schema. */
struct ftc_config_key {
    const char *section, *key;
    enum ftc_config_type type;
    size_t offset, size;      /* of the field in struct ftc_config */
    int64_t minimum, maximum; /* FTC_CONFIG_INT; FTC_CONFIG_PERCENT, whole percents */
    const char *const *names; /* FTC_CONFIG_ENUM, FTC_CONFIG_LIST: NULL-terminated, index = value */
    const char *fallback;     /* default, as text */
    const char *unit;         /* "ms", "" */
    const char *help;         /* one sentence */
};
extern const struct ftc_config_key ftc_config_schema[];
extern const size_t ftc_config_schema_size;

/* broadcast.algorithm: no key but a name for the values of two, broadcast.dissemination and
 * broadcast.correction. It is read wherever a key is, sets both as from its own source, and is not
 * kept. The combinations stand in the order of the alias's names. */
struct ftc_config_combination {
    const char *dissemination, *correction;
};
extern const struct ftc_config_key ftc_config_alias;
extern const struct ftc_config_combination ftc_config_combinations[];

/* "FTCOLL_DETECTOR_FENCE", and "2..600000 ms", "list, count, bit" or the words of a bool: for help
 * and errors. Cut if they do not fit. Return text. */
char *ftc_config_variable(const struct ftc_config_key *key, char *text, size_t size);
char *ftc_config_allowed(const struct ftc_config_key *key, char *text, size_t size);

/* Values with where each came from, index as in the schema. A function that fails leaves both
 * alone. */
struct ftc_settings {
    struct ftc_config value;
    char *source[64]; /* "default", "/etc/ftcoll.ini:3", "FTCOLL_JOB_F", "--set"; owned */
    char *lock[64];   /* the line of the system's file that locks the key, or NULL; owned */
    bool locks_hold;  /* from here on a locked key takes no other value */
};

int ftc_settings_init(struct ftc_settings *settings); /* the defaults */
void ftc_settings_fini(struct ftc_settings *settings);

/* Read an INI file. A missing one is FTC_ERR_CONFIG if `required`, else ignored; a directory or an
 * unreadable one is an error always. */
int ftc_settings_read_file(struct ftc_settings *settings, const char *path, bool required);
/* The same from memory; `name` stands for the file in errors. */
int ftc_settings_read_text(struct ftc_settings *settings, const char *text, size_t size,
                           const char *name);
/* The administrator's file, if it is there. It alone may have a section [locked], whose keys no
 * later source can change: such a try is FTC_ERR_CONFIG. So is a file that an account other than
 * root and the caller could write. */
int ftc_settings_read_system(struct ftc_settings *settings, const char *path);
/* The two standard files, in order. */
int ftc_settings_read_standard(struct ftc_settings *settings);
/* The file that FTCOLL_CONFIG names, which has to be there; none if it is empty or not set. */
int ftc_settings_read_named(struct ftc_settings *settings, char *const environment[]);
/* All FTCOLL_<SECTION>_<KEY> variables of the environment, a key before the alias, in whatever
 * order they stand; unknown FTCOLL_* names of that form are errors, except those the project uses
 * itself (see settings.c). */
int ftc_settings_read_environment(struct ftc_settings *settings, char *const environment[]);
/* "section.key=value", as from --set; `source` is kept as the origin. */
int ftc_settings_set(struct ftc_settings *settings, const char *assignment, const char *source);
/* Rules between keys (a timeout of at least two periods), after all sources. */
int ftc_settings_check(const struct ftc_settings *settings);

/* "section.key=value\n" for every key: what the launcher hands to the ranks; read back by
 * ftc_settings_load(), which wants every key: a default of its own could differ from what the other
 * ranks were given. */
char *
ftc_settings_dump(const struct ftc_settings *settings); /* malloc'ed, NULL when out of memory */
int ftc_settings_load(struct ftc_settings *settings, const char *text);

/* For `self` of `ranks` ranks, which a run has and a configuration has not. What is auto is chosen
 * here. Ranks 0: not known yet, and ftc_config_fit() has to follow. The size of fragments is left
 * to the caller, who knows what carries them. */
struct ftc_member_settings ftc_config_member(const struct ftc_config *config, int ranks, int self);
/* Give settings that were made for 0 ranks a number of ranks. */
void ftc_config_fit(struct ftc_member_settings *member, int ranks);

/* Do messages between ranks of one node go another way than by shared memory? */
bool ftc_config_leaves_node(const struct ftc_config *config);
/* Is this carrier (enum ftc_carrier of node/segment/segment.h) in transport.order? */
bool ftc_config_goes_by(const struct ftc_config *config, int carrier);
/* collectives.algorithm, with auto decided for a job of so many nodes. */
enum ftc_algorithm ftc_config_algorithm(const struct ftc_config *config, int nodes);

/* INI text with value, origin, range, default and help of every key, for `--print-config`; it is
 * itself readable as an INI file. */
void ftc_settings_print(const struct ftc_settings *settings, FILE *out);

#endif
