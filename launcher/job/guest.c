#include "launcher/job/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "launcher/engine.h"

bool ftc_guest_is(int argc, char *const argv[])
{
    return argc == 2 && strcmp(argv[1], "--engine=guest") == 0;
}

/* --- the invitation --- */

/* Ranks must not get the stream of the front: its end would be the end of the last rank. */
static int take_stream(int *fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    *fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (*fd < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot open the files of an agent: %m; raise ulimit -n");
    close(null);
    return FTC_SUCCESS;
}

/* putenv() keeps the text, which lives as long as the invitation. */
static int take_surroundings(const struct ftc_invitation *invitation)
{
    for (char **variable = invitation->variables; *variable != NULL; variable++)
        if (putenv(*variable) != 0)
            return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    if (setenv(FTC_ENGINE_TOKEN, invitation->head.token, 1) != 0)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory");
    if (chdir(invitation->directory) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "the working directory %s is not there: %m; start the job in a "
                             "directory that all hosts have",
                             invitation->directory);
    return FTC_SUCCESS;
}

int ftc_guest_accept(struct ftc_invitation *invitation)
{
    int fd, rc = take_stream(&fd);

    if (rc == FTC_SUCCESS)
        rc = ftc_invitation_read(invitation, fd, FTC_LAUNCHER_VERSION);
    return rc == FTC_SUCCESS ? take_surroundings(invitation) : rc;
}

/* --- orders --- */

static void take_order(struct ftc_job *job, const struct ftc_order *order)
{
    static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    bool known = false;

    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
        known = known || order->number == passed[i];
    if (known && order->kind == FTC_ORDER_SIGNAL)
        job->signals.forward(job, order->number);
    if (known && order->kind == FTC_ORDER_KILL)
        job->signals.kill_all(job, order->number);
}

/* As a host that is cut off, but the others need not find out. A host whose ranks have ended stays
 * to tell the others. */
static void desert(struct ftc_job *job)
{
    ftc_guest_unwatch(job);
    job->deserted = true;
    if (job->ranks.running > 0 || ftc_job_spawning(job))
        ftc_job_fence(job);
    ftc_job_look_for_end(job);
}

static void on_orders(struct ev_loop *loop, struct ev_io *io, int events)
{
    struct ftc_job *job = io->data;

    (void)loop;
    (void)events;
    ssize_t count =
        read(io->fd, (char *)&job->order + job->order_used, sizeof(job->order) - job->order_used);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (count <= 0) {
        desert(job);
        return;
    }
    job->order_used += (size_t)count;
    if (job->order_used < sizeof(job->order))
        return;
    job->order_used = 0;
    take_order(job, &job->order);
}

void ftc_guest_watch(struct ftc_job *job)
{
    const struct ftc_invitation *invitation = job->command->invitation;

    if (invitation == NULL)
        return;
    ev_io_init(&job->orders, on_orders, invitation->fd, EV_READ);
    job->orders.data = job;
    ev_io_start(job->loop, &job->orders);
}

void ftc_guest_unwatch(struct ftc_job *job)
{
    if (job->command->invitation != NULL && job->loop != NULL)
        ev_io_stop(job->loop, &job->orders);
}
