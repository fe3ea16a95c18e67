/* The layout of a job of one node without endpoints. */
#ifndef FTC_TEST_ONE_NODE_H
#define FTC_TEST_ONE_NODE_H

#include "node/segment/layout.h"

/* As ftc_layout_compute(). */
static inline int layout_of_one(struct ftc_layout *layout, uint64_t ranks, uint64_t text_size)
{
    return ftc_layout_compute(
        layout, &(struct ftc_layout_spec){
                    .ranks = ranks, .nodes = 1, .local = ranks, .text_size = text_size});
}

#endif
