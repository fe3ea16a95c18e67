/*
 * How long a rank dozes that waits in a row of broadcasts (docs/design/nodes.md, "Rows of
 * broadcasts"). The struct starts as FTC_DOZE_INIT. No locks: its owner has process->lock.
 */
#ifndef FTC_RUNTIME_ALGORITHMS_DOZE_H
#define FTC_RUNTIME_ALGORITHMS_DOZE_H

#include <stdbool.h>
#include <stdint.h>

struct ftc_doze {
    int root;         /* of the call under way, if that is a broadcast; else -1 */
    bool in_row;      /* the call before was one of this root, too */
    bool dozed;       /* the rank has dozed in this row, and it was worth it so far */
    unsigned brought; /* broadcasts delivered since it dozed */
    unsigned vain;    /* dozes in a row that were not worth it */
    unsigned pause;   /* broadcasts until it may doze again */
};

#define FTC_DOZE_INIT ((struct ftc_doze){.root = -1})

/* The next call begins. root: of a broadcast of which many can be ahead; -1: it is none. */
void ftc_doze_called(struct ftc_doze *doze, int root);
void ftc_doze_delivered(struct ftc_doze *doze);
/* The rank has to wait now: for how many ns does it doze? 0: it does not. */
uint64_t ftc_doze_take(struct ftc_doze *doze);

#endif
