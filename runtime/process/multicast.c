/* The multicast group of a job. */
#include "runtime/process/multicast.h"

#include <string.h>

#include "base/error.h"
#include "runtime/process/progress.h"
#include "transport/multicast/multicast.h"

_Static_assert(FTC_MULTICAST_DRAWN == FTC_JOB_GROUP,
               "a group is made of all that was drawn for it");

/* The size of a fragment if no datagram can be sent. Any size that is valid will do. */
#define FRAGMENT_WITHOUT 1024

static struct ftc_multicast_drill drill_of(const struct ftc_config *c)
{
    return (struct ftc_multicast_drill){.loss_ppm = (uint32_t)c->drill_loss_ppm,
                                        .duplicate_ppm = (uint32_t)c->drill_duplicate_ppm,
                                        .reorder_ppm = (uint32_t)c->drill_reorder_ppm,
                                        .corrupt_ppm = (uint32_t)c->drill_corrupt_ppm,
                                        .foreign_ppm = (uint32_t)c->drill_foreign_ppm,
                                        .seed = (uint64_t)c->drill_seed};
}

/* Each segment has random bytes of its own. The nodes of a job have the secret in common, so the
 * group of a job of several nodes is derived from the secret. */
static void make_group(const struct ftc_comm *comm, struct ftc_multicast_group *group)
{
    const struct ftc_segment_header *header = ftc_segment_header(comm->segment);
    unsigned char drawn[FTC_MULTICAST_DRAWN];

    memcpy(drawn, header->multicast_group, sizeof(drawn));
    if (ftc_segment_nodes(comm->segment) > 1)
        ftc_multicast_group_derive(drawn, header->secret, sizeof(header->secret));
    ftc_multicast_group_make(group, drawn);
}

static int join(struct ftc_comm *comm)
{
    const struct ftc_config *c = &comm->config;
    struct ftc_multicast_setup setup = {.ranks = comm->size,
                                        .self = comm->rank,
                                        .interfaces = c->multicast_interface,
                                        .receives = (int)c->multicast_receives,
                                        .drill = drill_of(c),
                                        .log = &comm->log};

    if (c->multicast_interface[0] == '\0' && c->multicast_transport == FTC_MULTICAST_UDP &&
        ftc_segment_nodes(comm->segment) > 1)
        return ftc_error_set(
            FTC_ERR_SYSTEM,
            "the loopback, where datagrams go by default, does not leave the node: set "
            "multicast.interface");
    make_group(comm, &setup.group);
    const struct ftc_multicast_ops *ops =
        c->multicast_transport == FTC_MULTICAST_VERBS ? &ftc_multicast_verbs : &ftc_multicast_udp;
    int rc = ftc_multicast_open(&comm->multicast, ops, &setup);
    if (rc == 0)
        rc = ftc_bell_poll(&comm->bell);
    return rc;
}

static void go_without(struct ftc_comm *comm, const char *why)
{
    FTC_LOG(&comm->log, FTC_LOG_WARN,
            "no multicast: %s; what it would bring comes along the ring or is asked for", why);
    ftc_runtime_multicast_publish(comm);
    ftc_runtime_multicast_close(comm);
    if (comm->transport->ops->descriptor(comm->transport) < 0)
        ftc_bell_poll_end(&comm->bell);
}

int ftc_runtime_multicast_open(struct ftc_comm *comm, uint32_t *fragment)
{
    *fragment = FRAGMENT_WITHOUT;
    if (comm->alone || comm->config.dissemination != FTC_CONFIG_DISSEMINATION_MULTICAST)
        return 0;
    int rc = join(comm);
    if (rc == FTC_ERR_NOMEM || rc == FTC_ERR_ARG || rc == FTC_ERR_CONFIG)
        return rc;
    size_t room = rc == 0 ? ftc_multicast_payload_max(comm->multicast) : 0;
    if (rc == 0 && room <= FTC_FRAGMENT_HEAD)
        rc = ftc_error_set(
            FTC_ERR_UNSUPPORTED,
            "no room in a datagram of %zu bytes: take an interface with a larger MTU", room);
    if (rc != 0)
        go_without(comm, ftc_last_error());
    else
        *fragment = (uint32_t)room - FTC_FRAGMENT_HEAD;
    return 0;
}

void ftc_runtime_multicast_close(struct ftc_comm *comm)
{
    ftc_multicast_close(comm->multicast);
    comm->multicast = NULL;
}

void ftc_runtime_multicast_send(struct ftc_comm *comm, const struct ftc_output *output)
{
    struct iovec pieces[] = {{output->head->data, output->head->size},
                             {ftc_value_bytes(&output->value), output->value.size}};
    struct ftc_datagram fields = {.broadcast = comm->multicasts,
                                  .operation = output->op,
                                  .sequence = output->piece.number,
                                  .count = output->piece.count};

    if (output->piece.number + 1 == output->piece.count)
        comm->multicasts++;
    if (comm->multicast != NULL)
        ftc_multicast_send(comm->multicast, &fields, pieces, 2);
}

void ftc_runtime_multicast_publish(struct ftc_comm *comm)
{
    struct ftc_multicast_counters c;

    if (comm->multicast == NULL)
        return;
    ftc_multicast_counters(comm->multicast, &c);
    const uint64_t counts[FTC_DATAGRAMS] = {
        [FTC_DATAGRAMS_SENT] = c.sent,
        [FTC_DATAGRAMS_RECEIVED] = c.received,
        [FTC_DATAGRAMS_FOREIGN] = c.foreign,
        [FTC_DATAGRAMS_CORRUPT] = c.corrupt,
        [FTC_DATAGRAMS_SENSELESS] = comm->senseless,
        [FTC_DATAGRAMS_FAILED] = c.send_failed + c.receive_failed,
        [FTC_DATAGRAMS_DRILL_LOST] = c.drilled.lost,
        [FTC_DATAGRAMS_DRILL_OTHER] =
            c.drilled.duplicated + c.drilled.reordered + c.drilled.corrupted + c.drilled.foreign,
    };

    for (int i = 0; i < FTC_DATAGRAMS; i++)
        atomic_store_explicit(&comm->slot->counters.datagrams[i], counts[i], memory_order_relaxed);
}

/* nodes.md, rule 6. As in transport/route/route.c, the look must follow the receive from the
 * socket. */
static bool is_refused(const struct ftc_comm *comm, int rank)
{
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&ftc_segment_slot(comm->segment, rank)->refused,
                                memory_order_acquire) != 0;
}

/* A malformed datagram is counted, and nobody is accused of it: any process may have sent it. */
static void take(struct ftc_comm *comm, const struct ftc_datagram *fields,
                 struct ftc_buffer *payload)
{
    if (is_refused(comm, (int)fields->source))
        return;
    int rc = ftc_member_datagram(comm->member, (int)fields->source, payload);

    if (rc == FTC_ERR_PROTO)
        comm->senseless++;
    else if (rc != 0)
        ftc_comm_leave(comm, FTC_EXIT_INTERNAL, "out of memory");
    ftc_progress_outputs(comm);
}

bool ftc_runtime_multicast_receive(struct ftc_comm *comm)
{
    struct ftc_buffer *payload = NULL;
    struct ftc_datagram fields;

    if (comm->multicast == NULL)
        return false;
    int rc = ftc_multicast_receive(comm->multicast, &fields, &payload);
    if (rc == 0)
        return false;
    if (rc == 1) {
        take(comm, &fields, payload);
        ftc_buffer_unref(payload);
    } else if (rc != FTC_ERR_NOMEM) {
        go_without(comm, ftc_last_error());
    }
    return true;
}

bool ftc_runtime_multicast_ready(struct ftc_comm *comm)
{
    return comm->multicast != NULL && ftc_multicast_ready(comm->multicast);
}

int ftc_runtime_multicast_fd(struct ftc_comm *comm)
{
    if (comm->multicast != NULL && ftc_multicast_arm(comm->multicast) != 0)
        go_without(comm, ftc_last_error());
    return comm->multicast != NULL ? ftc_multicast_fd(comm->multicast) : -1;
}
