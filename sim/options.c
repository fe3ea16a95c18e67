/* The command lines of ftcoll-sim: the table of the common options, and that of the command. */
#include "sim/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/wrap.h"

#define RANKS_MAX    1048576
#define OPTIONS_MAX  64 /* options of a command plus the common ones */
#define FRAGMENT_MAX 65536

/* One setting of the command line. It is applied after the file of --config, wherever that option
 * stands. */
struct assignment {
    char *text;   /* "section.key=value" */
    char *source; /* "--scheme" */
};

struct parse {
    struct ftc_setup *setup;
    const struct ftc_usage *usage;
    const struct ftc_option *own[OPTIONS_MAX];
    /* own, common: for each index one of the two entries is NULL */
    const struct row *common[OPTIONS_MAX];
    int count;
    const char *config;
    struct assignment *assignment;
    int assignments;
    uint64_t ranks, fragment;
    enum ftc_parsed parsed;
};

/* A common option. If it has a key it is a setting; else `take` gets the struct parse. */
struct row {
    struct ftc_option option;
    const char *key;
};

/* --- numbers --- */

int ftc_option_number(const char *option, const char *text, uint64_t minimum, uint64_t maximum,
                      uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    bool sound = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
    if (!sound || number < minimum || number > maximum)
        return ftc_error_set(FTC_ERR_ARG, "%s %s: not a whole number in range; give %llu to %llu",
                             option, text, (unsigned long long)minimum,
                             (unsigned long long)maximum);
    *out = number;
    return 0;
}

int ftc_option_real(const char *option, const char *text, double minimum, double maximum,
                    double *out)
{
    char *end = NULL;
    double number = strtod(text, &end);
    bool sound = end != text && *end == '\0' && text[0] != ' ' && isfinite(number);
    if (!sound || number < minimum || number > maximum)
        return ftc_error_set(FTC_ERR_ARG, "%s %s: not a number in range; give %g to %g", option,
                             text, minimum, maximum);
    *out = number;
    return 0;
}

/* --- the common options --- */

/* The row of "section.key" in the schema. */
static size_t find_key(const char *name)
{
    const char *dot = strchr(name, '.');
    size_t section = (size_t)(dot - name);

    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        const struct ftc_config_key *key = &ftc_config_schema[i];
        if (strlen(key->section) == section && strncmp(key->section, name, section) == 0 &&
            strcmp(key->key, dot + 1) == 0)
            return i;
    }
    assert(!"a key that the schema does not have");
    return 0;
}

static int most_ranks(const struct ftc_usage *usage)
{
    return usage->most_ranks > 0 ? usage->most_ranks : RANKS_MAX;
}

static int no_memory(void)
{
    return ftc_error_set(FTC_ERR_NOMEM, "out of memory while reading the command line");
}

/* Remember "KEY=VALUE", or KEY alone if value is NULL. `option` gave it ("-f", "--set"). */
static int assign(struct parse *parse, const char *key, const char *value, const char *dashes,
                  const char *option)
{
    struct assignment *grown =
        realloc(parse->assignment, ((size_t)parse->assignments + 1) * sizeof(*parse->assignment));
    if (grown == NULL)
        return no_memory();
    parse->assignment = grown;
    struct assignment *last = &grown[parse->assignments];
    *last = (struct assignment){0};
    if (asprintf(&last->text, "%s%s%s", key, value != NULL ? "=" : "", value != NULL ? value : "") <
        0)
        return no_memory();
    if (asprintf(&last->source, "%s%s", dashes, option) < 0) {
        free(last->text);
        return no_memory();
    }
    parse->assignments++;
    return 0;
}

static int take_ranks(void *arg, const char *text)
{
    struct parse *parse = arg;

    parse->setup->ranks_given = true;
    return ftc_option_number("-n", text, 1, (uint64_t)most_ranks(parse->usage), &parse->ranks);
}

static int take_f(void *arg, const char *text)
{
    struct parse *parse = arg;

    parse->setup->f_given = true;
    return assign(parse, "job.f", text, "-", "f");
}

/* Append an operation, or several with commas, to what was given before. */
static int take_ops(void *arg, const char *text)
{
    struct parse *parse = arg;
    const char *before = parse->setup->ops;
    char *joined = NULL;

    if (asprintf(&joined, "%s%s%s", before != NULL ? before : "", before != NULL ? "," : "", text) <
        0)
        return no_memory();
    free((char *)before);
    parse->setup->ops = joined;
    return 0;
}

static int take_seed(void *arg, const char *text)
{
    struct parse *parse = arg;

    parse->setup->seed_given = true;
    return ftc_option_number("--seed", text, 0, INT64_MAX, &parse->setup->seed);
}

static int take_config(void *arg, const char *text)
{
    struct parse *parse = arg;

    if (text[0] == '\0')
        return ftc_error_set(FTC_ERR_ARG, "--config has an empty argument; give a path");
    parse->config = text;
    return 0;
}

static int take_set(void *arg, const char *text)
{
    return assign(arg, text, NULL, "--", "set");
}

/* The name of a tree is also a value of --dissemination: --dissemination lame. */
static int take_dissemination(void *arg, const char *text)
{
    const char *const *trees = ftc_config_schema[find_key("broadcast.tree")].names;

    for (int i = 0; trees[i] != NULL; i++)
        if (strcmp(text, trees[i]) == 0) {
            int rc = assign(arg, "broadcast.tree", text, "--", "dissemination");
            return rc == 0 ? assign(arg, "broadcast.dissemination", "tree", "--", "dissemination")
                           : rc;
        }
    return assign(arg, "broadcast.dissemination", text, "--", "dissemination");
}

static int take_fragment(void *arg, const char *text)
{
    return ftc_option_number("--fragment", text, 1, FRAGMENT_MAX, &((struct parse *)arg)->fragment);
}

static int take_help(void *arg, const char *text)
{
    (void)text;
    ((struct parse *)arg)->parsed = FTC_PARSED_HELP;
    return 0;
}

static int take_version(void *arg, const char *text)
{
    (void)text;
    ((struct parse *)arg)->parsed = FTC_PARSED_VERSION;
    return 0;
}

#define ALIAS "broadcast.algorithm"

/* An option without `help` has the help of its key in the schema. */
static const struct row rows[] = {
    {{"ranks", 'n', "N", "number of ranks", take_ranks}, NULL},
    {{"masked", 'f', "F", "failures that one operation masks without a second round", take_f},
     "job.f"},
    {{"ops", 0, "LIST", "operations, as \"allreduce,bcast:2,barrier*3\"; the same as naming each",
      take_ops},
     NULL},
    {{"seed", 's', "SEED", "the seed of everything random (default: 1)", take_seed}, NULL},
    {{"scheme", 0, "SCHEME", NULL, NULL}, "failure_info.scheme"},
    {{"share", 0, "SHARE", NULL, NULL}, "failure_info.share"},
    {{"rotation", 0, "POLICY", NULL, NULL}, "collectives.rotation"},
    {{"reduce-tree", 0, "TREE", NULL, NULL}, "reduce.tree"},
    {{"reduce-arity", 0, "K", NULL, NULL}, "reduce.arity"},
    {{"direct", 0, "RANKS", NULL, NULL}, "reduce.direct"},
    {{"doubling", 0, "RANKS", NULL, NULL}, "reduce.doubling"},
    {{"take", 0, "WHICH", NULL, NULL}, "reduce.take"},
    {{"algorithm", 0, "NAME", NULL, NULL}, ALIAS},
    {{"dissemination", 0, "HOW", NULL, take_dissemination}, "broadcast.dissemination"},
    {{"tree", 0, "TREE", NULL, NULL}, "broadcast.tree"},
    {{"arity", 0, "K", NULL, NULL}, "broadcast.arity"},
    {{"correction", 0, "KIND", NULL, NULL}, "broadcast.correction"},
    {{"distance", 0, "D", NULL, NULL}, "broadcast.distance"},
    {{"correction-delay", 0, "US", NULL, NULL}, "broadcast.correction_delay_us"},
    {{"patience", 0, "US", NULL, NULL}, "broadcast.patience_us"},
    {{"gossip-bound", 0, "WHAT", NULL, NULL}, "broadcast.gossip_bound"},
    {{"gossip-rounds", 0, "ROUNDS", NULL, NULL}, "broadcast.gossip_rounds"},
    {{"gossip-hop", 0, "ROUNDS", NULL, NULL}, "broadcast.gossip_hop"},
    {{"broadcast-seed", 0, "SEED", NULL, NULL}, "broadcast.seed"},
    {{"fragment", 0, "BYTES",
      "how many bytes of a result go in one datagram, 1 to 65536 (default: 4096)", take_fragment},
     NULL},
    {{"settle-every", 0, "W", NULL, NULL}, "broadcast.settle_every"},
    {{"prepare", 0, "HOW", NULL, NULL}, "collectives.prepare"},
    {{"integrity", 0, "MODE", NULL, NULL}, "integrity.mode"},
    {{"flip", 0, "FLIP,...", NULL, NULL}, "drill.flip"},
    {{"config", 0, "FILE", "read settings from this INI file; no other file is read", take_config},
     NULL},
    {{"set", 0, "SECTION.KEY=VALUE", "one setting; wins over the file; may be repeated", take_set},
     NULL},
    {{"help", 'h', NULL, "print this text, and exit", take_help}, NULL},
    {{"version", 'V', NULL, "print the version, and exit", take_version}, NULL},
};
#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

const char *ftc_setup_option(const char *key, size_t length)
{
    for (int i = 0; i < ROWS; i++)
        if (rows[i].key != NULL && strlen(rows[i].key) == length &&
            strncmp(rows[i].key, key, length) == 0)
            return rows[i].option.name;
    return NULL;
}

/* --- getopt --- */

/* A command's own option hides a common one of the same name. */
static bool is_hidden(const struct ftc_usage *usage, const char *name)
{
    if (usage->seedless && strcmp(name, "seed") == 0)
        return true;
    for (const struct ftc_option *own = usage->option; own != NULL && own->name != NULL; own++)
        if (strcmp(own->name, name) == 0)
            return true;
    return false;
}

static void gather(struct parse *parse, const struct ftc_usage *usage)
{
    for (const struct ftc_option *own = usage->option; own != NULL && own->name != NULL; own++) {
        assert(parse->count < OPTIONS_MAX);
        parse->own[parse->count++] = own;
    }
    for (int i = 0; i < ROWS; i++) {
        assert(parse->count < OPTIONS_MAX);
        if (!is_hidden(usage, rows[i].option.name))
            parse->common[parse->count++] = &rows[i];
    }
}

static const struct ftc_option *option_at(const struct parse *parse, int i)
{
    return parse->own[i] != NULL ? parse->own[i] : &parse->common[i]->option;
}

/* Long options return 256 + index. */
static void build_tables(const struct parse *parse, struct option *longs, char *letters)
{
    *letters++ = '-'; /* operations may stand between options */
    *letters++ = ':'; /* makes getopt tell a missing argument from an unknown option */
    for (int i = 0; i < parse->count; i++) {
        const struct ftc_option *option = option_at(parse, i);
        bool argument = option->argument != NULL;
        *longs++ = (struct option){option->name, argument ? required_argument : no_argument, NULL,
                                   256 + i};
        if (option->letter == 0)
            continue;
        *letters++ = option->letter;
        if (argument)
            *letters++ = ':';
    }
    *longs = (struct option){NULL, 0, NULL, 0};
    *letters = '\0';
}

static int find(const struct parse *parse, int code)
{
    if (code >= 256)
        return code - 256;
    for (int i = 0; i < parse->count; i++)
        if (option_at(parse, i)->letter == code)
            return i;
    return -1;
}

static int take(struct parse *parse, void *command, int i, const char *text)
{
    const struct ftc_option *option = option_at(parse, i);

    if (parse->own[i] != NULL)
        return option->take(command, text);
    if (option->take != NULL)
        return option->take(parse, text);
    return assign(parse, parse->common[i]->key, text, "--", option->name);
}

static int refuse(int code, const char *word)
{
    if (code == ':')
        return ftc_error_set(FTC_ERR_ARG, "option %s needs an argument; see --help", word);
    if (optopt > 0 && optopt < 256)
        return ftc_error_set(FTC_ERR_ARG, "unknown option -%c; see --help", optopt);
    return ftc_error_set(FTC_ERR_ARG, "unknown, ambiguous or overfull option %s; see --help", word);
}

static int read_words(struct parse *parse, void *command, int argc, char **argv)
{
    struct option longs[OPTIONS_MAX + 1];
    char letters[3 + 2 * OPTIONS_MAX];
    int rc = 0, code;

    build_tables(parse, longs, letters);
    opterr = 0;
    optind = 0;
    while (rc == 0 && parse->parsed == FTC_PARSED_RUN &&
           (code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (code == ':' || code == '?')
            return refuse(code, argv[optind - 1]);
        rc = code == 1 ? take_ops(parse, optarg) : take(parse, command, find(parse, code), optarg);
    }
    for (int i = optind; rc == 0 && parse->parsed == FTC_PARSED_RUN && i < argc; i++)
        rc = take_ops(parse, argv[i]); /* after "--" */
    return rc;
}

/* --- settings --- */

/* f < n (agreement.md, Model): a default f is reduced, a given f is refused. */
static int fit_f(struct ftc_settings *settings, int ranks)
{
    const char *source = settings->source[find_key("job.f")];
    char text[32];

    if (ranks == 0 || settings->value.f < ranks)
        return 0;
    if (strcmp(source, "default") != 0)
        return ftc_error_set(
            FTC_ERR_ARG, "f is %lld (%s) but there are only %d ranks; give f 0 to %d or more ranks",
            (long long)settings->value.f, source, ranks, ranks - 1);
    snprintf(text, sizeof(text), "job.f=%d", ranks - 1);
    return ftc_settings_set(settings, text, "default");
}

static int read_settings(const struct parse *parse, struct ftc_settings *settings)
{
    int rc = ftc_settings_init(settings);

    if (rc == 0 && parse->config != NULL)
        rc = ftc_settings_read_file(settings, parse->config, true);
    for (int i = 0; rc == 0 && i < parse->assignments; i++)
        rc = ftc_settings_set(settings, parse->assignment[i].text, parse->assignment[i].source);
    if (rc == 0)
        rc = fit_f(settings, (int)parse->ranks);
    return rc == 0 ? ftc_settings_check(settings) : rc;
}

static int understand(struct parse *parse)
{
    struct ftc_setup *setup = parse->setup;
    int rc = read_settings(parse, &setup->settings);

    if (rc != 0)
        return rc;
    setup->member = ftc_config_member(&setup->settings.value, (int)parse->ranks, 0);
    setup->member.fragment = (uint32_t)parse->fragment;
    rc = ftc_flips_parse(setup->settings.value.drill_flip, &setup->flips);
    if (rc != 0)
        return rc;
    setup->member.flips = ftc_flips_any(&setup->flips) ? &setup->flips : NULL;
    if (setup->ops == NULL)
        return 0;
    return ftc_program_parse(&setup->program, setup->ops,
                             setup->ranks_given ? (int)parse->ranks : RANKS_MAX);
}

int ftc_setup_parse(struct ftc_setup *setup, const struct ftc_usage *usage, void *command, int argc,
                    char **argv, enum ftc_parsed *parsed)
{
    struct parse parse = {.setup = setup, .usage = usage, .fragment = FTC_SETUP_FRAGMENT};

    *setup = (struct ftc_setup){.seed = 1};
    gather(&parse, usage);
    int rc = read_words(&parse, command, argc, argv);
    if (rc == 0 && parse.parsed == FTC_PARSED_RUN)
        rc = understand(&parse);
    for (int i = 0; i < parse.assignments; i++) {
        free(parse.assignment[i].text);
        free(parse.assignment[i].source);
    }
    free(parse.assignment);
    *parsed = parse.parsed;
    return rc;
}

void ftc_setup_fini(struct ftc_setup *setup)
{
    ftc_settings_fini(&setup->settings);
    ftc_program_fini(&setup->program);
    free((char *)setup->ops);
    setup->ops = NULL;
}

bool ftc_setup_begin(struct ftc_setup *setup, const struct ftc_usage *usage, void *command,
                     int argc, char **argv, int *code)
{
    enum ftc_parsed parsed;
    int rc = ftc_setup_parse(setup, usage, command, argc, argv, &parsed);

    *code = FTC_SIM_EXIT_OK;
    if (rc == 0 && parsed == FTC_PARSED_RUN)
        return true;
    if (rc != 0) {
        fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
        *code = rc == FTC_ERR_NOMEM ? FTC_SIM_EXIT_ERROR : FTC_SIM_EXIT_USAGE;
    } else if (parsed == FTC_PARSED_HELP) {
        ftc_setup_help(usage, stdout);
    } else {
        printf("ftcoll-sim %s\n", ftc_version());
    }
    ftc_setup_fini(setup);
    return false;
}

/* --- help --- */

#define HELP_COLUMN 28

static void print_option(const struct ftc_option *option, const char *help, FILE *out)
{
    char name[64];
    const char *space = option->argument != NULL ? " " : "";
    const char *argument = option->argument != NULL ? option->argument : "";

    if (option->letter != 0)
        snprintf(name, sizeof(name), "-%c, --%s%s%s", option->letter, option->name, space,
                 argument);
    else
        snprintf(name, sizeof(name), "    --%s%s%s", option->name, space, argument);
    fprintf(out, "  %-*s  %s", HELP_COLUMN, name, help);
}

/* Further values of a setting beside those of its key. NULL: none. */
static const char *const *more_words(const struct row *row)
{
    return row->option.take == take_dissemination
               ? ftc_config_schema[find_key("broadcast.tree")].names
               : NULL;
}

static void print_common(const struct ftc_usage *usage, const struct row *row, FILE *out)
{
    char allowed[128];

    if (row->option.help != NULL) {
        print_option(&row->option, row->option.help, out);
        if (row->option.take == take_ranks)
            fprintf(out, ", 1 to %d", most_ranks(usage));
        fputc('\n', out);
        return;
    }
    bool alias = strcmp(row->key, ALIAS) == 0;
    const struct ftc_config_key *key =
        alias ? &ftc_config_alias : &ftc_config_schema[find_key(row->key)];
    print_option(&row->option, ftc_config_help(key), out);
    fprintf(out, "\n  %-*s  %s (%s%s%s", HELP_COLUMN, "", row->key, key->fallback,
            alias ? "" : ": ", ftc_config_allowed(key, allowed, sizeof(allowed)));
    for (const char *const *word = more_words(row); word != NULL && *word != NULL; word++)
        fprintf(out, ", %s", *word);
    fputs(")\n", out);
}

/* Does a command without a communicator have this option, too? */
static bool is_for_all(const char *name)
{
    return strcmp(name, "seed") == 0 || strcmp(name, "help") == 0 || strcmp(name, "version") == 0;
}

static bool is_offered(const struct ftc_usage *usage, const char *name)
{
    return !is_hidden(usage, name) && (!usage->alone || is_for_all(name));
}

bool ftc_setup_common(const struct ftc_usage *usage, int i, struct ftc_option_text *text)
{
    int row = 0;

    while (row < ROWS && (!is_offered(usage, rows[row].option.name) || i-- > 0))
        row++;
    if (row == ROWS)
        return false;
    const struct ftc_option *option = &rows[row].option;
    *text = (struct ftc_option_text){.name = option->name,
                                     .letter = option->letter,
                                     .argument = option->argument,
                                     .help = option->help,
                                     .key = rows[row].key,
                                     .words = more_words(&rows[row])};
    return true;
}

static void print_help(const void *arg, FILE *out)
{
    const struct ftc_usage *usage = arg;

    fprintf(out, "usage: %s\n%s\n", usage->synopsis, usage->summary);
    if (usage->option != NULL)
        fputc('\n', out);
    for (const struct ftc_option *own = usage->option; own != NULL && own->name != NULL; own++) {
        print_option(own, own->help, out);
        fputc('\n', out);
    }
    fputs(usage->alone ? "\n" : "\nThe communicator and its settings (default: what is allowed):\n",
          out);
    for (int i = 0; i < ROWS; i++)
        if (is_offered(usage, rows[i].option.name))
            print_common(usage, &rows[i], out);
    if (usage->examples != NULL)
        fprintf(out, "\nExamples:\n%s", usage->examples);
    fputs("\nExit code: 0; 1 an error; 2 wrong use; 3 a promise of the protocol was broken; 4 "
          "explore "
          "reached a limit "
          "before it had seen all states.\n",
          out);
}

void ftc_setup_help(const struct ftc_usage *usage, FILE *out)
{
    ftc_wrap(print_help, usage, out);
}
