/* One storm: the same seed is the same run. Pinned values are not drawn. A record is enough to
 * replay the run. */
#include <stdlib.h>
#include <string.h>

#include "sim/storm/storm.h"
#include "tests/suite.h"

static struct ftc_storm_frame any(void)
{
    return (struct ftc_storm_frame){.settings = ftc_cluster_settings(1, 0)};
}

static char *log_of(const struct ftc_storm_frame *frame, uint64_t seed)
{
    struct ftc_storm storm;
    struct ftc_storm_sums sums = {0};
    char violation[FTC_SCHEDULE_TEXT];
    char *text = NULL;
    size_t size;
    FILE *log = open_memstream(&text, &size);

    ck_assert_ptr_nonnull(log);
    ftc_storm_draw(&storm, frame, seed);
    ck_assert_msg(ftc_storm_run(&storm, NULL, &sums, NULL, log, violation), "seed %llu: %s",
                  (unsigned long long)seed, violation);
    ck_assert_uint_eq(sums.runs, 1);
    fclose(log);
    return text;
}

START_TEST(the_same_seed_is_the_same_run)
{
    struct ftc_storm_frame frame = any();
    int different = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        char *once = log_of(&frame, seed), *again = log_of(&frame, seed),
             *other = log_of(&frame, seed + 1);
        ck_assert_str_eq(once, again);
        different += strcmp(once, other) != 0;
        free(once);
        free(again);
        free(other);
    }
    ck_assert_int_eq(different, 20);
}
END_TEST

/* Logging or recording a run does not change it. */
START_TEST(watching_changes_nothing)
{
    struct ftc_storm_frame frame = any();
    struct ftc_storm_record *record = ftc_storm_record_new();

    ck_assert_ptr_nonnull(record);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct ftc_storm storm;
        struct ftc_storm_sums plain = {0}, recorded = {0};
        char violation[FTC_SCHEDULE_TEXT];
        ftc_storm_draw(&storm, &frame, seed);
        ck_assert(ftc_storm_run(&storm, NULL, &plain, NULL, NULL, violation));
        record->events = record->deviations = record->crashes = record->losses = 0;
        ck_assert(ftc_storm_run(&storm, NULL, &recorded, record, NULL, violation));
        ck_assert_mem_eq(&plain, &recorded, sizeof(plain));
        ck_assert_uint_eq(record->events, plain.steps);
        ck_assert_uint_eq(record->crashes, plain.deaths);
    }
    ftc_storm_record_free(record);
}
END_TEST

START_TEST(what_is_pinned_is_not_drawn)
{
    struct ftc_storm_frame frame = any();
    int lists = 0;

    frame.least = frame.most = 7;
    frame.pinned = FTC_STORM_PIN_F | FTC_STORM_PIN_SCHEME | FTC_STORM_PIN_PREPARE;
    frame.settings.f = 5;
    frame.settings.scheme = FTC_SCHEME_BIT;
    frame.settings.prepare = FTC_PREPARE_TREE;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct ftc_storm storm;
        ftc_storm_draw(&storm, &frame, seed);
        ck_assert_int_eq(storm.settings.ranks, 7);
        ck_assert_int_eq(storm.settings.f, 5);
        ck_assert_int_eq(storm.settings.scheme, FTC_SCHEME_BIT);
        ck_assert_int_eq(storm.settings.prepare, FTC_PREPARE_TREE);
        lists += storm.settings.correction == FTC_CORRECTION_NONE;
    }
    ck_assert_int_gt(lists, 0);
    ck_assert_int_lt(lists, 100);
}
END_TEST

START_TEST(ranks_fit_what_is_given)
{
    struct ftc_storm_frame frame = any();
    struct ftc_program program;

    ck_assert_int_eq(ftc_program_parse(&program, "bcast:5,allreduce", 6), FTC_SUCCESS);
    frame.program = &program;
    frame.pinned = FTC_STORM_PIN_F;
    frame.settings.f = 3;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct ftc_storm storm;
        ftc_storm_draw(&storm, &frame, seed);
        ck_assert_int_ge(storm.settings.ranks, 6);
        ck_assert_ptr_eq(ftc_storm_program(&storm).operation, program.operation);
    }
    ftc_program_fini(&program);
}
END_TEST

/* The number of ranks ends where a record has no more room. */
START_TEST(ranks_end_where_records_do)
{
    struct ftc_storm_frame frame = any();

    frame.pinned = FTC_STORM_PIN_F;
    frame.settings.f = FTC_SCHEDULE_RANKS - 1;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct ftc_storm storm;
        ftc_storm_draw(&storm, &frame, seed);
        ck_assert_int_eq(storm.settings.ranks, FTC_SCHEDULE_RANKS);
    }
}
END_TEST

/* No int holds the estimates of events. */
START_TEST(the_longest_program_has_its_deaths_drawn)
{
    struct ftc_storm_frame frame = any();
    struct ftc_program program;

    ck_assert_int_eq(ftc_program_parse(&program, "barrier*1000000", 1), FTC_SUCCESS);
    frame.program = &program;
    frame.least = frame.most = FTC_SCHEDULE_RANKS;
    frame.pinned = FTC_STORM_PIN_F;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct ftc_storm storm;
        frame.settings.f = seed % 2 ? 1021 : FTC_SCHEDULE_RANKS - 1; /* gives 4 * 2^32 and more */
        ftc_storm_draw(&storm, &frame, seed);
        for (int d = 0; d < storm.dooms; d++)
            ck_assert_int_gt(storm.doom[d].nth, 0);
        for (int c = 0; c < storm.crashes; c++)
            ck_assert_uint_lt(storm.crash[c].step, INT32_MAX);
    }
    ftc_program_fini(&program);
}
END_TEST

static void deaths_of(const struct ftc_storm_record *record, struct ftc_schedule *to)
{
    const struct ftc_schedule deaths = {.crash = (struct ftc_schedule_crash *)record->crash,
                                        .loss = (struct ftc_schedule_loss *)record->loss,
                                        .crashes = record->crashes,
                                        .losses = record->losses};
    ck_assert_int_eq(ftc_schedule_copy(to, &deaths), FTC_SUCCESS);
}

/* Copies into `to` what one rank sent and delivered, in order, as lines without their step. */
static void outputs_of(const char *log, int rank, char *to)
{
    char name[20];

    snprintf(name, sizeof(name), "rank %-3d ", rank);
    *to = '\0';
    for (const char *line = log; *line != '\0';) {
        const char *end = strchr(line, '\n') + 1;
        const char *sends = strstr(line, "    sends"), *delivers = strstr(line, "    delivers");
        bool output = (sends != NULL && sends < end) || (delivers != NULL && delivers < end);
        if (output && strncmp(line + 8, name, strlen(name)) == 0) {
            memcpy(to, line + 8, (size_t)(end - line - 8));
            to += end - line - 8;
            *to = '\0';
        }
        line = end;
    }
}

/* Every rank does the same. Only a rank that dies may do so a few idle steps sooner. */
static void same_outputs(const char *first, const char *second, int ranks)
{
    char *a = malloc(strlen(first) + 1), *b = malloc(strlen(second) + 1);

    for (int rank = 0; rank < ranks; rank++) {
        outputs_of(first, rank, a);
        outputs_of(second, rank, b);
        ck_assert_str_eq(a, b);
    }
    free(a);
    free(b);
}

static char *log_of_schedule(const struct ftc_storm *storm, const struct ftc_schedule *schedule)
{
    struct ftc_program program = ftc_storm_program(storm);
    char violation[FTC_SCHEDULE_TEXT];
    char *text = NULL;
    size_t size;
    FILE *log = open_memstream(&text, &size);

    ck_assert_msg(ftc_schedule_run(&storm->settings, &program, schedule, log, violation),
                  "seed %llu: %s", (unsigned long long)storm->seed, violation);
    fclose(log);
    return text;
}

/* The record has crashes by outputs, losses by messages, and the order of events by deviations. It
 * needs no more. */
START_TEST(a_record_is_enough_to_have_it_again)
{
    struct ftc_storm_frame frame = any();
    struct ftc_storm_record *record = ftc_storm_record_new();
    size_t crashes = 0, losses = 0;

    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct ftc_storm storm;
        struct ftc_storm_sums sums = {0};
        struct ftc_schedule schedule;
        char violation[FTC_SCHEDULE_TEXT];
        ftc_storm_draw(&storm, &frame, seed);
        record->events = record->deviations = record->crashes = record->losses = 0;
        ck_assert(ftc_storm_run(&storm, NULL, &sums, record, NULL, violation));

        struct ftc_program program = ftc_storm_program(&storm);
        struct ftc_cluster_event *event = calloc(record->events + 1, sizeof(*event));
        for (size_t e = 0; e < record->events; e++)
            event[e] = ftc_cluster_event_of(storm.settings.ranks, (int)record->event[e]);
        deaths_of(record, &schedule);
        ck_assert_int_eq(
            ftc_schedule_from_events(&schedule, &storm.settings, &program, event, record->events),
            FTC_SUCCESS);
        char *before = log_of(&frame, seed), *after = log_of_schedule(&storm, &schedule);
        same_outputs(before, after, storm.settings.ranks);
        free(before);
        free(after);
        crashes += schedule.crashes;
        losses += schedule.losses;
        ftc_schedule_fini(&schedule);
        free(event);
    }
    ck_assert_uint_gt(crashes, 15);
    ck_assert_uint_gt(losses, 3);
    ftc_storm_record_free(record);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("storm run");
    TCase *runs = tcase_create("runs");

    tcase_add_test(runs, the_same_seed_is_the_same_run);
    tcase_add_test(runs, watching_changes_nothing);
    tcase_add_test(runs, what_is_pinned_is_not_drawn);
    tcase_add_test(runs, ranks_fit_what_is_given);
    tcase_add_test(runs, ranks_end_where_records_do);
    tcase_add_test(runs, the_longest_program_has_its_deaths_drawn);
    tcase_add_test(runs, a_record_is_enough_to_have_it_again);
    suite_add_tcase(suite, runs);
    return test_suite_run(suite);
}
