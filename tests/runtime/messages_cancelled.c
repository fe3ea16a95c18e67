/* The story of messages_app in which sends are cancelled. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/runtime/messages_app.h"

static volatile sig_atomic_t told;

static void take_signal(int signal)
{
    (void)signal;
    told = 1;
}

/* Returns how the wait for a send ends that is cancelled at once. */
static int cancel_send(const void *buffer, size_t bytes, bool synchronous, ftc_comm *comm)
{
    ftc_request *request = NULL;

    OK((synchronous ? ftc_issend : ftc_isend)(buffer, bytes, FTC_UINT8, 1, 3, comm, &request));
    OK(ftc_cancel(request));
    OK(ftc_cancel(request));
    int rc = ftc_wait(&request, NULL);
    MUST(request == NULL);
    return rc;
}

static const size_t cancelled_sizes[] = {0, 1, 16u << 10, (16u << 10) + 1, MOST};
#define CANCELLED_SIZES (sizeof(cancelled_sizes) / sizeof(cancelled_sizes[0]))

/* Rank 1 is outside the library until rank 0 has waited for all sends that it has cancelled. */
static void withdrawn(unsigned char *buffer)
{
    int64_t pid = getpid();
    ftc_status status;

    if (me == 1) {
        signal(SIGUSR1, take_signal);
        OK(ftc_send(&pid, 1, FTC_INT64, 0, 1, world));
        while (!told)
            ;
        OK(ftc_recv(buffer, MOST, FTC_UINT8, 0, FTC_ANY_TAG, world, &status));
        MUST(status.tag == 9 && status.bytes == 1);
        return;
    }
    OK(ftc_recv(&pid, 1, FTC_INT64, 1, 1, world, NULL));
    for (size_t i = 0; i < CANCELLED_SIZES; i++)
        for (int synchronous = 0; synchronous < 2; synchronous++)
            MUST(cancel_send(buffer, cancelled_sizes[i], synchronous, world) == FTC_ERR_CANCELLED);
    MUST(kill((pid_t)pid, SIGUSR1) == 0);
    OK(ftc_send(buffer, 1, FTC_UINT8, 1, 9, world));
}

/* Rank 1 has started a receive before. */
static void kept(unsigned char *buffer)
{
    ftc_request *request = NULL;

    for (size_t i = 0; i < CANCELLED_SIZES; i++) {
        if (me == 1) {
            memset(buffer, 0, MOST);
            OK(ftc_irecv(buffer, MOST, FTC_UINT8, 0, 3, world, &request));
            OK(ftc_send(NULL, 0, FTC_UINT8, 0, 2, world));
            OK(ftc_wait(&request, NULL));
            MUST(is_message(buffer, cancelled_sizes[i], 0, (int)i));
        } else {
            OK(ftc_recv(NULL, 0, FTC_UINT8, 1, 2, world, NULL));
            write_message(buffer, cancelled_sizes[i], 0, (int)i);
            OK(cancel_send(buffer, cancelled_sizes[i], false, world));
        }
    }
}

/* Rank 1 has freed the communicator. */
static void left(unsigned char *buffer, ftc_comm **comm)
{
    if (me == 1) {
        OK(ftc_recv(buffer, 1, FTC_UINT8, 0, 4, *comm, NULL));
        OK(ftc_comm_free(comm));
        OK(ftc_send(NULL, 0, FTC_UINT8, 0, 2, world));
        return;
    }
    OK(ftc_send(buffer, 1, FTC_UINT8, 1, 4, *comm));
    OK(ftc_recv(NULL, 0, FTC_UINT8, 1, 2, world, NULL));
    OK(cancel_send(buffer, 1, false, *comm));
    MUST(cancel_send(buffer, MOST, false, *comm) == FTC_ERR_CANCELLED);
    MUST(cancel_send(buffer, 1, true, *comm) == FTC_ERR_CANCELLED);
}

/* A wait for a send that is cancelled ends by itself. */
void cancelled(void)
{
    unsigned char *buffer = memory(MOST);
    ftc_comm *copy = NULL;

    OK(ftc_comm_dup(world, &copy));
    if (me < 2) {
        withdrawn(buffer);
        kept(buffer);
        left(buffer, &copy);
    }
    if (copy != NULL)
        OK(ftc_comm_free(&copy));
    free(buffer);
}
