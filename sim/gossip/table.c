/* Tables of gossip aggregation. */
#include "sim/gossip/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/options.h"

/* --- axes --- */

typedef int take_word(struct ftc_gossip_axes *axes, const char *word);

static int each_word(struct ftc_gossip_axes *axes, const char *text, take_word *take)
{
    char copy[512], *rest = copy, *word;
    int rc = 0;

    if (strlen(text) >= sizeof(copy))
        return ftc_error_set(FTC_ERR_ARG, "\"%.40s...\": the list is too long", text);
    strcpy(copy, text);
    while (rc == 0 && (word = strsep(&rest, ",")) != NULL)
        rc = take(axes, word);
    return rc;
}

static void set_method(struct ftc_gossip_run *run, int method)
{
    run->deterministic = method >= FTC_GOSSIP_ALGORITHMS;
    if (run->deterministic)
        run->doubling = (enum ftc_doubling_algorithm)(method - FTC_GOSSIP_ALGORITHMS);
    else
        run->gossip.algorithm = (enum ftc_gossip_algorithm)method;
}

static bool names_method(const char *word, int method)
{
    struct ftc_gossip_run run;

    set_method(&run, method);
    return strcmp(word, ftc_gossip_run_name(&run)) == 0 ||
           (strcmp(word, "all") == 0 && !run.deterministic);
}

static int take_algorithm(struct ftc_gossip_axes *axes, const char *word)
{
    bool any = false;

    for (int method = 0; method < FTC_GOSSIP_METHODS; method++) {
        if (!names_method(word, method))
            continue;
        any = true;
        if (axes->methods < FTC_GOSSIP_METHODS)
            axes->method[axes->methods++] = method;
    }
    if (any)
        return 0;
    return ftc_error_set(
        FTC_ERR_ARG,
        "\"%s\" is no algorithm: push-sum, push-flow, push-cancel-flow, pflc, pfcc, all of these, "
        "doubling, rabenseifner or voted",
        word);
}

int ftc_gossip_read_algorithms(struct ftc_gossip_axes *axes, const char *text)
{
    axes->methods = 0;
    return each_word(axes, text, take_algorithm);
}

static int take_neighbourhood(struct ftc_gossip_axes *axes, const char *word)
{
    for (int i = 0; i < FTC_NEIGHBOURHOODS; i++) {
        if (strcmp(word, ftc_neighbourhood_name((enum ftc_neighbourhood_kind)i)) != 0)
            continue;
        if (axes->neighbourhoods < FTC_NEIGHBOURHOODS)
            axes->neighbourhood[axes->neighbourhoods++] = (enum ftc_neighbourhood_kind)i;
        return 0;
    }
    return ftc_error_set(
        FTC_ERR_ARG,
        "\"%s\" is no neighbourhood: full, hypercube, directed-hypercube, torus or all", word);
}

int ftc_gossip_read_neighbourhoods(struct ftc_gossip_axes *axes, const char *text)
{
    axes->neighbourhoods = 0;
    return each_word(axes,
                     strcmp(text, "all") == 0 ? "full,hypercube,directed-hypercube,torus" : text,
                     take_neighbourhood);
}

static int take_turns(struct ftc_gossip_axes *axes, const char *word)
{
    static const char *const words[] = {"off", "on", "needed"};

    for (int i = 0; i < 3; i++) {
        if (strcmp(word, words[i]) != 0)
            continue;
        if (axes->turnses < 3)
            axes->turns[axes->turnses++] = (enum ftc_gossip_turns)i;
        return 0;
    }
    return ftc_error_set(FTC_ERR_ARG, "--turns %s: on, off, needed, or several as a list", word);
}

int ftc_gossip_read_turns(struct ftc_gossip_axes *axes, const char *text)
{
    axes->turnses = 0;
    return each_word(axes, text, take_turns);
}

static int take_accuracy(struct ftc_gossip_axes *axes, const char *word)
{
    if (axes->accuracies == FTC_GOSSIP_VALUES)
        return ftc_error_set(FTC_ERR_ARG, "--accuracy: at most %d", FTC_GOSSIP_VALUES);
    return ftc_option_real("--accuracy", word, 1e-15, 0.5, &axes->accuracy[axes->accuracies++]);
}

int ftc_gossip_read_accuracies(struct ftc_gossip_axes *axes, const char *text)
{
    axes->accuracies = 0;
    return each_word(axes, text, take_accuracy);
}

static int take_loss(struct ftc_gossip_axes *axes, const char *word)
{
    if (axes->losses == FTC_GOSSIP_VALUES)
        return ftc_error_set(FTC_ERR_ARG, "--loss: at most %d", FTC_GOSSIP_VALUES);
    return ftc_option_real("--loss", word, 0, 99, &axes->loss[axes->losses++]);
}

int ftc_gossip_read_losses(struct ftc_gossip_axes *axes, const char *text)
{
    axes->losses = 0;
    return each_word(axes, text, take_loss);
}

static int take_lost(struct ftc_gossip_axes *axes, const char *word)
{
    bool sends = strcmp(word, "sends") == 0;

    if ((!sends && strcmp(word, "waits") != 0) || axes->lost_sendses == 2)
        return ftc_error_set(FTC_ERR_ARG, "--after-loss %s: waits, sends, or both as a list", word);
    axes->lost_sends[axes->lost_sendses++] = sends;
    return 0;
}

int ftc_gossip_read_lost(struct ftc_gossip_axes *axes, const char *text)
{
    axes->lost_sendses = 0;
    return each_word(axes, text, take_lost);
}

/* "7" or "0..63": false if the text is neither, or if the last number is less than the first. */
static bool read_range(const char *word, int *first, int *last)
{
    int used = 0;

    if (sscanf(word, "%2d%n", first, &used) == 1 && word[used] == '\0')
        *last = *first;
    else if (sscanf(word, "%2d..%2d%n", first, last, &used) != 2 || word[used] != '\0')
        return false;
    return *first >= 0 && *first <= *last;
}

static int take_bits(struct ftc_gossip_axes *axes, const char *word)
{
    int first, last;

    if (!read_range(word, &first, &last) || last > 63 || axes->bits + last - first + 1 > 64)
        return ftc_error_set(FTC_ERR_ARG, "--bits %s: bits are 0 to 63; give 0..63 or 52,55", word);
    while (first <= last)
        axes->bit[axes->bits++] = first++;
    return 0;
}

static int take_flips(struct ftc_gossip_axes *axes, const char *word)
{
    int first, last;

    if (!read_range(word, &first, &last) || axes->flipses + last - first + 1 > FTC_GOSSIP_VALUES)
        return ftc_error_set(FTC_ERR_ARG, "--only-flips %s: give 0..4 or 0,2, at most %d numbers",
                             word, FTC_GOSSIP_VALUES);
    while (first <= last)
        axes->flips[axes->flipses++] = first++;
    return 0;
}

int ftc_gossip_read_flips(struct ftc_gossip_axes *axes, const char *text)
{
    axes->flipses = 0;
    return each_word(axes, text, take_flips);
}

int ftc_gossip_read_bits(struct ftc_gossip_axes *axes, const char *text)
{
    axes->bits = 0;
    return each_word(axes, text, take_bits);
}

/* --- rows --- */

/* FTC_ERR_ARG: this combination is not possible. */
static int possible(const struct ftc_gossip_run *run, enum ftc_neighbourhood_kind kind, int ranks)
{
    struct ftc_gossip_run tried = *run;
    int rc = ftc_neighbourhood_init(&tried.gossip.neighbourhood, kind, ranks);
    return rc != 0 ? rc : ftc_gossip_run_check(&tried);
}

/* `like` has the settings of the row, and no results. */
static void add_row(struct ftc_gossip_table *table, struct ftc_gossip_row like,
                    enum ftc_neighbourhood_kind kind, int ranks)
{
    bool either = table->either && possible(&like.run, kind, ranks) != 0;

    like.run.gossip.turns &= !either;
    int rc = possible(&like.run, kind, ranks);
    ftc_neighbourhood_init(&like.run.gossip.neighbourhood, kind, ranks);
    if (rc == 0 && table->regular && !like.run.deterministic &&
        !ftc_gossip_is_regular(&like.run.gossip.neighbourhood))
        rc = ftc_error_set(FTC_ERR_ARG, "no model for a %s of %d", ftc_neighbourhood_name(kind),
                           ranks);
    if (like.bit >= 0)
        like.run.flip.bit = like.bit;
    if (rc == 0) {
        table->row[table->rows++] = like;
        return;
    }
    table->left_out++;
    snprintf(table->reason, sizeof(table->reason), "%s", ftc_last_error());
}

/* Flips and bits vary fastest, and then ranks, so that the rows of a curve follow one another. */
static void add_rows(struct ftc_gossip_table *table, const struct ftc_gossip_axes *axes,
                     struct ftc_gossip_row like, enum ftc_neighbourhood_kind kind)
{
    for (int r = 0; r < axes->ranks.count; r++) {
        for (int b = 0; b < axes->bits; b++) {
            for (int f = 0; f < axes->flipses; f++) {
                like.bit = axes->bit[b];
                like.flips_wanted = axes->flips[f];
                add_row(table, like, kind, axes->ranks.value[r]);
            }
        }
    }
}

static void add_settings(struct ftc_gossip_table *table, const struct ftc_gossip_axes *axes,
                         const struct ftc_gossip_run *run, enum ftc_neighbourhood_kind kind,
                         int repeat)
{
    struct ftc_gossip_row like = {.run = *run, .repeat = repeat};

    for (int a = 0; a < axes->accuracies; a++) {
        /* a deterministic algorithm does nothing without its messages */
        for (int s = 0; s < (run->deterministic ? 1 : axes->lost_sendses); s++) {
            for (int l = 0; l < axes->losses; l++) {
                like.run.gossip.accuracy = axes->accuracy[a];
                like.run.loss = axes->loss[l] / 100;
                like.run.lost_sends = axes->lost_sends[s];
                add_rows(table, axes, like, kind);
            }
        }
    }
}

static bool in_turns(const struct ftc_gossip_axes *axes, int t, int method, bool sync)
{
    if (method >= FTC_GOSSIP_ALGORITHMS)
        return false;
    if (axes->turnses == 0)
        return !sync;
    if (axes->turns[t] == FTC_GOSSIP_TURNS_NEEDED)
        return method == FTC_GOSSIP_PUSH_CANCEL_FLOW;
    return axes->turns[t] == FTC_GOSSIP_TURNS_ON;
}

int ftc_gossip_table_make(struct ftc_gossip_table *table, const struct ftc_gossip_axes *axes,
                          const struct ftc_gossip_run *common, int repeat, bool regular)
{
    int turnses = axes->turnses > 0 ? axes->turnses : 1;
    size_t rows = (size_t)axes->methods * (size_t)axes->neighbourhoods * (size_t)turnses *
                  (size_t)axes->accuracies * (size_t)axes->losses * (size_t)axes->lost_sendses *
                  (size_t)axes->bits * (size_t)axes->flipses * (size_t)axes->ranks.count;
    struct ftc_gossip_run run = *common;

    *table = (struct ftc_gossip_table){.row = calloc(rows + 1, sizeof(*table->row)),
                                       .either = axes->turnses == 0,
                                       .regular = regular};
    if (table->row == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for %zu rows", rows);
    for (int m = 0; m < axes->methods; m++) {
        for (int k = 0; k < axes->neighbourhoods; k++) {
            for (int t = 0; t < turnses; t++) {
                set_method(&run, axes->method[m]);
                run.gossip.turns = in_turns(axes, t, axes->method[m], common->sync);
                /* a deterministic algorithm has neither neighbourhood nor turns */
                if (!run.deterministic || k + t == 0)
                    add_settings(table, axes, &run, axes->neighbourhood[k], repeat);
            }
        }
    }
    return table->rows > 0 ? 0 : FTC_ERR_ARG;
}

void ftc_gossip_table_fini(struct ftc_gossip_table *table)
{
    free(table->row);
}

/* --- measuring --- */

static void add_outcome(struct ftc_gossip_row *row, const struct ftc_gossip_outcome *outcome)
{
    row->converged += outcome->converged;
    row->most += (double)outcome->most;
    row->deviation += (double)outcome->most * (double)outcome->most;
    row->mean += outcome->mean;
    row->error = fmax(row->error, outcome->error);
    row->time += outcome->time;
    row->flips += (double)outcome->flips;
    row->corrupt += (double)outcome->corrupt;
    row->resets += (double)outcome->resets;
    row->repairs += (double)outcome->repairs;
}

static void divide(struct ftc_gossip_row *row)
{
    double *const sums[] = {&row->most,  &row->deviation, &row->mean,   &row->time,
                            &row->flips, &row->corrupt,   &row->resets, &row->repairs};

    for (size_t i = 0; row->repeat > 0 && i < sizeof(sums) / sizeof(sums[0]); i++)
        *sums[i] /= row->repeat;
    row->deviation = sqrt(fmax(0, row->deviation - row->most * row->most));
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* `most` has the sorted messages of each run. Quartiles are interpolated. */
static void find_quartiles(struct ftc_gossip_row *row, const double *most)
{
    int last = row->repeat - 1, low = 0, high = last;

    if (last < 0)
        return;
    for (int i = 0; i < 3; i++) {
        double at = last * (i + 1) / 4.0;
        int below = (int)at;
        double rest = below < last ? (at - below) * (most[below + 1] - most[below]) : 0;
        row->quartile[i] = most[below] + rest;
    }
    double reach = 1.5 * (row->quartile[2] - row->quartile[0]);
    while (most[low] < row->quartile[0] - reach)
        low++;
    while (most[high] > row->quartile[2] + reach)
        high--;
    row->low = most[low];
    row->high = most[high];
}

void ftc_gossip_row_measure(struct ftc_gossip_row *row)
{
    struct ftc_gossip_run run = row->run;
    double *most = malloc((size_t)row->repeat * sizeof(*most));
    int counted = 0;

    if (most == NULL)
        row->rc = ftc_error_set(FTC_ERR_NOMEM, "no memory for %d runs", row->repeat);
    for (int i = 0; i < row->repeat && row->rc == 0; i++) {
        struct ftc_gossip_outcome outcome;
        run.seed = row->run.seed + (uint64_t)i;
        row->rc = ftc_gossip_run(&run, &outcome);
        if (row->rc != 0 ||
            (row->flips_wanted >= 0 && outcome.flips != (uint64_t)row->flips_wanted))
            continue;
        add_outcome(row, &outcome);
        most[counted++] = (double)outcome.most;
    }
    if (row->rc != 0)
        snprintf(row->words, sizeof(row->words), "%s", ftc_last_error());
    row->repeat = counted;
    divide(row);
    if (most != NULL)
        qsort(most, (size_t)counted, sizeof(*most), ascending);
    find_quartiles(row, most);
    free(most);
}
