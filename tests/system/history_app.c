/*
 * Ranks whose last operations history.bats looks at. Each has two threads, one in the world and one
 * in its copy "rows".
 *
 *   history_app busy     They call operations until they are killed. The first thread has two
 *                        requests under way, and makes and frees communicators.
 *   history_app stuck    Both wait for rank 2, which calls nothing more. A request is under way.
 */
#include <ftcoll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/clock.h"

static const int32_t one = 1;

static void must(int rc, const char *what)
{
    if (rc == FTC_SUCCESS)
        return;
    fprintf(stderr, "history_app: %s: %s\n", what, ftc_last_error());
    exit(99);
}

static void rest(void)
{
    test_nap(0.001);
}

static void sum(ftc_comm *comm)
{
    int32_t all = 0;

    must(ftc_allreduce(&one, &all, 1, FTC_INT32, FTC_SUM, comm), "allreduce");
}

static void *go_in_rows(void *rows)
{
    for (;;) {
        sum(rows);
        rest();
    }
    return NULL;
}

static void go_in_world(ftc_comm *world, int round)
{
    int32_t all[2];
    ftc_request *requests[2];
    ftc_comm *part;

    for (int i = 0; i < 2; i++)
        must(ftc_iallreduce(&one, &all[i], 1, FTC_INT32, FTC_SUM, world, &requests[i]), "start");
    must(ftc_wait_all(2, requests, NULL), "wait");
    must(ftc_barrier(world), "barrier");
    if (round % 16 == 0) {
        must(ftc_comm_split(world, 0, 0, &part), "split");
        must(ftc_comm_free(&part), "free");
    }
    rest();
}

static void *wait_in_rows(void *rows)
{
    sum(rows);
    return NULL;
}

static void stick(ftc_comm *world, ftc_comm *rows)
{
    int32_t all;
    ftc_comm *columns;
    ftc_request *request;
    pthread_t thread;

    must(ftc_comm_dup(world, &columns), "dup");
    must(ftc_comm_set_name(columns, "columns"), "name");
    if (ftc_rank(world) == 2)
        for (;;)
            pause();
    must(ftc_iallreduce(&one, &all, 1, FTC_INT32, FTC_SUM, columns, &request), "start");
    if (pthread_create(&thread, NULL, wait_in_rows, rows) != 0)
        exit(99);
    must(ftc_barrier(world), "barrier");
}

int main(int argc, char **argv)
{
    bool busy = argc == 2 && strcmp(argv[1], "busy") == 0;
    ftc_comm *world, *rows;
    pthread_t thread;

    must(ftc_init(NULL, &world), "init");
    must(ftc_comm_dup(world, &rows), "dup");
    must(ftc_comm_set_name(rows, "rows"), "name");
    if (!busy)
        stick(world, rows);
    if (pthread_create(&thread, NULL, go_in_rows, rows) != 0)
        return 99;
    for (int round = 0;; round++)
        go_in_world(world, round);
}
