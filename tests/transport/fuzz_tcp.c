/*
 * Fuzzes what the TCP transport reads from a socket: frames, the messages of the handshake,
 * endpoints, the position at which a peer says it goes on, and records of sealed links. The first
 * byte chooses one of them.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/tcp/endpoint.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/queue.h"
#include "transport/tcp/seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ftc_tcp_secret secret = {.size = 16, .bytes = "sixteen bytes..."};

/* Takes as many bytes as wanted, with zeros where the input ends. */
static void fill(unsigned char *bytes, size_t wanted, const uint8_t *data, size_t size)
{
    memset(bytes, 0, wanted);
    if (size > 0)
        memcpy(bytes, data, size < wanted ? size : wanted);
}

/* An accepted header must encode to the same bytes. */
static void fuzz_frame(const uint8_t *data, size_t size)
{
    unsigned char bytes[FTC_TCP_HEADER_SIZE], again[FTC_TCP_HEADER_SIZE];
    struct ftc_tcp_header header;
    fill(bytes, sizeof(bytes), data, size);
    if (ftc_tcp_header_decode(&header, bytes) != 0)
        return;
    ftc_tcp_header_encode(again, &header);
    if (memcmp(bytes, again, sizeof(bytes)) != 0 || header.head > FTC_TCP_HEAD_MAX ||
        header.value > FTC_TCP_VALUE_MAX)
        abort();
}

/* Fields reach their bounds only without the help of the checksum. */
static void fuzz_fields(const uint8_t *data, size_t size)
{
    uint64_t words[6];
    unsigned char bytes[FTC_TCP_HEADER_SIZE];
    fill((unsigned char *)words, sizeof(words), data, size);
    struct ftc_tcp_header header = {
        (unsigned)words[0] & 3, words[1], words[2], words[3], words[4], words[5]};
    ftc_tcp_header_encode(bytes, &header);
    fuzz_frame(bytes, sizeof(bytes));
}

static void fuzz_handshake(const uint8_t *data, size_t size)
{
    unsigned char hello_bytes[FTC_TCP_HELLO_SIZE], answer_bytes[FTC_TCP_ANSWER_SIZE],
        verdict_bytes[FTC_TCP_VERDICT_SIZE], proof[FTC_TCP_PROOF_BYTES];
    struct ftc_tcp_hello hello;
    struct ftc_tcp_answer answer;
    struct ftc_tcp_place place;
    enum ftc_tcp_refusal refusal;
    fill(hello_bytes, sizeof(hello_bytes), data, size);
    fill(answer_bytes, sizeof(answer_bytes), data, size);
    fill(verdict_bytes, sizeof(verdict_bytes), data, size);
    fill(proof, sizeof(proof), data, size);
    ftc_tcp_magic_begins(FTC_TCP_PROTOCOL_SOCKET, data, size);
    if (ftc_tcp_hello_decode(&hello, hello_bytes) && strlen(hello.job) >= FTC_TCP_JOB_SIZE)
        abort();
    if (ftc_tcp_answer_decode(&answer, answer_bytes) &&
        ftc_tcp_refusal_text(answer.refusal)[0] == '?')
        abort();
    if (ftc_tcp_verdict_decode(&refusal, &place, verdict_bytes, hello_bytes, answer_bytes,
                               &secret) &&
        (refusal == FTC_TCP_ACCEPTED || ftc_tcp_refusal_text(refusal)[0] == '?'))
        abort();
    if (ftc_tcp_answer_proven(answer_bytes, hello_bytes, &secret) ||
        ftc_tcp_proof_decode(&place, proof, hello_bytes, answer_bytes, &secret))
        abort();
}

static void fuzz_endpoint(const uint8_t *data, size_t size)
{
    char text[2 * FTC_TCP_ENDPOINT_SIZE] = "", again[FTC_TCP_ENDPOINT_SIZE];
    struct ftc_tcp_endpoint endpoint;
    fill((unsigned char *)text, sizeof(text) - 1, data, size);
    if (ftc_tcp_endpoint_parse(&endpoint, text) != 0)
        return;
    if (endpoint.count < 1 || endpoint.count > FTC_TCP_ADDRESSES)
        abort();
    ftc_tcp_endpoint_format(again, &endpoint);
    if (ftc_tcp_endpoint_parse(&endpoint, again) != 0)
        abort();
}

/* A step has three bytes: go on somewhere, acknowledge, or send some. */
static void fuzz_queue(const uint8_t *data, size_t size)
{
    struct ftc_tcp_queue queue = {0};
    struct iovec pieces[8];
    for (; size >= 3; data += 3, size -= 3) {
        struct ftc_buffer *head = ftc_buffer_new((size_t)data[1] + 1);
        if (head == NULL)
            abort();
        memset(head->data, 0, head->size);
        if (data[0] % 4 == 0)
            ftc_tcp_queue_append(&queue, head, NULL);
        else if (data[0] % 4 == 1)
            ftc_tcp_queue_resume(&queue, data[1], data[2]);
        else if (data[0] % 4 == 2)
            ftc_tcp_queue_acknowledge(&queue, data[1]);
        else if (ftc_tcp_queue_gather(&queue, pieces, 8, 0) > 0)
            ftc_tcp_queue_advance(&queue, data[1] * 2u);
        ftc_buffer_unref(head);
    }
    ftc_tcp_queue_drop(&queue);
}

/* The record is made of two pieces, and the first byte of the value says where they meet. */
static size_t seal_in_two(struct ftc_seal *out, unsigned char *record, size_t content,
                          unsigned char *value)
{
    size_t first = value[0] * 8u < content ? value[0] * 8u : content;
    struct iovec pieces[] = {{value, first}, {value + first, content - first}};
    return ftc_seal_close(out, record, content, pieces);
}

static bool opens(struct ftc_seal *in, unsigned char *record, size_t size)
{
    unsigned char *content = record + FTC_SEAL_LENGTH_SIZE;
    return ftc_seal_open(in, content, size - FTC_SEAL_OVERHEAD, content + size - FTC_SEAL_OVERHEAD);
}

/* Opens what the input says is a record, and then the true one. The true record must come out as it
 * went in, if nothing was opened before it; nothing else may come out. The key follows from the
 * input: the fuzzer learns records from the comparison, and none of another input may open. */
static void fuzz_seal(const uint8_t *data, size_t size)
{
    unsigned char key[FTC_SEAL_KEY_SIZE];
    static unsigned char record[FTC_SEAL_RECORD_MAX], sealed[FTC_SEAL_RECORD_MAX],
        value[FTC_SEAL_CONTENT_MAX];
    enum ftc_tcp_seal kind = size % 2 == 0 ? FTC_TCP_SEAL_AUTHENTICATE : FTC_TCP_SEAL_ENCRYPT;
    size_t content = size > 0 && size < ftc_seal_content_max(kind) ? size : 1;
    struct ftc_seal out, in;
    fill(key, sizeof(key), data, size);
    ftc_seal_start(&out, kind, key);
    ftc_seal_start(&in, kind, key);
    fill(value, content, data, size);
    size_t whole = seal_in_two(&out, sealed, content, value);
    fill(record, sizeof(record), data, size);
    size_t claimed = ftc_seal_size(kind, record);
    if (claimed > sizeof(record) || ftc_seal_size(kind, sealed) != whole)
        abort();
    if (claimed > 0 && memcmp(record, sealed, whole) != 0) {
        if (opens(&in, record, claimed))
            abort();
    } else if (!opens(&in, sealed, whole) ||
               (size > 0 && memcmp(sealed + FTC_SEAL_LENGTH_SIZE, data, content) != 0)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const what[])(const uint8_t *, size_t) = {
        fuzz_frame, fuzz_fields, fuzz_handshake, fuzz_endpoint, fuzz_queue, fuzz_seal};
    if (size > 0)
        what[data[0] % 6](data + 1, size - 1);
    return 0;
}
