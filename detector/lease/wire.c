/* Messages of leases as bytes (base/wire.h):
 *
 *   u8 kind | u64 term | u64 leader_ns | u64 node_ns | u32 rounds |
 *   set refused | set declared | set unheard
 */
#include "base/wire.h"
#include "base/error.h"
#include "detector/lease/lease.h"

#define MOST_TERM (UINT64_MAX / 2) /* so that there is always a higher term */

size_t ftc_lease_encode(const struct ftc_lease_message *message, unsigned char *bytes, size_t size)
{
    struct ftc_writer w = {.data = bytes, .size = size};

    ftc_write_u8(&w, (uint8_t)message->kind);
    ftc_write_u64(&w, message->term);
    ftc_write_u64(&w, message->leader_ns);
    ftc_write_u64(&w, message->node_ns);
    ftc_write_u32(&w, message->rounds);
    ftc_write_set(&w, message->refused);
    ftc_write_set(&w, message->declared);
    ftc_write_set(&w, message->unheard);
    return w.failed ? 0 : w.used;
}

int ftc_lease_decode(struct ftc_lease_message *message, struct ftc_set *refused,
                     struct ftc_set *declared, struct ftc_set *unheard, const unsigned char *bytes,
                     size_t size)
{
    struct ftc_reader r = {.data = bytes, .size = size};
    uint8_t kind = ftc_read_u8(&r);

    *message = (struct ftc_lease_message){.kind = (enum ftc_lease_kind)kind,
                                          .refused = refused,
                                          .declared = declared,
                                          .unheard = unheard};
    message->term = ftc_read_u64(&r);
    message->leader_ns = ftc_read_u64(&r);
    message->node_ns = ftc_read_u64(&r);
    message->rounds = ftc_read_u32(&r);
    ftc_read_set(&r, refused);
    ftc_read_set(&r, declared);
    ftc_read_set(&r, unheard);
    if (r.failed || r.used != size || kind >= FTC_LEASE_KINDS || message->term > MOST_TERM ||
        !ftc_set_subset(declared, refused))
        return ftc_error_set(FTC_ERR_PROTO, "a damaged message about leases");
    return FTC_SUCCESS;
}
