/* Maps from 64-bit keys to 32-bit numbers, interning, and arrays that grow. */
#include "sim/explore/table.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/error.h"

#define ROOM_FIRST 256

/* Keys may be regular (two small numbers side by side), so they are spread. */
static size_t home(const struct ftc_table *table, uint64_t key)
{
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93u;
    return (size_t)(key >> 24) & (table->room - 1);
}

/* The slot of the key, or the slot where it belongs. */
static struct ftc_table_entry *find(const struct ftc_table *table, uint64_t key)
{
    size_t at = home(table, key);

    while (table->entry[at].value != FTC_TABLE_NONE && table->entry[at].key != key)
        at = (at + 1) & (table->room - 1);
    return &table->entry[at];
}

void ftc_table_fini(struct ftc_table *table)
{
    free(table->entry);
    *table = (struct ftc_table){0};
}

uint32_t ftc_table_get(const struct ftc_table *table, uint64_t key)
{
    return table->room == 0 ? FTC_TABLE_NONE : find(table, key)->value;
}

static int grow(struct ftc_table *table)
{
    struct ftc_table larger = {.room = table->room == 0 ? ROOM_FIRST : 2 * table->room};

    larger.entry = malloc(larger.room * sizeof(*larger.entry));
    if (larger.entry == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for a table of %zu entries; explore less",
                             larger.room);
    for (size_t at = 0; at < larger.room; at++)
        larger.entry[at].value = FTC_TABLE_NONE;
    for (size_t from = 0; from < table->room; from++) {
        if (table->entry[from].value != FTC_TABLE_NONE)
            *find(&larger, table->entry[from].key) = table->entry[from];
    }
    larger.count = table->count;
    ftc_table_fini(table);
    *table = larger;
    return FTC_SUCCESS;
}

int ftc_table_put(struct ftc_table *table, uint64_t key, uint32_t value)
{
    if (2 * (table->count + 1) > table->room) {
        int rc = grow(table);
        if (rc != FTC_SUCCESS)
            return rc;
    }
    struct ftc_table_entry *entry = find(table, key);
    table->count += entry->value == FTC_TABLE_NONE;
    *entry = (struct ftc_table_entry){.key = key, .value = value};
    return FTC_SUCCESS;
}

size_t ftc_table_bytes(const struct ftc_table *table)
{
    return table->room * sizeof(*table->entry);
}

/* --- interning --- */

void ftc_intern_fini(struct ftc_intern *intern)
{
    ftc_table_fini(&intern->table);
    free(intern->digest);
    *intern = (struct ftc_intern){0};
}

struct ftc_digest ftc_digest_of(const void *bytes, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits(bytes, size);
    return (struct ftc_digest){hash.low64, hash.high64};
}

int ftc_intern_number(struct ftc_intern *intern, struct ftc_digest digest, uint32_t *number,
                      bool *fresh)
{
    uint64_t key = digest.low;
    uint32_t found;

    while ((found = ftc_table_get(&intern->table, key)) != FTC_TABLE_NONE) {
        if (intern->digest[found].low == digest.low && intern->digest[found].high == digest.high)
            break;
        /* another digest has the same half: try the next key */
        key = key * 0x9e3779b97f4a7c15u + 1;
    }
    *fresh = found == FTC_TABLE_NONE;
    *number = *fresh ? intern->count : found;
    if (!*fresh)
        return FTC_SUCCESS;
    int rc = ftc_array_grow((void **)&intern->digest, &intern->room, intern->count, sizeof(digest));
    if (rc == FTC_SUCCESS)
        rc = ftc_table_put(&intern->table, key, intern->count);
    if (rc == FTC_SUCCESS)
        intern->digest[intern->count++] = digest;
    return rc;
}

size_t ftc_intern_bytes(const struct ftc_intern *intern)
{
    return ftc_table_bytes(&intern->table) + intern->room * sizeof(*intern->digest);
}

int ftc_array_grow(void **array, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return FTC_SUCCESS;
    size_t larger = *room == 0 ? 64 : 2 * *room;
    void *moved = realloc(*array, larger * size);
    if (moved == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for an array of %zu elements; explore less",
                             larger);
    *array = moved;
    *room = larger;
    return FTC_SUCCESS;
}
