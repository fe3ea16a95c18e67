/*
 * Parts of an array of several dimensions: subarrays, and what a rank has of a distributed array
 * (MPI 5.0, 5.1.3 and 5.1.4). Dimension by dimension, from the one whose elements lie side by side
 * on, a list of runs of indices is laid around what the dimensions below have made.
 */
#include "mpi/type/type.h"

#include "functions.h"

#include <stdlib.h>

/* `length` indices from `start` on. */
struct run {
    MPI_Count start, length;
};

/* The layout of the runs, where index i is i * stride bytes from the start. It takes over `child`.
 */
static struct ftc_mpi_layout *lay_runs(const struct run *runs, MPI_Count count, MPI_Aint stride,
                                       struct ftc_mpi_layout *child)
{
    struct ftc_mpi_layout *list = ftc_mpi_layout_list(count);
    bool sound = list != NULL;
    for (MPI_Count i = 0; sound && i < count; i++) {
        list->entries[i].offset = runs[i].start * stride;
        list->entries[i].child = ftc_mpi_layout_loop(runs[i].length, stride, child);
        sound = list->entries[i].child != NULL;
    }
    ftc_mpi_layout_release(child);
    if (sound)
        return ftc_mpi_layout_listed(list);
    ftc_mpi_layout_release(list);
    return NULL;
}

/* The dimension that is the i-th from the innermost one. */
static int dimension(int i, int ndims, int order)
{
    return order == MPI_ORDER_C ? ndims - 1 - i : i;
}

static int check_order(int ndims, int order)
{
    if (ndims < 1)
        return ftc_mpi_error(MPI_ERR_ARG, "an array of %d dimensions", ndims);
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        return ftc_mpi_error(MPI_ERR_ARG, "the order is neither MPI_ORDER_C nor "
                                          "MPI_ORDER_FORTRAN");
    return MPI_SUCCESS;
}

/* The datatype with the layout: its extent is that of the whole array of `elements`. */
static int give(struct ftc_mpi_layout *layout, struct ftc_mpi_type *old, MPI_Count elements,
                struct ftc_mpi_contents *contents, MPI_Datatype *newtype)
{
    struct ftc_mpi_bounds bounds = {
        .lb = 0, .ub = elements * ftc_mpi_extent(old), .lb_marked = true, .ub_marked = true};
    contents->types_count = 1;
    contents->types = &old;
    return ftc_mpi_type_give(layout, bounds, old->align, contents, newtype);
}

static int check_subarray(int ndims, struct ftc_mpi_array sizes, struct ftc_mpi_array subsizes,
                          struct ftc_mpi_array starts, int order)
{
    int rc = check_order(ndims, order);
    for (int d = 0; rc == MPI_SUCCESS && d < ndims; d++) {
        MPI_Count size = ftc_mpi_at(sizes, d), part = ftc_mpi_at(subsizes, d);
        MPI_Count start = ftc_mpi_at(starts, d);
        if (size < 1 || part < 1 || part > size || start < 0 || start > size - part)
            rc = ftc_mpi_error(MPI_ERR_ARG, "dimension %d: %lld from %lld on are not in %lld", d,
                               (long long)part, (long long)start, (long long)size);
    }
    return rc;
}

int ftc_mpi_type_create_subarray(int ndims, struct ftc_mpi_array array_of_sizes,
                                 struct ftc_mpi_array array_of_subsizes,
                                 struct ftc_mpi_array array_of_starts, int order,
                                 struct ftc_mpi_type *old, MPI_Datatype *newtype)
{
    int rc = check_subarray(ndims, array_of_sizes, array_of_subsizes, array_of_starts, order);
    MPI_Count *integers =
        rc != MPI_SUCCESS ? NULL : malloc(((size_t)ndims * 3 + 2) * sizeof *integers);
    if (integers == NULL)
        return rc != MPI_SUCCESS ? rc : ftc_mpi_no_memory();
    struct ftc_mpi_layout *layout = ftc_mpi_layout_hold(old->layout);
    MPI_Count elements = 1;
    for (int i = 0; layout != NULL && i < ndims; i++) {
        int d = dimension(i, ndims, order);
        struct run run = {ftc_mpi_at(array_of_starts, d), ftc_mpi_at(array_of_subsizes, d)};
        layout = lay_runs(&run, 1, elements * ftc_mpi_extent(old), layout);
        elements *= ftc_mpi_at(array_of_sizes, d);
    }
    integers[0] = ndims;
    for (int d = 0; d < ndims; d++) {
        integers[1 + d] = ftc_mpi_at(array_of_sizes, d);
        integers[1 + ndims + d] = ftc_mpi_at(array_of_subsizes, d);
        integers[1 + 2 * ndims + d] = ftc_mpi_at(array_of_starts, d);
    }
    integers[1 + 3 * ndims] = order;
    struct ftc_mpi_contents contents = {
        .combiner = MPI_COMBINER_SUBARRAY, .integers_count = 3 * ndims + 2, .integers = integers};
    rc = give(layout, old, elements, &contents, newtype);
    free(integers);
    return rc;
}

/* One dimension of a distributed array, and the place of the rank in it. */
struct distribution {
    MPI_Count size; /* of the array */
    int kind, argument, processes, place;
};

/* How many indices are dealt to a process at a time; 0: the arguments are wrong. */
static MPI_Count deal(const struct distribution *d)
{
    MPI_Count even = (d->size + d->processes - 1) / d->processes;
    bool left_open = d->argument == MPI_DISTRIBUTE_DFLT_DARG;
    if (d->kind == MPI_DISTRIBUTE_NONE)
        return d->processes == 1 ? d->size : 0;
    if (!left_open && d->argument < 1)
        return 0;
    if (d->kind == MPI_DISTRIBUTE_CYCLIC)
        return left_open ? 1 : d->argument;
    if (d->kind != MPI_DISTRIBUTE_BLOCK)
        return 0;
    return left_open ? even : d->argument >= even ? d->argument : 0;
}

/* Lays what the rank has of the dimension around `child`, which it takes over. */
static struct ftc_mpi_layout *lay_dimension(const struct distribution *d, MPI_Count dealt,
                                            MPI_Aint stride, struct ftc_mpi_layout *child)
{
    MPI_Count round = dealt * d->processes, count = 0;
    struct run *runs = malloc((size_t)(d->size / round + 2) * sizeof *runs);
    if (runs == NULL) {
        ftc_mpi_layout_release(child);
        return NULL;
    }
    for (MPI_Count start = d->place * dealt; start < d->size; start += round) {
        MPI_Count left = d->size - start;
        runs[count++] = (struct run){start, left < dealt ? left : dealt};
    }
    struct ftc_mpi_layout *layout = lay_runs(runs, count, stride, child);
    free(runs);
    return layout;
}

static int check_darray(int size, int rank, int ndims, struct ftc_mpi_array gsizes,
                        const int psizes[], int order)
{
    int rc = check_order(ndims, order);
    MPI_Count processes = 1;
    for (int d = 0; rc == MPI_SUCCESS && d < ndims; d++) {
        processes *= psizes[d];
        if (psizes[d] < 1 || ftc_mpi_at(gsizes, d) < 1)
            rc = ftc_mpi_error(MPI_ERR_ARG,
                               "dimension %d of the array or of the processes is less "
                               "than 1",
                               d);
    }
    if (rc == MPI_SUCCESS && (processes != size || rank < 0 || rank >= size))
        rc = ftc_mpi_error(MPI_ERR_ARG, "rank %d of %d in a grid of %lld processes", rank, size,
                           (long long)processes);
    return rc;
}

int ftc_mpi_type_create_darray(int size, int rank, int ndims, struct ftc_mpi_array array_of_gsizes,
                               const int array_of_distribs[], const int array_of_dargs[],
                               const int array_of_psizes[], int order, struct ftc_mpi_type *old,
                               MPI_Datatype *newtype)
{
    int rc = check_darray(size, rank, ndims, array_of_gsizes, array_of_psizes, order);
    size_t n = rc == MPI_SUCCESS ? (size_t)ndims : 0;
    MPI_Count *integers = malloc((n * 4 + 4) * sizeof *integers);
    struct distribution *parts = calloc(n + 1, sizeof *parts);
    if (rc == MPI_SUCCESS && (integers == NULL || parts == NULL))
        rc = ftc_mpi_no_memory();
    MPI_Count elements = 1;
    for (int d = (int)n - 1; rc == MPI_SUCCESS && d >= 0; d--) { /* ranks go by rows, as in C */
        parts[d] = (struct distribution){ftc_mpi_at(array_of_gsizes, d), array_of_distribs[d],
                                         array_of_dargs[d], array_of_psizes[d],
                                         rank / (int)elements % array_of_psizes[d]};
        elements *= array_of_psizes[d];
        if (deal(&parts[d]) == 0)
            rc = ftc_mpi_error(MPI_ERR_ARG, "dimension %d cannot be distributed like that", d);
    }
    struct ftc_mpi_layout *layout = rc == MPI_SUCCESS ? ftc_mpi_layout_hold(old->layout) : NULL;
    elements = 1;
    for (int i = 0; layout != NULL && i < ndims; i++) {
        const struct distribution *d = &parts[dimension(i, ndims, order)];
        layout = lay_dimension(d, deal(d), elements * ftc_mpi_extent(old), layout);
        elements *= d->size;
    }
    if (rc == MPI_SUCCESS) {
        integers[0] = size;
        integers[1] = rank;
        integers[2] = ndims;
        for (int d = 0; d < ndims; d++) {
            integers[3 + d] = parts[d].size;
            integers[3 + ndims + d] = parts[d].kind;
            integers[3 + 2 * ndims + d] = parts[d].argument;
            integers[3 + 3 * ndims + d] = parts[d].processes;
        }
        integers[3 + 4 * ndims] = order;
        struct ftc_mpi_contents contents = {
            .combiner = MPI_COMBINER_DARRAY, .integers_count = 4 * ndims + 4, .integers = integers};
        rc = give(layout, old, elements, &contents, newtype);
    }
    free(integers);
    free(parts);
    return rc;
}
