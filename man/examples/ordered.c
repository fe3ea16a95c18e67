#include <ftcoll.h>
#include <stdio.h>

/* x becomes scale * x + shift. Such steps do not commute. */
struct step {
    double scale, shift;
};

/* inout[i]: first the step in[i], and then inout[i]. */
static void chain(const void *in, void *inout, size_t count,
                  ftc_type type, void *arg)
{
    const struct step *first = in;
    struct step *then = inout;

    (void)type;
    (void)arg;
    for (size_t i = 0; i < count; i++) {
        then[i].shift += then[i].scale * first[i].shift;
        then[i].scale *= first[i].scale;
    }
}

int main(void)
{
    ftc_comm *world;
    ftc_op op;
    ftc_type type;

    if (ftc_init(NULL, &world) != FTC_SUCCESS ||
        ftc_op_create_ordered(chain, NULL, &op) != FTC_SUCCESS ||
        ftc_type_create(sizeof(struct step), &type) != FTC_SUCCESS)
        return 1;
    int rank = ftc_rank(world);
    struct step step = {.scale = 2, .shift = rank};

    if (ftc_allreduce(FTC_IN_PLACE, &step, 1, type, op, world) !=
        FTC_SUCCESS) {
        fprintf(stderr, "rank %d: %s\n", rank, ftc_last_error());
        ftc_abort(world, 1);
    }
    printf("rank %d: 1 becomes %g\n", rank, step.scale + step.shift);
    ftc_op_free(&op);
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
