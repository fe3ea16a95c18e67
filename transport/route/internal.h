/* What the files of the route share; not for others. */
#ifndef FTC_TRANSPORT_ROUTE_INTERNAL_H
#define FTC_TRANSPORT_ROUTE_INTERNAL_H

#include "base/set.h"
#include "transport/route/route.h"

/* In place of an enum ftc_carrier: the rank has not said where it is. */
#define FTC_ROUTE_NOT_YET FTC_CARRIERS

/* A message to a rank for which nothing is chosen yet. */
struct ftc_route_held {
    struct ftc_route_held *next;
    struct ftc_buffer *head;
    struct ftc_value value;
    bool urgent;
};

struct ftc_route_queue {
    struct ftc_route_held *first, *last;
};

/* What a transport asks for the part of an endpoint that is its own. */
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
    int8_t *chosen;                /* by rank: enum ftc_carrier, or FTC_ROUTE_NOT_YET */
    struct ftc_route_queue *queue; /* by rank */
    struct ftc_set waiting, closed;
    int waiting_count;
    int turn;      /* whom receive() asks first */
    int fd, epoll; /* of the carriers; -1: there is none; several are behind the epoll */
};

/* route/choose.c */

/* As ftc_tcp_setup.endpoint and ftc_verbs_setup.endpoint, of a part. */
const char *ftc_route_endpoint_of(void *context, int rank);
const char *ftc_route_order_text(const struct ftc_route *route, char text[64]);
/* enum ftc_carrier, FTC_ROUTE_NOT_YET, or an error. */
int ftc_route_choose(const struct ftc_route *route, int rank);
/* ... for good; what waited goes first. */
int ftc_route_decide(struct ftc_route *route, int rank);
/* Until then. FTC_ERR_NOMEM. */
int ftc_route_hold(struct ftc_route *route, int to, struct ftc_buffer *head,
                   const struct ftc_value *value, bool urgent);
void ftc_route_drop_first(struct ftc_route *route, int to);

#endif
