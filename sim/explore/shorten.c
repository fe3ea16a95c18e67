/* Looks for a shorter counter-example. The search is the same, but never deeper than the known
 * counter-example. It enters a state again whenever it reaches the state by a shorter path. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "sim/explore/state.h"

/* A longer counter-example is not shortened, because the search below is recursive. */
#define LONGEST 400

struct shorten {
    struct ftc_exploration *x;
    struct ftc_table depth; /* hash of a state -> the least depth at which it was seen */
    struct ftc_explore_event path[LONGEST], best[LONGEST];
    int best_count;
    uint64_t left; /* transitions to spend */
};

static void keep(struct shorten *s, int count)
{
    s->best_count = count;
    memcpy(s->best, s->path, (size_t)count * sizeof(*s->best));
    memcpy(s->x->result->violation, s->x->violation, sizeof(s->x->violation));
}

static bool seen(struct shorten *s, const struct ftc_state *state, int depth, int *rc)
{
    uint64_t hash = XXH3_64bits(state->word, (size_t)s->x->words * sizeof(uint32_t));
    uint32_t least = ftc_table_get(&s->depth, hash);

    if (least <= (uint32_t)depth)
        return true;
    *rc = ftc_table_put(&s->depth, hash, (uint32_t)depth);
    return false;
}

static int search(struct shorten *s, const struct ftc_state *state, int depth);

static int search_events(struct shorten *s, const struct ftc_state *state, int depth,
                         const struct ftc_explore_event events[], int count)
{
    int rc = FTC_SUCCESS;

    for (int e = 0; rc == FTC_SUCCESS && e < count && s->left > 0 && depth + 1 < s->best_count;
         e++) {
        struct ftc_state next = *state;
        s->left--;
        s->path[depth] = events[e];
        rc = s->x->model->take(s->x, &next, events[e]);
        if (rc == FTC_SUCCESS && s->x->violation[0] != '\0')
            keep(s, depth + 1);
        else if (rc == FTC_SUCCESS)
            rc = search(s, &next, depth + 1);
    }
    return rc;
}

static int search(struct shorten *s, const struct ftc_state *state, int depth)
{
    bool terminal = false;
    int count = 0, rc = FTC_SUCCESS;

    if (depth >= s->best_count || seen(s, state, depth, &rc) || rc != FTC_SUCCESS)
        return rc;
    struct ftc_explore_event *events = malloc(FTC_EXPLORE_EVENTS * sizeof(*events));
    if (events == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory to shorten the counter-example");
    rc = s->x->model->events(s->x, state, events, &count, &terminal);
    s->x->violation[0] = '\0';
    if (rc == FTC_SUCCESS && terminal)
        s->x->model->check_end(s->x, state);
    if (s->x->violation[0] != '\0')
        keep(s, depth);
    else if (rc == FTC_SUCCESS)
        rc = search_events(s, state, depth, events, count);
    free(events);
    return rc;
}

int ftc_explore_shorten(struct ftc_exploration *x, struct ftc_explore_event **events, int *count)
{
    struct ftc_state first;

    if (*count > LONGEST || x->limits->shorten == 0)
        return FTC_SUCCESS;
    struct shorten *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory to shorten the counter-example");
    s->x = x;
    s->best_count = *count;
    memcpy(s->best, *events, (size_t)*count * sizeof(**events));
    s->left = x->limits->shorten;
    x->model->first(x, &first);
    int rc = search(s, &first, 0);
    *count = s->best_count;
    memcpy(*events, s->best, (size_t)s->best_count * sizeof(**events));
    ftc_table_fini(&s->depth);
    free(s);
    return rc;
}
