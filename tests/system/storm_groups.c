/* Judges runs of the storm of communicators: the records of groups_storm_app. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "include/ftcoll.h"
#include "tests/system/group_record.h"
#include "tests/system/storm_run.h"

static const struct group_record *map_records(const struct run *run, int rank)
{
    return storm_map_records(run, rank,
                             group_records(run->operations) * sizeof(struct group_record));
}

static bool has_all_inputs(enum group_kind kind)
{
    return kind == GROUP_ALLREDUCE || kind == GROUP_REDUCE_SCATTER || kind == GROUP_ALLGATHER ||
           kind == GROUP_ALLTOALL;
}

static bool has_no_value(enum group_kind kind)
{
    return kind == GROUP_REDUCE || kind == GROUP_GATHER;
}

/* A place stays as it was, if it is that of a rank in the failed set. */
static bool has_places(const struct group_record *r)
{
    return (r->kind == GROUP_ALLGATHER || r->kind == GROUP_ALLTOALL || r->kind == GROUP_GATHER) &&
           r->counted != ~0ull;
}

/* What is wrong with a creation; NULL: nothing. The ranks of a dup are those of its parent. */
static const char *judge_child(const struct run *run, const struct group_record *r)
{
    if ((r->child & ~r->wanted) != 0)
        return "made a child with a rank that should not be in it";
    if (r->status == FTC_SUCCESS && !r->loose && (r->wanted & storm_alive(run) & ~r->child) != 0)
        return "made a child without a survivor";
    if (r->kind == GROUP_DUP && r->status == FTC_SUCCESS && r->child != r->wanted)
        return "made a copy that is not complete";
    return NULL;
}

/* What is wrong with a survivor's record by itself; NULL: nothing. */
static const char *judge_record(const struct run *run, const struct group_record *r)
{
    uint64_t alive = storm_alive(run) & r->members;

    if (!r->done)
        return "was not finished";
    if (r->group == 0 || r->status == FTC_ERR_REVOKED)
        return NULL;
    if ((r->counted & alive) != alive && !r->loose)
        return "leaves out a survivor";
    if ((r->failed & alive) != 0)
        return "has a survivor in its failed set";
    if (has_all_inputs(r->kind) && run->list && r->reported &&
        (r->members & ~r->counted & ~r->failed) != 0)
        return "leaves out a rank that its failed set does not name";
    if (has_places(r) && r->reported && (r->counted & r->failed) != 0)
        return "has the block of a rank in its failed set";
    if (r->status == FTC_ERR_ROOT_FAILED && (alive >> r->root & 1) != 0)
        return "says that a live root failed";
    return r->kind >= GROUP_CALLS ? judge_child(run, r) : NULL;
}

/* What two survivors disagree about; NULL: nothing. */
static const char *compare(const struct group_record *x, const struct group_record *y, int a, int b)
{
    bool revoked = x->status == FTC_ERR_REVOKED || y->status == FTC_ERR_REVOKED;

    if (x->group != y->group) {
        if (x->loose || y->loose || !((x->members >> b & 1) || (y->members >> a & 1)))
            return NULL;
        /* Only the listed ranks make a group. */
        return (x->kind == GROUP_CREATE && y->group == 0 && !(x->wanted >> b & 1)) ||
                       (y->kind == GROUP_CREATE && x->group == 0 && !(y->wanted >> a & 1))
                   ? NULL
                   : "which communicator it is of";
    }
    if (x->group == 0 || revoked)
        return NULL;
    if (x->kind != y->kind)
        return "what it is";
    if (x->members != y->members)
        return "who is a member";
    if (x->kind == GROUP_SPLIT && (x->child == 0 || y->child == 0))
        return NULL;
    if (x->kind >= GROUP_CALLS && ((x->child >> b & 1) != (y->child >> a & 1)))
        return "who is in the child";
    if (x->kind >= GROUP_CALLS && (x->child >> b & 1) != 0 && x->child != y->child)
        return "the members of the child";
    if (has_no_value(x->kind))
        return NULL;
    if (x->status != y->status)
        return "the status";
    if (x->counted != y->counted)
        return "the inputs that are counted";
    if (x->reported && y->reported && x->failed != y->failed)
        return "the failed set";
    return x->hash != y->hash ? "the result" : NULL;
}

static void show(const struct group_record *r)
{
    fprintf(stderr,
            "  kind %u status %d root %d group %llx members %llx counted %llx failed %llx%s child "
            "%llx wanted %llx hash %llx%s\n",
            r->kind, r->status, r->root, (unsigned long long)r->group,
            (unsigned long long)r->members, (unsigned long long)r->counted,
            (unsigned long long)r->failed, r->reported ? "" : " (unknown)",
            (unsigned long long)r->child, (unsigned long long)r->wanted,
            (unsigned long long)r->hash, r->loose ? " loose" : "");
}

static bool judge_pair(const struct run *run, const struct group_record *const of[], int a, int b)
{
    uint64_t count =
        group_records(run->operations) / GROUP_TRACKS * (uint64_t)group_tracks(run->seed);

    for (uint64_t i = 0; i < count; i++) {
        const struct group_record *x = &of[a][i], *y = &of[b][i];
        const char *what = a == b ? judge_record(run, x) : compare(x, y, a, b);
        if (what == NULL)
            continue;
        storm_complain(run, "track %d, step %d, operation %d: rank%s %d %s%d %s%s",
                       (int)(i / (group_records(run->operations) / GROUP_TRACKS)),
                       (int)(i / GROUP_PER_STEP) % run->operations, (int)(i % GROUP_PER_STEP),
                       a == b ? "" : "s", a, a == b ? "/ " : "and ", b,
                       a == b ? "" : "disagree about ", what);
        show(x);
        if (a != b)
            show(y);
        return false;
    }
    return true;
}

bool storm_groups_judge(const struct run *run)
{
    const struct group_record *of[64] = {NULL};
    uint64_t alive = storm_alive(run);
    bool good = alive != 0;

    if (!good)
        storm_complain(run, "nobody survived");
    for (int rank = 0; good && rank < run->n; rank++)
        if ((alive >> rank & 1) && (of[rank] = map_records(run, rank)) == NULL) {
            storm_complain(run, "survivor %d wrote no records", rank);
            good = false;
        }
    for (int a = 0; good && a < run->n; a++)
        for (int b = a; good && b < run->n; b++)
            if (of[a] != NULL && of[b] != NULL)
                good = judge_pair(run, of, a, b);
    for (int rank = 0; rank < run->n; rank++)
        if (of[rank] != NULL)
            munmap((void *)of[rank], group_records(run->operations) * sizeof(struct group_record));
    return good;
}
