/*
 * cluster_relay - a cable with delay and loss, for kernels without netem. It makes two TAP devices
 * and carries frames from each to the other.
 *
 *   cluster_relay TAP TAP DIRECTORY FILE
 *
 * DIRECTORY/FILE says "MILLISECONDS PERCENT SEED": how long every frame is held, how many are lost
 * by chance, and the seed of the chances. The relay reads it again whenever another file is renamed
 * to it. The relay ends by a signal, or when its directory goes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* More frames are lost, as on the switch of a real cable: 16384 of 1500 bytes are 24 MiB. */
enum { FRAMES_MAX = 16384, FRAME_SIZE_MAX = 65536, BATCH = 64 };

struct frame {
    struct frame *next;
    int64_t due; /* ns, CLOCK_MONOTONIC */
    size_t size;
    unsigned char bytes[];
};

/* One way through the relay. Frames wait in the order in which they came. */
struct direction {
    int from, to; /* TAP devices */
    uint64_t random;
    struct frame *first, **last;
    int held;
};

struct relay {
    const char *directory, *file;
    int notify, timer, epoll;
    int64_t delay; /* ns */
    double loss;   /* 0 .. 1 */
    struct direction ways[2];
    unsigned char buffer[FRAME_SIZE_MAX];
};

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Draws from [0, 1), by SplitMix64. */
static double chance(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static int failed(const char *what, const char *name, const char *remedy)
{
    fprintf(stderr, "cluster_relay: %s %s: %s: %s\n", what, name, strerror(errno), remedy);
    return -1;
}

static int tap_open(const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return failed("cannot open", "/dev/net/tun",
                      "modprobe tun; in a container, mknod /dev/net/tun c 10 200");
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    if (ioctl(fd, TUNSETIFF, &request) < 0) {
        failed("cannot make the device", name, "is it there already?");
        close(fd);
        return -1;
    }
    return fd;
}

static int settings_read(struct relay *relay)
{
    double delay, loss;
    unsigned long long seed;
    char path[4096];
    FILE *file;
    int fields;

    snprintf(path, sizeof(path), "%s/%s", relay->directory, relay->file);
    file = fopen(path, "re");
    if (file == NULL)
        return failed("cannot read", path, "write \"MILLISECONDS PERCENT SEED\" to it");
    fields = fscanf(file, "%lf %lf %llu", &delay, &loss, &seed);
    fclose(file);
    if (fields != 3 || !(delay >= 0 && delay <= 10000) || !(loss >= 0 && loss <= 100)) {
        errno = EINVAL;
        return failed("cannot use", path, "write \"MILLISECONDS PERCENT SEED\" to it");
    }
    relay->delay = (int64_t)(delay * 1e6);
    relay->loss = loss / 100;
    for (int i = 0; i < 2; i++)
        relay->ways[i].random = 2 * (uint64_t)seed + (uint64_t)i;
    return 0;
}

/* Reads the file if another one was renamed to it. Returns false when the directory is gone: then
 * the cluster is gone, too. */
static bool settings_follow(struct relay *relay)
{
    _Alignas(struct inotify_event) char buffer[4096];
    const struct inotify_event *event;
    ssize_t size;

    while ((size = read(relay->notify, buffer, sizeof(buffer))) > 0) {
        for (char *at = buffer; at < buffer + size; at += sizeof(*event) + event->len) {
            event = (const struct inotify_event *)(const void *)at;
            if (event->mask & IN_IGNORED)
                return false;
            if (event->len > 0 && strcmp(event->name, relay->file) == 0)
                settings_read(relay); /* it reports unusable settings, and keeps the old ones */
        }
    }
    return true;
}

static void hold(struct relay *relay, struct direction *way, size_t size)
{
    struct frame *frame;

    if (chance(&way->random) < relay->loss || way->held == FRAMES_MAX)
        return;
    frame = malloc(sizeof(*frame) + size);
    if (frame == NULL)
        return; /* the frame is lost */
    *frame = (struct frame){.due = now() + relay->delay, .size = size};
    memcpy(frame->bytes, relay->buffer, size);
    *way->last = frame;
    way->last = &frame->next;
    way->held++;
}

static void take_in(struct relay *relay, struct direction *way)
{
    ssize_t size;

    for (int i = 0; i < BATCH && (size = read(way->from, relay->buffer, sizeof(relay->buffer))) > 0;
         i++)
        hold(relay, way, (size_t)size);
}

/* Sends all frames that are due. A device that takes no more, or is down, loses them. */
static void let_out(struct direction *way, int64_t time)
{
    while (way->first != NULL && way->first->due <= time) {
        struct frame *frame = way->first;

        way->first = frame->next;
        if (way->first == NULL)
            way->last = &way->first;
        way->held--;
        (void)!write(way->to, frame->bytes, frame->size);
        free(frame);
    }
}

/* Sets the timer to the moment when the next frame is due. */
static void timer_arm(struct relay *relay)
{
    struct itimerspec when = {0};
    int64_t due = INT64_MAX;

    for (int i = 0; i < 2; i++)
        if (relay->ways[i].first != NULL && relay->ways[i].first->due < due)
            due = relay->ways[i].first->due;
    if (due != INT64_MAX) {
        when.it_value.tv_sec = due / 1000000000;
        when.it_value.tv_nsec = due % 1000000000;
    }
    timerfd_settime(relay->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static int watch(struct relay *relay, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(relay->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int relay_open(struct relay *relay, char **taps)
{
    int fds[2];

    relay->notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    relay->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    relay->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (inotify_add_watch(relay->notify, relay->directory, IN_MOVED_TO | IN_ONLYDIR) < 0)
        return failed("cannot watch", relay->directory, "it must be a directory");
    if (settings_read(relay) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        if ((fds[i] = tap_open(taps[i])) < 0)
            return -1;
    for (int i = 0; i < 2; i++) {
        struct direction *way = &relay->ways[i];

        way->from = fds[i];
        way->to = fds[1 - i];
        way->last = &way->first;
    }
    if (watch(relay, relay->notify) < 0 || watch(relay, relay->timer) < 0 ||
        watch(relay, fds[0]) < 0 || watch(relay, fds[1]) < 0)
        return failed("cannot wait for", taps[0], "too few file descriptors?");
    return 0;
}

/* Settings come first: they hold for every frame that was sent after they changed. */
static int relay_run(struct relay *relay)
{
    struct epoll_event events[4];

    for (;;) {
        uint64_t expirations;
        int64_t time;

        if (epoll_wait(relay->epoll, events, 4, -1) < 0 && errno != EINTR)
            return failed("cannot wait for", "frames", "this should not happen");
        if (!settings_follow(relay))
            return 0;
        (void)!read(relay->timer, &expirations, sizeof(expirations));
        for (int i = 0; i < 2; i++)
            take_in(relay, &relay->ways[i]);
        time = now();
        for (int i = 0; i < 2; i++)
            let_out(&relay->ways[i], time);
        timer_arm(relay);
    }
}

int main(int argc, char **argv)
{
    struct relay *relay;

    if (argc != 5) {
        fprintf(stderr, "usage: cluster_relay TAP TAP DIRECTORY FILE\n");
        return 2;
    }
    relay = calloc(1, sizeof(*relay));
    if (relay == NULL)
        return 1;
    relay->directory = argv[3];
    relay->file = argv[4];
    return relay_open(relay, argv + 1) < 0 || relay_run(relay) < 0;
}
