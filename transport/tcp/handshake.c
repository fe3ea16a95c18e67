/* The messages and proofs of the handshake. HMAC-SHA256 and the comparison are those of Nettle. */
#include "transport/tcp/handshake.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>

#include "base/wire.h"

/* Each begins with a byte that no text protocol sends first. */
static const unsigned char magic[FTC_TCP_PROTOCOLS][FTC_TCP_MAGIC_SIZE] = {
    [FTC_TCP_PROTOCOL_SOCKET] = {0xfc, 'f', 't', 'c', 't', 'c', 'p', '\n'},
    [FTC_TCP_PROTOCOL_VERBS] = {0xfc, 'f', 't', 'c', 'v', 'r', 'b', '\n'},
};

#define ANSWER_PLAIN  (FTC_TCP_ANSWER_SIZE - FTC_TCP_PROOF_SIZE)
#define VERDICT_PLAIN (FTC_TCP_VERDICT_SIZE - FTC_TCP_PROOF_SIZE)
#define PLACE_SIZE    16
/* The seal is in what was zero in version 2. So an end of version 2 sees the other version. */
#define SEAL_BIT 30

const char *ftc_tcp_refusal_text(enum ftc_tcp_refusal refusal)
{
    static const char *const texts[] = {
        [FTC_TCP_ACCEPTED] = "accepted",
        [FTC_TCP_REFUSED_VERSION] = "no common version of the protocol",
        [FTC_TCP_REFUSED_JOB] = "it belongs to another job",
        [FTC_TCP_REFUSED_RANK] = "another rank was meant",
        [FTC_TCP_REFUSED_SECRET] = "wrong job secret",
        [FTC_TCP_REFUSED_BUSY] = "both connect, the lower rank's connection counts",
        [FTC_TCP_REFUSED_CLOSED] = "it regards this rank as failed",
        [FTC_TCP_REFUSED_SEAL] = "it has another setting of transport.seal",
    };
    return (unsigned)refusal < FTC_TCP_REFUSALS ? texts[refusal] : "?";
}

const char *ftc_tcp_seal_name(enum ftc_tcp_seal seal)
{
    static const char *const names[] = {"off", "authenticate", "encrypt"};
    return (unsigned)seal < FTC_TCP_SEALS ? names[seal] : "?";
}

unsigned ftc_tcp_common_version(const struct ftc_tcp_versions *one,
                                const struct ftc_tcp_versions *other)
{
    unsigned highest = one->highest < other->highest ? one->highest : other->highest;
    return highest >= one->lowest && highest >= other->lowest ? highest : 0;
}

bool ftc_tcp_magic_begins(enum ftc_tcp_protocol protocol, const unsigned char *bytes, size_t size)
{
    return memcmp(bytes, magic[protocol], size < FTC_TCP_MAGIC_SIZE ? size : FTC_TCP_MAGIC_SIZE) ==
           0;
}

static void write_start(struct ftc_writer *w, enum ftc_tcp_protocol protocol,
                        const struct ftc_tcp_versions *versions)
{
    ftc_write_bytes(w, magic[protocol], FTC_TCP_MAGIC_SIZE);
    ftc_write_u16(w, (uint16_t)versions->lowest);
    ftc_write_u16(w, (uint16_t)versions->highest);
}

/* False: there is no magic, or no valid range of versions. */
static bool read_start(struct ftc_reader *r, enum ftc_tcp_protocol *protocol,
                       struct ftc_tcp_versions *versions)
{
    const unsigned char *first = ftc_read_bytes(r, FTC_TCP_MAGIC_SIZE);
    versions->lowest = ftc_read_u16(r);
    versions->highest = ftc_read_u16(r);
    *protocol = FTC_TCP_PROTOCOL_SOCKET;
    if (!r->failed && ftc_tcp_magic_begins(FTC_TCP_PROTOCOL_VERBS, first, FTC_TCP_MAGIC_SIZE))
        *protocol = FTC_TCP_PROTOCOL_VERBS;
    return !r->failed && ftc_tcp_magic_begins(*protocol, first, FTC_TCP_MAGIC_SIZE) &&
           versions->lowest >= 1 && versions->lowest <= versions->highest;
}

void ftc_tcp_hello_encode(unsigned char bytes[FTC_TCP_HELLO_SIZE],
                          const struct ftc_tcp_hello *hello)
{
    struct ftc_writer w = {.data = bytes, .size = FTC_TCP_HELLO_SIZE};
    write_start(&w, hello->protocol, &hello->versions);
    ftc_write_u32(&w, hello->sender);
    ftc_write_u32(&w, hello->target | (uint32_t)hello->seal << SEAL_BIT);
    ftc_write_bytes(&w, hello->job, sizeof(hello->job));
    ftc_write_bytes(&w, hello->challenge, sizeof(hello->challenge));
}

bool ftc_tcp_hello_decode(struct ftc_tcp_hello *hello,
                          const unsigned char bytes[FTC_TCP_HELLO_SIZE])
{
    struct ftc_reader r = {.data = bytes, .size = FTC_TCP_HELLO_SIZE};
    if (!read_start(&r, &hello->protocol, &hello->versions))
        return false;
    hello->sender = ftc_read_u32(&r);
    uint32_t target = ftc_read_u32(&r), seal = target >> SEAL_BIT;
    hello->target = target & ((1u << SEAL_BIT) - 1);
    hello->seal = (enum ftc_tcp_seal)seal;
    memcpy(hello->job, ftc_read_bytes(&r, sizeof(hello->job)), sizeof(hello->job));
    memcpy(hello->challenge, ftc_read_bytes(&r, sizeof(hello->challenge)),
           sizeof(hello->challenge));
    return hello->job[FTC_TCP_JOB_SIZE - 1] == '\0' && seal < FTC_TCP_SEALS;
}

static const char *const labels[] = {
    [FTC_TCP_RANKS] = "ftcoll ranks", [FTC_TCP_AGENTS] = "ftcoll agents"};

/* A proof begins with two words, each with its NUL: the kind of ends, and the role. The role keeps
 * a proof from being sent back to the end that made it. The kind keeps a proof of a rank from being
 * used with an agent, and the other way round. */
static void prove(unsigned char proof[FTC_TCP_PROOF_SIZE], const char *role,
                  const unsigned char *hello, const unsigned char *answer, size_t answer_size,
                  const void *rest, size_t rest_size, const struct ftc_tcp_secret *secret)
{
    const char *label = labels[secret->ends];
    struct hmac_sha256_ctx context;
    hmac_sha256_set_key(&context, secret->size, secret->bytes);
    hmac_sha256_update(&context, strlen(label) + 1, (const uint8_t *)label);
    hmac_sha256_update(&context, strlen(role) + 1, (const uint8_t *)role);
    hmac_sha256_update(&context, FTC_TCP_HELLO_SIZE, hello);
    hmac_sha256_update(&context, answer_size, answer);
    hmac_sha256_update(&context, rest_size, rest);
    hmac_sha256_digest(&context, FTC_TCP_PROOF_SIZE, proof);
    explicit_bzero(&context, sizeof(context));
}

static void prove_listener(unsigned char proof[FTC_TCP_PROOF_SIZE], const unsigned char *hello,
                           const unsigned char *answer, const struct ftc_tcp_secret *secret)
{
    prove(proof, "listener", hello, answer, ANSWER_PLAIN, NULL, 0, secret);
}

static void prove_connector(unsigned char proof[FTC_TCP_PROOF_SIZE],
                            const unsigned char place[PLACE_SIZE], const unsigned char *hello,
                            const unsigned char *answer, const struct ftc_tcp_secret *secret)
{
    prove(proof, "connector", hello, answer, FTC_TCP_ANSWER_SIZE, place, PLACE_SIZE, secret);
}

static void prove_verdict(unsigned char proof[FTC_TCP_PROOF_SIZE],
                          const unsigned char verdict[VERDICT_PLAIN], const unsigned char *hello,
                          const unsigned char *answer, const struct ftc_tcp_secret *secret)
{
    prove(proof, "verdict", hello, answer, FTC_TCP_ANSWER_SIZE, verdict, VERDICT_PLAIN, secret);
}

/* The words of its role are of no proof. So no proof that was sent tells a key. */
void ftc_tcp_seal_key(unsigned char key[FTC_TCP_PROOF_SIZE], bool connector,
                      const unsigned char hello[FTC_TCP_HELLO_SIZE],
                      const unsigned char answer[FTC_TCP_ANSWER_SIZE],
                      const struct ftc_tcp_secret *secret)
{
    prove(key, connector ? "seal to listener" : "seal to connector", hello, answer,
          FTC_TCP_ANSWER_SIZE, NULL, 0, secret);
}

void ftc_tcp_answer_encode(unsigned char bytes[FTC_TCP_ANSWER_SIZE],
                           const struct ftc_tcp_answer *answer,
                           const unsigned char hello[FTC_TCP_HELLO_SIZE],
                           const struct ftc_tcp_secret *secret)
{
    struct ftc_writer w = {.data = bytes, .size = FTC_TCP_ANSWER_SIZE};
    memset(bytes, 0, FTC_TCP_ANSWER_SIZE);
    write_start(&w, answer->protocol, &answer->versions);
    ftc_write_u8(&w, (uint8_t)answer->version);
    ftc_write_u8(&w, (uint8_t)answer->seal);
    ftc_write_u16(&w, (uint16_t)answer->refusal);
    if (answer->refusal != FTC_TCP_ACCEPTED)
        return;
    ftc_write_bytes(&w, answer->challenge, sizeof(answer->challenge));
    prove_listener(bytes + ANSWER_PLAIN, hello, bytes, secret);
}

bool ftc_tcp_answer_decode(struct ftc_tcp_answer *answer,
                           const unsigned char bytes[FTC_TCP_ANSWER_SIZE])
{
    struct ftc_reader r = {.data = bytes, .size = FTC_TCP_ANSWER_SIZE};
    if (!read_start(&r, &answer->protocol, &answer->versions))
        return false;
    answer->version = ftc_read_u8(&r);
    unsigned seal = ftc_read_u8(&r), refusal = ftc_read_u16(&r);
    answer->refusal = (enum ftc_tcp_refusal)refusal;
    answer->seal = (enum ftc_tcp_seal)seal;
    memcpy(answer->challenge, ftc_read_bytes(&r, sizeof(answer->challenge)),
           sizeof(answer->challenge));
    return refusal < FTC_TCP_REFUSALS && seal < FTC_TCP_SEALS;
}

bool ftc_tcp_answer_proven(const unsigned char answer[FTC_TCP_ANSWER_SIZE],
                           const unsigned char hello[FTC_TCP_HELLO_SIZE],
                           const struct ftc_tcp_secret *secret)
{
    unsigned char proof[FTC_TCP_PROOF_SIZE];
    prove_listener(proof, hello, answer, secret);
    return memeql_sec(proof, answer + ANSWER_PLAIN, sizeof(proof));
}

void ftc_tcp_proof_encode(unsigned char bytes[FTC_TCP_PROOF_BYTES],
                          const struct ftc_tcp_place *place,
                          const unsigned char hello[FTC_TCP_HELLO_SIZE],
                          const unsigned char answer[FTC_TCP_ANSWER_SIZE],
                          const struct ftc_tcp_secret *secret)
{
    struct ftc_writer w = {.data = bytes + FTC_TCP_PROOF_SIZE, .size = PLACE_SIZE};
    ftc_write_u64(&w, place->expected);
    ftc_write_u64(&w, place->offset);
    prove_connector(bytes, bytes + FTC_TCP_PROOF_SIZE, hello, answer, secret);
}

bool ftc_tcp_proof_decode(struct ftc_tcp_place *place,
                          const unsigned char bytes[FTC_TCP_PROOF_BYTES],
                          const unsigned char hello[FTC_TCP_HELLO_SIZE],
                          const unsigned char answer[FTC_TCP_ANSWER_SIZE],
                          const struct ftc_tcp_secret *secret)
{
    struct ftc_reader r = {.data = bytes + FTC_TCP_PROOF_SIZE, .size = PLACE_SIZE};
    unsigned char proof[FTC_TCP_PROOF_SIZE];
    prove_connector(proof, bytes + FTC_TCP_PROOF_SIZE, hello, answer, secret);
    place->expected = ftc_read_u64(&r);
    place->offset = ftc_read_u64(&r);
    return memeql_sec(proof, bytes, sizeof(proof));
}

void ftc_tcp_verdict_encode(unsigned char bytes[FTC_TCP_VERDICT_SIZE], enum ftc_tcp_refusal refusal,
                            const struct ftc_tcp_place *place,
                            const unsigned char hello[FTC_TCP_HELLO_SIZE],
                            const unsigned char answer[FTC_TCP_ANSWER_SIZE],
                            const struct ftc_tcp_secret *secret)
{
    struct ftc_writer w = {.data = bytes, .size = FTC_TCP_VERDICT_SIZE};
    memset(bytes, 0, FTC_TCP_VERDICT_SIZE);
    ftc_write_u64(&w, (uint64_t)refusal);
    ftc_write_u64(&w, place->expected);
    ftc_write_u64(&w, place->offset);
    if (refusal == FTC_TCP_ACCEPTED)
        prove_verdict(bytes + VERDICT_PLAIN, bytes, hello, answer, secret);
}

bool ftc_tcp_verdict_decode(enum ftc_tcp_refusal *refusal, struct ftc_tcp_place *place,
                            const unsigned char bytes[FTC_TCP_VERDICT_SIZE],
                            const unsigned char hello[FTC_TCP_HELLO_SIZE],
                            const unsigned char answer[FTC_TCP_ANSWER_SIZE],
                            const struct ftc_tcp_secret *secret)
{
    struct ftc_reader r = {.data = bytes, .size = FTC_TCP_VERDICT_SIZE};
    unsigned char proof[FTC_TCP_PROOF_SIZE];
    uint64_t word = ftc_read_u64(&r);
    place->expected = ftc_read_u64(&r);
    place->offset = ftc_read_u64(&r);
    if (word >= FTC_TCP_REFUSALS)
        return false;
    *refusal = (enum ftc_tcp_refusal)word;
    if (*refusal != FTC_TCP_ACCEPTED)
        return true;
    prove_verdict(proof, bytes, hello, answer, secret);
    return memeql_sec(proof, bytes + VERDICT_PLAIN, sizeof(proof));
}
