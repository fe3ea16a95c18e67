/* ftrun: start the ranks of a job, watch them, tell the survivors who failed. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "launcher/choices.h"
#include "launcher/engine.h"
#include "launcher/front/front.h"
#include "launcher/job/guest.h"
#include "launcher/job/job.h"
#include "launcher/options.h"

extern char **environ;

/* Descriptors 0 to 2 must be taken, or a pipe could become "standard output". */
static void fill_standard_files(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static int refuse(int code)
{
    fprintf(stderr, "ftrun: %s\n", ftc_last_error());
    return code;
}

/* Flush the text on standard output. A full disk is an error. */
static int finish_printing(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "ftrun: writing standard output: %m\n");
        return 1;
    }
    return 0;
}

static int describe(struct ftc_command *command, const struct ftc_settings *settings)
{
    int rc = ftc_engine_describe(command);

    if (rc == FTC_SUCCESS && command->action == FTC_ACTION_PRINT_CONFIG)
        ftc_command_print_config(command, settings, stdout);
    else if (rc == FTC_SUCCESS)
        rc = ftc_command_print_algorithms(command, &settings->value, stdout);
    return rc == FTC_SUCCESS ? finish_printing() : refuse(FTC_EXIT_USAGE);
}

static int run(struct ftc_command *command, char **argv)
{
    struct ftc_settings settings = {0};
    int code;
    if (ftc_command_settings(command, environ, &settings) != FTC_SUCCESS) {
        code = refuse(FTC_EXIT_USAGE);
    } else if (command->action != FTC_ACTION_RUN) {
        code = describe(command, &settings);
    } else if (ftc_engine_choose(command) != FTC_SUCCESS) {
        code = refuse(FTC_EXIT_USAGE);
    } else if (command->engine == FTC_ENGINE_SLURM) {
        code = ftc_slurm_run(command, argv);
    } else if (command->engine == FTC_ENGINE_SSH) {
        code = ftc_ssh_run(command, argv);
    } else {
        code = ftc_job_run(command, &settings, environ);
    }
    ftc_settings_fini(&settings);
    return code;
}

static int run_words(int argc, char **argv, const struct ftc_invitation *invitation)
{
    struct ftc_command command;
    int code;

    if (ftc_command_parse(&command, argc, argv) != FTC_SUCCESS) {
        code = refuse(FTC_EXIT_USAGE);
    } else if (command.action == FTC_ACTION_HELP) {
        ftc_command_help(stdout);
        code = finish_printing();
    } else if (command.action == FTC_ACTION_VERSION) {
        printf("ftrun %s\n", FTC_LAUNCHER_VERSION);
        code = finish_printing();
    } else {
        command.invitation = invitation;
        code = run(&command, argv);
    }
    ftc_command_fini(&command);
    return code;
}

static int run_guest(void)
{
    struct ftc_invitation invitation = {.fd = -1};

    if (ftc_guest_accept(&invitation) != FTC_SUCCESS) {
        ftc_invitation_fini(&invitation);
        return refuse(1);
    }
    return run_words(invitation.head.arguments, invitation.argv, &invitation);
}

int main(int argc, char **argv)
{
    fill_standard_files();
    setvbuf(stderr, NULL, _IOLBF, BUFSIZ); /* whole lines: other agents may write to it, too */
    return ftc_guest_is(argc, argv) ? run_guest() : run_words(argc, argv, NULL);
}
