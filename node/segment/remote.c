/* What a node keeps of ranks of other nodes beside their standings: endpoints, and what is shown of
 * them. Both are sparse, and the launcher gets memory for them before it writes. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "node/segment/internal.h"

#define PAGE_BYTES 4096u
#define STEP_BYTES 65536u /* memory for endpoints is got in steps of so many bytes */

/* --- endpoints --- */

/* Where the endpoints of remote ranks end. */
static uint64_t endpoints_size(const struct ftc_segment *segment)
{
    const struct ftc_layout *layout = &segment->layout;

    return (uint64_t)(layout->ranks - layout->local) * layout->endpoint_size;
}

char *ftc_segment_own_endpoint(struct ftc_segment *segment, int rank)
{
    if (segment->layout.endpoint_size == 0)
        return NULL;
    return (char *)segment->base + segment->layout.endpoints_offset +
           ftc_segment_place(segment, rank) * FTC_ENDPOINT_SIZE;
}

/* Get memory for the next `size` bytes. */
static int make_room(struct ftc_segment *segment, size_t size)
{
    uint64_t *allocated = &segment->endpoints_allocated, all = endpoints_size(segment);
    uint64_t needed = segment->endpoints_used + size, step = STEP_BYTES;

    if (needed <= *allocated)
        return FTC_SUCCESS;
    if (needed > all)
        return ftc_error_set(FTC_ERR_STATE, "a rank of another node has more than one endpoint");
    if (step > all - *allocated)
        step = all - *allocated;
    if (ftc_segment_populate(segment, segment->layout.remote_offset + *allocated, step) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "no room in /dev/shm for the endpoints of other nodes' ranks: %m: "
                             "enlarge it (mount -o remount,size=1g /dev/shm)");
    *allocated += step;
    return FTC_SUCCESS;
}

int ftc_segment_keep_endpoint(struct ftc_segment *segment, int rank, const void *text, size_t size)
{
    uint64_t at = segment->endpoints_used;

    assert(!ftc_segment_is_local(segment, rank) && size < FTC_ENDPOINT_SIZE);
    int rc = make_room(segment, size + 1);
    if (rc != FTC_SUCCESS)
        return rc;
    char *place = (char *)segment->base + segment->layout.remote_offset + at;
    memcpy(place, text, size);
    place[size] = '\0';
    segment->endpoints_used += size + 1;
    atomic_store_explicit(&ftc_segment_standing(segment, rank)->endpoint, (uint32_t)at + 1,
                          memory_order_relaxed);
    return FTC_SUCCESS;
}

/* NULL: it is nowhere. *room: bytes from there on. */
static const char *find_endpoint(struct ftc_segment *segment, int rank, size_t *room)
{
    uint64_t all = endpoints_size(segment),
             at = atomic_load_explicit(&ftc_segment_standing(segment, rank)->endpoint,
                                       memory_order_relaxed);

    *room = FTC_ENDPOINT_SIZE;
    if (ftc_segment_is_local(segment, rank))
        return ftc_segment_own_endpoint(segment, rank);
    if (at == 0 || at > all)
        return NULL;
    if (*room > all - (at - 1))
        *room = (size_t)(all - (at - 1));
    return (char *)segment->base + segment->layout.remote_offset + (at - 1);
}

bool ftc_segment_endpoint(struct ftc_segment *segment, int rank, char text[FTC_ENDPOINT_SIZE])
{
    uint32_t phase =
        atomic_load_explicit(&ftc_segment_standing(segment, rank)->phase, memory_order_acquire);
    size_t room;
    const char *shared = phase < FTC_PHASE_JOINED ? NULL : find_endpoint(segment, rank, &room);

    if (shared == NULL)
        return false;
    (void)memccpy(text, shared, '\0', room);
    text[room - 1] = '\0';
    return true;
}

/* --- shown --- */

static uint64_t shown_at(const struct ftc_segment *segment, int rank)
{
    return segment->layout.shown_offset + (uint64_t)rank * segment->layout.shown_stride;
}

struct ftc_shown *ftc_segment_shown(struct ftc_segment *segment, int rank)
{
    struct ftc_standing *standing = ftc_segment_standing(segment, rank);

    if (ftc_segment_is_local(segment, rank) ||
        atomic_load_explicit(&standing->shown, memory_order_acquire) == 0)
        return NULL;
    return (struct ftc_shown *)(void *)(segment->base + shown_at(segment, rank));
}

int ftc_segment_show(struct ftc_segment *segment, int rank, struct ftc_shown **shown)
{
    uint64_t at = shown_at(segment, rank), from = at / PAGE_BYTES * PAGE_BYTES;

    *shown = ftc_segment_shown(segment, rank);
    if (*shown != NULL)
        return FTC_SUCCESS;
    assert(!ftc_segment_is_local(segment, rank));
    if (ftc_segment_populate(segment, from, at + segment->layout.shown_stride - from) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "no room in /dev/shm to show rank %d: %m", rank);
    *shown = (struct ftc_shown *)(void *)(segment->base + at);
    atomic_store_explicit(&(*shown)->activity.waits_for, -1, memory_order_relaxed);
    atomic_store_explicit(&(*shown)->activity.root, -1, memory_order_relaxed);
    atomic_store_explicit(&ftc_segment_standing(segment, rank)->shown, 1, memory_order_release);
    return FTC_SUCCESS;
}

struct ftc_activity *ftc_segment_activity(struct ftc_segment *segment, int rank)
{
    struct ftc_shown *shown;

    if (ftc_segment_is_local(segment, rank))
        return &ftc_segment_slot(segment, rank)->activity;
    shown = ftc_segment_shown(segment, rank);
    return shown != NULL ? &shown->activity : NULL;
}

/* --- sets --- */

/* L, or G (which = 1). */
static _Atomic uint64_t *set_row(struct ftc_segment *segment, int rank, int which)
{
    const struct ftc_layout *layout = &segment->layout;
    struct ftc_shown *shown;
    unsigned char *rows;

    if (ftc_segment_is_local(segment, rank)) {
        rows = segment->base + layout->sets_offset +
               2 * ftc_segment_place(segment, rank) * layout->set_stride;
    } else {
        shown = ftc_segment_shown(segment, rank);
        if (shown == NULL || layout->ranks > FTC_SHOWN_RANKS)
            return NULL;
        rows = (unsigned char *)(shown + 1);
    }
    return (_Atomic uint64_t *)(void *)(rows + (uint64_t)which * layout->set_stride);
}

_Atomic uint64_t *ftc_segment_known_row(struct ftc_segment *segment, int rank)
{
    return set_row(segment, rank, 0);
}

_Atomic uint64_t *ftc_segment_agreed_row(struct ftc_segment *segment, int rank)
{
    return set_row(segment, rank, 1);
}
