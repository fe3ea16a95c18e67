/* Where the parts of a node segment lie. Private to node/segment/; others use
 * node/segment/segment.h. */
#ifndef FTC_NODE_SEGMENT_LAYOUT_H
#define FTC_NODE_SEGMENT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "node/segment/segment.h"

#define FTC_LAYOUT_MAX_TEXT (1u << 20) /* bytes of configuration text with its NUL */

/* Offsets from the start of the file, and sizes, in bytes. They depend on ranks, nodes, endpoints
 * and text_size only. */
struct ftc_layout {
    uint32_t ranks, nodes;
    uint64_t text_offset, text_size; /* text_size counts the NUL */
    uint64_t slots_offset;
    uint64_t nodes_offset;
    uint64_t endpoints_offset, endpoint_size; /* size 0: there are no endpoints */
    uint64_t log_offset;
    uint64_t sets_offset, set_stride; /* two rows for each rank: L, G */
    uint64_t pending_offset, pending_stride;
    uint64_t places_offset, progress_offset, posts_offset, results_offset; /* the board */
    uint64_t post_stride;    /* bytes between the posts of two places */
    uint64_t history_offset; /* a multiple of the page size; sparse for ranks of other nodes */
    uint64_t rings_offset;   /* also the size of the front part; a multiple of the page size */
    uint64_t areas_offset;   /* data of the board, one area for each rank; sparse, as the rings */
    uint64_t total_size;
};

/* FTC_ERR_ARG: ranks are outside 1..FTC_NODE_MAX_RANKS, nodes are outside 1..FTC_NODE_MAX_NODES, or
 * the text is too long. */
int ftc_layout_compute(struct ftc_layout *layout, uint64_t ranks, uint64_t nodes, bool endpoints,
                       uint64_t text_size);

/* Write the layout into a header that is being made. */
void ftc_layout_store(const struct ftc_layout *layout, struct ftc_segment_header *header);
/* Check an untrusted header, of which `header` is a private copy. It must fit the size of the file,
 * and the layout that is computed anew from its numbers of ranks and nodes, its endpoints and its
 * text size. Else FTC_ERR_PROTO. */
int ftc_layout_check(struct ftc_layout *layout, const struct ftc_segment_header *header,
                     uint64_t file_size);

#endif
