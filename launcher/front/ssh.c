/*
 * A front that has a remote shell start an agent on each host (`ftrun --hosts`). The agents meet
 * through the front (launcher/meeting/invitation.h). Afterwards the front passes on signals. The
 * connection of an agent to the front is part of its life: when it breaks, the agent ends the
 * ranks of its host. So nothing outlives the front, and a host whose connection alone breaks is a
 * host that is lost.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "launcher/engine.h"
#include "launcher/front/front.h"
#include "launcher/limits.h"
#include "launcher/meeting/invitation.h"
#include "launcher/program.h"
#include "node/jobs.h"

#define AT_ONCE      32 /* remote shells that may be at work before their agents have answered */
#define HURRY_WAIT_S 5. /* how long agents may take to end when they have been told to kill */

extern char **environ;

struct bytes {
    char *at;
    size_t used, room;
    bool failed;
};

struct hosts_front {
    struct ftc_front front;
    const struct ftc_hosts *hosts;
    struct ftc_invitation_head head;
    struct bytes message; /* what follows the head: the same for all hosts */
    char *shell, **words; /* of the remote shell; the last two are host and command */
    int word_count;
    char command[4200]; /* on each host */
    char own_name[64];
    struct ev_timer patience;
    int started, met;
    bool invited; /* all agents have the endpoints of the others: the job runs */
    bool failed, killed;
};

static struct hosts_front *front_of(const struct ftc_front *front)
{
    return front->arg;
}

static const char *host_of(const struct ftc_starter *starter)
{
    return starter->host != NULL ? starter->host : "?";
}

/* --- the end before the beginning --- */

/* The hosts cannot meet. End what has been started, and say no more than what the caller has said.
 * A remote shell that is still connecting does not look at its input. */
static void fail(struct hosts_front *h, int code)
{
    struct ftc_front *front = &h->front;

    h->failed = front->over = true;
    ev_timer_stop(front->loop, &h->patience);
    for (int i = 0; i < front->count; i++) {
        struct ftc_starter *starter = &front->starters[i];
        if (starter->pid > 0 && !starter->ended && starter->endpoint == NULL)
            (void)kill(starter->pid, SIGTERM);
        ftc_front_hang_up(starter);
    }
    ftc_front_close(front, code, HURRY_WAIT_S);
    if (front->running == 0)
        ev_timer_start(front->loop, &front->drain);
}

static void on_impatient(struct ev_loop *loop, struct ev_timer *timer, int events)
{
    struct hosts_front *h = timer->data;
    int i = 0;

    (void)loop;
    (void)events;
    while (i < h->front.count - 1 && h->front.starters[i].endpoint != NULL)
        i++;
    ftc_sink_say(&h->front.err, "host %s has not answered for %d s; can %s reach it?",
                 h->hosts->at[i].name, FTC_INVITATION_SECONDS, h->words[0]);
    fail(h, 1);
}

/* --- starting --- */

static void invite(struct hosts_front *h, int node)
{
    struct ftc_starter *starter = &h->front.starters[node];

    h->head.node = node;
    ftc_sink_put(&starter->orders, (const char *)&h->head, sizeof(h->head));
    ftc_sink_put(&starter->orders, h->message.at, h->message.used);
    ftc_sink_flush(&starter->orders);
}

/* This machine needs no remote shell. */
static bool is_here(const struct hosts_front *h, const char *name)
{
    return strcmp(name, "localhost") == 0 || strcmp(name, h->own_name) == 0;
}

static int start_host(struct hosts_front *h, int node)
{
    struct ftc_starter *starter = &h->front.starters[node];
    char *here[] = {"/bin/sh", "-c", h->command, NULL};

    starter->host = h->hosts->at[node].name;
    h->words[h->word_count - 2] = h->hosts->at[node].name;
    int rc = ftc_front_start(starter, is_here(h, starter->host) ? here : h->words, true);
    if (rc == FTC_SUCCESS)
        invite(h, node);
    return rc;
}

static void start_more(struct hosts_front *h)
{
    while (!h->failed && h->started < h->front.count && h->started - h->met < AT_ONCE) {
        if (start_host(h, h->started) != FTC_SUCCESS) {
            ftc_sink_say(&h->front.err, "%s", ftc_last_error());
            fail(h, 1);
            return;
        }
        h->started++;
    }
}

/* --- answers --- */

static void tell_endpoints(struct hosts_front *h)
{
    struct ftc_front *front = &h->front;
    uint32_t size = 0;

    for (int i = 0; i < front->count; i++)
        size += (uint32_t)strlen(front->starters[i].endpoint) + 1;
    for (int i = 0; i < front->count; i++) {
        struct ftc_sink *orders = &front->starters[i].orders;
        ftc_sink_put(orders, (const char *)&size, sizeof(size));
        for (int j = 0; j < front->count; j++)
            ftc_sink_put(orders, front->starters[j].endpoint,
                         strlen(front->starters[j].endpoint) + 1);
        ftc_sink_flush(orders);
    }
    h->invited = front->over = true;
    ev_timer_stop(front->loop, &h->patience);
}

static void take_answer(struct hosts_front *h, struct ftc_starter *starter, bool able,
                        const char *text)
{
    if (h->failed || starter->endpoint != NULL)
        return;
    if (!able) {
        ftc_sink_say(&h->front.err, "host %s cannot take part: %s", host_of(starter), text);
        fail(h, 1);
        return;
    }
    starter->endpoint = strdup(text);
    if (starter->endpoint == NULL) {
        ftc_sink_say(&h->front.err, "out of memory for the address of host %s", host_of(starter));
        fail(h, 1);
        return;
    }
    h->met++;
    start_more(h);
    if (h->met == h->front.count)
        tell_endpoints(h);
}

/* Lines of several hosts shall not tear one another. */
static bool keeps_line(const struct ftc_starter *starter)
{
    (void)starter;
    return true;
}

/* Before its agent has answered, what comes from a host is its remote shell's complaint, or its
 * ftrun's. These do not always name the host. */
static bool take_line(struct ftc_starter *starter)
{
    struct hosts_front *h = front_of(starter->front);
    const char *text;
    bool able;

    if (ftc_invitation_parse(starter->line, h->front.token, &able, &text)) {
        take_answer(h, starter, able, text);
        return true;
    }
    if (h->front.termed && strncmp(starter->line, "Killed by signal", 16) == 0)
        return true; /* the front has ended this remote shell */
    if (starter->endpoint != NULL)
        return h->failed;
    if (h->failed)
        return true; /* the front has said why, and this one only ends for that */
    starter->spoke = starter->spoke || strncmp(starter->line, "ftrun: ", 7) == 0;
    ftc_sink_put(&h->front.err, host_of(starter), strlen(host_of(starter)));
    ftc_sink_put(&h->front.err, ": ", 2);
    return false;
}

/* A host has ended before the job began. */
static void tell_not_met(struct hosts_front *h, const struct ftc_starter *starter)
{
    int code = WIFEXITED(starter->status) ? WEXITSTATUS(starter->status) : 1;

    if (WIFSIGNALED(starter->status))
        ftc_sink_say(&h->front.err, "host %s: %s was killed by signal %d before the job began",
                     host_of(starter), h->words[0], WTERMSIG(starter->status));
    else if (!starter->spoke && (code == 126 || code == 127))
        ftc_sink_say(&h->front.err,
                     "host %s: ftrun could not be started; install this release of ftcoll there, "
                     "too, or name its ftrun by FTCOLL_FTRUN",
                     host_of(starter));
    else if (!starter->spoke)
        ftc_sink_say(&h->front.err,
                     "host %s: %s ended with code %d before the job began; try %s %s true",
                     host_of(starter), h->words[0], code, h->words[0], host_of(starter));
    else
        ftc_sink_say(&h->front.err, "host %s cannot take part; the job ends", host_of(starter));
    bool of_shell = !starter->spoke;
    fail(h, of_shell || code == 0 ? 1 : code);
}

static void take_end(struct ftc_starter *starter)
{
    struct hosts_front *h = front_of(starter->front);
    bool broken = WIFSIGNALED(starter->status) || WEXITSTATUS(starter->status) == 255;

    ftc_front_hang_up(starter);
    if (h->failed)
        return;
    if (!h->invited)
        tell_not_met(h, starter);
    else if (broken && h->front.code < 0 && !h->killed)
        ftc_sink_say(&h->front.err,
                     "host %s: the connection is broken; its ranks end, and the others go on",
                     host_of(starter));
}

/* --- signals --- */

static void send_order(struct hosts_front *h, enum ftc_order_kind kind, int number)
{
    struct ftc_order order = {.kind = kind, .number = number};

    for (int i = 0; i < h->front.count; i++) {
        struct ftc_starter *starter = &h->front.starters[i];
        if (starter->orders.loop == NULL)
            continue;
        ftc_sink_put(&starter->orders, (const char *)&order, sizeof(order));
        ftc_sink_flush(&starter->orders);
    }
}

/* A stopped front stops nothing else. */
static void forward(struct ftc_front *front, int number)
{
    struct hosts_front *h = front_of(front);

    if (h->failed || number == SIGSTOP || number == SIGCONT)
        return;
    if (h->invited) {
        send_order(h, FTC_ORDER_SIGNAL, number);
    } else if (ftc_signals_ends(number)) {
        ftc_sink_say(&front->err, "got SIG%s before the hosts had met; ending the job",
                     sigabbrev_np(number));
        fail(h, 128 + number);
    }
}

static void kill_job(struct ftc_front *front, int number)
{
    struct hosts_front *h = front_of(front);

    if (h->failed || h->killed) {
        front->termed = true;
        ftc_front_signal(front, SIGKILL);
        return;
    }
    h->killed = true;
    ftc_sink_say(&front->err, "got SIG%s again; killing the job", sigabbrev_np(number));
    send_order(h, FTC_ORDER_KILL, number);
    ev_timer_set(&front->hurry, HURRY_WAIT_S, 0.);
    ev_timer_start(front->loop, &front->hurry);
}

static const struct ftc_front_kind kind = {
    .name = "the remote shell",
    .keeps = keeps_line,
    .take = take_line,
    .ended = take_end,
    .forward = forward,
    .kill_all = kill_job,
};

/* --- the invitation --- */

static void put(struct bytes *bytes, const void *data, size_t size)
{
    if (bytes->used + size > bytes->room) {
        size_t room = 2 * (bytes->used + size);
        char *grown = realloc(bytes->at, room);
        if (grown == NULL) {
            bytes->failed = true;
            return;
        }
        bytes->at = grown;
        bytes->room = room;
    }
    memcpy(bytes->at + bytes->used, data, size);
    bytes->used += size;
}

static void put_text(struct hosts_front *h, const char *text)
{
    put(&h->message, text, strlen(text) + 1);
    h->head.text_size += (uint32_t)strlen(text) + 1;
}

static void put_members(struct hosts_front *h)
{
    uint32_t first = 0;

    for (int i = 0; i < h->hosts->count; i++) {
        const struct ftc_host *host = &h->hosts->at[i];
        const char *user_end = strrchr(host->name, '@');
        struct ftc_adoption_member member = {.first = first, .count = (uint32_t)host->ranks};
        snprintf(member.host, sizeof(member.host), "%.63s",
                 user_end != NULL ? user_end + 1 : host->name);
        put(&h->message, &member, sizeof(member));
        first += member.count;
    }
}

static void put_argument(struct hosts_front *h, const char *text)
{
    put_text(h, text);
    h->head.arguments++;
}

/* The words of this ftrun, with another engine. */
static void put_arguments(struct hosts_front *h, const struct ftc_command *command, char **argv)
{
    int program = (int)(command->program - argv);

    for (int i = 0; i < program - (strcmp(argv[program - 1], "--") == 0); i++)
        put_argument(h, argv[i]);
    put_argument(h, "--engine=guest");
    put_argument(h, "--");
    for (char **word = command->program; *word != NULL; word++)
        put_argument(h, *word);
}

/* Remote shells forward no variables. Agents get those of ftcoll, and those that -x names without a
 * value, which stands in the arguments. */
static bool goes_along(const struct ftc_command *command, const char *entry)
{
    size_t length = strcspn(entry, "=");

    for (int i = 0; i < command->variable_count; i++)
        if (strlen(command->variables[i]) == length &&
            strncmp(command->variables[i], entry, length) == 0)
            return true;
    return strncmp(entry, "FTCOLL_", 7) == 0 && strncmp(entry, "FTCOLL_RANK=", 12) != 0 &&
           strncmp(entry, "FTCOLL_JOB_SEGMENT=", 19) != 0;
}

static int make_message(struct hosts_front *h, const struct ftc_command *command, char **argv)
{
    char *directory = getcwd(NULL, 0);

    if (directory == NULL)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot find the working directory: %m");
    put_members(h);
    put_text(h, directory);
    free(directory);
    put_arguments(h, command, argv);
    for (char **entry = environ; *entry != NULL; entry++) {
        if (!goes_along(command, *entry))
            continue;
        put_text(h, *entry);
        h->head.variables++;
    }
    return h->message.failed ? ftc_error_set(FTC_ERR_NOMEM, "out of memory") : FTC_SUCCESS;
}

static int make_head(struct hosts_front *h)
{
    struct ftc_invitation_head *head = &h->head;

    head->magic = FTC_INVITATION_MAGIC;
    snprintf(head->release, sizeof(head->release), "%s", FTC_LAUNCHER_VERSION);
    head->nodes = h->hosts->count;
    ftc_jobs_name_cluster(head->cluster);
    memcpy(head->token, h->front.token, sizeof(head->token));
    if (getrandom(head->secret, sizeof(head->secret), 0) != (ssize_t)sizeof(head->secret))
        return ftc_error_set(FTC_ERR_SYSTEM, "no random bytes for the job's secret: %m");
    return FTC_SUCCESS;
}

/* --- the remote shell --- */

/* The words of the remote shell, with room for host, command and NULL. */
static int split_shell(struct hosts_front *h, const char *shell)
{
    char *rest, *path;
    int code;

    h->shell = strdup(shell);
    h->words = calloc(strlen(shell) + 4, sizeof(*h->words));
    if (h->shell == NULL || h->words == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    for (char *word = strtok_r(h->shell, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest))
        h->words[h->word_count++] = word;
    h->word_count += 2;
    h->words[h->word_count - 1] = h->command;
    if (ftc_program_find(h->words[0], NULL, &path, &code) != FTC_SUCCESS)
        return ftc_error_wrap(FTC_ERR_ARG, "the remote shell");
    free(path);
    return FTC_SUCCESS;
}

/* A path in single quotes is one word in every shell. */
static int make_command(struct hosts_front *h)
{
    char self[4096];
    const char *path = getenv("FTCOLL_FTRUN");
    int rc = FTC_SUCCESS;

    if (path == NULL || path[0] == '\0') {
        rc = ftc_front_own_file(self, sizeof(self));
        path = self;
    }
    if (rc == FTC_SUCCESS && (strchr(path, '\'') != NULL || strlen(path) >= sizeof(self)))
        rc = ftc_error_set(FTC_ERR_ARG, "the path of ftrun is too long, or has a quote: %s", path);
    if (rc == FTC_SUCCESS)
        snprintf(h->command, sizeof(h->command), "exec '%s' --engine=guest", path);
    return rc;
}

static int prepare(struct hosts_front *h, const struct ftc_command *command, char **argv)
{
    struct rlimit original;
    const char *shell = command->ssh != NULL ? command->ssh : getenv("FTRUN_SSH");
    int rc = ftc_limits_raise(h->hosts->count, 1, false, &original);

    if (rc == FTC_SUCCESS)
        rc = ftc_front_init(&h->front, &kind, h->hosts->count);
    if (rc == FTC_SUCCESS)
        rc = ftc_output_init(&h->front.output, h->front.loop, h->hosts->count, false, false, NULL);
    if (rc == FTC_SUCCESS)
        rc = make_head(h);
    if (rc == FTC_SUCCESS)
        rc = make_message(h, command, argv);
    if (rc == FTC_SUCCESS)
        rc = make_command(h);
    if (rc == FTC_SUCCESS)
        rc = split_shell(h, shell != NULL && shell[strspn(shell, " ")] != '\0' ? shell : "ssh -x");
    return rc;
}

static int run(struct hosts_front *h)
{
    ev_timer_init(&h->patience, on_impatient, FTC_INVITATION_SECONDS, 0.);
    h->patience.data = h;
    ev_timer_start(h->front.loop, &h->patience);
    start_more(h);
    return ftc_front_run(&h->front);
}

int ftc_ssh_run(const struct ftc_command *command, char **argv)
{
    struct hosts_front h = {.hosts = &command->hosts, .front = {.arg = &h}};
    int code = 1;

    if (gethostname(h.own_name, sizeof(h.own_name) - 1) != 0)
        h.own_name[0] = '\0';
    if (prepare(&h, command, argv) == FTC_SUCCESS)
        code = run(&h);
    else
        fprintf(stderr, "ftrun: %s\n", ftc_last_error());
    ftc_front_fini(&h.front);
    free(h.message.at);
    free(h.shell);
    free(h.words);
    return code;
}
