/* Spreads news by a tree with a correction along the ring. */
#include "detector/notices.h"

#include <stdlib.h>
#include <string.h>

#include "detector/mutation.h"

#ifdef FTC_MUTATIONS
enum ftc_notices_mutation ftc_notices_mutation = FTC_NOTICES_MUTATION_NONE;
#endif

void ftc_notices_init(struct ftc_notices *notices, int self, int nodes)
{
    *notices = (struct ftc_notices){.self = self};
    ftc_places_init(&notices->places, nodes);
    notices->left = ftc_places_left(&notices->places, self);
    notices->right = ftc_places_right(&notices->places, self);
}

void ftc_notices_fini(struct ftc_notices *notices)
{
    for (int i = 0; i < notices->logs; i++)
        free(notices->log[i].item);
    free(notices->log);
    free(notices->output);
    ftc_places_fini(&notices->places);
    *notices = (struct ftc_notices){0};
}

/* --- memory --- */

static void *grown(void *array, size_t room, size_t size)
{
    void *bigger = realloc(array, room * size);

    if (bigger == NULL)
        abort();
    return bigger;
}

/* The place of the log of `origin`, or where it would be. */
static int place_of(const struct ftc_notices *notices, int origin)
{
    int low = 0, high = notices->logs;

    while (low < high) {
        int middle = low + (high - low) / 2;
        if (notices->log[middle].origin < origin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct ftc_notices_log *find_log(const struct ftc_notices *notices, int origin)
{
    int at = place_of(notices, origin);
    return at < notices->logs && notices->log[at].origin == origin ? &notices->log[at] : NULL;
}

static struct ftc_notices_log *log_of(struct ftc_notices *notices, int origin)
{
    int at = place_of(notices, origin);

    if (at < notices->logs && notices->log[at].origin == origin)
        return &notices->log[at];
    if (notices->logs == notices->log_room) {
        notices->log_room = notices->log_room == 0 ? 4 : 2 * notices->log_room;
        notices->log = grown(notices->log, (size_t)notices->log_room, sizeof(*notices->log));
    }
    memmove(&notices->log[at + 1], &notices->log[at],
            (size_t)(notices->logs++ - at) * sizeof(*notices->log));
    notices->log[at] = (struct ftc_notices_log){.origin = origin};
    return &notices->log[at];
}

static void append(struct ftc_notices_log *log, void *item)
{
    if (log->count == log->room) {
        log->room = log->room == 0 ? 4 : 2 * log->room;
        log->item = grown(log->item, log->room, sizeof(*log->item));
    }
    log->item[log->count++] = item;
}

/* --- outputs --- */

static void put(struct ftc_notices *notices, const struct ftc_notices_output *output)
{
    if (notices->outputs == notices->output_room) {
        notices->output_room = notices->output_room == 0 ? 16 : 2 * notices->output_room;
        notices->output = grown(notices->output, notices->output_room, sizeof(*notices->output));
    }
    notices->output[notices->outputs++] = *output;
}

bool ftc_notices_next(struct ftc_notices *notices, struct ftc_notices_output *output)
{
    if (notices->taken == notices->outputs) {
        notices->taken = notices->outputs = 0;
        return false;
    }
    *output = notices->output[notices->taken++];
    return true;
}

static void send(struct ftc_notices *notices, int to, const struct ftc_notices_log *log,
                 uint32_t number)
{
    put(notices, &(struct ftc_notices_output){.kind = FTC_NOTICES_NEWS,
                                              .to = to,
                                              .origin = log->origin,
                                              .number = number,
                                              .item = log->item[number - 1]});
}

static void send_vector(struct ftc_notices *notices, int to, bool asks)
{
    if (FTC_NOTICES_MUTATED(NO_VECTOR) || (!asks && FTC_NOTICES_MUTATED(NO_ANSWER)))
        return;
    put(notices, &(struct ftc_notices_output){.kind = FTC_NOTICES_VECTOR, .to = to, .asks = asks});
}

/* --- spreading --- */

/* N3. A neighbour that is a child gets it as a child. */
static void correct(struct ftc_notices *notices, int to, int from,
                    const struct ftc_notices_log *log)
{
    if (to != notices->self && to != from && to != log->origin &&
        !ftc_places_is_child(&notices->places, log->origin, notices->self, to) &&
        !FTC_NOTICES_MUTATED(NO_CORRECTION))
        send(notices, to, log, log->count);
}

/* N2, N3: pass on the latest news of this log. The larger subtrees come first. */
static void spread(struct ftc_notices *notices, int from, const struct ftc_notices_log *log)
{
    int child;

    if (from != notices->self && FTC_NOTICES_MUTATED(NOT_PASSED_ON))
        return;
    for (int c = 0;
         (child = ftc_places_child(&notices->places, log->origin, notices->self, c)) >= 0; c++)
        if (child != from)
            send(notices, child, log, log->count);
    correct(notices, notices->right, from, log);
    if (notices->left != notices->right && !FTC_NOTICES_MUTATED(RIGHT_ONLY))
        correct(notices, notices->left, from, log);
}

uint32_t ftc_notices_tell(struct ftc_notices *notices, void *item)
{
    struct ftc_notices_log *log = log_of(notices, notices->self);

    append(log, item);
    spread(notices, notices->self, log);
    return log->count;
}

/* N1, N6. */
bool ftc_notices_take(struct ftc_notices *notices, int from, int origin, uint32_t number,
                      void *item)
{
    struct ftc_notices_log *log = log_of(notices, origin);
    bool next =
        number == log->count + 1 || (FTC_NOTICES_MUTATED(OUT_OF_ORDER) && number > log->count);

    if (origin == notices->self || log->closed || !next)
        return false;
    append(log, item);
    spread(notices, from, log);
    return true;
}

/* --- repair --- */

static void send_behind(struct ftc_notices *notices, int to, const struct ftc_notices_log *log,
                        uint32_t have)
{
    for (uint32_t number = have; number < log->count; number++)
        send(notices, to, log, number + 1);
}

/* Does this node lack news that another node has? */
static bool lacks(const struct ftc_notices *notices, const uint32_t have[])
{
    for (int origin = 0; origin < notices->places.nodes; origin++) {
        const struct ftc_notices_log *log = have[origin] > 0 ? find_log(notices, origin) : NULL;
        if (origin != notices->self && have[origin] > (log != NULL ? log->count : 0) &&
            (log == NULL || !log->closed))
            return true;
    }
    return false;
}

/* N5. */
void ftc_notices_vector(struct ftc_notices *notices, int from, const uint32_t have[], bool asks)
{
    for (int i = 0; i < notices->logs; i++)
        if (notices->log[i].origin != from)
            send_behind(notices, from, &notices->log[i], have[notices->log[i].origin]);
    if (asks && lacks(notices, have))
        send_vector(notices, from, false);
}

void ftc_notices_want(struct ftc_notices *notices, int from, uint32_t have)
{
    send_behind(notices, from, log_of(notices, notices->self), have);
}

void ftc_notices_gone(struct ftc_notices *notices, int node)
{
    int left = notices->left, right = notices->right;

    if (node == notices->self || !ftc_places_remove(&notices->places, node))
        return;
    notices->left = ftc_places_left(&notices->places, notices->self);
    notices->right = ftc_places_right(&notices->places, notices->self);
    if (notices->right != right && notices->right != notices->self)
        send_vector(notices, notices->right, true);
    if (notices->left != left && notices->left != notices->self && notices->left != notices->right)
        send_vector(notices, notices->left, true);
}

void ftc_notices_close(struct ftc_notices *notices, int origin)
{
    log_of(notices, origin)->closed = true;
}

uint32_t ftc_notices_count(const struct ftc_notices *notices, int origin)
{
    const struct ftc_notices_log *log = find_log(notices, origin);
    return log != NULL ? log->count : 0;
}
