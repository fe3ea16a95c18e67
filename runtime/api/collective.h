/* One collective of the API, from its arguments to its result. A function of the API checks its
 * arguments, and builds a struct ftc_collective of them. The blocking form runs it at once; the
 * non-blocking form gives it to a request (runtime/api/request.h). */
#ifndef FTC_RUNTIME_API_COLLECTIVE_H
#define FTC_RUNTIME_API_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/values/types.h"
#include "runtime/api/call.h"
#include "runtime/api/gathering.h"

/* The call, and all that it points to but the caller's buffers, counts and displacements. It must
 * live as long as the call, at the same place: the call points into it. */
struct ftc_collective {
    struct ftc_call call;
    void *receive; /* the result; NULL: this rank has none */
    struct ftc_reduction reduction;
    /* Sizes that the ranks agree on first, since no rank knows all of them: what this rank gives,
     * and behind it what is decided. Each is 1 more than the bytes; 0: not given. Behind these are
     * the offsets that call.parts points to, if the call needs memory for them. */
    uint64_t *sizes;
    size_t sizes_count; /* 0: all are known */
    void *packed;       /* an input that the call has made; NULL: none */
    /* The root of a scatter takes its own block to its place. */
    const void *own;
    void *own_place; /* NULL: there is nothing to take */
    size_t own_size;
    struct ftc_gathering gathering; /* if the call takes contributions; else not initialised */
};

/* Clears the struct but for `gathering`. */
void ftc_collective_clear(struct ftc_collective *c);
/* Begins a call of the API (ftc_call_begin()), and clears the struct but for `gathering`. */
int ftc_collective_begin(struct ftc_collective *c, const struct ftc_comm *comm);
/* The call takes contributions by `take`, to places by `place` (collectives/call.h). */
void ftc_collective_gathers(struct ftc_collective *c, const struct ftc_comm *comm,
                            ftc_take_fn *take, ftc_place_fn *place);
/* Gives the call `size` bytes of its own for its input. FTC_ERR_NOMEM. */
int ftc_collective_room(struct ftc_collective *c, size_t size);

/* Runs the call if `rc` is FTC_SUCCESS, frees what it had, and ends the call of the API. Returns
 * its result, or `rc`. */
int ftc_collective_end(struct ftc_collective *c, struct ftc_comm *comm, int rc);

/* --- the steps of a run --- */

/* Must the ranks agree on sizes first? That is an operation of its own, before the call: the one
 * that ftc_collective_sizes_call() fills in, with `reduction`, which must live as long as it. Its
 * result goes to ftc_collective_sizes_result(), and ftc_collective_take_sizes() makes the call
 * complete. It ends the job if the sizes do not fit together. */
bool ftc_collective_wants_sizes(const struct ftc_collective *c);
void ftc_collective_sizes_call(const struct ftc_collective *c, struct ftc_call *call,
                               struct ftc_reduction *reduction);
uint64_t *ftc_collective_sizes_result(const struct ftc_collective *c);
void ftc_collective_take_sizes(struct ftc_collective *c, struct ftc_comm *comm);

/* The call has ended with `rc`, and its result is in c->receive: does what is left, and returns
 * `rc`. Ends the job if a contribution has not the size of its place. */
int ftc_collective_finish(const struct ftc_collective *c, struct ftc_comm *comm, int rc);

/* Frees what the collective has, whether it ran or not; not `c` itself. */
void ftc_collective_free(struct ftc_collective *c);

/* --- arguments --- */

int ftc_check_root(const struct ftc_comm *comm, int root);
/* *size is the number of bytes of `count` elements. */
int ftc_check_size(size_t count, ftc_type type, size_t *size);
/* *input is where the input is: `send`, or `in_place` if that is FTC_IN_PLACE. */
int ftc_check_input(const void *send, const void *in_place, size_t size, const void **input);
int ftc_check_receive(const void *recv, size_t size);

#endif
