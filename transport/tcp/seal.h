/*
 * The records of a sealed link (docs/design/tcp.md, "Seal"). No I/O.
 *
 * A record is the length of its content (u32), the content, and a tag of 12 bytes over both. The
 * number of the record in its direction is the nonce. So a record that is changed, repeated, moved
 * or left out has a wrong tag at the place where it is opened.
 */
#ifndef FTC_TRANSPORT_TCP_SEAL_H
#define FTC_TRANSPORT_TCP_SEAL_H

#include <nettle/gcm.h>
#include <nettle/umac.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "transport/tcp/protocol.h"

#define FTC_SEAL_KEY_SIZE    32
#define FTC_SEAL_LENGTH_SIZE 4
#define FTC_SEAL_TAG_SIZE    12
#define FTC_SEAL_OVERHEAD    (FTC_SEAL_LENGTH_SIZE + FTC_SEAL_TAG_SIZE)
/* Content of a record: of any, and of an encrypted one, which goes through the sender's buffer. */
#define FTC_SEAL_CONTENT_MAX   262144
#define FTC_SEAL_ENCRYPTED_MAX 65536
#define FTC_SEAL_RECORD_MAX    (FTC_SEAL_CONTENT_MAX + FTC_SEAL_OVERHEAD) /* for tests */
#define FTC_SEAL_RECORDS       (1ull << 20) /* of one key; docs/design/tcp.md has the reason */

/* One direction of a link. Both ends have the same state after the same number of records. */
struct ftc_seal {
    enum ftc_tcp_seal kind;
    uint64_t number;                        /* of the next record; never repeated */
    uint64_t rekey_every;                   /* records; tests make it smaller */
    unsigned char chain[FTC_SEAL_KEY_SIZE]; /* the next keys follow from it */
    union {
        struct umac64_ctx umac;
        struct gcm_aes256_ctx gcm;
    };
};

/* Begin with the first record. `kind` is not off. */
void ftc_seal_start(struct ftc_seal *seal, enum ftc_tcp_seal kind,
                    const unsigned char key[FTC_SEAL_KEY_SIZE]);

/* The bytes of content that a record of this kind has at most (docs/design/tcp.md, rule S4). */
size_t ftc_seal_content_max(enum ftc_tcp_seal kind);

/* Make a record of the first `content` bytes of the pieces, 1 to ftc_seal_content_max(). Gives the
 * bytes of the record. */
size_t ftc_seal_close(struct ftc_seal *seal, unsigned char *record, size_t content,
                      const struct iovec *pieces);
/* The same for a record whose content stays where it lies. Only the kind `authenticate`. */
void ftc_seal_close_around(struct ftc_seal *seal, unsigned char length[FTC_SEAL_LENGTH_SIZE],
                           const void *content, size_t size, unsigned char tag[FTC_SEAL_TAG_SIZE]);

/* The bytes of the record that begins with this length. 0: no record of this kind begins so. */
size_t ftc_seal_size(enum ftc_tcp_seal kind, const unsigned char length[FTC_SEAL_LENGTH_SIZE]);

/* Check the next record, of which content and tag may lie apart, and decrypt its content in its
 * place. `size` is that of the content, which the length gave. False: it is not the record that the
 * other end sealed. Nothing of it may be used then, and no further record can be opened. */
bool ftc_seal_open(struct ftc_seal *seal, unsigned char *content, size_t size,
                   const unsigned char tag[FTC_SEAL_TAG_SIZE]);

void ftc_seal_erase(struct ftc_seal *seal);

#endif
