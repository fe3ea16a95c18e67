#include "mpi/object/object.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *ftc_mpi_object_new(enum ftc_mpi_kind kind, size_t bytes)
{
    struct ftc_mpi_object *object = malloc(bytes); /* for few bytes faster than calloc() */
    if (object == NULL)
        return NULL;
    memset(object + 1, 0, bytes - sizeof *object);
    object->kind = kind;
    atomic_init(&object->references, 1);
    return object;
}

bool ftc_mpi_object_drop(struct ftc_mpi_object *object)
{
    return atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) == 1;
}

void ftc_mpi_object_free(struct ftc_mpi_object *object)
{
    object->kind = 0; /* a handle that is used on is mostly noticed */
    free(object);
}

void ftc_mpi_lock(void)
{
    pthread_mutex_lock(&lock);
}

void ftc_mpi_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void ftc_mpi_name_set(char place[MPI_MAX_OBJECT_NAME], const char *name)
{
    size_t length = strnlen(name, MPI_MAX_OBJECT_NAME - 1);
    memcpy(place, name, length);
    place[length] = '\0';
}
