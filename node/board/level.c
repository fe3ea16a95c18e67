/* Posts and decision words of two levels, in the areas of the board. */
#include "node/board/level.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/set.h"
#include "node/segment/board_memory.h"

#define PAGE_BYTES 4096u
#define PLACES     FTC_LEVEL_PLACES
#define BLOCKS     FTC_LEVEL_BLOCKS

/* A record. Its rank writes it. After it comes its data: of a WORD the failed set, padded to 16
 * bytes, and then the value. Data that does not fit there lies in a block. All records of a rank,
 * and then its blocks, are at the beginning of its area. */
struct record {
    _Alignas(64) _Atomic uint64_t mark; /* round + 1; release: the rest is there */
    uint64_t communicator;
    uint32_t size;
    int32_t status;
    struct ftc_signature signature;
    union {
        struct ftc_epoch epoch; /* of a POST */
        struct {                /* of a WORD */
            struct ftc_ballot_id ballot;
            uint32_t write_offs;
        };
    };
};

/* A block begins with this, and its data follows. The record of an earlier round, whose data was in
 * the block, may still be marked. */
struct block_head {
    _Alignas(64) _Atomic uint64_t stamp; /* round + 1; 0: the data is being written */
};

/* The round that a rank waits for, plus 1. It follows the records. */
struct awaits {
    _Alignas(64) _Atomic uint64_t round;
};

#define RECORD   256u
#define AWAITS   (2 * PLACES * RECORD)
#define INLINE   (RECORD - sizeof(struct record))
#define SET_MOST ((size_t)FTC_NODE_MAX_RANKS / 8)
#define BLOCK                                                                                      \
    ((sizeof(struct block_head) + SET_MOST + FTC_LEVEL_MOST + PAGE_BYTES - 1) / PAGE_BYTES *       \
     PAGE_BYTES)
#define LARGE (FTC_LEVEL_HEAD + 2 * BLOCKS * BLOCK) /* where memory for large values begins */

_Static_assert(sizeof(struct record) == 64, "one cache line, and what follows is aligned");
_Static_assert(FTC_LEVEL_HEAD >= AWAITS + sizeof(struct awaits), "the head has all records");
_Static_assert(FTC_LEVEL_HEAD % PAGE_BYTES == 0, "blocks begin on pages");
_Static_assert(LARGE < FTC_BOARD_HALVES_OFFSET, "the records fit into a rank's area");

struct ftc_level {
    struct ftc_board_memory memory;
    int first; /* the lowest rank of this node: its area is the first one */
    uint64_t communicator;
    int rank;
    size_t set;                   /* bytes of a failed set */
    size_t padded;                /* the same, padded to 16 */
    size_t populated[2 * BLOCKS]; /* bytes of this rank's blocks that are allocated */
    size_t large[3];              /* the same of its memory for large values, and of the halves */
};

/* Ranks read the marks of others before these are written. A read of a hole in the file fills it,
 * which is a SIGBUS if /dev/shm is full. So the records are allocated here. */
static int populate_marks(struct ftc_level *level, const struct ftc_level_setup *setup)
{
    int rc = 0;

    for (int rank = setup->first; rc == 0 && rank < setup->first + setup->count; rank++)
        rc = ftc_board_allocate(&level->memory, rank - level->first, 0, FTC_LEVEL_HEAD);
    return rc;
}

int ftc_level_open(struct ftc_level **out, const struct ftc_level_setup *setup)
{
    struct ftc_level *level = calloc(1, sizeof(*level));

    if (level == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for operations over two levels");
    level->memory = setup->file != NULL ? *ftc_board_file_memory(setup->file)
                                        : ftc_segment_board(setup->segment);
    level->first = setup->first;
    level->communicator = setup->communicator;
    level->rank = setup->rank;
    level->set = ftc_set_bytes(setup->ranks);
    level->padded = (level->set + 15) / 16 * 16;
    assert(level->memory.areas != NULL && level->padded <= SET_MOST);
    int rc = populate_marks(level, setup);
    if (rc != 0) {
        free(level);
        return rc;
    }
    *out = level;
    return 0;
}

void ftc_level_close(struct ftc_level *level)
{
    free(level);
}

static unsigned place_of(enum ftc_level_kind kind, uint64_t round)
{
    return (unsigned)kind * PLACES + (unsigned)(round % PLACES);
}

static unsigned char *area_of(const struct ftc_level *level, int rank)
{
    return level->memory.areas + (size_t)(rank - level->first) * FTC_BOARD_AREA;
}

static struct record *record_of(const struct ftc_level *level, enum ftc_level_kind kind,
                                uint64_t round, int rank)
{
    return (struct record *)(void *)(area_of(level, rank) + place_of(kind, round) * RECORD);
}

static size_t block_at(enum ftc_level_kind kind, uint64_t round)
{
    return FTC_LEVEL_HEAD + ((unsigned)kind * BLOCKS + (unsigned)(round % BLOCKS)) * BLOCK;
}

static struct block_head *block_of(const struct ftc_level *level, enum ftc_level_kind kind,
                                   uint64_t round, int rank)
{
    return (struct block_head *)(void *)(area_of(level, rank) + block_at(kind, round));
}

/* Where the data of a record lies, if it has so many bytes. */
static unsigned char *rest_of(const struct ftc_level *level, enum ftc_level_kind kind,
                              uint64_t round, int rank, size_t bytes)
{
    return bytes <= INLINE ? (unsigned char *)(record_of(level, kind, round, rank) + 1)
                           : (unsigned char *)(block_of(level, kind, round, rank) + 1);
}

/* Allocate memory from `offset` on in the area of this rank, of which `populated` bytes are. So a
 * full /dev/shm is an error here and not a SIGBUS later. */
static int populate(struct ftc_level *level, size_t offset, size_t bytes, size_t *populated)
{
    size_t to = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;

    if (to <= *populated)
        return 0;
    int rc = ftc_board_allocate(&level->memory, level->rank - level->first, offset + *populated,
                                to - *populated);
    if (rc == 0)
        *populated = to;
    return rc;
}

static int populate_block(struct ftc_level *level, enum ftc_level_kind kind, uint64_t round,
                          size_t bytes)
{
    if (bytes <= INLINE)
        return 0;
    return populate(level, block_at(kind, round), sizeof(struct block_head) + bytes,
                    &level->populated[(unsigned)kind * BLOCKS + (unsigned)(round % BLOCKS)]);
}

/* 0: the data is being written. The stamp of a block goes with the mark of its record. */
static void set_marks(struct ftc_level *level, enum ftc_level_kind kind, uint64_t round,
                      size_t bytes, uint64_t mark)
{
    struct record *own = record_of(level, kind, round, level->rank);

    if (bytes > INLINE)
        atomic_store_explicit(&block_of(level, kind, round, level->rank)->stamp, mark,
                              memory_order_release);
    atomic_store_explicit(&own->mark, mark, memory_order_release);
}

int ftc_level_write(struct ftc_level *level, enum ftc_level_kind kind, uint64_t round,
                    const struct ftc_level_record *record)
{
    struct record *own = record_of(level, kind, round, level->rank);
    size_t before = record->set != NULL ? level->padded : 0, bytes = before + record->size;
    unsigned char *at = rest_of(level, kind, round, level->rank, bytes);

    assert(record->size <= FTC_LEVEL_MOST);
    int rc = populate_block(level, kind, round, bytes);
    if (rc != 0)
        return rc;
    if (kind == FTC_LEVEL_POST) {
        /* docs/design/nodes.md, S8: a reader of the post before looks at the marks again. */
        set_marks(level, kind, round, bytes, 0);
        atomic_thread_fence(memory_order_release);
    }
    own->communicator = level->communicator;
    own->size = (uint32_t)record->size;
    own->signature = record->signature;
    own->status = record->status;
    if (kind == FTC_LEVEL_POST) {
        own->epoch = record->epoch;
    } else {
        own->ballot = record->ballot;
        own->write_offs = record->write_offs;
    }
    if (record->set != NULL)
        memcpy(at, record->set, level->set);
    if (record->size > 0)
        memcpy(at + before, record->data, record->size);
    set_marks(level, kind, round, bytes, round + 1);
    return 0;
}

unsigned ftc_level_turns(const struct ftc_level *level, enum ftc_level_kind kind, size_t size)
{
    return size + (kind == FTC_LEVEL_WORD ? level->padded : 0) <= INLINE ? PLACES : BLOCKS;
}

bool ftc_level_marked(const struct ftc_level *level, enum ftc_level_kind kind, uint64_t round,
                      int rank)
{
    return atomic_load_explicit(&record_of(level, kind, round, rank)->mark, memory_order_acquire) ==
           round + 1;
}

bool ftc_level_passed(const struct ftc_level *level, uint64_t round, int rank)
{
    return atomic_load_explicit(&record_of(level, FTC_LEVEL_WORD, round, rank)->mark,
                                memory_order_acquire) > round;
}

bool ftc_level_stands(const struct ftc_level *level, uint64_t round, int rank)
{
    const struct record *theirs = record_of(level, FTC_LEVEL_POST, round, rank);
    const struct block_head *block = block_of(level, FTC_LEVEL_POST, round, rank);

    return ftc_level_marked(level, FTC_LEVEL_POST, round, rank) &&
           (theirs->size <= INLINE ||
            atomic_load_explicit(&block->stamp, memory_order_acquire) == round + 1);
}

int ftc_level_read(const struct ftc_level *level, enum ftc_level_kind kind, uint64_t round,
                   int rank, struct ftc_level_record *record)
{
    const struct record *theirs = record_of(level, kind, round, rank);
    size_t before = kind == FTC_LEVEL_WORD ? level->padded : 0;
    uint64_t size = theirs->size;

    if (theirs->communicator != level->communicator)
        return ftc_error_set(FTC_ERR_PROTO, "a record of rank %d is of another communicator", rank);
    if (size > FTC_LEVEL_MOST)
        return ftc_error_set(FTC_ERR_PROTO, "a record of rank %d claims %llu bytes", rank,
                             (unsigned long long)size);
    const unsigned char *at = rest_of(level, kind, round, rank, before + (size_t)size);
    *record = (struct ftc_level_record){.signature = theirs->signature,
                                        .status = theirs->status,
                                        .data = at + before,
                                        .size = (size_t)size};
    if (kind == FTC_LEVEL_POST) {
        record->epoch = theirs->epoch;
    } else {
        record->ballot = theirs->ballot;
        record->write_offs = theirs->write_offs;
        record->set = at;
    }
    return 0;
}

static struct awaits *awaits_of(const struct ftc_level *level, int rank)
{
    return (struct awaits *)(void *)(area_of(level, rank) + AWAITS);
}

void ftc_level_await(struct ftc_level *level, uint64_t round)
{
    atomic_store(&awaits_of(level, level->rank)->round, round + 1);
}

bool ftc_level_awaits(const struct ftc_level *level, uint64_t round, int rank)
{
    return atomic_load(&awaits_of(level, rank)->round) == round + 1;
}

struct ftc_level_large ftc_level_large(const struct ftc_level *level)
{
    return (struct ftc_level_large){.areas = area_of(level, level->first) + LARGE,
                                    .stride = FTC_BOARD_AREA,
                                    .room = FTC_BOARD_HALVES_OFFSET - LARGE,
                                    .half = FTC_BOARD_HALF};
}

int ftc_level_reserve_large(struct ftc_level *level, size_t offset, size_t size)
{
    size_t room = FTC_BOARD_HALVES_OFFSET - LARGE;
    int part = offset == 0 ? 0 : offset == room ? 1 : 2;

    assert(size <= (part == 0 ? room : FTC_BOARD_HALF));
    return populate(level, LARGE + offset, size, &level->large[part]);
}
