/*
 * The validate calls in a running job whose ranks die between count and fetch. validate.bats runs
 * it under ftrun with 7 ranks. Each survivor checks its own sets, and that all saw the same G.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ftcoll.h"
#include "node/segment/segment.h"

#define RANKS   7
#define FIRST   0 /* the coordinator dies first */
#define SECOND  3
#define THIRD   1
#define LIMIT_S 30

struct app {
    ftc_comm *world;
    struct ftc_segment *segment;
    int rank;
};

#define CHECK(app, condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            wrong(app, __LINE__, #condition);                                                      \
    } while (0)

static _Noreturn void wrong(const struct app *app, int line, const char *what)
{
    fprintf(stderr, "validate: rank %d, line %d: %s does not hold (%s)\n", app->rank, line, what,
            ftc_last_error());
    ftc_abort(app->world, 99);
    exit(99);
}

/* `victim` dies. The others return when their libraries have taken the notice in. */
static void die(const struct app *app, int victim, uint32_t failures)
{
    struct timespec nap = {.tv_nsec = 1000000};
    uint64_t limit = ftc_clock_now() + LIMIT_S * FTC_NS_PER_S;
    if (app->rank == victim)
        raise(SIGKILL);
    struct ftc_slot *slot = ftc_segment_slot(app->segment, app->rank);
    while (atomic_load(&slot->noticed) < failures) {
        CHECK(app, ftc_clock_now() < limit);
        nanosleep(&nap, NULL);
    }
}

/* The ranks whose state matches, as bits; `expected` of them must be there. */
static unsigned local_ranks(const struct app *app, int types, int expected)
{
    ftc_rank_info infos[RANKS];
    int count = -1;
    unsigned ranks = 0;
    CHECK(app, ftc_get_state_local(app->world, types, RANKS, &count, infos) == FTC_SUCCESS);
    CHECK(app, count == expected);
    for (int i = 0; i < count; i++)
        ranks |= 1u << infos[i].rank;
    return ranks;
}

static unsigned global_ranks(const struct app *app, int types, int expected)
{
    ftc_rank_info infos[RANKS];
    int count = -1;
    unsigned ranks = 0;
    CHECK(app, ftc_get_state_global(app->world, types, RANKS, &count, infos) == FTC_SUCCESS);
    CHECK(app, count == expected);
    for (int i = 0; i < count; i++)
        ranks |= 1u << infos[i].rank;
    return ranks;
}

/* Nobody has died yet, so the sets are empty. Then FIRST dies, and the sets stay empty until
 * validate_local. */
static void first_death(const struct app *app)
{
    int count = -1;
    CHECK(app, ftc_validate_global(app->world, &count) == FTC_SUCCESS && count == 0);
    CHECK(app, ftc_barrier(app->world) == FTC_SUCCESS);
    die(app, FIRST, 1);
    local_ranks(app, FTC_RANK_FAILED | FTC_RANK_NULL, 0);
    CHECK(app, local_ranks(app, FTC_RANK_OK, RANKS) == (1u << RANKS) - 1);
    CHECK(app, ftc_validate_local(app->world, &count) == FTC_SUCCESS && count == 1);
    CHECK(app, local_ranks(app, FTC_RANK_FAILED, 1) == 1u << FIRST);
    CHECK(app, local_ranks(app, FTC_RANK_FAILED | FTC_RANK_NEW, 1) == 1u << FIRST);
    local_ranks(app, FTC_RANK_FAILED | FTC_RANK_OLD, 0);
    global_ranks(app, FTC_RANK_NULL, 0); /* G has not changed */
}

/* SECOND dies between the call that counts and the one that fetches. The fetch gives what was
 * counted. */
static void second_death(const struct app *app)
{
    ftc_rank_info infos[RANKS];
    int count = -1, fetched = -1, first = FIRST, alive = SECOND;
    CHECK(app, ftc_barrier(app->world) == FTC_SUCCESS); /* SECOND has made its checks, too */
    CHECK(app, ftc_get_state_local(app->world, FTC_RANK_FAILED, 0, &count, NULL) == FTC_SUCCESS &&
                   count == 1);
    die(app, SECOND, 2);
    CHECK(app,
          ftc_get_state_local(app->world, FTC_RANK_FAILED, count, &fetched, infos) == FTC_SUCCESS);
    CHECK(app, fetched == 1 && infos[0].rank == FIRST && infos[0].state == FTC_RANK_FAILED);
    CHECK(app, ftc_recognize(app->world, 1, &alive) == FTC_ERR_ARG); /* SECOND is not in L yet */
    CHECK(app, ftc_recognize(app->world, 1, &first) == FTC_SUCCESS);
    CHECK(app, local_ranks(app, FTC_RANK_NULL, 1) == 1u << FIRST);
    CHECK(app, ftc_validate_local(app->world, &count) == FTC_SUCCESS && count == 2);
    CHECK(app, local_ranks(app, FTC_RANK_FAILED | FTC_RANK_NEW, 1) == 1u << SECOND);
    CHECK(app, local_ranks(app, FTC_RANK_NULL | FTC_RANK_OLD, 1) == 1u << FIRST);
    global_ranks(app, FTC_RANK_NULL, 0);
}

/* Checks that G is the same at every survivor: the minimum and the maximum of its bits over all are
 * the same. */
static void agree(const struct app *app, unsigned expected)
{
    int count = -1, dead = __builtin_popcount(expected);
    CHECK(app, ftc_validate_global(app->world, &count) == FTC_SUCCESS && count == dead);
    uint32_t mine = global_ranks(app, FTC_RANK_NULL, dead), least = 0, most = 0;
    CHECK(app, mine == expected);
    CHECK(app, local_ranks(app, FTC_RANK_NULL, dead) == expected); /* L := G, and G is recognised */
    CHECK(app, ftc_allreduce(&mine, &least, 1, FTC_UINT32, FTC_MIN, app->world) == FTC_SUCCESS);
    CHECK(app, ftc_allreduce(&mine, &most, 1, FTC_UINT32, FTC_MAX, app->world) == FTC_SUCCESS);
    CHECK(app, least == mine && most == mine);
}

/* "if L' = L before MPI_Comm_validate_local or MPI_Comm_validate_global was called, then
 * failed_array contains the list of processes in the set L - L'": THIRD is new once. */
static void third_death(const struct app *app)
{
    int count = -1;
    CHECK(app, ftc_barrier(app->world) == FTC_SUCCESS); /* THIRD has made its checks, too */
    die(app, THIRD, 3);
    for (int call = 0; call < 3; call++) {
        CHECK(app, ftc_validate_global(app->world, &count) == FTC_SUCCESS && count == 3);
        CHECK(app, local_ranks(app, FTC_RANK_NULL | FTC_RANK_NEW, call == 0) ==
                       (call == 0 ? 1u << THIRD : 0));
        global_ranks(app, FTC_RANK_NULL | FTC_RANK_NEW, call == 0);
        local_ranks(app, FTC_RANK_NULL | FTC_RANK_OLD, 3 - (call == 0));
    }
    CHECK(app, ftc_validate_local(app->world, &count) == FTC_SUCCESS && count == 3);
    local_ranks(app, FTC_RANK_FAILED | FTC_RANK_NULL | FTC_RANK_NEW, 0);
}

/* Ranks die, one by one, in the middle of validate_global. Every survivor counts the same, and what
 * a call adds to the sets is new in both. */
static void deaths_within(const struct app *app)
{
    CHECK(app, ftc_barrier(app->world) == FTC_SUCCESS); /* all have made their checks */
    for (int round = 0, before = 3; round < 3; round++) {
        int count = -1;
        int32_t least = 0, most = 0;
        if (app->rank == RANKS - 1 - round && round < 2)
            raise(SIGKILL); /* the other ranks are in the call, or soon will be */
        CHECK(app, ftc_validate_global(app->world, &count) == FTC_SUCCESS);
        CHECK(app, ftc_allreduce(&count, &least, 1, FTC_INT32, FTC_MIN, app->world) == FTC_SUCCESS);
        CHECK(app, ftc_allreduce(&count, &most, 1, FTC_INT32, FTC_MAX, app->world) == FTC_SUCCESS);
        CHECK(app, least == most && count >= before && count <= 5);
        CHECK(app, round < 2 || count == 5);
        local_ranks(app, FTC_RANK_NULL | FTC_RANK_NEW, count - before);
        global_ranks(app, FTC_RANK_NULL | FTC_RANK_NEW, count - before);
        before = count;
    }
}

int main(void)
{
    struct app app = {0};
    if (ftc_init(NULL, &app.world) != FTC_SUCCESS) {
        fprintf(stderr, "validate: %s\n", ftc_last_error());
        return 99;
    }
    app.rank = ftc_rank(app.world);
    CHECK(&app, ftc_size(app.world) == RANKS);
    CHECK(&app,
          getenv("FTCOLL_JOB_SEGMENT") != NULL &&
              ftc_segment_attach(&app.segment, getenv("FTCOLL_JOB_SEGMENT"), false) == FTC_SUCCESS);
    first_death(&app);
    second_death(&app);
    agree(&app, 1u << FIRST | 1u << SECOND);
    third_death(&app);
    deaths_within(&app);
    ftc_segment_detach(app.segment);
    CHECK(&app, ftc_finalize(app.world) == FTC_SUCCESS);
    return 0;
}
