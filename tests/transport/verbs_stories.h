/* Ends of the verbs transport in one process, kept in tcp_end[]. What tcp_ends.h says of messages
 * holds for them. */
#ifndef FTC_TEST_VERBS_STORIES_H
#define FTC_TEST_VERBS_STORIES_H

#include "tcp_ends.h"
#include "transport/verbs/internal.h"
#include "verbs_ends.h"

#define VERBS_RANKS 4 /* of the job of verbs_join() */

struct ftc_verbs_setup verbs_story_setup(int rank);
void verbs_join_as(int rank, int ranks, const struct ftc_verbs_setup *verbs);
void verbs_join(int rank);
void verbs_join_two(void);

/* The link that an end has with another; NULL: none. */
struct ftc_verbs_link *verbs_link_of(int rank, int other);
/* Is everything that the ends sent acknowledged? */
bool verbs_all_settled(void);
/* Sleeps until there is something to do, and does it. It does not sleep if the condition holds
 * after ready(), which takes a turn. NULL: a message is awaited, and ready() tells of it. Returns
 * false if nothing wakes the end. */
bool verbs_sleep_and_look(int rank, bool (*holds)(void));

#endif
