/* Fuzzes the receiver of the shared-memory transport. The input is what a damaged sender puts into
 * its ring. The receiver asks malloc for sizes up to FTC_FRAME_VALUE_MAX, so run with
 * -malloc_limit_mb=2000000; malloc may then fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/cells.h"
#include "transport/shm/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static struct ftc_segment *make_segment(void)
{
    char job[FTC_JOB_NAME_SIZE];
    struct ftc_segment *segment;
    snprintf(job, sizeof(job), "%ld.000067", (long)getpid());
    struct ftc_segment_spec spec = {.job = job, .directory = "/tmp/x", .ranks = 2};
    if (ftc_segment_create(&segment, &spec) != 0)
        abort();
    ftc_segment_remove(segment); /* the mapping is enough */
    return segment;
}

/* Takes all messages. A message must be as long as its header said, and its bytes must be there. */
static void receive_all(struct ftc_transport *transport)
{
    struct ftc_buffer *message;
    int from = -1;
    volatile unsigned char sum = 0;
    for (int rc = 1; rc == 1;) {
        rc = ftc_transport_shm.receive(transport, &from, &message);
        if (rc != 1)
            break;
        if (from != 1 || message->size == 0)
            abort();
        sum = (unsigned char)(sum + message->data[0] + message->data[message->size - 1]);
        ftc_buffer_unref(message);
    }
}

/* The cell of a frame in the ring, or of a message with these sizes, which may be damaged. */
static void put_cell(struct ftc_segment *segment, struct ftc_cells *cells, uint64_t sizes)
{
    struct ftc_cell *cell = &cells->cell[cells->position % FTC_CELLS];
    atomic_store(&cell->mark, 1ull << 63 | cells->position++ << 20 | sizes);
    atomic_fetch_or(&ftc_segment_pending_row(segment, 0)[0], 2);
}

static void put(struct ftc_segment *segment, struct ftc_ring *ring, const void *bytes, size_t size)
{
    if (size > 0 && ftc_ring_write(ring, bytes, size) >= 0)
        ftc_ring_publish(ring);
    atomic_fetch_or(&ftc_segment_pending_row(segment, 0)[0], 2);
}

static void put_header(struct ftc_segment *segment, struct ftc_ring *ring, uint64_t head,
                       uint64_t value)
{
    struct ftc_frame_header header = {FTC_FRAME_MAGIC, ftc_frame_check(head, value), head, value};
    put(segment, ring, &header, sizeof(header));
}

/* Plays commands of one byte. The low bits say what to do: bytes, a sound header, cells, damaged
 * words, or receive. The high bits say how much. */
static void play(struct ftc_segment *segment, struct ftc_transport *transport, const uint8_t *data,
                 size_t size)
{
    struct ftc_ring ring;
    struct ftc_cells cells;
    ftc_ring_attach(&ring, segment, 1, 0);
    ftc_cells_attach(&cells, &ring);
    for (size_t at = 0; at < size;) {
        unsigned command = data[at] & 7, amount = data[at] >> 3;
        size_t left = size - ++at, length = amount * 8 < left ? amount * 8 : left;
        uint64_t word = 0;
        memcpy(&word, data + at, left < 8 ? left : 8);
        if (command == 1 && amount % 4 == 3)
            put_cell(segment, &cells, word & 0xfffff);
        else if (command <= 1)
            put(segment, &ring, data + at, length);
        else if (command == 2) {
            put_cell(segment, &cells, 0);
            put_header(segment, &ring, amount, word % 3 == 0 ? 0 : word % 4096);
        } else if (command == 3)
            ftc_ring_expect(&ring, 100000);
        else if (command == 4)
            receive_all(transport);
        else if (command == 5)
            atomic_store(&ring.shared->written, amount == 31 ? word : ring.position + amount);
        else if (command == 6)
            atomic_store(&ring.shared->grown, amount == 31 ? word : ring.position + amount);
        else if (amount == 31)
            ftc_transport_shm.close_peer(transport, 1);
        at += command <= 1 ? length : 0;
    }
    receive_all(transport);
    receive_all(transport);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ftc_segment *segment;
    if (segment == NULL)
        segment = make_segment();
    struct ftc_bell bell = {.segment = segment, .self = 0, .fd = -1};
    struct ftc_transport_setup setup = {.ranks = 2, .self = 0, .segment = segment, .bell = &bell};
    struct ftc_transport *transport;
    if (ftc_transport_shm.open(&transport, &setup) != 0)
        abort();
    memset(ftc_segment_ring(segment, 1, 0), 0, FTC_RING_LARGE);
    atomic_store(&ftc_segment_pending_row(segment, 0)[0], 0);
    play(segment, transport, data, size);
    ftc_transport_shm.close(transport);
    return 0;
}
