/* ftrun's command line: a table of options, each with the function that takes its argument. */
#include "launcher/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/wrap.h"
#include "collectives/values/flip.h"
#include "node/segment/segment.h"

/* A year is far longer than any use, and a timer can still hold it. */
#define MAX_SECONDS 31536000.0

typedef int take_fn(struct ftc_command *command, const char *value);

struct option_row {
    const char *name;     /* long name */
    char letter;          /* 0: none */
    const char *argument; /* NULL: takes none */
    take_fn *take;
    const char *help;
};

static int parse_int(const char *option, const char *text, long minimum, long maximum, int *value)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0')
        return ftc_error_set(FTC_ERR_ARG, "%s needs a whole number, not '%s'; give %ld to %ld",
                             option, text, minimum, maximum);
    if (errno == ERANGE || number < minimum || number > maximum)
        return ftc_error_set(FTC_ERR_ARG, "%s %s is out of range; give %ld to %ld", option, text,
                             minimum, maximum);
    *value = (int)number;
    return FTC_SUCCESS;
}

static int parse_seconds(const char *option, const char *text, double minimum, double *value)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(number) || number < minimum ||
        number > MAX_SECONDS)
        return ftc_error_set(FTC_ERR_ARG, "%s needs a number of seconds, not '%s'; give %g to %.0f",
                             option, text, minimum, MAX_SECONDS);
    *value = number;
    return FTC_SUCCESS;
}

static int take_np(struct ftc_command *command, const char *value)
{
    return parse_int("-np", value, 1, FTC_NODE_MAX_RANKS, &command->np);
}

static int take_engine(struct ftc_command *command, const char *value)
{
    static const char *const names[] = {
        [FTC_ENGINE_AUTO] = "auto",  [FTC_ENGINE_LOCAL] = "local", [FTC_ENGINE_SLURM] = "slurm",
        [FTC_ENGINE_SSH] = "ssh",    [FTC_ENGINE_GUEST] = "guest", [FTC_ENGINE_PMIX] = "pmix",
        [FTC_ENGINE_ADOPT] = "adopt"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(value, names[i]) == 0) {
            command->engine = (enum ftc_engine)i;
            return FTC_SUCCESS;
        }
    }
    return ftc_error_set(FTC_ERR_ARG,
                         "--engine '%s' is unknown; give auto, local, slurm, ssh or pmix", value);
}

static int take_nodes(struct ftc_command *command, const char *value)
{
    return parse_int("--nodes", value, 1, FTC_NODE_MAX_NODES, &command->nodes);
}

static int take_ranks_per_node(struct ftc_command *command, const char *value)
{
    return parse_int("--ranks-per-node", value, 1, FTC_NODE_MAX_LOCAL, &command->ranks_per_node);
}

static int add_assignment(struct ftc_command *command, const char *prefix, const char *text,
                          const char *source)
{
    size_t size = strlen(prefix) + strlen(text) + 1;
    struct ftc_assignment *grown =
        reallocarray(command->assignments, (size_t)command->assignment_count + 1, sizeof(*grown));
    if (grown == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    command->assignments = grown;
    char *copy = malloc(size);
    if (copy == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    memcpy(copy, prefix, strlen(prefix));
    memcpy(copy + strlen(prefix), text, strlen(text) + 1);
    grown[command->assignment_count++] = (struct ftc_assignment){.text = copy, .source = source};
    return FTC_SUCCESS;
}

static int take_f(struct ftc_command *command, const char *value)
{
    int f;
    int rc = parse_int("-f", value, 0, FTC_NODE_MAX_RANKS - 1, &f);
    return rc != FTC_SUCCESS ? rc : add_assignment(command, "job.f=", value, "-f");
}

static int take_set(struct ftc_command *command, const char *value)
{
    return add_assignment(command, "", value, "--set");
}

static int take_variable(struct ftc_command *command, const char *value)
{
    if (value[0] == '\0' || value[0] == '=')
        return ftc_error_set(FTC_ERR_ARG, "-x '%s' names no variable; give VAR or VAR=value",
                             value);
    const char **grown =
        reallocarray(command->variables, (size_t)command->variable_count + 1, sizeof(*grown));
    if (grown == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    command->variables = grown;
    grown[command->variable_count++] = value;
    return FTC_SUCCESS;
}

static int take_kill(struct ftc_command *command, const char *value)
{
    const char *at = strchr(value, '@');
    char rank[16];
    if (at == NULL || (size_t)(at - value) >= sizeof(rank))
        return ftc_error_set(
            FTC_ERR_ARG, "--kill '%s' is not RANK@SECONDS; give for example --kill 3@0.5", value);
    memcpy(rank, value, (size_t)(at - value));
    rank[at - value] = '\0';
    struct ftc_kill_order order;
    int rc = parse_int("--kill", rank, 0, FTC_NODE_MAX_RANKS - 1, &order.rank);
    if (rc == FTC_SUCCESS)
        rc = parse_seconds("--kill", at + 1, 0, &order.after_s);
    if (rc != FTC_SUCCESS)
        return rc;
    struct ftc_kill_order *grown =
        reallocarray(command->kills, (size_t)command->kill_count + 1, sizeof(*grown));
    if (grown == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    command->kills = grown;
    grown[command->kill_count++] = order;
    return FTC_SUCCESS;
}

static int take_max_failures(struct ftc_command *command, const char *value)
{
    return parse_int("--max-failures", value, 0, FTC_NODE_MAX_RANKS, &command->max_failures);
}

static int take_timeout(struct ftc_command *command, const char *value)
{
    return parse_seconds("--timeout", value, 0.001, &command->timeout_s);
}

static int take_bind(struct ftc_command *command, const char *value)
{
    if (strcmp(value, "core") != 0 && strcmp(value, "none") != 0)
        return ftc_error_set(FTC_ERR_ARG, "--bind-to '%s' is unknown; give none or core", value);
    command->bind_core = strcmp(value, "core") == 0;
    return FTC_SUCCESS;
}

static int take_path(const char **path, const char *option, const char *value)
{
    if (value[0] == '\0')
        return ftc_error_set(FTC_ERR_ARG, "%s has an empty argument; give a path", option);
    *path = value;
    return FTC_SUCCESS;
}

static int take_hosts(struct ftc_command *command, const char *value)
{
    command->host_list = value;
    return FTC_SUCCESS;
}

static int take_hostfile(struct ftc_command *command, const char *value)
{
    return take_path(&command->hostfile, "--hostfile", value);
}

static int take_ssh(struct ftc_command *command, const char *value)
{
    if (value[strspn(value, " ")] == '\0')
        return ftc_error_set(FTC_ERR_ARG, "--ssh has an empty argument; give a command");
    command->ssh = value;
    return FTC_SUCCESS;
}

static int take_config(struct ftc_command *command, const char *value)
{
    return take_path(&command->config, "--config", value);
}

static int take_wdir(struct ftc_command *command, const char *value)
{
    return take_path(&command->working_directory, "--wdir", value);
}

static int take_output(struct ftc_command *command, const char *value)
{
    return take_path(&command->output_directory, "--output-filename", value);
}

static int take_report(struct ftc_command *command, const char *value)
{
    return take_path(&command->report, "--report", value);
}

static int take_trace(struct ftc_command *command, const char *value)
{
    return take_path(&command->trace, "--trace", value);
}

static int take_tag(struct ftc_command *command, const char *value)
{
    (void)value;
    command->tag = true;
    return FTC_SUCCESS;
}

static int take_timestamp(struct ftc_command *command, const char *value)
{
    (void)value;
    command->timestamp = true;
    return FTC_SUCCESS;
}

static int take_print_config(struct ftc_command *command, const char *value)
{
    (void)value;
    command->action = FTC_ACTION_PRINT_CONFIG;
    return FTC_SUCCESS;
}

static int take_print_algorithms(struct ftc_command *command, const char *value)
{
    (void)value;
    command->action = FTC_ACTION_PRINT_ALGORITHMS;
    return FTC_SUCCESS;
}

static int take_all(struct ftc_command *command, const char *value)
{
    (void)value;
    command->all = true;
    return FTC_SUCCESS;
}

static int take_help(struct ftc_command *command, const char *value)
{
    (void)value;
    command->action = FTC_ACTION_HELP;
    return FTC_SUCCESS;
}

static int take_version(struct ftc_command *command, const char *value)
{
    (void)value;
    command->action = FTC_ACTION_VERSION;
    return FTC_SUCCESS;
}

static const struct option_row rows[] = {
    {"np", 'n', "N", take_np, "number of ranks, 1 to 65536, at most 4096 on each host (also -n N)"},
    {NULL, 'f', "F", take_f,
     "failures that an operation by groups and trees masks (job.f); ftcoll(7) says what others "
     "mask"},
    {NULL, 'x', "VAR[=VALUE]", take_variable,
     "an environment variable for the ranks; may be repeated"},
    {"engine", 0, "auto|local|slurm|ssh|pmix", take_engine,
     "local: this ftrun alone; slurm: srun starts an ftrun on each host (default in an "
     "allocation); ssh: ssh does (default with --hosts and --hostfile); pmix: this is one of "
     "several ftrun, one on each host"},
    {"hosts", 0, "HOST[:SLOTS],...", take_hosts,
     "start the ranks on these hosts, by ssh; a host without SLOTS has one slot"},
    {"hostfile", 0, "FILE", take_hostfile,
     "the same, with a host in each line of FILE: HOST [slots=N]; # begins a comment"},
    {"ssh", 0, "COMMAND", take_ssh,
     "the remote shell, with its options (default: the variable FTRUN_SSH, else ssh -x)"},
    {"nodes", 0, "N", take_nodes,
     "how many hosts to use (slurm, ssh; default: all of the allocation or of the list)"},
    {"ranks-per-node", 0, "N", take_ranks_per_node,
     "how many ranks on each host (slurm, ssh; default: evenly, or by slots)"},
    {"config", 0, "FILE", take_config, "read settings from this INI file, after the standard ones"},
    {"set", 0, "SECTION.KEY=VALUE", take_set,
     "one setting; wins over files and variables; may be repeated"},
    {"print-config", 0, NULL, take_print_config,
     "print the settings that most users need, those that were set, and where each comes from; "
     "exit"},
    {"print-algorithms", 0, NULL, take_print_algorithms,
     "print by which algorithm each operation of such a job would run (-np, --nodes), and why; "
     "exit"},
    {"all", 0, NULL, take_all, "with --print-config: print the settings for experts, too"},
    {"wdir", 0, "DIR", take_wdir, "working directory of the ranks"},
    {"bind-to", 0, "none|core", take_bind, "bind each rank to one core, in turn (default: none)"},
    {"tag-output", 0, NULL, take_tag, "put [RANK] in front of every line of output"},
    {"timestamp-output", 0, NULL, take_timestamp,
     "put date and time in front of every line of output"},
    {"output-filename", 0, "DIR", take_output,
     "write output to the files DIR/rank.R.out and DIR/rank.R.err"},
    {"timeout", 0, "SECONDS", take_timeout,
     "after that time say who waits for whom, kill all, exit with 124"},
    {"max-failures", 0, "N", take_max_failures,
     "end the job when more than N ranks fail (default: np - 1)"},
    {"kill", 0, "RANK@SECONDS", take_kill,
     "fault drill: send SIGKILL to RANK so long after the start; may be repeated"},
    {"report", 0, "FILE", take_report,
     "write a report in JSON at the end; - is standard output; no link, and no FIFO but /dev/fd/N"},
    {"trace", 0, "FILE", take_trace,
     "write all operations, deaths, notices and ballots to this file, for Perfetto or "
     "chrome://tracing"},
    {"help", 'h', NULL, take_help, "print this text, and exit"},
    {"version", 'V', NULL, take_version, "print the version, and exit"},
};
#define ROW_COUNT ((int)(sizeof(rows) / sizeof(rows[0])))

/* Fill getopt's two tables from `rows`; long options return 256 + row. */
static void build_tables(struct option *longs, char *letters)
{
    /* "+" stops at the program's name. ":" tells a missing argument from an unknown option. */
    *letters++ = '+';
    *letters++ = ':';
    for (int i = 0; i < ROW_COUNT; i++) {
        bool argument = rows[i].argument != NULL;
        if (rows[i].name != NULL)
            *longs++ = (struct option){rows[i].name, argument ? required_argument : no_argument,
                                       NULL, 256 + i};
        if (rows[i].letter != 0) {
            *letters++ = rows[i].letter;
            if (argument)
                *letters++ = ':';
        }
    }
    *longs = (struct option){NULL, 0, NULL, 0};
    *letters = '\0';
}

static const struct option_row *find_row(int code)
{
    if (code >= 256)
        return &rows[code - 256];
    for (int i = 0; i < ROW_COUNT; i++)
        if (rows[i].letter == code)
            return &rows[i];
    return NULL;
}

static int parse_options(struct ftc_command *command, int argc, char **argv)
{
    struct option longs[ROW_COUNT + 1];
    char letters[3 * ROW_COUNT + 3];
    build_tables(longs, letters);
    opterr = 0;
    optind = 1;
    for (;;) {
        int at = optind;
        int code = getopt_long_only(argc, argv, letters, longs, NULL);
        if (code == -1)
            break;
        const struct option_row *row = find_row(code);
        if (code == ':')
            return ftc_error_set(FTC_ERR_ARG, "option %s needs an argument; see ftrun --help",
                                 argv[optind - 1]);
        if (row == NULL)
            return ftc_error_set(FTC_ERR_ARG, "unknown or ambiguous option %s; see ftrun --help",
                                 argv[at < argc ? at : argc - 1]);
        int rc = row->take(command, optarg);
        if (rc != FTC_SUCCESS)
            return rc;
        if (command->action == FTC_ACTION_HELP || command->action == FTC_ACTION_VERSION)
            break;
    }
    command->program = argv + optind;
    return FTC_SUCCESS;
}

/* Rules between options. */
static int check(struct ftc_command *command)
{
    if (command->np == 0)
        return ftc_error_set(FTC_ERR_ARG, "the number of ranks is missing; give -np N");
    if (command->program[0] == NULL || command->program[0][0] == '\0')
        return ftc_error_set(FTC_ERR_ARG, "the program is missing; give ftrun -np %d ./program",
                             command->np);
    for (int i = 0; i < command->kill_count; i++)
        if (command->kills[i].rank >= command->np)
            return ftc_error_set(FTC_ERR_ARG, "--kill %d@%g: there is no such rank; give 0 to %d",
                                 command->kills[i].rank, command->kills[i].after_s,
                                 command->np - 1);
    if (command->max_failures < 0)
        command->max_failures = command->np - 1;
    return FTC_SUCCESS;
}

int ftc_command_parse(struct ftc_command *command, int argc, char **argv)
{
    *command = (struct ftc_command){.action = FTC_ACTION_RUN, .max_failures = -1};
    int rc = parse_options(command, argc, argv);
    if (rc != FTC_SUCCESS || command->action != FTC_ACTION_RUN)
        return rc;
    return check(command);
}

bool ftc_command_option(int i, struct ftc_option_text *text)
{
    if (i < 0 || i >= ROW_COUNT)
        return false;
    *text = (struct ftc_option_text){.name = rows[i].name,
                                     .letter = rows[i].letter,
                                     .argument = rows[i].argument,
                                     .help = rows[i].help};
    return true;
}

void ftc_command_fini(struct ftc_command *command)
{
    for (int i = 0; i < command->assignment_count; i++)
        free(command->assignments[i].text);
    free(command->assignments);
    free(command->variables);
    free(command->kills);
    ftc_hosts_fini(&command->hosts);
    *command = (struct ftc_command){.action = FTC_ACTION_RUN};
}

static void print_help(const void *arg, FILE *out)
{
    (void)arg;
    fputs("usage: ftrun -np N [options] [--] program [arguments]\n"
          "Start N ranks of a program that uses ftcoll, watch them, and tell the survivors who "
          "failed.\n\n",
          out);
    for (int i = 0; i < ROW_COUNT; i++) {
        const struct option_row *row = &rows[i];
        char name[64];
        if (row->name == NULL)
            snprintf(name, sizeof(name), "-%c %s", row->letter, row->argument);
        else
            snprintf(name, sizeof(name), "%s%s%s%s", strcmp(row->name, "np") == 0 ? "-" : "--",
                     row->name, row->argument != NULL ? " " : "",
                     row->argument != NULL ? row->argument : "");
        fprintf(out, "  %-30s  %s\n", name, row->help);
    }
    fputs(
        "\n"
        "Exit code:\n"
        "  0      every survivor exited with 0, and no more than --max-failures ranks failed\n"
        "  1      an error of ftrun\n"
        "  2      wrong use\n"
        "  113    this host was cut off from most of the other hosts of the job\n"
        "  124    the time of --timeout was over\n"
        "  126    the program cannot be executed\n"
        "  127    the program was not found\n"
        "  other  more than --max-failures ranks failed: the code of the first of them, 1 if that "
        "is 0\n"
        "         otherwise: the code of the first survivor that exits with another code than 0\n"
        "         after ftc_abort(): the code that it was given\n"
        "         A rank that was killed by a signal counts as 128 + signal.\n"
        "Settings come from these sources; what is named later wins: /etc/ftcoll.ini,\n"
        "~/.config/ftcoll.ini, the file of FTCOLL_CONFIG, the file of --config, variables\n"
        "FTCOLL_SECTION_KEY, -f and --set.\n",
        out);
}

void ftc_command_help(FILE *out)
{
    ftc_wrap(print_help, NULL, out);
}

/* Index of job.f in the schema. */
static size_t find_f(void)
{
    size_t i = 0;
    while (i < ftc_config_schema_size && (strcmp(ftc_config_schema[i].section, "job") != 0 ||
                                          strcmp(ftc_config_schema[i].key, "f") != 0))
        i++;
    return i;
}

/* f < np (agreement.md, Model). */
static int fit_f(const struct ftc_command *command, struct ftc_settings *settings)
{
    bool fits = command->np == 0 || settings->value.f < command->np;

    if (command->action == FTC_ACTION_PRINT_CONFIG || fits)
        return FTC_SUCCESS;
    size_t at = find_f();
    const char *source = at < ftc_config_schema_size ? settings->source[at] : NULL;
    if (source == NULL || strcmp(source, "default") == 0) {
        settings->value.f = command->np - 1;
        return FTC_SUCCESS;
    }
    return ftc_error_set(
        FTC_ERR_ARG,
        "f is %lld (from %s) but there are only %d ranks; give f 0 to %d or more ranks",
        (long long)settings->value.f, source, command->np, command->np - 1);
}

/* ftrun checks this before it starts a rank, so that there is one line, and not one per rank. */
static int check_flips(const struct ftc_command *command, const struct ftc_settings *settings)
{
    struct ftc_flips flips;
    int rc = ftc_flips_parse(settings->value.drill_flip, &flips);

    if (rc != FTC_SUCCESS)
        return ftc_error_wrap(rc, "drill.flip");
    for (int i = 0; i < flips.count && command->action == FTC_ACTION_RUN; i++)
        if (flips.flip[i].rank >= command->np)
            return ftc_error_set(FTC_ERR_ARG, "drill.flip: there is no rank %d; give 0 to %d",
                                 flips.flip[i].rank, command->np - 1);
    return FTC_SUCCESS;
}

int ftc_command_settings(const struct ftc_command *command, char *const environment[],
                         struct ftc_settings *settings)
{
    int rc = ftc_settings_init(settings);
    if (rc == FTC_SUCCESS)
        rc = ftc_settings_read_standard(settings);
    if (rc == FTC_SUCCESS)
        rc = ftc_settings_read_named(settings, environment);
    if (rc == FTC_SUCCESS && command->config != NULL)
        rc = ftc_settings_read_file(settings, command->config, true);
    if (rc == FTC_SUCCESS)
        rc = ftc_settings_read_environment(settings, environment);
    for (int i = 0; rc == FTC_SUCCESS && i < command->assignment_count; i++)
        rc = ftc_settings_set(settings, command->assignments[i].text,
                              command->assignments[i].source);
    if (rc == FTC_SUCCESS)
        rc = fit_f(command, settings);
    if (rc == FTC_SUCCESS)
        rc = check_flips(command, settings);
    if (rc == FTC_SUCCESS && command->trace != NULL && !settings->value.history)
        rc = ftc_error_set(FTC_ERR_ARG, "--trace needs what [trace] history = off leaves out; set "
                                        "trace.history to on");
    return rc == FTC_SUCCESS ? ftc_settings_check(settings) : rc;
}
