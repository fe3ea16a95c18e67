/* The inside of the route, for its own files. */
#ifndef FTC_TRANSPORT_ROUTE_INTERNAL_H
#define FTC_TRANSPORT_ROUTE_INTERNAL_H

#include "base/set.h"
#include "base/sparse.h"
#include "transport/route/route.h"

/* In place of an enum ftc_carrier: nothing is chosen yet. */
#define FTC_ROUTE_NOT_YET FTC_CARRIERS

/* A message to a rank for which no carrier is chosen yet. */
struct ftc_route_held {
    struct ftc_route_held *next;
    struct ftc_buffer *head;
    struct ftc_value value;
    bool urgent;
};

/* What is known of another rank. It is all zero at first. */
struct ftc_route_peer {
    bool chosen;                         /* messages go by `carrier`, for good */
    int8_t carrier;                      /* enum ftc_carrier */
    struct ftc_route_held *first, *last; /* messages that are held */
};

/* The context of ftc_route_endpoint_of(): whose part of an endpoint is asked for. */
struct ftc_route_part {
    struct ftc_segment *segment;
    enum ftc_carrier carrier;
    char text[FTC_ENDPOINT_SIZE];
};

struct ftc_route {
    struct ftc_transport base;
    struct ftc_transport_setup setup;
    int8_t order[FTC_CARRIERS + 1];
    struct ftc_transport *carrier[FTC_CARRIERS]; /* NULL: not needed, or not possible here */
    struct ftc_route_part part[FTC_CARRIERS];
    char endpoint[FTC_ENDPOINT_SIZE];
    struct ftc_sparse peers; /* by rank: struct ftc_route_peer */
    struct ftc_set waiting, closed;
    int waiting_count;
    int turn;      /* the carrier that receive() asks first */
    int fd, epoll; /* descriptor(), -1: none; the epoll of several carriers, -1: none */
};

/* route/choose.c */

/* As ftc_tcp_setup.endpoint and ftc_verbs_setup.endpoint: the part of a rank's endpoint that is for
 * one carrier. */
const char *ftc_route_endpoint_of(void *context, int rank);
const char *ftc_route_order_text(const struct ftc_route *route, char text[64]);
/* The carrier for a rank: enum ftc_carrier, FTC_ROUTE_NOT_YET, or an error. */
int ftc_route_choose(const struct ftc_route *route, int rank);
/* The same, for good. Messages that are held go out first. */
int ftc_route_decide(struct ftc_route *route, int rank);
/* Hold a message until the carrier is chosen. FTC_ERR_NOMEM. */
int ftc_route_hold(struct ftc_route *route, int to, struct ftc_buffer *head,
                   const struct ftc_value *value, bool urgent);
/* Drop all messages to a rank that are held. */
void ftc_route_drop_held(struct ftc_route *route, int to);

#endif
