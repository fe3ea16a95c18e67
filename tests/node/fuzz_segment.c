/* Fuzzes attaching. The input overwrites parts of the front of a sound segment. An attached segment
 * must be safe to read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "node/segment/history.h"
#include "node/segment/segment.h"
#include "tests/node/one_node.h"

#define RANKS 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char job[FTC_JOB_NAME_SIZE];

static void remove_job(void)
{
    char path[128];
    ftc_segment_path(path, geteuid(), job);
    (void)unlink(path);
}

/* Returns the descriptor of a sound segment's file, and its front part. */
static int sound_segment(unsigned char **front, size_t *front_size)
{
    char path[128];
    struct ftc_segment *segment;
    snprintf(job, sizeof(job), "%ld.000066", (long)getpid());
    struct ftc_segment_spec spec = {
        .job = job, .directory = "/tmp/x", .text = "a=b\n", .ranks = RANKS, .history = true};
    if (ftc_segment_create(&segment, &spec) != 0)
        abort();
    atexit(remove_job);
    struct ftc_layout layout;
    layout_of_one(&layout, RANKS, 5);
    *front_size = (size_t)layout.rings_offset;
    *front = malloc(*front_size);
    memcpy(*front, ftc_segment_header(segment), *front_size);
    ftc_segment_detach(segment);
    ftc_segment_path(path, geteuid(), job);
    return open(path, O_RDWR | O_CLOEXEC);
}

/* Reads all that ftcoll-status reads. */
static uint64_t look(struct ftc_segment *segment)
{
    uint64_t sum = strlen(ftc_segment_text(segment)) + strlen(ftc_segment_header(segment)->command);
    uint32_t cursor = 0;
    static struct ftc_history_operation last[FTC_HISTORY_MOST];
    struct ftc_history_clock clock;
    ftc_history_look(&clock, segment);
    for (int rank = 0; rank < ftc_segment_ranks(segment); rank++) {
        char endpoint[FTC_ENDPOINT_SIZE];
        const unsigned char *words = (const unsigned char *)ftc_segment_activity(segment, rank);
        const _Atomic uint64_t *row = ftc_segment_known_row(segment, rank);
        sum += words != NULL ? words[0] + words[sizeof(struct ftc_activity) - 1] : 0;
        sum += row != NULL ? row[0] + ftc_segment_agreed_row(segment, rank)[0] : 0;
        sum += ftc_segment_failed(segment, rank);
        sum += ftc_segment_endpoint(segment, rank, endpoint) ? strlen(endpoint) : 0;
        if (ftc_segment_is_local(segment, rank))
            sum += ftc_segment_pending_row(segment, rank)[0];
        int count = ftc_history_last(segment, rank, &clock, last, (int)FTC_HISTORY_MOST);
        for (int i = 0; i < count; i++)
            sum += (uint64_t)last[i].count + last[i].called_ns;
    }
    for (int rank = ftc_segment_next_failure(segment, &cursor); rank >= 0;
         rank = ftc_segment_next_failure(segment, &cursor))
        if (rank >= ftc_segment_ranks(segment))
            abort();
    return sum;
}

/* The input is records of u16 offset (in steps of 4 bytes), u8 length and bytes. The first byte
 * says whether the file's size follows. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static unsigned char *front, *sound;
    static size_t front_size;
    if (fd < 0) {
        fd = sound_segment(&sound, &front_size);
        front = malloc(front_size);
    }
    if (size < 1)
        return 0;
    memcpy(front, sound, front_size);
    bool resize = data[0] & 1;
    for (size_t at = 1; at + 3 <= size;) {
        size_t offset = ((size_t)data[at] | (size_t)data[at + 1] << 8) * 4 % front_size,
               length = data[at + 2];
        at += 3;
        length = length > size - at ? size - at : length;
        length = length > front_size - offset ? front_size - offset : length;
        memcpy(front + offset, data + at, length);
        at += length;
    }
    uint64_t total;
    memcpy(&total, (resize ? front : sound) + offsetof(struct ftc_segment_header, total_size),
           sizeof(total));
    if (total < front_size || total > 1ull << 42)
        total = front_size;
    if (pwrite(fd, front, front_size, 0) != (ssize_t)front_size || ftruncate(fd, (off_t)total) != 0)
        abort();
    struct ftc_segment *segment;
    if (ftc_segment_attach(&segment, job, data[0] & 2) == 0) {
        look(segment);
        ftc_segment_detach(segment);
    }
    return 0;
}
