/* Records of sealed links. UMAC, AES-GCM and HKDF are those of Nettle. */
#include "transport/tcp/seal.h"

#include <assert.h>
#include <nettle/hkdf.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>

#include "base/wire.h"

#define NONCE_SIZE  GCM_IV_SIZE
#define LARGE_PIECE 512 /* bytes; smaller ones are cheaper to encrypt together */

static void expand(unsigned char key[FTC_SEAL_KEY_SIZE],
                   const unsigned char from[FTC_SEAL_KEY_SIZE], const char *label)
{
    struct hmac_sha256_ctx context;
    hmac_sha256_set_key(&context, FTC_SEAL_KEY_SIZE, from);
    hkdf_expand(&context, (nettle_hash_update_func *)hmac_sha256_update,
                (nettle_hash_digest_func *)hmac_sha256_digest, SHA256_DIGEST_SIZE, strlen(label),
                (const uint8_t *)label, FTC_SEAL_KEY_SIZE, key);
    explicit_bzero(&context, sizeof(context));
}

/* Take the next key of the chain, and the next link of the chain (docs/design/tcp.md, rule S5). The
 * old ones do not follow from the new ones. */
static void rekey(struct ftc_seal *seal)
{
    unsigned char key[FTC_SEAL_KEY_SIZE], chain[FTC_SEAL_KEY_SIZE];
    expand(key, seal->chain, "ftcoll seal key");
    expand(chain, seal->chain, "ftcoll seal chain");
    memcpy(seal->chain, chain, sizeof(chain));
    if (seal->kind == FTC_TCP_SEAL_ENCRYPT)
        gcm_aes256_set_key(&seal->gcm, key);
    else
        umac64_set_key(&seal->umac, key); /* UMAC takes the first 16 bytes */
    explicit_bzero(key, sizeof(key));
    explicit_bzero(chain, sizeof(chain));
}

void ftc_seal_start(struct ftc_seal *seal, enum ftc_tcp_seal kind,
                    const unsigned char key[FTC_SEAL_KEY_SIZE])
{
    assert(kind != FTC_TCP_SEAL_OFF);
    memset(seal, 0, sizeof(*seal));
    seal->kind = kind;
    seal->rekey_every = FTC_SEAL_RECORDS;
    memcpy(seal->chain, key, FTC_SEAL_KEY_SIZE);
}

size_t ftc_seal_content_max(enum ftc_tcp_seal kind)
{
    return kind == FTC_TCP_SEAL_ENCRYPT ? FTC_SEAL_ENCRYPTED_MAX : FTC_SEAL_CONTENT_MAX;
}

/* Begin a record with this length. */
static void begin_record(struct ftc_seal *seal, unsigned char length[FTC_SEAL_LENGTH_SIZE],
                         size_t content)
{
    unsigned char nonce[NONCE_SIZE] = {0};
    assert(content >= 1 && content <= ftc_seal_content_max(seal->kind));
    if (seal->number % seal->rekey_every == 0)
        rekey(seal);
    ftc_store_u64(nonce, seal->number++);
    ftc_store_u32(length, (uint32_t)content);
    if (seal->kind == FTC_TCP_SEAL_ENCRYPT) {
        gcm_aes256_set_iv(&seal->gcm, sizeof(nonce), nonce);
        gcm_aes256_update(&seal->gcm, FTC_SEAL_LENGTH_SIZE, length);
    } else {
        umac64_set_nonce(&seal->umac, sizeof(nonce), nonce);
        umac64_update(&seal->umac, FTC_SEAL_LENGTH_SIZE, length);
    }
}

/* Both kinds have tags of one size. That of UMAC-64 ends with zeros. */
static void end_record(struct ftc_seal *seal, unsigned char tag[FTC_SEAL_TAG_SIZE])
{
    if (seal->kind == FTC_TCP_SEAL_ENCRYPT) {
        gcm_aes256_digest(&seal->gcm, FTC_SEAL_TAG_SIZE, tag);
    } else {
        umac64_digest(&seal->umac, UMAC64_DIGEST_SIZE, tag);
        memset(tag + UMAC64_DIGEST_SIZE, 0, FTC_SEAL_TAG_SIZE - UMAC64_DIGEST_SIZE);
    }
}

/* Encrypt the pieces one behind the other. GCM takes whole blocks except at the end. So small
 * pieces, and the ends of large ones, are put together first. */
static void encrypt(struct gcm_aes256_ctx *gcm, unsigned char *to, size_t content,
                    const struct iovec *pieces)
{
    size_t there = 0, done = 0;
    for (; there < content; pieces++) {
        const unsigned char *from = pieces->iov_base;
        size_t left = pieces->iov_len < content - there ? pieces->iov_len : content - there;
        if (left >= LARGE_PIECE) {
            size_t step = (done - there) % GCM_BLOCK_SIZE,
                   whole = (left - step) / GCM_BLOCK_SIZE * GCM_BLOCK_SIZE;
            memcpy(to + there, from, step);
            there += step;
            gcm_aes256_encrypt(gcm, there - done, to + done, to + done);
            gcm_aes256_encrypt(gcm, whole, to + there, from + step);
            done = there += whole;
            from += step + whole;
            left -= step + whole;
        }
        memcpy(to + there, from, left);
        there += left;
    }
    gcm_aes256_encrypt(gcm, there - done, to + done, to + done);
}

static void copy(unsigned char *to, size_t content, const struct iovec *pieces)
{
    for (size_t there = 0; there < content; pieces++) {
        size_t step = pieces->iov_len < content - there ? pieces->iov_len : content - there;
        memcpy(to + there, pieces->iov_base, step);
        there += step;
    }
}

size_t ftc_seal_close(struct ftc_seal *seal, unsigned char *record, size_t content,
                      const struct iovec *pieces)
{
    unsigned char *begin = record + FTC_SEAL_LENGTH_SIZE;
    begin_record(seal, record, content);
    if (seal->kind == FTC_TCP_SEAL_ENCRYPT) {
        encrypt(&seal->gcm, begin, content, pieces);
    } else {
        copy(begin, content, pieces);
        umac64_update(&seal->umac, content, begin);
    }
    end_record(seal, begin + content);
    return content + FTC_SEAL_OVERHEAD;
}

void ftc_seal_close_around(struct ftc_seal *seal, unsigned char length[FTC_SEAL_LENGTH_SIZE],
                           const void *content, size_t size, unsigned char tag[FTC_SEAL_TAG_SIZE])
{
    assert(seal->kind == FTC_TCP_SEAL_AUTHENTICATE);
    begin_record(seal, length, size);
    umac64_update(&seal->umac, size, content);
    end_record(seal, tag);
}

size_t ftc_seal_size(enum ftc_tcp_seal kind, const unsigned char length[FTC_SEAL_LENGTH_SIZE])
{
    uint32_t content = ftc_load_u32(length);
    return content >= 1 && content <= ftc_seal_content_max(kind) ? content + FTC_SEAL_OVERHEAD : 0;
}

bool ftc_seal_open(struct ftc_seal *seal, unsigned char *content, size_t size,
                   const unsigned char tag[FTC_SEAL_TAG_SIZE])
{
    unsigned char length[FTC_SEAL_LENGTH_SIZE], right[FTC_SEAL_TAG_SIZE];
    begin_record(seal, length, size);
    if (seal->kind == FTC_TCP_SEAL_ENCRYPT)
        gcm_aes256_decrypt(&seal->gcm, size, content, content);
    else
        umac64_update(&seal->umac, size, content);
    end_record(seal, right);
    return memeql_sec(right, tag, sizeof(right)) != 0;
}

void ftc_seal_erase(struct ftc_seal *seal)
{
    explicit_bzero(seal, sizeof(*seal));
}
