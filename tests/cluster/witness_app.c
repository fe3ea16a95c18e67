/*
 * Ranks that say when each of them came to know of a death.
 *
 *   witness_app DEATHS [RANK]...
 *
 * DEATHS ranks kill themselves, one after the other, while all others wait for a message of the one
 * that dies. Then the others wait for a message of each RANK; somebody else has to end it. A rank
 * prints what it knows when all is over, so that the lines do not disturb what is measured.
 *
 * output, times in microseconds since 1970: "first TIME", after the first allreduce;
 *   "died NUMBER TIME"; "waiting NUMBER", when rank 0 waits for the death of a RANK;
 *   "knows NUMBER TIME"; "end SURVIVORS", the count of inputs of the last allreduce
 */
#include <ftcoll.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST_DEATHS 64
#define PAUSE_NS    250000000 /* until all others wait, and sleep while they do */

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void check(int rc, const char *call)
{
    if (rc == FTC_SUCCESS)
        return;
    fprintf(stderr, "witness_app: %s: %s\n", call, ftc_last_error());
    exit(1);
}

static int64_t count_ranks(ftc_comm *world)
{
    int64_t one = 1, sum;
    check(ftc_allreduce(&one, &sum, 1, FTC_INT64, FTC_SUM, world), "ftc_allreduce");
    return sum;
}

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static void die(int number)
{
    rest();
    printf("died %d %" PRId64 "\n", number, now_us());
    fflush(stdout);
    raise(SIGKILL);
}

/* Returns when this rank came to know of the death. */
static int64_t await_death(int victim, ftc_comm *world)
{
    char none;
    int rc = ftc_recv(&none, 1, FTC_UINT8, victim, 0, world, NULL);
    int64_t now = now_us();
    if (rc == FTC_ERR_RANK_FAILED)
        return now;
    fprintf(stderr, "witness_app: waiting for rank %d: %s\n", victim, ftc_strerror(rc));
    exit(1);
}

/* Victims are of different hosts as far as there are hosts, and rank 0 is none of them. */
static int victim_of(int number, int deaths, int ranks)
{
    return 1 + number * ((ranks - 1) / deaths);
}

int main(int argc, char **argv)
{
    int deaths = argc > 1 ? atoi(argv[1]) : 0, all = deaths + argc - 2;
    int64_t known[MOST_DEATHS];
    ftc_comm *world;

    check(ftc_init(NULL, &world), "ftc_init");
    if (deaths < 1 || all > MOST_DEATHS || deaths >= ftc_size(world))
        ftc_abort(world, 2);
    count_ranks(world);
    int64_t first = now_us();
    for (int i = 0; i < all; i++) {
        int victim =
            i < deaths ? victim_of(i, deaths, ftc_size(world)) : atoi(argv[2 + i - deaths]);
        count_ranks(world);
        if (i < deaths && victim == ftc_rank(world))
            die(i);
        if (i >= deaths && ftc_rank(world) == 0) {
            printf("waiting %d\n", i);
            fflush(stdout);
        }
        if (victim == ftc_rank(world))
            pause();
        known[i] = await_death(victim, world);
        rest(); /* all hosts share the processors of a machine with those that do not know yet */
    }
    int64_t survivors = count_ranks(world);
    printf("first %" PRId64 "\n", first);
    for (int i = 0; i < all; i++)
        printf("knows %d %" PRId64 "\n", i, known[i]);
    printf("end %" PRId64 "\n", survivors);
    check(ftc_finalize(world), "ftc_finalize");
    return 0;
}
