/* The steps and checks of story.h. */
#include "story.h"

#include <stdlib.h>

uint64_t story_seed(void)
{
    const char *text = getenv("FTC_TEST_SEED");
    return text != NULL ? strtoull(text, NULL, 0) : 1;
}

struct ftc_cluster *story_begin(const struct ftc_member_settings *settings,
                                const struct ftc_program *program)
{
    return ftc_cluster_new(settings, program, story_seed());
}

void story_all_call(struct ftc_cluster *c)
{
    ftc_cluster_hold_calls(c);
    for (int rank = 0; rank < c->n; rank++) {
        if (c->process[rank].alive)
            ftc_cluster_do(c, ftc_cluster_call(c, rank));
    }
}

void story_kept(struct ftc_cluster *c)
{
    if (!ftc_cluster_broken(c))
        return;
    ftc_cluster_print(c);
    ck_abort_msg("seed %llu: %s", (unsigned long long)story_seed(), c->violation);
}

void story_finish(struct ftc_cluster *c)
{
    ftc_cluster_release_calls(c);
    ftc_cluster_finish(c);
    story_kept(c);
}

void story_expect(struct ftc_cluster *c, int op, int at, const char *value, const char *failed,
                  unsigned i, unsigned s)
{
    story_kept(c);
    ck_assert_msg(ftc_cluster_delivered(c, op, at), "rank %d has not delivered operation %d", at,
                  op);
    ck_assert_str_eq(ftc_cluster_value(c, op, at), value);
    ck_assert_str_eq(ftc_cluster_failed(c, op, at), failed);
    ck_assert_uint_eq(ftc_cluster_ballot(c, op, at).i, i);
    ck_assert_uint_eq(ftc_cluster_ballot(c, op, at).s, s);
}
