/*
 * The round trip of a message by the verbs transport, between two processes. Each process has its
 * own device.
 *
 *   verbs_pingpong [--sleep] [--drill] BYTES COUNT INTERFACE INTERFACE
 *
 * The program prints the mean of COUNT round trips in microseconds, as ibv_rc_pingpong does. A
 * waiting process polls; with --sleep it sleeps on the descriptor of the transport. With --drill
 * the program prints "warm" and goes on until the link is broken from outside. Then it prints
 * "broken" and measures. The exit code is 1, with a message, if there is no such device. It is 2 if
 * a message does not come.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "transport/tcp/endpoint.h"
#include "transport/verbs/verbs.h"

#define WARM_UP 100
#define LOST_NS (60 * FTC_NS_PER_S)

struct plan {
    bool sleep, drill;
    size_t bytes;
    long count;
    const char *interface[2];
};

struct end {
    const struct plan *plan;
    int self;
    bool warm, broken; /* which words of a drill are printed already */
    struct ftc_transport *transport;
    struct ftc_buffer *message, *last;    /* what is sent: each message, and the last one */
    char endpoint[FTC_TCP_ENDPOINT_SIZE]; /* of the other process */
};

static const char *look_up(void *context, int rank)
{
    (void)rank;
    return ((const struct end *)context)->endpoint;
}

static bool open_end(struct end *end)
{
    struct ftc_verbs_setup verbs = {.job = "pingpong",
                                    .secret = (const unsigned char *)"known to everybody",
                                    .secret_size = 18,
                                    .interface = end->plan->interface[end->self],
                                    .endpoint = look_up,
                                    .context = end};
    struct ftc_transport_setup setup = {.ranks = 2, .self = end->self, .verbs = &verbs};
    int rc = ftc_transport_verbs.open(&end->transport, &setup);
    if (rc != 0)
        fprintf(stderr, "verbs_pingpong: %s\n", ftc_last_error());
    return rc == 0;
}

/* Each process tells the other its endpoint. */
static bool exchange(struct end *end, const int in, const int out)
{
    char own[FTC_TCP_ENDPOINT_SIZE] = "";
    snprintf(own, sizeof(own), "%s", ftc_verbs_endpoint(end->transport));
    return write(out, own, sizeof(own)) == sizeof(own) &&
           read(in, end->endpoint, sizeof(end->endpoint)) == sizeof(end->endpoint);
}

static void doze(struct end *end)
{
    struct pollfd item = {.fd = ftc_transport_verbs.descriptor(end->transport), .events = POLLIN};
    if (!ftc_transport_verbs.ready(end->transport))
        poll(&item, 1, (int)(LOST_NS / FTC_NS_PER_MS));
}

/* Print a word once. The script that breaks the link in a drill waits for it. */
static void say(bool *said, const char *word)
{
    if (*said)
        return;
    *said = true;
    printf("%s\n", word);
    fflush(stdout);
}

static void watch(struct end *end)
{
    if (end->warm && ftc_verbs_count(end->transport, FTC_TCP_BROKEN) > 0)
        say(&end->broken, "broken");
}

/* Receive the next message. *last says whether it is the last one. */
static bool receive(struct end *end, bool *last)
{
    uint64_t deadline = ftc_clock_now() + LOST_NS;
    struct ftc_buffer *message;
    int from, rc;
    while ((rc = ftc_transport_verbs.receive(end->transport, &from, &message)) == 0) {
        watch(end);
        if (end->plan->sleep)
            doze(end);
        if (ftc_clock_now() > deadline)
            return false;
    }
    if (rc != 1)
        return false;
    *last = message->data[0] == 1;
    ftc_buffer_unref(message);
    return true;
}

static bool send_one(struct end *end, bool last)
{
    struct ftc_buffer *message = last ? end->last : end->message;
    return ftc_transport_verbs.send(end->transport, 1 - end->self, message, NULL, true) == 0;
}

static bool turn(struct end *end, bool last)
{
    return send_one(end, last) && receive(end, &last);
}

static bool turns(struct end *end, long count, bool last)
{
    for (long i = 0; i < count; i++)
        if (!turn(end, last && i + 1 == count))
            return false;
    return true;
}

static bool answer(struct end *end)
{
    for (bool last = false; !last;)
        if (!receive(end, &last) || !send_one(end, last))
            return false;
    return true;
}

static bool await_break(struct end *end)
{
    say(&end->warm, "warm");
    while (!end->broken)
        if (!turn(end, false))
            return false;
    return true;
}

static bool measure(struct end *end)
{
    const struct plan *plan = end->plan;
    if (!turns(end, WARM_UP, false) || (plan->drill && !await_break(end)))
        return false;
    uint64_t begin = ftc_clock_now();
    if (!turns(end, plan->count, true))
        return false;
    printf("%.2f\n", (double)(ftc_clock_now() - begin) / (double)plan->count / 1000);
    return true;
}

static bool make_messages(struct end *end)
{
    end->message = ftc_buffer_new(end->plan->bytes);
    end->last = ftc_buffer_new(end->plan->bytes);
    if (end->message == NULL || end->last == NULL)
        return false;
    memset(end->message->data, 0, end->plan->bytes);
    memset(end->last->data, 1, end->plan->bytes);
    return true;
}

static bool settle(struct end *end)
{
    uint64_t deadline = ftc_clock_now() + LOST_NS;
    bool idle;
    while (!ftc_verbs_settled(end->transport) && ftc_clock_now() < deadline)
        ftc_transport_verbs.flush(end->transport, &idle);
    return ftc_verbs_settled(end->transport);
}

/* Returns the exit code: 0, 1 or 2. */
static int run(struct end *end, int in, int out)
{
    if (!open_end(end))
        return 1;
    bool ran = make_messages(end) && exchange(end, in, out) &&
               (end->self == 0 ? measure(end) : answer(end));
    if (!ran)
        return 2;
    bool settled = settle(end);
    ftc_transport_verbs.close(end->transport);
    ftc_buffer_unref(end->message);
    ftc_buffer_unref(end->last);
    return settled ? 0 : 2;
}

static int run_both(const struct plan *plan)
{
    int there[2], back[2], status = 0;
    struct end end = {.plan = plan};
    if (pipe(there) != 0 || pipe(back) != 0)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(there[1]);
        close(back[0]);
        end.self = 1;
        _exit(run(&end, there[0], back[1]));
    }
    close(there[0]); /* so that a pipe ends when the partner does */
    close(back[1]);
    signal(SIGPIPE, SIG_IGN);
    int rc = child > 0 ? run(&end, back[0], there[1]) : 2;
    if (child <= 0)
        return rc;
    if (rc != 0)
        kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return rc != 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0) ? rc : 2;
}

static bool read_number(const char *word, long least, long most, long *number)
{
    char *rest;
    *number = strtol(word, &rest, 10);
    return rest != word && *rest == '\0' && *number >= least && *number <= most;
}

int main(int argc, char **argv)
{
    struct plan plan = {.sleep = false};
    long bytes = 0;
    char **words = argv + 1, **end = argv + argc;
    for (; words < end && words[0][0] == '-'; words++) {
        plan.sleep = plan.sleep || strcmp(words[0], "--sleep") == 0;
        plan.drill = plan.drill || strcmp(words[0], "--drill") == 0;
    }
    if (end - words != 4 || !read_number(words[0], 1, 1 << 20, &bytes) ||
        !read_number(words[1], 1, 1000000, &plan.count)) {
        fprintf(stderr,
                "usage: verbs_pingpong [--sleep] [--drill] BYTES COUNT INTERFACE INTERFACE\n");
        return 2;
    }
    plan.bytes = (size_t)bytes;
    plan.interface[0] = words[2];
    plan.interface[1] = words[3];
    return run_both(&plan);
}
