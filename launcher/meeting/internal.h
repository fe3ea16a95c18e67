/* The two halves of a meeting. Of meeting*.c only. */
#ifndef FTC_LAUNCHER_MEETING_INTERNAL_H
#define FTC_LAUNCHER_MEETING_INTERNAL_H

#include "launcher/meeting/meeting.h"

#define FTC_MEETING_SECONDS                                                                        \
    300 /* for each half: a launcher may take its time on hundreds of hosts */

#define FTC_MEETING_REFUSAL '!' /* in place of an endpoint: this node cannot take part, and why */

/* Members and endpoints for meeting->nodes; and which ranks are where. FTC_ERR_ARG,
 * FTC_ERR_NOMEM. */
int ftc_meeting_make_room(struct ftc_meeting *meeting, int ranks);

/* In the process that is the PMIx client. */
int ftc_meeting_pmix_begin(struct ftc_meeting *meeting, const char *host, int ranks);
int ftc_meeting_pmix_end(struct ftc_meeting *meeting, const char *text);

/* Where there are ranks already. The descriptor is the meeting's from here on. */
int ftc_meeting_adopt_begin(struct ftc_meeting *meeting, int fd, int ranks);
int ftc_meeting_adopt_end(struct ftc_meeting *meeting, const char *endpoint);

#endif
