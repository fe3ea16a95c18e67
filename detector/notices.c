/* Spreads news by a tree with a correction along the ring. */
#include "detector/notices.h"

#include <stdlib.h>
#include <string.h>

#include "detector/mutation.h"

#ifdef FTC_MUTATIONS
enum ftc_notices_mutation ftc_notices_mutation = FTC_NOTICES_MUTATION_NONE;
#endif

static void find_neighbours(struct ftc_notices *notices)
{
    notices->neighbour[FTC_NOTICES_LEFT] = ftc_places_left(&notices->places, notices->self);
    notices->neighbour[FTC_NOTICES_RIGHT] = ftc_places_right(&notices->places, notices->self);
}

void ftc_notices_init(struct ftc_notices *notices, int self, int nodes, uint64_t wait_ns)
{
    *notices = (struct ftc_notices){.self = self, .wait_ns = wait_ns, .due_ns = UINT64_MAX};
    ftc_places_init(&notices->places, nodes);
    find_neighbours(notices);
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

static void put_news(struct ftc_notices *notices, int to, const struct ftc_notices_log *log,
                     uint32_t number)
{
    put(notices, &(struct ftc_notices_output){.kind = FTC_NOTICES_NEWS,
                                              .to = to,
                                              .origin = log->origin,
                                              .number = number,
                                              .item = log->item[number - 1]});
}

static void send_behind(struct ftc_notices *notices, int to, const struct ftc_notices_log *log,
                        uint32_t have)
{
    for (uint32_t number = have; number < log->count; number++)
        put_news(notices, to, log, number + 1);
}

static void send_vector(struct ftc_notices *notices, int to, bool asks)
{
    if (FTC_NOTICES_MUTATED(NO_VECTOR) || (!asks && FTC_NOTICES_MUTATED(NO_ANSWER)))
        return;
    put(notices, &(struct ftc_notices_output){.kind = FTC_NOTICES_VECTOR, .to = to, .asks = asks});
}

/* --- spreading --- */

/* N3: this neighbour has the first `number` news of the log. */
static void note(struct ftc_notices *notices, struct ftc_notices_log *log, int node,
                 uint32_t number)
{
    for (int s = 0; s < FTC_NOTICES_SIDES; s++)
        if (notices->neighbour[s] == node && log->side[s].has < number)
            log->side[s].has = number;
}

/* N3: what the neighbour may lack. */
static void correct(struct ftc_notices *notices, struct ftc_notices_log *log, int s)
{
    int to = notices->neighbour[s];

    log->side[s].due_ns = 0;
    if (to == notices->self || to == log->origin || FTC_NOTICES_MUTATED(NO_CORRECTION) ||
        (s == FTC_NOTICES_LEFT && FTC_NOTICES_MUTATED(RIGHT_ONLY)))
        return;
    send_behind(notices, to, log, log->side[s].has);
    note(notices, log, to, log->count);
}

/* N2. The larger subtrees come first. A neighbour drops news if it lacks those before them. */
static void send_to_child(struct ftc_notices *notices, int child, struct ftc_notices_log *log)
{
    uint32_t have = log->count - 1;

    for (int s = 0; s < FTC_NOTICES_SIDES; s++)
        if (notices->neighbour[s] == child && !FTC_NOTICES_MUTATED(GAP_BEFORE_CHILD))
            have = log->side[s].has;
    send_behind(notices, child, log, have);
    note(notices, log, child, log->count);
}

/* N3: a correction that has waited for news before these ones takes these with it. */
static void correct_later(struct ftc_notices *notices, struct ftc_notices_log *log, uint64_t now)
{
    for (int s = 0; s < FTC_NOTICES_SIDES; s++) {
        struct ftc_notices_side *side = &log->side[s];
        if (side->due_ns == 0 && side->has < log->count)
            side->due_ns = now + (uint64_t)(s + 1) * notices->wait_ns;
        if (side->due_ns != 0 && side->due_ns < notices->due_ns)
            notices->due_ns = side->due_ns;
    }
}

/* N2, N3: pass on the latest news of this log. News that do not come from the parent tell that the
 * tree has a hole. */
static void spread(struct ftc_notices *notices, int from, struct ftc_notices_log *log, uint64_t now)
{
    const struct ftc_places *places = &notices->places;
    int child;

    if (from != notices->self && FTC_NOTICES_MUTATED(NOT_PASSED_ON))
        return;
    for (int c = 0; (child = ftc_places_child(places, log->origin, notices->self, c)) >= 0; c++)
        if (child != from)
            send_to_child(notices, child, log);
    if (from == notices->self || FTC_NOTICES_MUTATED(ALWAYS_WAITS) ||
        ftc_places_is_child(places, log->origin, from, notices->self)) {
        correct_later(notices, log, now);
        return;
    }
    for (int s = 0; s < FTC_NOTICES_SIDES; s++)
        correct(notices, log, s);
}

void ftc_notices_tick(struct ftc_notices *notices, uint64_t now_ns)
{
    if (now_ns < notices->due_ns || FTC_NOTICES_MUTATED(WAITS_FOR_EVER))
        return;
    notices->due_ns = UINT64_MAX;
    for (int i = 0; i < notices->logs; i++) {
        struct ftc_notices_log *log = &notices->log[i];
        for (int s = 0; s < FTC_NOTICES_SIDES; s++) {
            if (log->side[s].due_ns == 0)
                continue;
            if (log->side[s].due_ns <= now_ns)
                correct(notices, log, s);
            else if (log->side[s].due_ns < notices->due_ns)
                notices->due_ns = log->side[s].due_ns;
        }
    }
}

uint64_t ftc_notices_due(const struct ftc_notices *notices)
{
    return notices->due_ns;
}

uint32_t ftc_notices_tell(struct ftc_notices *notices, void *item, uint64_t now_ns)
{
    struct ftc_notices_log *log = log_of(notices, notices->self);

    append(log, item);
    spread(notices, notices->self, log, now_ns);
    return log->count;
}

/* N1, N6. */
bool ftc_notices_take(struct ftc_notices *notices, int from, int origin, uint32_t number,
                      void *item, uint64_t now_ns)
{
    struct ftc_notices_log *log = log_of(notices, origin);
    bool next =
        number == log->count + 1 || (FTC_NOTICES_MUTATED(OUT_OF_ORDER) && number > log->count);

    note(notices, log, from, number);
    if (origin == notices->self || log->closed || !next)
        return false;
    append(log, item);
    spread(notices, from, log, now_ns);
    return true;
}

/* --- repair --- */

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
    for (int i = 0; i < notices->logs; i++) {
        struct ftc_notices_log *log = &notices->log[i];
        if (log->origin == from)
            continue;
        send_behind(notices, from, log, have[log->origin]);
        note(notices, log, from, log->count);
    }
    if (asks && lacks(notices, have))
        send_vector(notices, from, false);
}

void ftc_notices_want(struct ftc_notices *notices, int from, uint32_t have)
{
    send_behind(notices, from, log_of(notices, notices->self), have);
}

/* The vector brings a new neighbour all that is here. */
static void compare(struct ftc_notices *notices, int s)
{
    int to = notices->neighbour[s];
    bool both = s == FTC_NOTICES_LEFT && to == notices->neighbour[FTC_NOTICES_RIGHT];

    for (int i = 0; i < notices->logs; i++) {
        struct ftc_notices_log *log = &notices->log[i];
        log->side[s] =
            (struct ftc_notices_side){.has = both ? log->side[FTC_NOTICES_RIGHT].has : log->count};
    }
    if (to != notices->self && !both)
        send_vector(notices, to, true);
}

void ftc_notices_gone(struct ftc_notices *notices, int node)
{
    int before[FTC_NOTICES_SIDES];

    memcpy(before, notices->neighbour, sizeof(before));
    if (node == notices->self || !ftc_places_remove(&notices->places, node))
        return;
    find_neighbours(notices);
    for (int s = 0; s < FTC_NOTICES_SIDES; s++)
        if (notices->neighbour[s] != before[s])
            compare(notices, s);
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
