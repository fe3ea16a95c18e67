/* Recursive doubling, Rabenseifner's algorithm, and doubling with a vote. A rank makes a plan of
 * steps, and then goes through it. */
#include "collectives/baseline/doubling.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/wire.h"
#include "collectives/values/types.h"

#define RUNS 3 /* runs of `voted` */

/* A part of the vector. */
struct part {
    size_t first, count;
};

/* A step is an exchange with a peer, or half of one. All ranks have the same number of steps in a
 * run, so that messages can carry the number of their step. */
struct step {
    int peer;                /* -1: this rank has no part in it */
    bool sends, takes, adds; /* adds: adds what it takes to its own, and does not replace it */
    struct part out, in;
    unsigned char *kept; /* the peer's message, if it came too early */
};

struct ftc_doubling {
    struct ftc_doubling_settings set;
    struct ftc_reduction sum;
    enum ftc_doubling_state state;
    int runs, steps; /* steps: of all runs together */
    double *copy;    /* runs * count values: the input, which becomes the sum */
    double *came;    /* the values of a message that are not aligned */
    struct step *step;
    int at;                /* the step under way; `steps`: all are done */
    int begun;             /* number of runs in which something was sent or taken */
    bool started, put_out; /* put_out: the message of the step under way was put out */
    unsigned char *bytes;
    struct ftc_flip pending; /* FTC_FLIP_VARIABLES: there is none */
    struct ftc_doubling_counters counters;
};

const char *ftc_doubling_algorithm_name(enum ftc_doubling_algorithm algorithm)
{
    static const char *const names[FTC_DOUBLING_ALGORITHMS] = {
        [FTC_DOUBLING_PLAIN] = "doubling",
        [FTC_DOUBLING_RABENSEIFNER] = "rabenseifner",
        [FTC_DOUBLING_VOTED] = "voted",
    };
    return (unsigned)algorithm < FTC_DOUBLING_ALGORITHMS ? names[algorithm] : "?";
}

/* --- the plan --- */

static int levels_of(int ranks)
{
    int levels = 0;
    while (ranks >> (levels + 1) > 0)
        levels++;
    return levels;
}

static int steps_of(const struct ftc_doubling_settings *settings)
{
    int exchanges = settings->algorithm == FTC_DOUBLING_RABENSEIFNER ? 2 : 1;
    return exchanges * levels_of(settings->ranks) + 2;
}

/* The vector is cut into `core` blocks of nearly equal size. These are the blocks first .. first +
 * count - 1. */
static struct part blocks(const struct ftc_doubling *d, int core, int first, int count)
{
    size_t whole = d->set.count / (size_t)core, rest = d->set.count % (size_t)core;
    size_t low = (size_t)first, high = low + (size_t)count;
    size_t start = low * whole + (low < rest ? low : rest);
    return (struct part){start, high * whole + (high < rest ? high : rest) - start};
}

/* The ranks from `core` on give their vectors away in the first step of a run, and get the sum in
 * the last one. */
static void plan_fold(const struct ftc_doubling *d, int core, struct step *before,
                      struct step *after)
{
    bool outside = d->set.self >= core;
    int peer = outside ? d->set.self - core : d->set.self + core;
    struct part all = {0, d->set.count};

    *before = *after = (struct step){.peer = -1};
    if (peer >= d->set.ranks)
        return;
    *before = (struct step){
        .peer = peer, .sends = outside, .takes = !outside, .adds = true, .out = all, .in = all};
    *after =
        (struct step){.peer = peer, .sends = !outside, .takes = outside, .out = all, .in = all};
}

static void plan_doubling(const struct ftc_doubling *d, int levels, struct step *step)
{
    struct part all = {0, d->set.count};

    for (int k = 0; k < levels; k++)
        step[k] = (struct step){.peer = d->set.self ^ 1 << k,
                                .sends = true,
                                .takes = true,
                                .adds = true,
                                .out = all,
                                .in = all};
}

/* The halving goes from the farthest peer to the nearest. It leaves each rank with the sum of the
 * block that has the rank's number. On the way back the same parts go in the other direction. */
static void plan_rabenseifner(const struct ftc_doubling *d, int levels, struct step *step)
{
    for (int k = 0; k < levels; k++) {
        int distance = 1 << (levels - 1 - k), peer = d->set.self ^ distance;
        struct part mine = blocks(d, 1 << levels, d->set.self & -distance, distance);
        struct part theirs = blocks(d, 1 << levels, peer & -distance, distance);
        struct step halving = {
            .peer = peer, .sends = true, .takes = true, .adds = true, .out = theirs, .in = mine};
        step[k] = halving;
        halving.adds = false;
        halving.out = mine;
        halving.in = theirs;
        step[2 * levels - 1 - k] = halving;
    }
}

static void plan_run(const struct ftc_doubling *d, struct step *step)
{
    int levels = levels_of(d->set.ranks), last = steps_of(&d->set) - 1;

    plan_fold(d, 1 << levels, &step[0], &step[last]);
    if (d->set.self >= 1 << levels)
        for (int i = 1; i < last; i++)
            step[i].peer = -1;
    else if (d->set.algorithm == FTC_DOUBLING_RABENSEIFNER)
        plan_rabenseifner(d, levels, step + 1);
    else
        plan_doubling(d, levels, step + 1);
}

/* --- life --- */

static int check(const struct ftc_doubling_settings *settings)
{
    if ((unsigned)settings->algorithm >= FTC_DOUBLING_ALGORITHMS)
        return ftc_error_set(FTC_ERR_ARG,
                             "algorithm %d: there is none; take doubling, rabenseifner or voted",
                             (int)settings->algorithm);
    if (settings->self < 0 || settings->self >= settings->ranks)
        return ftc_error_set(FTC_ERR_ARG, "rank %d of %d: 0 to the number of ranks - 1 is needed",
                             settings->self, settings->ranks);
    if (settings->count == 0)
        return ftc_error_set(FTC_ERR_ARG, "an allreduce of no values: at least one is needed");
    return FTC_SUCCESS;
}

static bool allocate(struct ftc_doubling *d)
{
    d->copy = calloc(d->set.count, (size_t)d->runs * sizeof(double));
    d->came = malloc(d->set.count * sizeof(double));
    d->step = calloc((size_t)d->steps, sizeof(*d->step));
    d->bytes = malloc(FTC_DOUBLING_HEAD + d->set.count * sizeof(double));
    return d->copy != NULL && d->came != NULL && d->step != NULL && d->bytes != NULL;
}

int ftc_doubling_create(struct ftc_doubling **out, const struct ftc_doubling_settings *settings,
                        const double *values)
{
    int rc = check(settings);
    if (rc != FTC_SUCCESS)
        return rc;
    struct ftc_doubling *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for an allreduce");
    d->set = *settings;
    d->runs = settings->algorithm == FTC_DOUBLING_VOTED ? RUNS : 1;
    d->steps = d->runs * steps_of(settings);
    d->pending.variable = FTC_FLIP_VARIABLES;
    if (ftc_reduction_init(&d->sum, FTC_DOUBLE, FTC_SUM) != FTC_SUCCESS || !allocate(d)) {
        ftc_doubling_destroy(d);
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for an allreduce of %zu values",
                             settings->count);
    }
    for (int run = 0; run < d->runs; run++) {
        memcpy(d->copy + (size_t)run * settings->count, values, settings->count * sizeof(double));
        plan_run(d, d->step + run * steps_of(settings));
    }
    *out = d;
    return FTC_SUCCESS;
}

void ftc_doubling_destroy(struct ftc_doubling *doubling)
{
    if (doubling == NULL)
        return;
    for (int i = 0; doubling->step != NULL && i < doubling->steps; i++)
        free(doubling->step[i].kept);
    free(doubling->copy);
    free(doubling->came);
    free(doubling->step);
    free(doubling->bytes);
    free(doubling);
}

enum ftc_doubling_state ftc_doubling_state(const struct ftc_doubling *doubling)
{
    return doubling->state;
}

const double *ftc_doubling_result(const struct ftc_doubling *doubling)
{
    return doubling->state == FTC_DOUBLING_DONE ? doubling->copy : NULL;
}

void ftc_doubling_counters(const struct ftc_doubling *doubling,
                           struct ftc_doubling_counters *counters)
{
    *counters = doubling->counters;
}

/* --- the vote --- */

/* Sets *a to the value that two of the three have, bit by bit. So a NaN equals itself, and 0 is not
 * -0. False: no two are equal. */
static bool vote_value(struct ftc_doubling *d, double *a, const double *b, const double *c)
{
    bool ab = memcmp(a, b, sizeof(*a)) == 0, ac = memcmp(a, c, sizeof(*a)) == 0;
    bool bc = memcmp(b, c, sizeof(*b)) == 0;

    d->counters.differed += !ab || !ac;
    if (bc)
        memcpy(a, b, sizeof(*a));
    return ab || ac || bc;
}

static bool vote(struct ftc_doubling *d)
{
    size_t count = d->set.count, size = count * sizeof(double);
    bool majority = true;

    if (memcmp(d->copy, d->copy + count, size) == 0 &&
        memcmp(d->copy, d->copy + 2 * count, size) == 0)
        return true; /* this is nearly always so */
    for (size_t i = 0; i < count; i++)
        majority &= vote_value(d, &d->copy[i], &d->copy[count + i], &d->copy[2 * count + i]);
    return majority;
}

/* --- drills --- */

static double *running_sum(const struct ftc_doubling *d)
{
    return d->copy + (size_t)(d->at / steps_of(&d->set)) * d->set.count;
}

static void flip_due(struct ftc_doubling *d)
{
    const struct ftc_flip *flip = &d->pending;

    if (flip->step != d->counters.messages)
        return;
    if (flip->variable == FTC_FLIP_INPUT && d->begun < d->runs)
        ftc_flip_double(flip, &d->copy[(size_t)d->begun * d->set.count + (size_t)flip->element]);
    else if (flip->variable == FTC_FLIP_PARTIAL && d->at < d->steps)
        ftc_flip_double(flip, &running_sum(d)[flip->element]);
}

static void flip_message(struct ftc_doubling *d, size_t size)
{
    if (d->pending.variable == FTC_FLIP_MESSAGE && d->pending.step == d->counters.messages)
        ftc_flip_bytes(&d->pending, d->bytes + FTC_DOUBLING_HEAD, size);
}

bool ftc_doubling_flip(struct ftc_doubling *doubling, const struct ftc_flip *flip)
{
    bool known = flip->variable == FTC_FLIP_INPUT || flip->variable == FTC_FLIP_PARTIAL ||
                 flip->variable == FTC_FLIP_MESSAGE;

    if (!known || flip->element < 0 || (size_t)flip->element >= doubling->set.count)
        return false;
    doubling->pending = *flip;
    return true;
}

/* --- steps --- */

/* Goes on to the next step in which this rank has a part. */
static void move_on(struct ftc_doubling *d, int at)
{
    d->put_out = false;
    for (d->at = at; d->at < d->steps && d->step[d->at].peer < 0;)
        d->at++;
    if (d->at < d->steps)
        return;
    d->state = d->runs < RUNS || vote(d) ? FTC_DOUBLING_DONE : FTC_DOUBLING_NO_MAJORITY;
}

void ftc_doubling_start(struct ftc_doubling *doubling)
{
    doubling->started = true;
    flip_due(doubling);
    if (doubling->state == FTC_DOUBLING_UNDER_WAY)
        move_on(doubling, 0);
}

static void begin(struct ftc_doubling *d)
{
    d->begun = d->at / steps_of(&d->set) + 1;
}

static const double *aligned(struct ftc_doubling *d, const unsigned char *values, size_t size)
{
    if ((uintptr_t)values % _Alignof(double) == 0)
        return (const double *)(const void *)values;
    memcpy(d->came, values, size);
    return d->came;
}

/* Takes the peer's values in the step under way. */
static void take(struct ftc_doubling *d, const unsigned char *values)
{
    const struct step *step = &d->step[d->at];
    size_t size = step->in.count * sizeof(double);
    double *to = running_sum(d) + step->in.first;

    begin(d);
    if (step->adds) {
        ftc_reduction_combine(&d->sum, aligned(d, values, size), to, size);
        d->counters.added += step->in.count;
    } else {
        memcpy(to, values, size);
    }
    move_on(d, d->at + 1);
}

static void take_kept(struct ftc_doubling *d, struct step *step)
{
    take(d, step->kept + FTC_DOUBLING_HEAD);
    free(step->kept);
    step->kept = NULL;
}

static void write_message(struct ftc_doubling *d, struct ftc_doubling_output *output)
{
    const struct step *step = &d->step[d->at];
    struct ftc_writer writer = {.data = d->bytes, .size = FTC_DOUBLING_HEAD};
    size_t size = step->out.count * sizeof(double);

    ftc_write_u8(&writer, (uint8_t)d->set.algorithm);
    ftc_write_align(&writer, 4);
    ftc_write_u32(&writer, (uint32_t)d->at);
    ftc_write_u64(&writer, d->set.count);
    memcpy(d->bytes + FTC_DOUBLING_HEAD, running_sum(d) + step->out.first, size);
    flip_message(d, size);
    *output = (struct ftc_doubling_output){
        .to = step->peer, .bytes = d->bytes, .size = FTC_DOUBLING_HEAD + size};
    d->counters.bytes += size;
}

static void send(struct ftc_doubling *d, struct ftc_doubling_output *output)
{
    begin(d);
    write_message(d, output);
    d->put_out = true;
    d->counters.messages++;
    flip_due(d);
}

/* Does the step under way wait for its message only? */
static bool waits(const struct ftc_doubling *d)
{
    return d->started && d->step[d->at].takes && (d->put_out || !d->step[d->at].sends);
}

bool ftc_doubling_next_output(struct ftc_doubling *doubling, struct ftc_doubling_output *output)
{
    while (doubling->started && doubling->state == FTC_DOUBLING_UNDER_WAY) {
        struct step *step = &doubling->step[doubling->at];
        if (step->sends && !doubling->put_out) {
            send(doubling, output);
            return true;
        }
        if (!step->takes)
            move_on(doubling, doubling->at + 1);
        else if (step->kept != NULL)
            take_kept(doubling, step);
        else
            return false;
    }
    return false;
}

/* --- messages --- */

/* The number of the step to which the message belongs; -1: this rank does not wait for such a
 * message. */
static int read_step(const struct ftc_doubling *d, int from, const void *bytes, size_t size)
{
    struct ftc_reader reader = {.data = bytes, .size = size};
    uint8_t algorithm = ftc_read_u8(&reader);

    ftc_read_align(&reader, 4);
    uint32_t number = ftc_read_u32(&reader);
    uint64_t count = ftc_read_u64(&reader);
    if (reader.failed || algorithm != (uint8_t)d->set.algorithm || count != d->set.count ||
        number < (uint32_t)d->at || number >= (uint32_t)d->steps)
        return -1;
    const struct step *step = &d->step[number];
    bool awaited = step->peer == from && step->takes && step->kept == NULL;
    return awaited && size - reader.used == step->in.count * sizeof(double) ? (int)number : -1;
}

static int keep(struct step *step, const void *bytes, size_t size)
{
    step->kept = malloc(size);
    if (step->kept == NULL)
        return ftc_error_set(FTC_ERR_NOMEM,
                             "no memory to keep %zu bytes of rank %d until their turn", size,
                             step->peer);
    memcpy(step->kept, bytes, size);
    return FTC_SUCCESS;
}

int ftc_doubling_receive(struct ftc_doubling *doubling, int from, const void *bytes, size_t size)
{
    if (doubling->state == FTC_DOUBLING_RANK_FAILED)
        return FTC_SUCCESS;
    int number = read_step(doubling, from, bytes, size);
    if (number < 0)
        return ftc_error_set(FTC_ERR_PROTO, "rank %d sent what is no message of %s", from,
                             ftc_doubling_algorithm_name(doubling->set.algorithm));
    if (number != doubling->at || !waits(doubling))
        return keep(&doubling->step[number], bytes, size);
    take(doubling, (const unsigned char *)bytes + FTC_DOUBLING_HEAD);
    return FTC_SUCCESS;
}

void ftc_doubling_notice(struct ftc_doubling *doubling, int rank)
{
    bool other = rank >= 0 && rank < doubling->set.ranks && rank != doubling->set.self;

    if (other && doubling->state == FTC_DOUBLING_UNDER_WAY)
        doubling->state = FTC_DOUBLING_RANK_FAILED;
}
