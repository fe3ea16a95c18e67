/* Fuzzes lists of blocks with arbitrary bytes. A list is refused, or it can be walked, and it
 * merges with another one without loss. A list that is not refused first must not be read past its
 * end either. */
#include <stdlib.h>
#include <string.h>

#include "collectives/values/blocks.h"
#include "include/ftcoll.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 64

static void require(bool truth)
{
    if (!truth)
        abort();
}

/* A copy in memory of its own, so that a sanitizer sees each byte behind it. */
static struct ftc_value value_of(const uint8_t *data, size_t size)
{
    struct ftc_value value = {.buffer = ftc_buffer_new(size), .size = size};

    require(value.buffer != NULL);
    if (size > 0)
        memcpy(value.buffer->data, data, size);
    return value;
}

static void sum(void *arg, int rank, size_t offset, const void *data, size_t size, bool first,
                void *result)
{
    const unsigned char *bytes = data;
    unsigned *total = result;

    (void)arg;
    require(rank >= 0 && offset == 0 && (!first || *total == 0));
    *total += 1;
    for (size_t b = 0; b < size; b++)
        *total += bytes[b];
}

static unsigned sum_of(const struct ftc_value *list)
{
    struct ftc_call call = {.take = sum};
    struct ftc_set nobody = {0};
    unsigned total = 0;

    require(ftc_set_init(&nobody, 1) == FTC_SUCCESS);
    int rc = ftc_blocks_take(list, &nobody, &call, &total);
    require(rc == FTC_SUCCESS || rc == FTC_ERR_PROTO);
    ftc_set_fini(&nobody);
    return total;
}

static bool same(const struct ftc_value *a, const struct ftc_value *b)
{
    return a->size == b->size && memcmp(ftc_value_bytes(a), ftc_value_bytes(b), a->size) == 0;
}

/* Both orders give the same list, and each block of both is in it. */
static void merge_sound(const struct ftc_value *a, const struct ftc_value *b,
                        const struct ftc_set *ranks)
{
    struct ftc_value ab, ba, aa;

    require(ftc_blocks_merge(&ab, a, b) == FTC_SUCCESS);
    require(ftc_blocks_merge(&ba, b, a) == FTC_SUCCESS);
    require(ftc_blocks_merge(&aa, a, a) == FTC_SUCCESS);
    require(ftc_blocks_sound(&ab, ranks, MOST) && ftc_blocks_sound(&ba, ranks, MOST));
    require(same(&aa, a));
    int count = ftc_blocks_count(&ab), both = ftc_blocks_count(a) + ftc_blocks_count(b);
    require(count == ftc_blocks_count(&ba) && count <= both);
    if (count == both)
        require(same(&ab, &ba) && sum_of(&ab) == sum_of(a) + sum_of(b));
    ftc_value_drop(&ab);
    ftc_value_drop(&ba);
    ftc_value_drop(&aa);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ftc_set ranks = {0};
    struct ftc_value merged;

    if (size < 2)
        return 0;
    size_t cut = 2 + data[1] % (size - 1);
    struct ftc_value a = value_of(data + 2, cut - 2), b = value_of(data + cut, size - cut);
    require(ftc_set_init(&ranks, 7 + data[0] % 130) == FTC_SUCCESS);
    ftc_set_fill(&ranks);
    ftc_set_remove(&ranks, data[0] % 7);
    bool sound = ftc_blocks_sound(&a, &ranks, MOST) && ftc_blocks_sound(&b, &ranks, MOST);
    sum_of(&a);
    require(ftc_blocks_head(&b) <= b.size);
    if (sound) {
        merge_sound(&a, &b, &ranks);
    } else {
        int rc = ftc_blocks_merge(&merged, &a, &b);
        require(rc == FTC_SUCCESS || rc == FTC_ERR_PROTO);
        if (rc == FTC_SUCCESS)
            ftc_value_drop(&merged);
    }
    ftc_value_drop(&a);
    ftc_value_drop(&b);
    ftc_set_fini(&ranks);
    return 0;
}
