/*
 * Errors. An inner function returns an error class, or a code of the program's own, and leaves the
 * cause in words for the thread. The public function then calls ftc_mpi_raise(), which calls the
 * error handler.
 */
#ifndef FTC_MPI_ERROR_H
#define FTC_MPI_ERROR_H

#include "mpi-ext.h"
#include "mpi/object/object.h"

/* Sets the cause in words, and returns `code`. */
int ftc_mpi_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The class for an error of ftcoll, with its cause in words. FTC_SUCCESS gives MPI_SUCCESS. */
int ftc_mpi_error_from(int error);

/* For functions that the table `functions` marks as not provided. */
int ftc_mpi_not_provided(void);

/* Out of memory. */
int ftc_mpi_no_memory(void);

/* The cause of the thread's last error in words; "" if there is none. */
const char *ftc_mpi_error_cause(void);

/* Stores `value` in *place. If it does not fit, MPI_UNDEFINED. */
int ftc_mpi_narrow(MPI_Count value, int *place);

/* The text of a class or a code; NULL if there is no such one. */
const char *ftc_mpi_error_text(int code);
int ftc_mpi_error_class_of(int code);
/* Adds a code of `class`, or with class < 0 a new class, and stores it in *code. */
int ftc_mpi_error_add(int class, int *code);
/* Removes a class or a code that the program added. */
int ftc_mpi_error_remove(int code, bool class);
/* The highest class or code that was added (MPI_LASTUSEDCODE). */
int ftc_mpi_error_last_used(void);

#endif
