/* Requests: collectives that run while the caller does something else (include/ftcoll.h). */
#ifndef FTC_RUNTIME_API_REQUEST_H
#define FTC_RUNTIME_API_REQUEST_H

#include "runtime/api/collective.h"

/* Checks `place`, makes a request, and begins a call of the API on comm (ftc_call_begin()). On
 * success *c is the collective that the caller builds next; it is cleared. FTC_ERR_ARG,
 * FTC_ERR_STATE, FTC_ERR_NOMEM. */
int ftc_request_open(struct ftc_comm *comm, ftc_request **place, struct ftc_collective **c);

/* The collective is built, with the result `rc`: starts it and stores the request in *place, or
 * frees it. Ends the call of the API. Returns `rc`, or the error of the start. */
int ftc_request_go(struct ftc_collective *c, struct ftc_comm *comm, int rc, ftc_request **place);

#endif
