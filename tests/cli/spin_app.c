/* Rank 1 loops for ever in its own code. The other ranks wait for it in an allreduce. */
#include <ftcoll.h>
#include <stdint.h>
#include <stdio.h>

static volatile uint64_t turns;

__attribute__((noinline)) void turn_for_ever(void);
void turn_for_ever(void)
{
    while (turns < UINT64_MAX)
        turns++;
}

int main(void)
{
    int64_t one = 1, sum;
    ftc_comm *world;
    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    if (ftc_rank(world) == 1)
        turn_for_ever();
    int rc = ftc_allreduce(&one, &sum, 1, FTC_INT64, FTC_SUM, world);
    printf("not reached: %d\n", rc);
    return 1;
}
