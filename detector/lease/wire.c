/* Messages of leases as bytes (base/wire.h):
 *
 *   u8 kind | u64 term | u32 leader | u32 beat | u32 rounds | set refused | set declared
 *   BEAT:  u8 grants | set silent | set nodes | FTC_LEASE_LAGS sets named
 *   ECHO:  set nodes | u32 pairs | pairs times (u32 node | u32 unheard)
 */
#include "base/wire.h"
#include "base/error.h"
#include "detector/lease/lease.h"

#define MOST_TERM  (UINT64_MAX / 2) /* so that there is always a higher term */
#define HEAD_BYTES 21u
#define PAIR_BYTES 8u

/* --- memory --- */

static void all_sets(struct ftc_lease_box *box, struct ftc_set *sets[4 + FTC_LEASE_LAGS])
{
    sets[0] = &box->refused;
    sets[1] = &box->declared;
    sets[2] = &box->silent;
    sets[3] = &box->nodes;
    for (int i = 0; i < FTC_LEASE_LAGS; i++)
        sets[4 + i] = &box->named[i];
}

int ftc_lease_box_init(struct ftc_lease_box *box, int nodes)
{
    struct ftc_set *sets[4 + FTC_LEASE_LAGS];
    int rc = FTC_SUCCESS;

    *box = (struct ftc_lease_box){0};
    all_sets(box, sets);
    for (int i = 0; i < 4 + FTC_LEASE_LAGS && rc == FTC_SUCCESS; i++)
        rc = ftc_set_init(sets[i], nodes);
    return rc;
}

void ftc_lease_box_fini(struct ftc_lease_box *box)
{
    struct ftc_set *sets[4 + FTC_LEASE_LAGS];

    all_sets(box, sets);
    for (int i = 0; i < 4 + FTC_LEASE_LAGS; i++)
        ftc_set_fini(sets[i]);
}

/* --- writing --- */

size_t ftc_lease_size(const struct ftc_lease_message *message)
{
    size_t size =
        HEAD_BYTES + ftc_wire_set_size(message->refused) + ftc_wire_set_size(message->declared);

    if (message->kind == FTC_LEASE_BEAT) {
        size += sizeof(uint8_t) + ftc_wire_set_size(message->silent) +
                ftc_wire_set_size(message->nodes);
        for (int i = 0; i < FTC_LEASE_LAGS; i++)
            size += ftc_wire_set_size(&message->named[i]);
    }
    if (message->kind == FTC_LEASE_ECHO)
        size += ftc_wire_set_size(message->nodes) + sizeof(uint32_t) +
                (size_t)message->pairs * PAIR_BYTES;
    return size;
}

static void write_beat(struct ftc_writer *w, const struct ftc_lease_message *message)
{
    ftc_write_u8(w, message->grants);
    ftc_write_set(w, message->silent);
    ftc_write_set(w, message->nodes);
    for (int i = 0; i < FTC_LEASE_LAGS; i++)
        ftc_write_set(w, &message->named[i]);
}

static void write_echo(struct ftc_writer *w, const struct ftc_lease_message *message)
{
    ftc_write_set(w, message->nodes);
    ftc_write_u32(w, (uint32_t)message->pairs);
    for (int i = 0; i < message->pairs; i++) {
        ftc_write_u32(w, (uint32_t)message->pair[i].node);
        ftc_write_u32(w, (uint32_t)message->pair[i].unheard);
    }
}

size_t ftc_lease_encode(const struct ftc_lease_message *message, unsigned char *bytes, size_t size)
{
    struct ftc_writer w = {.data = bytes, .size = size};

    ftc_write_u8(&w, (uint8_t)message->kind);
    ftc_write_u64(&w, message->term);
    ftc_write_u32(&w, (uint32_t)message->leader);
    ftc_write_u32(&w, message->beat);
    ftc_write_u32(&w, message->rounds);
    ftc_write_set(&w, message->refused);
    ftc_write_set(&w, message->declared);
    if (message->kind == FTC_LEASE_BEAT)
        write_beat(&w, message);
    if (message->kind == FTC_LEASE_ECHO)
        write_echo(&w, message);
    return w.failed ? 0 : w.used;
}

/* --- reading --- */

static bool is_node(const struct ftc_lease_box *box, uint32_t node)
{
    return node < (uint32_t)box->refused.size;
}

static void read_beat(struct ftc_reader *r, struct ftc_lease_message *message,
                      struct ftc_lease_box *box)
{
    message->grants = ftc_read_u8(r) != 0;
    ftc_read_set(r, &box->silent);
    ftc_read_set(r, &box->nodes);
    for (int i = 0; i < FTC_LEASE_LAGS; i++)
        ftc_read_set(r, &box->named[i]);
}

static bool read_echo(struct ftc_reader *r, struct ftc_lease_message *message,
                      struct ftc_lease_box *box)
{
    ftc_read_set(r, &box->nodes);
    uint32_t pairs = ftc_read_u32(r);
    if (pairs > FTC_LEASE_PAIRS)
        return false;
    message->pairs = (int)pairs;
    for (uint32_t i = 0; i < pairs; i++) {
        uint32_t node = ftc_read_u32(r), unheard = ftc_read_u32(r);
        if (!is_node(box, node) || !is_node(box, unheard))
            return false;
        box->pair[i] = (struct ftc_lease_pair){(int)node, (int)unheard};
    }
    return true;
}

static bool sound(const struct ftc_lease_message *message, const struct ftc_lease_box *box)
{
    return message->term <= MOST_TERM && is_node(box, (uint32_t)message->leader) &&
           ftc_set_subset(&box->declared, &box->refused) &&
           (message->kind != FTC_LEASE_BEAT ||
            (message->beat > 0 && ftc_set_has(&box->nodes, message->leader)));
}

int ftc_lease_decode(struct ftc_lease_message *message, struct ftc_lease_box *box,
                     const unsigned char *bytes, size_t size)
{
    struct ftc_reader r = {.data = bytes, .size = size};
    uint8_t kind = ftc_read_u8(&r);
    bool fits = kind < FTC_LEASE_KINDS;

    *message = (struct ftc_lease_message){.kind = (enum ftc_lease_kind)kind,
                                          .refused = &box->refused,
                                          .declared = &box->declared,
                                          .silent = &box->silent,
                                          .nodes = &box->nodes,
                                          .named = box->named,
                                          .pair = box->pair};
    message->term = ftc_read_u64(&r);
    message->leader = (int)ftc_read_u32(&r);
    message->beat = ftc_read_u32(&r);
    message->rounds = ftc_read_u32(&r);
    ftc_read_set(&r, &box->refused);
    ftc_read_set(&r, &box->declared);
    if (kind == FTC_LEASE_BEAT)
        read_beat(&r, message, box);
    if (kind == FTC_LEASE_ECHO)
        fits = read_echo(&r, message, box);
    if (!fits || r.failed || r.used != size || !sound(message, box))
        return ftc_error_set(FTC_ERR_PROTO, "a damaged message about leases");
    return FTC_SUCCESS;
}
