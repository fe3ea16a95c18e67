/* Datatypes: random ones against a naive model, and what the standard says of some by name. */
#include <mpi.h>

#include "tests/mpi/alone.h"
#include "tests/mpi/type_model.h"
#include "tests/suite.h"

#include <string.h>

#define ROUNDS 3000

/* A datatype that has the contents of `type`, made by the constructor that they name. */
static MPI_Datatype rebuild(MPI_Datatype type)
{
    int ni, na, nt, combiner, i[64];
    MPI_Aint a[16];
    MPI_Datatype t[8], again = MPI_DATATYPE_NULL;
    MPI_Type_get_envelope(type, &ni, &na, &nt, &combiner);
    MPI_Type_get_contents(type, 64, 16, 8, i, a, t);
    switch (combiner) {
    case MPI_COMBINER_DUP:
        MPI_Type_dup(t[0], &again);
        break;
    case MPI_COMBINER_CONTIGUOUS:
        MPI_Type_contiguous(i[0], t[0], &again);
        break;
    case MPI_COMBINER_VECTOR:
        MPI_Type_vector(i[0], i[1], i[2], t[0], &again);
        break;
    case MPI_COMBINER_HVECTOR:
        MPI_Type_create_hvector(i[0], i[1], a[0], t[0], &again);
        break;
    case MPI_COMBINER_INDEXED:
        MPI_Type_indexed(i[0], i + 1, i + 1 + i[0], t[0], &again);
        break;
    case MPI_COMBINER_HINDEXED:
        MPI_Type_create_hindexed(i[0], i + 1, a, t[0], &again);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        MPI_Type_create_indexed_block(i[0], i[1], i + 2, t[0], &again);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        MPI_Type_create_hindexed_block(i[0], i[1], a, t[0], &again);
        break;
    case MPI_COMBINER_STRUCT:
        MPI_Type_create_struct(i[0], i + 1, a, t, &again);
        break;
    case MPI_COMBINER_SUBARRAY:
        MPI_Type_create_subarray(i[0], i + 1, i + 1 + i[0], i + 1 + 2 * i[0], i[1 + 3 * i[0]], t[0],
                                 &again);
        break;
    case MPI_COMBINER_RESIZED:
        MPI_Type_create_resized(t[0], a[0], a[1], &again);
        break;
    }
    for (int k = 0; k < nt; k++) {
        MPI_Type_get_envelope(t[k], &ni, &na, i, &combiner);
        if (combiner != MPI_COMBINER_NAMED)
            MPI_Type_free(&t[k]);
    }
    return again;
}

static void compare_numbers(MPI_Datatype type, const struct type_model *model)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    int size;
    long low, high;
    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    type_model_span(model, 1, &low, &high);
    ck_assert_int_eq(size, type_model_size(model));
    ck_assert_int_eq(lb, model->lb);
    ck_assert_int_eq(extent, model->ub - model->lb);
    ck_assert_int_eq(true_lb, low);
    ck_assert_int_eq(true_extent, high - low);
}

/* Packs and unpacks `count` elements by MPI and by the model: the same bytes, and no others. */
static void compare_bytes(struct test_random *random, MPI_Datatype type,
                          const struct type_model *model, int count)
{
    long low, high, size = type_model_size(model) * count;
    type_model_span(model, count, &low, &high);
    size_t room = (size_t)(high - low) + 1;
    char *memory[2] = {malloc(room), malloc(room)},
         *wire[2] = {calloc(1, size + 1), calloc(1, size + 1)};
    for (size_t i = 0; i < room; i++)
        memory[0][i] = memory[1][i] = (char)test_random_bits(random);
    int position = 0, need;
    MPI_Pack_size(count, type, MPI_COMM_SELF, &need);
    ck_assert_int_eq(need, size);
    MPI_Pack(memory[0] - low, count, type, wire[0], (int)size, &position, MPI_COMM_SELF);
    ck_assert_int_eq(position, size);
    type_model_pack(model, memory[1] - low, count, wire[1], false);
    ck_assert_mem_eq(wire[0], wire[1], (size_t)size);
    for (long i = 0; i < size; i++)
        wire[0][i] = wire[1][i] = (char)test_random_bits(random);
    position = 0;
    MPI_Unpack(wire[0], (int)size, &position, memory[0] - low, count, type, MPI_COMM_SELF);
    type_model_pack(model, memory[1] - low, count, wire[1], true);
    ck_assert_mem_eq(memory[0], memory[1], room);
    for (int i = 0; i < 2; i++) {
        free(memory[i]);
        free(wire[i]);
    }
}

/* How many elements are in each number of bytes. */
static void compare_elements(MPI_Datatype type, const struct type_model *model)
{
    long size = type_model_size(model), done = 0;
    int whole = 0, parts = 0, elements, set;
    MPI_Status status;
    for (int i = 0; i < model->count; i++)
        parts += 1;
    MPI_Status_set_elements(&status, type, parts);
    MPI_Get_elements(&status, type, &elements);
    ck_assert_int_eq(elements, parts);
    for (int i = 0; i < model->count; i++) {
        MPI_Status_set_elements(&status, type, i);
        MPI_Get_elements(&status, type, &set);
        ck_assert_int_eq(set, i);
        MPI_Status_set_elements(&status, MPI_BYTE, (int)done);
        MPI_Get_elements(&status, type, &elements);
        ck_assert_int_eq(elements, i);
        MPI_Get_count(&status, type, &whole);
        ck_assert_int_eq(whole, done == 0 ? 0 : done == size ? 1 : MPI_UNDEFINED);
        done += model->elements[i].size;
    }
}

START_TEST(random_types)
{
    struct test_random random = test_random_start();
    for (int round = 0; round < (TEST_SANITIZED ? ROUNDS / 10 : ROUNDS); round++) {
        struct type_model model;
        MPI_Datatype type =
            type_model_random(&random, (int)test_random_between(&random, 1, 4), &model);
        MPI_Datatype again = rebuild(type);
        MPI_Type_commit(&type);
        MPI_Type_commit(&again);
        compare_numbers(type, &model);
        compare_numbers(again, &model);
        compare_bytes(&random, type, &model, (int)test_random_between(&random, 0, 3));
        compare_bytes(&random, again, &model, 1);
        compare_elements(type, &model);
        MPI_Type_free(&again);
        MPI_Type_free(&type);
        ck_assert_ptr_eq(type, MPI_DATATYPE_NULL);
        type_model_free(&model);
    }
}
END_TEST

/* The parts of all ranks of a distributed array are the whole array, each element once. */
static void cover_array(struct test_random *random)
{
    int sizes[3], kinds[3], arguments[3], grid[3], processes = 1, ndims, elements = 1;
    ndims = (int)test_random_between(random, 1, 3);
    int order = test_random_chance(random, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    for (int d = 0; d < ndims; d++) {
        static const int all_kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
                                        MPI_DISTRIBUTE_NONE};
        sizes[d] = (int)test_random_between(random, 1, 9);
        kinds[d] = all_kinds[test_random_between(random, 0, 2)];
        grid[d] = kinds[d] == MPI_DISTRIBUTE_NONE ? 1 : (int)test_random_between(random, 1, 4);
        arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
        if (kinds[d] == MPI_DISTRIBUTE_CYCLIC && test_random_chance(random, 50))
            arguments[d] = (int)test_random_between(random, 1, 3);
        processes *= grid[d];
        elements *= sizes[d];
    }
    int *array = calloc((size_t)elements, sizeof *array),
        *part = calloc((size_t)elements + 1, sizeof *part);
    for (int rank = 0; rank < processes; rank++) {
        MPI_Datatype type;
        MPI_Aint lb, extent;
        int position = 0, size;
        MPI_Type_create_darray(processes, rank, ndims, sizes, kinds, arguments, grid, order,
                               MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_get_extent(type, &lb, &extent);
        ck_assert_int_eq(extent, elements * (int)sizeof(int));
        MPI_Type_size(type, &size);
        for (int i = 0; i < size / (int)sizeof(int); i++)
            part[i] = rank + 1;
        MPI_Unpack(part, size, &position, array, 1, type, MPI_COMM_SELF);
        MPI_Type_free(&type);
    }
    for (int i = 0; i < elements; i++) { /* who has it, by the rules of the standard */
        int rank = 0, rest = i, owners[3];
        for (int k = ndims - 1; k >= 0; k--) {
            int d = order == MPI_ORDER_C ? k : ndims - 1 - k;
            int index = rest % sizes[d];
            rest /= sizes[d];
            int dealt = kinds[d] == MPI_DISTRIBUTE_BLOCK  ? (sizes[d] + grid[d] - 1) / grid[d]
                        : kinds[d] == MPI_DISTRIBUTE_NONE ? sizes[d]
                        : arguments[d] == MPI_DISTRIBUTE_DFLT_DARG ? 1
                                                                   : arguments[d];
            owners[d] = index / dealt % grid[d];
        }
        for (int d = 0; d < ndims; d++)
            rank = rank * grid[d] + owners[d];
        ck_assert_int_eq(array[i], rank + 1);
    }
    free(array);
    free(part);
}

START_TEST(distributed_arrays)
{
    struct test_random random = test_random_start();
    for (int round = 0; round < 500; round++)
        cover_array(&random);
}
END_TEST

/* Big-endian, with the sizes of the standard, and back. */
START_TEST(external32)
{
    struct {
        int i;
        long l;
        double d;
        long double x;
        char c;
    } in = {0x01020304, -2, 1.5, -3.25L, 'z'}, out;
    MPI_Datatype types[] = {MPI_INT, MPI_LONG, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_CHAR}, type;
    int lengths[] = {1, 1, 1, 1, 1};
    MPI_Aint places[] = {0, (char *)&in.l - (char *)&in, (char *)&in.d - (char *)&in,
                         (char *)&in.x - (char *)&in, (char *)&in.c - (char *)&in};
    MPI_Aint size, position = 0;
    static const unsigned char wire[33] = {1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe, 0x3f, 0xf8, 0,
                                           0, 0, 0, 0, 0,    0xc0, 0,    0xa0, 0,    0,    0,
                                           0, 0, 0, 0, 0,    0,    0,    0,    0,    0,    'z'};
    unsigned char packed[64];
    MPI_Type_create_struct(5, lengths, places, types, &type);
    MPI_Type_commit(&type);
    MPI_Pack_external_size("external32", 1, type, &size);
    ck_assert_int_eq(size, 33);
    MPI_Pack_external("external32", &in, 1, type, packed, sizeof packed, &position);
    ck_assert_int_eq(position, 33);
    ck_assert_mem_eq(packed, wire, 33);
    position = 0;
    memset(&out, 0, sizeof out);
    MPI_Unpack_external("external32", packed, 33, &position, &out, 1, type);
    ck_assert(out.i == in.i && out.l == in.l && out.d == in.d && out.x == in.x && out.c == in.c);
    MPI_Type_free(&type);
}
END_TEST

START_TEST(names_and_errors)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length, class;
    MPI_Datatype type, none;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_get_name(MPI_DOUBLE, name, &length);
    ck_assert_str_eq(name, "MPI_DOUBLE");
    MPI_Type_get_name(MPI_LONG_LONG, name, &length); /* of two names the standard's first one */
    ck_assert_str_eq(name, "MPI_LONG_LONG_INT");
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_get_name(type, name, &length);
    ck_assert_str_eq(name, "");
    MPI_Type_set_name(type, "two");
    MPI_Type_get_name(type, name, &length);
    ck_assert_str_eq(name, "two");
    MPI_Error_class(MPI_Type_contiguous(-1, MPI_INT, &none), &class);
    ck_assert_int_eq(class, MPI_ERR_COUNT);
    MPI_Error_class(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &none), &class);
    ck_assert_int_eq(class, MPI_ERR_TYPE);
    char buffer[8];
    int position = 0, values[2] = {1, 2};
    class = MPI_Pack(values, 1, type, buffer, 8, &position, MPI_COMM_SELF);
    ck_assert_int_eq(class, MPI_ERR_TYPE); /* not committed */
    MPI_Type_commit(&type);
    class = MPI_Pack(values, 1, type, buffer, 7, &position, MPI_COMM_SELF);
    ck_assert_int_eq(class, MPI_ERR_TRUNCATE);
    position = 0;
    ck_assert_int_eq(MPI_Pack(NULL, 0, type, NULL, 0, &position, MPI_COMM_SELF), MPI_SUCCESS);
    MPI_Type_free(&type);
    type = MPI_INT;
    ck_assert_int_eq(MPI_Type_free(&type), MPI_ERR_TYPE);
}
END_TEST

/* A datatype that was freed lives on in those that are built on it. */
START_TEST(large_counts)
{
    MPI_Datatype one, huge;
    MPI_Count size, lb, extent;
    int small;
    MPI_Type_contiguous(1 << 20, MPI_DOUBLE, &one);
    MPI_Type_vector_c((MPI_Count)1 << 20, 1, 2, one, &huge);
    MPI_Type_free(&one);
    MPI_Type_size_c(huge, &size);
    ck_assert_int_eq(size, (MPI_Count)8 << 40);
    MPI_Type_get_extent_c(huge, &lb, &extent);
    ck_assert_int_eq(extent, (((MPI_Count)2 << 20) - 1) * (8 << 20));
    MPI_Type_size(huge, &small);
    ck_assert_int_eq(small, MPI_UNDEFINED);
    MPI_Type_free(&huge);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mpi_types");
    TCase *tc = tcase_create("types");
    test_seed_announce();
    tcase_add_test(tc, random_types);
    tcase_add_test(tc, distributed_arrays);
    tcase_add_test(tc, external32);
    tcase_add_test(tc, names_and_errors);
    tcase_add_test(tc, large_counts);
    tcase_add_checked_fixture(tc, start_mpi, stop_mpi);
    suite_add_tcase(suite, tc);
    return test_suite_run(suite);
}
