/* The multicast group of a job. */
#include "runtime/process/multicast.h"

#include <string.h>

#include "base/error.h"
#include "collectives/message.h"
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
static void make_group(const struct ftc_process *process, struct ftc_multicast_group *group)
{
    const struct ftc_segment_header *header = ftc_segment_header(process->segment);
    unsigned char drawn[FTC_MULTICAST_DRAWN];

    memcpy(drawn, header->multicast_group, sizeof(drawn));
    if (ftc_segment_nodes(process->segment) > 1)
        ftc_multicast_group_derive(drawn, header->secret, sizeof(header->secret));
    ftc_multicast_group_make(group, drawn);
}

static int join(struct ftc_process *process)
{
    const struct ftc_config *c = &process->config;
    struct ftc_multicast_setup setup = {.ranks = process->size,
                                        .self = process->rank,
                                        .interfaces = c->multicast_interface,
                                        .receives = (int)c->multicast_receives,
                                        .drill = drill_of(c),
                                        .log = &process->log};

    if (c->multicast_interface[0] == '\0' && c->multicast_transport == FTC_MULTICAST_UDP &&
        ftc_segment_nodes(process->segment) > 1)
        return ftc_error_set(
            FTC_ERR_SYSTEM,
            "the loopback, where datagrams go by default, does not leave the node: set "
            "multicast.interface");
    make_group(process, &setup.group);
    const struct ftc_multicast_ops *ops =
        c->multicast_transport == FTC_MULTICAST_VERBS ? &ftc_multicast_verbs : &ftc_multicast_udp;
    int rc = ftc_multicast_open(&process->multicast, ops, &setup);
    if (rc == 0)
        rc = ftc_bell_poll(&process->bell);
    return rc;
}

static void go_without(struct ftc_process *process, const char *why)
{
    FTC_LOG(&process->log, FTC_LOG_WARN,
            "no multicast: %s; what it would bring comes along the ring or is asked for", why);
    ftc_runtime_multicast_publish(process);
    ftc_runtime_multicast_close(process);
    if (process->transport->ops->descriptor(process->transport) < 0)
        ftc_bell_poll_end(&process->bell);
}

int ftc_runtime_multicast_open(struct ftc_process *process)
{
    process->fragment = FRAGMENT_WITHOUT;
    if (process->alone || process->config.dissemination != FTC_CONFIG_DISSEMINATION_MULTICAST)
        return 0;
    int rc = join(process);
    if (rc == FTC_ERR_NOMEM || rc == FTC_ERR_ARG || rc == FTC_ERR_CONFIG)
        return rc;
    size_t room = rc == 0 ? ftc_multicast_payload_max(process->multicast) : 0;
    if (rc == 0 && room <= FTC_FRAGMENT_HEAD)
        rc = ftc_error_set(
            FTC_ERR_UNSUPPORTED,
            "no room in a datagram of %zu bytes: take an interface with a larger MTU", room);
    if (rc != 0)
        go_without(process, ftc_last_error());
    else
        process->fragment = (uint32_t)room - FTC_FRAGMENT_HEAD;
    return 0;
}

void ftc_runtime_multicast_close(struct ftc_process *process)
{
    ftc_multicast_close(process->multicast);
    process->multicast = NULL;
}

void ftc_runtime_multicast_send(struct ftc_process *process, const struct ftc_output *output)
{
    struct iovec pieces[] = {{output->head->data, output->head->size},
                             {ftc_value_bytes(&output->value), output->value.size}};
    struct ftc_datagram fields = {.broadcast = process->multicasts,
                                  .operation = output->op,
                                  .sequence = output->piece.number,
                                  .count = output->piece.count};

    if (output->piece.number + 1 == output->piece.count)
        process->multicasts++;
    if (process->multicast != NULL)
        ftc_multicast_send(process->multicast, &fields, pieces, 2);
}

void ftc_runtime_multicast_publish(struct ftc_process *process)
{
    struct ftc_multicast_counters c;

    if (process->multicast == NULL)
        return;
    ftc_multicast_counters(process->multicast, &c);
    const uint64_t counts[FTC_DATAGRAMS] = {
        [FTC_DATAGRAMS_SENT] = c.sent,
        [FTC_DATAGRAMS_RECEIVED] = c.received,
        [FTC_DATAGRAMS_FOREIGN] = c.foreign,
        [FTC_DATAGRAMS_CORRUPT] = c.corrupt,
        [FTC_DATAGRAMS_SENSELESS] = process->senseless,
        [FTC_DATAGRAMS_FAILED] = c.send_failed + c.receive_failed,
        [FTC_DATAGRAMS_DROPPED] = c.dropped,
        [FTC_DATAGRAMS_DRILL_LOST] = c.drilled.lost,
        [FTC_DATAGRAMS_DRILL_OTHER] =
            c.drilled.duplicated + c.drilled.reordered + c.drilled.corrupted + c.drilled.foreign,
    };

    for (int i = 0; i < FTC_DATAGRAMS; i++)
        atomic_store_explicit(&process->slot->counters.datagrams[i], counts[i],
                              memory_order_relaxed);
}

/* nodes.md, rule 6. As in transport/route/route.c, the look must follow the receive from the
 * socket. */
static bool is_refused(const struct ftc_process *process, int rank)
{
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&ftc_segment_standing(process->segment, rank)->refused,
                                memory_order_acquire) != 0;
}

bool ftc_runtime_multicast_receive(struct ftc_process *process, int *from,
                                   struct ftc_buffer **payload)
{
    struct ftc_datagram fields;

    *payload = NULL;
    if (process->multicast == NULL)
        return false;
    int rc = ftc_multicast_receive(process->multicast, &fields, payload);
    if (rc == 0)
        return false;
    if (rc != 1 && rc != FTC_ERR_NOMEM)
        go_without(process, ftc_last_error());
    if (rc == 1 && is_refused(process, (int)fields.source)) {
        ftc_buffer_unref(*payload);
        *payload = NULL;
    }
    *from = rc == 1 ? (int)fields.source : -1;
    return true;
}

bool ftc_runtime_multicast_ready(struct ftc_process *process)
{
    return process->multicast != NULL && ftc_multicast_ready(process->multicast);
}

int ftc_runtime_multicast_fd(struct ftc_process *process)
{
    if (process->multicast != NULL && ftc_multicast_arm(process->multicast) != 0)
        go_without(process, ftc_last_error());
    return process->multicast != NULL ? ftc_multicast_fd(process->multicast) : -1;
}
