#include "tests/mpi/type_model.h"

#include <assert.h>
#include <string.h>

#define MOST_BLOCKS 5

static const struct {
    MPI_Datatype *type;
    MPI_Datatype handle;
    int size;
} basics[] = {
    {NULL, MPI_BYTE, 1},
    {NULL, MPI_CHAR, 1},
    {NULL, MPI_SHORT, 2},
    {NULL, MPI_INT, 4},
    {NULL, MPI_DOUBLE, 8},
    {NULL, MPI_LONG, 8},
    {NULL, MPI_C_DOUBLE_COMPLEX, 16},
};

void type_model_free(struct type_model *model)
{
    free(model->elements);
}

/* Adds `count` copies of `child`, from `offset` on. */
static void add(struct type_model *model, const struct type_model *child, long count, long offset,
                bool *first)
{
    long extent = child->ub - child->lb;
    for (long i = 0; i < count; i++) {
        long at = offset + i * extent, lb = at + child->lb, ub = at + child->ub;
        model->elements = realloc(model->elements, sizeof(struct type_element) *
                                                       (size_t)(model->count + child->count + 1));
        for (int k = 0; k < child->count; k++) {
            model->elements[model->count] = child->elements[k];
            model->elements[model->count++].offset += at;
        }
        if (*first || (child->marked && !model->marked)) {
            model->lb = lb;
            model->ub = ub;
        } else if (child->marked == model->marked) {
            model->lb = lb < model->lb ? lb : model->lb;
            model->ub = ub > model->ub ? ub : model->ub;
        }
        *first = false;
        model->marked |= child->marked;
        model->align = child->align > model->align ? child->align : model->align;
    }
}

long type_model_size(const struct type_model *model)
{
    long size = 0;
    for (int i = 0; i < model->count; i++)
        size += model->elements[i].size;
    return size;
}

void type_model_span(const struct type_model *model, int count, long *low, long *high)
{
    bool first = true;
    *low = *high = 0;
    for (int c = 0; c < count; c++)
        for (int i = 0; i < model->count; i++) {
            long at = model->elements[i].offset + c * (model->ub - model->lb);
            *low = first || at < *low ? at : *low;
            at += model->elements[i].size;
            *high = first || at > *high ? at : *high;
            first = false;
        }
}

long type_model_pack(const struct type_model *model, char *memory, int count, char *wire,
                     bool unpack)
{
    long done = 0;
    for (int c = 0; c < count; c++)
        for (int i = 0; i < model->count; i++) {
            const struct type_element *e = &model->elements[i];
            char *at = memory + e->offset + c * (model->ub - model->lb);
            memcpy(unpack ? at : wire + done, unpack ? wire + done : at, (size_t)e->size);
            done += e->size;
        }
    return done;
}

static MPI_Datatype make_basic(struct test_random *random, struct type_model *model)
{
    int i = (int)test_random_between(random, 0, sizeof basics / sizeof *basics - 1);
    int size = basics[i].size;
    *model = (struct type_model){.count = 1, .ub = size, .align = size > 8 ? 8 : size};
    model->elements = malloc(sizeof *model->elements);
    model->elements[0] = (struct type_element){0, size};
    return basics[i].handle;
}

/* Blocks for the constructors that list them, far enough apart not to overlap, in a random order.
 */
static int draw_blocks(struct test_random *random, long extent, int lengths[], int places[])
{
    int count = (int)test_random_between(random, 0, MOST_BLOCKS), at = 0;
    (void)extent;
    for (int i = 0; i < count; i++) {
        lengths[i] = (int)test_random_between(random, 0, 3);
        places[i] = at + (int)test_random_between(random, 0, 2);
        at = places[i] + lengths[i];
    }
    for (int i = count - 1; i > 0; i--) {
        int k = (int)test_random_between(random, 0, i);
        int length = lengths[i], place = places[i];
        lengths[i] = lengths[k];
        places[i] = places[k];
        lengths[k] = length;
        places[k] = place;
    }
    return count;
}

static MPI_Datatype make_vector(struct test_random *random, MPI_Datatype old,
                                const struct type_model *child, struct type_model *model)
{
    MPI_Datatype type;
    bool first = true;
    int count = (int)test_random_between(random, 0, 4);
    int length = (int)test_random_between(random, 0, 3);
    int stride = length + (int)test_random_between(random, 0, 2);
    long extent = child->ub - child->lb;
    if (test_random_chance(random, 20))
        stride = -stride;
    if (test_random_chance(random, 50))
        MPI_Type_vector(count, length, stride, old, &type);
    else
        MPI_Type_create_hvector(count, length, stride * extent, old, &type);
    for (int i = 0; i < count; i++)
        add(model, child, length, i * stride * extent, &first);
    return type;
}

static MPI_Datatype make_indexed(struct test_random *random, MPI_Datatype old,
                                 const struct type_model *child, struct type_model *model)
{
    MPI_Datatype type;
    int lengths[MOST_BLOCKS], places[MOST_BLOCKS];
    MPI_Aint bytes[MOST_BLOCKS];
    bool first = true, alike = test_random_chance(random, 50), hindexed;
    long extent = child->ub - child->lb;
    int count = draw_blocks(random, extent, lengths, places);
    for (int i = 0; i < count; i++) {
        lengths[i] = alike ? (lengths[0] > 1 ? 1 : lengths[0]) : lengths[i];
        bytes[i] = places[i] * extent;
    }
    hindexed = test_random_chance(random, 50);
    if (alike && hindexed)
        MPI_Type_create_hindexed_block(count, count > 0 ? lengths[0] : 1, bytes, old, &type);
    else if (alike)
        MPI_Type_create_indexed_block(count, count > 0 ? lengths[0] : 1, places, old, &type);
    else if (hindexed)
        MPI_Type_create_hindexed(count, lengths, bytes, old, &type);
    else
        MPI_Type_indexed(count, lengths, places, old, &type);
    for (int i = 0; i < count; i++)
        add(model, child, lengths[i], bytes[i], &first);
    return type;
}

/* Two members, one after the other with a gap, as in a struct of C. */
static MPI_Datatype make_struct(struct test_random *random, int depth, MPI_Datatype old,
                                const struct type_model *child, struct type_model *model)
{
    MPI_Datatype types[2] = {old, MPI_DATATYPE_NULL}, type;
    struct type_model other;
    types[1] = type_model_random(random, depth - 1, &other);
    int lengths[2] = {(int)test_random_between(random, 0, 2),
                      (int)test_random_between(random, 0, 2)};
    MPI_Aint places[2] = {test_random_between(random, 0, 16), 0};
    long low, high, low2, high2;
    bool first = true;
    type_model_span(child, lengths[0], &low, &high);
    type_model_span(&other, lengths[1], &low2, &high2);
    places[1] = places[0] + high - low2 + test_random_between(random, 0, 9);
    MPI_Type_create_struct(2, lengths, places, types, &type);
    add(model, child, lengths[0], places[0], &first);
    add(model, &other, lengths[1], places[1], &first);
    if (!model->marked && (model->ub - model->lb) % model->align != 0)
        model->ub += model->align - (model->ub - model->lb) % model->align;
    int integers, addresses, inner, combiner;
    MPI_Type_get_envelope(types[1], &integers, &addresses, &inner, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        MPI_Type_free(&types[1]);
    type_model_free(&other);
    return type;
}

/* A part of an array of two dimensions. */
static MPI_Datatype make_subarray(struct test_random *random, MPI_Datatype old,
                                  const struct type_model *child, struct type_model *model)
{
    MPI_Datatype type;
    int sizes[2], parts[2], starts[2];
    bool first = true, rows = test_random_chance(random, 50);
    long extent = child->ub - child->lb;
    for (int d = 0; d < 2; d++) {
        sizes[d] = (int)test_random_between(random, 1, 4);
        parts[d] = (int)test_random_between(random, 1, sizes[d]);
        starts[d] = (int)test_random_between(random, 0, sizes[d] - parts[d]);
    }
    MPI_Type_create_subarray(2, sizes, parts, starts, rows ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old,
                             &type);
    int slow = rows ? 0 : 1, fast = 1 - slow;
    for (int i = 0; i < parts[slow]; i++)
        for (int k = 0; k < parts[fast]; k++)
            add(model, child, 1,
                ((long)(starts[slow] + i) * sizes[fast] + starts[fast] + k) * extent, &first);
    model->lb = 0;
    model->ub = (long)sizes[0] * sizes[1] * extent;
    model->marked = true;
    return type;
}

static MPI_Datatype make_resized(struct test_random *random, MPI_Datatype old,
                                 const struct type_model *child, struct type_model *model)
{
    MPI_Datatype type;
    bool first = true;
    add(model, child, 1, 0, &first);
    long low, high;
    type_model_span(child, 1, &low, &high);
    model->lb = low - test_random_between(random, 0, 4);
    model->ub = high + test_random_between(random, 0, 4);
    model->marked = true;
    MPI_Type_create_resized(old, model->lb, model->ub - model->lb, &type);
    return type;
}

MPI_Datatype type_model_random(struct test_random *random, int depth, struct type_model *model)
{
    if (depth == 0)
        return make_basic(random, model);
    struct type_model child;
    MPI_Datatype type = MPI_DATATYPE_NULL, old = type_model_random(random, depth - 1, &child);
    *model = (struct type_model){.align = 1};
    bool first = true;
    switch (test_random_between(random, 0, 6)) {
    case 0: {
        int count = (int)test_random_between(random, 0, 4);
        MPI_Type_contiguous(count, old, &type);
        add(model, &child, count, 0, &first);
        break;
    }
    case 1:
        type = make_vector(random, old, &child, model);
        break;
    case 2:
        type = make_indexed(random, old, &child, model);
        break;
    case 3:
        type = make_struct(random, depth, old, &child, model);
        break;
    case 4:
        type = make_subarray(random, old, &child, model);
        break;
    case 5:
        type = make_resized(random, old, &child, model);
        break;
    default:
        MPI_Type_dup(old, &type);
        add(model, &child, 1, 0, &first);
        model->lb = child.lb;
        model->ub = child.ub;
    }
    int integers, addresses, inner, combiner;
    MPI_Type_get_envelope(old, &integers, &addresses, &inner, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        MPI_Type_free(&old); /* `type` keeps what it needs of it */
    type_model_free(&child);
    return type;
}
