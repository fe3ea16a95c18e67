/* Depth-first search over the global states. */
#include "sim/explore/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "sim/explore/state.h"

#define PROGRESS_EVERY (1u << 16)
#define DEPTH_LIMIT    (1u << 14) /* far more than sound members need for eight operations */
#define PATH_ROOM      (4u * DEPTH_LIMIT) /* a power of two */

/* A state that waits for its turn: the event that leads to it, and its hash. */
struct node {
    uint64_t hash;
    struct ftc_explore_event event;
};

/* A state on the path: its own node, and the nodes of its successors. */
struct frame {
    size_t node, first, next, end;
};

struct search {
    struct ftc_exploration *x;
    struct ftc_visited visited;
    struct ftc_intern outcomes;
    struct node *node; /* the successors of all states on the path */
    uint32_t *word;    /* their states, x.words words each */
    size_t count, room;
    struct frame *frame;
    size_t depth;
    uint64_t *path;                  /* the hashes of the states on the path, by hash; 0: none */
    struct ftc_explore_event *event; /* scratch */
    bool violated, full;
};

/* --- successors --- */

static int grow(struct search *s)
{
    size_t room = s->room == 0 ? 1024 : 2 * s->room;
    struct node *node = realloc(s->node, room * sizeof(*node));

    if (node != NULL)
        s->node = node;
    uint32_t *word = realloc(s->word, room * (size_t)s->x->words * sizeof(*word));
    if (word != NULL)
        s->word = word;
    if (node == NULL || word == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for %zu states to come; explore less", room);
    s->room = room;
    return FTC_SUCCESS;
}

static int push(struct search *s, const struct ftc_state *state, struct ftc_explore_event event)
{
    size_t size = (size_t)s->x->words * sizeof(uint32_t);
    int rc = s->count == s->room ? grow(s) : FTC_SUCCESS;

    if (rc != FTC_SUCCESS)
        return rc;
    memcpy((char *)s->word + s->count * size, state->word, size);
    s->node[s->count] = (struct node){.event = event, .hash = XXH3_64bits(state->word, size)};
    ftc_visited_prefetch(&s->visited, s->node[s->count].hash);
    s->count++;
    return FTC_SUCCESS;
}

static void load(const struct search *s, size_t node, struct ftc_state *state)
{
    size_t size = (size_t)s->x->words * sizeof(uint32_t);

    memcpy(state->word, (const char *)s->word + node * size, size);
}

/* --- the states on the path: if one is met again, there is a cycle --- */

static uint64_t *on_path(struct search *s, uint64_t hash)
{
    size_t at = hash & (PATH_ROOM - 1);

    while (s->path[at] != 0 && s->path[at] != hash)
        at = (at + 1) & (PATH_ROOM - 1);
    return &s->path[at];
}

static int enter(struct search *s, size_t node)
{
    if (s->depth == DEPTH_LIMIT)
        return ftc_error_set(FTC_ERR_NOMEM, "a path of more than %u events; explore less",
                             DEPTH_LIMIT);
    s->frame[s->depth++] =
        (struct frame){.node = node, .first = s->count, .next = s->count, .end = s->count};
    *on_path(s, s->node[node].hash) = s->node[node].hash;
    if ((int)s->depth - 1 > s->x->result->depth)
        s->x->result->depth = (int)s->depth - 1;
    return FTC_SUCCESS;
}

/* The state that was entered last leaves first, so nothing was placed behind its entry since. */
static void leave(struct search *s)
{
    struct frame *frame = &s->frame[--s->depth];

    *on_path(s, s->node[frame->node].hash) = 0;
    s->count = frame->first;
}

/* --- results --- */

static void report(struct search *s)
{
    struct ftc_explore_result *r = s->x->result;
    size_t learned = s->x->model->report(s->x, r);

    r->queues = s->x->channels.count;
    r->bytes = s->visited.bytes + learned + ftc_channels_bytes(&s->x->channels) +
               s->room * (sizeof(*s->node) + (size_t)s->x->words * sizeof(*s->word));
    r->collisions = ftc_visited_collisions(r->states);
}

static int count_outcome(struct search *s, const struct ftc_state *state)
{
    struct ftc_exploration *x = s->x;
    struct ftc_digest digest = x->model->outcome(x, state);
    uint32_t number;
    bool fresh = false;

    int rc = ftc_intern_number(&s->outcomes, digest, &number, &fresh);
    if (fresh)
        x->result->outcome_sum += digest.low;
    x->result->outcomes = s->outcomes.count;
    return rc;
}

/* Write the counter-example as text and as a command. */
static int explain(struct ftc_exploration *x, struct ftc_explore_event **events, int *count)
{
    const struct ftc_explore_limits *limits = x->limits;
    struct ftc_explore_limits plain = *limits;
    int rc = ftc_explore_shorten(x, events, count);

    plain.plain = true;
    x->limits = &plain;
    if (rc == FTC_SUCCESS && !limits->plain)
        rc = ftc_explore_spell_out(x, events, count);
    if (rc == FTC_SUCCESS)
        rc = x->model->explain(x, *events, *count);
    x->limits = limits;
    return rc;
}

/* A promise is broken after the path: by one more event, or (NULL) by the end of the path. If there
 * is no memory to explain the finding, it is reported without explanation. */
static int violated(struct search *s, const struct ftc_explore_event *last)
{
    struct ftc_explore_event *events = malloc((s->depth + 1) * sizeof(*events));
    int count = 0;

    s->violated = s->x->result->violated = true;
    memcpy(s->x->result->violation, s->x->violation, sizeof(s->x->violation));
    if (events == NULL)
        return FTC_SUCCESS;
    for (size_t f = 1; f < s->depth; f++)
        events[count++] = s->node[s->frame[f].node].event;
    if (last != NULL)
        events[count++] = *last;
    (void)explain(s->x, &events, &count);
    s->x->result->length = count;
    free(events);
    return FTC_SUCCESS;
}

/* --- the search --- */

static int end_here(struct search *s, const struct ftc_state *state)
{
    s->x->result->terminal++;
    s->x->violation[0] = '\0';
    s->x->model->check_end(s->x, state);
    if (s->x->violation[0] != '\0')
        return violated(s, NULL);
    return s->x->limits->outcomes ? count_outcome(s, state) : FTC_SUCCESS;
}

/* Check the state that was entered last, and put its successors on the stack. */
static int expand(struct search *s)
{
    struct ftc_state state, next;
    bool terminal = false;
    int count = 0;

    load(s, s->frame[s->depth - 1].node, &state);
    int rc = s->x->model->events(s->x, &state, s->event, &count, &terminal);
    if (rc == FTC_SUCCESS && terminal)
        rc = end_here(s, &state);
    for (int e = 0; rc == FTC_SUCCESS && e < count && !s->violated; e++) {
        next = state;
        s->x->result->transitions++;
        rc = s->x->model->take(s->x, &next, s->event[e]);
        if (rc == FTC_SUCCESS && s->x->violation[0] != '\0')
            rc = violated(s, &s->event[e]);
        else if (rc == FTC_SUCCESS)
            rc = push(s, &next, s->event[e]);
    }
    s->frame[s->depth - 1].end = s->count;
    return rc;
}

/* Called now and then: show progress, and check how much memory is in use. */
static bool too_large(struct search *s)
{
    struct ftc_explore_result *r = s->x->result;
    const struct ftc_explore_limits *limits = s->x->limits;

    if (r->states % PROGRESS_EVERY != 0)
        return false;
    report(s);
    if (limits->progress != NULL)
        limits->progress(limits->progress_arg, r);
    if (limits->bytes == 0 || r->bytes <= limits->bytes)
        return false;
    snprintf(r->incomplete, sizeof(r->incomplete), "more than %zu MiB of memory are needed",
             limits->bytes >> 20);
    return true;
}

static bool limited(struct search *s)
{
    struct ftc_explore_result *r = s->x->result;

    s->full = too_large(s);
    if (!s->full && s->x->limits->states != 0 && r->states == s->x->limits->states) {
        s->full = true;
        snprintf(r->incomplete, sizeof(r->incomplete), "the limit of %llu states was reached",
                 (unsigned long long)s->x->limits->states);
    }
    return s->full;
}

/* Enter a state that is seen for the first time. A state that is on the path closes a cycle. */
static int visit(struct search *s, size_t node)
{
    bool fresh;
    int rc = ftc_visited_add(&s->visited, s->node[node].hash, &fresh);

    if (rc != FTC_SUCCESS) {
        snprintf(s->x->result->incomplete, sizeof(s->x->result->incomplete), "%s",
                 ftc_last_error());
        s->full = true;
        return FTC_SUCCESS;
    }
    if (!fresh && *on_path(s, s->node[node].hash) != 0) {
        s->x->violation[0] = '\0';
        ftc_explore_violate(s->x, "livelock: a state comes again on the same path");
        return violated(s, &s->node[node].event);
    }
    if (!fresh || limited(s))
        return FTC_SUCCESS;
    s->x->result->states++;
    rc = enter(s, node);
    return rc == FTC_SUCCESS ? expand(s) : rc;
}

static int run(struct search *s)
{
    struct ftc_state first;

    s->x->model->first(s->x, &first);
    int rc = push(s, &first, (struct ftc_explore_event){0});
    if (rc == FTC_SUCCESS)
        rc = visit(s, 0);
    while (rc == FTC_SUCCESS && !s->violated && !s->full && s->depth > 0) {
        struct frame *frame = &s->frame[s->depth - 1];
        if (frame->next < frame->end)
            rc = visit(s, frame->next++);
        else
            leave(s);
    }
    s->x->result->exhausted = rc == FTC_SUCCESS && !s->violated && !s->full;
    report(s);
    return rc;
}

/* --- life --- */

static int search_init(struct search *s, struct ftc_exploration *x)
{
    size_t most = x->limits->bytes != 0 ? x->limits->bytes : SIZE_MAX;

    *s = (struct search){.x = x};
    int rc = ftc_channels_init(&x->channels);
    if (rc == FTC_SUCCESS)
        rc = ftc_visited_init(&s->visited, most);
    if (rc != FTC_SUCCESS)
        return rc;
    s->frame = malloc(DEPTH_LIMIT * sizeof(*s->frame));
    s->path = calloc(PATH_ROOM, sizeof(*s->path));
    s->event = malloc(FTC_EXPLORE_EVENTS * sizeof(*s->event));
    if (s->frame == NULL || s->path == NULL || s->event == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory to explore");
    return FTC_SUCCESS;
}

static void search_fini(struct search *s)
{
    ftc_channels_fini(&s->x->channels);
    ftc_visited_fini(&s->visited);
    ftc_intern_fini(&s->outcomes);
    free(s->node);
    free(s->word);
    free(s->frame);
    free(s->path);
    free(s->event);
}

int ftc_explore_search(struct ftc_exploration *x)
{
    struct search s;
    int rc = search_init(&s, x);

    if (rc == FTC_SUCCESS)
        rc = run(&s);
    search_fini(&s);
    return rc;
}

void ftc_explore_result_fini(struct ftc_explore_result *result)
{
    free(result->path);
    free(result->replay);
    result->path = result->replay = NULL;
}
