/* Shrinking, shown on promises that no sound run keeps. For each promise the smallest run that
 * breaks it is known. */
#include <stdlib.h>
#include <string.h>

#include "sim/storm/draft.h"
#include "sim/storm/shrink.h"
#include "sim/storm/storm.h"
#include "tests/suite.h"

/* --- promises to break --- */

static uint64_t sent(const struct ftc_cluster *c, int kind)
{
    uint64_t all = 0;

    for (int op = 0; op < c->program->length; op++)
        all += ftc_cluster_sent(c, op, kind);
    return all;
}

static void nobody_pokes(struct ftc_cluster *c, void *arg)
{
    (void)arg;
    if (sent(c, FTC_MESSAGE_POKE) > 0)
        ftc_ledger_violate(c->ledger, "somebody pokes after %d steps", (int)c->steps);
}

static void nobody_pulls(struct ftc_cluster *c, void *arg)
{
    (void)arg;
    if (sent(c, FTC_MESSAGE_PULL) > 0)
        ftc_ledger_violate(c->ledger, "somebody pulls after %d steps", (int)c->steps);
}

/* The order of events matters: by age rank 0 would call first. */
static void rank_2_is_not_first(struct ftc_cluster *c, void *arg)
{
    (void)arg;
    if (c->n > 2 && ftc_ledger_called(c->ledger, 2) > 0 && ftc_ledger_called(c->ledger, 0) == 0 &&
        c->process[0].alive)
        ftc_ledger_violate(c->ledger, "rank 2 is ahead of rank 0");
}

/* Plays a failed assertion of the code under test. */
static void a_poke_kills(struct ftc_cluster *c, void *arg)
{
    (void)arg;
    if (sent(c, FTC_MESSAGE_POKE) > 0)
        abort();
}

/* --- storms that break them --- */

struct trial {
    const struct ftc_storm *storm;
    const struct ftc_promise *promise;
};

static void run(struct ftc_storm_record *record, void *arg)
{
    const struct trial *trial = arg;
    struct ftc_storm_sums sums = {0};

    ftc_storm_run(trial->storm, trial->promise, &sums, record, NULL, record->violation);
}

/* A decision goes down the tree. There a rank asks only if its parent dies. */
#define BY_TREE FTC_STORM_PIN_DISSEMINATION
#define ANY_WAY 0

/* Shrinks the next storm from *seed on that breaks the promise; `pinned` is not drawn. */
static struct ftc_shrunk shrink(const struct ftc_promise *promise, unsigned pinned, uint64_t *seed)
{
    struct ftc_storm_frame frame = {.settings = ftc_cluster_settings(1, 0), .pinned = pinned};
    struct ftc_storm_record *record = ftc_storm_record_new();
    struct ftc_storm storm;
    struct ftc_shrunk shrunk;
    struct trial trial = {&storm, promise};

    ck_assert_ptr_nonnull(record);
    do {
        ftc_storm_draw(&storm, &frame, ++*seed);
        ck_assert_int_eq(ftc_storm_record_try(record, run, &trial), FTC_SUCCESS);
    } while (record->violation[0] == '\0');
    struct ftc_program program = ftc_storm_program(&storm);
    ck_assert_int_eq(
        ftc_shrink(&shrunk, &storm.settings, &frame.settings, &program, record, promise),
        FTC_SUCCESS);
    ftc_storm_record_free(record);
    ck_assert_msg(shrunk.violation[0] != '\0', "seed %llu is not broken again",
                  (unsigned long long)*seed);
    return shrunk;
}

static char *text_of(const struct ftc_shrunk *shrunk)
{
    char *schedule = ftc_schedule_format(&shrunk->schedule),
         *operations = ftc_program_format(&shrunk->program);
    char *text = NULL;

    ck_assert_int_gt(asprintf(&text, "-n %d -f %d %s %s", shrunk->settings.ranks,
                              shrunk->settings.f, operations, schedule),
                     0);
    free(schedule);
    free(operations);
    return text;
}

/* A poke takes a dead coordinator, a rank to poke and a rank that pokes it, one operation, and no
 * losses. (If coordinators take turns, it may take one operation for each turn.) */
START_TEST(a_poke_shrinks_to_three_ranks)
{
    const struct ftc_promise promise = {.check = nobody_pokes};
    uint64_t seed = 0;

    for (int again = 0; again < 5; again++) {
        struct ftc_shrunk shrunk = shrink(&promise, BY_TREE | FTC_STORM_PIN_ROTATION, &seed);
        char *text = text_of(&shrunk);
        ck_assert_msg(shrunk.settings.ranks == 3 && shrunk.settings.f == 0 &&
                          shrunk.program.length == 1 && shrunk.schedule.crashes == 1 &&
                          shrunk.schedule.losses == 0 && shrunk.schedule.deviations == 0,
                      "seed %llu: %s", (unsigned long long)seed, text);
        ck_assert_int_eq(strncmp(shrunk.violation, "somebody pokes", 14), 0);
        ck_assert_ptr_nonnull(strstr(shrunk.trace, "sends POKE"));
        free(text);
        ftc_shrunk_fini(&shrunk);
    }
}
END_TEST

START_TEST(a_pull_shrinks_to_one_death)
{
    const struct ftc_promise promise = {.check = nobody_pulls};
    uint64_t seed = 0;

    for (int again = 0; again < 3; again++) {
        struct ftc_shrunk shrunk = shrink(&promise, BY_TREE, &seed);
        char *text = text_of(&shrunk);
        ck_assert_msg(shrunk.settings.ranks <= 4 && shrunk.program.length <= 3 &&
                          shrunk.schedule.crashes == 1 && shrunk.schedule.losses == 0,
                      "seed %llu: %s", (unsigned long long)seed, text);
        free(text);
        ftc_shrunk_fini(&shrunk);
    }
}
END_TEST

START_TEST(an_order_shrinks_to_one_deviation)
{
    const struct ftc_promise promise = {.check = rank_2_is_not_first};
    uint64_t seed = 0;

    for (int again = 0; again < 5; again++) {
        struct ftc_shrunk shrunk = shrink(&promise, ANY_WAY, &seed);
        char *text = text_of(&shrunk);
        ck_assert_msg(strcmp(text, "-n 3 -f 0 barrier --schedule 1:2") == 0, "seed %llu: %s",
                      (unsigned long long)seed, text);
        free(text);
        ftc_shrunk_fini(&shrunk);
    }
}
END_TEST

START_TEST(a_failed_assertion_shrinks_too)
{
    const struct ftc_promise promise = {.check = a_poke_kills};
    uint64_t seed = 0;
    struct ftc_shrunk shrunk = shrink(&promise, ANY_WAY, &seed);

    ck_assert_ptr_nonnull(strstr(shrunk.violation, "dies of signal 6"));
    ck_assert_int_eq(shrunk.settings.ranks, 3);
    ck_assert_int_eq(shrunk.program.length, 1);
    ck_assert_ptr_nonnull(strstr(shrunk.trace, "sends POKE"));
    ftc_shrunk_fini(&shrunk);
}
END_TEST

/* The same run always shrinks to the same smaller one. */
START_TEST(shrinking_is_deterministic)
{
    const struct ftc_promise promise = {.check = nobody_pulls};
    uint64_t first = 100, second = 100;
    struct ftc_shrunk a = shrink(&promise, ANY_WAY, &first), b = shrink(&promise, ANY_WAY, &second);
    char *text_a = text_of(&a), *text_b = text_of(&b);

    ck_assert_str_eq(text_a, text_b);
    ck_assert_str_eq(a.trace, b.trace);
    ck_assert_uint_eq(a.runs, b.runs);
    free(text_a);
    free(text_b);
    ftc_shrunk_fini(&a);
    ftc_shrunk_fini(&b);
}
END_TEST

/* Whatever is taken away, and however much at once, the rest is still a communicator. */
START_TEST(no_edit_makes_f_negative)
{
    struct ftc_member_settings plain = ftc_cluster_settings(1, 0);
    struct ftc_draft from = {.settings = ftc_cluster_settings(4, 1), .plain = &plain}, draft;

    ck_assert_int_eq(ftc_program_parse(&from.program, "allreduce,bcast:1", 4), FTC_SUCCESS);
    for (size_t e = 0; e < ftc_draft_edits_count; e++) {
        for (size_t size = 1; size <= 4 && ftc_draft_edits[e].count(&from) > 0; size++) {
            ck_assert_int_eq(ftc_draft_copy(&draft, &from), FTC_SUCCESS);
            bool legal = ftc_draft_edits[e].apply(&draft, 0, size);
            ck_assert_msg(!legal ||
                              (draft.settings.f >= 0 && draft.settings.f < draft.settings.ranks),
                          "edit %zu of %zu: f = %d", e, size, draft.settings.f);
            ftc_draft_fini(&draft);
        }
    }
    ftc_draft_fini(&from);
}
END_TEST

/* A rank that chance may miss must lose patience, or the replay is refused. */
START_TEST(no_edit_makes_ranks_wait_for_ever)
{
    struct ftc_member_settings plain = ftc_cluster_settings(1, 0);
    struct ftc_draft from = {.settings = ftc_cluster_settings(4, 1), .plain = &plain}, draft;
    int edits = 0;

    from.settings.dissemination = FTC_DISSEMINATION_GOSSIP;
    from.settings.correction = FTC_CORRECTION_CHECKED;
    from.settings.patience_ns = 0;
    ck_assert_int_eq(ftc_program_parse(&from.program, "barrier", 4), FTC_SUCCESS);
    for (size_t e = 0; e < ftc_draft_edits_count; e++)
        for (size_t first = 0; first < ftc_draft_edits[e].count(&from); first++) {
            ck_assert_int_eq(ftc_draft_copy(&draft, &from), FTC_SUCCESS);
            bool legal = ftc_draft_edits[e].apply(&draft, first, 1);
            ck_assert_msg(!legal || !ftc_storm_waits_for_ever(&draft.settings), "edit %zu of %zu",
                          first, e);
            edits += legal;
            ftc_draft_fini(&draft);
        }
    ck_assert_int_gt(edits, 0);
    ftc_draft_fini(&from);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("storm shrink");
    TCase *shrinking = tcase_create("shrinking");

    tcase_add_test(shrinking, a_poke_shrinks_to_three_ranks);
    tcase_add_test(shrinking, a_pull_shrinks_to_one_death);
    tcase_add_test(shrinking, an_order_shrinks_to_one_deviation);
    tcase_add_test(shrinking, a_failed_assertion_shrinks_too);
    tcase_add_test(shrinking, shrinking_is_deterministic);
    tcase_add_test(shrinking, no_edit_makes_f_negative);
    tcase_add_test(shrinking, no_edit_makes_ranks_wait_for_ever);
    suite_add_tcase(suite, shrinking);
    return test_suite_run(suite);
}
