/* The command line of ftcoll-status. One table gives getopt its tables and --help its text. */
#include "cli/options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/wrap.h"

struct row {
    const char *name;
    char letter;
    size_t flag;          /* offset of the bool in struct ftc_status_options, or FORMAT */
    const char *argument; /* NULL: none */
    const char *help;
};

#define FLAG(field) offsetof(struct ftc_status_options, field)
#define FORMAT      0 /* as `flag`: the option sets `format`, which is at this offset */
#define HISTORY     FLAG(history)

static const char *const formats[] = {[FTC_STATUS_TEXTUAL] = "text",
                                      [FTC_STATUS_JSON] = "json",
                                      [FTC_STATUS_OPENMETRICS] = "openmetrics",
                                      NULL};

static const char *const all_ranks[] = {"all", NULL};

static const struct row rows[] = {
    {"watch", 'w', FLAG(watch), NULL, "refresh every second until the job ends"},
    {"failed", 'f', FLAG(failed), NULL,
     "show only the failed sets: who failed, why, when, and which ranks know it"},
    {"all", 'a', FLAG(all), NULL,
     "a row for each rank; without it, from 17 ranks on, ranks that do the same share a row"},
    {"list", 'l', FLAG(list), NULL, "show the list of jobs, also when there is only one"},
    {"format", 0, FORMAT, "FORMAT",
     "text, json, or openmetrics (counters for a monitoring system); all jobs if none is named"},
    {"json", 'j', FORMAT, NULL,
     "--format json: everything, for scripts (schema 1); all jobs if none is named"},
    {"stacks", 's', FLAG(stacks), NULL,
     "show the stacks of this host's ranks, too, by eu-stack or gdb; stops each for a moment"},
    {"history", 0, HISTORY, "RANK",
     "show the last operations of this rank, too, also after its death; all: of every rank"},
    {"no-sample", 'n', FLAG(no_sample), NULL,
     "do not wait to see whether heartbeats move; up to 0.6 s faster"},
    {"gc", 0, FLAG(gc), NULL, "remove what jobs without a launcher left behind, and say how many"},
    {"help", 'h', FLAG(help), NULL, "print this text, and exit"},
    {"version", 'V', FLAG(version), NULL, "print the version, and exit"},
};
#define ROW_COUNT ((int)(sizeof(rows) / sizeof(rows[0])))

/* For a long option getopt returns 256 + its row. */
static void build_tables(struct option longs[ROW_COUNT + 1], char letters[ROW_COUNT + 1])
{
    for (int i = 0; i < ROW_COUNT; i++) {
        *longs++ = (struct option){rows[i].name,
                                   rows[i].argument != NULL ? required_argument : no_argument, NULL,
                                   256 + i};
        if (rows[i].letter != 0)
            *letters++ = rows[i].letter;
    }
    *longs = (struct option){NULL, 0, NULL, 0};
    *letters = '\0';
}

static const struct row *find_row(int code)
{
    if (code >= 256)
        return &rows[code - 256];
    for (int i = 0; i < ROW_COUNT; i++)
        if (rows[i].letter == code)
            return &rows[i];
    return NULL;
}

static int check(const struct ftc_status_options *options)
{
    if (options->gc && options->job != NULL)
        return ftc_error_set(FTC_ERR_ARG, "--gc looks at all jobs; leave out the job's name");
    if (options->list && options->job != NULL)
        return ftc_error_set(FTC_ERR_ARG, "--list shows all jobs; leave out the job's name");
    if (options->format != FTC_STATUS_TEXTUAL && options->watch)
        return ftc_error_set(FTC_ERR_ARG, "--watch shows text; for --format json or openmetrics "
                                          "call ftcoll-status again instead");
    if (options->stacks && (options->watch || options->failed || options->list ||
                            options->format == FTC_STATUS_OPENMETRICS))
        return ftc_error_set(FTC_ERR_ARG,
                             "--stacks goes with the page of a job or with --format json, not "
                             "with --watch, --failed, --list or metrics");
    if (options->history && (options->watch || options->failed || options->list ||
                             options->format == FTC_STATUS_OPENMETRICS))
        return ftc_error_set(FTC_ERR_ARG,
                             "--history goes with the page of a job or with --format json, not "
                             "with --watch, --failed, --list or metrics");
    return 0;
}

/* `text` is NULL for --json. */
static int take_format(struct ftc_status_options *options, const char *text)
{
    for (int i = 0; formats[i] != NULL; i++)
        if (strcmp(text != NULL ? text : "json", formats[i]) == 0) {
            options->format = (enum ftc_status_format)i;
            return 0;
        }
    return ftc_error_set(FTC_ERR_ARG, "--format is text, json or openmetrics, not '%s'", text);
}

static int take_history(struct ftc_status_options *options, const char *text)
{
    size_t digits = strspn(text, "0123456789");

    options->history_rank = -1;
    if (strcmp(text, "all") == 0)
        return 0;
    if (digits == 0 || digits > 4 || text[digits] != 0)
        return ftc_error_set(FTC_ERR_ARG, "--history takes a rank or all, not '%s'", text);
    options->history_rank = atoi(text);
    return 0;
}

int ftc_status_options_parse(struct ftc_status_options *options, int argc, char **argv)
{
    struct option longs[ROW_COUNT + 1];
    char letters[ROW_COUNT + 1];
    int code;

    *options = (struct ftc_status_options){0};
    build_tables(longs, letters);
    opterr = 0;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct row *row = code == '?' ? NULL : find_row(code);
        if (row == NULL && optopt > 0 && optopt < 256)
            return ftc_error_set(FTC_ERR_ARG, "unknown option -%c; see ftcoll-status --help",
                                 optopt);
        if (row == NULL)
            return ftc_error_set(
                FTC_ERR_ARG, "unknown, ambiguous or overfull option %s; see ftcoll-status --help",
                argv[optind - 1]);
        if (row->flag != FORMAT)
            *(bool *)((char *)options + row->flag) = true;
        if ((row->flag == FORMAT && take_format(options, optarg) != 0) ||
            (row->flag == HISTORY && take_history(options, optarg) != 0))
            return FTC_ERR_ARG;
    }
    if (optind + 1 < argc)
        return ftc_error_set(FTC_ERR_ARG,
                             "one job at a time, not '%s' too; see ftcoll-status --help",
                             argv[optind + 1]);
    options->job = argv[optind];
    return check(options);
}

bool ftc_status_option(int i, struct ftc_option_text *text)
{
    if (i < 0 || i >= ROW_COUNT)
        return false;
    *text = (struct ftc_option_text){.name = rows[i].name,
                                     .letter = rows[i].letter,
                                     .argument = rows[i].argument,
                                     .help = rows[i].help};
    if (text->argument != NULL)
        text->words = rows[i].flag == FORMAT ? formats : all_ranks;
    return true;
}

static void print_help(const void *arg, FILE *out)
{
    (void)arg;
    fputs("usage: ftcoll-status [options] [JOB]\n"
          "Show your jobs on this machine. With JOB, or when there is only one job, show its "
          "ranks, who waits "
          "for whom, and its failed sets. Else show a list of jobs. It only reads: only --stacks "
          "disturbs a job.\n\n",
          out);
    for (int i = 0; i < ROW_COUNT; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s%s%s", rows[i].name, rows[i].argument != NULL ? " " : "",
                 rows[i].argument != NULL ? rows[i].argument : "");
        if (rows[i].letter != 0)
            fprintf(out, "  -%c, --%-15s%s\n", rows[i].letter, name, rows[i].help);
        else
            fprintf(out, "      --%-15s%s\n", name, rows[i].help);
    }
    fputs("\n"
          "Columns:\n"
          "  BEAT    the heartbeat of the rank\n"
          "  FOR     time in the operation, or outside the library since the last operation\n"
          "  BALLOT  number of the coordinator, and round\n"
          "  |L|     how many failed ranks this rank knows\n"
          "  |G|     how many failed ranks all ranks have agreed on\n"
          "  EPOCH   the last operation:ballot that was decided in a second round, 0 if there was "
          "none\n"
          "Exit code: 0; 1 no such job, or an error; 2 wrong use; 3 a job that was shown has "
          "failed ranks.\n",
          out);
}

void ftc_status_options_help(FILE *out)
{
    ftc_wrap(print_help, NULL, out);
}
