/* Requests: operations that run while the caller does something else (include/ftcoll.h). */
#ifndef FTC_RUNTIME_API_REQUEST_H
#define FTC_RUNTIME_API_REQUEST_H

#include "runtime/api/collective.h"
#include "runtime/api/transfer.h"

/* Checks `place`, makes a request, and begins a call of the API on comm (ftc_call_begin()). On
 * success *c is the collective that the caller builds next; it is cleared. FTC_ERR_ARG,
 * FTC_ERR_STATE, FTC_ERR_NOMEM. */
int ftc_request_open(struct ftc_comm *comm, ftc_request **place, struct ftc_collective **c);

/* The collective is built, with the result `rc`: starts it and stores the request in *place, or
 * frees it. Ends the call of the API. Returns `rc`, or the error of the start. */
int ftc_request_go(struct ftc_collective *c, struct ftc_comm *comm, int rc, ftc_request **place);

/* The same for a send or a receive. *transfer is to be filled in. */
int ftc_request_open_transfer(struct ftc_comm *comm, ftc_request **place,
                              struct ftc_transfer **transfer);
int ftc_request_go_transfer(struct ftc_transfer *transfer, struct ftc_comm *comm, int rc,
                            ftc_request **place);

/* The transfer of a request; NULL: it is of a collective. */
struct ftc_transfer *ftc_request_transfer(ftc_request *request, struct ftc_comm **comm);

#endif
