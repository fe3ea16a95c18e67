/* Files of boards. Their names begin with that of the node segment, so that whoever removes what a
 * dead job left finds them, too. */
#include "node/segment/board_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "node/segment/internal.h"

struct ftc_board_file {
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

/* Everything but the areas is allocated here, so that a full /dev/shm is an error and no SIGBUS. */
static int lay_out(struct ftc_board_file *file, const struct ftc_board_layout *layout)
{
    if (populate(file->base, layout->end) != 0)
        return fail("allocate", file->path);
    file->memory = (struct ftc_board_memory){
        .places = (void *)(file->base + layout->places),
        .progress = (void *)(file->base + layout->progress),
        .posts = file->base + layout->posts,
        .post_stride = layout->post_stride,
        .results = file->base + layout->results,
        .areas = file->base + layout->end,
    };
    return FTC_SUCCESS;
}

static int open_file(struct ftc_board_file *file, const struct ftc_board_layout *layout)
{
    int fd = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return fail("open", file->path);
    int rc = map(file, fd);
    close(fd);
    return rc == FTC_SUCCESS ? lay_out(file, layout) : rc;
}

int ftc_board_file_open(struct ftc_board_file **out, const struct ftc_segment *segment,
                        uint64_t number, int lowest, int ranks)
{
    struct ftc_board_file *file = calloc(1, sizeof(*file));
    struct ftc_board_layout layout;

    assert(ranks >= 1 && ranks <= FTC_NODE_MAX_RANKS);
    if (file == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a communicator of %d ranks", ranks);
    ftc_board_layout(&layout, 0, (uint64_t)ranks);
    file->size = layout.end + (uint64_t)ranks * FTC_BOARD_AREA;
    snprintf(file->path, sizeof(file->path), "%s.%llx.%d", segment->path,
             (unsigned long long)number, lowest);
    int rc = open_file(file, &layout);
    if (rc == FTC_SUCCESS)
        *out = file;
    else
        ftc_board_file_close(file);
    return rc;
}

void ftc_board_file_unlink(const struct ftc_board_file *file)
{
    (void)unlink(file->path);
}

void ftc_board_file_close(struct ftc_board_file *file)
{
    if (file == NULL)
        return;
    if (file->base != NULL)
        munmap(file->base, file->size);
    free(file);
}

const struct ftc_board_memory *ftc_board_file_memory(const struct ftc_board_file *file)
{
    return &file->memory;
}

/* --- areas --- */

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
