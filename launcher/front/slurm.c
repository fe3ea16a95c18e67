/* A front that has srun start the agents. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "launcher/engine.h"
#include "launcher/front/front.h"

#define OUR_ARGUMENTS 24

/* --- while it runs --- */

static bool keeps_line(const struct ftc_starter *starter)
{
    return starter->front->termed;
}

/* When the front has ended srun, srun complains about hosts that ftrun has told of. */
static bool drop_complaint(struct ftc_starter *starter)
{
    return starter->front->termed && strncmp(starter->line, "srun: ", 6) == 0;
}

static void forward(struct ftc_front *front, int number)
{
    /* At one SIGINT, srun only prints a table. */
    ftc_front_signal(front, ftc_signals_ends(number) ? SIGTERM : number);
}

static void kill_srun(struct ftc_front *front, int number)
{
    ftc_sink_say(&front->err, "got SIG%s again; killing srun", sigabbrev_np(number));
    front->termed = true;
    ftc_front_signal(front, SIGKILL);
}

static const struct ftc_front_kind kind = {
    .name = "srun",
    .keeps = keeps_line,
    .take = drop_complaint,
    .forward = forward,
    .kill_all = kill_srun,
};

/* --- starting --- */

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
static void add_srun(struct words *words, const struct ftc_front *front, int nodes)
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
    int program = (int)(command->program - argv);
    int rc = ftc_front_own_file(self, sizeof(self));

    if (rc != FTC_SUCCESS)
        return rc;
    add(words, "%s", self);
    for (int i = 1; i < program - (strcmp(argv[program - 1], "--") == 0); i++)
        words->at[words->count++] = argv[i];
    add(words, "--engine=pmix");
    add(words, "--");
    for (char **word = command->program; *word != NULL; word++)
        words->at[words->count++] = *word;
    return FTC_SUCCESS;
}

static int make_words(struct words *words, const struct ftc_front *front,
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

int ftc_slurm_run(const struct ftc_command *command, char **argv)
{
    static struct words words; /* large: not on the stack */
    struct ftc_front front = {.over = true};
    int code = 1, rc = ftc_front_init(&front, &kind, 1);

    /* As an option, this draws a warning where nothing binds. */
    (void)setenv("SLURM_CPU_BIND", "none", 0);
    if (rc == FTC_SUCCESS)
        rc = make_words(&words, &front, command, argv);
    if (rc == FTC_SUCCESS)
        rc = ftc_front_start(&front.starters[0], words.at, false);
    if (rc == FTC_SUCCESS)
        code = ftc_front_run(&front);
    else
        fprintf(stderr, "ftrun: %s\n", ftc_last_error());
    ftc_front_fini(&front);
    free(words.at);
    return code;
}
