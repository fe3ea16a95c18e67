/* Calls of functions when no memory is left, for walk_app.c. */
#include "tests/man/walk.h"

#include <stdlib.h>
#include <sys/resource.h>

#define ROOM_LEFT ((rlim_t)1 << 20) /* bytes; less than the functions below ask for */

static void limit_to(rlim_t bytes)
{
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};

    MUST(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* Takes all of the address space, down to the last bytes. */
static void exhaust(void)
{
    limit_to(ROOM_LEFT);
    for (size_t size = (size_t)1 << 20; size >= 16; size /= 2)
        for (void *kept = malloc(size); kept != NULL; kept = malloc(size))
            *(volatile char *)kept = 1;
}

static void combine(const void *in, void *inout, size_t count, ftc_type type, void *arg)
{
    (void)in, (void)inout, (void)count, (void)type, (void)arg;
}

int walk_without_memory(long number)
{
    ftc_comm *world = NULL;
    ftc_op op = NULL;

    (void)number;
    exhaust();
    int init = ftc_init(NULL, &world), create = ftc_op_create(combine, NULL, &op);
    int ordered = ftc_op_create_ordered(combine, NULL, &op);
    limit_to(RLIM_INFINITY);
    walk_see(FTC_ERR_NOMEM, "ftc_init", init);
    walk_see(FTC_ERR_NOMEM, "ftc_op_create", create);
    walk_see(FTC_ERR_NOMEM, "ftc_op_create_ordered", ordered);
    return 0;
}

/* For a job of one rank: other ranks would wait for its answers meanwhile. */
int walk_requests_without_memory(ftc_comm *world, long number)
{
    struct forms forms;
    int codes[5];

    (void)number;
    exhaust();
    walk_start_forms(&forms, world);
    walk_messages_without_memory(world, codes);
    limit_to(RLIM_INFINITY);
    static const char *const names[5] = {"ftc_isend", "ftc_irecv", "ftc_issend", "ftc_mprobe",
                                         "ftc_improbe"};
    for (int i = 0; i < 5; i++)
        walk_see(FTC_ERR_NOMEM, names[i], codes[i]);
    walk_see_forms(&forms, FTC_ERR_NOMEM);
    SEE(FTC_SUCCESS, ftc_finalize, (world));
    return 0;
}

/* More values than there can be. ftcoll checks that only after it has found memory for them. */
int walk_gossip_without_memory(ftc_comm *world, long number)
{
    double in = 0, out = 0;

    (void)number;
    SEE(FTC_ERR_NOMEM, ftc_gossip_allreduce, (&in, &out, TOO_MANY, FTC_SUM, NULL, world));
    walk_blocks_without_memory(world);
    SEE(FTC_SUCCESS, ftc_finalize, (world));
    return 0;
}

int walk_no_memory_inside(ftc_comm *world, long number)
{
    double in = 0, out = 0;

    (void)number;
    ftc_allreduce(&in, &out, TOO_MANY, FTC_DOUBLE, FTC_SUM, world);
    return 98;
}
