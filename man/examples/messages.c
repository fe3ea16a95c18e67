#include <ftcoll.h>
#include <stdio.h>

enum { MOST = 1024 };

/* Recognises failures. Returns how many answers will not come. */
static int give_up(ftc_comm *world, int awaited[])
{
    static ftc_rank_info infos[MOST];
    int count = 0, lost = 0;

    int rc = ftc_validate_local(world, &count);
    if (rc == FTC_SUCCESS)
        rc = ftc_get_state_local(world, FTC_RANK_FAILED, MOST,
                                 &count, infos);
    if (rc != FTC_SUCCESS)
        ftc_abort(world, 1);
    for (int i = 0; i < count; i++) {
        int rank = infos[i].rank;
        lost += awaited[rank];
        awaited[rank] = 0;
        ftc_recognize(world, 1, &rank);
    }
    return lost;
}

/* Rank 0 hands out numbers, and adds up their squares. It goes on
 * without ranks that die. */
static void hand_out(ftc_comm *world)
{
    static int awaited[MOST];
    int left = 0;
    double sum = 0, square = 0;

    for (int to = 1; to < ftc_size(world); to++) {
        double number = to;
        int rc = ftc_send(&number, 1, FTC_DOUBLE, to, 0, world);
        awaited[to] = rc == FTC_SUCCESS;
        left += awaited[to];
    }
    while (left > 0) {
        ftc_status status;
        int rc = ftc_recv(&square, 1, FTC_DOUBLE, FTC_ANY_RANK, 0,
                          world, &status);
        if (rc == FTC_ERR_RANK_FAILED) {
            left -= give_up(world, awaited);
        } else if (rc == FTC_SUCCESS) {
            printf("rank %d sent %g\n", status.rank, square);
            left -= awaited[status.rank];
            awaited[status.rank] = 0;
            sum += square;
        } else {
            ftc_abort(world, 1);
        }
    }
    printf("the sum is %g\n", sum);
}

int main(void)
{
    ftc_comm *world;
    double number = 0;

    if (ftc_init(NULL, &world) != FTC_SUCCESS)
        return 1;
    if (ftc_rank(world) == 0) {
        hand_out(world);
    } else if (ftc_recv(&number, 1, FTC_DOUBLE, 0, 0, world, NULL) ==
               FTC_SUCCESS) {
        number *= number;
        ftc_send(&number, 1, FTC_DOUBLE, 0, 0, world);
    }
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
