/*
 * Train a small neural network on points that are spread over the ranks. Every rank has all the
 * weights. In every step one allreduce sums the gradients, the losses and the number of points.
 * Then every survivor takes the same step. The points of a rank that dies are lost.
 *
 *     ftrun -np 8 -f 2 --kill 3@0.3 --kill 5@0.6 ./train loss.csv 300 3
 *     gnuplot -e "csv='loss.csv'" train.gnuplot > loss.svg
 *
 * arguments: file for the loss of each step, steps (default 300), pause after each in milliseconds
 * (default 0)
 *
 * The sum holds a rank's points entirely or not at all, and it also counts the points that it
 * holds. Divided by this count it is the mean. All weights come from the same seed and the same
 * sums. So they have the same bits on every rank without being exchanged.
 */
#include <ftcoll.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define POINTS 200 /* on each rank */
#define HIDDEN 12
/* Each hidden unit has four weights: two for its inputs, its bias, and one for its output. The last
 * weight is the bias of the network's output. */
#define WEIGHTS (4 * HIDDEN + 1)
#define RATE    1.0

enum { LOSS = WEIGHTS, RIGHT, COUNT, RANKS, SUMS };

struct training {
    ftc_comm *world;
    int rank, size;
    double point[POINTS][3]; /* x, y, and 1 if the point is within a circle, else 0 */
    double weight[WEIGHTS];
    bool *dead;
    FILE *history; /* every rank keeps it, so that any survivor can write it at the end */
};

/* A random number from -1 to 1. */
static double draw(unsigned *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random / 2147483648.0 - 1;
}

static void prepare(struct training *t)
{
    unsigned shared = 12345, own = 2463534242u + (unsigned)t->rank * 2654435761u;
    for (int i = 0; i < WEIGHTS; i++)
        t->weight[i] = 2 * draw(&shared);
    for (int i = 0; i < POINTS; i++) {
        double x = t->point[i][0] = draw(&own), y = t->point[i][1] = draw(&own);
        t->point[i][2] = hypot(x, y) < 0.7;
    }
}

/* Add one point's gradient, loss and counts to `sum`: a forward pass, then a backward pass. */
static void learn(const double weight[WEIGHTS], const double point[3], double sum[SUMS])
{
    double hidden[HIDDEN], out = weight[4 * HIDDEN];
    for (int i = 0; i < HIDDEN; i++) {
        const double *w = &weight[4 * i];
        hidden[i] = tanh(w[0] * point[0] + w[1] * point[1] + w[2]);
        out += w[3] * hidden[i];
    }
    double guess = 1 / (1 + exp(-out)), error = guess - point[2];
    for (int i = 0; i < HIDDEN; i++) {
        double back = error * weight[4 * i + 3] * (1 - hidden[i] * hidden[i]);
        sum[4 * i] += back * point[0];
        sum[4 * i + 1] += back * point[1];
        sum[4 * i + 2] += back;
        sum[4 * i + 3] += error * hidden[i];
    }
    sum[4 * HIDDEN] += error;
    sum[LOSS] -= log(fmax(point[2] == 1 ? guess : 1 - guess, 1e-12));
    sum[RIGHT] += (guess > 0.5) == (point[2] == 1);
    sum[COUNT]++;
}

static void check(const struct training *t, int rc)
{
    if (rc == FTC_SUCCESS)
        return;
    fprintf(stderr, "train: rank %d: %s\n", t->rank, ftc_last_error());
    ftc_abort(t->world, 1);
}

/* Add a line to the history: the step, the loss, the share of points that are guessed right, the
 * number of ranks in the sum, and the ranks that are newly known to have died. */
static void note(struct training *t, long step, const double sum[SUMS])
{
    ftc_report report = {.struct_size = sizeof(report)};
    check(t, ftc_last_report(t->world, &report));
    fprintf(t->history, "%ld,%.9f,%.6f,%.0f,", step, sum[LOSS] / sum[COUNT],
            sum[RIGHT] / sum[COUNT], sum[RANKS]);
    const char *between = "";
    for (int i = 0; i < report.failed_count; i++)
        if (!t->dead[report.failed[i]]) {
            t->dead[report.failed[i]] = true;
            fprintf(t->history, "%s%d", between, report.failed[i]);
            between = " ";
        }
    fputc('\n', t->history);
}

static void step(struct training *t, long number, double sum[SUMS])
{
    for (int i = 0; i < SUMS; i++)
        sum[i] = 0;
    for (int i = 0; i < POINTS; i++)
        learn(t->weight, t->point[i], sum);
    sum[RANKS] = 1;
    check(t, ftc_allreduce(FTC_IN_PLACE, sum, SUMS, FTC_DOUBLE, FTC_SUM, t->world));
    note(t, number, sum);
    for (int i = 0; i < WEIGHTS; i++)
        t->weight[i] -= RATE * sum[i] / sum[COUNT];
}

static bool write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    bool good = out != NULL && fputs(text, out) >= 0;
    if (out != NULL && fclose(out) != 0)
        good = false;
    if (!good)
        perror(path);
    return good;
}

/* The lowest survivor writes the file. An allreduce tells the others that it has. If the writer is
 * missing in that sum, it has died, and the next survivor writes. */
static void write_once(struct training *t, const char *path, const char *text)
{
    for (int writer = 0; writer < t->size; writer++) {
        int32_t written = t->rank == writer ? (write_file(path, text) ? 1 : 2) : 0;
        check(t, ftc_allreduce(FTC_IN_PLACE, &written, 1, FTC_INT32, FTC_SUM, t->world));
        if (written == 2)
            ftc_abort(t->world, 1);
        if (written == 1)
            return;
    }
}

int main(int argc, char **argv)
{
    long steps = argc > 2 ? atol(argv[2]) : 300, pause_ms = argc > 3 ? atol(argv[3]) : 0;
    struct timespec pause = {.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000};
    struct training t = {0};
    double sum[SUMS] = {0};
    char *text = NULL;
    size_t size = 0;

    if (argc < 2 || ftc_init(NULL, &t.world) != FTC_SUCCESS) {
        fprintf(stderr, "train: %s\n", argc < 2 ? "name a file for the losses" : ftc_last_error());
        return 1;
    }
    t.rank = ftc_rank(t.world);
    t.size = ftc_size(t.world);
    t.dead = calloc((size_t)t.size, sizeof(bool));
    t.history = open_memstream(&text, &size);
    if (t.dead == NULL || t.history == NULL)
        ftc_abort(t.world, 1);
    fputs("step,loss,right,ranks,died\n", t.history);
    prepare(&t);
    for (long i = 1; i <= steps; i++) {
        step(&t, i, sum);
        nanosleep(&pause, NULL);
    }
    if (fclose(t.history) != 0)
        ftc_abort(t.world, 1);
    write_once(&t, argv[1], text);
    printf("rank %d: loss %.9f, %.1f %% right, points of %.0f ranks\n", t.rank,
           sum[LOSS] / sum[COUNT], 100 * sum[RIGHT] / sum[COUNT], sum[RANKS]);
    free(t.dead);
    free(text);
    return ftc_finalize(t.world) == FTC_SUCCESS ? 0 : 1;
}
