/*
 * Ranks take their inputs back from a large alltoall that was revoked while parts wait to be sent:
 * lent_app blocking|non-blocking FILE, for lent.bats. There are four ranks. Rank 3 stands still, so
 * that parts for it wait. Rank 0 revokes, and lets rank 3 go on when the others have made their
 * inputs inaccessible. Prints "lent_app: done" at each rank for which all was as it should be.
 */
#include <ftcoll.h>

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/clock.h"

#define PART       ((size_t)1 << 20) /* bytes: more than a ring or a socket takes */
#define DEADLINE_S 20

/* What the ranks tell each other while they cannot use the library. It is in FILE. */
struct notes {
    atomic_int still;  /* process number of the rank that stands still, or is about to */
    atomic_int called; /* how many ranks have called the alltoall, or are about to */
    atomic_int taken;  /* how many ranks have taken their inputs back */
};

static ftc_comm *world;
static int me, size;

static void fail(const char *what, int line)
{
    fprintf(stderr, "lent_app: rank %d, line %d: %s (%s)\n", me, line, what, ftc_last_error());
    exit(1);
}
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail(#condition, __LINE__);                                                            \
    } while (0)
#define OK(call) MUST((call) == FTC_SUCCESS)

#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        for (double start = test_now(); !(condition); test_nap(0.001))                             \
            MUST(test_now() - start < DEADLINE_S);                                                 \
    } while (0)

static struct notes *open_notes(const char *path)
{
    int fd = open(path, O_RDWR);

    MUST(fd >= 0);
    void *notes = mmap(NULL, sizeof(struct notes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(notes != MAP_FAILED && close(fd) == 0);
    return notes;
}

static bool is_stopped(int process)
{
    char path[64], state = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", process);
    FILE *file = fopen(path, "r");
    MUST(file != NULL);
    MUST(fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
    fclose(file);
    return state == 'T';
}

/* Ranks 1 and 2 learn of the revoke of rank 0 without the help of rank 3. In a blocking call no
 * rank can say that its parts are on their way. A revoke that comes before them is legal, too. */
static void revoke_in_time(struct notes *notes, ftc_comm *copy, bool blocking)
{
    AWAIT(notes->still != 0 && is_stopped(notes->still));
    AWAIT(notes->called == 2);
    test_nap(blocking ? 0.3 : 0);
    OK(ftc_comm_revoke(copy));
    AWAIT(notes->taken == 2);
    OK(kill(notes->still, SIGCONT));
}

/* The input is not unmapped, because other memory could come to its place. */
static void call(struct notes *notes, ftc_comm *copy, bool blocking)
{
    size_t bytes = PART * (size_t)size;
    unsigned char *in =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *out = malloc(bytes);
    ftc_request *request = NULL;

    MUST(in != MAP_FAILED && out != NULL);
    memset(in, me + 1, bytes);
    if (blocking) {
        notes->called++;
        MUST(ftc_alltoall(in, out, PART, FTC_UINT8, copy) == FTC_ERR_REVOKED);
    } else {
        int rc = ftc_ialltoall(in, out, PART, FTC_UINT8, copy, &request);
        notes->called++;
        MUST(rc == FTC_SUCCESS || rc == FTC_ERR_REVOKED);
        MUST(rc != FTC_SUCCESS || ftc_wait(&request, NULL) == FTC_ERR_REVOKED);
    }
    OK(mprotect(in, bytes, PROT_NONE));
    notes->taken++;
    free(out);
}

int main(int argc, char **argv)
{
    ftc_comm *copy = NULL, *rest = NULL;

    OK(ftc_init(NULL, &world));
    me = ftc_rank(world);
    size = ftc_size(world);
    MUST(argc == 3 && size == 4);
    struct notes *notes = open_notes(argv[2]);
    bool blocking = strcmp(argv[1], "blocking") == 0;
    OK(ftc_comm_dup(world, &copy));
    OK(ftc_barrier(world));
    if (me == size - 1) {
        notes->still = getpid();
        OK(raise(SIGSTOP));
    }
    if (me == 0)
        revoke_in_time(notes, copy, blocking);
    else
        call(notes, copy, blocking);
    OK(ftc_comm_shrink(copy, &rest));
    MUST(ftc_size(rest) == size);
    OK(ftc_barrier(rest));
    OK(ftc_comm_free(&rest));
    OK(ftc_comm_free(&copy));
    OK(ftc_finalize(world));
    printf("lent_app: done\n");
    return 0;
}
