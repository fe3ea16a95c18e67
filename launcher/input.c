/* Standard input of rank 0. */
#include "launcher/input.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"

/* Stop reading. Rank 0 sees the end of the file, too. */
static void end(struct ftc_input *input)
{
    if (input->pipe_fd < 0)
        return;
    ev_io_stop(input->loop, &input->reader);
    ev_io_stop(input->loop, &input->writer);
    close(input->pipe_fd);
    input->pipe_fd = -1;
}

static void on_typed(struct ev_loop *loop, struct ev_io *watcher, int events)
{
    struct ftc_input *input = watcher->data;
    (void)events;
    ssize_t size = read(STDIN_FILENO, input->kept, sizeof(input->kept));
    if (size < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (size < 0 && errno == EIO) { /* ftrun is in the background: wait for SIGCONT */
        ev_io_stop(loop, watcher);
        return;
    }
    if (size <= 0) {
        end(input);
        return;
    }
    input->start = 0;
    input->used = (size_t)size;
    ev_io_stop(loop, watcher);
    ev_io_start(loop, &input->writer);
}

static void on_room(struct ev_loop *loop, struct ev_io *watcher, int events)
{
    struct ftc_input *input = watcher->data;
    (void)events;
    ssize_t size = write(input->pipe_fd, input->kept + input->start, input->used);
    if (size < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (size < 0) { /* rank 0 reads no more */
        end(input);
        return;
    }
    input->start += (size_t)size;
    input->used -= (size_t)size;
    if (input->used == 0) {
        ev_io_stop(loop, watcher);
        ev_io_start(loop, &input->reader);
    }
}

int ftc_input_init(struct ftc_input *input, struct ev_loop *loop)
{
    int pair[2];
    *input =
        (struct ftc_input){.loop = loop, .child_fd = STDIN_FILENO, .pipe_fd = -1, .read_end = -1};
    if (!isatty(STDIN_FILENO))
        return FTC_SUCCESS;
    if (pipe2(pair, O_CLOEXEC) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot make a pipe for standard input: %m; raise ulimit -n");
    (void)fcntl(pair[1], F_SETFL, O_NONBLOCK);
    input->child_fd = input->read_end = pair[0];
    input->pipe_fd = pair[1];
    ev_io_init(&input->reader, on_typed, STDIN_FILENO, EV_READ);
    ev_io_init(&input->writer, on_room, input->pipe_fd, EV_WRITE);
    input->reader.data = input->writer.data = input;
    ev_io_start(loop, &input->reader);
    return FTC_SUCCESS;
}

void ftc_input_started(struct ftc_input *input)
{
    if (input->read_end >= 0)
        close(input->read_end);
    input->read_end = -1;
}

void ftc_input_resume(struct ftc_input *input)
{
    if (input->pipe_fd >= 0 && input->used == 0)
        ev_io_start(input->loop, &input->reader);
}

void ftc_input_fini(struct ftc_input *input)
{
    if (input->loop == NULL)
        return;
    end(input);
    ftc_input_started(input);
}
