/*
 * What a message between two ranks of this machine costs, by class. A class says where the two
 * ranks are and how many ranks share a core with them. (The classes of Wimmer 2016, section 5.5.3,
 * are distances in a cluster.)
 *
 *   message_time [SECONDS]                       prints tables of classes and sizes
 *   message_time RANKS BIND BYTES WAY SECONDS    prints one figure
 *
 * SECONDS is the time for one figure; for the tables it is the time for each figure in each round
 * (default 0.1). One figure is printed as a line:
 *
 *   message_time WAY BIND RANKS BYTES messages mean_us median_us p90_us
 *
 * BIND   none    no binding
 *        one     all ranks on one core
 *        cores   rank i on core i, in turn
 * WAY    turns   one rank sends, then the other; the figure is half of the time there and back
 *        both    both send, then both receive; the figure is the time from one message of a rank to
 *                its next
 *
 * Rank r exchanges messages with rank r ^ 1, all pairs at once. The tables show the medians, over
 * the rounds, of the means and of the medians, in microseconds. Each round takes every class and
 * size in turn.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/exchange.h"
#include "bench/job.h"
#include "node/system/process.h"

#define ROUNDS  3
#define CLASSES 7
#define SIZES   5

static const size_t sizes[SIZES] = {8, 64, 512, 4096, 65536};

/* The classes with EXCHANGE_BIND_NONE are those of a job: the kernel places per_core ranks for each
 * core. */
static const struct class
{
    const char *name;
    enum exchange_bind bind;
    int per_core; /* ranks for each core; 0: two ranks in all */
} classes[CLASSES] = {
    {"2 ranks, one core", EXCHANGE_BIND_ONE, 0}, {"2 ranks, two cores", EXCHANGE_BIND_CORES, 0},
    {"1 rank a core", EXCHANGE_BIND_NONE, 1},    {"2 ranks a core", EXCHANGE_BIND_NONE, 2},
    {"4 ranks a core", EXCHANGE_BIND_NONE, 4},   {"8 ranks a core", EXCHANGE_BIND_NONE, 8},
    {"32 ranks a core", EXCHANGE_BIND_NONE, 32},
};

struct cell {
    double mean[ROUNDS], median[ROUNDS];
};
struct table {
    struct cell cell[CLASSES][SIZES];
};

/* An even number, so that every rank has a partner. */
static int ranks_of(const struct class *class)
{
    int ranks = class->per_core == 0 ? 2 : (class->per_core * ftc_process_cores() + 1) / 2 * 2;
    return ranks < EXCHANGE_RANKS_MAX ? ranks : EXCHANGE_RANKS_MAX;
}

static bool has_class(const struct class *class)
{
    return class->bind != EXCHANGE_BIND_CORES || ftc_process_cores() > 1;
}

static void run_round(struct table *table, int round, bool both, double seconds)
{
    for (int c = 0; c < CLASSES; c++) {
        for (int s = 0; s < SIZES && has_class(&classes[c]); s++) {
            struct exchange_plan plan = {.ranks = ranks_of(&classes[c]),
                                         .bind = classes[c].bind,
                                         .bytes = sizes[s],
                                         .both = both,
                                         .seconds = seconds};
            struct exchange_result result;
            if (!exchange_run(&plan, &result))
                exit(1);
            table->cell[c][s].mean[round] = result.mean;
            table->cell[c][s].median[round] = result.median;
        }
    }
}

static void print_table(struct table *table, bool both)
{
    printf("\n%s\n%-20s",
           both ? "both ways at once, from one message to the next" : "in turns, one way", "");
    for (int s = 0; s < SIZES; s++)
        printf("  %14zu B", sizes[s]);
    for (int c = 0; c < CLASSES; c++) {
        if (!has_class(&classes[c]))
            continue;
        printf("\n%-20s", classes[c].name);
        for (int s = 0; s < SIZES; s++) {
            struct cell *cell = &table->cell[c][s];
            printf("  %7.2f /%7.2f", job_quantile(cell->mean, ROUNDS, 0.5),
                   job_quantile(cell->median, ROUNDS, 0.5));
        }
    }
    printf("\n");
}

static int print_classes(double seconds)
{
    static struct table tables[2];
    printf("us of a message, mean / median; %d cores, medians of %d rounds\n", ftc_process_cores(),
           ROUNDS);
    for (int round = 0; round < ROUNDS; round++)
        for (int both = 0; both < 2; both++)
            run_round(&tables[both], round, both, seconds);
    for (int both = 0; both < 2; both++)
        print_table(&tables[both], both);
    return 0;
}

static int print_one(const struct exchange_plan *plan)
{
    struct exchange_result result;
    if (!exchange_run(plan, &result))
        return 1;
    printf("message_time %s %s %d %zu %ld %.4f %.4f %.4f\n", plan->both ? "both" : "turns",
           exchange_bind_name(plan->bind), plan->ranks, plan->bytes, result.messages, result.mean,
           result.median, result.p90);
    return 0;
}

/* Returns NAN if `word` is no number from `least` to `most`. */
static double read_number(const char *word, double least, double most)
{
    char *rest;
    double number = strtod(word, &rest);
    return rest != word && *rest == '\0' && number >= least && number <= most ? number : NAN;
}

static bool read_plan(char **words, struct exchange_plan *plan)
{
    double ranks = read_number(words[0], 2, EXCHANGE_RANKS_MAX),
           bytes = read_number(words[2], 1, EXCHANGE_BYTES_MAX),
           seconds = read_number(words[4], 0.001, 60);
    int bind = 0;
    while (bind < EXCHANGE_BINDS &&
           strcmp(words[1], exchange_bind_name((enum exchange_bind)bind)) != 0)
        bind++;
    *plan = (struct exchange_plan){.bind = (enum exchange_bind)bind,
                                   .both = strcmp(words[3], "both") == 0};
    if (isnan(ranks) || isnan(bytes) || isnan(seconds) || fmod(ranks, 2) != 0 ||
        bind == EXCHANGE_BINDS || (!plan->both && strcmp(words[3], "turns") != 0))
        return false;
    plan->ranks = (int)ranks;
    plan->bytes = (size_t)bytes;
    plan->seconds = seconds;
    return true;
}

int main(int argc, char **argv)
{
    struct exchange_plan plan;
    double seconds = argc == 2 ? read_number(argv[1], 0.001, 60) : 0.1;
    if (argc <= 2 && !isnan(seconds))
        return print_classes(seconds);
    if (argc == 6 && read_plan(argv + 1, &plan))
        return print_one(&plan);
    fprintf(stderr,
            "usage: message_time [SECONDS]\n"
            "       message_time RANKS none|one|cores BYTES turns|both SECONDS\n"
            "RANKS even, 2 to %d; BYTES 1 to %u; SECONDS 0.001 to 60\n",
            EXCHANGE_RANKS_MAX, EXCHANGE_BYTES_MAX);
    return 2;
}
