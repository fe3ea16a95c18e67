#include "mpi/type/layout.h"

#include "mpi/type/basic.h"

#include <stdlib.h>
#include <string.h>

static struct ftc_mpi_layout *make(int form)
{
    struct ftc_mpi_layout *layout = calloc(1, sizeof *layout);
    if (layout == NULL)
        return NULL;
    atomic_init(&layout->references, 1);
    layout->form = form;
    return layout;
}

struct ftc_mpi_layout *ftc_mpi_layout_element(const struct ftc_mpi_basic *basic, size_t size)
{
    struct ftc_mpi_layout *layout = make(FTC_MPI_ELEMENT);
    if (layout == NULL)
        return NULL;
    layout->basic = basic;
    layout->dense = true;
    layout->size = layout->high = (MPI_Aint)size;
    layout->elements = 1;
    return layout;
}

struct ftc_mpi_layout *ftc_mpi_layout_loop(MPI_Count count, MPI_Aint stride,
                                           struct ftc_mpi_layout *child)
{
    MPI_Aint reach = 0;
    if (count == 1)
        return ftc_mpi_layout_hold(child);
    struct ftc_mpi_layout *layout = make(FTC_MPI_LOOP);
    if (layout == NULL)
        return NULL;
    if (child->size == 0)
        count = 0;
    if (__builtin_mul_overflow(count, child->size, &layout->size) ||
        __builtin_mul_overflow(count == 0 ? 0 : count - 1, stride, &reach)) {
        free(layout);
        return NULL;
    }
    if (child->form == FTC_MPI_LOOP && child->stride * child->count == stride &&
        count != 0) { /* a loop of a loop whose steps are alike is one loop */
        layout->count = count * child->count;
        stride = child->stride;
        layout->child = ftc_mpi_layout_hold(child->child);
    } else {
        layout->count = count;
        layout->child = ftc_mpi_layout_hold(child);
    }
    layout->stride = stride;
    layout->elements = count * child->elements;
    layout->dense = count == 0 || (child->dense && layout->child->size == stride);
    if (count > 0) {
        layout->low = child->low + (reach < 0 ? reach : 0);
        layout->high = child->high + (reach > 0 ? reach : 0);
    }
    return layout;
}

struct ftc_mpi_layout *ftc_mpi_layout_list(MPI_Count count)
{
    struct ftc_mpi_layout *list = make(FTC_MPI_LIST);
    if (list == NULL)
        return NULL;
    list->entries = calloc((size_t)count + 1, sizeof *list->entries);
    list->count = count;
    if (list->entries != NULL)
        return list;
    free(list);
    return NULL;
}

struct ftc_mpi_layout *ftc_mpi_layout_listed(struct ftc_mpi_layout *list)
{
    list->dense = true;
    for (MPI_Count i = 0; i < list->count; i++) {
        const struct ftc_mpi_layout_entry *entry = &list->entries[i];
        MPI_Aint low = entry->offset + entry->child->low;
        MPI_Aint high = entry->offset + entry->child->high;
        list->dense &= entry->child->dense && entry->offset == list->size;
        if (entry->child->size > 0) {
            list->low = list->size == 0 || low < list->low ? low : list->low;
            list->high = list->size == 0 || high > list->high ? high : list->high;
        }
        list->elements += entry->child->elements;
        if (__builtin_add_overflow(list->size, entry->child->size, &list->size)) {
            ftc_mpi_layout_release(list);
            return NULL;
        }
    }
    if (list->count != 1 || list->entries[0].offset != 0)
        return list;
    struct ftc_mpi_layout *only = ftc_mpi_layout_hold(list->entries[0].child);
    ftc_mpi_layout_release(list);
    return only;
}

struct ftc_mpi_layout *ftc_mpi_layout_hold(struct ftc_mpi_layout *layout)
{
    atomic_fetch_add_explicit(&layout->references, 1, memory_order_relaxed);
    return layout;
}

void ftc_mpi_layout_release(struct ftc_mpi_layout *layout)
{
    if (layout == NULL ||
        atomic_fetch_sub_explicit(&layout->references, 1, memory_order_acq_rel) != 1)
        return;
    ftc_mpi_layout_release(layout->child);
    for (MPI_Count i = 0; layout->entries != NULL && i < layout->count; i++)
        ftc_mpi_layout_release(layout->entries[i].child);
    free(layout->entries);
    free(layout);
}

/* `count` blocks of `size` bytes, `step` bytes apart, to bytes that are `other_step` apart. The
 * sizes of elements are constants here, so that each copy is one move. */
static void copy_blocks(char *to, MPI_Aint to_step, const char *from, MPI_Aint from_step,
                        MPI_Count count, size_t size)
{
#define FTC_MPI_BLOCKS(bytes)                                                                      \
    case bytes:                                                                                    \
        for (MPI_Count i = 0; i < count; i++)                                                      \
            memcpy(to + i * to_step, from + i * from_step, bytes);                                 \
        return
    switch (size) {
        FTC_MPI_BLOCKS(1);
        FTC_MPI_BLOCKS(2);
        FTC_MPI_BLOCKS(4);
        FTC_MPI_BLOCKS(8);
        FTC_MPI_BLOCKS(16);
        FTC_MPI_BLOCKS(32);
    }
#undef FTC_MPI_BLOCKS
    for (MPI_Count i = 0; i < count; i++)
        memcpy(to + i * to_step, from + i * from_step, size);
}

/* Copies one run of bytes, as far as there are bytes left. */
static inline void copy_run(char *memory, size_t size, struct ftc_mpi_cursor *cursor, bool pack)
{
    size_t bytes = size < cursor->left ? size : cursor->left;
    if (pack)
        memcpy(cursor->wire, memory, bytes);
    else
        memcpy(memory, cursor->wire, bytes);
    cursor->wire += bytes;
    cursor->left -= bytes;
}

static inline __attribute__((always_inline)) void
copy_loop(const struct ftc_mpi_layout *child, char *memory, MPI_Count count, MPI_Aint stride,
          struct ftc_mpi_cursor *cursor, bool pack);

static void copy(const struct ftc_mpi_layout *layout, char *memory, struct ftc_mpi_cursor *cursor,
                 bool pack)
{
    if (layout->size == 0)
        return;
    if (layout->dense) {
        copy_run(memory, (size_t)layout->size, cursor, pack);
        return;
    }
    if (layout->form == FTC_MPI_LOOP) {
        copy_loop(layout->child, memory, layout->count, layout->stride, cursor, pack);
        return;
    }
    for (MPI_Count i = 0; i < layout->count && cursor->left > 0; i++)
        copy(layout->entries[i].child, memory + layout->entries[i].offset, cursor, pack);
}

static inline void copy_loop(const struct ftc_mpi_layout *child, char *memory, MPI_Count count,
                             MPI_Aint stride, struct ftc_mpi_cursor *cursor, bool pack)
{
    size_t size = (size_t)child->size;
    if (size == 0 || count == 0)
        return;
    if (child->dense && (size_t)count <= cursor->left / size) {
        MPI_Aint step = (MPI_Aint)size;
        if (stride == step)
            copy_run(memory, size * (size_t)count, cursor, pack);
        else if (pack)
            copy_blocks(cursor->wire, step, memory, stride, count, size);
        else
            copy_blocks(memory, stride, cursor->wire, step, count, size);
        if (stride != step) {
            cursor->wire += size * (size_t)count;
            cursor->left -= size * (size_t)count;
        }
        return;
    }
    for (MPI_Count i = 0; i < count && cursor->left > 0; i++)
        copy(child, memory + i * stride, cursor, pack);
}

void ftc_mpi_layout_pack(const struct ftc_mpi_layout *layout, const void *memory, MPI_Count count,
                         MPI_Aint extent, struct ftc_mpi_cursor *to)
{
    copy_loop(layout, (char *)memory, count, extent, to, true);
}

void ftc_mpi_layout_unpack(const struct ftc_mpi_layout *layout, void *memory, MPI_Count count,
                           MPI_Aint extent, struct ftc_mpi_cursor *from)
{
    copy_loop(layout, memory, count, extent, from, false);
}

MPI_Count ftc_mpi_layout_elements(const struct ftc_mpi_layout *layout, MPI_Count *bytes)
{
    if (*bytes >= layout->size) {
        *bytes -= layout->size;
        return layout->elements;
    }
    MPI_Count elements = 0;
    if (layout->form == FTC_MPI_LOOP) {
        MPI_Count whole = *bytes / layout->child->size;
        *bytes -= whole * layout->child->size;
        elements = whole * layout->child->elements;
        elements += ftc_mpi_layout_elements(layout->child, bytes);
    }
    for (MPI_Count i = 0; layout->form == FTC_MPI_LIST && i < layout->count; i++) {
        const struct ftc_mpi_layout *child = layout->entries[i].child;
        bool whole = *bytes >= child->size;
        elements += ftc_mpi_layout_elements(child, bytes);
        if (!whole)
            break;
    }
    return elements;
}

MPI_Count ftc_mpi_layout_bytes(const struct ftc_mpi_layout *layout, MPI_Count elements)
{
    if (elements >= layout->elements)
        return layout->size;
    MPI_Count bytes = 0;
    if (layout->form == FTC_MPI_LOOP) {
        MPI_Count whole = elements / layout->child->elements;
        bytes = whole * layout->child->size;
        bytes += ftc_mpi_layout_bytes(layout->child, elements - whole * layout->child->elements);
    }
    for (MPI_Count i = 0; layout->form == FTC_MPI_LIST && i < layout->count && elements > 0; i++) {
        const struct ftc_mpi_layout *child = layout->entries[i].child;
        bytes += ftc_mpi_layout_bytes(child, elements);
        elements -= child->elements < elements ? child->elements : elements;
    }
    return bytes;
}

bool ftc_mpi_layout_walk(const struct ftc_mpi_layout *layout, char *memory,
                         ftc_mpi_each_element *each, void *arg)
{
    if (layout->form == FTC_MPI_ELEMENT)
        return each(arg, layout->basic, memory);
    for (MPI_Count i = 0; i < layout->count; i++) {
        bool loop = layout->form == FTC_MPI_LOOP;
        const struct ftc_mpi_layout *child = loop ? layout->child : layout->entries[i].child;
        MPI_Aint offset = loop ? i * layout->stride : layout->entries[i].offset;
        if (!ftc_mpi_layout_walk(child, memory + offset, each, arg))
            return false;
    }
    return true;
}
