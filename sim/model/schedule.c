/* Parses schedules, writes them as text, and runs clusters under them. */
#include "sim/model/schedule.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void ftc_schedule_fini(struct ftc_schedule *schedule)
{
    free(schedule->deviation);
    free(schedule->crash);
    free(schedule->loss);
    *schedule = (struct ftc_schedule){0};
}

/* --- arrays that grow --- */

static int no_memory(void)
{
    return ftc_error_set(FTC_ERR_NOMEM, "no memory for a schedule; give a shorter one");
}

/* Make room for one more element after `count`. Arrays double at powers of two. */
static int grow(void **array, size_t count, size_t size)
{
    if (count != 0 && (count & (count - 1)) != 0)
        return FTC_SUCCESS;
    void *grown = realloc(*array, (count == 0 ? 1 : 2 * count) * size);
    if (grown == NULL)
        return no_memory();
    *array = grown;
    return FTC_SUCCESS;
}

static int add_deviation(struct ftc_schedule *s, struct ftc_schedule_deviation deviation)
{
    int rc = grow((void **)&s->deviation, s->deviations, sizeof(deviation));

    if (rc == FTC_SUCCESS)
        s->deviation[s->deviations++] = deviation;
    return rc;
}

static int add_crash(struct ftc_schedule *s, struct ftc_schedule_crash crash)
{
    int rc = grow((void **)&s->crash, s->crashes, sizeof(crash));

    if (rc == FTC_SUCCESS)
        s->crash[s->crashes++] = crash;
    return rc;
}

static int add_loss(struct ftc_schedule *s, struct ftc_schedule_loss loss)
{
    int rc = grow((void **)&s->loss, s->losses, sizeof(loss));

    if (rc == FTC_SUCCESS)
        s->loss[s->losses++] = loss;
    return rc;
}

int ftc_schedule_copy(struct ftc_schedule *to, const struct ftc_schedule *from)
{
    int rc = FTC_SUCCESS;

    *to = (struct ftc_schedule){0};
    for (size_t d = 0; rc == FTC_SUCCESS && d < from->deviations; d++)
        rc = add_deviation(to, from->deviation[d]);
    for (size_t c = 0; rc == FTC_SUCCESS && c < from->crashes; c++)
        rc = add_crash(to, from->crash[c]);
    for (size_t l = 0; rc == FTC_SUCCESS && l < from->losses; l++)
        rc = add_loss(to, from->loss[l]);
    if (rc != FTC_SUCCESS)
        ftc_schedule_fini(to);
    return rc;
}

/* --- text --- */

/* Read a decimal number at *at, and move *at behind it. */
static bool read_number(const char **at, uint32_t most, uint32_t *out)
{
    uint64_t number = 0;
    const char *p = *at;

    for (; isdigit((unsigned char)*p) && number <= most; p++)
        number = 10 * number + (uint64_t)(*p - '0');
    if (p == *at || number > most)
        return false;
    *at = p;
    *out = (uint32_t)number;
    return true;
}

/* Read one item: a number before each character of `pattern`, and one at the end. ":@" means
 * "N:N@N". */
static bool read_item(const char **at, const char *pattern, uint32_t most, uint32_t number[])
{
    for (; read_number(at, most, number++); pattern++) {
        if (*pattern == '\0')
            return true;
        if (*(*at)++ != *pattern)
            return false;
    }
    return false;
}

/* Give each comma-separated item of `text` to `add`. */
static int parse_list(struct ftc_schedule *s, const char *text, const char *pattern, uint32_t most,
                      const char *allowed,
                      int (*add)(struct ftc_schedule *, const uint32_t number[]))
{
    const char *at = text;

    do {
        uint32_t number[3];
        if (!read_item(&at, pattern, most, number) || (*at != ',' && *at != '\0'))
            return ftc_error_set(FTC_ERR_ARG, "\"%s\" is no list of %s", text, allowed);
        int rc = add(s, number);
        if (rc != FTC_SUCCESS)
            return rc;
    } while (*at++ == ',');
    return FTC_SUCCESS;
}

static int take_crash(struct ftc_schedule *s, const uint32_t number[])
{
    if (s->crashes == FTC_SCHEDULE_CRASHES)
        return ftc_error_set(FTC_ERR_ARG, "more than %d crashes; give fewer", FTC_SCHEDULE_CRASHES);
    return add_crash(
        s, (struct ftc_schedule_crash){.rank = (int)number[0], .outputs = (int)number[1]});
}

static int take_loss(struct ftc_schedule *s, const uint32_t number[])
{
    return add_loss(s, (struct ftc_schedule_loss){
                           .from = (int)number[0], .to = (int)number[1], .arrive = (int)number[2]});
}

static int take_deviation(struct ftc_schedule *s, const uint32_t number[])
{
    if (number[0] == 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "step 0 in a schedule: steps count from 1; give 1 or more");
    if (s->deviations > 0 && s->deviation[s->deviations - 1].step >= number[0])
        return ftc_error_set(FTC_ERR_ARG,
                             "step %u stands behind step %u; sort a schedule by its steps",
                             number[0], s->deviation[s->deviations - 1].step);
    return add_deviation(s,
                         (struct ftc_schedule_deviation){.step = number[0], .passed = number[1]});
}

int ftc_schedule_parse_crashes(struct ftc_schedule *schedule, const char *text)
{
    return parse_list(schedule, text, "@", INT_MAX - 1, "RANK@OUTPUTS, as in \"0@17,2@3\"",
                      take_crash);
}

int ftc_schedule_parse_losses(struct ftc_schedule *schedule, const char *text)
{
    return parse_list(schedule, text, ":@", INT_MAX - 1, "FROM:TO@MESSAGES, as in \"0:2@3\"",
                      take_loss);
}

int ftc_schedule_parse_deviations(struct ftc_schedule *schedule, const char *text)
{
    return parse_list(schedule, text, ":", UINT32_MAX, "STEP:OLDER, as in \"12:3,15:1\"",
                      take_deviation);
}

static int check_crash(const struct ftc_schedule *s, size_t c, int ranks)
{
    int rank = s->crash[c].rank;

    if (rank >= ranks)
        return ftc_error_set(FTC_ERR_ARG, "rank %d cannot die: there are only ranks 0 to %d", rank,
                             ranks - 1);
    for (size_t other = 0; other < c; other++)
        if (s->crash[other].rank == rank)
            return ftc_error_set(FTC_ERR_ARG, "rank %d dies twice; leave one out", rank);
    return FTC_SUCCESS;
}

/* A channel may have only one loss; with two it would be unclear which one counts. */
static int check_losses(const struct ftc_schedule *s, int ranks)
{
    int rc = FTC_SUCCESS;
    size_t n = (size_t)ranks;
    bool *lost = s->losses > 1 ? calloc(n * n, sizeof(*lost)) : NULL;

    if (s->losses > 1 && lost == NULL)
        return no_memory();
    for (size_t l = 0; rc == FTC_SUCCESS && lost != NULL && l < s->losses; l++) {
        bool *channel = &lost[(size_t)s->loss[l].from * n + (size_t)s->loss[l].to];
        if (*channel)
            rc = ftc_error_set(FTC_ERR_ARG,
                               "the messages from rank %d to rank %d are lost twice; leave one out",
                               s->loss[l].from, s->loss[l].to);
        *channel = true;
    }
    free(lost);
    return rc;
}

int ftc_schedule_check(const struct ftc_schedule *schedule, int ranks)
{
    int rc = FTC_SUCCESS;

    for (size_t c = 0; rc == FTC_SUCCESS && c < schedule->crashes; c++)
        rc = check_crash(schedule, c, ranks);
    if (rc != FTC_SUCCESS)
        return rc;
    if (schedule->crashes >= (size_t)ranks)
        return ftc_error_set(FTC_ERR_ARG, "all %d ranks die; let one live", ranks);
    for (size_t l = 0; l < schedule->losses; l++) {
        const struct ftc_schedule_loss *loss = &schedule->loss[l];
        if (loss->from >= ranks || loss->to >= ranks || loss->from == loss->to)
            return ftc_error_set(FTC_ERR_ARG,
                                 "rank %d does not send to rank %d; give two of ranks 0 to %d",
                                 loss->from, loss->to, ranks - 1);
    }
    return check_losses(schedule, ranks);
}

/* The estimate is more than any observed run took: an operation takes f + 14 steps per rank without
 * deaths, and each death costs a notice and at most one more round. */
int ftc_schedule_check_size(int ranks, int f, int operations, size_t deaths)
{
    uint64_t steps =
        (uint64_t)operations * ((uint64_t)f + 24) + (uint64_t)deaths * ((uint64_t)f + 8);

    if (steps < FTC_CLUSTER_STEPS / (uint64_t)ranks)
        return FTC_SUCCESS;
    return ftc_error_set(
        FTC_ERR_ARG,
        "%d operations of %d ranks with f = %d and %zu deaths may take more than the %d steps "
        "after which a run counts as endless; give fewer operations or ranks, or a smaller f",
        operations, ranks, f, deaths, FTC_CLUSTER_STEPS);
}

static void print_schedule(const struct ftc_schedule *s, FILE *out)
{
    for (size_t c = 0; c < s->crashes; c++)
        fprintf(out, "%s%d@%d", c > 0 ? "," : "--crash ", s->crash[c].rank, s->crash[c].outputs);
    const char *space = s->crashes > 0 ? " " : "";
    for (size_t l = 0; l < s->losses; l++)
        fprintf(out, "%s%s%d:%d@%d", l > 0 ? "" : space, l > 0 ? "," : "--lose ", s->loss[l].from,
                s->loss[l].to, s->loss[l].arrive);
    space = s->crashes + s->losses > 0 ? " " : "";
    for (size_t d = 0; d < s->deviations; d++)
        fprintf(out, "%s%s%u:%u", d > 0 ? "" : space, d > 0 ? "," : "--schedule ",
                s->deviation[d].step, s->deviation[d].passed);
}

char *ftc_schedule_format(const struct ftc_schedule *schedule)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        return NULL;
    print_schedule(schedule, out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* --- runs --- */

static void set_crashes(struct ftc_cluster *c, const struct ftc_schedule *schedule)
{
    for (size_t i = 0; i < schedule->losses; i++) {
        const struct ftc_schedule_loss *loss = &schedule->loss[i];
        c->channel[loss->from * c->n + loss->to].limit = loss->arrive + 1;
    }
    for (size_t i = 0; i < schedule->crashes; i++) {
        if (schedule->crash[i].outputs == 0)
            ftc_cluster_crash(c, schedule->crash[i].rank);
        else
            ftc_cluster_doom(c, schedule->crash[i].rank, FTC_CLUSTER_ANY,
                             schedule->crash[i].outputs, false);
    }
}

struct ftc_cluster *ftc_schedule_begin(const struct ftc_member_settings *settings,
                                       const struct ftc_program *program,
                                       const struct ftc_schedule *schedule, FILE *log)
{
    struct ftc_cluster *c = ftc_cluster_new(settings, program, 0);

    c->log = log;
    set_crashes(c, schedule);
    return c;
}

void ftc_schedule_step(struct ftc_cluster *cluster, int event, const struct ftc_promise *promise)
{
    ftc_cluster_do(cluster, event);
    if (promise != NULL && !ftc_cluster_broken(cluster))
        promise->check(cluster, promise->arg);
}

bool ftc_schedule_finish(struct ftc_cluster *cluster, const struct ftc_schedule *schedule,
                         const struct ftc_promise *promise)
{
    size_t next = 0;

    while (!ftc_cluster_broken(cluster) && cluster->enabled_count > 0) {
        uint32_t passed = 0;
        if (next < schedule->deviations && schedule->deviation[next].step == cluster->steps + 1)
            passed = schedule->deviation[next++].passed;
        ftc_schedule_step(cluster, ftc_cluster_aged(cluster, passed), promise);
    }
    ftc_cluster_finish(cluster);
    return !ftc_cluster_broken(cluster);
}

bool ftc_schedule_run(const struct ftc_member_settings *settings, const struct ftc_program *program,
                      const struct ftc_schedule *schedule, FILE *log,
                      char violation[FTC_SCHEDULE_TEXT])
{
    struct ftc_cluster *c = ftc_schedule_begin(settings, program, schedule, log);
    bool kept = ftc_schedule_finish(c, schedule, NULL);

    snprintf(violation, FTC_SCHEDULE_TEXT, "%s", c->violation);
    ftc_cluster_free(c);
    return kept;
}

/* Take the event if it can happen, and record a deviation if it is not the oldest event. */
static int follow(struct ftc_cluster *c, int event, struct ftc_schedule *schedule)
{
    if (c->place[event] == 0)
        return FTC_SUCCESS;
    uint64_t passed = ftc_cluster_age(c, event);
    struct ftc_schedule_deviation deviation = {.step = (uint32_t)c->steps + 1,
                                               .passed = (uint32_t)passed};

    ftc_schedule_step(c, event, NULL);
    return passed == 0 ? FTC_SUCCESS : add_deviation(schedule, deviation);
}

int ftc_schedule_from_events(struct ftc_schedule *schedule,
                             const struct ftc_member_settings *settings,
                             const struct ftc_program *program,
                             const struct ftc_cluster_event *event, size_t count)
{
    int rc = FTC_SUCCESS;
    struct ftc_cluster *c = ftc_schedule_begin(settings, program, schedule, NULL);

    free(schedule->deviation);
    schedule->deviation = NULL;
    schedule->deviations = 0;
    for (size_t e = 0; rc == FTC_SUCCESS && e < count && !ftc_cluster_broken(c); e++)
        rc = follow(c, ftc_cluster_event_number(c->n, event[e]), schedule);
    ftc_cluster_free(c);
    return rc;
}
