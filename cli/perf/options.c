/* The command line of ftcoll-perf. One table gives getopt its tables and --help its text. */
#include "cli/perf/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/wrap.h"
#include "cli/perf/baseline/baseline.h"

#define SECONDS_MAX   3600
#define KILLS_MAX     4094 /* two ranks fewer than ftrun starts at most */
#define UNDER_WAY_MAX 1024

struct row {
    const char *name;
    char letter;
    const char *argument; /* NULL: a flag */
    const char *help;
    bool (*take)(struct ftc_perf_options *options, const char *text);
    const char *wanted; /* what the argument must be, for error messages */
};

static bool take_sizes(struct ftc_perf_options *options, const char *text)
{
    return ftc_perf_sizes_read(text, &options->sizes) && options->sizes.first % sizeof(double) == 0;
}

static bool take_samples(struct ftc_perf_options *options, const char *text)
{
    return ftc_perf_whole_read(text, 1, FTC_PERF_SAMPLES_MAX, &options->samples);
}

static bool take_seconds(struct ftc_perf_options *options, const char *text)
{
    char *end;

    options->seconds = strtod(text, &end);
    return end != text && *end == '\0' && options->seconds > 0 && options->seconds <= SECONDS_MAX;
}

static bool take_warm_up(struct ftc_perf_options *options, const char *text)
{
    options->warm_up_given = true;
    return ftc_perf_whole_read(text, 0, 1000000, &options->warm_up);
}

static bool take_synchronise(struct ftc_perf_options *options, const char *text)
{
    (void)text;
    return options->synchronise = true;
}

static bool take_per_rank(struct ftc_perf_options *options, const char *text)
{
    (void)text;
    return options->per_rank = true;
}

static bool take_nonblocking(struct ftc_perf_options *options, const char *text)
{
    (void)text;
    if (options->under_way == 0)
        options->under_way = 1;
    return true;
}

static bool take_under_way(struct ftc_perf_options *options, const char *text)
{
    return ftc_perf_whole_read(text, 1, UNDER_WAY_MAX, &options->under_way);
}

static bool take_kills(struct ftc_perf_options *options, const char *text)
{
    return ftc_perf_whole_read(text, 1, KILLS_MAX, &options->kills);
}

static bool take_seed(struct ftc_perf_options *options, const char *text)
{
    options->seed_given = true;
    return ftc_perf_whole_read(text, 0, INT64_MAX, &options->seed);
}

static bool take_json(struct ftc_perf_options *options, const char *text)
{
    (void)text;
    return options->json = true;
}

static bool take_csv(struct ftc_perf_options *options, const char *text)
{
    (void)text;
    return options->csv = true;
}

static bool take_plot(struct ftc_perf_options *options, const char *text)
{
    options->plot = text;
    return text[0] != '\0';
}

static bool take_help(struct ftc_perf_options *options, const char *text)
{
    (void)text;
    return options->help = true;
}

static bool take_version(struct ftc_perf_options *options, const char *text)
{
    (void)text;
    return options->version = true;
}

static const struct row rows[] = {
    {"sizes", 'm', "MIN:MAX",
     "bytes (K, M, G), each size twice the one before; or one size (default: 8:1M; --kill: 8)",
     take_sizes, "8:1M or 64K: at most 1G, a multiple of 8 first"},
    {"time", 't', "SECONDS", "measure each size for so long (default: 0.5)", take_seconds,
     "seconds, above 0 and up to 3600"},
    {"iterations", 'i', "N", "measure each size with N samples instead", take_samples,
     "a number of samples from 1 to 100000"},
    {"warm-up", 'w', "N", "operations before the first sample (default: a tenth of the time)",
     take_warm_up, "a number of operations from 0 to 1000000"},
    {"synchronise", 'b', NULL, "a barrier before each operation, outside the time that is measured",
     take_synchronise, NULL},
    {"per-rank", 'r', NULL, "time each rank, and how far apart the ranks are", take_per_rank, NULL},
    {"nonblocking", 'n', NULL,
     "the non-blocking forms, and how far they overlap with a computation", take_nonblocking, NULL},
    {"under-way", 'u', "N",
     "start N operations, and wait for all of them (default: 1; includes --nonblocking)",
     take_under_way, "a number of operations from 1 to 1024"},
    {"kill", 'k', "N",
     "kill N ranks, one after the other, and time how long the survivors take to go on", take_kills,
     "a number of ranks from 1 to 4094"},
    {"seed", 's', "SEED",
     "decides which ranks die, and when (default: a new one, which is printed)", take_seed,
     "a whole number below 2^63"},
    {"json", 'j', NULL, "print one JSON document instead of tables (schema 1)", take_json, NULL},
    {"csv", 'c', NULL, "print comma-separated values instead of tables", take_csv, NULL},
    {"plot", 'p', "FILE",
     "also draw latency against size, or with --per-rank against rank, as SVG (needs gnuplot)",
     take_plot, "a path"},
    {"help", 'h', NULL, "print this text, and exit", take_help, NULL},
    {"version", 'V', NULL, "print the version, and exit", take_version, NULL},
};
#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

/* For a long option getopt returns 256 + its row. */
static void build_tables(struct option longs[ROWS + 1], char letters[2 * ROWS + 2])
{
    *letters++ = ':'; /* getopt then tells a missing argument from an unknown option */
    for (int i = 0; i < ROWS; i++) {
        bool argument = rows[i].argument != NULL;
        *longs++ = (struct option){rows[i].name, argument ? required_argument : no_argument, NULL,
                                   256 + i};
        *letters++ = rows[i].letter;
        if (argument)
            *letters++ = ':';
    }
    *longs = (struct option){NULL, 0, NULL, 0};
    *letters = '\0';
}

static const struct row *find_row(int code)
{
    for (int i = 0; i < ROWS; i++)
        if (code == 256 + i || code == rows[i].letter)
            return &rows[i];
    return NULL;
}

static bool refuse(struct ftc_perf_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(struct ftc_perf_options *options, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(options->problem, sizeof(options->problem), format, args);
    va_end(args);
    return false;
}

static bool read_option(struct ftc_perf_options *options, int code, const char *word)
{
    const struct row *row = find_row(code);

    if (code == ':')
        return refuse(options, "option %s needs an argument; see ftcoll-perf --help", word);
    if (row == NULL && optopt > 0 && optopt < 256)
        return refuse(options, "unknown option -%c; see ftcoll-perf --help", optopt);
    if (row == NULL)
        return refuse(options, "unknown, ambiguous or overfull option %s; see ftcoll-perf --help",
                      word);
    if (!row->take(options, optarg))
        return refuse(options, "--%s \"%s\": give %s", row->name, optarg, row->wanted);
    return true;
}

/* Is the operation meant by the name, which may be that of several? */
static bool is_named(const struct ftc_perf_operation *operation, const char *name)
{
    if (strcmp(name, "all") == 0)
        return !operation->apart;
    if (strcmp(name, "comm") == 0)
        return operation->finish != NULL;
    if (strcmp(name, "messages") == 0)
        return operation->messages > 0;
    return strcmp(name, operation->name) == 0;
}

static bool read_operation(struct ftc_perf_options *options, const char *name)
{
    bool found = false;

    for (int i = 0; i < FTC_PERF_OPERATIONS; i++) {
        const struct ftc_perf_operation *operation = &ftc_perf_operations[i];
        if (!is_named(operation, name))
            continue;
        found = true;
        if (options->operations == FTC_PERF_OPERATIONS)
            return refuse(options, "%d operations at most, not \"%s\" too", FTC_PERF_OPERATIONS,
                          name);
        options->operation[options->operations++] = operation;
    }
    return found ||
           refuse(
               options,
               "\"%s\" is no operation; give allreduce, reduce, bcast, ... (ftcoll-perf --help), "
               "all, comm, messages, gossip, doubling, rabenseifner or voted",
               name);
}

static const struct ftc_perf_operation *any_baseline(const struct ftc_perf_options *options)
{
    for (int i = 0; i < options->operations; i++)
        if (options->operation[i]->baseline)
            return options->operation[i];
    return NULL;
}

static const struct ftc_perf_operation *any_that_blocks(const struct ftc_perf_options *options)
{
    for (int i = 0; i < options->operations; i++)
        if (options->operation[i]->blocks)
            return options->operation[i];
    return NULL;
}

static const struct ftc_perf_operation *any_of_messages(const struct ftc_perf_options *options)
{
    for (int i = 0; i < options->operations; i++)
        if (options->operation[i]->messages > 0)
            return options->operation[i];
    return NULL;
}

static bool any_sized(const struct ftc_perf_options *options)
{
    for (int i = 0; i < options->operations; i++)
        if (options->operation[i]->sized)
            return true;
    return false;
}

static bool check(struct ftc_perf_options *options)
{
    if (options->operations == 0)
        return refuse(
            options,
            "which operation? Give allreduce, reduce, bcast, barrier, validate, another one "
            "(ftcoll-perf --help), or all");
    if (options->json && options->csv)
        return refuse(options, "--json and --csv exclude each other; give one of them");
    if (options->kills > 0 && options->sizes.first != options->sizes.last)
        return refuse(options, "--kill measures one size; give it as -m %zu", options->sizes.first);
    if (options->kills > 0 &&
        (options->plot != NULL || options->synchronise || options->samples > 0))
        return refuse(
            options,
            "--kill goes with neither --plot, --synchronise nor --iterations; leave it out");
    if (any_baseline(options) != NULL && ftc_baseline_allreduce == NULL)
        return refuse(options,
                      "%s tolerates no failure, and libftcoll does not have it; run with the "
                      "library in runtime/baseline of a build (ftcoll-perf(1))",
                      any_baseline(options)->name);
    if (options->kills > 0 && any_baseline(options) != NULL)
        return refuse(options,
                      "%s survives no death; --kill needs an operation that does: give allreduce",
                      any_baseline(options)->name);
    if ((options->kills > 0 || options->per_rank) && any_of_messages(options) != NULL)
        return refuse(options, "%s is no collective; measure it without --kill and --per-rank",
                      any_of_messages(options)->name);
    if (options->per_rank && (options->kills > 0 || options->synchronise))
        return refuse(options,
                      "--per-rank goes with neither --kill nor --synchronise; leave it out");
    if (options->under_way > 0 && (options->kills > 0 || options->per_rank || options->synchronise))
        return refuse(options, "--nonblocking goes with neither --kill, --per-rank nor "
                               "--synchronise; leave it out");
    if (options->under_way > 0 && any_that_blocks(options) != NULL)
        return refuse(options, "%s has no non-blocking form; measure it without --nonblocking",
                      any_that_blocks(options)->name);
    if (options->plot != NULL && !options->per_rank && !any_sized(options))
        return refuse(options,
                      "--plot needs an operation that has sizes: allreduce, reduce or bcast");
    return true;
}

static bool read_words(struct ftc_perf_options *options, int argc, char **argv)
{
    struct option longs[ROWS + 1];
    char letters[2 * ROWS + 2];
    bool good = true;
    int code;

    build_tables(longs, letters);
    opterr = 0;
    optind = 0;
    while (good && !options->help && !options->version &&
           (code = getopt_long(argc, argv, letters, longs, NULL)) != -1)
        good = read_option(options, code, argv[optind - 1]);
    while (good && !options->help && !options->version && optind < argc)
        good = read_operation(options, argv[optind++]);
    return good;
}

bool ftc_perf_options_parse(struct ftc_perf_options *options, int argc, char **argv)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    *options = (struct ftc_perf_options){.seconds = 0.5, .seed = (uint64_t)now.tv_nsec};
    if (!read_words(options, argc, argv))
        return false;
    if (options->help || options->version)
        return true;
    if (options->sizes.first == 0)
        options->sizes = (struct ftc_perf_sizes){8, options->kills > 0 ? 8 : 1 << 20};
    return check(options);
}

bool ftc_perf_option(int i, struct ftc_option_text *text)
{
    if (i < 0 || i >= ROWS)
        return false;
    *text = (struct ftc_option_text){.name = rows[i].name,
                                     .letter = rows[i].letter,
                                     .argument = rows[i].argument,
                                     .help = rows[i].help};
    return true;
}

#define HELP_COLUMN 26

static void print_method(FILE *out)
{
    fputs(
        "\n"
        "Method. Each size begins with an operation whose result is checked. A warm-up and the "
        "samples follow. A sample is the time of one operation, or the mean time in a batch that "
        "takes about 20 us. "
        "The time of the slowest rank counts. Operations follow each other without a pause. So "
        "those of "
        "bcast, scatter, reduce and gather overlap, which go from and to the lowest living rank: "
        "their batches take about 1 ms. With --synchronise each operation is timed by itself, from "
        "the moment at which a "
        "rank leaves "
        "the barrier. Some ranks leave it late, and may find the result there already. Quantiles "
        "are "
        "observed samples: a batch hides its slowest operation, and the p99 of fewer than 100 "
        "samples is "
        "their maximum. Sums are of double. Where a buffer has a block for each rank, the size is "
        "that of a block, and all blocks together are not larger than the largest "
        "size. If a rank dies, its size is measured again with the ranks that are left.\n\n",
        out);
}

static void print_modes(FILE *out)
{
    fputs(
        "With --per-rank all ranks call at one moment of their clock, so they must be on one host. "
        "The time\n"
        "of a rank runs from the call of the lowest living rank, the root, until the rank has "
        "returned. The\n"
        "spread is the time from the first to the last of the other ranks.\n\n"
        "With --nonblocking an operation is started and waited for, and with --under-way N so are "
        "N "
        "operations together. A sample is three batches, each of about 1 ms and with a barrier at "
        "its end: the operations; a computation alone, which takes about as long; and the "
        "operations with this computation between start and wait. All times are those of one "
        "operation. The overlap is 100 (1 - (overlapped - compute) / median), from 0 to 100 "
        "percent. It is 100 where the computation hides the operations, and 0 where nothing is "
        "gained.\n\n"
        "comm_dup and comm_split include ftc_comm_free(). comm_split makes two communicators at "
        "the "
        "same time, of the even and of the odd ranks.\n\n"
        "pingpong and rate send messages in pairs: of n ranks, rank i and rank i + n/2. In "
        "pingpong "
        "a message goes there and back, and a figure is half of that time. In rate one rank has 64 "
        "messages under way, and the other one answers when it has received all; a figure is the "
        "time of one. Messages/s are those of all pairs.\n\n"
        "gossip is ftc_gossip_allreduce() with the settings of ftrun --set gossip.*. Each row ends "
        "with "
        "numbers of its last operation: the messages of a rank, and the us until all had "
        "converged, of the "
        "barrier after that, and of agreeing on the result.\n\n"
        "With --kill, ranks other than the lowest send themselves SIGKILL at a random moment in a "
        "loop of "
        "the operation. The time runs from there to the end of the first operation whose failed "
        "set has "
        "the rank: on the first survivor, and on the last. Each death leaves fewer ranks; at least "
        "two must "
        "remain. ftrun then exits with 0, unless --max-failures forbids so many.\n\n",
        out);
}

static void print_help(const void *arg, FILE *out)
{
    (void)arg;
    fputs("usage: ftrun -np N ftcoll-perf [options] OPERATION...\n"
          "Measure collective operations: allreduce, reduce, bcast, barrier, validate, allgather, "
          "allgatherv, gather, gatherv, scatter, scatterv, alltoall, alltoallv, "
          "reduce_scatter_block, reduce_scatter, scan, exscan, or all of these; comm, the creation "
          "and freeing of a communicator (comm_dup and comm_split); messages, which are pingpong "
          "and rate; or gossip.\n"
          "For comparison, measure allreduces that tolerate no failure: doubling, rabenseifner, "
          "voted.\n\n",
          out);
    for (int i = 0; i < ROWS; i++) {
        char name[64];
        snprintf(name, sizeof(name), "-%c, --%s%s%s", rows[i].letter, rows[i].name,
                 rows[i].argument != NULL ? " " : "",
                 rows[i].argument != NULL ? rows[i].argument : "");
        fprintf(out, "  %-*s%s\n", HELP_COLUMN, name, rows[i].help);
    }
    print_method(out);
    print_modes(out);
    fputs("Examples:\n"
          "  ftrun -np 16 ftcoll-perf allreduce\n"
          "  ftrun -np 16 ftcoll-perf -m 8:64K --csv all\n"
          "  ftrun -np 16 ftcoll-perf --nonblocking -m 8:1M allreduce\n"
          "  ftrun -np 16 ftcoll-perf --under-way 16 -m 8 allreduce bcast\n"
          "  ftrun -np 16 ftcoll-perf comm\n"
          "  ftrun -np 2 ftcoll-perf messages\n"
          "  ftrun -np 16 ftcoll-perf --kill 10 allreduce\n"
          "  ftrun -np 16 ftcoll-perf --per-rank -m 8 --plot ranks.svg bcast\n\n"
          "Exit code: 0; 1 an error, or a wrong result; 2 wrong use.\n",
          out);
}

void ftc_perf_options_help(FILE *out)
{
    ftc_wrap(print_help, NULL, out);
}
