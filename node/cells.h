/*
 * Cells carry messages of few bytes from one rank to another in the node segment, in order. They
 * have a single producer and a single consumer, and lie beside the byte ring of the pair
 * (node/ring.h), which carries the messages that are longer.
 *
 * A cell is a cache line. A message takes as many cells in a row as it needs. It begins with a
 * word, the *mark*, which has its sizes and the position of the cell. Its bytes follow, across
 * cells and from the last cell to the first one. So a message that fits into one cell crosses from
 * core to core as one line, and the consumer looks at nothing else to find it. A message of the
 * byte ring has a cell, too, which is empty: so the cells give the order of all messages.
 *
 * Crash safety. The producer clears the mark of the cell behind the message, unless it has cleared
 * that one before. It writes the bytes, and then release-stores the mark of the message. A producer
 * that is killed before that has not sent the message. The cell where the consumer looks was
 * cleared before the message in front of it had its mark, and so it has 0 or the mark of a message.
 * Anything else is damage, and FTC_ERR_PROTO. Positions are private, as those of a ring, and what
 * the other side says of them is checked before use.
 *
 * There are few cells at first, on one page. A producer that finds no room in them moves on to
 * more, behind the first pages of the ring, and never goes back. The mark where the consumer looks
 * says so: that place is always free for it.
 *
 * The consumer gives cells back in groups, so that the producer's copy of that word mostly stays in
 * its cache.
 */
#ifndef FTC_NODE_CELLS_H
#define FTC_NODE_CELLS_H

#include "node/ring.h"

#define FTC_CELLS      64u
#define FTC_CELLS_MANY (FTC_RING_CELLS / FTC_CELL_LINE)
#define FTC_CELL_LINE  64u
#define FTC_CELL_BYTES (FTC_CELL_LINE - 8) /* of a message that fits into one cell */
/* The most bytes of a message. */
#define FTC_CELLS_MOST (16 * FTC_CELL_LINE - 8)

struct ftc_cell {
    _Alignas(FTC_CELL_LINE) _Atomic uint64_t mark;
    unsigned char bytes[FTC_CELL_BYTES];
};

struct ftc_cells {
    struct ftc_ring_shared *shared;
    struct ftc_cell *cell;
    struct ftc_segment *segment;
    unsigned count;    /* of the cells in use: FTC_CELLS or FTC_CELLS_MANY */
    bool denied;       /* producer: /dev/shm had no room for more */
    uint64_t origin;   /* the position of the first cell in use */
    uint64_t position; /* cells that this side has written or read; trusted */
    uint64_t returned; /* how many the consumer has given back, as this side knows it */
    uint64_t cleared;  /* producer: the marks of free cells are 0 up to this one */
    int from, to;
};

/* What a message consists of. head 0: the message is in the byte ring. */
struct ftc_cells_sizes {
    size_t head, value;
};

static inline struct ftc_cell *ftc_ring_cells(struct ftc_ring_shared *shared)
{
    return (struct ftc_cell *)(void *)((char *)shared + FTC_RING_PAGE);
}

/* The cells of a ring that was created or attached. */
void ftc_cells_attach(struct ftc_cells *cells, const struct ftc_ring *ring);

/* Producer: puts in a message, at most FTC_CELLS_MOST bytes. The consumer sees it at once. 1: it is
 * in; 0: there is no room; FTC_ERR_PROTO: a word of the consumer is damaged. */
int ftc_cells_write(struct ftc_cells *cells, struct ftc_cells_sizes sizes, const void *head,
                    const void *value);
/* The same for a message that is all head, and comes in two pieces of these sizes. */
int ftc_cells_write_head(struct ftc_cells *cells, struct ftc_cells_sizes pieces, const void *first,
                         const void *second);
/* Producer: is there room for a message of so many bytes? As above. */
int ftc_cells_room(struct ftc_cells *cells, size_t bytes);
/* Producer: as ftc_ring_starve(), for a message of so many bytes. */
bool ftc_cells_starve(struct ftc_cells *cells, size_t bytes);

/* Consumer: 1: a message is there, of these sizes; 0: none; FTC_ERR_PROTO. */
int ftc_cells_look(struct ftc_cells *cells, struct ftc_cells_sizes *sizes);
/* Consumer: copies the message out that the last look has found. True: the producer waits for room
 * and must be rung, with `urgent`. */
bool ftc_cells_read(struct ftc_cells *cells, struct ftc_cells_sizes sizes, void *head, void *value);

#endif
