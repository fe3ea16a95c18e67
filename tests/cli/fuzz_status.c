/*
 * Fuzzes ftcoll-status. The input overwrites the slots, the sets and the changeable header words of
 * a segment. Every way of showing the segment must survive that. ftc_segment_attach() checks what
 * is fixed at creation, and is fuzzed elsewhere.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/status.h"

#define RANKS 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ftc_segment *make_segment(void)
{
    char job[FTC_JOB_NAME_SIZE];
    struct ftc_segment *segment = NULL;
    snprintf(job, sizeof(job), "%d.000009", (int)getpid());
    struct ftc_segment_spec spec = {.job = job,
                                    .host = "node",
                                    .command = "./app",
                                    .directory = "/tmp",
                                    .text = "collectives.algorithm=auto\n",
                                    .ranks = RANKS,
                                    .f = 1,
                                    .heartbeat_period_ns = FTC_NS_PER_MS,
                                    .heartbeat_timeout_ns = FTC_NS_PER_S};
    if (ftc_segment_create(&segment, &spec) != 0)
        abort();
    ftc_segment_remove(segment); /* the mapping stays */
    return segment;
}

/* Repeats the input over `room` bytes. Each call starts at a different place of the input. */
static void spread(void *to, size_t room, const uint8_t *data, size_t size, size_t *at)
{
    for (size_t i = 0; i < room; i++)
        ((uint8_t *)to)[i] = data[(*at)++ % size];
}

static void overwrite(struct ftc_segment *segment, const uint8_t *data, size_t size)
{
    struct ftc_segment_header *header = ftc_segment_header(segment);
    size_t words = (size_t)ftc_set_words(RANKS) * sizeof(uint64_t), at = 0;
    for (int i = 0; i < RANKS; i++) {
        spread(ftc_segment_standing(segment, i), sizeof(struct ftc_standing), data, size, &at);
        spread(ftc_segment_slot(segment, i), sizeof(struct ftc_slot), data, size, &at);
        spread(ftc_segment_known_row(segment, i), words, data, size, &at);
        spread(ftc_segment_agreed_row(segment, i), words, data, size, &at);
    }
    /* The range from the name to the end of the header holds no offset and no size. */
    size_t first = offsetof(struct ftc_segment_header, job);
    spread((char *)header + first, sizeof(*header) - first, data, size, &at);
}

static void show(struct ftc_job_status *status, FILE *out)
{
    const char names[1][FTC_JOB_NAME_SIZE] = {"1.0"};
    for (int width = 0; width <= 120; width += 40)
        for (int all = 0; all < 2; all++) {
            struct ftc_status_view view = {.width = width, .all = all == 1};
            if (ftc_status_page(status, &view, out) != 0)
                abort();
            ftc_status_list(&status, names, 1, &view, out);
        }
    if (ftc_status_json(&status, 1, out) != 0)
        abort();
    ftc_status_openmetrics(&status, 1, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ftc_segment *segment; /* one for all runs: it takes longer to make than a run */
    struct ftc_job_status status;
    if (size == 0)
        return 0;
    if (segment == NULL)
        segment = make_segment();
    overwrite(segment, data, size);
    FILE *out = fopen("/dev/null", "w");
    if (out == NULL || ftc_status_init(&status, RANKS, 1) != 0)
        abort();
    ftc_status_look(&status, segment);
    show(&status, out);
    ftc_status_look(&status, segment);
    show(&status, out);
    ftc_status_fini(&status);
    fclose(out);
    return 0;
}
