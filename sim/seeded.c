/* Does runs from consecutive seeds. */
#include "sim/seeded.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "sim/progress.h"

int ftc_seeded_take_runs(void *seeded, const char *text)
{
    return ftc_option_number("--runs", text, 1, UINT64_C(1) << 40,
                             &((struct ftc_seeded *)seeded)->runs);
}

int ftc_seeded_take_trace(void *seeded, const char *text)
{
    (void)text;
    ((struct ftc_seeded *)seeded)->trace = true;
    return FTC_SUCCESS;
}

static int check(const struct ftc_seeded *seeded, const struct ftc_setup *setup)
{
    for (size_t i = 0; i < ftc_config_schema_size; i++) {
        const struct ftc_config_key *key = &ftc_config_schema[i];
        if (strcmp(setup->settings.source[i], "default") != 0)
            return ftc_error_set(FTC_ERR_ARG, "%s.%s (%s): each run draws it; leave it out",
                                 key->section, key->key, setup->settings.source[i]);
    }
    if (setup->program.length > 0 || setup->ranks_given)
        return ftc_error_set(FTC_ERR_ARG,
                             "each run draws its ranks and operations; leave them out");
    if (seeded->runs - 1 > INT64_MAX - setup->seed)
        return ftc_error_set(FTC_ERR_ARG,
                             "the runs pass the last seed; give fewer --runs or a smaller --seed");
    return FTC_SUCCESS;
}

static int run_all(struct ftc_seeded *seeded, const struct ftc_seeded_ops *ops, uint64_t seed)
{
    struct ftc_progress progress = ftc_progress_start(stderr, "runs", seeded->runs);
    uint64_t runs = seeded->trace ? 1 : seeded->runs;
    bool kept = true;

    for (uint64_t i = 0; i < runs && kept; i++) {
        ftc_progress_show(&progress, i, "");
        kept = ops->run(seeded, seed + i);
    }
    double seconds = ftc_progress_seconds(&progress);
    ftc_progress_end(&progress);
    printf("%" PRIu64 " of %" PRIu64 " runs from seed %" PRIu64 ", %.0f runs/s (%.1f s), %" PRIu64
           " events\n",
           seeded->done, runs, seed, seconds > 0 ? (double)seeded->done / seconds : 0, seconds,
           seeded->events);
    ops->report(seeded);
    if (kept)
        puts("no promise was broken");
    return kept ? FTC_SIM_EXIT_OK : FTC_SIM_EXIT_VIOLATION;
}

int ftc_seeded_command(struct ftc_seeded *seeded, const struct ftc_usage *usage,
                       const struct ftc_seeded_ops *ops, int argc, char **argv)
{
    struct ftc_setup setup;
    int code;

    if (!ftc_setup_begin(&setup, usage, seeded, argc, argv, &code))
        return code;
    if (check(seeded, &setup) == FTC_SUCCESS) {
        if (ops->instead == NULL || !ops->instead(seeded, setup.seed, &code))
            code = run_all(seeded, ops, setup.seed);
    } else {
        fprintf(stderr, "ftcoll-sim: %s\n", ftc_last_error());
        code = FTC_SIM_EXIT_USAGE;
    }
    ftc_setup_fini(&setup);
    return code;
}
