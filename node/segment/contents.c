/* What is in a segment, and where. */
#include <assert.h>

#include "node/segment/board_memory.h"
#include "node/segment/internal.h"

struct ftc_segment_header *ftc_segment_header(struct ftc_segment *segment)
{
    return (struct ftc_segment_header *)(void *)segment->base;
}

bool ftc_segment_holds(const struct ftc_segment *segment, const void *address)
{
    uintptr_t base = (uintptr_t)segment->base, at = (uintptr_t)address;

    return at >= base && at - base < segment->mapped;
}

int ftc_segment_ranks(const struct ftc_segment *segment)
{
    return (int)segment->layout.ranks;
}

const char *ftc_segment_text(struct ftc_segment *segment)
{
    return segment->text;
}

struct ftc_standing *ftc_segment_standing(struct ftc_segment *segment, int rank)
{
    assert(ftc_segment_has_rank(segment, rank));
    return (struct ftc_standing *)(void *)(segment->base + segment->layout.standings_offset) + rank;
}

struct ftc_slot *ftc_segment_slot(struct ftc_segment *segment, int rank)
{
    return (struct ftc_slot *)(void *)(segment->base + segment->layout.slots_offset) +
           ftc_segment_place(segment, rank);
}

_Atomic uint64_t *ftc_segment_pending_row(struct ftc_segment *segment, int rank)
{
    return (_Atomic uint64_t *)(void *)(segment->base + segment->layout.pending_offset +
                                        segment->layout.pending_stride *
                                            ftc_segment_place(segment, rank));
}

struct ftc_board_memory ftc_segment_board(struct ftc_segment *segment)
{
    const struct ftc_layout *layout = &segment->layout;
    void *base = segment->base;

    return (struct ftc_board_memory){
        .places = (void *)((char *)base + layout->places_offset),
        .progress = (void *)((char *)base + layout->progress_offset),
        .posts = segment->base + layout->posts_offset,
        .post_stride = layout->post_stride,
        .ahead = segment->base + layout->posts_offset + FTC_BOARD_DEPTH * layout->post_stride,
        .results = segment->base + layout->results_offset,
        .areas = segment->writable ? segment->base + layout->areas_offset : NULL,
        .segment = segment,
    };
}
