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
_Static_assert(sizeof(struct ftc_standing) == LINE_BYTES, "a standing is a cache line");
_Static_assert(sizeof(struct ftc_slot) == 1280, "layout of the slot");
_Static_assert(sizeof(struct ftc_shown) == 176, "layout of what is shown");
_Static_assert(sizeof(struct ftc_segment_header) == 1152, "layout of the header");
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

static int check_numbers(const struct ftc_layout_spec *spec)
{
    if (spec->ranks < 1 || spec->ranks > FTC_NODE_MAX_RANKS)
        return ftc_error_set(FTC_ERR_ARG, "a job of %llu ranks: 1 to %d are possible",
                             (unsigned long long)spec->ranks, FTC_NODE_MAX_RANKS);
    if (spec->nodes < 1 || spec->nodes > FTC_NODE_MAX_NODES || spec->nodes > spec->ranks)
        return ftc_error_set(
            FTC_ERR_ARG,
            "%llu ranks on %llu nodes: each node must have a rank, and %d nodes are the most",
            (unsigned long long)spec->ranks, (unsigned long long)spec->nodes, FTC_NODE_MAX_NODES);
    if (spec->local < 1 || spec->local > FTC_NODE_MAX_LOCAL ||
        spec->local > spec->ranks - (spec->nodes - 1))
        return ftc_error_set(FTC_ERR_ARG,
                             "%llu ranks on one node: 1 to %d are possible; more need more hosts",
                             (unsigned long long)spec->local, FTC_NODE_MAX_LOCAL);
    if (spec->nodes == 1 && spec->local != spec->ranks)
        return ftc_error_set(FTC_ERR_ARG, "%llu of %llu ranks on the only node",
                             (unsigned long long)spec->local, (unsigned long long)spec->ranks);
    if (spec->text_size < 1 || spec->text_size > FTC_LAYOUT_MAX_TEXT)
        return ftc_error_set(FTC_ERR_ARG, "a configuration of %llu bytes: at most %u are possible",
                             (unsigned long long)spec->text_size, FTC_LAYOUT_MAX_TEXT);
    return FTC_SUCCESS;
}

static uint64_t row_bytes(uint64_t bits)
{
    return round_up((uint64_t)ftc_set_words((int)bits) * sizeof(uint64_t), LINE_BYTES);
}

/* What each rank of the job has. Returns where it ends. */
static uint64_t lay_out_job(struct ftc_layout *layout)
{
    uint64_t ranks = layout->ranks;

    layout->text_offset = round_up(sizeof(struct ftc_segment_header), LINE_BYTES);
    layout->standings_offset = round_up(layout->text_offset + layout->text_size, LINE_BYTES);
    layout->nodes_offset = layout->standings_offset + ranks * sizeof(struct ftc_standing);
    layout->log_offset =
        round_up(layout->nodes_offset + layout->nodes * sizeof(struct ftc_node), LINE_BYTES);
    return round_up(layout->log_offset + ranks * sizeof(uint32_t), LINE_BYTES);
}

/* What each rank of this node has, up to the histories. */
static void lay_out_node(struct ftc_layout *layout, uint64_t from)
{
    struct ftc_board_layout board;
    uint64_t local = layout->local;

    layout->slots_offset = from;
    layout->endpoints_offset = layout->slots_offset + local * sizeof(struct ftc_slot);
    layout->sets_offset = layout->endpoints_offset + local * layout->endpoint_size;
    layout->set_stride = row_bytes(layout->ranks);
    layout->pending_offset = layout->sets_offset + 2 * local * layout->set_stride;
    layout->pending_stride = row_bytes(local);
    ftc_board_layout(&board, layout->pending_offset + local * layout->pending_stride, local);
    layout->places_offset = board.places;
    layout->progress_offset = board.progress;
    layout->posts_offset = board.posts;
    layout->post_stride = board.post_stride;
    layout->results_offset = board.results;
    layout->history_offset = board.end;
}

int ftc_layout_compute(struct ftc_layout *layout, const struct ftc_layout_spec *spec)
{
    int rc = check_numbers(spec);

    if (rc != FTC_SUCCESS)
        return rc;
    /* Nothing overflows: all factors are bounded, and the largest total is about 2^40. */
    uint64_t local = spec->local, remote = spec->ranks - local;
    *layout = (struct ftc_layout){.ranks = (uint32_t)spec->ranks,
                                  .nodes = (uint32_t)spec->nodes,
                                  .local = (uint32_t)local,
                                  .text_size = spec->text_size};
    layout->endpoint_size = spec->endpoints || spec->nodes > 1 ? FTC_ENDPOINT_SIZE : 0;
    lay_out_node(layout, lay_out_job(layout));
    layout->remote_offset = layout->history_offset + local * FTC_HISTORY_BYTES;
    layout->shown_offset =
        round_up(layout->remote_offset + remote * layout->endpoint_size, PAGE_BYTES);
    layout->shown_stride =
        sizeof(struct ftc_shown) + (spec->ranks <= FTC_SHOWN_RANKS ? 2 * layout->set_stride : 0);
    layout->rings_offset = round_up(
        layout->shown_offset + (remote > 0 ? spec->ranks * layout->shown_stride : 0), PAGE_BYTES);
    layout->areas_offset = layout->rings_offset + local * local * FTC_SEGMENT_RING_BYTES;
    layout->total_size = layout->areas_offset + local * FTC_BOARD_AREA;
    return FTC_SUCCESS;
}

void ftc_layout_store(const struct ftc_layout *layout, struct ftc_segment_header *header)
{
    header->version = FTC_SEGMENT_VERSION;
    header->ranks = layout->ranks;
    header->standing_size = sizeof(struct ftc_standing);
    header->slot_size = sizeof(struct ftc_slot);
    header->shown_size = sizeof(struct ftc_shown);
    header->ring_size = FTC_SEGMENT_RING_BYTES;
    header->text_offset = layout->text_offset;
    header->text_size = layout->text_size;
    header->nodes = layout->nodes;
    header->node_size = sizeof(struct ftc_node);
    header->endpoint_size = (uint32_t)layout->endpoint_size;
    header->local = layout->local;
    header->standings_offset = layout->standings_offset;
    header->nodes_offset = layout->nodes_offset;
    header->log_offset = layout->log_offset;
    header->slots_offset = layout->slots_offset;
    header->endpoints_offset = layout->endpoints_offset;
    header->sets_offset = layout->sets_offset;
    header->pending_offset = layout->pending_offset;
    header->places_offset = layout->places_offset;
    header->progress_offset = layout->progress_offset;
    header->posts_offset = layout->posts_offset;
    header->results_offset = layout->results_offset;
    header->history_offset = layout->history_offset;
    header->remote_offset = layout->remote_offset;
    header->shown_offset = layout->shown_offset;
    header->rings_offset = layout->rings_offset;
    header->areas_offset = layout->areas_offset;
    header->total_size = layout->total_size;
    header->pending_stride = layout->pending_stride;
    header->set_stride = layout->set_stride;
    header->shown_stride = layout->shown_stride;
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
    struct ftc_layout_spec spec = {.ranks = header->ranks,
                                   .nodes = header->nodes,
                                   .local = header->local,
                                   .text_size = header->text_size,
                                   .endpoints = header->endpoint_size > 0};
    if (ftc_layout_compute(&expected, &spec) != 0)
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
