/*
 * Settings. One schema table (key, type, range, default, help) serves the INI reader, the FTCOLL_*
 * variables, the options, `ftrun --print-config` and the manual. A later source of this list
 * overrides the earlier ones:
 *
 *   1. the defaults
 *   2. /etc/ftcoll.ini
 *   3. ~/.config/ftcoll.ini, or the ftcoll.ini in $XDG_CONFIG_HOME
 *   4. the file that FTCOLL_CONFIG names
 *   5. --config FILE
 *   6. the FTCOLL_<SECTION>_<KEY> variables
 *   7. --set section.key=value
 *
 * No later source changes the keys that the section [locked] of /etc/ftcoll.ini names.
 *
 * An unknown section or key, a wrong type and a value out of range are FTC_ERR_CONFIG. Then nothing
 * starts, and ftc_last_error() names source, line, key and the allowed values.
 */
#ifndef FTC_CONFIG_CONFIG_H
#define FTC_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"
#include "base/settings.h"

enum ftc_config_collectives { FTC_ALGORITHM_AUTO, FTC_ALGORITHM_BOARD, FTC_ALGORITHM_CORRECTED };
enum ftc_config_levels { FTC_LEVELS_AUTO, FTC_LEVELS_ONE };

/* collectives.large */
enum ftc_config_large { FTC_CONFIG_LARGE_AUTO, FTC_CONFIG_LARGE_RING, FTC_CONFIG_LARGE_OFF };

/* The values as configured: auto, or one more than the value in base/settings.h. Dissemination
 * auto: shared memory where all ranks are on one node, else the tree. */
enum ftc_config_dissemination {
    FTC_CONFIG_DISSEMINATION_AUTO,
    FTC_CONFIG_DISSEMINATION_TREE,
    FTC_CONFIG_DISSEMINATION_GOSSIP,
    FTC_CONFIG_DISSEMINATION_MULTICAST,
};
enum ftc_config_correction {
    FTC_CONFIG_CORRECTION_AUTO, /* tree: none; gossip: checked; multicast: ring */
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

/* mpi.failures */
enum ftc_config_mpi_failures {
    FTC_CONFIG_MPI_FAILURES_AUTO,
    FTC_CONFIG_MPI_FAILURES_MASK,
    FTC_CONFIG_MPI_FAILURES_RAISE,
};

#define FTC_CONFIG_SYSTEM_FILE "/etc/ftcoll.ini"

#define FTC_CONFIG_PPM        INT64_C(1000000) /* 100 % in parts per million */
#define FTC_CONFIG_PRESET_PPM INT64_C(2870)    /* lost datagrams (Hoefler, Siebert, Rehm 2007) */
#define FTC_CONFIG_STRING_MAX 127              /* most characters of a string */
#define FTC_CONFIG_LIST_MAX   4                /* elements of a list, with the -1 at its end */
#define FTC_CONFIG_SHM        0                /* shared memory, in transport.order */
#define FTC_CONFIG_VERBS      1                /* the same for verbs */

struct ftc_config {
    int64_t f;                    /* job.f */
    int64_t heartbeat_period_ms;  /* detector.heartbeat_period_ms */
    int64_t heartbeat_timeout_ms; /* detector.heartbeat_timeout_ms */
    bool fence;                   /* detector.fence: kill suspected ranks; off: only report them */
    bool exit_notices;            /* detector.exit_notices: off is for tests of heartbeats alone */
    enum ftc_scheme scheme;       /* failure_info.scheme */
    enum ftc_share share;         /* failure_info.share */
    enum ftc_reduce_tree reduce_tree; /* reduce.tree */
    int64_t reduce_arity;             /* reduce.arity: the arity of the heap */
    enum ftc_take reduce_take;        /* reduce.take: which subtree the root takes */
    int64_t reduce_direct;            /* reduce.direct: 0: auto */
    int64_t reduce_doubling;          /* reduce.doubling: 0: auto */
    /* collectives.rotation: which member coordinates allreduce, barrier and validate. */
    enum ftc_rotation rotation;
    enum ftc_config_dissemination dissemination; /* broadcast.dissemination */
    enum ftc_tree tree;                          /* broadcast.tree */
    int64_t arity;                         /* broadcast.arity: k of the k-ary and Lamé trees */
    enum ftc_config_correction correction; /* broadcast.correction */
    int64_t distance;                      /* broadcast.distance: d; 0: auto */
    int64_t correction_delay_us; /* broadcast.correction_delay_us: pace of correction messages */
    int64_t patience_us;         /* broadcast.patience_us; 0: for ever */
    enum ftc_gossip_bound gossip_bound;    /* broadcast.gossip_bound */
    int64_t gossip_rounds;                 /* broadcast.gossip_rounds; 0: auto */
    int64_t gossip_hop;                    /* broadcast.gossip_hop */
    int64_t broadcast_seed;                /* broadcast.seed */
    int64_t settle_every;                  /* broadcast.settle_every: w; 0: no broadcast settles */
    enum ftc_prepare prepare;              /* collectives.prepare */
    enum ftc_config_collectives algorithm; /* collectives.algorithm */
    enum ftc_config_levels levels;         /* collectives.levels */
    bool direct_copies; /* collectives.direct_copies: ranks may copy between their memories */
    enum ftc_config_large large; /* collectives.large: how large values go across nodes */
    int64_t large_at;            /* collectives.large_at: bytes from which an allreduce is large */
    enum ftc_multicast_transport multicast_transport; /* multicast.transport */
    /* multicast.interface: names, separated by commas. */
    char multicast_interface[FTC_CONFIG_STRING_MAX + 1];
    int64_t multicast_receives;    /* multicast.receives */
    int64_t multicast_least_ranks; /* multicast.least_ranks: with fewer ranks the tree is used */
    int64_t multicast_most_bytes;  /* multicast.most_bytes: with more bytes the tree is used */
    int64_t drill_loss_ppm;        /* drill.multicast_loss */
    int64_t drill_duplicate_ppm;   /* drill.multicast_duplicate */
    int64_t drill_reorder_ppm;     /* drill.multicast_reorder */
    int64_t drill_corrupt_ppm;     /* drill.multicast_corrupt */
    int64_t drill_foreign_ppm;     /* drill.multicast_foreign */
    enum ftc_integrity integrity;  /* integrity.mode */
    /* gossip.algorithm: enum ftc_gossip_algorithm of collectives/gossip/gossip.h. */
    int gossip_algorithm;
    int gossip_neighbourhood;       /* gossip.neighbourhood: enum ftc_neighbourhood_kind */
    double gossip_accuracy;         /* gossip.accuracy: relative */
    double gossip_tau;              /* gossip.tau; 0: auto */
    bool gossip_turns;              /* gossip.turns: for algorithms that can take turns */
    int64_t gossip_patience_us;     /* gossip.patience_us */
    int64_t gossip_most_messages;   /* gossip.most_messages */
    int64_t gossip_most_seconds;    /* gossip.most_seconds */
    int64_t drill_message_loss_ppm; /* drill.message_loss */
    int64_t drill_seed;             /* drill.seed */
    char drill_flip[FTC_CONFIG_STRING_MAX + 1]; /* drill.flip: collectives/values/flip.h reads it */
    /* transport.order: enum ftc_carrier of node/segment/segment.h. */
    int8_t transport_order[FTC_CONFIG_LIST_MAX];
    char tcp_address[FTC_CONFIG_STRING_MAX + 1];   /* transport.tcp_address; empty: all */
    char agent_address[FTC_CONFIG_STRING_MAX + 1]; /* transport.agent_address; empty: tcp_address */
    int64_t tcp_port;                              /* transport.tcp_port: first port; 0: any */
    int64_t tcp_port_last;                         /* transport.tcp_port_last; 0: the first alone */
    char tcp_congestion[FTC_CONFIG_STRING_MAX + 1]; /* transport.tcp_congestion; empty: chosen */
    int seal;                                       /* transport.seal: enum ftc_tcp_seal */
    char verbs_device[FTC_CONFIG_STRING_MAX + 1];   /* transport.verbs_device; empty: the first */
    int64_t verbs_port;                             /* transport.verbs_port: first port; 0: any */
    int64_t verbs_port_last;  /* transport.verbs_port_last; 0: the first alone */
    int64_t verbs_memory;     /* transport.verbs_memory: bytes; 0: set by the number of ranks */
    int64_t verbs_timeout_ms; /* transport.verbs_timeout_ms */
    enum ftc_config_mpi_failures mpi_failures; /* mpi.failures */
    bool history;                              /* trace.history */
    enum ftc_log_level log_level;              /* log.level */
};

enum ftc_config_type {
    FTC_CONFIG_INT,     /* int64_t */
    FTC_CONFIG_BOOL,    /* bool */
    FTC_CONFIG_ENUM,    /* any enum */
    FTC_CONFIG_PERCENT, /* int64_t, parts per million */
    FTC_CONFIG_STRING,  /* char[], one word of printable ASCII; may be empty */
    FTC_CONFIG_REAL,    /* double, above 0 and below the maximum; the word of `names` means 0 */
    FTC_CONFIG_LIST, /* int8_t[]: indices of names in the given order, each once at most, then -1 */
};

/* Without its need a setting has no effect in a job. ftc_choice_idle() says whether a job has the
 * need. */
enum ftc_config_need {
    FTC_NEEDS_NOTHING,   /* the setting has an effect in every job */
    FTC_NEEDS_PEERS,     /* two ranks or more */
    FTC_NEEDS_HOSTS,     /* several hosts */
    FTC_NEEDS_MESSAGES,  /* operations by messages */
    FTC_NEEDS_MASKS,     /* operations that mask f failures, or more */
    FTC_NEEDS_SUBTREES,  /* a reduce up subtrees */
    FTC_NEEDS_HEAP,      /* subtrees that are heaps */
    FTC_NEEDS_DIRECT,    /* operations that could be direct */
    FTC_NEEDS_EXCHANGE,  /* operations that could be an exchange */
    FTC_NEEDS_SPREADING, /* results that spread by the dissemination that is set */
    FTC_NEEDS_ARITY,     /* a broadcast tree that has an arity */
    FTC_NEEDS_DISTANCE,  /* a correction that has a distance */
    FTC_NEEDS_PACE,      /* a correction that sends at a pace */
    FTC_NEEDS_PATIENCE,  /* ranks that wait with patience */
    FTC_NEEDS_ROUNDS,    /* gossip of results */
    FTC_NEEDS_HOPS,      /* gossip of results that counts time */
    FTC_NEEDS_MULTICAST, /* multicast */
    FTC_NEEDS_CARRIER,   /* multicast, or multicast.transport off */
    FTC_NEEDS_RING,      /* exchanges of large values */
    FTC_NEEDS_LARGE,     /* the same, or collectives.large off */
    FTC_NEEDS_COMPARED,  /* messages; with vote: results that can be compared */
    FTC_NEEDS_TCP,       /* channels or agents that use TCP */
    FTC_NEEDS_VERBS,     /* channels that use verbs */
    FTC_NEEDS_CHECKSUMS, /* gossip of values whose flows have checksums */
    FTC_NEEDS_DRILLS,    /* a drill that draws */
    FTC_NEEDS
};

/* A row of the schema. */
struct ftc_config_key {
    const char *section, *key;
    enum ftc_config_type type;
    size_t offset, size;      /* of the field in struct ftc_config */
    int64_t minimum, maximum; /* of FTC_CONFIG_INT, PERCENT (whole percents) and REAL (excluded) */
    const char *const
        *names;           /* FTC_CONFIG_ENUM, LIST: NULL-terminated, index = value; REAL: or NULL */
    const char *fallback; /* the default, as text */
    const char *unit;     /* "ms", "" */
    bool common;          /* most users need it; else it is for experts */
    enum ftc_config_need need;
};
extern const struct ftc_config_key ftc_config_schema[];
extern const size_t ftc_config_schema_size;

/* The help text of a row of the schema, or of the alias: sentences that say what it means. */
const char *ftc_config_help(const struct ftc_config_key *key);

/* broadcast.algorithm is an alias, not a key: one name for the values of two keys,
 * broadcast.dissemination and broadcast.correction. Every source may set it. It sets both keys,
 * whose source is then that of the alias, and is not kept itself. The combinations have the order
 * of the names of the alias. */
struct ftc_config_combination {
    const char *dissemination, *correction;
};
extern const struct ftc_config_key ftc_config_alias;
extern const struct ftc_config_combination ftc_config_combinations[];

/* Texts for help and errors: the variable of a key ("FTCOLL_DETECTOR_FENCE"), and its allowed
 * values ("2..600000 ms", "list, count, bit", or the words of a bool). Both cut the text to `size`
 * bytes and return it. */
char *ftc_config_variable(const struct ftc_config_key *key, char *text, size_t size);
char *ftc_config_allowed(const struct ftc_config_key *key, char *text, size_t size);

/* The value of each key and its source. The arrays have the order of the schema. A function that
 * fails changes nothing. */
struct ftc_settings {
    struct ftc_config value;
    char *source[96]; /* "default", "/etc/ftcoll.ini:3", "FTCOLL_JOB_F", "--set"; owned */
    char *lock[96];   /* the line of /etc/ftcoll.ini that locks the key, or NULL; owned */
    bool locks_hold;  /* true: a locked key takes no other value any more */
    bool common[96];  /* the value is from /etc/ftcoll.ini or the user's file, for all jobs */
};

int ftc_settings_init(struct ftc_settings *settings); /* the defaults */
void ftc_settings_fini(struct ftc_settings *settings);

/* Read an INI file. A missing file is FTC_ERR_CONFIG if `required`, else it is ignored. A directory
 * or an unreadable file is always an error. */
int ftc_settings_read_file(struct ftc_settings *settings, const char *path, bool required);
/* Read INI text from memory. Errors call it `name`. */
int ftc_settings_read_text(struct ftc_settings *settings, const char *text, size_t size,
                           const char *name);
/* Read the administrator's file, if it exists. This file alone may have a section [locked]. A later
 * source that tries to change a locked key is FTC_ERR_CONFIG. A file that an account other than
 * root and the caller could write is FTC_ERR_CONFIG, too. */
int ftc_settings_read_system(struct ftc_settings *settings, const char *path);
/* Read the two standard files: /etc/ftcoll.ini, then the user's. */
int ftc_settings_read_standard(struct ftc_settings *settings);
/* Read the file that FTCOLL_CONFIG names, which must exist. If the variable is empty or not set,
 * read nothing. */
int ftc_settings_read_named(struct ftc_settings *settings, char *const environment[]);
/* Read all FTCOLL_<SECTION>_<KEY> variables of the environment. A key overrides the alias, whatever
 * their order is. Other FTCOLL_* names are errors, except those that the project itself uses (see
 * settings.c). */
int ftc_settings_read_environment(struct ftc_settings *settings, char *const environment[]);
/* Take "section.key=value", as from --set. `source` becomes the source of the key. */
int ftc_settings_set(struct ftc_settings *settings, const char *assignment, const char *source);
/* Check the rules between keys, such as "timeout >= 2 periods". Call this after all sources. */
int ftc_settings_check(const struct ftc_settings *settings);

/* "section.key=value\n" for every key, malloc'ed; NULL when out of memory. The launcher hands this
 * text to the ranks. */
char *ftc_settings_dump(const struct ftc_settings *settings);
/* Read such a text. Every key must be in it: the default of this library for a missing key could
 * differ from the value that other ranks use. */
int ftc_settings_load(struct ftc_settings *settings, const char *text);

/* The settings of member `self` of `ranks` ranks. Values that are auto are chosen here. ranks 0:
 * the number is not known yet, and ftc_config_fit() must follow. The caller sets the size of
 * fragments, because it depends on what carries them. */
struct ftc_member_settings ftc_config_member(const struct ftc_config *config, int ranks, int self);
/* Set the number of ranks in settings that were made for 0 ranks. */
void ftc_config_fit(struct ftc_member_settings *member, int ranks);

/* Is the first carrier of transport.order, which ranks of one node use, another one than shared
 * memory? */
bool ftc_config_leaves_node(const struct ftc_config *config);
/* Is this carrier (enum ftc_carrier of node/segment/segment.h) in transport.order? */
bool ftc_config_goes_by(const struct ftc_config *config, int carrier);
/* Which setting asks for messages instead of the board, in words such as "[integrity] mode asks for
 * messages"; NULL: none does. */
const char *ftc_config_asks_for_messages(const struct ftc_config *config);
/* collectives.algorithm. Auto is decided for a job of so many nodes. */
enum ftc_config_collectives ftc_config_algorithm(const struct ftc_config *config, int nodes);

/* Was this key (its index in the schema) given by any source? */
bool ftc_settings_named(const struct ftc_settings *settings, size_t index);
/* The same, by a source that is for this job and not for all, and with another value than the
 * default. */
bool ftc_settings_chosen(const struct ftc_settings *settings, size_t index);

/* Print keys with value, source, range, default and help, for `--print-config`: all keys, or those
 * that are common or were named. idle(need, arg) says why a setting with that need has no effect in
 * the job, or NULL; the keys that were named are marked so. idle NULL: none is. The text can be
 * read as an INI file. */
typedef const char *ftc_settings_idle_fn(enum ftc_config_need need, void *arg);
void ftc_settings_print(const struct ftc_settings *settings, bool all, ftc_settings_idle_fn *idle,
                        void *arg, FILE *out);

#endif
