#include "launcher/front/front.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "launcher/engine.h"

#define DRAIN_SECONDS 0.02
#define KILL_SECONDS  5. /* how long a starter may take to end after SIGTERM */

/* --- standard error of a starter --- */

void ftc_front_pass_on(struct ftc_starter *starter)
{
    ftc_sink_put(&starter->front->err, starter->line, starter->used);
    starter->used = 0;
}

void ftc_front_close(struct ftc_front *front, int code, double wait_s)
{
    if (front->code >= 0)
        return;
    front->code = code;
    ev_timer_set(&front->hurry, wait_s, 0.);
    ev_timer_start(front->loop, &front->hurry);
}

/* The first agent that knows the end of the job counts. Agents that left before know less. Their
 * lines count only if no agent tells the end: the last one may be killed. */
static bool take_end(struct ftc_front *front, const char *line)
{
    struct ftc_engine_end job;

    if (!ftc_engine_parse_end(line, front->token, &job))
        return false;
    if (front->code >= 0 || job.unknown >= front->unknown)
        return true;
    front->told = job.code;
    front->unknown = job.unknown;
    snprintf(front->summary, sizeof(front->summary), "%s", job.text);
    /* The job has ended, but its starters may wait for hosts that do not answer. */
    if (job.unknown == 0)
        ftc_front_close(front, job.code, job.wait_ms / 1e3);
    return true;
}

static void take_line(struct ftc_starter *starter)
{
    starter->line[starter->used] = '\0';
    if (!take_end(starter->front, starter->line) && !starter->front->kind->take(starter)) {
        starter->line[starter->used++] = '\n';
        ftc_front_pass_on(starter);
    }
    starter->used = 0;
}

static void take_byte(struct ftc_starter *starter, char byte)
{
    struct ftc_front *front = starter->front;

    if (byte == FTC_ENGINE_MARK)
        ftc_front_pass_on(starter); /* what came before the mark is no last line */
    if (starter->used == 0 && byte != FTC_ENGINE_MARK && !front->kind->keeps(starter)) {
        ftc_sink_put(&front->err, &byte, 1);
        return;
    }
    if (byte == '\n') {
        take_line(starter);
        return;
    }
    starter->line[starter->used++] = byte;
    if (starter->used >= sizeof(starter->line) - 1)
        ftc_front_pass_on(starter);
}

/* Read all that is there, but no more than the reader of the front's own standard error takes. */
static void on_from(struct ev_loop *loop, struct ev_io *io, int events)
{
    struct ftc_starter *starter = io->data;
    struct ftc_front *front = starter->front;
    char bytes[4096];
    ssize_t count = 1;

    (void)events;
    while (!ftc_sink_full(&front->err) && (count = read(io->fd, bytes, sizeof(bytes))) > 0)
        for (ssize_t i = 0; i < count; i++)
            take_byte(starter, bytes[i]);
    ftc_sink_flush(&front->err);
    bool empty = count < 0 && (errno == EAGAIN || errno == EINTR);
    /* A process that the starter left behind may hold the pipe. So when the starter has ended, the
     * front reads what is in the pipe, and does not wait for more. */
    starter->silent = count == 0 || (count < 0 && (!empty || starter->ended));
    if (starter->silent || ftc_sink_full(&front->err))
        ev_io_stop(loop, io);
}

static void on_relieved(void *arg)
{
    struct ftc_front *front = arg;

    for (int i = 0; i < front->count; i++)
        if (front->starters[i].pid > 0 && !front->starters[i].silent)
            ev_io_start(front->loop, &front->starters[i].from);
}

/* --- the end --- */

static void take_exit(struct ftc_starter *starter)
{
    struct ftc_front *front = starter->front;

    starter->ended = true;
    front->running--;
    if (!starter->silent) /* its last words say why it ended */
        on_from(front->loop, &starter->from, 0);
    if (front->kind->ended != NULL)
        front->kind->ended(starter);
}

static void on_child(struct ev_loop *loop, struct ev_signal *signal, int events)
{
    struct ftc_front *front = signal->data;

    (void)events;
    for (int i = 0; i < front->count; i++) {
        struct ftc_starter *starter = &front->starters[i];
        if (starter->pid > 0 && !starter->ended &&
            waitpid(starter->pid, &starter->status, WNOHANG) == starter->pid)
            take_exit(starter);
    }
    if (front->over && front->running == 0)
        ev_timer_start(loop, &front->drain);
}

static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* No agent has told the end of the job. */
static int guess_code(struct ftc_front *front)
{
    int code = code_of(front->starters[0].status);

    if (front->signalled != 0) {
        front->summary[0] = '\0'; /* an agent wrote it before the signal */
        ftc_sink_say(&front->err, "no host could tell how the job ended after SIG%s",
                     sigabbrev_np(front->signalled));
        return 128 + front->signalled;
    }
    if (front->unknown < INT_MAX) {
        ftc_sink_say(&front->err,
                     "no host could tell how some ranks ended (%d): they count as failed",
                     front->unknown);
        return front->told;
    }
    ftc_sink_say(&front->err, "no host could tell how the job ended; %s's exit code is %d",
                 front->kind->name, code);
    return code != 0 ? code : 1;
}

static void sum_up(struct ftc_front *front)
{
    front->summed = true;
    for (int i = 0; i < front->count; i++)
        ftc_front_pass_on(&front->starters[i]);
    if (front->code < 0)
        front->code = guess_code(front);
    if (front->summary[0] != '\0')
        ftc_sink_say(&front->err, "%s", front->summary);
}

/* Read what is left in the pipes. Only a process outside of the job can still hold them. */
static bool read_rest(struct ftc_front *front)
{
    bool silent = true;

    for (int i = 0; i < front->count; i++) {
        struct ftc_starter *starter = &front->starters[i];
        if (starter->pid > 0 && !starter->silent)
            on_from(front->loop, &starter->from, 0);
        silent = silent && (starter->pid <= 0 || starter->silent);
    }
    if (front->output.open > 0 && ftc_output_idle(&front->output))
        ftc_output_close(&front->output);
    return silent && front->output.open == 0 && ftc_output_empty(&front->output);
}

/* All starters have ended. Write all that they said, and the summary, before the front ends. */
static void on_drain(struct ev_loop *loop, struct ev_timer *timer, int events)
{
    struct ftc_front *front = timer->data;

    (void)events;
    if (read_rest(front) && !front->summed)
        sum_up(front);
    ftc_sink_flush(&front->err);
    if (front->summed && (front->err.used == 0 || front->err.dead))
        ev_break(loop, EVBREAK_ALL);
}

void ftc_front_hang_up(struct ftc_starter *starter)
{
    int fd = starter->orders.fd;

    if (starter->orders.loop == NULL)
        return;
    ftc_sink_fini(&starter->orders);
    close(fd);
}

void ftc_front_signal(struct ftc_front *front, int number)
{
    for (int i = 0; i < front->count; i++)
        if (front->starters[i].pid > 0 && !front->starters[i].ended)
            (void)kill(front->starters[i].pid, number);
}

static void on_hurry(struct ev_loop *loop, struct ev_timer *timer, int events)
{
    struct ftc_front *front = timer->data;

    (void)events;
    if (front->running == 0)
        return;
    ftc_front_signal(front, front->termed ? SIGKILL : SIGTERM);
    front->termed = true;
    ev_timer_set(timer, KILL_SECONDS, 0.);
    ev_timer_start(loop, timer);
}

static void on_forward(void *arg, int number)
{
    struct ftc_front *front = arg;

    if (ftc_signals_ends(number))
        front->signalled = number;
    front->kind->forward(front, number);
}

static void on_kill_all(void *arg, int number)
{
    struct ftc_front *front = arg;

    if (front->over && front->running == 0)
        ev_break(front->loop, EVBREAK_ALL); /* a reader does not read: give up on the output */
    else
        front->kind->kill_all(front, number);
}

static void on_resumed(void *arg)
{
    (void)arg;
}

/* --- starting --- */

int ftc_front_own_file(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);

    if (length <= 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot find this ftrun's own file: %m");
    path[length] = '\0';
    return FTC_SUCCESS;
}

/* A terminal sends its signals to all processes of the foreground. The front alone takes them, and
 * a starter gets what the front sends it. */
static _Noreturn void become(char *const words[], const int *ends, bool piped)
{
    static const int terminal[] = {SIGINT, SIGQUIT, SIGTSTP, SIGHUP};
    sigset_t none;

    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* when the front dies, srun ends the step */
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    for (size_t i = 0; piped && i < sizeof(terminal) / sizeof(terminal[0]); i++)
        (void)signal(terminal[i], SIG_IGN);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (ends[fd] >= 0)
            (void)dup2(ends[fd], fd);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(words[0], words);
    fprintf(stderr, "ftrun: cannot start %s: %m\n", words[0]);
    _exit(127);
}

static void close_both(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

static void close_pipes(int pipes[3][2])
{
    for (int i = 0; i < 3; i++)
        close_both(pipes[i]);
}

static int make_pipes(int pipes[3][2], bool piped)
{
    for (int i = piped ? 0 : STDERR_FILENO; i < 3; i++)
        if (pipe2(pipes[i], O_CLOEXEC) != 0) {
            pipes[i][0] = pipes[i][1] = -1;
            return ftc_error_set(FTC_ERR_SYSTEM, "cannot make a pipe: %m; raise ulimit -n");
        }
    return FTC_SUCCESS;
}

/* Take over this process's ends of the pipes. */
static int keep_ends(struct ftc_starter *starter, int pipes[3][2], bool piped)
{
    struct ftc_front *front = starter->front;

    (void)fcntl(pipes[2][0], F_SETFL, O_NONBLOCK);
    ev_io_init(&starter->from, on_from, pipes[2][0], EV_READ);
    starter->from.data = starter;
    ev_io_start(front->loop, &starter->from);
    if (!piped)
        return FTC_SUCCESS;
    (void)fcntl(pipes[0][1], F_SETFL, O_NONBLOCK);
    ftc_sink_init(&starter->orders, front->loop, pipes[0][1], "to a remote shell");
    return ftc_output_add(&front->output, (int)(starter - front->starters), pipes[1][0], -1);
}

int ftc_front_start(struct ftc_starter *starter, char *const words[], bool piped)
{
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    int rc = make_pipes(pipes, piped);

    if (rc != FTC_SUCCESS) {
        close_pipes(pipes);
        return rc;
    }
    pid_t pid = fork();
    if (pid == 0)
        become(words, (int[3]){pipes[0][0], pipes[1][1], pipes[2][1]}, piped);
    if (pid < 0) {
        rc = ftc_error_set(FTC_ERR_SYSTEM, "cannot start %s: %m; raise ulimit -u", words[0]);
        close_pipes(pipes);
        return rc;
    }
    starter->pid = pid;
    starter->front->running++;
    close_both((int[2]){pipes[0][0], pipes[1][1]});
    close(pipes[2][1]);
    return keep_ends(starter, pipes, piped);
}

static void watch(struct ftc_front *front)
{
    ev_signal_init(&front->child, on_child, SIGCHLD);
    ev_timer_init(&front->hurry, on_hurry, 0., 0.);
    ev_timer_init(&front->drain, on_drain, 0., DRAIN_SECONDS);
    front->child.data = front->hurry.data = front->drain.data = front;
    ev_signal_start(front->loop, &front->child);
    ftc_sink_init(&front->err, front->loop, STDERR_FILENO, "standard error");
    front->err.relieved = on_relieved;
    front->err.relieved_arg = front;
    front->signals.forward = on_forward;
    front->signals.kill_all = on_kill_all;
    front->signals.resumed = on_resumed;
    front->signals.arg = front;
}

static int draw_token(char token[33])
{
    unsigned char bytes[16];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return ftc_error_set(FTC_ERR_SYSTEM, "no random bytes: %m");
    for (int i = 0; i < 16; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return FTC_SUCCESS;
}

int ftc_front_init(struct ftc_front *front, const struct ftc_front_kind *kind, int count)
{
    front->kind = kind;
    front->code = -1;
    front->unknown = INT_MAX;
    ftc_signals_block(&front->signals);
    front->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    if (front->loop == NULL)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot make an event loop: %m; raise ulimit -n");
    front->starters = calloc((size_t)count, sizeof(*front->starters));
    if (front->starters == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for %d hosts", count);
    front->count = count;
    for (int i = 0; i < count; i++)
        front->starters[i].front = front;
    watch(front);
    return draw_token(front->token);
}

int ftc_front_run(struct ftc_front *front)
{
    ftc_signals_start(&front->signals, front->loop);
    ev_run(front->loop, 0);
    ftc_signals_stop(&front->signals);
    return front->code;
}

void ftc_front_fini(struct ftc_front *front)
{
    for (int i = 0; i < front->count; i++) {
        struct ftc_starter *starter = &front->starters[i];
        if (starter->pid > 0) {
            ev_io_stop(front->loop, &starter->from);
            close(starter->from.fd);
        }
        ftc_front_hang_up(starter);
        free(starter->endpoint);
    }
    ftc_output_fini(&front->output);
    ftc_sink_fini(&front->err);
    free(front->starters);
    if (front->loop != NULL)
        ev_loop_destroy(front->loop);
}
