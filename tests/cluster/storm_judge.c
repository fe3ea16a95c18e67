/*
 * Judges what the ranks of a storm wrote down (tests/system/record.h). The ranks that have come to
 * their end must agree.
 *
 *   cluster_storm_judge DIRECTORY RANKS OPERATIONS REQUIRED
 *
 * The bits of the number REQUIRED name the ranks that must have come to their end. The program
 * prints how many ranks have, and what is wrong. Its exit code is 1 if anything is wrong.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/ftcoll.h"
#include "tests/system/record.h"

#define MOST_RANKS 64

struct storm {
    const char *directory;
    int ranks, operations;
    uint64_t ended;
    const struct record *records[MOST_RANKS]; /* of the ranks that ended */
};

static bool has_ended(const struct storm *storm, int rank)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%d.end", storm->directory, rank);
    return access(path, F_OK) == 0;
}

static const struct record *map_records(const struct storm *storm, int rank)
{
    char path[512];
    size_t size = (size_t)storm->operations * sizeof(struct record);
    struct stat info;

    snprintf(path, sizeof(path), "%s/%d", storm->directory, rank);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || (size_t)info.st_size != size)
        return NULL;
    const struct record *records = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return records == MAP_FAILED ? NULL : records;
}

/* Judges the record of one rank by itself. */
static const char *judge(const struct storm *storm, const struct record *record)
{
    uint64_t all = storm->ranks == 64 ? ~0ull : (1ull << storm->ranks) - 1;
    bool reduces = record->kind == RECORD_ALLREDUCE || record->kind == RECORD_LARGE;

    if (!record->done)
        return "was not finished";
    if ((record->counted & storm->ended) != storm->ended)
        return "leaves out a survivor";
    if (reduces && (all & ~record->counted & ~record->failed) != 0)
        return "leaves out a rank that its failed set does not name";
    if ((record->failed & storm->ended) != 0)
        return "has a survivor in its failed set";
    if (record->status == FTC_ERR_ROOT_FAILED && (storm->ended >> record->root & 1))
        return "says that a live root failed";
    if (record->status != FTC_SUCCESS && record->status != FTC_ERR_ROOT_FAILED &&
        record->status != FTC_ERR_TOO_MANY_FAILURES)
        return "has an error";
    return NULL;
}

/* The result of a plain reduce is for its root alone. */
static bool equal(const struct record *a, const struct record *b)
{
    return record_is_reduce(a->kind) || (a->status == b->status && a->failed == b->failed &&
                                         a->counted == b->counted && a->hash == b->hash);
}

static bool judge_rank(const struct storm *storm, int rank, int first)
{
    for (int op = 0; op < storm->operations; op++) {
        const struct record *record = &storm->records[rank][op];
        const char *what = judge(storm, record);
        if (what == NULL && !equal(record, &storm->records[first][op]))
            what = "is not what another rank says";
        if (what == NULL)
            continue;
        printf(
            "rank %d (and %d): operation %d (kind %u, status %d, failed %llx, counted %llx) %s\n",
            rank, first, op, record->kind, record->status, (unsigned long long)record->failed,
            (unsigned long long)record->counted, what);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct storm storm = {.directory = argc == 5 ? argv[1] : ""};
    int first = -1;

    storm.ranks = argc == 5 ? atoi(argv[2]) : 0;
    storm.operations = argc == 5 ? atoi(argv[3]) : 0;
    if (storm.ranks < 1 || storm.ranks > MOST_RANKS || storm.operations < 1)
        return 2;
    uint64_t required = strtoull(argv[4], NULL, 0);
    for (int rank = 0; rank < storm.ranks; rank++)
        if (has_ended(&storm, rank) && (storm.records[rank] = map_records(&storm, rank)) != NULL)
            storm.ended |= 1ull << rank;
    bool good = (storm.ended & required) == required;
    if (!good)
        printf("ranks %llx have ended, %llx had to\n", (unsigned long long)storm.ended,
               (unsigned long long)required);
    for (int rank = 0; rank < storm.ranks; rank++) {
        if (!(storm.ended >> rank & 1))
            continue;
        first = first < 0 ? rank : first;
        good = judge_rank(&storm, rank, first) && good;
    }
    printf("%d of %d ranks came to their end\n", __builtin_popcountll(storm.ended), storm.ranks);
    return good ? 0 : 1;
}
