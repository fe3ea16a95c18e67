/* Where the parts of a node segment lie. Private to node/segment/; others use
 * node/segment/segment.h. */
#ifndef FTC_NODE_SEGMENT_LAYOUT_H
#define FTC_NODE_SEGMENT_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "node/segment/segment.h"

#define FTC_LAYOUT_MAX_TEXT (1u << 20) /* bytes of configuration text with its NUL */

/* What a layout depends on. */
struct ftc_layout_spec {
    uint64_t ranks, nodes; /* of the job */
    uint64_t local;        /* ranks of this node */
    uint64_t text_size;    /* of the configuration text with its NUL */
    bool endpoints;        /* of a job on several nodes: always */
};

/* Offsets from the start of the file, and sizes, in bytes. */
struct ftc_layout {
    uint32_t ranks, nodes, local;
    uint64_t text_offset, text_size; /* text_size counts the NUL */
    uint64_t standings_offset;       /* one for each rank of the job */
    uint64_t nodes_offset;
    uint64_t log_offset;
    /* What follows has a place for each rank of this node, but for the parts of remote ranks. */
    uint64_t slots_offset;
    uint64_t endpoints_offset, endpoint_size; /* size 0: there are no endpoints */
    uint64_t sets_offset, set_stride;         /* two rows for each rank: L, G */
    uint64_t pending_offset, pending_stride;
    uint64_t places_offset, progress_offset, posts_offset, results_offset; /* the board */
    uint64_t post_stride;    /* bytes between the posts of two places */
    uint64_t history_offset; /* a multiple of the page size */
    /* Endpoints of remote ranks, on pages, sparse: FTC_ENDPOINT_SIZE bytes for each, but they lie
     * one behind the other. */
    uint64_t remote_offset;
    uint64_t shown_offset, shown_stride; /* one for each rank of the job, sparse; pages */
    uint64_t rings_offset; /* also the size of the front part; a multiple of the page size */
    uint64_t areas_offset; /* data of the board, one area for each rank; sparse, as the rings */
    uint64_t total_size;
};

/* FTC_ERR_ARG: a number is outside of its limit (FTC_NODE_MAX_*), or the text is too long. */
int ftc_layout_compute(struct ftc_layout *layout, const struct ftc_layout_spec *spec);

/* Write the layout into a header that is being made. */
void ftc_layout_store(const struct ftc_layout *layout, struct ftc_segment_header *header);
/* Check an untrusted header, of which `header` is a private copy. It must fit the size of the file,
 * and the layout that is computed anew from what struct ftc_layout_spec has of it. Else
 * FTC_ERR_PROTO. */
int ftc_layout_check(struct ftc_layout *layout, const struct ftc_segment_header *header,
                     uint64_t file_size);

#endif
