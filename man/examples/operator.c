#include <ftcoll.h>
#include <stdio.h>

/* Greatest common divisors, element by element. */
static void gcd(const void *in, void *inout, size_t count,
                ftc_type type, void *arg)
{
    const int64_t *a = in;
    int64_t *b = inout;

    (void)type;
    (void)arg;
    for (size_t i = 0; i < count; i++)
        for (int64_t x = a[i]; x != 0;) {
            int64_t rest = b[i] % x;
            b[i] = x;
            x = rest;
        }
}

int main(void)
{
    ftc_comm *world;
    ftc_op op;

    if (ftc_init(NULL, &world) != FTC_SUCCESS ||
        ftc_op_create(gcd, NULL, &op) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world);
    int64_t values[2] = {12 * (rank + 1), 7 + rank};

    if (ftc_allreduce(FTC_IN_PLACE, values, 2, FTC_INT64, op,
                      world) != FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("rank %d: %d and %d\n", rank, (int)values[0],
           (int)values[1]);
    ftc_op_free(&op);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
