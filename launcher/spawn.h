/* Starting a rank: fork, prepare, exec. */
#ifndef FTC_LAUNCHER_SPAWN_H
#define FTC_LAUNCHER_SPAWN_H

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* What is the same for every rank. */
struct ftc_spawn {
    const char *path;
    char *const *argv;
    const char *directory; /* NULL: ftrun's */
    bool bind;             /* bind each rank to one CPU of `allowed`, in turn */
    bool ignore_hangup;    /* SIGHUP was ignored when ftrun started (nohup), and stays ignored */
    cpu_set_t allowed;
    struct rlimit files; /* limit of open files for the ranks */
    int null_fd;         /* /dev/null */
};

struct ftc_spawned {
    pid_t pid;
    int out_fd, err_fd; /* read ends of its pipes, non-blocking, close-on-exec */
};

/* Fill in the members that are read from the system. FTC_ERR_SYSTEM. */
int ftc_spawn_init(struct ftc_spawn *spawn);
void ftc_spawn_fini(struct ftc_spawn *spawn);

/*
 * Start `rank` with this environment. Its standard input is input_fd, or /dev/null if input_fd is
 * -1. The rank leads a process group of its own, dies with the calling thread, and has no other
 * descriptor of ftrun. The function returns when the program runs. On error it leaves nothing
 * behind, *error is the errno, and it returns FTC_ERR_SYSTEM.
 */
int ftc_spawn_rank(const struct ftc_spawn *spawn, int rank, char *const environment[], int input_fd,
                   struct ftc_spawned *spawned, int *error);

#endif
