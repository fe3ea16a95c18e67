/*
 * A naive model of datatypes: the type map as a list of bytes, written out. A random datatype is
 * made in MPI and in the model at once.
 */
#ifndef FTC_TEST_TYPE_MODEL_H
#define FTC_TEST_TYPE_MODEL_H

#include <mpi.h>

#include "tests/random.h"

struct type_element {
    long offset;
    int size;
};

struct type_model {
    int count;
    struct type_element *elements;
    long lb, ub;
    bool marked; /* by a resize */
    long align;
};

/* A random datatype, at most `depth` constructors deep, and its model. */
MPI_Datatype type_model_random(struct test_random *random, int depth, struct type_model *model);
void type_model_free(struct type_model *model);

long type_model_size(const struct type_model *model);
/* The lowest and the highest byte of `count` elements, from the start of the first. */
void type_model_span(const struct type_model *model, int count, long *low, long *high);
/* Packs `count` elements; returns the bytes. With `unpack` the other way round. */
long type_model_pack(const struct type_model *model, char *memory, int count, char *wire,
                     bool unpack);

#endif
