/* Records of sealed links. UMAC, AES-GCM and HKDF are those of Nettle. */
#include "transport/tcp/seal.h"

#include <assert.h>
#include <nettle/hkdf.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>

#include "base/wire.h"

#define NONCE_SIZE GCM_IV_SIZE

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
        umac128_set_key(&seal->umac, key); /* UMAC takes the first 16 bytes */
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

static void begin_record(struct ftc_seal *seal)
{
    unsigned char nonce[NONCE_SIZE] = {0};
    if (seal->number % seal->rekey_every == 0)
        rekey(seal);
    ftc_store_u64(nonce, seal->number++);
    if (seal->kind == FTC_TCP_SEAL_ENCRYPT)
        gcm_aes256_set_iv(&seal->gcm, sizeof(nonce), nonce);
    else
        umac128_set_nonce(&seal->umac, sizeof(nonce), nonce);
}

size_t ftc_seal_close(struct ftc_seal *seal, unsigned char *record, size_t content)
{
    unsigned char *begin = record + FTC_SEAL_LENGTH_SIZE, *tag = begin + content;
    assert(content >= 1 && content <= FTC_SEAL_CONTENT_MAX);
    ftc_store_u32(record, (uint32_t)content);
    begin_record(seal);
    if (seal->kind == FTC_TCP_SEAL_ENCRYPT) {
        gcm_aes256_update(&seal->gcm, FTC_SEAL_LENGTH_SIZE, record);
        gcm_aes256_encrypt(&seal->gcm, content, begin, begin);
        gcm_aes256_digest(&seal->gcm, FTC_SEAL_TAG_SIZE, tag);
    } else {
        umac128_update(&seal->umac, FTC_SEAL_LENGTH_SIZE + content, record);
        umac128_digest(&seal->umac, FTC_SEAL_TAG_SIZE, tag);
    }
    return content + FTC_SEAL_OVERHEAD;
}

size_t ftc_seal_size(const unsigned char length[FTC_SEAL_LENGTH_SIZE])
{
    uint32_t content = ftc_load_u32(length);
    return content >= 1 && content <= FTC_SEAL_CONTENT_MAX ? content + FTC_SEAL_OVERHEAD : 0;
}

bool ftc_seal_open(struct ftc_seal *seal, unsigned char *record, size_t size)
{
    unsigned char tag[FTC_SEAL_TAG_SIZE], *begin = record + FTC_SEAL_LENGTH_SIZE;
    size_t content = size - FTC_SEAL_OVERHEAD;
    begin_record(seal);
    if (seal->kind == FTC_TCP_SEAL_ENCRYPT) {
        gcm_aes256_update(&seal->gcm, FTC_SEAL_LENGTH_SIZE, record);
        gcm_aes256_decrypt(&seal->gcm, content, begin, begin);
        gcm_aes256_digest(&seal->gcm, sizeof(tag), tag);
    } else {
        umac128_update(&seal->umac, FTC_SEAL_LENGTH_SIZE + content, record);
        umac128_digest(&seal->umac, sizeof(tag), tag);
    }
    return memeql_sec(tag, begin + content, sizeof(tag)) != 0;
}

void ftc_seal_erase(struct ftc_seal *seal)
{
    explicit_bzero(seal, sizeof(*seal));
}
