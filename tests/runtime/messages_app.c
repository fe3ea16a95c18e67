/*
 * Sends and receives, for messages.bats: messages_app STORY [SEED]. Prints "messages_app: done" at
 * each rank for which all was as it should be.
 */
#include "tests/runtime/messages_app.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/clock.h"

ftc_comm *world;
int me, size;
uint64_t seed;

void must(bool good, const char *what, int line)
{
    if (good)
        return;
    fprintf(stderr, "messages_app: rank %d, line %d, seed %" PRIu64 ": %s (%s)\n", me, line, seed,
            what, ftc_last_error());
    exit(1);
}

unsigned draw_from(uint64_t *state, unsigned below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((*state >> 32) % below);
}

/* The same numbers at each rank. */
static unsigned draw(unsigned below)
{
    return draw_from(&seed, below);
}

static void compute(double seconds)
{
    double end = test_now() + seconds;

    while (test_now() < end)
        ;
}

/* --- messages that tell who sent them --- */

void write_message(unsigned char *buffer, size_t bytes, int from, int number)
{
    for (size_t i = 0; i < bytes; i++)
        buffer[i] = (unsigned char)(from * 31 + number * 7 + (int)(i % 251));
}

bool is_message(const unsigned char *buffer, size_t bytes, int from, int number)
{
    for (size_t i = 0; i < bytes; i++)
        if (buffer[i] != (unsigned char)(from * 31 + number * 7 + (int)(i % 251)))
            return false;
    return true;
}

size_t draw_size(uint64_t *state)
{
    static const size_t most[] = {1, 9, 300, 16384, 70000, 1u << 20, MOST};

    return draw_from(state, (unsigned)most[draw_from(state, sizeof(most) / sizeof(most[0]))] + 1);
}

unsigned char *memory(size_t bytes)
{
    unsigned char *memory = calloc(1, bytes + 1);

    MUST(memory != NULL);
    return memory;
}

/* --- stories --- */

/* Each rank exchanges messages of many sizes with each rank, itself included. */
static void pairs(void)
{
    unsigned char *out = memory(MOST), *in = memory(MOST);

    for (int round = 0; round < 12; round++)
        for (int shift = 0; shift < size; shift++) {
            size_t bytes = draw_size(&seed);
            int to = (me + shift) % size, from = (me + size - shift) % size;
            bool any = draw(2) == 0;
            ftc_status status;
            write_message(out, bytes, me, round);
            memset(in, 0, bytes);
            OK(ftc_sendrecv(out, bytes, FTC_UINT8, to, round, in, MOST, FTC_UINT8,
                            any ? FTC_ANY_RANK : from, any ? FTC_ANY_TAG : round, world, &status));
            MUST(status.rank == from && status.tag == round && status.bytes == bytes);
            MUST(is_message(in, bytes, from, round));
            if (any)
                OK(ftc_barrier(world)); /* so that nobody is a round ahead */
        }
    free(out);
    free(in);
}

/* Sizes at which a message begins to go another way: the ends of an inline send, of a slot, of an
 * eager message, of a part and of a window. */
static void sizes(void)
{
    enum { LARGEST = 16u << 20 };
    static const size_t at[] = {1, 256, 4096, 16384, 256u << 10, 2u << 20, LARGEST};
    unsigned char *out = memory(LARGEST + 1), *in = memory(LARGEST + 1);
    int to = (me + 1) % size, from = (me + size - 1) % size;

    for (size_t i = 0; i < 3 * sizeof(at) / sizeof(at[0]); i++) {
        size_t bytes = at[i / 3] - 1 + i % 3;
        ftc_status status;
        write_message(out, bytes, me, (int)i);
        OK(ftc_sendrecv(out, bytes, FTC_UINT8, to, 0, in, bytes, FTC_UINT8, from, 0, world,
                        &status));
        MUST(status.bytes == bytes && is_message(in, bytes, from, (int)i));
    }
    free(out);
    free(in);
}

/* Rank 0 receives from all, in whatever order they come: the messages of each in theirs. */
static void order(void)
{
    enum { EACH = 400 };
    int64_t seen[64] = {0}, pair[600];

    for (int64_t i = 0; me != 0 && i < EACH; i++) {
        pair[0] = me;
        pair[1] = i;
        OK(ftc_send(pair, 2 + (size_t)(i * 97 % 598), FTC_INT64, 0, (int)(i % 5), world));
    }
    for (int i = 0; me == 0 && i < EACH * (size - 1); i++) {
        ftc_status status;
        OK(ftc_recv(pair, 600, FTC_INT64, FTC_ANY_RANK, FTC_ANY_TAG, world, &status));
        MUST(pair[0] == status.rank && pair[1] == seen[status.rank]++);
    }
}

/* Many are under way, and are received by their tags from the last to the first. */
static void many(void)
{
    enum { COUNT = 9000 }; /* more than the credit of a sender */
    static int64_t out[COUNT], in[COUNT];
    static ftc_request *sends[COUNT], *receives[COUNT];
    int to = (me + 1) % size, from = (me + size - 1) % size;

    for (int i = 0; i < COUNT; i++) {
        out[i] = (int64_t)me * COUNT + i;
        OK(ftc_isend(&out[i], 1, FTC_INT64, to, i, world, &sends[i]));
    }
    for (int i = COUNT - 1; i >= 0; i--)
        OK(ftc_irecv(&in[i], 1, FTC_INT64, from, i, world, &receives[i]));
    OK(ftc_wait_all(COUNT, receives, NULL));
    OK(ftc_wait_all(COUNT, sends, NULL));
    for (int i = 0; i < COUNT; i++)
        MUST(in[i] == (int64_t)from * COUNT + i);
}

/* What a rank does with itself, and what is refused. */
static void self(void)
{
    unsigned char *large = memory(MOST), *got = memory(MOST), small[4] = "abc";
    ftc_request *send = NULL, *receive = NULL;
    ftc_status status;
    int done = 1;

    OK(ftc_send(small, 4, FTC_UINT8, me, 3, world));
    OK(ftc_iprobe(FTC_ANY_RANK, FTC_ANY_TAG, world, &done, &status));
    MUST(done == 1 && status.rank == me && status.tag == 3 && status.bytes == 4);
    MUST(ftc_recv(got, 2, FTC_UINT8, me, 3, world, &status) == FTC_ERR_TRUNCATED);
    MUST(status.bytes == 4 && status.error == FTC_ERR_TRUNCATED && memcmp(got, "ab", 3) == 0);
    OK(ftc_iprobe(me, 3, world, &done, &status));
    MUST(done == 0);

    write_message(large, MOST, me, 1);
    OK(ftc_irecv(got, MOST, FTC_UINT8, me, 1, world, &receive));
    OK(ftc_test(&receive, &done, NULL));
    MUST(done == 0 && receive != NULL);
    MUST(ftc_wait_for(&receive, 0.001, NULL) == FTC_ERR_TIMEOUT);
    OK(ftc_isend(large, MOST, FTC_UINT8, me, 1, world, &send));
    OK(ftc_wait(&receive, &status));
    OK(ftc_wait(&send, NULL));
    MUST(status.bytes == MOST && is_message(got, MOST, me, 1));

    OK(ftc_irecv(got, 1, FTC_UINT8, me, 9, world, &receive));
    OK(ftc_cancel(receive));
    MUST(ftc_wait(&receive, NULL) == FTC_ERR_CANCELLED && receive == NULL);
    OK(ftc_send(NULL, 0, FTC_UINT8, me, 9, world));
    OK(ftc_recv(NULL, 0, FTC_UINT8, me, 9, world, NULL));

    MUST(ftc_send(small, 1, FTC_UINT8, size, 0, world) == FTC_ERR_ARG);
    MUST(ftc_send(small, 1, FTC_UINT8, FTC_ANY_RANK, 0, world) == FTC_ERR_ARG);
    MUST(ftc_send(small, 1, FTC_UINT8, me, FTC_ANY_TAG, world) == FTC_ERR_ARG);
    MUST(ftc_send(NULL, 1, FTC_UINT8, me, 0, world) == FTC_ERR_ARG);
    MUST(ftc_recv(small, 1, FTC_UINT8, me, -2, world, NULL) == FTC_ERR_ARG);
    MUST(ftc_isend(small, 1, FTC_UINT8, me, 0, world, NULL) == FTC_ERR_ARG);
    MUST(ftc_iprobe(me, 0, world, NULL, NULL) == FTC_ERR_ARG);
    MUST(ftc_cancel(NULL) == FTC_ERR_ARG);
    if (size == 1) {
        MUST(ftc_recv(small, 1, FTC_UINT8, 0, 0, world, NULL) == FTC_ERR_STATE);
        MUST(ftc_probe(0, 0, world, NULL) == FTC_ERR_STATE);
    }
    free(large);
    free(got);
}

/* Messages keep out of each other's communicators, and out of collectives. */
static void groups(void)
{
    ftc_comm *copy = NULL;
    ftc_request *requests[4] = {NULL};
    int64_t one = me, two = me + 100, in_world = -1, in_copy = -1, sum = 0, ones = 1;
    int to = (me + 1) % size, from = (me + size - 1) % size, index = -1, left = 4;

    OK(ftc_comm_dup(world, &copy));
    OK(ftc_irecv(&in_copy, 1, FTC_INT64, FTC_ANY_RANK, FTC_ANY_TAG, copy, &requests[0]));
    OK(ftc_isend(&one, 1, FTC_INT64, to, 5, world, &requests[1]));
    OK(ftc_isend(&two, 1, FTC_INT64, to, 5, copy, &requests[2]));
    OK(ftc_iallreduce(&ones, &sum, 1, FTC_INT64, FTC_SUM, world, &requests[3]));
    OK(ftc_recv(&in_world, 1, FTC_INT64, from, 5, world, NULL));
    for (; left > 0; left--) {
        OK(ftc_wait_any(4, requests, &index, NULL));
        MUST(index >= 0 && requests[index] == NULL);
    }
    MUST(in_world == from && in_copy == from + 100 && sum == size);
    MUST(ftc_comm_free(&copy) == FTC_SUCCESS);
    OK(ftc_irecv(&in_world, 1, FTC_INT64, from, 6, world, &requests[0]));
    MUST(ftc_finalize(world) == FTC_ERR_STATE);
    OK(ftc_send(&one, 1, FTC_INT64, to, 6, world));
    OK(ftc_wait_all(4, requests, NULL));
}

/* Rank 0 computes while rank 1 receives what it has started to send: a thread sees to it. */
static void overlap(void)
{
    unsigned char *buffer = memory(MOST);
    ftc_request *request = NULL;
    double begin;

    write_message(buffer, MOST, 0, 0);
    OK(ftc_barrier(world));
    begin = test_now();
    if (me == 0) {
        OK(ftc_isend(buffer, MOST, FTC_UINT8, 1, 0, world, &request));
        compute(3);
        OK(ftc_wait(&request, NULL));
    } else if (me == 1) {
        memset(buffer, 0, MOST);
        OK(ftc_recv(buffer, MOST, FTC_UINT8, 0, 0, world, NULL));
        MUST(test_now() - begin < 2.5 && is_message(buffer, MOST, 0, 0));
    }
    free(buffer);
}

static void die(void)
{
    raise(SIGKILL);
}

/* Rank 1 dies. What it sent before is received; nothing waits for it. */
static void death(void)
{
    unsigned char *large = memory(MOST), byte = 0;
    ftc_request *any = NULL, *to_dead = NULL;
    ftc_status status;
    int count = 0, dead = 1;

    if (me == 1) {
        byte = 7;
        OK(ftc_send(&byte, 1, FTC_UINT8, 0, 2, world));
        OK(ftc_recv(&byte, 1, FTC_UINT8, 0, 0, world, NULL));
        die();
    }
    if (me == 0) {
        OK(ftc_irecv(&byte, 1, FTC_UINT8, FTC_ANY_RANK, 4, world, &any));
        OK(ftc_isend(large, MOST, FTC_UINT8, 1, 1, world, &to_dead));
        OK(ftc_send(&byte, 1, FTC_UINT8, 1, 0, world));
        MUST(ftc_recv(&byte, 1, FTC_UINT8, 1, 3, world, &status) == FTC_ERR_RANK_FAILED);
        MUST(ftc_wait(&to_dead, NULL) == FTC_ERR_RANK_FAILED && to_dead == NULL);
        MUST(ftc_wait(&any, &status) == FTC_ERR_RANK_FAILED && any != NULL && status.rank == -1);
        MUST(ftc_wait_for(&any, 0.01, NULL) == FTC_ERR_TIMEOUT); /* once only */
        MUST(ftc_recv(&byte, 1, FTC_UINT8, FTC_ANY_RANK, 9, world, NULL) == FTC_ERR_RANK_FAILED);
        MUST(ftc_probe(FTC_ANY_RANK, 9, world, NULL) == FTC_ERR_RANK_FAILED);
        OK(ftc_validate_local(world, &count));
        OK(ftc_recognize(world, 1, &dead));
        OK(ftc_recv(&byte, 1, FTC_UINT8, 1, 2, world, NULL)); /* it has come before the death */
        MUST(byte == 7);
        MUST(ftc_send(&byte, 1, FTC_UINT8, 1, 2, world) == FTC_ERR_RANK_FAILED);
        MUST(ftc_probe(1, 2, world, NULL) == FTC_ERR_RANK_FAILED);
        OK(ftc_send(&byte, 1, FTC_UINT8, 2, 8, world));
        OK(ftc_wait(&any, &status));
        MUST(status.rank == 2);
    }
    if (me == 2) {
        OK(ftc_recv(&byte, 1, FTC_UINT8, 0, 8, world, NULL));
        OK(ftc_send(&byte, 1, FTC_UINT8, 0, 4, world));
    }
    free(large);
}

/* Rank 1 dies or stops while rank 0 waits for it: how long does rank 0 wait? */
static void awaited(void)
{
    unsigned char byte = 0;
    double begin;

    OK(ftc_barrier(world));
    if (me == 1) {
        OK(ftc_send(&byte, 1, FTC_UINT8, 0, 0, world));
        compute(0.1);
        die();
    }
    if (me == 0) {
        OK(ftc_recv(&byte, 1, FTC_UINT8, 1, 0, world, NULL));
        begin = test_now();
        MUST(ftc_recv(&byte, 1, FTC_UINT8, 1, 1, world, NULL) == FTC_ERR_RANK_FAILED);
        printf("waited %.1f ms\n", (test_now() - begin - 0.1) * 1e3);
    }
}

static void stopped(void)
{
    unsigned char byte = 0;

    OK(ftc_barrier(world));
    if (me == 1)
        raise(SIGSTOP);
    if (me == 0)
        MUST(ftc_recv(&byte, 1, FTC_UINT8, 1, 1, world, NULL) == FTC_ERR_RANK_FAILED);
}

/* Ranks send large messages to each other, and one of them dies at some message, by the drill. */
static void torn(void)
{
    unsigned char *out = memory(MOST), *in = memory(MOST);
    ftc_request *request = NULL;

    for (int round = 0; round < 20; round++) {
        int to = (me + 1 + round % (size - 1)) % size;
        int from = (me + size - 1 - round % (size - 1)) % size;
        size_t bytes = draw_size(&seed);
        ftc_status status;
        write_message(out, bytes, me, round);
        OK(ftc_irecv(in, MOST, FTC_UINT8, from, round, world, &request));
        int rc = ftc_send(out, bytes, FTC_UINT8, to, round, world);
        MUST(rc == FTC_SUCCESS || rc == FTC_ERR_RANK_FAILED);
        rc = ftc_wait(&request, &status);
        MUST(rc == FTC_SUCCESS || rc == FTC_ERR_RANK_FAILED);
        if (rc == FTC_SUCCESS)
            MUST(status.bytes == bytes && is_message(in, bytes, from, round));
    }
    free(out);
    free(in);
}

/* Rank 1 dies, by the drill, when a part of a large message has come from it, and a part of another
 * one has gone to it. What it sent before is received, and the others go on. */
static void cut(void)
{
    unsigned char *out = memory(MOST), *in = memory(MOST), byte = 7;
    ftc_request *from = NULL, *to = NULL;

    if (me == 1) {
        OK(ftc_send(&byte, 1, FTC_UINT8, 0, 2, world));
        (void)ftc_sendrecv(out, MOST, FTC_UINT8, 0, 1, in, MOST, FTC_UINT8, 0, 1, world, NULL);
        MUST(!"rank 1 is alive");
    }
    if (me == 0) {
        byte = 0;
        OK(ftc_irecv(in, MOST, FTC_UINT8, 1, 1, world, &from));
        OK(ftc_isend(out, MOST, FTC_UINT8, 1, 1, world, &to));
        MUST(ftc_wait(&from, NULL) == FTC_ERR_RANK_FAILED);
        MUST(ftc_wait(&to, NULL) == FTC_ERR_RANK_FAILED);
        OK(ftc_recv(&byte, 1, FTC_UINT8, 1, 2, world, NULL));
        MUST(byte == 7);
    }
    write_message(out, MOST, me, 0);
    OK(ftc_sendrecv(out, MOST, FTC_UINT8, 2 - me, 3, in, MOST, FTC_UINT8, 2 - me, 3, world, NULL));
    MUST(is_message(in, MOST, 2 - me, 0));
    free(out);
    free(in);
}

/* Rank 2 revokes while the others wait for each other. */
static void revoked(void)
{
    unsigned char *large = memory(MOST), byte = 0;
    ftc_comm *copy = NULL, *rest = NULL;
    ftc_request *requests[2] = {NULL};

    OK(ftc_comm_dup(world, &copy));
    if (me == 2) {
        compute(0.05);
        OK(ftc_comm_revoke(copy));
        MUST(ftc_send(&byte, 1, FTC_UINT8, 0, 0, copy) == FTC_ERR_REVOKED);
    } else {
        OK(ftc_irecv(large, MOST, FTC_UINT8, (me + 1) % size, 1, copy, &requests[0]));
        OK(ftc_isend(large, MOST, FTC_UINT8, 2, 1, copy, &requests[1]));
        MUST(ftc_recv(&byte, 1, FTC_UINT8, FTC_ANY_RANK, 2, copy, NULL) == FTC_ERR_REVOKED);
        MUST(ftc_wait_all(2, requests, NULL) == FTC_ERR_REVOKED);
        MUST(requests[0] == NULL && requests[1] == NULL);
        MUST(ftc_probe(2, 2, copy, NULL) == FTC_ERR_REVOKED);
    }
    OK(ftc_comm_shrink(copy, &rest));
    OK(ftc_sendrecv(&byte, 1, FTC_UINT8, (me + 1) % size, 0, &byte, 1, FTC_UINT8,
                    (me + size - 1) % size, 0, rest, NULL));
    OK(ftc_comm_free(&copy));
    OK(ftc_comm_free(&rest));
    OK(ftc_sendrecv(&byte, 1, FTC_UINT8, (me + 1) % size, 0, &byte, 1, FTC_UINT8,
                    (me + size - 1) % size, 0, world, NULL));
    free(large);
}

/* All ranks but one die, and the last one does not wait for ever. */
static void last(void)
{
    unsigned char byte = 0, other = 0;
    ftc_request *any = NULL, *both[2];
    int count = 0, index = -1, failed[64];

    OK(ftc_barrier(world));
    if (me != 0)
        die();
    OK(ftc_irecv(&byte, 1, FTC_UINT8, FTC_ANY_RANK, 0, world, &any));
    do
        OK(ftc_validate_local(world, &count));
    while (count < size - 1);
    for (int i = 0; i < count; i++)
        failed[i] = i + 1;
    OK(ftc_recognize(world, count, failed));
    for (int i = 0; i < 3; i++)
        MUST(ftc_wait(&any, NULL) == FTC_ERR_RANK_FAILED && any != NULL);
    OK(ftc_irecv(&other, 1, FTC_UINT8, FTC_ANY_RANK, 1, world, &both[1]));
    OK(ftc_send(&byte, 1, FTC_UINT8, 0, 1, world));
    both[0] = any;
    OK(ftc_wait_any(2, both, &index, NULL)); /* not the one that is interrupted */
    MUST(index == 1);
    OK(ftc_send(&byte, 1, FTC_UINT8, 0, 0, world));
    OK(ftc_wait(&any, NULL));
}

/* For ever, and for status.bats: rank 0 waits for a message of rank 1, which waits for rank 2 to
 * receive. Rank 3 takes any message, and rank 4 has got one. */
static void hang(void)
{
    unsigned char *large = memory(MOST);
    ftc_comm *reversed = NULL;
    ftc_request *request = NULL;

    OK(ftc_comm_split(world, 0, -me, &reversed));
    OK(ftc_comm_set_name(reversed, "reversed"));
    if (me == 0)
        OK(ftc_recv(large, 16, FTC_UINT8, size - 2, 7, reversed, NULL));
    if (me == 1)
        OK(ftc_send(large, MOST, FTC_UINT8, 2, 3, world));
    if (me == 2) {
        compute(0.2);
        OK(ftc_send(large, 1, FTC_UINT8, 4, 0, world));
    }
    if (me == 3) {
        OK(ftc_irecv(large, 1, FTC_UINT8, FTC_ANY_RANK, FTC_ANY_TAG, world, &request));
        OK(ftc_wait(&request, NULL));
    }
    if (me == 4)
        OK(ftc_recv(large, 1, FTC_UINT8, 2, 0, world, NULL));
    for (;;)
        pause();
}

static const struct {
    const char *name;
    void (*run)(void);
} stories[] = {
    {"pairs", pairs},
    {"sizes", sizes},
    {"order", order},
    {"many", many},
    {"self", self},
    {"groups", groups},
    {"threads", several_threads},
    {"driven", driven_send},
    {"overlap", overlap},
    {"death", death},
    {"awaited", awaited},
    {"stopped", stopped},
    {"torn", torn},
    {"cut", cut},
    {"revoke", revoked},
    {"last", last},
    {"hang", hang},
    {"cancelled", cancelled},
};

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    OK(ftc_init(NULL, &world));
    me = ftc_rank(world);
    size = ftc_size(world);
    for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
        if (strcmp(argv[1], stories[i].name) == 0)
            stories[i].run();
    OK(ftc_finalize(world));
    printf("messages_app: done\n");
    return 0;
}
