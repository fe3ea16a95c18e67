/* Files of boards. Their names begin with that of the node segment, so that whoever removes what a
 * dead job left finds them, too. */
#include "node/segment/board_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "node/segment/internal.h"

#define PAGE_BYTES 4096u

struct ftc_board_file {
    int ranks, users; /* users: in this process */
    uint64_t name;    /* the number in its name */
    uint64_t use;
    char path[160];
    unsigned char *base;
    size_t size;
    struct ftc_board_memory memory;
};

static int fail(const char *what, const char *path)
{
    return ftc_error_set(FTC_ERR_SYSTEM,
                         "cannot %s %s: %m: enlarge /dev/shm (mount -o "
                         "remount,size=1g /dev/shm) or raise the limits",
                         what, path);
}

/* All ranks give the file the same size, so it does not matter which one is first. */
static int map(struct ftc_board_file *file, int fd)
{
    struct stat info;

    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
        (info.st_size != 0 && (uint64_t)info.st_size != file->size))
        return ftc_error_set(FTC_ERR_SYSTEM, "%s is not the file of a board: remove it",
                             file->path);
    if (ftruncate(fd, (off_t)file->size) != 0)
        return fail("give its size to", file->path);
    void *base = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED)
        return fail("map", file->path);
    file->base = base;
    (void)madvise(base, file->size, MADV_DONTDUMP); /* a failure does no harm */
    return FTC_SUCCESS;
}

static int populate(void *from, size_t size)
{
    int rc;

    do
        rc = madvise(from, size, MADV_POPULATE_WRITE);
    while (rc != 0 && (errno == EINTR || errno == EAGAIN));
    return rc;
}

/* Everything before the results is allocated here, and `head` bytes of each area, so that a full
 * /dev/shm is an error and no SIGBUS. */
static int lay_out(struct ftc_board_file *file, const struct ftc_board_layout *layout, size_t head)
{
    unsigned char *areas = file->base + layout->end;
    int rc = layout->results > 0 ? populate(file->base, layout->results) : 0;

    for (int rank = 0; rc == 0 && head > 0 && rank < file->ranks; rank++)
        rc = populate(areas + (size_t)rank * FTC_BOARD_AREA, head);
    if (rc != 0)
        return fail("allocate", file->path);
    file->memory = (struct ftc_board_memory){
        .places = (void *)(file->base + layout->places),
        .progress = (void *)(file->base + layout->progress),
        .posts = file->base + layout->posts,
        .post_stride = layout->post_stride,
        .ahead = file->base + layout->ahead,
        .results = file->base + layout->results,
        .areas = areas,
    };
    return FTC_SUCCESS;
}

static int open_file(struct ftc_board_file *file, const struct ftc_board_layout *layout,
                     size_t head)
{
    int fd = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return fail("open", file->path);
    int rc = map(file, fd);
    close(fd);
    return rc == FTC_SUCCESS ? lay_out(file, layout, head) : rc;
}

static int open_new(struct ftc_board_file **out, const struct ftc_segment *segment, uint64_t number,
                    int lowest, int ranks, const struct ftc_board_layout *layout, size_t head)
{
    struct ftc_board_file *file = calloc(1, sizeof(*file));

    assert(ranks >= 1 && ranks <= FTC_NODE_MAX_LOCAL);
    if (file == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", ranks);
    file->ranks = ranks;
    file->users = 1;
    file->name = number;
    file->use = 1;
    file->size = layout->end + (uint64_t)ranks * FTC_BOARD_AREA;
    snprintf(file->path, sizeof(file->path), "%s.%llx.%d", segment->path,
             (unsigned long long)number, lowest);
    int rc = open_file(file, layout, head);
    if (rc == FTC_SUCCESS)
        *out = file;
    else
        ftc_board_file_close(file);
    return rc;
}

int ftc_board_file_open(struct ftc_board_file **out, const struct ftc_segment *segment,
                        uint64_t number, int lowest, int ranks)
{
    struct ftc_board_layout layout;

    ftc_board_layout(&layout, 0, (uint64_t)ranks);
    return open_new(out, segment, number, lowest, ranks, &layout, 0);
}

int ftc_board_file_open_areas(struct ftc_board_file **out, const struct ftc_segment *segment,
                              uint64_t number, int lowest, int ranks, size_t head)
{
    struct ftc_board_layout nothing = {0};

    assert(head <= FTC_BOARD_AREA);
    return open_new(out, segment, number, lowest, ranks, &nothing, head);
}

void ftc_board_file_unlink(const struct ftc_board_file *file)
{
    if (file->use == 1)
        (void)unlink(file->path);
}

void ftc_board_file_close(struct ftc_board_file *file)
{
    if (file == NULL || --file->users > 0)
        return;
    if (file->base != NULL)
        munmap(file->base, file->size);
    free(file);
}

struct ftc_board_file *ftc_board_file_share(struct ftc_board_file *file)
{
    file->users++;
    return file;
}

/* --- one communicator after another --- */

/* Words that only callers touch. Bells stay: one that has left, but does not know that all have,
 * may still ring. */
void ftc_board_file_renew(struct ftc_board_file *file)
{
    struct ftc_board_memory *memory = &file->memory;

    file->use++;
    for (unsigned i = 0; i < FTC_BOARD_DEPTH; i++) {
        struct ftc_board_place *place = &memory->places[i];
        FTC_BOARD_STORE(place->arrived, 0);
        for (unsigned chunk = 0; chunk < FTC_BOARD_CHUNKS; chunk++)
            FTC_BOARD_STORE(place->claim[chunk], 0);
        FTC_BOARD_STORE(place->sleepers, 0);
        FTC_BOARD_STORE(place->revoked, 0);
    }
    for (int rank = 0; rank < file->ranks; rank++) {
        struct ftc_board_progress *progress = &memory->progress[rank];
        FTC_BOARD_STORE(progress->finished, 0);
        FTC_BOARD_STORE(progress->decided, 0);
        FTC_BOARD_STORE(progress->wanted, 0);
        FTC_BOARD_STORE(progress->left, 0);
    }
    memset(memory->posts, 0, FTC_BOARD_DEPTH * memory->post_stride);
    memset(memory->ahead, 0, (size_t)file->ranks * FTC_BOARD_DEPTH * sizeof(struct ftc_board_post));
}

uint64_t ftc_board_file_use(const struct ftc_board_file *file)
{
    return file->use;
}

static uint64_t uses_word(const struct ftc_board_file *file, uint64_t use)
{
    return ftc_board_mark(use, file->name * FTC_BOARD_GOLDEN);
}

void ftc_board_file_leave(struct ftc_board_file *file, int rank)
{
    FTC_BOARD_STORE(file->memory.progress[rank].uses, uses_word(file, file->use));
}

int ftc_board_file_has_left(const struct ftc_board_file *file, uint64_t use, int rank)
{
    uint64_t word = FTC_BOARD_LOAD(file->memory.progress[rank].uses);
    uint64_t uses = word & FTC_BOARD_ROUND_MASK;

    if (word != 0 && word != uses_word(file, uses))
        return FTC_ERR_PROTO;
    return uses >= use;
}

bool ftc_board_file_is_revoked(const struct ftc_board_file *file)
{
    return FTC_BOARD_LOAD(file->memory.places[0].revoked) != 0;
}

const struct ftc_board_memory *ftc_board_file_memory(const struct ftc_board_file *file)
{
    return &file->memory;
}

/* --- results and areas --- */

int ftc_board_allocate_result(const struct ftc_board_memory *memory, size_t offset, size_t size)
{
    size_t from = offset / PAGE_BYTES * PAGE_BYTES;
    size_t to = (offset + size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;

    assert(offset + size <= (size_t)FTC_BOARD_RESULTS * FTC_BOARD_BLOCK);
    if (memory->segment != NULL || populate(memory->results + from, to - from) == 0)
        return FTC_SUCCESS;
    return ftc_error_set(FTC_ERR_SYSTEM,
                         "/dev/shm is full: no room for a result of %zu bytes: %m: enlarge it "
                         "(mount -o remount,size=1g /dev/shm)",
                         size);
}

int ftc_board_allocate(const struct ftc_board_memory *memory, int rank, size_t offset, size_t size)
{
    if (memory->segment != NULL)
        return ftc_segment_area_allocate(memory->segment, rank, offset, size);
    assert(offset <= FTC_BOARD_AREA && size <= FTC_BOARD_AREA - offset);
    if (populate(memory->areas + (size_t)rank * FTC_BOARD_AREA + offset, size) == 0)
        return FTC_SUCCESS;
    return ftc_error_set(FTC_ERR_SYSTEM,
                         "/dev/shm is full: no room for a buffer of %zu bytes for rank %d of a "
                         "communicator: %m: enlarge it (mount -o remount,size=1g /dev/shm)",
                         size, rank);
}
