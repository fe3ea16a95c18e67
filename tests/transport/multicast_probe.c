/*
 * Plays one rank of a job that multicasts, for tests across namespaces and devices.
 *
 *   multicast_probe group              prints a new group
 *   multicast_probe send OPTION...     sends numbered datagrams, then several that say it was all;
 *                                      prints the counts
 *   multicast_probe receive OPTION...  says "ready"; takes datagrams until one says it was all;
 *                                      prints the counts
 *
 *   --group HEX|--job NAME --stranger (has another job key) --transport udp|verbs
 *   --interfaces LIST --rank R (0)
 *   when sending:   --count N (1000) --first NUMBER (0) --size BYTES (the most)
 *                   --pace MICROSECONDS (1000) --unended
 *   when receiving: --receives N (5) --loss PPM --seed N --split NUMBER --late
 *
 * A receiver counts datagrams below NUMBER and those from NUMBER on separately. A late one takes
 * none before a line comes on its standard input. The output is one JSON object. Exit code 2 means
 * wrong use, or that the transport could not be opened. Exit code 3 means that a minute passed.
 */
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "node/segment/segment.h"
#include "transport/multicast/multicast.h"

#define RANKS      64
#define NUMBER_MAX 1000000ull
#define END        UINT64_MAX /* the operation of a datagram that says it was all */
#define END_COPIES 50
#define PATIENCE   (60 * FTC_NS_PER_S)

struct probe {
    const struct ftc_multicast_ops *ops;
    struct ftc_multicast_setup setup;
    struct ftc_multicast *multicast;
    uint64_t count, first, split;
    size_t size;
    unsigned pace_us;
    bool unended, late;
    uint64_t deadline;
    uint64_t below, above, twice, wrong; /* numbers received once; again; damaged */
    unsigned char seen[NUMBER_MAX];
};

static void die(int code, const char *text)
{
    fprintf(stderr, "multicast_probe: %s\n", text);
    exit(code);
}

static unsigned char byte_of(uint64_t number, size_t at)
{
    return (unsigned char)((number + at) * 0x9e3779b97f4a7c15ull >> 56);
}

/* --- sending --- */

static void send_one(struct probe *probe, uint64_t number, uint64_t operation)
{
    static unsigned char payload[65536];
    struct ftc_datagram fields = {.broadcast = number, .operation = operation, .count = 1};
    struct iovec piece = {payload, probe->size};
    for (size_t i = 0; i < probe->size; i++)
        payload[i] = byte_of(number, i);
    ftc_multicast_send(probe->multicast, &fields, &piece, 1);
    if (probe->pace_us > 0)
        usleep(probe->pace_us);
}

static void send_all(struct probe *probe)
{
    size_t most = ftc_multicast_payload_max(probe->multicast);
    if (probe->size == 0 || probe->size > most)
        probe->size = most;
    for (uint64_t i = 0; i < probe->count; i++)
        send_one(probe, probe->first + i, 0);
    for (int i = 0; i < END_COPIES && !probe->unended; i++)
        send_one(probe, 0, END);
}

/* --- receiving --- */

static void put_down(struct probe *probe, const struct ftc_datagram *fields,
                     const struct ftc_buffer *payload)
{
    uint64_t number = fields->broadcast;
    bool whole = number < NUMBER_MAX;
    for (size_t i = 0; i < payload->size; i++)
        whole = whole && payload->data[i] == byte_of(number, i);
    if (!whole)
        probe->wrong++;
    else if (probe->seen[number]++ > 0)
        probe->twice++;
    else if (number < probe->split)
        probe->below++;
    else
        probe->above++;
}

static int patience_ms(const struct probe *probe)
{
    uint64_t now = ftc_clock_now();
    return now < probe->deadline ? (int)((probe->deadline - now) / FTC_NS_PER_MS) + 1 : 0;
}

static void sleep_until_something_comes(struct probe *probe)
{
    struct pollfd item = {.fd = ftc_multicast_fd(probe->multicast), .events = POLLIN};
    if (ftc_multicast_arm(probe->multicast) != 0)
        die(2, ftc_last_error());
    if (!ftc_multicast_ready(probe->multicast) && poll(&item, 1, patience_ms(probe)) == 0)
        die(3, "waited in vain for the last datagram");
}

static void receive_all(struct probe *probe)
{
    for (;;) {
        struct ftc_datagram fields;
        struct ftc_buffer *payload;
        int rc = ftc_multicast_receive(probe->multicast, &fields, &payload);
        if (rc < 0)
            die(2, ftc_last_error());
        if (rc == 0) {
            sleep_until_something_comes(probe);
            continue;
        }
        if (fields.operation != END)
            put_down(probe, &fields, payload);
        ftc_buffer_unref(payload);
        if (fields.operation == END)
            return;
    }
}

static void await_line(const struct probe *probe)
{
    struct pollfd item = {.fd = STDIN_FILENO, .events = POLLIN};
    char byte;
    if (poll(&item, 1, patience_ms(probe)) <= 0 || read(STDIN_FILENO, &byte, 1) < 0)
        die(3, "waited in vain for a line on standard input");
}

/* --- both --- */

static void print_counters(struct probe *probe)
{
    struct ftc_multicast_counters now;
    ftc_multicast_counters(probe->multicast, &now);
    printf("{\"payload_max\": %zu, \"sent\": %llu, \"send_failed\": %llu, \"received\": %llu, "
           "\"below\": %llu, "
           "\"above\": %llu, \"twice\": %llu, \"wrong\": %llu, \"own\": %llu, \"foreign\": %llu, "
           "\"corrupt\": %llu, \"dropped\": %llu, \"receive_failed\": %llu, \"lost\": %llu}\n",
           ftc_multicast_payload_max(probe->multicast), (unsigned long long)now.sent,
           (unsigned long long)now.send_failed, (unsigned long long)now.received,
           (unsigned long long)probe->below, (unsigned long long)probe->above,
           (unsigned long long)probe->twice, (unsigned long long)probe->wrong,
           (unsigned long long)now.own, (unsigned long long)now.foreign,
           (unsigned long long)now.corrupt, (unsigned long long)now.dropped,
           (unsigned long long)now.receive_failed, (unsigned long long)now.drilled.lost);
}

static int print_group(void)
{
    unsigned char drawn[FTC_MULTICAST_DRAWN];
    if (getrandom(drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
        die(2, "no random bytes for a group");
    for (size_t i = 0; i < sizeof(drawn); i++)
        printf("%02x", drawn[i]);
    puts("");
    return 0;
}

static void parse_group(struct ftc_multicast_group *group, const char *text)
{
    unsigned char drawn[FTC_MULTICAST_DRAWN];
    if (strlen(text) != 2 * sizeof(drawn))
        die(2, "no group: give one that \"multicast_probe group\" printed");
    for (size_t i = 0; i < sizeof(drawn); i++)
        if (sscanf(text + 2 * i, "%2hhx", &drawn[i]) != 1)
            die(2, "a group has hexadecimal digits only");
    ftc_multicast_group_make(group, drawn);
}

static void take_group(struct ftc_multicast_group *group, const char *job)
{
    struct ftc_segment_header header;
    if (ftc_segment_peek(&header, job) != 0)
        die(2, ftc_last_error());
    ftc_multicast_group_make(group, header.multicast_group);
}

static void parse_option(struct probe *probe, int option, const char *value)
{
    uint64_t number = value != NULL ? strtoull(value, NULL, 10) : 0;
    switch (option) {
    case 'g':
        parse_group(&probe->setup.group, value);
        return;
    case 'j':
        take_group(&probe->setup.group, value);
        return;
    case 'k':
        probe->setup.group.job_key[0] ^= 1;
        return;
    case 't':
        probe->ops = strcmp(value, "verbs") == 0 ? &ftc_multicast_verbs : &ftc_multicast_udp;
        return;
    case 'i':
        probe->setup.interfaces = value;
        return;
    case 'r':
        probe->setup.self = (int)number;
        return;
    case 'c':
        probe->count = number;
        return;
    case 'f':
        probe->first = number;
        return;
    case 's':
        probe->size = (size_t)number;
        return;
    case 'p':
        probe->pace_us = (unsigned)number;
        return;
    case 'u':
        probe->unended = true;
        return;
    case 'v':
        probe->setup.receives = (int)number;
        return;
    case 'l':
        probe->setup.drill.loss_ppm = (uint32_t)number;
        return;
    case 'e':
        probe->setup.drill.seed = number;
        return;
    case 'b':
        probe->split = number;
        return;
    case 'a':
        probe->late = true;
        return;
    default:
        die(2, "unknown option: see the head of multicast_probe.c");
    }
}

static void parse(struct probe *probe, int argc, char **argv)
{
    static const struct option options[] = {{"group", required_argument, NULL, 'g'},
                                            {"job", required_argument, NULL, 'j'},
                                            {"stranger", no_argument, NULL, 'k'},
                                            {"transport", required_argument, NULL, 't'},
                                            {"interfaces", required_argument, NULL, 'i'},
                                            {"rank", required_argument, NULL, 'r'},
                                            {"count", required_argument, NULL, 'c'},
                                            {"first", required_argument, NULL, 'f'},
                                            {"size", required_argument, NULL, 's'},
                                            {"pace", required_argument, NULL, 'p'},
                                            {"unended", no_argument, NULL, 'u'},
                                            {"receives", required_argument, NULL, 'v'},
                                            {"loss", required_argument, NULL, 'l'},
                                            {"seed", required_argument, NULL, 'e'},
                                            {"split", required_argument, NULL, 'b'},
                                            {"late", no_argument, NULL, 'a'},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        parse_option(probe, option, optarg);
    if (probe->first + probe->count > NUMBER_MAX)
        die(2, "numbers must stay below a million");
}

int main(int argc, char **argv)
{
    static struct probe probe = {
        .ops = &ftc_multicast_udp, .setup = {.ranks = RANKS}, .count = 1000, .pace_us = 1000};
    if (argc >= 2 && strcmp(argv[1], "group") == 0)
        return print_group();
    if (argc < 2 || (strcmp(argv[1], "send") != 0 && strcmp(argv[1], "receive") != 0))
        die(2, "first word: group, send or receive");
    parse(&probe, argc - 1, argv + 1);
    if (ftc_multicast_open(&probe.multicast, probe.ops, &probe.setup) != 0)
        die(2, ftc_last_error());
    probe.deadline = ftc_clock_now() + PATIENCE;
    if (strcmp(argv[1], "send") == 0) {
        send_all(&probe);
    } else {
        puts("ready");
        fflush(stdout);
        if (probe.late) {
            await_line(&probe);
            puts("awake");
            fflush(stdout);
        }
        receive_all(&probe);
    }
    print_counters(&probe);
    ftc_multicast_close(probe.multicast);
    return 0;
}
