/* For programs of MPI: a check that fails says where, and ends the process. */
#ifndef FTC_TESTS_MPI_CHECK_H
#define FTC_TESTS_MPI_CHECK_H

#include <stdio.h>
#include <unistd.h>

static int rank, size; /* in MPI_COMM_WORLD; main() sets them */

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("rank %d, line %d: %s\n", rank, __LINE__, #condition);                          \
            fflush(stdout);                                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#endif
