/* ftcoll-sim replay: repeats one run exactly, from the line that storm or explore printed. */
#include "base/error.h"
#include "sim/model/schedule.h"
#include "sim/options.h"

struct replay_command {
    struct ftc_schedule schedule;
    bool trace;
};

static int take_crashes(void *command, const char *text)
{
    return ftc_schedule_parse_crashes(&((struct replay_command *)command)->schedule, text);
}

static int take_losses(void *command, const char *text)
{
    return ftc_schedule_parse_losses(&((struct replay_command *)command)->schedule, text);
}

static int take_deviations(void *command, const char *text)
{
    return ftc_schedule_parse_deviations(&((struct replay_command *)command)->schedule, text);
}

static int take_trace(void *command, const char *text)
{
    (void)text;
    ((struct replay_command *)command)->trace = true;
    return FTC_SUCCESS;
}

static const struct ftc_option options[] = {
    {"crash", 0, "RANK@OUTPUTS,...", "RANK dies right after so many sends and deliveries",
     take_crashes},
    {"lose", 0, "FROM:TO@COUNT,...", "only the first COUNT messages of FROM, which dies, reach TO",
     take_losses},
    {"schedule", 0, "STEP:OLDER,...", "at STEP, pass over so many older events", take_deviations},
    {"trace", 0, NULL, "print each step", take_trace},
    {NULL, 0, NULL, NULL, NULL},
};

const struct ftc_usage ftc_replay_usage = {
    .synopsis = "ftcoll-sim replay -n N [options] OPERATION...",
    .summary = "Run operations under one exact schedule and check every promise at each step. The "
               "oldest pending "
               "event happens next, unless --schedule says otherwise.",
    .examples = "  ftcoll-sim replay -n 4 -f 1 --scheme bit --ops allreduce,bcast:1 --crash 0@17 "
                "--lose 0:2@3 "
                "--schedule 12:3,15:1\n",
    .option = options,
    .most_ranks = FTC_SCHEDULE_RANKS,
    .seedless = true,
};

static int check(const struct replay_command *c, const struct ftc_setup *setup)
{
    if (!setup->ranks_given || setup->program.length == 0)
        return ftc_error_set(FTC_ERR_ARG,
                             "a replay needs the number of ranks and the operations; give -n and "
                             "--ops");
    int rc = ftc_schedule_check(&c->schedule, setup->member.ranks);
    if (rc != FTC_SUCCESS)
        return rc;
    return ftc_schedule_check_size(setup->member.ranks, setup->member.f, setup->program.length,
                                   c->schedule.crashes);
}

static int run(const struct replay_command *c, const struct ftc_setup *setup)
{
    /* so that output before a failed assertion is not lost */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    struct ftc_cluster *cluster =
        ftc_schedule_begin(&setup->member, &setup->program, &c->schedule, c->trace ? stdout : NULL);
    bool kept = ftc_schedule_finish(cluster, &c->schedule, NULL);

    if (kept)
        printf("all promises kept: %llu steps, %d of %d ranks live, %d operations\n",
               (unsigned long long)cluster->steps, ftc_ledger_alive(cluster->ledger), cluster->n,
               setup->program.length);
    else
        printf("step %llu breaks a promise: %s\n", (unsigned long long)cluster->steps,
               cluster->violation);
    ftc_cluster_free(cluster);
    return kept ? FTC_SIM_EXIT_OK : FTC_SIM_EXIT_VIOLATION;
}

int ftc_command_replay(int argc, char **argv)
{
    struct replay_command command = {0};
    struct ftc_setup setup;
    int code;

    if (ftc_setup_begin(&setup, &ftc_replay_usage, &command, argc, argv, &code)) {
        int rc = check(&command, &setup);
        if (rc == FTC_SUCCESS) {
            code = run(&command, &setup);
        } else {
            fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
            code = rc == FTC_ERR_NOMEM ? FTC_SIM_EXIT_ERROR : FTC_SIM_EXIT_USAGE;
        }
        ftc_setup_fini(&setup);
    }
    ftc_schedule_fini(&command.schedule);
    return code;
}
