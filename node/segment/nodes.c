/* The table of nodes. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "node/segment/internal.h"

static struct ftc_node *table(const struct ftc_segment *segment)
{
    return (struct ftc_node *)(void *)(segment->base + segment->layout.nodes_offset);
}

/* The rows of ranks must follow one another, none may be empty, and together they must hold all
 * ranks. */
int ftc_nodes_keep(struct ftc_segment *segment)
{
    const struct ftc_node *nodes = table(segment);
    uint64_t next = 0;

    segment->node = ftc_segment_header(segment)->node;
    segment->first = calloc((size_t)segment->layout.nodes + 1, sizeof(*segment->first));
    if (segment->first == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a table of nodes");
    for (uint32_t node = 0; node < segment->layout.nodes; node++) {
        uint32_t first = nodes[node].first, count = nodes[node].count;
        if (first != next || count < 1 ||
            memchr(nodes[node].host, '\0', sizeof(nodes[node].host)) == NULL)
            break;
        segment->first[node] = first;
        next += count;
    }
    segment->first[segment->layout.nodes] = (uint32_t)next;
    if (next == segment->layout.ranks && segment->node < segment->layout.nodes &&
        segment->first[segment->node + 1] - segment->first[segment->node] ==
            segment->layout.local) {
        segment->own_first = segment->first[segment->node];
        return 0;
    }
    return ftc_error_set(FTC_ERR_PROTO, "damaged segment: its nodes do not hold its %u ranks",
                         segment->layout.ranks);
}

int ftc_nodes_fill(struct ftc_segment *segment, const struct ftc_segment_spec *spec)
{
    struct ftc_segment_header *header = ftc_segment_header(segment);
    struct ftc_node *nodes = table(segment);
    struct ftc_node one = {.count = (uint32_t)spec->ranks};
    const struct ftc_node *members = spec->nodes > 0 ? spec->members : &one;

    snprintf(one.host, sizeof(one.host), "%s", spec->host != NULL ? spec->host : "");
    snprintf(header->cluster, sizeof(header->cluster), "%s",
             spec->nodes > 0 ? spec->cluster : spec->job);
    if (spec->secret != NULL)
        memcpy(header->secret, spec->secret, FTC_JOB_SECRET);
    header->node = (uint32_t)spec->node;
    for (uint32_t node = 0; node < segment->layout.nodes; node++) {
        memcpy(nodes[node].host, members[node].host, sizeof(nodes[node].host));
        nodes[node].first = members[node].first;
        nodes[node].count = members[node].count;
    }
    /* A single node needs no lease. On several nodes no rank may return before the first lease. */
    atomic_store_explicit(&header->lease_ns, spec->nodes > 1 ? 0 : UINT64_MAX,
                          memory_order_relaxed);
    return ftc_nodes_keep(segment);
}

int ftc_segment_nodes(const struct ftc_segment *segment)
{
    return (int)segment->layout.nodes;
}

int ftc_segment_node(const struct ftc_segment *segment)
{
    return (int)segment->node;
}

int ftc_segment_local(const struct ftc_segment *segment, int *count)
{
    return ftc_segment_ranks_of(segment, (int)segment->node, count);
}

int ftc_segment_ranks_of(const struct ftc_segment *segment, int node, int *count)
{
    assert(node >= 0 && (uint32_t)node < segment->layout.nodes);
    *count = (int)(segment->first[node + 1] - segment->first[node]);
    return (int)segment->first[node];
}

bool ftc_segment_is_local(const struct ftc_segment *segment, int rank)
{
    return (uint32_t)rank - segment->own_first < segment->layout.local;
}

int ftc_segment_node_of(const struct ftc_segment *segment, int rank)
{
    uint32_t low = 0,
             high = segment->layout
                        .nodes; /* low has a first rank that is not above, high one that is */

    assert(ftc_segment_has_rank(segment, rank));
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (segment->first[middle] <= (uint32_t)rank)
            low = middle;
        else
            high = middle;
    }
    return (int)low;
}

struct ftc_node *ftc_segment_node_at(struct ftc_segment *segment, int node)
{
    assert(node >= 0 && (uint32_t)node < segment->layout.nodes);
    return &table(segment)[node];
}
