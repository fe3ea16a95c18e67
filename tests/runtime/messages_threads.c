/* The stories of messages_app in which several threads of a rank call. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/runtime/messages_app.h"

#define THREADS 3
#define ROUNDS  8
#define BEAT_S  10 /* the heartbeat period that messages.bats sets: the longest sleep */

/* --- each thread in a communicator of its own --- */

struct caller {
    pthread_t thread;
    ftc_comm *comm;
    int number;
};

/* Exchanges one message with the neighbours, in one of the ways that there are. */
static void exchange(ftc_comm *comm, int tag, unsigned char *out, unsigned char *in,
                     uint64_t *state)
{
    int to = (me + 1) % size, from = (me + size - 1) % size, done = 0;
    unsigned way = draw_from(state, 3);
    size_t bytes = draw_size(state);
    ftc_request *requests[2] = {NULL};
    ftc_status status = {.rank = -1};

    write_message(out, bytes, me, tag);
    if (way == 0) {
        OK(ftc_sendrecv(out, bytes, FTC_UINT8, to, tag, in, MOST, FTC_UINT8, from, tag, comm,
                        &status));
    } else {
        OK(ftc_irecv(in, MOST, FTC_UINT8, from, tag, comm, &requests[0]));
        OK(way == 1 ? ftc_isend(out, bytes, FTC_UINT8, to, tag, comm, &requests[1])
                    : ftc_send(out, bytes, FTC_UINT8, to, tag, comm));
        while (way == 1 && !done)
            OK(ftc_test(&requests[1], &done, NULL));
        OK(ftc_wait(&requests[0], &status));
    }
    MUST(status.rank == from && status.tag == tag && status.bytes == bytes);
    MUST(is_message(in, bytes, from, tag));
}

static void *call(void *arg)
{
    struct caller *caller = arg;
    unsigned char *out = memory(MOST), *in = memory(MOST);
    uint64_t state = seed + (uint64_t)caller->number;

    for (int round = 0; round < ROUNDS; round++)
        exchange(caller->comm, round, out, in, &state);
    free(out);
    free(in);
    return NULL;
}

/* Meanwhile the main thread makes collectives in the world. */
void several_threads(void)
{
    struct caller callers[THREADS];

    for (int i = 0; i < THREADS; i++) {
        callers[i].number = i;
        OK(ftc_comm_dup(world, &callers[i].comm));
    }
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&callers[i].thread, NULL, call, &callers[i]) == 0);
    for (int64_t round = 0, sum = 0; round < ROUNDS; round++) {
        OK(ftc_allreduce(&round, &sum, 1, FTC_INT64, FTC_SUM, world));
        MUST(sum == round * size);
    }
    for (int i = 0; i < THREADS; i++) {
        MUST(pthread_join(callers[i].thread, NULL) == 0);
        OK(ftc_comm_free(&callers[i].comm));
    }
}

/* --- a send beside a thread that drives --- */

static void *receive_byte(void *byte)
{
    OK(ftc_recv(byte, 1, FTC_UINT8, 1, 1, world, NULL));
    return NULL;
}

/* Opens the channel in both directions, and tells the other rank's pid. */
static pid_t meet(ftc_comm *comm)
{
    int64_t mine = getpid(), theirs = 0;

    OK(ftc_sendrecv(&mine, 1, FTC_INT64, 1 - me, 2, &theirs, 1, FTC_INT64, 1 - me, 2, comm, NULL));
    return (pid_t)theirs;
}

/* Rank 1 stays outside of the library until its message is received. Only a ring brings its own
 * thread to fetch the message before the next heartbeat. */
static void await_signal(const sigset_t *signals)
{
    const struct timespec limit = {.tv_sec = BEAT_S / 2};

    MUST(sigtimedwait(signals, NULL, &limit) == SIGUSR1);
}

/* A thread of rank 0 drives: it waits for a byte, which comes last. The main thread sends a large
 * message in another communicator, and rank 1 has to fetch it. */
void driven_send(void)
{
    unsigned char *buffer = memory(MOST), byte = 0, other = 0;
    ftc_comm *copy = NULL;
    ftc_request *request = NULL;
    sigset_t signals;
    pthread_t thread;

    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    MUST(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
    OK(ftc_comm_dup(world, &copy));
    if (me == 0) {
        write_message(buffer, MOST, 0, 1);
        pid_t receiver = meet(copy); /* it has started its receive */
        MUST(pthread_create(&thread, NULL, receive_byte, &other) == 0);
        usleep(100000); /* the thread drives by now, and sleeps */
        OK(ftc_send(buffer, MOST, FTC_UINT8, 1, 0, copy));
        MUST(kill(receiver, SIGUSR1) == 0);
        MUST(pthread_join(thread, NULL) == 0);
    } else {
        OK(ftc_irecv(buffer, MOST, FTC_UINT8, 0, 0, copy, &request));
        (void)meet(copy);
        await_signal(&signals);
        OK(ftc_wait(&request, NULL));
        MUST(is_message(buffer, MOST, 0, 1));
        OK(ftc_send(&byte, 1, FTC_UINT8, 0, 1, world));
    }
    OK(ftc_comm_free(&copy));
    free(buffer);
}
