/*
 * Strangers that knock at a rank's or an agent's port and do not belong to the job: scanners,
 * fuzzers, wrong secrets, handshakes that are never finished, and crowds that say nothing.
 *
 *     strangers PID JOB RANK RANKS IDLE ROUNDS off|authenticate
 *
 * PID listens for the connections of rank RANK (for an agent: its node) of RANKS of the job JOB,
 * and seals them so. The program holds IDLE connections. One of each other kind comes ROUNDS times.
 * Then the program prints a line. The idle ones stay until stdin ends.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/random.h"
#include "transport/tcp/handshake.h"

#define MOST_PORTS    64
#define PATIENCE_MS   5000
#define HALF_OPEN     64
#define TCP_LISTENING 0x0a

struct strangers {
    int pid, rank, ranks, idle, rounds;
    const char *job;
    unsigned port;
    struct test_random random;
    int *idle_fd;
    int half_fd[HALF_OPEN];
    int reopened;
    enum ftc_tcp_seal seal; /* that of the listener */
};

static void give_up(const char *what)
{
    fprintf(stderr, "strangers: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* --- where to knock --- */

static bool has_socket(int pid, unsigned long inode)
{
    char path[64], name[400], link[64], wanted[64];
    bool found = false;
    const struct dirent *entry;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    DIR *directory = opendir(path);
    while (directory != NULL && !found && (entry = readdir(directory)) != NULL) {
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        ssize_t size = readlink(name, link, sizeof(link) - 1);
        link[size > 0 ? size : 0] = '\0';
        found = strcmp(link, wanted) == 0;
    }
    if (directory != NULL)
        closedir(directory);
    return found;
}

/* Adds the ports of `path` at which the process listens to those in `ports`. */
static int listening(const struct strangers *s, const char *path, unsigned ports[], int count)
{
    FILE *table = fopen(path, "r");
    char line[512];

    while (table != NULL && count < MOST_PORTS && fgets(line, sizeof(line), table) != NULL) {
        unsigned port, state;
        unsigned long inode;
        if (sscanf(line, " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu",
                   &port, &state, &inode) == 3 &&
            state == TCP_LISTENING && has_socket(s->pid, inode))
            ports[count++] = port;
    }
    if (table != NULL)
        fclose(table);
    return count;
}

static int call(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        give_up("no socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A peer that hangs up meanwhile does what is expected. */
static void say(int fd, const void *bytes, size_t size)
{
    if (fd >= 0)
        (void)!send(fd, bytes, size, MSG_NOSIGNAL);
}

static void make_hello(struct strangers *s, unsigned char bytes[FTC_TCP_HELLO_SIZE])
{
    struct ftc_tcp_hello hello = {.versions = {FTC_TCP_WIRE_VERSION, FTC_TCP_WIRE_VERSION},
                                  .seal = s->seal,
                                  .sender = (uint32_t)((s->rank + 1) % s->ranks),
                                  .target = (uint32_t)s->rank};

    snprintf(hello.job, sizeof(hello.job), "%s", s->job);
    for (size_t i = 0; i < sizeof(hello.challenge); i++)
        hello.challenge[i] = (unsigned char)test_random_bits(&s->random);
    ftc_tcp_hello_encode(bytes, &hello);
}

/* Does the listener at the port take a hello of this job? The same process may have other
 * servers. */
static bool answers(struct strangers *s, unsigned port)
{
    unsigned char bytes[FTC_TCP_HELLO_SIZE], answer[FTC_TCP_ANSWER_SIZE];
    struct ftc_tcp_answer decoded;
    int fd = call(port);
    struct pollfd readable = {.fd = fd, .events = POLLIN};

    make_hello(s, bytes);
    say(fd, bytes, sizeof(bytes));
    bool whole = fd >= 0 && poll(&readable, 1, PATIENCE_MS) == 1 &&
                 recv(fd, answer, sizeof(answer), 0) == (ssize_t)sizeof(answer);
    if (fd >= 0)
        close(fd);
    return whole && ftc_tcp_answer_decode(&decoded, answer) && decoded.refusal == FTC_TCP_ACCEPTED;
}

static void find_port(struct strangers *s)
{
    unsigned ports[MOST_PORTS];
    int count = listening(s, "/proc/net/tcp6", ports, listening(s, "/proc/net/tcp", ports, 0));

    for (int i = 0; i < count && s->port == 0; i++)
        if (answers(s, ports[i]))
            s->port = ports[i];
    if (s->port != 0)
        return;
    fprintf(stderr, "strangers: of %d ports of process %d none is for rank %d of job %s\n", count,
            s->pid, s->rank, s->job);
    exit(1);
}

/* --- kinds of strangers --- */

static void knock(const struct strangers *s, const void *bytes, size_t size)
{
    int fd = call(s->port);

    say(fd, bytes, size);
    if (fd >= 0)
        close(fd);
}

/* Sends random bytes, or a hello with some random bytes. */
static void fuzz(struct strangers *s)
{
    unsigned char bytes[512];
    size_t size = (size_t)test_random_between(&s->random, 1, sizeof(bytes));

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)test_random_bits(&s->random);
    if (test_random_chance(&s->random, 70)) {
        make_hello(s, bytes);
        for (int64_t i = test_random_between(&s->random, 0, 3); i > 0; i--)
            bytes[test_random_between(&s->random, 0, FTC_TCP_HELLO_SIZE - 1)] =
                (unsigned char)test_random_bits(&s->random);
    }
    knock(s, bytes, size);
}

/* Plays a liar, which goes on although the answer proves nothing to it. */
static void lie(struct strangers *s)
{
    unsigned char bytes[FTC_TCP_HELLO_SIZE + FTC_TCP_PROOF_BYTES] = {0},
                                             answer[FTC_TCP_ANSWER_SIZE];
    int fd = call(s->port);
    struct pollfd readable = {.fd = fd, .events = POLLIN};

    make_hello(s, bytes);
    say(fd, bytes, sizeof(bytes));
    for (bool open = fd >= 0; open && poll(&readable, 1, PATIENCE_MS) == 1;)
        open = recv(fd, answer, sizeof(answer), 0) > 0; /* read until the other end hangs up */
    if (fd >= 0)
        close(fd);
}

static void stay_half_open(struct strangers *s, int round)
{
    unsigned char bytes[FTC_TCP_HELLO_SIZE];
    int *fd = &s->half_fd[round % HALF_OPEN];

    if (*fd >= 0)
        close(*fd);
    *fd = call(s->port);
    make_hello(s, bytes);
    say(*fd, bytes, (size_t)test_random_between(&s->random, 1, sizeof(bytes)));
}

static bool is_open(int fd)
{
    struct pollfd state = {.fd = fd, .events = POLLIN};
    return fd >= 0 && poll(&state, 1, 0) == 0;
}

/* Strangers that were turned away come again. */
static void crowd(struct strangers *s, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        int *fd = &s->idle_fd[i % s->idle];
        if (is_open(*fd))
            continue;
        if (*fd >= 0)
            close(*fd);
        *fd = call(s->port);
        s->reopened++;
    }
}

static void make_room(int idle)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        give_up("getrlimit");
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < (rlim_t)idle + HALF_OPEN + 64)
        give_up("too few descriptors");
}

int main(int argc, char **argv)
{
    if (argc != 8) {
        fprintf(stderr, "usage: strangers PID JOB RANK RANKS IDLE ROUNDS off|authenticate\n");
        return 2;
    }
    struct strangers s = {.pid = atoi(argv[1]),
                          .job = argv[2],
                          .rank = atoi(argv[3]),
                          .ranks = atoi(argv[4]),
                          .idle = atoi(argv[5]),
                          .rounds = atoi(argv[6]),
                          .seal = strcmp(argv[7], "off") == 0 ? FTC_TCP_SEAL_OFF
                                                              : FTC_TCP_SEAL_AUTHENTICATE};
    test_seed_announce();
    s.random = test_random_start();
    make_room(s.idle);
    s.idle_fd = malloc((size_t)s.idle * sizeof(*s.idle_fd));
    if (s.idle_fd == NULL)
        give_up("no memory");
    memset(s.idle_fd, 0xff, (size_t)s.idle * sizeof(*s.idle_fd));
    memset(s.half_fd, 0xff, sizeof(s.half_fd));
    find_port(&s);
    crowd(&s, 0, s.idle);
    for (int round = 0; round < s.rounds; round++) {
        knock(&s, "GET / HTTP/1.0\r\n\r\n", 18);
        fuzz(&s);
        lie(&s);
        stay_half_open(&s, round);
        crowd(&s, round * 4, 4);
    }
    printf("%d rounds, %d idle connections were opened\n", s.rounds, s.reopened);
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    free(s.idle_fd);
    return 0;
}
