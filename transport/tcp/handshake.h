/*
 * The handshake: what two ends say before anything else on a connection (docs/design/tcp.md,
 * "Handshake"). No I/O.
 *
 * connector -> listener: hello (sender, target, job, versions, seal, challenge)
 * listener -> connector: answer (version or refusal, seal, challenge, proof)
 * connector -> listener: proof, and the place at which the connector goes on
 * listener -> connector: verdict, and the place at which the listener goes on
 */
#ifndef FTC_TRANSPORT_TCP_HANDSHAKE_H
#define FTC_TRANSPORT_TCP_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/tcp/protocol.h"

#define FTC_TCP_WIRE_VERSION   6 /* of both protocols; 6: long records, UMAC-64 */
#define FTC_TCP_MAGIC_SIZE     8
#define FTC_TCP_JOB_SIZE       32
#define FTC_TCP_CHALLENGE_SIZE 32
#define FTC_TCP_PROOF_SIZE     32
#define FTC_TCP_SECRET_MIN     16
#define FTC_TCP_SECRET_MAX     64

#define FTC_TCP_HELLO_SIZE   (FTC_TCP_MAGIC_SIZE + 12 + FTC_TCP_JOB_SIZE + FTC_TCP_CHALLENGE_SIZE)
#define FTC_TCP_ANSWER_SIZE  (FTC_TCP_MAGIC_SIZE + 8 + FTC_TCP_CHALLENGE_SIZE + FTC_TCP_PROOF_SIZE)
#define FTC_TCP_PROOF_BYTES  (FTC_TCP_PROOF_SIZE + 16)
#define FTC_TCP_VERDICT_SIZE (24 + FTC_TCP_PROOF_SIZE)

enum ftc_tcp_refusal {
    FTC_TCP_ACCEPTED,
    FTC_TCP_REFUSED_VERSION,
    FTC_TCP_REFUSED_JOB,
    FTC_TCP_REFUSED_RANK, /* the hello names another target, or its sender is no rank of the job */
    FTC_TCP_REFUSED_SECRET, /* the proof is wrong */
    FTC_TCP_REFUSED_BUSY,   /* the listener has, or has had, a better connection */
    FTC_TCP_REFUSED_CLOSED, /* the listener regards the connector as failed */
    FTC_TCP_REFUSED_SEAL,   /* the two ends have different settings of transport.seal */
    FTC_TCP_REFUSALS,
};
const char *ftc_tcp_refusal_text(enum ftc_tcp_refusal refusal);

/* The versions that an end speaks. */
struct ftc_tcp_versions {
    unsigned lowest, highest;
};
/* The highest version that both have; 0: there is none. */
unsigned ftc_tcp_common_version(const struct ftc_tcp_versions *one,
                                const struct ftc_tcp_versions *other);

struct ftc_tcp_hello {
    enum ftc_tcp_protocol protocol;
    struct ftc_tcp_versions versions;
    uint32_t sender, target; /* below 2 to the power of 30 */
    enum ftc_tcp_seal seal;
    char job[FTC_TCP_JOB_SIZE];
    unsigned char challenge[FTC_TCP_CHALLENGE_SIZE];
};
void ftc_tcp_hello_encode(unsigned char bytes[FTC_TCP_HELLO_SIZE],
                          const struct ftc_tcp_hello *hello);
bool ftc_tcp_hello_decode(struct ftc_tcp_hello *hello,
                          const unsigned char bytes[FTC_TCP_HELLO_SIZE]);
/* Can these first bytes be the start of a hello or an answer? So a stranger is recognised by its
 * first byte. */
bool ftc_tcp_magic_begins(enum ftc_tcp_protocol protocol, const unsigned char *bytes, size_t size);

struct ftc_tcp_answer {
    enum ftc_tcp_protocol protocol;
    struct ftc_tcp_versions versions;
    unsigned version;
    enum ftc_tcp_seal seal; /* of the listener, also in a refusal */
    enum ftc_tcp_refusal refusal;
    unsigned char challenge[FTC_TCP_CHALLENGE_SIZE];
};
/* The secret of the job, and the kind of ends that a proof by it names. */
struct ftc_tcp_secret {
    enum ftc_tcp_ends ends; /* the kind that the proofs name */
    size_t size;
    unsigned char bytes[FTC_TCP_SECRET_MAX];
};
/* The proof in the answer is made over the hello and the rest of the answer. A refusal has zeros in
 * place of challenge and proof. */
void ftc_tcp_answer_encode(unsigned char bytes[FTC_TCP_ANSWER_SIZE],
                           const struct ftc_tcp_answer *answer,
                           const unsigned char hello[FTC_TCP_HELLO_SIZE],
                           const struct ftc_tcp_secret *secret);
bool ftc_tcp_answer_decode(struct ftc_tcp_answer *answer,
                           const unsigned char bytes[FTC_TCP_ANSWER_SIZE]);
/* Does the proof show that the listener has the secret? Compared in constant time. */
bool ftc_tcp_answer_proven(const unsigned char answer[FTC_TCP_ANSWER_SIZE],
                           const unsigned char hello[FTC_TCP_HELLO_SIZE],
                           const struct ftc_tcp_secret *secret);

/* The key from which the keys of a sealed link follow. The two ends have the same if each has
 * proven the secret. `connector`: of the direction from the connector to the listener. */
void ftc_tcp_seal_key(unsigned char key[FTC_TCP_PROOF_SIZE], bool connector,
                      const unsigned char hello[FTC_TCP_HELLO_SIZE],
                      const unsigned char answer[FTC_TCP_ANSWER_SIZE],
                      const struct ftc_tcp_secret *secret);

/* The place at which an end goes on: the next message that it expects, and how many bytes of that
 * message it has. */
struct ftc_tcp_place {
    uint64_t expected, offset;
};
void ftc_tcp_proof_encode(unsigned char bytes[FTC_TCP_PROOF_BYTES],
                          const struct ftc_tcp_place *place,
                          const unsigned char hello[FTC_TCP_HELLO_SIZE],
                          const unsigned char answer[FTC_TCP_ANSWER_SIZE],
                          const struct ftc_tcp_secret *secret);
/* False: the proof does not show that the connector has the secret. Compared in constant time. */
bool ftc_tcp_proof_decode(struct ftc_tcp_place *place,
                          const unsigned char bytes[FTC_TCP_PROOF_BYTES],
                          const unsigned char hello[FTC_TCP_HELLO_SIZE],
                          const unsigned char answer[FTC_TCP_ANSWER_SIZE],
                          const struct ftc_tcp_secret *secret);

/* The proof in the verdict covers the rest of it, hello and answer. A refusal has zeros in its
 * place, and proves nothing. */
void ftc_tcp_verdict_encode(unsigned char bytes[FTC_TCP_VERDICT_SIZE], enum ftc_tcp_refusal refusal,
                            const struct ftc_tcp_place *place,
                            const unsigned char hello[FTC_TCP_HELLO_SIZE],
                            const unsigned char answer[FTC_TCP_ANSWER_SIZE],
                            const struct ftc_tcp_secret *secret);
/* False: it is no verdict, or it accepts without proof. */
bool ftc_tcp_verdict_decode(enum ftc_tcp_refusal *refusal, struct ftc_tcp_place *place,
                            const unsigned char bytes[FTC_TCP_VERDICT_SIZE],
                            const unsigned char hello[FTC_TCP_HELLO_SIZE],
                            const unsigned char answer[FTC_TCP_ANSWER_SIZE],
                            const struct ftc_tcp_secret *secret);

#endif
