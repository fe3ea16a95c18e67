/* Chooses the carrier by which messages to a rank go. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "transport/route/internal.h"

/* --- endpoints --- */

/* Move one carrier's part of the endpoint, such as "tcp:...", to the start of the text. False:
 * there is none. */
static bool find_part(char text[FTC_ENDPOINT_SIZE], enum ftc_carrier carrier)
{
    const char *name = ftc_carrier_name(carrier);
    size_t length = strlen(name);

    for (char *word = text, *end; *word != '\0'; word = end) {
        word += strspn(word, " ");
        end = word + strcspn(word, " ");
        if (strncmp(word, name, length) != 0 || word[length] != ':')
            continue;
        size_t size = (size_t)(end - word);
        memmove(text, word, size);
        text[size] = '\0';
        return true;
    }
    return false;
}

const char *ftc_route_endpoint_of(void *context, int rank)
{
    struct ftc_route_part *part = context;

    if (!ftc_segment_endpoint(part->segment, rank, part->text) ||
        !find_part(part->text, part->carrier))
        return NULL;
    return part->text;
}

/* --- choosing --- */

const char *ftc_route_order_text(const struct ftc_route *route, char text[64])
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; route->order[i] >= 0; i++)
        used += (size_t)snprintf(text + used, 64 - used, "%s%s", i > 0 ? "," : "",
                                 ftc_carrier_name((enum ftc_carrier)route->order[i]));
    return text;
}

static enum ftc_reach reaches(const struct ftc_route *route, enum ftc_carrier carrier, int rank)
{
    struct ftc_transport *transport = route->carrier[carrier];

    return transport->ops->reach == NULL ? FTC_REACH_YES : transport->ops->reach(transport, rank);
}

int ftc_route_choose(const struct ftc_route *route, int rank)
{
    char text[FTC_ENDPOINT_SIZE] = "", part[FTC_ENDPOINT_SIZE], order[64];
    bool known = ftc_segment_endpoint(route->setup.segment, rank, text);
    int unreached = -1; /* better than no carrier, since it goes on trying */

    for (int i = 0; route->order[i] >= 0; i++) {
        enum ftc_carrier carrier = (enum ftc_carrier)route->order[i];
        if (route->carrier[carrier] == NULL)
            continue;
        if (carrier == FTC_CARRIER_SHM) {
            if (ftc_segment_is_local(route->setup.segment, rank))
                return FTC_CARRIER_SHM;
            continue;
        }
        if (!known)
            return FTC_ROUTE_NOT_YET;
        memcpy(part, text, sizeof(part));
        if (!find_part(part, carrier))
            continue;
        enum ftc_reach reach = reaches(route, carrier, rank);
        if (reach != FTC_REACH_NO)
            return reach == FTC_REACH_YES ? (int)carrier : FTC_ROUTE_NOT_YET;
        unreached = (int)carrier;
    }
    if (unreached >= 0)
        return unreached;
    return ftc_error_set(
        FTC_ERR_SYSTEM,
        "rank %d cannot be reached: its endpoint is \"%.100s\", transport.order here is %s; give "
        "all nodes one that they have in common, such as tcp",
        rank, text, ftc_route_order_text(route, order));
}

int ftc_route_hold(struct ftc_route *route, int to, struct ftc_buffer *head,
                   const struct ftc_value *value, bool urgent)
{
    struct ftc_route_peer *peer = ftc_sparse_make(&route->peers, to);
    struct ftc_route_held *held = peer != NULL ? calloc(1, sizeof(*held)) : NULL;

    if (held == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a message to rank %d", to);
    held->head = ftc_buffer_ref(head);
    held->urgent = urgent;
    if (value != NULL && value->buffer != NULL)
        ftc_value_set(&held->value, value);
    if (peer->first == NULL) {
        peer->first = held;
        ftc_set_add(&route->waiting, to);
        route->waiting_count++;
    } else {
        peer->last->next = held;
    }
    peer->last = held;
    return FTC_SUCCESS;
}

static void drop_first(struct ftc_route *route, struct ftc_route_peer *peer, int to)
{
    struct ftc_route_held *held = peer->first;

    peer->first = held->next;
    ftc_buffer_unref(held->head);
    ftc_value_drop(&held->value);
    free(held);
    if (peer->first != NULL)
        return;
    peer->last = NULL;
    ftc_set_remove(&route->waiting, to);
    route->waiting_count--;
}

void ftc_route_drop_held(struct ftc_route *route, int to)
{
    struct ftc_route_peer *peer = ftc_sparse_find(&route->peers, to);

    while (peer != NULL && peer->first != NULL)
        drop_first(route, peer, to);
}

/* NULL: out of memory. */
static struct ftc_route_peer *settle_choice(struct ftc_route *route, int rank,
                                            enum ftc_carrier carrier)
{
    struct ftc_route_peer *peer = ftc_sparse_make(&route->peers, rank);
    struct ftc_slot *own = ftc_segment_slot(route->setup.segment, route->setup.self);
    uint32_t count = atomic_load_explicit(&own->carriers[carrier], memory_order_relaxed);

    if (peer == NULL)
        return NULL;
    peer->chosen = true;
    peer->carrier = (int8_t)carrier;
    atomic_store_explicit(&own->carriers[carrier], count + 1, memory_order_relaxed);
    FTC_LOG(route->setup.log, FTC_LOG_DEBUG, "messages to rank %d go by %s", rank,
            ftc_carrier_name(carrier));
    return peer;
}

int ftc_route_decide(struct ftc_route *route, int rank)
{
    struct ftc_route_peer *peer = ftc_sparse_find(&route->peers, rank);
    int rc = FTC_SUCCESS;

    if (peer == NULL || !peer->chosen) {
        int choice = ftc_route_choose(route, rank);
        if (choice < 0 || choice == FTC_ROUTE_NOT_YET)
            return choice;
        peer = settle_choice(route, rank, (enum ftc_carrier)choice);
        if (peer == NULL)
            return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a message to rank %d", rank);
    }
    struct ftc_transport *carrier = route->carrier[peer->carrier];
    while (rc == 0 && peer->first != NULL) {
        struct ftc_route_held *held = peer->first;
        rc = carrier->ops->send(carrier, rank, held->head, &held->value, held->urgent);
        if (rc == 0)
            drop_first(route, peer, rank);
    }
    return rc == 0 ? (int)peer->carrier : rc;
}
