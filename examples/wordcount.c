/*
 * Count the words of files. The count is exact, whichever ranks die.
 *
 *     ftrun -np 8 -f 2 --kill 3@0.2 ./wordcount --slow 50 /usr/share/common-licenses/GPL-3
 *
 * The program treats the files as one text, one file after the other, and cuts this text into
 * shards of bytes. Each rank counts the words of its shards. One allreduce then brings all counts
 * to all ranks. This is how the program handles failures:
 *
 *   - The result holds a failed rank's input entirely or not at all. The failed set alone does not
 *     say which of the two. So a rank's input is a table with one row for each shard. A row holds
 *     -1 if the rank did not count that shard. The operator is the maximum, so the result itself
 *     says which shards are counted. It does no harm if two ranks count the same shard.
 *   - The survivors share out the shards that nobody counted. A survivor here is a rank outside of
 *     the agreed failed set. Every survivor has the same table and the same failed set, so each
 *     one knows its part without asking.
 *   - The two steps repeat until the table is full.
 *
 * A word is a run of bytes between white space, as POSIX has it for `wc -w` in the C locale. It
 * belongs to the shard in which it begins.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftcoll.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LENGTHS 16            /* bars of the histogram: words of 1, ..., 15 bytes, of 16 and more */
#define COLUMNS (1 + LENGTHS) /* columns of the table: all words, then the words of each length */

/* The files as one text. */
struct text {
    int files;
    int *fd;
    int64_t *start; /* where each file begins in the text; start[files] is the end of the text */
};

/* Reads the text byte by byte, through a buffer. */
struct cursor {
    const struct text *text;
    int64_t next; /* offset of the byte that cursor_next() returns next */
    int file;
    size_t used, filled;
    unsigned char data[65536];
};

struct options {
    bool histogram;
    long slow_ms, shards;
    char **files;
    int file_count;
};

/* --- the text --- */

static bool open_file(struct text *text, const char *path)
{
    struct stat status;
    int i = text->files, fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, "wordcount: %s: %s\n", path, strerror(errno));
        return false;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        fprintf(stderr, "wordcount: %s is not a regular file\n", path);
        close(fd);
        return false;
    }
    text->fd[i] = fd;
    text->start[i + 1] = text->start[i] + status.st_size;
    text->files++;
    return true;
}

static void close_text(struct text *text)
{
    while (text->files > 0)
        close(text->fd[--text->files]);
    free(text->fd);
    free(text->start);
}

static bool open_text(struct text *text, char **files, int count)
{
    *text = (struct text){.fd = calloc((size_t)count, sizeof(int)),
                          .start = calloc((size_t)count + 1, sizeof(int64_t))};
    bool good = text->fd != NULL && text->start != NULL;
    for (int i = 0; good && i < count; i++)
        good = open_file(text, files[i]);
    return good;
}

static void cursor_set(struct cursor *cursor, const struct text *text, int64_t offset)
{
    cursor->text = text;
    cursor->next = offset;
    cursor->file = 0;
    cursor->used = cursor->filled = 0;
}

/* Returns the next byte, -1 at the end of the text, or -2 if a file cannot be read or has become
 * shorter. */
static int cursor_next(struct cursor *cursor)
{
    const struct text *text = cursor->text;
    if (cursor->used == cursor->filled) {
        while (cursor->file < text->files && cursor->next >= text->start[cursor->file + 1])
            cursor->file++;
        if (cursor->file == text->files)
            return -1;
        int64_t left = text->start[cursor->file + 1] - cursor->next;
        size_t want = left < (int64_t)sizeof(cursor->data) ? (size_t)left : sizeof(cursor->data);
        ssize_t got;
        do
            got = pread(text->fd[cursor->file], cursor->data, want,
                        cursor->next - text->start[cursor->file]);
        while (got < 0 && errno == EINTR);
        if (got <= 0)
            return -2;
        cursor->used = 0;
        cursor->filled = (size_t)got;
    }
    cursor->next++;
    return cursor->data[cursor->used++];
}

/* --- counting --- */

/* Move to the first byte that belongs to the shard at `from`, and return it. A word that began
 * before `from` is skipped, because the shard before counts it. */
static int first_byte(struct cursor *cursor, const struct text *text, int64_t from)
{
    int byte = ' ';
    cursor_set(cursor, text, from > 0 ? from - 1 : 0);
    if (from > 0)
        do
            byte = cursor_next(cursor);
        while (byte >= 0 && !isspace(byte));
    return byte < 0 ? byte : cursor_next(cursor);
}

/* Count in row[] the words that begin in [from, to). Returns false if the text cannot be read. */
static bool count_shard(const struct text *text, int64_t from, int64_t to, int64_t row[COLUMNS])
{
    struct cursor cursor;
    memset(row, 0, COLUMNS * sizeof(row[0]));
    int byte = from < to ? first_byte(&cursor, text, from) : -1;
    while (byte >= 0 && cursor.next - 1 < to) {
        int64_t length = 0;
        for (; byte >= 0 && !isspace(byte); byte = cursor_next(&cursor))
            length++;
        if (length > 0) {
            row[0]++;
            row[length < LENGTHS ? length : LENGTHS]++;
        }
        if (byte >= 0)
            byte = cursor_next(&cursor);
    }
    return byte != -2;
}

/* --- sharing the work --- */

struct job {
    ftc_comm *world;
    int rank, size;
    const struct options *options;
    struct text text;
    long shards;
    int64_t *table; /* one row for each shard; row[0] is -1 if the shard is not counted */
    bool *failed;   /* failed[rank]: is this rank in the agreed failed set? */
    int failed_count;
};

/* After an error of a collective call this rank cannot go on. So it says why and ends the job. */
static void check(struct job *job, int rc)
{
    if (rc == FTC_SUCCESS)
        return;
    fprintf(stderr, "wordcount: rank %d: %s\n", job->rank, ftc_last_error());
    ftc_abort(job->world, 1);
}

/* Agree on the failed ranks. Every survivor gets the same set, with every failure-information
 * scheme: the union of what the survivors know. */
static void agree_on_failed(struct job *job)
{
    int count;
    check(job, ftc_validate_global(job->world, &count));
    if (count == 0)
        return;
    ftc_rank_info *infos = calloc((size_t)count, sizeof(*infos));
    if (infos == NULL) {
        fprintf(stderr, "wordcount: out of memory\n");
        ftc_abort(job->world, 1);
    }
    check(job,
          ftc_get_state_global(job->world, FTC_RANK_FAILED | FTC_RANK_NULL, count, &count, infos));
    for (int i = 0; i < count; i++)
        job->failed[infos[i].rank] = true;
    job->failed_count = count;
    free(infos);
}

static int lowest_survivor(const struct job *job)
{
    int rank = 0;
    while (job->failed[rank]) /* ends: this rank itself is not in the set */
        rank++;
    return rank;
}

/* Returns how many survivors have a lower rank. */
static long place(const struct job *job)
{
    long before = 0;
    for (int rank = 0; rank < job->rank; rank++)
        before += !job->failed[rank];
    return before;
}

/* Count this rank's part of the open shards, which nobody has counted yet. The survivors take the
 * open shards in turn. */
static void count_mine(struct job *job)
{
    const struct options *options = job->options;
    struct timespec slow = {.tv_sec = options->slow_ms / 1000,
                            .tv_nsec = options->slow_ms % 1000 * 1000000};
    long survivors = job->size - job->failed_count, mine = place(job), open = 0;
    int64_t bytes = job->text.start[job->text.files];

    for (long shard = 0; shard < job->shards; shard++) {
        int64_t *row = job->table + shard * COLUMNS;
        if (row[0] >= 0 || open++ % survivors != mine)
            continue;
        int64_t step = bytes / job->shards, rest = bytes % job->shards;
        int64_t from = shard * step + (shard < rest ? shard : rest);
        if (!count_shard(&job->text, from, from + step + (shard < rest), row)) {
            fprintf(stderr, "wordcount: rank %d: a file cannot be read, or became shorter\n",
                    job->rank);
            ftc_abort(job->world, 1);
        }
        nanosleep(&slow, NULL);
    }
}

static bool complete(const struct job *job)
{
    for (long shard = 0; shard < job->shards; shard++)
        if (job->table[shard * COLUMNS] < 0)
            return false;
    return true;
}

static void count_all(struct job *job)
{
    size_t cells = (size_t)job->shards * COLUMNS;
    for (size_t i = 0; i < cells; i++)
        job->table[i] = -1;
    for (;;) {
        count_mine(job);
        check(job, ftc_allreduce(FTC_IN_PLACE, job->table, cells, FTC_INT64, FTC_MAX, job->world));
        if (complete(job)) /* every survivor gets the same answer, so all leave together */
            return;
        agree_on_failed(job);
    }
}

/* --- the result --- */

static void print_result(const struct job *job)
{
    int64_t sum[COLUMNS] = {0};
    for (long shard = 0; shard < job->shards; shard++)
        for (int i = 0; i < COLUMNS; i++)
            sum[i] += job->table[shard * COLUMNS + i];
    printf("%" PRId64 " words\n", sum[0]);
    for (int i = 1; i < COLUMNS && job->options->histogram; i++)
        printf("%s%2d bytes: %" PRId64 "\n", i == LENGTHS ? ">=" : "  ", i, sum[i]);
    printf("failed ranks:");
    for (int rank = 0; rank < job->size; rank++)
        if (job->failed[rank])
            printf(" %d", rank);
    printf("%s\n", job->failed_count == 0 ? " none" : "");
    fflush(stdout);
}

/* The lowest survivor prints the result. It may die before it has printed. So the ranks agree once
 * more, and if the printer is in the failed set now, the next survivor prints. The result may then
 * appear twice: nobody can know whether the dead printer's output came out. */
static void print_once(struct job *job)
{
    int printer;
    agree_on_failed(job);
    do {
        printer = lowest_survivor(job);
        if (printer == job->rank)
            print_result(job);
        agree_on_failed(job);
    } while (job->failed[printer]);
}

/* Check that every rank sees a text of the same length. A rank that could not open the text takes
 * part with -1, because the others would wait for it. */
static bool same_text(struct job *job, bool opened)
{
    int64_t bytes = opened ? job->text.start[job->text.files] : -1;
    int64_t extremes[2] = {bytes, -bytes};
    check(job, ftc_allreduce(FTC_IN_PLACE, extremes, 2, FTC_INT64, FTC_MIN, job->world));
    if (extremes[0] == -extremes[1] && extremes[0] >= 0)
        return true;
    if (opened)
        fprintf(stderr, "wordcount: rank %d: the ranks do not all see the same files\n", job->rank);
    return false;
}

static int run(struct job *job)
{
    bool opened = open_text(&job->text, job->options->files, job->options->file_count);
    job->shards = job->options->shards > 0 ? job->options->shards : 4L * job->size;
    job->table = calloc((size_t)job->shards * COLUMNS, sizeof(*job->table));
    job->failed = calloc((size_t)job->size, sizeof(*job->failed));
    int code = 1;
    if (job->table == NULL || job->failed == NULL) {
        fprintf(stderr, "wordcount: out of memory\n");
        ftc_abort(job->world, 1);
    }
    if (same_text(job, opened)) {
        count_all(job);
        print_once(job);
        code = 0;
    }
    close_text(&job->text);
    free(job->table);
    free(job->failed);
    return code;
}

/* --- the command line --- */

static bool parse_number(const char *text, long most, long *value)
{
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *value >= 0 && *value <= most;
}

static bool parse(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {{"histogram", no_argument, NULL, 'h'},
                                          {"slow", required_argument, NULL, 's'},
                                          {"shards", required_argument, NULL, 'n'},
                                          {NULL, 0, NULL, 0}};
    bool good = true;
    for (int code; (code = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        if (code == 'h')
            options->histogram = true;
        else if (code == 's')
            good &= parse_number(optarg, 3600000, &options->slow_ms);
        else
            good &= code == 'n' && parse_number(optarg, 1000000, &options->shards);
    }
    options->files = argv + optind;
    options->file_count = argc - optind;
    return good && options->file_count > 0;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct job job = {.options = &options};
    if (!parse(argc, argv, &options)) {
        fprintf(stderr, "usage: wordcount [--histogram] [--slow MS (pause after each shard)] "
                        "[--shards N] FILE...\n");
        return 2;
    }
    if (ftc_init(NULL, &job.world) != FTC_SUCCESS) {
        fprintf(stderr, "wordcount: %s\n", ftc_last_error());
        return 1;
    }
    job.rank = ftc_rank(job.world);
    job.size = ftc_size(job.world);
    int code = run(&job);
    if (ftc_finalize(job.world) != FTC_SUCCESS) {
        fprintf(stderr, "wordcount: rank %d: %s\n", job.rank, ftc_last_error());
        code = 1;
    }
    return code;
}
