/* Tests schedules: their text, and what each part of a schedule does to a run. */
#include <stdlib.h>
#include <string.h>

#include "sim/model/schedule.h"
#include "tests/suite.h"

/* --- a run as its log --- */

struct story {
    struct ftc_member_settings settings;
    struct ftc_program program;
    struct ftc_schedule schedule;
    char *log;
    char violation[FTC_SCHEDULE_TEXT];
};

static struct story tell(int n, int f, const char *operations)
{
    struct story story = {.settings = ftc_cluster_settings(n, f)};
    ck_assert_int_eq(ftc_program_parse(&story.program, operations, n), FTC_SUCCESS);
    return story;
}

static const char *run(struct story *story)
{
    size_t size;

    free(story->log);
    FILE *log = open_memstream(&story->log, &size);
    ck_assert_ptr_nonnull(log);
    ck_assert_int_eq(ftc_schedule_check(&story->schedule, story->settings.ranks), FTC_SUCCESS);
    ck_assert_msg(ftc_schedule_run(&story->settings, &story->program, &story->schedule, log,
                                   story->violation),
                  "%s", story->violation);
    fclose(log);
    return story->log;
}

static void end(struct story *story)
{
    ftc_program_fini(&story->program);
    ftc_schedule_fini(&story->schedule);
    free(story->log);
}

static int count(const char *text, const char *what)
{
    int found = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        found++;
    return found;
}

/* The number of lines of a rank that have a word in them. */
static int count_of(const char *log, const char *rank, const char *word)
{
    int found = 0;

    for (const char *line = log; *line != '\0'; line = strchr(line, '\n') + 1) {
        const char *at = strstr(line, word);
        found +=
            strncmp(line + 8, rank, strlen(rank)) == 0 && at != NULL && at < strchr(line, '\n');
    }
    return found;
}

/* --- text --- */

static void reads(const char *crashes, const char *losses, const char *deviations,
                  const char *expected)
{
    struct ftc_schedule schedule = {0};

    if (crashes != NULL)
        ck_assert_int_eq(ftc_schedule_parse_crashes(&schedule, crashes), FTC_SUCCESS);
    if (losses != NULL)
        ck_assert_int_eq(ftc_schedule_parse_losses(&schedule, losses), FTC_SUCCESS);
    if (deviations != NULL)
        ck_assert_int_eq(ftc_schedule_parse_deviations(&schedule, deviations), FTC_SUCCESS);
    char *text = ftc_schedule_format(&schedule);
    ck_assert_str_eq(text, expected);
    free(text);
    ftc_schedule_fini(&schedule);
}

START_TEST(text_comes_back)
{
    reads(NULL, NULL, NULL, "");
    reads("0@17,2@3", NULL, NULL, "--crash 0@17,2@3");
    reads(NULL, "0:2@3", NULL, "--lose 0:2@3");
    reads(NULL, NULL, "12:3,15:1", "--schedule 12:3,15:1");
    reads("0@17", "0:2@3,0:1@0", "1:1", "--crash 0@17 --lose 0:2@3,0:1@0 --schedule 1:1");
}
END_TEST

static void refuses(int (*parse)(struct ftc_schedule *, const char *), const char *text,
                    const char *why)
{
    struct ftc_schedule schedule = {0};

    ck_assert_int_eq(parse(&schedule, text), FTC_ERR_ARG);
    ck_assert_msg(strstr(ftc_last_error(), why) != NULL, "%s", ftc_last_error());
    ftc_schedule_fini(&schedule);
}

START_TEST(nonsense_is_refused)
{
    refuses(ftc_schedule_parse_crashes, "", "RANK@OUTPUTS");
    refuses(ftc_schedule_parse_crashes, "1", "RANK@OUTPUTS");
    refuses(ftc_schedule_parse_crashes, "1@", "RANK@OUTPUTS");
    refuses(ftc_schedule_parse_crashes, "1@2,", "RANK@OUTPUTS");
    refuses(ftc_schedule_parse_crashes, "-1@2", "RANK@OUTPUTS");
    refuses(ftc_schedule_parse_crashes, "1@99999999999999999999", "RANK@OUTPUTS");
    refuses(ftc_schedule_parse_losses, "1:2", "FROM:TO@MESSAGES");
    refuses(ftc_schedule_parse_losses, "1@2:3", "FROM:TO@MESSAGES");
    refuses(ftc_schedule_parse_deviations, "12:3 15:1", "STEP:OLDER");
    refuses(ftc_schedule_parse_deviations, "12:3,12:1", "sort");
    refuses(ftc_schedule_parse_deviations, "0:1,12:3", "steps count from 1");
}
END_TEST

static void unfit(const char *crashes, const char *losses, int ranks)
{
    struct ftc_schedule schedule = {0};

    ck_assert_int_eq(ftc_schedule_parse_crashes(&schedule, crashes), FTC_SUCCESS);
    if (losses != NULL)
        ck_assert_int_eq(ftc_schedule_parse_losses(&schedule, losses), FTC_SUCCESS);
    ck_assert_int_eq(ftc_schedule_check(&schedule, ranks), FTC_ERR_ARG);
    ftc_schedule_fini(&schedule);
}

START_TEST(ranks_must_exist_and_one_must_live)
{
    unfit("3@0", NULL, 3);
    unfit("1@0,1@5", NULL, 3);
    unfit("0@0,1@0,2@0", NULL, 3);
    unfit("0@0", "0:3@1", 3);
    unfit("0@0", "0:0@1", 3);
}
END_TEST

START_TEST(a_channel_loses_once)
{
    unfit("0@0", "0:2@1,0:1@0,0:2@3", 3);
    ck_assert_ptr_nonnull(
        strstr(ftc_last_error(), "from rank 0 to rank 2 are lost twice; leave one out"));
}
END_TEST

/* A schedule whose sound run might exceed the limit of steps is refused. */
START_TEST(only_what_ends_in_time_fits)
{
    ck_assert_int_eq(ftc_schedule_check_size(4096, 3, 8, 64), FTC_SUCCESS);
    ck_assert_int_eq(ftc_schedule_check_size(4, 1, 10000, 0), FTC_SUCCESS);
    ck_assert_int_eq(ftc_schedule_check_size(64, 1, 20000, 0), FTC_ERR_ARG);
    ck_assert_ptr_nonnull(strstr(ftc_last_error(), "give fewer operations or ranks"));
    ck_assert_int_eq(ftc_schedule_check_size(4096, 4095, 1, 0), FTC_ERR_ARG);
    ck_assert_int_eq(ftc_schedule_check_size(4096, 4095, 1000000, 80), FTC_ERR_ARG);
}
END_TEST

/* --- runs --- */

START_TEST(the_oldest_event_is_first)
{
    struct story story = tell(3, 1, "allreduce");
    const char *log = run(&story);

    ck_assert_ptr_nonnull(strstr(log, "     1  rank 0   calls"));
    ck_assert_ptr_nonnull(strstr(log, "     2  rank 1   calls"));
    ck_assert_ptr_nonnull(strstr(log, "     3  rank 2   calls"));
    char *before = strdup(log);
    ck_assert_str_eq(run(&story), before); /* the log is always the same */
    free(before);
    end(&story);
}
END_TEST

START_TEST(a_deviation_passes_over_older_events)
{
    struct story story = tell(3, 1, "allreduce");

    ftc_schedule_parse_deviations(&story.schedule, "1:2,2:1");
    const char *log = run(&story);
    ck_assert_ptr_nonnull(strstr(log, "     1  rank 2   calls"));
    ck_assert_ptr_nonnull(strstr(log, "     2  rank 1   calls"));
    ck_assert_ptr_nonnull(strstr(log, "     3  rank 0   calls"));
    end(&story);
}
END_TEST

START_TEST(too_large_a_deviation_takes_the_youngest)
{
    struct story story = tell(3, 1, "allreduce");

    ftc_schedule_parse_deviations(&story.schedule, "1:1000");
    ck_assert_ptr_nonnull(strstr(run(&story), "     1  rank 2   calls"));
    end(&story);
}
END_TEST

/* Rank 0 of a broadcast to three others sends each a DECIDE, and delivers. It has four outputs
 * after which it can die. */
START_TEST(a_crash_comes_after_so_many_outputs)
{
    for (int outputs = 0; outputs <= 4; outputs++) {
        struct story story = tell(4, 0, "bcast:0");
        char crash[16];

        story.settings.tree.arity = 4;
        story.settings.tree.tree = FTC_TREE_KARY;
        snprintf(crash, sizeof(crash), "0@%d", outputs);
        ftc_schedule_parse_crashes(&story.schedule, crash);
        const char *log = run(&story);
        int made =
            count_of(log, "rank 0  ", "sends DECIDE") + count_of(log, "rank 0  ", "delivers");
        ck_assert_int_eq(made, outputs);
        ck_assert_int_eq(count(log, "CRASHES"), 1);
        end(&story);
    }
}
END_TEST

START_TEST(losses_cut_off_the_end_of_a_channel)
{
    struct story story = tell(3, 0, "bcast:0*4");

    ftc_schedule_parse_crashes(&story.schedule,
                               "0@8"); /* 4 broadcasts have 2 messages each; the calls come first */
    ftc_schedule_parse_losses(&story.schedule, "0:2@1");
    ftc_schedule_parse_deviations(&story.schedule, "2:1,3:2,4:3");
    const char *log = run(&story);
    ck_assert_int_eq(count_of(log, "rank 2  ", "receives DECIDE 0 (0,0) from rank 0"), 1);
    ck_assert_int_eq(count_of(log, "rank 2  ", "receives DECIDE 1 (0,0) from rank 0"), 0);
    ck_assert_int_eq(count_of(log, "rank 1  ", "receives DECIDE 1 (0,0) from rank 0"), 1);
    end(&story);
}
END_TEST

START_TEST(who_lives_loses_nothing)
{
    struct story with = tell(4, 1, "allreduce*2"), without = tell(4, 1, "allreduce*2");

    ftc_schedule_parse_losses(&with.schedule, "0:1@0,2:3@1");
    ck_assert_str_eq(run(&with), run(&without));
    end(&with);
    end(&without);
}
END_TEST

/* --- from events --- */

START_TEST(events_become_deviations)
{
    struct story story = tell(3, 1, "barrier");
    const struct ftc_cluster_event calls[] = {
        {.kind = FTC_CLUSTER_CALL, .a = 1},
        {.kind = FTC_CLUSTER_NOTICE, .a = 1, .b = 2}, /* a notice without a death is impossible */
        {.kind = FTC_CLUSTER_CALL, .a = 2},
    };

    ck_assert_int_eq(
        ftc_schedule_from_events(&story.schedule, &story.settings, &story.program, calls, 3),
        FTC_SUCCESS);
    char *text = ftc_schedule_format(&story.schedule);
    ck_assert_str_eq(text, "--schedule 1:1,2:1");
    free(text);
    const char *log = run(&story);
    ck_assert_ptr_nonnull(strstr(log, "     1  rank 1   calls"));
    ck_assert_ptr_nonnull(strstr(log, "     2  rank 2   calls"));
    end(&story);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule");
    TCase *text = tcase_create("text"), *runs = tcase_create("runs");

    tcase_add_test(text, text_comes_back);
    tcase_add_test(text, nonsense_is_refused);
    tcase_add_test(text, ranks_must_exist_and_one_must_live);
    tcase_add_test(text, a_channel_loses_once);
    tcase_add_test(text, only_what_ends_in_time_fits);
    tcase_add_test(runs, the_oldest_event_is_first);
    tcase_add_test(runs, a_deviation_passes_over_older_events);
    tcase_add_test(runs, too_large_a_deviation_takes_the_youngest);
    tcase_add_test(runs, a_crash_comes_after_so_many_outputs);
    tcase_add_test(runs, losses_cut_off_the_end_of_a_channel);
    tcase_add_test(runs, who_lives_loses_nothing);
    tcase_add_test(runs, events_become_deviations);
    suite_add_tcase(suite, text);
    suite_add_tcase(suite, runs);
    return test_suite_run(suite);
}
