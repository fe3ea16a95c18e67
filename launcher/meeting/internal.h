/* The two halves of a meeting. Only the files of this folder use this header. */
#ifndef FTC_LAUNCHER_MEETING_INTERNAL_H
#define FTC_LAUNCHER_MEETING_INTERNAL_H

#include "launcher/meeting/meeting.h"

#define FTC_MEETING_SECONDS                                                                        \
    300 /* for each half: a launcher may take its time on hundreds of hosts */

#define FTC_MEETING_REFUSAL '!' /* begins the reason that a node sends in place of an endpoint */

/* Make room for members and endpoints of meeting->nodes nodes, and spread the ranks over the nodes.
 * FTC_ERR_ARG, FTC_ERR_NOMEM. */
int ftc_meeting_make_room(struct ftc_meeting *meeting, int ranks);

/* Run in the process that is the PMIx client. */
int ftc_meeting_pmix_begin(struct ftc_meeting *meeting, const char *host, int ranks);
int ftc_meeting_pmix_end(struct ftc_meeting *meeting, const char *text);

/* For ranks that run already. The meeting owns the descriptor from here on. */
int ftc_meeting_adopt_begin(struct ftc_meeting *meeting, int fd, int ranks);
int ftc_meeting_adopt_end(struct ftc_meeting *meeting, const char *endpoint);

/* For an agent that a front has invited. */
int ftc_meeting_guest_begin(struct ftc_meeting *meeting, const struct ftc_invitation *invitation,
                            int ranks);
int ftc_meeting_guest_end(struct ftc_meeting *meeting, const char *endpoint);

#endif
