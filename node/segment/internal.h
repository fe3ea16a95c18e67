/* The mapping of a segment. Private to node/segment/. */
#ifndef FTC_NODE_SEGMENT_INTERNAL_H
#define FTC_NODE_SEGMENT_INTERNAL_H

#include <assert.h>

#include "node/segment/layout.h"
#include "node/segment/segment.h"

/* The ranks that this process has declared failed, in order. */
struct ftc_declared {
    uint32_t count;
    uint32_t next; /* the rank, or the entry, that is restored next */
    uint32_t log[FTC_NODE_MAX_RANKS];
    bool has[FTC_NODE_MAX_RANKS];
};

struct ftc_segment {
    /* Private copies. A change of the file cannot lead out of the map. */
    struct ftc_layout layout;
    uint32_t node;
    uint32_t own_first; /* the first rank of this node */
    uint32_t *first;    /* the first rank of each node, and after them the number of ranks */
    int fd;             /* of the file; that of the launcher holds the lock (node/system/lock.h) */
    /* The file. By them ftc_segment_file_kept() sees if `fd` has become that of another file. */
    dev_t device;
    ino_t inode;
    unsigned char *base;
    size_t mapped;
    bool writable;
    enum ftc_history_mode history;
    char *text;
    struct ftc_declared declared; /* used by the launcher; shared memory only shows it to others */
    uint64_t endpoints_used;      /* the launcher: bytes of the endpoints of remote ranks */
    uint64_t endpoints_allocated; /* the same, with memory */
    char path[128];
};

static inline bool ftc_segment_has_rank(const struct ftc_segment *segment, int rank)
{
    return rank >= 0 && (uint32_t)rank < segment->layout.ranks;
}

/* Make a new file, and lock it. FTC_ERR_STATE: the name is not free. FTC_ERR_SYSTEM. */
int ftc_segment_file_make(const char *path, int *fd);

/* The segment owns this descriptor from here on. */
void ftc_segment_file_keep(struct ftc_segment *segment, int fd);
/* Is the descriptor still that of the segment's file? The user's program may close descriptors that
 * it does not know, and open other files under the same numbers. */
bool ftc_segment_file_kept(const struct ftc_segment *segment);

/* The place of a rank of this node: its ranks have 0, 1, 2, ... */
static inline uint64_t ftc_segment_place(const struct ftc_segment *segment, int rank)
{
    assert((uint32_t)rank - segment->own_first < segment->layout.local);
    return (uint32_t)rank - segment->own_first;
}

/* Get memory for `size` bytes from `start` of the file on, so that a full /dev/shm is an error here
 * and not a SIGBUS later. -1: errno says why. */
int ftc_segment_populate(struct ftc_segment *segment, uint64_t start, size_t size);
/* Does errno say that /dev/shm is full? */
bool ftc_segment_full(void);

/* Write the table of nodes into a segment that is being made. */
int ftc_nodes_fill(struct ftc_segment *segment, const struct ftc_segment_spec *spec);
/* Check the table of nodes, and keep a private copy. FTC_ERR_PROTO, FTC_ERR_NOMEM. */
int ftc_nodes_keep(struct ftc_segment *segment);

#endif
