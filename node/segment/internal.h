/* The mapping of a segment. Of this room only. */
#ifndef FTC_NODE_SEGMENT_INTERNAL_H
#define FTC_NODE_SEGMENT_INTERNAL_H

#include "node/segment/layout.h"
#include "node/segment/segment.h"

/* What this process has declared, in order. */
struct ftc_declared {
    uint32_t count;
    uint32_t log[FTC_NODE_MAX_RANKS];
    bool has[FTC_NODE_MAX_RANKS];
};

struct ftc_segment {
    struct ftc_layout layout; /* private: nothing that happens in the file leads out of the map */
    uint32_t
        node; /* private too, as is this: first rank of each node, and their number at the end */
    uint32_t *first;
    int fd;       /* of the file; the launcher's holds the lock (node/system/lock.h) */
    dev_t device; /* of the file ... */
    ino_t inode;  /* ... since `fd` may be another one's by now */
    unsigned char *base;
    size_t mapped;
    bool writable;
    char *text;
    struct ftc_declared declared; /* the launcher's: shared memory only tells it to others */
    char path[128];
};

/* A new file, locked. FTC_ERR_STATE: the name is not free; FTC_ERR_SYSTEM. */
int ftc_segment_file_make(const char *path, int *fd);

/* The segment owns this descriptor from here on. */
void ftc_segment_file_keep(struct ftc_segment *segment, int fd);
/* Is the descriptor still that of the segment's file? A program may close all descriptors that it
 * does not know, and open other files under the same numbers. */
bool ftc_segment_file_kept(const struct ftc_segment *segment);

/* Write the table of nodes of a segment that is being made; and copy that of one that is attached:
 * FTC_ERR_PROTO, FTC_ERR_NOMEM. */
int ftc_nodes_fill(struct ftc_segment *segment, const struct ftc_segment_spec *spec);
int ftc_nodes_keep(struct ftc_segment *segment);

#endif
