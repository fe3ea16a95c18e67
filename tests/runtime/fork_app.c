/* Calls fork() inside a job. The child is refused everything, and the parent goes on. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ftcoll.h"

static int child(ftc_comm *world)
{
    int sum = 0, one = 1, failed = 0;
    ftc_report report = {.struct_size = sizeof(report)};
    int refused = ftc_allreduce(&one, &sum, 1, FTC_INT32, FTC_SUM, world) == FTC_ERR_STATE &&
                  ftc_validate_local(world, &failed) == FTC_ERR_STATE &&
                  ftc_last_report(world, &report) == FTC_ERR_STATE &&
                  ftc_abort(world, 7) == FTC_ERR_STATE && ftc_finalize(world) == FTC_ERR_STATE;

    fprintf(stderr, "%s\n", ftc_last_error());
    return refused ? 0 : 1;
}

int main(void)
{
    int32_t one = 1, sum = 0;
    int status = 0;
    ftc_comm *world;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(child(world));
        if (ftc_allreduce(&one, &sum, 1, FTC_INT32, FTC_SUM, world) != FTC_SUCCESS ||
            sum != ftc_size(world))
            return 1;
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            return 1;
    }
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
