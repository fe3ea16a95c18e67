/* Judges runs of the storm of messages: the records of messages_storm_app. */
#include <stdio.h>
#include <sys/mman.h>

#include "tests/system/message_record.h"
#include "tests/system/storm_run.h"
#include "tests/system/storm_totals.h"

/* What is wrong with a survivor's record by itself; NULL: nothing. */
static const char *judge_record(const struct run *run, const struct message_record *record)
{
    if (!record->done)
        return "was not finished";
    if ((record->blamed & storm_alive(run)) != 0)
        return "blames a survivor";
    if (record->interrupted > 0 && run->failed == 0)
        return "was interrupted by a failure that there was not";
    if ((record->failed & storm_alive(run)) != 0)
        return "has a survivor in its failed set";
    return NULL;
}

static bool judge_survivor(const struct run *run, int rank, const struct message_record *records,
                           const struct message_record *first, struct totals *totals)
{
    for (int step = 0; step < run->operations; step++) {
        const struct message_record *record = &records[step];
        const char *what = judge_record(run, record);
        if (what == NULL &&
            (record->agreed != first[step].agreed || record->failed != first[step].failed))
            what = "has another failed set than the first survivor";
        if (what != NULL) {
            storm_complain(run, "rank %d: step %d %s (blamed %llx, failed %llx)", rank, step, what,
                           (unsigned long long)record->blamed, (unsigned long long)record->failed);
            return false;
        }
        totals->received += record->received;
        totals->ended += record->interrupted + (uint64_t)__builtin_popcountll(record->blamed);
    }
    return true;
}

bool storm_messages_judge(const struct run *run, struct totals *totals)
{
    size_t size = (size_t)run->operations * sizeof(struct message_record);
    const struct message_record *first = NULL;
    bool good = storm_alive(run) != 0;

    if (!good)
        storm_complain(run, "nobody survived");
    for (int rank = 0; good && rank < run->n; rank++) {
        if (!(storm_alive(run) >> rank & 1))
            continue;
        const struct message_record *records = storm_map_records(run, rank, size);
        if (records == NULL) {
            storm_complain(run, "survivor %d wrote no records", rank);
            return false;
        }
        if (first == NULL)
            first = records;
        good = judge_survivor(run, rank, records, first, totals);
        if (records != first)
            munmap((void *)records, size);
    }
    if (first != NULL)
        munmap((void *)first, size);
    return good;
}
