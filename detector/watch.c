/* The detector of one node. It has an entry for each rank, and judges each entry once per tick. The
 * header has the rules and bounds. */
#include "detector/watch.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"

/* The time from `since` to now. It can be negative, and is then 0, because an event may carry a
 * slightly later time than the tick that judges it. */
static uint64_t elapsed(uint64_t since_ns, uint64_t now_ns)
{
    return now_ns > since_ns ? now_ns - since_ns : 0;
}

/* Move the start of a deadline by the missed time, but not into the future. */
static void move(uint64_t *since_ns, uint64_t missed_ns, uint64_t now_ns)
{
    *since_ns += missed_ns < elapsed(*since_ns, now_ns) ? missed_ns : elapsed(*since_ns, now_ns);
}

/* The entry of a rank that runs and is not fenced yet, or NULL. */
static struct ftc_watch_entry *running(struct ftc_watch *watch, int rank)
{
    if (rank < 0 || rank >= watch->ranks)
        return NULL;
    struct ftc_watch_entry *entry = &watch->entry[rank];
    bool runs = entry->state == FTC_WATCH_ALIVE || entry->state == FTC_WATCH_SUSPECTED;
    return runs ? entry : NULL;
}

static void suspect(struct ftc_watch_entry *entry, enum ftc_suspicion suspicion, uint64_t now_ns)
{
    if (entry->state == FTC_WATCH_ALIVE) {
        entry->suspected_ns = now_ns;
        entry->suspicions++;
    }
    entry->state = FTC_WATCH_SUSPECTED;
    entry->suspicion = suspicion;
}

/* Withdraw a suspicion whose reason is gone, if the rank is not fenced yet. */
static void withdraw(struct ftc_watch_entry *entry, enum ftc_suspicion suspicion)
{
    if (entry->state != FTC_WATCH_SUSPECTED || entry->suspicion != suspicion)
        return;
    entry->state = FTC_WATCH_ALIVE;
    entry->suspicion = FTC_SUSPECT_NONE;
    entry->suspected_ns = 0;
}

int ftc_watch_init(struct ftc_watch *watch, int ranks, uint64_t period_ns, uint64_t timeout_ns,
                   bool fence)
{
    assert(ranks >= 1 && period_ns > 0 && timeout_ns >= 2 * period_ns);
    struct ftc_watch_entry *entry = calloc((size_t)ranks, sizeof(*entry));
    if (entry == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory to watch %d ranks: start fewer on this node",
                             ranks);
    for (int rank = 0; rank < ranks; rank++)
        entry[rank].accuser = -1;
    *watch = (struct ftc_watch){
        .ranks = ranks,
        .period_ns = period_ns,
        .timeout_ns = timeout_ns,
        .fence = fence,
        .entry = entry,
    };
    return FTC_SUCCESS;
}

void ftc_watch_fini(struct ftc_watch *watch)
{
    free(watch->entry);
    watch->entry = NULL;
    watch->ranks = 0;
}

void ftc_watch_started(struct ftc_watch *watch, int rank, uint64_t now_ns)
{
    if (rank < 0 || rank >= watch->ranks)
        return;
    struct ftc_watch_entry *entry = &watch->entry[rank];
    assert(entry->state == FTC_WATCH_ABSENT);
    entry->state = FTC_WATCH_ALIVE;
    entry->changed_ns = now_ns;
    if (watch->first == watch->end || rank < watch->first)
        watch->first = rank;
    if (rank >= watch->end)
        watch->end = rank + 1;
}

void ftc_watch_heartbeat(struct ftc_watch *watch, int rank, uint64_t heartbeat, uint64_t now_ns)
{
    struct ftc_watch_entry *entry = running(watch, rank);

    if (entry == NULL || (entry->joined && entry->heartbeat == heartbeat))
        return;
    entry->joined = true;
    entry->heartbeat = heartbeat;
    entry->changed_ns = now_ns;
    withdraw(entry, FTC_SUSPECT_STALLED);
}

void ftc_watch_stopped(struct ftc_watch *watch, int rank, bool stopped, uint64_t now_ns)
{
    struct ftc_watch_entry *entry = running(watch, rank);

    if (entry == NULL || entry->stopped == stopped)
        return;
    entry->stopped = stopped;
    if (stopped) {
        entry->stopped_ns = now_ns;
        return;
    }
    move(&entry->changed_ns, elapsed(entry->stopped_ns, now_ns), now_ns);
    withdraw(entry, FTC_SUSPECT_STOPPED);
}

void ftc_watch_accused(struct ftc_watch *watch, int rank, int accuser, uint64_t now_ns)
{
    struct ftc_watch_entry *entry = running(watch, rank);

    if (entry == NULL || entry->released || entry->suspicion == FTC_SUSPECT_ACCUSED)
        return;
    entry->accuser = accuser;
    suspect(entry, FTC_SUSPECT_ACCUSED, now_ns);
}

void ftc_watch_released(struct ftc_watch *watch, int rank)
{
    struct ftc_watch_entry *entry = running(watch, rank);

    if (entry == NULL)
        return;
    if (entry->suspicion != FTC_SUSPECT_STOPPED)
        withdraw(entry, entry->suspicion);
    entry->released = true;
}

void ftc_watch_tick(struct ftc_watch *watch, uint64_t now_ns)
{
    uint64_t expected = watch->period_ns / 2;
    uint64_t gap = watch->ticked ? elapsed(watch->last_look_ns, now_ns) : 0;

    watch->ticked = true;
    watch->last_look_ns = now_ns;
    if (gap <= watch->period_ns)
        return;
    for (int rank = watch->first; rank < watch->end; rank++) {
        struct ftc_watch_entry *entry = &watch->entry[rank];
        move(&entry->changed_ns, gap - expected, now_ns);
        move(&entry->stopped_ns, gap - expected, now_ns);
    }
}

/* Suspect a rank that has been stopped, or has not beaten, for too long. */
static void judge(const struct ftc_watch *watch, struct ftc_watch_entry *entry, uint64_t now_ns)
{
    if (entry->state != FTC_WATCH_ALIVE)
        return;
    if (entry->stopped && elapsed(entry->stopped_ns, now_ns) > watch->timeout_ns)
        suspect(entry, FTC_SUSPECT_STOPPED, now_ns);
    if (!entry->stopped && entry->joined && !entry->released &&
        elapsed(entry->changed_ns, now_ns) > watch->timeout_ns)
        suspect(entry, FTC_SUSPECT_STALLED, now_ns);
}

int ftc_watch_next_to_fence(struct ftc_watch *watch, uint64_t now_ns)
{
    for (int rank = watch->first; rank < watch->end; rank++) {
        struct ftc_watch_entry *entry = &watch->entry[rank];
        judge(watch, entry, now_ns);
        if (entry->state == FTC_WATCH_SUSPECTED && watch->fence) {
            entry->state = FTC_WATCH_FENCED;
            return rank;
        }
    }
    return -1;
}

bool ftc_watch_exited(struct ftc_watch *watch, int rank, bool finalized)
{
    if (rank < 0 || rank >= watch->ranks)
        return false;
    struct ftc_watch_entry *entry = &watch->entry[rank];
    if (entry->state == FTC_WATCH_LEFT || entry->state == FTC_WATCH_FAILED)
        return false;
    entry->state = finalized ? FTC_WATCH_LEFT : FTC_WATCH_FAILED;
    return !finalized;
}
