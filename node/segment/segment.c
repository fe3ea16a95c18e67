/*
 * The node segment as a file in /dev/shm. It is made whole or not at all, is attached only after
 * all checks, and is removed by its name.
 *
 * The memory of the front part is allocated when the file is made, so that no later store can meet
 * a full /dev/shm (SIGBUS). What lies behind it stays a hole until it is used
 * (ftc_segment_populate).
 */
#include "node/segment/segment.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/set.h"
#include "node/segment/board_memory.h"
#include "node/segment/history.h"
#include "node/segment/internal.h"
#include "node/segment/layout.h"
#include "node/system/process.h"

#define USUAL_ENDPOINT 128 /* bytes of an endpoint */

/* --- names --- */

static int check_name(const char *job)
{
    if (!ftc_job_name_valid(job))
        return ftc_error_set(
            FTC_ERR_ARG, "\"%.40s\" is no job name: they look like 4711.048213 (see ftcoll-status)",
            job);
    return 0;
}

/* --- creating --- */

/* Check the limit first, because to exceed it would not only fail but also raise SIGXFSZ. */
static int check_file_limit(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < bytes)
        return ftc_error_set(
            FTC_ERR_SYSTEM,
            "the node segment is a (sparse) file of %llu bytes but the limit on file sizes is "
            "%llu: raise it (ulimit -f unlimited)",
            (unsigned long long)bytes, (unsigned long long)limit.rlim_cur);
    return 0;
}

static int allocate_file(int fd, uint64_t offset, uint64_t size)
{
    while (fallocate(fd, 0, (off_t)offset, (off_t)size) != 0)
        if (errno != EINTR)
            return -1;
    return 0;
}

/* Endpoints of remote ranks get as much as they usually need. In small jobs they get all. */
static uint64_t usual_endpoints(const struct ftc_layout *layout)
{
    uint64_t each = layout->ranks <= FTC_SHOWN_RANKS ? FTC_ENDPOINT_SIZE : USUAL_ENDPOINT;

    return layout->endpoint_size > 0 ? (layout->ranks - layout->local) * each : 0;
}

/* The histories get memory if they are kept. */
static int allocate_front(struct ftc_segment *segment, const struct ftc_segment_spec *spec)
{
    const struct ftc_layout *layout = &segment->layout;
    uint64_t end = spec->history ? layout->remote_offset : layout->history_offset;

    segment->endpoints_allocated = usual_endpoints(layout);
    if (allocate_file(segment->fd, 0, end) != 0)
        return -1;
    return segment->endpoints_allocated == 0
               ? 0
               : allocate_file(segment->fd, layout->remote_offset, segment->endpoints_allocated);
}

static int size_file(struct ftc_segment *segment, const struct ftc_segment_spec *spec)
{
    const struct ftc_layout *layout = &segment->layout;
    int rc = check_file_limit(layout->total_size);
    if (rc != 0)
        return rc;
    if (ftruncate(segment->fd, (off_t)layout->total_size) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "cannot make a (sparse) file of %llu bytes in /dev/shm: %m",
                             (unsigned long long)layout->total_size);
    if (allocate_front(segment, spec) == 0)
        return 0;
    if (errno == ENOSPC)
        return ftc_error_set(
            FTC_ERR_SYSTEM,
            "/dev/shm is full: %llu bytes are needed for %u ranks (%m): remove what is not "
            "needed there (ftcoll-status --gc) or enlarge it (mount -o remount,size=1g /dev/shm)",
            (unsigned long long)layout->remote_offset + segment->endpoints_allocated,
            layout->ranks);
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot allocate %llu bytes in /dev/shm: %m",
                         (unsigned long long)layout->remote_offset + segment->endpoints_allocated);
}

static int map_file(struct ftc_segment *segment, int fd, uint64_t size, bool writable)
{
    void *base = MAP_FAILED;
    errno = ENOMEM;
    if (size <= SIZE_MAX)
        base = mmap(NULL, (size_t)size, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                    MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED && errno == ENOMEM)
        return ftc_error_set(
            FTC_ERR_SYSTEM,
            "cannot map the node segment, %llu bytes of address space: %m: raise the limit "
            "(ulimit -v unlimited)",
            (unsigned long long)size);
    if (base == MAP_FAILED)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot map the node segment: %m");
    segment->base = base;
    segment->mapped = (size_t)size;
    segment->writable = writable;
    /* Keep gigabytes of holes out of core files. A failure does no harm. */
    if (size > segment->layout.rings_offset)
        (void)madvise(segment->base + segment->layout.rings_offset,
                      (size_t)(size - segment->layout.rings_offset), MADV_DONTDUMP);
    return 0;
}

static void copy_text(char *to, size_t room, const char *from)
{
    snprintf(to, room, "%s", from != NULL ? from : "");
}

/* getrandom() gives so few bytes in one piece, as soon as the generator of the kernel is seeded. */
static int draw(unsigned char *bytes, size_t size)
{
    if (getrandom(bytes, size, 0) == (ssize_t)size)
        return 0;
    return ftc_error_set(FTC_ERR_SYSTEM, "no random bytes for a job: %m");
}

static int draw_all(struct ftc_segment_header *header, const struct ftc_segment_spec *spec)
{
    int rc = draw(header->multicast_group, sizeof(header->multicast_group));
    if (rc == 0 && spec->secret == NULL)
        rc = draw(header->secret, sizeof(header->secret));
    return rc;
}

/* Read all clocks at one moment. The process may lose its core between two reads, so the closest of
 * some tries counts: traces compare the clocks of hosts by it. */
static void note_start(struct ftc_segment_header *header, bool counter)
{
    uint64_t least = UINT64_MAX;

    for (int tries = 0; tries < 8; tries++) {
        uint64_t before = ftc_clock_now(), ticks = ftc_clock_ticks(counter),
                 realtime = ftc_clock_realtime(), after = ftc_clock_now();
        if (after - before >= least)
            continue;
        least = after - before;
        header->started_ns = before;
        header->started_ticks = ticks;
        header->started_realtime_ns = realtime;
    }
}

/* The words that begin with "none". */
static void fill_ranks(struct ftc_segment *segment)
{
    int count, first = ftc_segment_local(segment, &count);

    for (int rank = 0; rank < (int)segment->layout.ranks; rank++)
        atomic_store_explicit(&ftc_segment_standing(segment, rank)->seen_by, -1,
                              memory_order_relaxed);
    for (int rank = first; rank < first + count; rank++) {
        struct ftc_activity *activity = &ftc_segment_slot(segment, rank)->activity;
        atomic_store_explicit(&activity->waits_for, -1, memory_order_relaxed);
        atomic_store_explicit(&activity->root, -1, memory_order_relaxed);
    }
}

static int fill_header(struct ftc_segment *segment, const struct ftc_segment_spec *spec)
{
    struct ftc_segment_header *header = ftc_segment_header(segment);
    ftc_layout_store(&segment->layout, header);
    copy_text(header->job, sizeof(header->job), spec->job);
    copy_text(header->host, sizeof(header->host), spec->host);
    copy_text(header->command, sizeof(header->command), spec->command);
    copy_text(header->directory, sizeof(header->directory), spec->directory);
    memcpy(segment->base + segment->layout.text_offset, segment->text, segment->layout.text_size);
    header->uid = (uint32_t)geteuid();
    header->f = spec->f;
    header->bound_cores = (uint32_t)spec->bound_cores;
    header->launcher_pid = (int32_t)getpid();
    header->launcher_start = ftc_process_start(getpid());
    header->pid_namespace = ftc_process_namespace();
    header->history = (uint32_t)segment->history;
    note_start(header, segment->history == FTC_HISTORY_COUNTER);
    header->heartbeat_period_ns = spec->heartbeat_period_ns;
    header->heartbeat_timeout_ns = spec->heartbeat_timeout_ns;
    int rc = ftc_nodes_fill(segment, spec);
    if (rc != 0)
        return rc;
    fill_ranks(segment);
    /* Pairs with the acquire in read_header(): a reader that sees the magic sees all the rest. */
    atomic_store_explicit(&header->magic, FTC_SEGMENT_MAGIC, memory_order_release);
    return 0;
}

static int new_segment(struct ftc_segment **out, const char *job)
{
    struct ftc_segment *segment = calloc(1, sizeof(*segment));
    if (segment == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a node segment");
    ftc_segment_path(segment->path, geteuid(), job);
    segment->fd = -1;
    *out = segment;
    return 0;
}

static int prepare_segment(struct ftc_segment **out, const struct ftc_segment_spec *spec)
{
    const char *text = spec->text != NULL ? spec->text : "";
    struct ftc_layout layout;
    int rc = check_name(spec->job);
    uint64_t ranks = spec->ranks > 0 ? (uint64_t)spec->ranks : 0;
    struct ftc_layout_spec wanted = {.ranks = ranks,
                                     .nodes = spec->nodes > 0 ? (uint64_t)spec->nodes : 1,
                                     .local =
                                         spec->nodes > 0 ? spec->members[spec->node].count : ranks,
                                     .text_size = strlen(text) + 1,
                                     .endpoints = spec->endpoints};
    if (rc == 0)
        rc = ftc_layout_compute(&layout, &wanted);
    if (rc == 0)
        rc = new_segment(out, spec->job);
    if (rc != 0)
        return rc;
    (*out)->layout = layout;
    if (spec->history)
        (*out)->history = ftc_clock_has_counter() ? FTC_HISTORY_COUNTER : FTC_HISTORY_NANOSECONDS;
    (*out)->text = strdup(text);
    if ((*out)->text != NULL)
        return 0;
    ftc_segment_detach(*out);
    return ftc_error_set(FTC_ERR_NOMEM, "out of memory for a node segment");
}

int ftc_segment_create(struct ftc_segment **out, const struct ftc_segment_spec *spec)
{
    struct ftc_segment *segment = NULL;
    int fd, rc = prepare_segment(&segment, spec);
    if (rc != 0)
        return rc;
    rc = ftc_segment_file_make(segment->path, &fd);
    if (rc != 0)
        goto err_free;
    ftc_segment_file_keep(segment, fd);
    /* The umask may have cleared bits, and the owner must be able to attach. */
    if (fchmod(segment->fd, 0600) != 0)
        rc = ftc_error_set(FTC_ERR_SYSTEM, "cannot set the mode of %s: %m", segment->path);
    if (rc == 0)
        rc = size_file(segment, spec);
    if (rc == 0)
        rc = map_file(segment, segment->fd, segment->layout.total_size, true);
    if (rc == 0)
        rc = draw_all(ftc_segment_header(segment), spec);
    if (rc == 0)
        rc = fill_header(segment, spec);
    if (rc == 0) {
        *out = segment;
        return 0;
    }
    ftc_segment_remove(segment);
err_free:
    ftc_segment_detach(segment);
    return rc;
}

/* --- attaching --- */

static int open_file(const char *path, bool writable, uint64_t *size)
{
    int fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return ftc_error_set(
            FTC_ERR_SYSTEM,
            errno == ENOENT ? "no such job: cannot open %s: %m" : "cannot open %s: %m", path);
    struct stat info;
    int rc = 0;
    if (fstat(fd, &info) != 0)
        rc = ftc_error_set(FTC_ERR_SYSTEM, "cannot look at %s: %m", path);
    else if (!S_ISREG(info.st_mode))
        rc = ftc_error_set(FTC_ERR_PROTO, "%s is not a regular file", path);
    else if (info.st_uid != geteuid() || (info.st_mode & 0077) != 0)
        rc = ftc_error_set(FTC_ERR_PROTO,
                           "%s belongs to or is open to others (owner %lu, mode %03o): not used",
                           path, (unsigned long)info.st_uid, (unsigned)(info.st_mode & 0777));
    else if (info.st_size < (off_t)sizeof(struct ftc_segment_header))
        rc = ftc_error_set(FTC_ERR_PROTO, "%s is only half made or damaged: %lld bytes", path,
                           (long long)info.st_size);
    if (rc != 0) {
        close(fd);
        return rc;
    }
    *size = (uint64_t)info.st_size;
    return fd;
}

/* A private copy of the header. */
static int read_header(struct ftc_segment_header *header, int fd)
{
    const struct ftc_segment_header *mapped =
        mmap(NULL, sizeof(*mapped), PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot map the header of the node segment: %m");
    /* Pairs with the release in fill_header(); the copy must not start before it. */
    uint64_t magic = atomic_load_explicit(&mapped->magic, memory_order_acquire);
    memcpy(header, mapped, sizeof(*header));
    atomic_store_explicit(&header->magic, magic, memory_order_relaxed);
    munmap((void *)mapped, sizeof(*mapped));
    return 0;
}

static int open_checked(const char *path, bool writable, struct ftc_segment_header *header,
                        struct ftc_layout *layout)
{
    uint64_t size = 0;
    int fd = open_file(path, writable, &size);
    if (fd < 0)
        return fd;
    int rc = read_header(header, fd);
    if (rc == 0)
        rc = ftc_layout_check(layout, header, size);
    if (rc == 0)
        return fd;
    close(fd);
    return ftc_error_wrap(rc, "cannot attach to %s", path);
}

int ftc_segment_peek(struct ftc_segment_header *header, const char *job)
{
    char path[128];
    int rc = check_name(job);
    if (rc != 0)
        return rc;
    ftc_segment_path(path, geteuid(), job);
    struct ftc_segment_header copy;
    struct ftc_layout layout;
    int fd = open_checked(path, false, &copy, &layout);
    if (fd < 0)
        return fd;
    close(fd);
    memcpy(header, &copy, sizeof(copy));
    return 0;
}

static int keep_text(struct ftc_segment *segment)
{
    size_t size = (size_t)segment->layout.text_size;
    segment->text = malloc(size);
    if (segment->text == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "out of memory for the configuration's text");
    memcpy(segment->text, segment->base + segment->layout.text_offset, size);
    if (memchr(segment->text, '\0', size) != segment->text + size - 1)
        return ftc_error_set(FTC_ERR_PROTO, "cannot attach to %s: its configuration has no end",
                             segment->path);
    return 0;
}

int ftc_segment_attach(struct ftc_segment **out, const char *job, bool writable)
{
    struct ftc_segment *segment = NULL;
    int rc = check_name(job);
    if (rc == 0)
        rc = new_segment(&segment, job);
    if (rc != 0)
        return rc;
    struct ftc_segment_header header;
    int fd = open_checked(segment->path, writable, &header, &segment->layout);
    if (fd < 0) {
        rc = fd;
        goto err_free;
    }
    ftc_segment_file_keep(segment, fd);
    segment->history = (enum ftc_history_mode)header.history;
    rc = map_file(segment, segment->fd,
                  writable ? segment->layout.total_size : segment->layout.rings_offset, writable);
    if (rc == 0)
        rc = keep_text(segment);
    if (rc == 0)
        rc = ftc_nodes_keep(segment);
    if (rc != 0)
        goto err_free;
    *out = segment;
    return 0;

err_free:
    ftc_segment_detach(segment);
    return rc;
}

void ftc_segment_detach(struct ftc_segment *segment)
{
    if (segment == NULL)
        return;
    if (segment->base != NULL)
        munmap(segment->base, segment->mapped);
    if (ftc_segment_file_kept(segment))
        close(segment->fd);
    free(segment->first);
    free(segment->text);
    free(segment);
}

/* --- rings --- */

static uint64_t ring_offset(const struct ftc_segment *segment, int from, int to)
{
    uint64_t index =
        ftc_segment_place(segment, from) * segment->layout.local + ftc_segment_place(segment, to);
    return segment->layout.rings_offset + index * FTC_SEGMENT_RING_BYTES;
}

void *ftc_segment_ring(struct ftc_segment *segment, int from, int to)
{
    return segment->writable ? segment->base + ring_offset(segment, from, to) : NULL;
}

/* For kernels before 5.14, which have no MADV_POPULATE_WRITE. This opens the file anew, because the
 * user's program may have closed the descriptor of the segment and opened another file under the
 * same number. */
static int allocate_by_path(const struct ftc_segment *segment, uint64_t offset, uint64_t size)
{
    int fd = open(segment->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    int rc = allocate_file(fd, offset, size);
    int saved = errno;
    close(fd);
    errno = saved;
    return rc;
}

int ftc_segment_populate(struct ftc_segment *segment, uint64_t start, size_t size)
{
    int rc;

    assert(segment->writable);
    do
        rc = madvise(segment->base + start, size, MADV_POPULATE_WRITE);
    while (rc != 0 && (errno == EINTR || errno == EAGAIN));
    if (rc != 0 && errno == EINVAL)
        rc = allocate_by_path(segment, start, size);
    return rc;
}

/* EFAULT: a store would have raised SIGBUS. */
bool ftc_segment_full(void)
{
    return errno == EFAULT || errno == ENOSPC;
}

int ftc_segment_ring_allocate(struct ftc_segment *segment, int from, int to, size_t offset,
                              size_t size)
{
    assert(offset <= FTC_SEGMENT_RING_BYTES && size <= FTC_SEGMENT_RING_BYTES - offset);
    if (ftc_segment_populate(segment, ring_offset(segment, from, to) + offset, size) == 0)
        return 0;
    if (ftc_segment_full())
        return ftc_error_set(FTC_ERR_SYSTEM,
                             "/dev/shm is full: no room for a channel of %zu bytes from rank %d to "
                             "rank %d: enlarge it (mount -o remount,size=1g /dev/shm)",
                             size, from, to);
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot allocate a channel from rank %d to rank %d: %m",
                         from, to);
}

/* --- areas --- */

int ftc_segment_area_allocate(struct ftc_segment *segment, int place, size_t offset, size_t size)
{
    assert(place >= 0 && (uint32_t)place < segment->layout.local);
    assert(offset <= FTC_BOARD_AREA && size <= FTC_BOARD_AREA - offset);
    uint64_t start = segment->layout.areas_offset + (uint64_t)place * FTC_BOARD_AREA + offset;
    int rank = (int)segment->first[segment->node] + place;
    if (ftc_segment_populate(segment, start, size) == 0)
        return 0;
    if (ftc_segment_full())
        return ftc_error_set(
            FTC_ERR_SYSTEM,
            "/dev/shm is full: no room for a buffer of %zu bytes for rank %d: enlarge it "
            "(mount -o remount,size=1g /dev/shm)",
            size, rank);
    return ftc_error_set(FTC_ERR_SYSTEM, "cannot allocate a buffer for rank %d: %m", rank);
}
