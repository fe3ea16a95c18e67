/* The front: the ftrun that the user calls, while Slurm starts the others. */
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "launcher/engine.h"
#include "launcher/signals.h"
#include "launcher/sink.h"

#define OUR_ARGUMENTS 24
#define MOST_LINE     1024
#define DRAIN_SECONDS 0.02
#define KILL_SECONDS  5. /* how long srun itself may take to end after SIGTERM */

struct front {
    struct ev_loop *loop;
    pid_t srun;
    struct ev_signal child;
    struct ev_io from_srun; /* standard error of srun */
    struct ev_timer hurry;
    struct ftc_sink err;
    struct ftc_signals signals;
    char token[33];
    char line[MOST_LINE]; /* what may be an agent's last line */
    size_t used;
    bool termed;
    bool silent; /* srun will say nothing more */
    bool summed; /* the front has written its own last line, too */
    struct ev_timer drain;
    int code; /* exit code of the job; -1: no agent has told it */
    char summary[MOST_LINE];
    int status; /* of srun */
    bool ended;
};

/* --- what srun says --- */

static void pass_on(struct front *front)
{
    ftc_sink_put(&front->err, front->line, front->used);
    front->used = 0;
}

/* The first line of an agent counts: later ones know no more. */
static void take_line(struct front *front)
{
    struct ftc_engine_end job;

    front->line[front->used] = '\0';
    if (!ftc_engine_parse_end(front->line, front->token, &job)) {
        front->line[front->used++] = '\n';
        if (front->termed && strncmp(front->line, "srun: ", 6) == 0)
            front->used = 0; /* srun complains about hosts that ftrun has told of */
        pass_on(front);
        return;
    }
    front->used = 0;
    if (front->code >= 0)
        return;
    front->code = job.code;
    snprintf(front->summary, sizeof(front->summary), "%s", job.text);
    /* The job has ended, but srun waits for hosts that do not answer. */
    ev_timer_set(&front->hurry, job.wait_ms / 1e3, 0.);
    ev_timer_start(front->loop, &front->hurry);
}

static void take_byte(struct front *front, char byte)
{
    if (byte == FTC_ENGINE_MARK)
        pass_on(front); /* what came before the mark is no last line */
    if (front->used == 0 && byte != FTC_ENGINE_MARK && !front->termed) {
        ftc_sink_put(&front->err, &byte, 1);
        return;
    }
    if (byte == '\n') {
        take_line(front);
        return;
    }
    front->line[front->used++] = byte;
    if (front->used >= sizeof(front->line) - 1)
        pass_on(front);
}

/* Read all that is there, but no more than the reader of the front's own standard error takes. */
static void on_from_srun(struct ev_loop *loop, struct ev_io *io, int events)
{
    struct front *front = io->data;
    char bytes[4096];
    ssize_t count = 1;

    (void)events;
    while (!ftc_sink_full(&front->err) && (count = read(io->fd, bytes, sizeof(bytes))) > 0)
        for (ssize_t i = 0; i < count; i++)
            take_byte(front, bytes[i]);
    ftc_sink_flush(&front->err);
    bool empty = count < 0 && (errno == EAGAIN || errno == EINTR);
    /* A process that srun left behind may hold the pipe. So when srun has ended, the front reads
     * what is in the pipe, and does not wait for more. */
    front->silent = count == 0 || (count < 0 && (!empty || front->ended));
    if (front->silent || ftc_sink_full(&front->err))
        ev_io_stop(loop, io);
}

static void on_relieved(void *arg)
{
    struct front *front = arg;

    if (!front->silent)
        ev_io_start(front->loop, &front->from_srun);
}

/* --- its end --- */

static void on_child(struct ev_loop *loop, struct ev_signal *signal, int events)
{
    struct front *front = signal->data;

    (void)loop;
    (void)events;
    if (!front->ended && waitpid(front->srun, &front->status, WNOHANG) == front->srun) {
        front->ended = true;
        ev_timer_start(front->loop, &front->drain);
    }
}

static void sum_up(struct front *front)
{
    front->summed = true;
    if (front->used > 0)
        pass_on(front);
    if (front->summary[0] != '\0')
        ftc_sink_say(&front->err, "%s", front->summary);
    if (front->code >= 0)
        return;
    int code =
        WIFSIGNALED(front->status) ? 128 + WTERMSIG(front->status) : WEXITSTATUS(front->status);
    ftc_sink_say(&front->err, "no host could tell how the job ended; srun's exit code is %d", code);
    front->code = code != 0 ? code : 1;
}

/* srun has ended. Write all that it said, and the summary, before the front ends. */
static void on_drain(struct ev_loop *loop, struct ev_timer *timer, int events)
{
    struct front *front = timer->data;

    if (!front->silent)
        on_from_srun(loop, &front->from_srun, events);
    if (front->silent && !front->summed)
        sum_up(front);
    ftc_sink_flush(&front->err);
    if (front->summed && (front->err.used == 0 || front->err.dead))
        ev_break(loop, EVBREAK_ALL);
}

static void on_hurry(struct ev_loop *loop, struct ev_timer *timer, int events)
{
    struct front *front = timer->data;

    (void)events;
    if (front->ended)
        return;
    (void)kill(front->srun, front->termed ? SIGKILL : SIGTERM);
    front->termed = true;
    ev_timer_set(timer, KILL_SECONDS, 0.);
    ev_timer_start(loop, timer);
}

static void on_forward(void *arg, int number)
{
    struct front *front = arg;
    bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;

    if (!front->ended)
        (void)kill(front->srun,
                   ends ? SIGTERM : number); /* at one SIGINT, srun only prints a table */
}

static void on_kill_all(void *arg, int number)
{
    struct front *front = arg;

    ftc_sink_say(&front->err, "got SIG%s again; killing srun", sigabbrev_np(number));
    front->termed = true;
    if (front->ended)
        ev_break(front->loop, EVBREAK_ALL); /* a reader does not read: give up on the output */
    else
        (void)kill(front->srun, SIGKILL);
}

static void on_resumed(void *arg)
{
    (void)arg;
}

/* --- starting --- */

static int draw_token(char token[33])
{
    unsigned char bytes[16];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return ftc_error_set(FTC_ERR_SYSTEM, "no random bytes: %m");
    for (int i = 0; i < 16; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return FTC_SUCCESS;
}

struct words {
    char **at;
    int count;
    char text[OUR_ARGUMENTS][4200];
    int texts;
};

static void add(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct words *words, const char *format, ...)
{
    va_list list;
    char *text = words->text[words->texts++];

    va_start(list, format);
    vsnprintf(text, sizeof(words->text[0]), format, list);
    va_end(list);
    words->at[words->count++] = text;
}

/* With these flags the death of an agent or of a host does not end the others (--no-kill,
 * --kill-on-bad-exit=0, --wait=0). An agent may use all processors of its host, and may run beside
 * other steps. */
static void add_srun(struct words *words, const struct front *front, int nodes)
{
    add(words, "srun");
    add(words, "--mpi=pmix");
    add(words, "--nodes=%d", nodes);
    add(words, "--ntasks=%d", nodes);
    add(words, "--ntasks-per-node=1");
    add(words, "--no-kill");
    add(words, "--kill-on-bad-exit=0");
    add(words, "--wait=0");
    add(words, "--input=0");
    add(words, "--overlap");
    add(words, "--job-name=ftrun");
    add(words, "--export=ALL,%s=%s", FTC_ENGINE_TOKEN, front->token);
}

/* Add this ftrun's own words: its options, then --engine, which overrides an engine among the
 * options, then the program. */
static int add_ftrun(struct words *words, const struct ftc_command *command, char **argv)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int program = (int)(command->program - argv);

    if (length <= 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot find this ftrun's own file: %m");
    self[length] = '\0';
    add(words, "%s", self);
    for (int i = 1; i < program - (strcmp(argv[program - 1], "--") == 0); i++)
        words->at[words->count++] = argv[i];
    add(words, "--engine=pmix");
    add(words, "--");
    for (char **word = command->program; *word != NULL; word++)
        words->at[words->count++] = *word;
    return FTC_SUCCESS;
}

static int make_words(struct words *words, const struct front *front,
                      const struct ftc_command *command, char **argv)
{
    size_t all = OUR_ARGUMENTS + 1;

    for (char **word = argv; *word != NULL; word++)
        all++;
    words->at = calloc(all, sizeof(*words->at));
    if (words->at == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    add_srun(words, front, command->nodes);
    return add_ftrun(words, command, argv);
}

static _Noreturn void become_srun(char **words, int write_end)
{
    sigset_t none;

    (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* when the front dies, srun ends the step */
    (void)dup2(write_end, STDERR_FILENO);
    (void)setenv("SLURM_CPU_BIND", "none",
                 0); /* as an option, this draws a warning where nothing binds */
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(words[0], words);
    _exit(127);
}

static int start_srun(struct front *front, char **words)
{
    int pair[2];

    if (pipe2(pair, O_CLOEXEC) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot make a pipe: %m");
    front->srun = fork();
    if (front->srun == 0)
        become_srun(words, pair[1]);
    close(pair[1]);
    if (front->srun < 0) {
        close(pair[0]);
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot start srun: %m");
    }
    (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
    ev_io_init(&front->from_srun, on_from_srun, pair[0], EV_READ);
    front->from_srun.data = front;
    ev_io_start(front->loop, &front->from_srun);
    return FTC_SUCCESS;
}

static void watch(struct front *front)
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
    ftc_signals_start(&front->signals, front->loop);
}

static int run(struct front *front, char **words)
{
    watch(front);
    if (start_srun(front, words) != FTC_SUCCESS) {
        fprintf(stderr, "ftrun: %s\n", ftc_last_error());
        return 1;
    }
    ev_run(front->loop, 0);
    ftc_signals_stop(&front->signals);
    close(front->from_srun.fd);
    return front->code;
}

int ftc_slurm_run(const struct ftc_command *command, char **argv)
{
    static struct front front; /* large: not on the stack */
    static struct words words;
    int code = 1;

    front.code = -1;
    ftc_signals_block(&front.signals);
    front.loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    if (front.loop == NULL || draw_token(front.token) != FTC_SUCCESS ||
        make_words(&words, &front, command, argv) != FTC_SUCCESS)
        fprintf(stderr, "ftrun: %s\n",
                front.loop == NULL ? "cannot make an event loop" : ftc_last_error());
    else
        code = run(&front, words.at);
    ftc_sink_fini(&front.err);
    if (front.loop != NULL)
        ev_loop_destroy(front.loop);
    free(words.at);
    return code;
}
