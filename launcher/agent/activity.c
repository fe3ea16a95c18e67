/* The bytes of a rank are numbers in the order of `words`, then L and G if one of these is not
 * empty, and the job has at most FTC_SHOWN_RANKS ranks. They are for people, never for the
 * protocol. */
#include "launcher/agent/activity.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/set.h"
#include "base/wire.h"

enum {
    RANK,
    KIND,
    OP,
    AGE_NS,
    BALLOT_I,
    BALLOT_S,
    ROLE,
    WAITS_FOR,
    WAITS,
    ROOT,
    EPOCH_OP,
    EPOCH_I,
    EPOCH_S,
    KNOWN,
    AGREED,
    UNSETTLED_NS,
    TAG,
    BYTES,
    COMMUNICATOR,
    NAME,
    NAME_END = NAME + FTC_COMMUNICATOR_NAME / 8 - 1,
    ALGORITHM,
    CALLED,
    OPERATIONS,
    HEARTBEAT,
    SPAWNED_AGE_NS, /* age plus 1; 0: the rank was not spawned */
    WORDS
};

#define TRIES 10

#define LOAD(word)         atomic_load_explicit(&(word), memory_order_relaxed)
#define STORE(word, value) atomic_store_explicit(&(word), (value), memory_order_relaxed)

size_t ftc_agent_activity_room(int ranks)
{
    size_t rows = ranks <= FTC_SHOWN_RANKS ? 2 * (size_t)ftc_set_words(ranks) : 0;

    return (WORDS + rows) * sizeof(uint64_t);
}

/* In large jobs they would be most of what travels. */
static bool has_rows(const uint64_t words[WORDS], int ranks)
{
    return ranks <= FTC_SHOWN_RANKS && (words[KNOWN] > 0 || words[AGREED] > 0);
}

static uint64_t age(uint64_t now, uint64_t since)
{
    return since != 0 && since < now ? now - since : 0;
}

static void copy_slot(const struct ftc_slot *slot, uint64_t words[WORDS])
{
    const struct ftc_activity *a = &slot->activity;
    uint64_t now = ftc_clock_now(), since = LOAD(a->since_ns), spawned = LOAD(slot->spawned_ns);

    words[KIND] = LOAD(a->kind);
    words[OP] = LOAD(a->op);
    words[AGE_NS] = now > since ? now - since : 0;
    words[BALLOT_I] = LOAD(a->ballot_i);
    words[BALLOT_S] = LOAD(a->ballot_s);
    words[ROLE] = LOAD(a->role);
    words[WAITS_FOR] = (uint64_t)(int64_t)LOAD(a->waits_for);
    words[WAITS] = LOAD(a->waits);
    words[ROOT] = (uint64_t)(int64_t)LOAD(a->root);
    words[EPOCH_OP] = LOAD(a->epoch_op);
    words[EPOCH_I] = LOAD(a->epoch_i);
    words[EPOCH_S] = LOAD(a->epoch_s);
    words[KNOWN] = LOAD(a->known_failed);
    words[AGREED] = LOAD(a->agreed_failed);
    words[UNSETTLED_NS] = age(now, LOAD(a->unsettled_ns));
    words[TAG] = (uint64_t)(int64_t)LOAD(a->tag);
    words[BYTES] = LOAD(a->bytes);
    words[COMMUNICATOR] = LOAD(a->communicator);
    for (int i = NAME; i <= NAME_END; i++)
        words[i] = LOAD(a->name[i - NAME]);
    words[ALGORITHM] = LOAD(a->algorithm);
    words[CALLED] = LOAD(slot->called);
    words[OPERATIONS] = LOAD(slot->counters.operations);
    words[HEARTBEAT] = LOAD(slot->heartbeat);
    words[SPAWNED_AGE_NS] = spawned != 0 && spawned <= now ? now - spawned + 1 : 0;
}

/* The words are of one moment, unless the rank died while it wrote them, or writes all the time. */
static void read_slot(const struct ftc_slot *slot, uint64_t words[WORDS])
{
    const struct ftc_activity *a = &slot->activity;

    for (int i = 0; i < TRIES; i++) {
        uint32_t before = atomic_load_explicit(&a->sequence, memory_order_acquire);
        copy_slot(slot, words);
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 && LOAD(a->sequence) == before)
            return;
    }
}

static void write_row(struct ftc_writer *w, _Atomic uint64_t *row, int words)
{
    for (int i = 0; i < words; i++)
        ftc_write_u64(w, LOAD(row[i]));
}

size_t ftc_agent_activity_write(struct ftc_segment *segment, int rank, unsigned char *bytes,
                                size_t room)
{
    struct ftc_writer w = {.data = bytes, .size = room};
    uint64_t words[WORDS];
    int row = ftc_set_words(ftc_segment_ranks(segment));

    words[RANK] = (uint64_t)rank;
    read_slot(ftc_segment_slot(segment, rank), words);
    for (int i = 0; i < WORDS; i++)
        ftc_write_u64(&w, words[i]);
    if (has_rows(words, ftc_segment_ranks(segment))) {
        write_row(&w, ftc_segment_known_row(segment, rank), row);
        write_row(&w, ftc_segment_agreed_row(segment, rank), row);
    }
    return w.failed ? 0 : w.used;
}

/* The sequence is odd while the words are written, as when a rank itself writes them. */
static void write_shown(struct ftc_shown *shown, const uint64_t words[WORDS])
{
    struct ftc_activity *a = &shown->activity;
    uint64_t now = ftc_clock_now();

    STORE(a->sequence, LOAD(a->sequence) | 1u);
    atomic_thread_fence(memory_order_release);
    STORE(a->kind, (uint32_t)words[KIND]);
    STORE(a->communicator, words[COMMUNICATOR]);
    for (int i = NAME; i <= NAME_END; i++)
        STORE(a->name[i - NAME], words[i]);
    STORE(a->algorithm, (uint32_t)words[ALGORITHM]);
    STORE(a->op, words[OP]);
    STORE(a->since_ns, words[AGE_NS] < now ? now - words[AGE_NS] : 0);
    STORE(a->ballot_i, (uint32_t)words[BALLOT_I]);
    STORE(a->ballot_s, (uint32_t)words[BALLOT_S]);
    STORE(a->role, (uint32_t)words[ROLE]);
    STORE(a->waits_for, (int32_t)words[WAITS_FOR]);
    STORE(a->waits, (uint32_t)words[WAITS]);
    STORE(a->root, (int32_t)words[ROOT]);
    STORE(a->epoch_op, words[EPOCH_OP]);
    STORE(a->epoch_i, (uint32_t)words[EPOCH_I]);
    STORE(a->epoch_s, (uint32_t)words[EPOCH_S]);
    STORE(a->known_failed, (uint32_t)words[KNOWN]);
    STORE(a->agreed_failed, (uint32_t)words[AGREED]);
    STORE(a->unsettled_ns, age(now, words[UNSETTLED_NS]));
    STORE(a->tag, (int32_t)words[TAG]);
    STORE(a->bytes, words[BYTES]);
    STORE(shown->called, words[CALLED]);
    STORE(shown->operations, words[OPERATIONS]);
    STORE(shown->heartbeat, words[HEARTBEAT]);
    STORE(shown->spawned_ns, words[SPAWNED_AGE_NS] > 0 && words[SPAWNED_AGE_NS] <= now
                                 ? now - words[SPAWNED_AGE_NS] + 1
                                 : 0);
    atomic_store_explicit(&a->sequence, (LOAD(a->sequence) | 1u) + 1u, memory_order_release);
}

static void read_row(struct ftc_reader *r, _Atomic uint64_t *row, int words)
{
    for (int i = 0; i < words; i++)
        STORE(row[i], ftc_read_u64(r));
}

/* A rank that has ended stays as it ended. Without room in /dev/shm it is not shown. */
static void show(struct ftc_segment *segment, int rank, const uint64_t words[WORDS],
                 struct ftc_reader *rows)
{
    struct ftc_shown *shown;
    int row = ftc_set_words(ftc_segment_ranks(segment));

    if (LOAD(ftc_segment_standing(segment, rank)->ended) != 0 ||
        ftc_segment_show(segment, rank, &shown) != FTC_SUCCESS)
        return;
    write_shown(shown, words);
    /* Each row is found once: a word of the segment says where it is. */
    _Atomic uint64_t *known = ftc_segment_known_row(segment, rank),
                     *agreed = ftc_segment_agreed_row(segment, rank);
    if (rows->size == 0 || known == NULL || agreed == NULL)
        return;
    read_row(rows, known, row);
    read_row(rows, agreed, row);
}

static bool take_rank(struct ftc_segment *segment, int node, struct ftc_reader *r)
{
    uint64_t words[WORDS];
    int ranks = ftc_segment_ranks(segment), row = ftc_set_words(ranks);

    for (int i = 0; i < WORDS; i++)
        words[i] = ftc_read_u64(r);
    if (r->failed || words[RANK] >= (uint64_t)ranks ||
        ftc_segment_node_of(segment, (int)words[RANK]) != node)
        return false;
    struct ftc_reader rows = {.size =
                                  has_rows(words, ranks) ? 2 * (size_t)row * sizeof(uint64_t) : 0};
    rows.data = ftc_read_bytes(r, rows.size);
    if (r->failed)
        return false;
    show(segment, (int)words[RANK], words, &rows);
    return true;
}

bool ftc_agent_activity_take(struct ftc_segment *segment, int node, const unsigned char *bytes,
                             size_t size)
{
    struct ftc_reader r = {.data = bytes, .size = size};
    bool sound = size > 0;

    while (sound && r.used < size)
        sound = take_rank(segment, node, &r);
    return sound;
}
