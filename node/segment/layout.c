/* The layout of the node segment. It is always computed, never taken from a file; the header of a
 * file must have the same layout. */
#include "node/segment/layout.h"

#include "node/segment/board_memory.h"
#include "node/segment/history.h"

#include <string.h>

#include "base/error.h"
#include "base/set.h"

#define PAGE_BYTES 4096u
#define LINE_BYTES 64u

/* Shared structs must have the same layout in all processes. Words of different writers may not
 * share a cache line, except posts, which share one on purpose. A change of these numbers needs a
 * new FTC_SEGMENT_VERSION. */
_Static_assert(sizeof(struct ftc_slot) % LINE_BYTES == 0, "slots are padded");
_Static_assert(sizeof(struct ftc_slot) == 1344, "layout of the slot");
_Static_assert(sizeof(struct ftc_segment_header) == 1088, "layout of the header");
_Static_assert(sizeof(struct ftc_node) == 88, "layout of a node");
_Static_assert(2 * sizeof(struct ftc_board_post) == LINE_BYTES, "two small posts share a line");
_Static_assert(sizeof(struct ftc_board_progress) == LINE_BYTES, "layout of the board");
_Static_assert(sizeof(struct ftc_board_place) == 4 * LINE_BYTES, "layout of the board");
_Static_assert(FTC_BOARD_AREA % PAGE_BYTES == 0, "areas begin on pages");
_Static_assert(FTC_HISTORY_BYTES % PAGE_BYTES == 0, "histories begin on pages");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2,
               "no locks between processes");

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

void ftc_board_layout(struct ftc_board_layout *layout, uint64_t from, uint64_t ranks)
{
    layout->places = from;
    layout->progress = from + FTC_BOARD_DEPTH * sizeof(struct ftc_board_place);
    layout->posts = layout->progress + ranks * sizeof(struct ftc_board_progress);
    layout->post_stride = round_up(ranks * sizeof(struct ftc_board_post), LINE_BYTES);
    layout->ahead = layout->posts + FTC_BOARD_DEPTH * layout->post_stride;
    layout->results = round_up(
        layout->ahead + ranks * FTC_BOARD_DEPTH * sizeof(struct ftc_board_post), PAGE_BYTES);
    layout->end =
        round_up(layout->results + (uint64_t)FTC_BOARD_RESULTS * FTC_BOARD_BLOCK, PAGE_BYTES);
}

int ftc_layout_compute(struct ftc_layout *layout, uint64_t ranks, uint64_t nodes, bool endpoints,
                       uint64_t text_size)
{
    if (ranks < 1 || ranks > FTC_NODE_MAX_RANKS)
        return ftc_error_set(FTC_ERR_ARG, "%llu ranks on one node: 1 to %d are possible",
                             (unsigned long long)ranks, FTC_NODE_MAX_RANKS);
    if (nodes < 1 || nodes > FTC_NODE_MAX_NODES || nodes > ranks)
        return ftc_error_set(
            FTC_ERR_ARG,
            "%llu ranks on %llu nodes: each node must have a rank, and %d nodes are the most",
            (unsigned long long)ranks, (unsigned long long)nodes, FTC_NODE_MAX_NODES);
    if (text_size < 1 || text_size > FTC_LAYOUT_MAX_TEXT)
        return ftc_error_set(FTC_ERR_ARG, "a configuration of %llu bytes: at most %u are possible",
                             (unsigned long long)text_size, FTC_LAYOUT_MAX_TEXT);
    struct ftc_board_layout board;
    /* Nothing overflows: both factors are bounded, and the largest total is about 2^40. */
    uint64_t row = round_up((uint64_t)ftc_set_words((int)ranks) * sizeof(uint64_t), LINE_BYTES);
    *layout = (struct ftc_layout){
        .ranks = (uint32_t)ranks, .nodes = (uint32_t)nodes, .text_size = text_size};
    layout->endpoint_size = endpoints || nodes > 1 ? FTC_ENDPOINT_SIZE : 0;
    layout->text_offset = round_up(sizeof(struct ftc_segment_header), LINE_BYTES);
    layout->slots_offset = round_up(layout->text_offset + text_size, LINE_BYTES);
    layout->nodes_offset = layout->slots_offset + ranks * sizeof(struct ftc_slot);
    layout->endpoints_offset =
        round_up(layout->nodes_offset + nodes * sizeof(struct ftc_node), LINE_BYTES);
    layout->log_offset = layout->endpoints_offset + ranks * layout->endpoint_size;
    layout->sets_offset = round_up(layout->log_offset + ranks * sizeof(uint32_t), LINE_BYTES);
    layout->set_stride = row;
    layout->pending_offset = layout->sets_offset + 2 * ranks * row;
    layout->pending_stride = row;
    ftc_board_layout(&board, layout->pending_offset + ranks * row, ranks);
    layout->places_offset = board.places;
    layout->progress_offset = board.progress;
    layout->posts_offset = board.posts;
    layout->post_stride = board.post_stride;
    layout->results_offset = board.results;
    layout->history_offset = board.end;
    layout->rings_offset = layout->history_offset + ranks * FTC_HISTORY_BYTES;
    layout->areas_offset = layout->rings_offset + ranks * ranks * FTC_SEGMENT_RING_BYTES;
    layout->total_size = layout->areas_offset + ranks * FTC_BOARD_AREA;
    return 0;
}

void ftc_layout_store(const struct ftc_layout *layout, struct ftc_segment_header *header)
{
    header->version = FTC_SEGMENT_VERSION;
    header->ranks = layout->ranks;
    header->slot_size = sizeof(struct ftc_slot);
    header->ring_size = FTC_SEGMENT_RING_BYTES;
    header->text_offset = layout->text_offset;
    header->text_size = layout->text_size;
    header->nodes = layout->nodes;
    header->node_size = sizeof(struct ftc_node);
    header->endpoint_size = (uint32_t)layout->endpoint_size;
    header->slots_offset = layout->slots_offset;
    header->nodes_offset = layout->nodes_offset;
    header->endpoints_offset = layout->endpoints_offset;
    header->log_offset = layout->log_offset;
    header->sets_offset = layout->sets_offset;
    header->pending_offset = layout->pending_offset;
    header->places_offset = layout->places_offset;
    header->progress_offset = layout->progress_offset;
    header->posts_offset = layout->posts_offset;
    header->results_offset = layout->results_offset;
    header->history_offset = layout->history_offset;
    header->rings_offset = layout->rings_offset;
    header->areas_offset = layout->areas_offset;
    header->total_size = layout->total_size;
    header->pending_stride = layout->pending_stride;
    header->set_stride = layout->set_stride;
}

/* ftc_layout_store() writes all that lies between these two fields. */
static bool same_layout(const struct ftc_segment_header *a, const struct ftc_segment_header *b)
{
    size_t from = offsetof(struct ftc_segment_header, version);
    size_t to = offsetof(struct ftc_segment_header, job);
    return memcmp((const char *)a + from, (const char *)b + from, to - from) == 0;
}

static bool terminated(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

int ftc_layout_check(struct ftc_layout *layout, const struct ftc_segment_header *header,
                     uint64_t file_size)
{
    uint64_t magic = atomic_load_explicit(&header->magic, memory_order_relaxed);
    if (magic != FTC_SEGMENT_MAGIC)
        return ftc_error_set(
            FTC_ERR_PROTO, "%s",
            magic == 0 ? "the segment is only half made: its launcher is still starting, or "
                         "died there (ftcoll-status --gc removes it)"
                       : "not a segment of ftcoll");
    if (header->version != FTC_SEGMENT_VERSION)
        return ftc_error_set(FTC_ERR_PROTO,
                             "segment of version %u, this is version %u: use one release of "
                             "ftcoll throughout a job",
                             header->version, FTC_SEGMENT_VERSION);
    struct ftc_layout expected;
    if (ftc_layout_compute(&expected, header->ranks, header->nodes, header->endpoint_size > 0,
                           header->text_size) != 0)
        return FTC_ERR_PROTO;
    struct ftc_segment_header sound;
    memset(&sound, 0, sizeof(sound));
    ftc_layout_store(&expected, &sound);
    if (!same_layout(&sound, header) || expected.total_size != file_size)
        return ftc_error_set(FTC_ERR_PROTO,
                             "damaged segment: its layout is not that of %u ranks in %llu bytes",
                             header->ranks, (unsigned long long)file_size);
    if (!terminated(header->job, sizeof(header->job)) ||
        !terminated(header->host, sizeof(header->host)) ||
        !terminated(header->command, sizeof(header->command)) ||
        !terminated(header->directory, sizeof(header->directory)) ||
        !terminated(header->cluster, sizeof(header->cluster)))
        return ftc_error_set(FTC_ERR_PROTO, "damaged segment: a name in its header has no end");
    if (header->history >= FTC_HISTORY_MODES)
        return ftc_error_set(FTC_ERR_PROTO, "damaged segment: histories of an unknown kind, %u",
                             header->history);
    if (header->node >= header->nodes)
        return ftc_error_set(FTC_ERR_PROTO, "damaged segment: node %u of %u", header->node,
                             header->nodes);
    *layout = expected;
    return 0;
}

const char *ftc_carrier_name(enum ftc_carrier carrier)
{
    static const char *const names[FTC_CARRIERS] = {
        [FTC_CARRIER_SHM] = "shm", [FTC_CARRIER_VERBS] = "verbs", [FTC_CARRIER_TCP] = "tcp"};
    return (unsigned)carrier < FTC_CARRIERS ? names[carrier] : "unknown";
}

const char *ftc_datagrams_name(enum ftc_datagrams kind)
{
    static const char *const names[FTC_DATAGRAMS] = {
        [FTC_DATAGRAMS_SENT] = "sent",
        [FTC_DATAGRAMS_RECEIVED] = "received",
        [FTC_DATAGRAMS_FOREIGN] = "foreign",
        [FTC_DATAGRAMS_CORRUPT] = "corrupt",
        [FTC_DATAGRAMS_SENSELESS] = "senseless",
        [FTC_DATAGRAMS_FAILED] = "failed",
        [FTC_DATAGRAMS_DROPPED] = "dropped",
        [FTC_DATAGRAMS_DRILL_LOST] = "drill_lost",
        [FTC_DATAGRAMS_DRILL_OTHER] = "drill_other",
    };
    return (unsigned)kind < FTC_DATAGRAMS ? names[kind] : "unknown";
}
