/* Many nodes that tell one another news, and die, are cut off or leave while they do. */
#ifndef FTC_TEST_NOTICES_WORLD_H
#define FTC_TEST_NOTICES_WORLD_H

#include "detector/notices.h"
#include "tests/random.h"

#define NOTICES_MOST 40 /* nodes */
#define NOTICES_NEWS 4  /* most news of a node */
#define NOTICES_WAIT 20 /* for a correction; each step takes 1 */

struct notices_message {
    struct ftc_notices_output output;
    uint32_t *have; /* of a vector */
};

struct notices_queue {
    struct notices_message *message;
    int from, to, room;
};

struct notices_node {
    struct ftc_notices notices;
    int to_tell; /* how many news of its own are still to come */
    /* dead: does nothing more. cut: goes on, but some nodes cannot hear it, and all will refuse it.
     * leaving: it has no more news, and nodes that have them all do without it. */
    bool dead, cut, leaving;
    bool deaf[NOTICES_MOST]; /* nodes that hear nothing of a node that is cut off */
    bool sees_gone[NOTICES_MOST];
    int sent; /* messages with news */
};

struct notices_world {
    struct test_random random;
    int nodes, strikes;
    uint64_t now;
    bool unseen;  /* nobody sees that a node is gone, before the end or at all */
    bool skipped; /* some node took news without those before them */
    struct notices_node node[NOTICES_MOST];
    struct notices_queue link[NOTICES_MOST][NOTICES_MOST];
};

void notices_world_make(struct notices_world *w, const struct test_random *random, int least,
                        int most);
void notices_world_free(struct notices_world *w);

/* One random thing that can happen. */
void notices_world_step(struct notices_world *w);
/* All that is still under way arrives. Without `unseen` all nodes see who is gone. As much time
 * passes as corrections may need. */
void notices_world_rest(struct notices_world *w);

/* The same, with so many times NOTICES_WAIT. */
void notices_world_wait(struct notices_world *w, int waits);

void notices_world_tell(struct notices_world *w, int i);
void notices_world_die(struct notices_world *w, int i);
/* Every node takes what has been sent to it before this round. False: there was nothing. */
bool notices_world_round(struct notices_world *w);

/* Has each node that goes on the news that any of them has, without gaps? */
bool notices_world_agrees(const struct notices_world *w);

#endif
