/*
 * Ranks that make communicators and give them up, run by ftrun with 6 ranks: groups_app STORY.
 * Each story is described at the function that plays it. A survivor that comes to the end prints
 * "rank R: well". If something is not as it should be, the process ends with 99.
 */
#include <ftcoll.h>

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/runtime/groups_calls.h"
#include "tests/runtime/own_memory.h"

#define MANY      1000
#define LOOPS     4000 /* creations of the loop, unless GROUPS_LOOPS says another number */
#define GROWTH_KB 2048

static void die(void)
{
    raise(SIGKILL);
}

/* --- the stories --- */

static void look_at_names(ftc_comm *a, ftc_comm *b)
{
    int64_t least[2] = {number_of(a), number_of(b)}, greatest[2] = {least[0], least[1]};

    MUST(strcmp(ftc_comm_name(world), "world") == 0);
    MUST(ftc_allreduce(FTC_IN_PLACE, least, 2, FTC_INT64, FTC_MIN, a) == FTC_SUCCESS);
    MUST(ftc_allreduce(FTC_IN_PLACE, greatest, 2, FTC_INT64, FTC_MAX, a) == FTC_SUCCESS);
    MUST(least[0] == greatest[0] && least[1] == greatest[1] && least[0] != least[1]);
    MUST(ftc_comm_set_name(a, "rows") == FTC_SUCCESS && strcmp(ftc_comm_name(a), "rows") == 0);
    MUST(ftc_comm_set_name(a, "a name of more than thirty-one bytes") == FTC_SUCCESS);
    MUST(strcmp(ftc_comm_name(a), "a name of more than thirty-one ") == 0);
    MUST(strcmp(ftc_comm_name(b), "rows") != 0);
}

/* Nobody dies. The even ranks and the odd ones count backwards, but for ranks 0 and 3, which are in
 * no part. */
static void shapes(void)
{
    static const int all[] = {0, 1, 2, 3, 4, 5}, odd[] = {5, 1}, even[] = {4, 2};
    ftc_comm *copy = copy_of(world);
    ftc_comm *part = part_of(copy, me % 3 == 0 ? FTC_UNDEFINED : me % 2, -me);

    consists_of(copy, RANKS, all);
    if (part != NULL) {
        consists_of(part, 2, me % 2 == 1 ? odd : even);
        ftc_comm *inner = copy_of(part);
        consists_of(inner, 2, me % 2 == 1 ? odd : even);
        look_at_names(part, inner);
        give_up(inner);
    }
    consists_of(copy, RANKS, all);
    consists_of(part_of(world, 0, me % 2), RANKS, (const int[]){0, 2, 4, 1, 3, 5});
    MUST(ftc_comm_translate(world, RANKS, copy) == FTC_ERR_ARG);
    MUST(ftc_comm_free(&(ftc_comm *){world}) == FTC_ERR_ARG);
    MUST(ftc_finalize(copy) == FTC_ERR_ARG);
}

/* Rank 2 dies. It has failed in all communicators that have it, and is in none that is made later,
 * but for copies. Rank 4 dies in a shrunk one. */
static void deaths(void)
{
    static const int rest_ranks[] = {0, 1, 3, 4, 5}, last_ranks[] = {0, 1, 3, 5};
    ftc_comm *copy = copy_of(world), *part = part_of(world, me % 2, me);
    uint64_t left = EVERYBODY & ~BIT(2), of_part = me % 2 == 1 ? 052 : 025;

    if (me == 2)
        die();
    MUST(present(copy) == left && failed(copy) == BIT(2));
    MUST(present(part) == (of_part & left) && failed(part) == (of_part & BIT(2)));
    MUST(present(world) == left && failed(world) == BIT(2));
    ftc_comm *later = copy_of(world);
    int dead = -1; /* in G of the copy, before its first operation */
    MUST(ftc_get_state_global(later, FTC_RANK_NULL, 0, &dead, NULL) == FTC_SUCCESS && dead == 1);
    MUST(ftc_size(later) == RANKS && present(later) == left && failed(later) == BIT(2));
    consists_of(part_of(world, 7, 0), RANKS - 1, rest_ranks);
    ftc_comm *rest = survivors_of(copy);
    consists_of(rest, RANKS - 1, rest_ranks);
    MUST(ftc_comm_translate(copy, 2, world) == 2);
    if (me == 4)
        die();
    MUST(present(rest) == (left & ~BIT(4)) && failed(rest) == BIT(4));
    ftc_comm *last = survivors_of(rest);
    consists_of(last, RANKS - 2, last_ranks);
    give_up(rest);
    MUST(present(world) == (left & ~BIT(4)));
    consists_of(last, RANKS - 2, last_ranks);
}

/* By which algorithm its last operation ran. */
static const char *way_of(ftc_comm *comm)
{
    ftc_report report = {.struct_size = sizeof(report)};

    MUST(ftc_last_report(comm, &report) == FTC_SUCCESS);
    return report.algorithm;
}

static bool same_way(ftc_comm *comm)
{
    MUST(present(comm) == EVERYBODY && present(world) == EVERYBODY);
    return strcmp(way_of(comm), way_of(world)) == 0;
}

/* Where the world goes over two levels, so do communicators in which the ranks of a node follow one
 * another, in whatever order. On one node all have a board. */
static void ways(void)
{
    static const int turned[] = {4, 5, 3, 1, 0, 2};
    int place = 0;

    bool nodes = present(world) == EVERYBODY && strcmp(way_of(world), "levels") == 0;
    while (turned[place] != me)
        place++;
    ftc_comm *backwards = part_of(world, 0, -me), *swapped = part_of(world, 0, place);
    ftc_comm *mixed = part_of(world, 0, me % 2), *some = part_of(world, me == 1, me);

    consists_of(swapped, RANKS, turned);
    MUST(same_way(backwards) && same_way(swapped) && same_way(copy_of(swapped)));
    MUST(same_way(mixed) != nodes);
    if (me != 1) {
        MUST(present(some) == (EVERYBODY & ~BIT(1)));
        MUST(!nodes || strcmp(way_of(some), "levels") == 0);
    }
}

/* In a communicator that counts backwards ranks die as FTCOLL_TEST_DIE says. On two nodes of three
 * ranks each, the delegates are ranks 5 and 2. */
static void delegates(void)
{
    ftc_comm *backwards = part_of(world, 0, -me);

    for (int i = 0; i < 40; i++) {
        uint64_t root = 1, here = present(backwards);
        MUST((here | failed(backwards)) == EVERYBODY);
        int rc = ftc_bcast(&root, 1, FTC_UINT64, i % RANKS, backwards);
        MUST(rc == FTC_SUCCESS || rc == FTC_ERR_ROOT_FAILED);
    }
    give_up(backwards);
}

/* Rank 1 frees a communicator in which the others call an operation: the job ends. */
static void leaves(void)
{
    ftc_comm *copy = copy_of(world);

    MUST(present(copy) == EVERYBODY);
    MUST(me == 1 || present(copy) == 0); /* this call does not return */
    give_up(copy);
    (void)ftc_barrier(world);
}

/* There are files where the ranks of a copy that are the lowest of their node want their memory. So
 * one rank at least lacks it, and all go by messages. */
static void lacks(void)
{
    glob_t segments;

    MUST(glob("/dev/shm/ftcoll-*", 0, NULL, &segments) == 0);
    for (size_t i = 0; me == 0 && i < segments.gl_pathc; i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s.%llx.%d", segments.gl_pathv[i], (1ull << 24) + RANKS - 1,
                 i == 0 ? 0 : RANKS / 2);
        int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
        MUST(fd >= 0 && write(fd, "no", 2) == 2 && close(fd) == 0);
    }
    globfree(&segments);
    MUST(present(world) == EVERYBODY);
    ftc_comm *copy = copy_of(world);
    MUST(strcmp(ftc_comm_name(copy), "1.5") == 0 && present(copy) == EVERYBODY);
    MUST(strcmp(way_of(copy), "board") != 0 && strcmp(way_of(copy), "levels") != 0);
    MUST(present(copy_of(copy)) == EVERYBODY && present(copy) == EVERYBODY);
    give_up(copy);
}

/* The listed ranks alone make a group. Rank 2 is in two of them. Rank 3 dies, and the others of a
 * group that lists it go on. */
static void groups(void)
{
    static const int low[] = {0, 1, 2}, high[] = {4, 3, 2}, pair[] = {5, 0}, holed[] = {4, 3, 1};
    ftc_comm *a = group_of(world, 3, low, 5), *b = group_of(world, 3, high, 5);
    ftc_comm *c = group_of(world, 2, pair, -1), *d = group_of(world, 2, pair, 9);

    if (c != NULL) {
        consists_of(d, 2, pair);
        consists_of(c, 2, pair);
        MUST(number_of(c) != number_of(d));
    }
    if (a != NULL)
        consists_of(a, 3, low);
    if (b != NULL)
        consists_of(b, 3, high);
    for (int tag = 0; a != NULL && tag < 100; tag++) {
        ftc_comm *again = group_of(world, 3, low, tag % 3);
        consists_of(again, 3, low);
        give_up(again);
    }
    if (me == 3)
        die();
    ftc_comm *e = group_of(world, 3, holed, 0);
    if (e != NULL)
        consists_of(e, 2, (const int[]){4, 1});
    MUST(present(world) == (EVERYBODY & ~BIT(3)));
}

/* A group of all is made while a copy is under way. Ranks start the two in different orders, so
 * neither may wait for the other one. The sums before them are on the board, where there is one. */
static void beside_requests(void)
{
    static const int all[RANKS] = {0, 1, 2, 3, 4, 5};
    ftc_request *requests[2] = {NULL};
    ftc_comm *copy = NULL, *group = NULL;
    uint64_t sum = 0, own = BIT(me);

    for (int i = 0; i < 50; i++) {
        if (me % 2 == 0)
            group = group_of(world, RANKS, all, 7);
        MUST(ftc_iallreduce(&own, &sum, 1, FTC_UINT64, FTC_BOR, world, &requests[0]) ==
             FTC_SUCCESS);
        MUST(ftc_comm_idup(world, &copy, &requests[1]) == FTC_SUCCESS);
        if (me % 2 == 1)
            group = group_of(world, RANKS, all, 7);
        MUST(ftc_wait_all(2, requests, NULL) == FTC_SUCCESS && sum == EVERYBODY);
        consists_of(copy, RANKS, all);
        consists_of(group, RANKS, all);
        give_up(copy);
        give_up(group);
    }
}

/* Each rank frees in an order of its own, and the others go on meanwhile. Some communicators are
 * left to ftc_finalize(). */
static void frees(void)
{
    ftc_comm *some[RANKS + 1], *early = copy_of(world);

    for (int i = 0; i <= RANKS; i++) {
        some[i] = copy_of(i == 0 ? world : some[i - 1]);
        MUST(present(some[i]) == EVERYBODY);
    }
    if (me % 2 == 1)
        give_up(early);
    for (int i = 0; i < RANKS; i++) {
        give_up(some[(i + me) % RANKS]);
        MUST(present(some[RANKS]) == EVERYBODY);
    }
    for (int i = 0; i < 50; i++)
        MUST(present(i % 2 == 0 ? world : some[RANKS]) == EVERYBODY);
    if (me % 2 == 0)
        give_up(early);
    MUST(present(some[RANKS]) == EVERYBODY);
}

static int barrier_or_sum(ftc_comm *comm)
{
    uint64_t bits = BIT(me);

    return ftc_allreduce(FTC_IN_PLACE, &bits, 1, FTC_UINT64, FTC_BOR, comm);
}

static void is_revoked(ftc_comm *comm)
{
    ftc_comm *copy = NULL;
    int count = -1;

    MUST(ftc_barrier(comm) == FTC_ERR_REVOKED);
    MUST(ftc_comm_dup(comm, &copy) == FTC_ERR_REVOKED && copy == NULL);
    MUST(barrier_or_sum(comm) == FTC_ERR_REVOKED);
    MUST(ftc_validate_local(comm, &count) == FTC_SUCCESS);
    MUST(ftc_size(comm) == RANKS && ftc_comm_translate(comm, 0, world) == 0);
}

static void *revoke_soon(void *comm)
{
    usleep(100000); /* so that the others mostly wait */
    MUST(ftc_comm_revoke(comm) == FTC_SUCCESS);
    return NULL;
}

/* Rank 1 revokes what the others wait in. Then a thread revokes what its process waits in. */
static void revokes(void)
{
    ftc_comm *first = copy_of(world), *second = copy_of(world);
    pthread_t thread;

    if (me == 1)
        revoke_soon(first);
    else
        MUST(barrier_or_sum(first) == FTC_ERR_REVOKED);
    is_revoked(first);
    ftc_comm *rest = survivors_of(first);
    MUST(ftc_size(rest) == RANKS && present(rest) == EVERYBODY);
    give_up(first);
    if (me == 0)
        MUST(pthread_create(&thread, NULL, revoke_soon, second) == 0);
    if (me != 1)
        MUST(barrier_or_sum(second) == FTC_ERR_REVOKED);
    MUST(present(rest) == EVERYBODY);
    is_revoked(second);
    if (me == 0)
        pthread_join(thread, NULL);
    MUST(ftc_comm_revoke(second) == FTC_SUCCESS);
    MUST(present(world) == EVERYBODY);
}

/* Rank 1 dies as soon as it has revoked. Whatever the others have got, they come together. */
static void revokes_and_dies(void)
{
    static const int rest_ranks[] = {0, 2, 3, 4, 5};
    ftc_comm *work = copy_of(world);

    if (me == 1) {
        MUST(ftc_comm_revoke(work) == FTC_SUCCESS);
        die();
    }
    int rc = barrier_or_sum(work);
    MUST(rc == FTC_SUCCESS || rc == FTC_ERR_REVOKED);
    ftc_comm *rest = survivors_of(work);
    consists_of(rest, RANKS - 1, rest_ranks);
    give_up(work);
    MUST(present(world) == (EVERYBODY & ~BIT(1)));
}

/* Do all that live have the same number? */
static bool is_same(uint32_t mine)
{
    uint32_t both[2] = {mine, ~mine};

    MUST(ftc_allreduce(FTC_IN_PLACE, both, 2, FTC_UINT32, FTC_BAND, world) == FTC_SUCCESS);
    return both[0] == mine && both[1] == ~mine;
}

/* Rank 1 dies as soon as it has revoked, before it agrees. One may have agreed without it when the
 * others learn of the revoke. */
static void revokes_and_agrees(void)
{
    ftc_comm *work = copy_of(world);
    ftc_request *request = NULL;
    int flag = 0xff & ~(1 << me), again = me;

    if (me == 1) {
        MUST(ftc_comm_revoke(work) == FTC_SUCCESS);
        die();
    }
    int rc = ftc_agree(work, &flag);
    MUST(rc == FTC_ERR_RANK_FAILED && is_same((uint32_t)flag) && (flag & 0x3d) == 0);
    MUST(ftc_barrier(work) == FTC_ERR_REVOKED);
    MUST(ftc_iagree(work, &again, &request) == FTC_SUCCESS);
    MUST(ftc_wait(&request, NULL) == FTC_ERR_RANK_FAILED && again == 0);
    int failed = 0, recognized = 1;
    MUST(ftc_validate_global(work, &failed) == FTC_SUCCESS && failed == 1);
    MUST(ftc_agree(work, &recognized) == FTC_SUCCESS && recognized == 1);
    give_up(work);
    MUST(present(world) == (EVERYBODY & ~BIT(1)));
}

/* A request is under way when rank 0 revokes. It goes on. */
static void agrees_on(void)
{
    ftc_comm *work = copy_of(world);
    ftc_request *sum = NULL, *agree = NULL;
    int32_t value = 1;
    int flag = 7;

    MUST(ftc_iallreduce(FTC_IN_PLACE, &value, 1, FTC_INT32, FTC_SUM, work, &sum) == FTC_SUCCESS);
    MUST(ftc_iagree(work, &flag, &agree) == FTC_SUCCESS);
    if (me == 0)
        MUST(ftc_comm_revoke(work) == FTC_SUCCESS);
    int rc = ftc_wait(&sum, NULL);
    MUST(rc == FTC_SUCCESS || rc == FTC_ERR_REVOKED);
    MUST(ftc_wait(&agree, NULL) == FTC_SUCCESS && flag == 7);
    give_up(work);
    MUST(present(world) == EVERYBODY);
}

/* The world itself is revoked, and one goes on in what is shrunk from it. */
static void revokes_world(void)
{
    ftc_comm *kept = copy_of(world);

    MUST(present(kept) == EVERYBODY); /* so all have their copy, and are out of the dup */
    if (me == 5)
        MUST(ftc_comm_revoke(world) == FTC_SUCCESS);
    is_revoked(world);
    ftc_comm *rest = survivors_of(world);
    MUST(present(rest) == EVERYBODY && present(kept) == EVERYBODY);
}

static void *create_and_sum(void *comm)
{
    for (int i = 0; i < 300; i++) {
        ftc_comm *copy = copy_of(comm);
        MUST(present(copy) == EVERYBODY && present(comm) == EVERYBODY);
        give_up(copy);
    }
    return NULL;
}

/* Two threads use two communicators at the same time. */
static void threads(void)
{
    ftc_comm *other = copy_of(world);
    pthread_t thread;

    MUST(pthread_create(&thread, NULL, create_and_sum, other) == 0);
    create_and_sum(world);
    MUST(pthread_join(thread, NULL) == 0);
}

/* A thousand communicators live at once. */
static void many(void)
{
    static ftc_comm *all[MANY];

    for (int i = 0; i < MANY; i++)
        all[i] = i % 2 == 0 ? copy_of(world) : part_of(world, me % 2, me);
    for (int i = 0; i < MANY; i++)
        MUST(present(all[i]) == (i % 2 == 0 ? EVERYBODY : (uint64_t)(me % 2 == 1 ? 052 : 025)));
    for (int i = MANY - 1; i >= 0; i -= 2)
        give_up(all[i]);
    MUST(present(all[0]) == EVERYBODY && present(all[MANY - 2]) == EVERYBODY);
}

/* Communicators that come and go leave no memory behind, and use that of those before them. */
static void loop(void)
{
    const char *given = getenv("GROUPS_LOOPS");
    int loops = given != NULL ? atoi(given) : LOOPS, warm = loops / 4; /* has all memory by then */
    long before = 0;
    uint64_t files = 0;

    for (int i = 0; i < loops; i++) {
        ftc_comm *comm = i % 2 == 0 ? copy_of(world) : part_of(world, 0, -me);
        if (i % 8 == 0)
            MUST(present(comm) == EVERYBODY);
        give_up(comm);
        if (i == warm)
            before = resident_kb(), files = mapped_files();
    }
    MUST(before > 0 && files > 0 && mapped_files() == files);
    long grown = resident_kb() - before;
    printf("rank %d: %ld kB after %d creations, %ld kB more after %d\n", me, before, warm, grown,
           loops);
    MUST(grown <= GROWTH_KB);
}

static void *come_first(void *comm)
{
    int rc;

    do
        rc = ftc_barrier(comm);
    while (rc == FTC_ERR_STATE); /* the main thread looks whether this one is in the call */
    MUST(rc == FTC_SUCCESS);
    return NULL;
}

/* Rank 0 cannot finalize while a thread of it is in a call, and nothing is lost by the attempt. */
static void finalizes_early(void)
{
    ftc_comm *first = copy_of(world), *second = copy_of(world), *third = copy_of(world);
    pthread_t thread;

    if (me == 0) {
        MUST(pthread_create(&thread, NULL, come_first, second) == 0);
        while (ftc_comm_set_name(second, "in a call") != FTC_ERR_STATE)
            usleep(1000);
        MUST(ftc_finalize(world) == FTC_ERR_STATE);
    }
    MUST(present(world) == EVERYBODY && present(first) == EVERYBODY);
    MUST(present(third) == EVERYBODY);
    if (me == 0)
        MUST(pthread_join(thread, NULL) == 0);
    else
        come_first(second);
}

static void path_of_note(char *path, size_t size)
{
    snprintf(path, size, "%s/revoked-often", getenv("TMPDIR"));
}

static void *revoke_often(void *comm)
{
    char path[512];

    for (int i = 0; i < 60; i++) {
        usleep(5000);
        MUST(ftc_comm_revoke(comm) == FTC_SUCCESS);
    }
    path_of_note(path, sizeof(path));
    FILE *note = fopen(path, "w");
    MUST(note != NULL && fclose(note) == 0);
    return NULL;
}

/* A thread of rank 0 revokes the world before and while its process finalizes. Rank 1 finalizes
 * after that, so that the world is there all the time. */
static void revokes_at_the_end(void)
{
    char path[512];
    pthread_t thread;

    path_of_note(path, sizeof(path));
    if (me == 0)
        MUST(pthread_create(&thread, NULL, revoke_often, world) == 0 &&
             pthread_detach(thread) == 0);
    while (me == 1 && unlink(path) != 0)
        usleep(1000);
}

static const struct {
    const char *name;
    void (*play)(void);
} stories[] = {
    {"shapes", shapes},
    {"deaths", deaths},
    {"groups", groups},
    {"beside-requests", beside_requests},
    {"frees", frees},
    {"revokes", revokes},
    {"revokes-and-dies", revokes_and_dies},
    {"revokes-and-agrees", revokes_and_agrees},
    {"agrees-on", agrees_on},
    {"threads", threads},
    {"revokes-world", revokes_world},
    {"finalizes-early", finalizes_early},
    {"revokes-at-the-end", revokes_at_the_end},
    {"many", many},
    {"loop", loop},
    {"ways", ways},
    {"delegates", delegates},
    {"leaves", leaves},
    {"lacks", lacks},
};

int main(int argc, char **argv)
{
    if (argc != 2 || ftc_init(NULL, &world) != FTC_SUCCESS) {
        fprintf(stderr, "usage: ftrun -np %d groups_app STORY; %s\n", RANKS, ftc_last_error());
        return 2;
    }
    me = ftc_rank(world);
    MUST(ftc_size(world) == RANKS);
    for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
        if (strcmp(stories[i].name, argv[1]) == 0)
            stories[i].play();
    MUST(ftc_finalize(world) == FTC_SUCCESS);
    printf("rank %d: well\n", me);
    return 0;
}
