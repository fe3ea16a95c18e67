/* The collectives of the API that gather, scatter and exchange blocks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "runtime/api/collective.h"
#include "runtime/api/request.h"

static int check_arrays(const size_t *counts, const size_t *displs)
{
    if (counts != NULL && displs != NULL)
        return FTC_SUCCESS;
    return ftc_error_set(FTC_ERR_ARG, "the %s are NULL",
                         counts == NULL ? "counts" : "displacements");
}

/* A rank expects from itself what it sends. */
static int check_own(const struct ftc_parts *parts, int rank, size_t count)
{
    if (ftc_part_size(parts, rank) == count * parts->element)
        return FTC_SUCCESS;
    return ftc_error_set(FTC_ERR_ARG, "rank %d sends %zu elements to itself, and expects %zu", rank,
                         count, ftc_part_size(parts, rank) / parts->element);
}

static struct ftc_signature signature_of(enum ftc_call_kind kind, ftc_type type, int root,
                                         size_t size)
{
    return (struct ftc_signature){
        .kind = (uint8_t)kind, .type = ftc_type_code(type), .root = root, .size = size};
}

/* Room for the sizes that the ranks agree on: `count` from each, and as many results. Then for the
 * offsets of as many parts. */
static int make_sizes(struct ftc_collective *c, size_t count)
{
    c->sizes = calloc(3 * count + 1, sizeof(*c->sizes));
    if (c->sizes == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for %zu sizes", count);
    c->sizes_count = count;
    return FTC_SUCCESS;
}

/* --- gathering --- */

/* This rank gives its own part, and each part that comes goes to its place in recv. */
static int gather_parts(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                        void *recv, const struct ftc_parts *places)
{
    const unsigned char *own = recv;
    size_t size = ftc_part_size(places, comm->rank);

    ftc_collective_gathers(c, comm, ftc_gathering_take, ftc_gathering_place_of);
    c->gathering.places = *places;
    c->gathering.in_place = send == FTC_IN_PLACE;
    c->receive = recv;
    c->call.input_size = size;
    int rc = ftc_check_receive(recv, ftc_parts_end(places));
    if (own != NULL && size > 0)
        own += ftc_part_offset(places, comm->rank);
    return rc == FTC_SUCCESS ? ftc_check_input(send, own, size, &c->call.input) : rc;
}

static int allgather(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                     void *recv, const struct ftc_parts *places, ftc_type type)
{
    c->call.signature = signature_of(FTC_CALL_ALLGATHER, type, -1, ftc_parts_greatest(places));
    return gather_parts(c, comm, send, recv, places);
}

static int build_allgather(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                           void *recv, size_t count, ftc_type type)
{
    struct ftc_parts places;
    int rc = ftc_parts_init(&places, comm->size, type, count, NULL, NULL);

    if (rc == FTC_SUCCESS)
        rc = allgather(c, comm, send, recv, &places, type);
    return rc;
}

FTC_API int ftc_allgather(const void *send, void *recv, size_t count, ftc_type type, ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc == FTC_SUCCESS)
        rc = ftc_collective_end(&c, comm, build_allgather(&c, comm, send, recv, count, type));
    return rc;
}

FTC_API int ftc_iallgather(const void *send, void *recv, size_t count, ftc_type type,
                           ftc_comm *comm, ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc = ftc_request_go(c, comm, build_allgather(c, comm, send, recv, count, type), request);
    return rc;
}

static int build_allgatherv(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                            size_t count, void *recv, const size_t counts[], const size_t displs[],
                            ftc_type type)
{
    struct ftc_parts places;
    int rc = check_arrays(counts, displs);

    if (rc == FTC_SUCCESS)
        rc = ftc_parts_init(&places, comm->size, type, 0, counts, displs);
    if (rc == FTC_SUCCESS && send != FTC_IN_PLACE)
        rc = check_own(&places, comm->rank, count);
    if (rc == FTC_SUCCESS)
        rc = allgather(c, comm, send, recv, &places, type);
    return rc;
}

FTC_API int ftc_allgatherv(const void *send, size_t count, void *recv, const size_t counts[],
                           const size_t displs[], ftc_type type, ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc == FTC_SUCCESS)
        rc = ftc_collective_end(
            &c, comm, build_allgatherv(&c, comm, send, count, recv, counts, displs, type));
    return rc;
}

FTC_API int ftc_iallgatherv(const void *send, size_t count, void *recv, const size_t counts[],
                            const size_t displs[], ftc_type type, ftc_comm *comm,
                            ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc = ftc_request_go(
            c, comm, build_allgatherv(c, comm, send, count, recv, counts, displs, type), request);
    return rc;
}

/* A rank that is not the root: it gives `count` elements, and gets nothing. */
static int give(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                size_t count, ftc_type type)
{
    size_t size = 0;
    int rc = ftc_check_size(count, type, &size);

    if (rc == FTC_SUCCESS && send == FTC_IN_PLACE)
        rc = ftc_error_set(FTC_ERR_ARG, "FTC_IN_PLACE is for the root alone");
    ftc_collective_gathers(c, comm, ftc_gathering_take, ftc_gathering_place_of);
    c->call.input_size = size;
    return rc == FTC_SUCCESS ? ftc_check_input(send, NULL, size, &c->call.input) : rc;
}

static int build_gather(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                        void *recv, size_t count, ftc_type type, int root)
{
    struct ftc_parts places;
    int rc = ftc_check_root(comm, root);

    if (rc == FTC_SUCCESS)
        rc = ftc_parts_init(&places, comm->size, type, count, NULL, NULL);
    if (rc == FTC_SUCCESS)
        rc = comm->rank == root ? gather_parts(c, comm, send, recv, &places)
                                : give(c, comm, send, count, type);
    if (rc == FTC_SUCCESS)
        c->call.signature = signature_of(FTC_CALL_GATHER, type, root, ftc_part_size(&places, 0));
    return rc;
}

FTC_API int ftc_gather(const void *send, void *recv, size_t count, ftc_type type, int root,
                       ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc == FTC_SUCCESS)
        rc = ftc_collective_end(&c, comm, build_gather(&c, comm, send, recv, count, type, root));
    return rc;
}

FTC_API int ftc_igather(const void *send, void *recv, size_t count, ftc_type type, int root,
                        ftc_comm *comm, ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc = ftc_request_go(c, comm, build_gather(c, comm, send, recv, count, type, root), request);
    return rc;
}

/* The part of the root in a gatherv. */
static int gather_at_root(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                          size_t count, void *recv, const size_t *counts, const size_t *displs,
                          ftc_type type)
{
    struct ftc_parts places;
    int rc = check_arrays(counts, displs);

    if (rc == FTC_SUCCESS)
        rc = ftc_parts_init(&places, comm->size, type, 0, counts, displs);
    if (rc == FTC_SUCCESS && send != FTC_IN_PLACE)
        rc = check_own(&places, comm->rank, count);
    return rc == FTC_SUCCESS ? gather_parts(c, comm, send, recv, &places) : rc;
}

static int build_gatherv(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                         size_t count, void *recv, const size_t counts[], const size_t displs[],
                         ftc_type type, int root)
{
    int rc = ftc_check_root(comm, root);

    if (rc == FTC_SUCCESS)
        rc = comm->rank == root ? gather_at_root(c, comm, send, count, recv, counts, displs, type)
                                : give(c, comm, send, count, type);
    if (rc == FTC_SUCCESS)
        rc = make_sizes(c, (size_t)comm->size);
    if (rc == FTC_SUCCESS) {
        c->sizes[comm->rank] = c->call.input_size + 1;
        c->call.signature = signature_of(FTC_CALL_GATHER, type, root, 0);
    }
    return rc;
}

FTC_API int ftc_gatherv(const void *send, size_t count, void *recv, const size_t counts[],
                        const size_t displs[], ftc_type type, int root, ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc == FTC_SUCCESS)
        rc = ftc_collective_end(
            &c, comm, build_gatherv(&c, comm, send, count, recv, counts, displs, type, root));
    return rc;
}

FTC_API int ftc_igatherv(const void *send, size_t count, void *recv, const size_t counts[],
                         const size_t displs[], ftc_type type, int root, ftc_comm *comm,
                         ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc = ftc_request_go(c, comm,
                            build_gatherv(c, comm, send, count, recv, counts, displs, type, root),
                            request);
    return rc;
}

/* --- scattering --- */

/* The root has `parts`, and takes its own to recv. */
static int scatter_from(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                        void *recv, const struct ftc_parts *parts)
{
    size_t size = ftc_part_size(parts, comm->rank);
    int rc = ftc_check_input(send, NULL, ftc_parts_end(parts), &c->call.input);

    if (recv == FTC_IN_PLACE || size == 0)
        return rc;
    if (rc == FTC_SUCCESS)
        rc = ftc_check_receive(recv, size);
    c->own = (const unsigned char *)send + ftc_part_offset(parts, comm->rank);
    c->own_size = size;
    c->own_place = recv;
    return rc;
}

/* Another rank gets `size` bytes from `offset` on. */
static int scatter_to(struct ftc_collective *c, void *recv, size_t offset, size_t size)
{
    c->call.slice_offset = offset;
    c->call.slice_size = size;
    c->receive = recv;
    if (recv == FTC_IN_PLACE)
        return ftc_error_set(FTC_ERR_ARG, "FTC_IN_PLACE is for the root alone");
    return ftc_check_receive(recv, size);
}

static int build_scatter(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                         void *recv, size_t count, ftc_type type, int root)
{
    struct ftc_parts parts;
    int rc = ftc_check_root(comm, root);

    if (rc == FTC_SUCCESS)
        rc = ftc_parts_init(&parts, comm->size, type, count, NULL, NULL);
    if (rc == FTC_SUCCESS)
        rc = comm->rank == root ? scatter_from(c, comm, send, recv, &parts)
                                : scatter_to(c, recv, ftc_part_offset(&parts, comm->rank),
                                             ftc_part_size(&parts, comm->rank));
    if (rc == FTC_SUCCESS)
        c->call.signature = signature_of(FTC_CALL_SCATTER, type, root, ftc_parts_total(&parts));
    return rc;
}

FTC_API int ftc_scatter(const void *send, void *recv, size_t count, ftc_type type, int root,
                        ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc == FTC_SUCCESS)
        rc = ftc_collective_end(&c, comm, build_scatter(&c, comm, send, recv, count, type, root));
    return rc;
}

FTC_API int ftc_iscatter(const void *send, void *recv, size_t count, ftc_type type, int root,
                         ftc_comm *comm, ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc =
            ftc_request_go(c, comm, build_scatter(c, comm, send, recv, count, type, root), request);
    return rc;
}

/* The value of the call is the parts, one behind the other. */
static int pack_for_scatter(struct ftc_collective *c, const void *send,
                            const struct ftc_parts *parts)
{
    size_t at = 0;
    int rc = ftc_collective_room(c, ftc_parts_total(parts));

    for (int rank = 0; rank < parts->ranks && rc == FTC_SUCCESS; rank++) {
        size_t size = ftc_part_size(parts, rank);
        c->sizes[rank] = size + 1;
        if (size > 0)
            memcpy((unsigned char *)c->packed + at,
                   (const unsigned char *)send + ftc_part_offset(parts, rank), size);
        at += size;
    }
    return rc;
}

static int scatter_at_root(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                           const size_t *counts, const size_t *displs, void *recv, size_t count,
                           ftc_type type)
{
    struct ftc_parts parts;
    int rc = check_arrays(counts, displs);

    if (rc == FTC_SUCCESS)
        rc = ftc_parts_init(&parts, comm->size, type, 0, counts, displs);
    if (rc == FTC_SUCCESS && recv != FTC_IN_PLACE)
        rc = check_own(&parts, comm->rank, count);
    if (rc == FTC_SUCCESS)
        rc = scatter_from(c, comm, send, recv, &parts);
    if (rc == FTC_SUCCESS)
        rc = pack_for_scatter(c, send, &parts);
    c->call.slice_size = rc == FTC_SUCCESS ? ftc_part_size(&parts, comm->rank) : 0;
    return rc;
}

static int build_scatterv(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                          const size_t counts[], const size_t displs[], void *recv, size_t count,
                          ftc_type type, int root)
{
    size_t size = 0;
    int rc = ftc_check_root(comm, root);

    if (rc == FTC_SUCCESS)
        rc = make_sizes(c, (size_t)comm->size);
    if (rc == FTC_SUCCESS && comm->rank != root)
        rc = ftc_check_size(count, type, &size);
    if (rc == FTC_SUCCESS)
        rc = comm->rank == root ? scatter_at_root(c, comm, send, counts, displs, recv, count, type)
                                : scatter_to(c, recv, 0, size);
    if (rc == FTC_SUCCESS)
        c->call.signature = signature_of(FTC_CALL_SCATTER, type, root, 0);
    return rc;
}

FTC_API int ftc_scatterv(const void *send, const size_t counts[], const size_t displs[], void *recv,
                         size_t count, ftc_type type, int root, ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc == FTC_SUCCESS)
        rc = ftc_collective_end(
            &c, comm, build_scatterv(&c, comm, send, counts, displs, recv, count, type, root));
    return rc;
}

FTC_API int ftc_iscatterv(const void *send, const size_t counts[], const size_t displs[],
                          void *recv, size_t count, ftc_type type, int root, ftc_comm *comm,
                          ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc = ftc_request_go(c, comm,
                            build_scatterv(c, comm, send, counts, displs, recv, count, type, root),
                            request);
    return rc;
}

/* --- exchanging --- */

static int alltoall(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                    void *recv, const struct ftc_parts *parts)
{
    size_t size = ftc_parts_total(parts);
    int rc = ftc_check_receive(recv, size);

    ftc_collective_gathers(c, comm, ftc_gathering_take, ftc_gathering_place_of);
    c->gathering.places = *parts;
    c->gathering.from = ftc_part_offset(parts, comm->rank);
    c->receive = recv;
    c->call.input_size = size;
    return rc == FTC_SUCCESS ? ftc_check_input(send, recv, size, &c->call.input) : rc;
}

static int build_alltoall(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                          void *recv, size_t count, ftc_type type)
{
    struct ftc_parts parts;
    int rc = ftc_parts_init(&parts, comm->size, type, count, NULL, NULL);

    if (rc == FTC_SUCCESS)
        rc = alltoall(c, comm, send, recv, &parts);
    if (rc == FTC_SUCCESS)
        c->call.signature = signature_of(FTC_CALL_ALLTOALL, type, -1, ftc_parts_total(&parts));
    return rc;
}

FTC_API int ftc_alltoall(const void *send, void *recv, size_t count, ftc_type type, ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc == FTC_SUCCESS)
        rc = ftc_collective_end(&c, comm, build_alltoall(&c, comm, send, recv, count, type));
    return rc;
}

FTC_API int ftc_ialltoall(const void *send, void *recv, size_t count, ftc_type type, ftc_comm *comm,
                          ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc = ftc_request_go(c, comm, build_alltoall(c, comm, send, recv, count, type), request);
    return rc;
}

/* A contribution is a table, and the parts behind it. */
static int alltoallv(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                     void *recv, const struct ftc_parts *sent, const struct ftc_parts *places)
{
    const void *input;
    size_t size = ftc_parts_packed(sent);
    int rc = ftc_check_input(send, recv, ftc_parts_end(sent), &input);

    if (rc == FTC_SUCCESS)
        rc = ftc_check_receive(recv, ftc_parts_end(places));
    ftc_collective_gathers(c, comm, ftc_gathering_take, ftc_gathering_place_of);
    c->gathering.places = *places;
    c->receive = recv;
    c->call.input_size = size;
    if (rc == FTC_SUCCESS)
        rc = ftc_collective_room(c, size);
    if (rc == FTC_SUCCESS)
        rc = make_sizes(c, 1);
    if (rc != FTC_SUCCESS)
        return rc;
    ftc_parts_pack(sent, input, c->packed);
    c->call.parts = c->packed;
    c->sizes[0] = size + 1;
    c->gathering.bounds = calloc((size_t)comm->size, sizeof(*c->gathering.bounds));
    if (c->gathering.bounds == NULL)
        return ftc_error_set(FTC_ERR_NOMEM, "no memory for an alltoallv of %d ranks", comm->size);
    return FTC_SUCCESS;
}

static int build_alltoallv(struct ftc_collective *c, const struct ftc_comm *comm, const void *send,
                           const size_t sendcounts[], const size_t senddispls[], void *recv,
                           const size_t recvcounts[], const size_t recvdispls[], ftc_type type)
{
    struct ftc_parts sent, places;
    bool in_place = send == FTC_IN_PLACE;
    int rc = check_arrays(recvcounts, recvdispls);

    if (rc == FTC_SUCCESS && !in_place)
        rc = check_arrays(sendcounts, senddispls);
    if (rc == FTC_SUCCESS)
        rc = ftc_parts_init(&places, comm->size, type, 0, recvcounts, recvdispls);
    if (rc == FTC_SUCCESS)
        rc = ftc_parts_init(&sent, comm->size, type, 0, in_place ? recvcounts : sendcounts,
                            in_place ? recvdispls : senddispls);
    if (rc == FTC_SUCCESS && !in_place)
        rc = check_own(&places, comm->rank, sendcounts[comm->rank]);
    if (rc == FTC_SUCCESS)
        rc = alltoallv(c, comm, send, recv, &sent, &places);
    if (rc == FTC_SUCCESS)
        c->call.signature = signature_of(FTC_CALL_ALLTOALL, type, -1, 0);
    return rc;
}

FTC_API int ftc_alltoallv(const void *send, const size_t sendcounts[], const size_t senddispls[],
                          void *recv, const size_t recvcounts[], const size_t recvdispls[],
                          ftc_type type, ftc_comm *comm)
{
    struct ftc_collective c;
    int rc = ftc_collective_begin(&c, comm);

    if (rc == FTC_SUCCESS)
        rc = ftc_collective_end(&c, comm,
                                build_alltoallv(&c, comm, send, sendcounts, senddispls, recv,
                                                recvcounts, recvdispls, type));
    return rc;
}

FTC_API int ftc_ialltoallv(const void *send, const size_t sendcounts[], const size_t senddispls[],
                           void *recv, const size_t recvcounts[], const size_t recvdispls[],
                           ftc_type type, ftc_comm *comm, ftc_request **request)
{
    struct ftc_collective *c;
    int rc = ftc_request_open(comm, request, &c);

    if (rc == FTC_SUCCESS)
        rc = ftc_request_go(c, comm,
                            build_alltoallv(c, comm, send, sendcounts, senddispls, recv, recvcounts,
                                            recvdispls, type),
                            request);
    return rc;
}
