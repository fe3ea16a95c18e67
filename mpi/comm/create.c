/* Communicators made of others. */
#include "mpi/comm/request.h"

#include "functions.h"
#include "mpi-ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many ranks of the child of an intercommunicator are of the group that comes first there. */
static int low_ranks(const struct ftc_mpi_comm *parent, const ftc_comm *child)
{
    int low = 0, end = parent->first == 0 ? parent->size : parent->remote_size;
    for (int i = 0; i < ftc_size(child); i++)
        low += ftc_comm_translate(child, i, parent->native) < end;
    return low;
}

int ftc_mpi_comm_child(struct ftc_mpi_comm *parent, int error, ftc_comm *child, MPI_Comm *out)
{
    int rc = ftc_mpi_comm_outcome(parent, parent->native, error);
    if (rc != MPI_SUCCESS) {
        if (error == FTC_SUCCESS && child != NULL)
            ftc_comm_free(&child); /* a failure is raised, at all ranks alike */
        return rc;
    }
    *out = MPI_COMM_NULL;
    if (child == NULL)
        return MPI_SUCCESS;
    int low = ftc_mpi_is_inter(parent) ? low_ranks(parent, child) : 1;
    if (low == 0 || (ftc_mpi_is_inter(parent) && low == ftc_size(child))) {
        ftc_comm_free(&child); /* one group is empty */
        return MPI_SUCCESS;
    }
    rc = ftc_mpi_comm_wrap(parent, error, child, out);
    if (rc == MPI_SUCCESS && ftc_mpi_is_inter(parent))
        ftc_mpi_comm_divide(ftc_mpi_comm_of(*out), low);
    return rc;
}

/* Orders the ranks of the part by their groups: that of the lower ranks of the parent first. */
static int sort_groups(const struct ftc_mpi_comm *parent, ftc_comm **part)
{
    ftc_comm *mixed = *part;
    int key = ftc_rank(mixed) + (parent->first > 0 ? ftc_size(mixed) : 0);
    *part = NULL;
    int error = ftc_comm_split(mixed, 0, key, part);
    ftc_comm_free(&mixed);
    return error;
}

int ftc_mpi_comm_part(struct ftc_mpi_comm *parent, int color, int key, MPI_Comm *out)
{
    ftc_comm *native = NULL;
    ftc_mpi_comm_enter(parent);
    int error = ftc_comm_split(parent->native, color < 0 ? FTC_UNDEFINED : color, key, &native);
    if (error == FTC_SUCCESS && native != NULL && ftc_mpi_is_inter(parent))
        error = sort_groups(parent, &native);
    int rc = ftc_mpi_comm_child(parent, error, native, out);
    ftc_mpi_comm_leave(parent);
    return rc;
}

int ftc_mpi_comm_split(struct ftc_mpi_comm *c, int color, int key, MPI_Comm *newcomm)
{
    if (color < 0 && color != MPI_UNDEFINED)
        return ftc_mpi_error(MPI_ERR_ARG, "a color of %d is negative", color);
    return ftc_mpi_comm_part(c, color, key, newcomm);
}

/* Gives the copy the topology and the attributes. After an error of a function of the program the
 * copy is freed. */
static int dress(struct ftc_mpi_comm *c, MPI_Comm *newcomm)
{
    struct ftc_mpi_comm *copy = ftc_mpi_comm_of(*newcomm);
    int rc = MPI_SUCCESS;
    if (copy == NULL) /* all ranks of a group have failed */
        return rc;
    if (c->topology != NULL && (copy->topology = ftc_mpi_topology_copy(c->topology)) == NULL)
        rc = ftc_mpi_no_memory();
    if (rc == MPI_SUCCESS)
        rc = ftc_mpi_attributes_copy(&c->attributes, FTC_MPI_COMM, ftc_mpi_comm_handle(c),
                                     &copy->attributes);
    if (rc != MPI_SUCCESS) {
        ftc_mpi_attributes_clear(&copy->attributes, FTC_MPI_COMM, *newcomm);
        ftc_mpi_comm_release(copy);
        *newcomm = MPI_COMM_NULL;
    }
    return rc;
}

/* A creation under way. */
struct creation {
    struct ftc_mpi_request request; /* it comes first */
    ftc_comm *native;
    MPI_Comm *place;
    bool copies; /* a dup; otherwise a shrink */
    bool again;
};

static int start_creation(struct ftc_mpi_request *request)
{
    struct creation *creation = (struct creation *)request;
    ftc_comm *parent = request->comm->native;
    ftc_mpi_comm_enter(request->comm);
    int error = creation->copies ? ftc_comm_idup(parent, &creation->native, &request->native[0])
                                 : ftc_comm_ishrink(parent, &creation->native, &request->native[0]);
    ftc_mpi_comm_leave(request->comm);
    return ftc_mpi_error_from(error);
}

static int finish_creation(struct ftc_mpi_request *request, int error)
{
    struct creation *creation = (struct creation *)request;
    struct ftc_mpi_comm *comm = request->comm;
    bool raises = comm->raises;
    if (error == FTC_ERR_REVOKED && !creation->copies && !creation->again) {
        creation->again = true; /* this shrink was the first to learn of it */
        return start_creation(request);
    }
    if (!creation->copies)
        comm->raises = false; /* what is shrunk has failures */
    int rc = ftc_mpi_comm_child(comm, error, creation->native, creation->place);
    comm->raises = raises;
    if (rc == MPI_SUCCESS && creation->copies)
        rc = dress(comm, creation->place);
    return rc;
}

static void release_creation(struct ftc_mpi_request *request)
{
    (void)request;
}

int ftc_mpi_comm_make(struct ftc_mpi_comm *c, bool copies, MPI_Comm *newcomm, MPI_Request *request)
{
    static const struct ftc_mpi_operation operation = {
        .start = start_creation, .finish = finish_creation, .release = release_creation};
    struct creation *creation = ftc_mpi_request_new(&operation, c, sizeof *creation);
    if (creation == NULL)
        return ftc_mpi_no_memory();
    creation->place = newcomm;
    creation->copies = copies;
    return ftc_mpi_request_run(&creation->request, request);
}

/* The ranks of the group in the communicator; NULL: no memory, or one is not there (*rc). */
static int *ranks_of(struct ftc_mpi_comm *c, const struct ftc_mpi_group *group, int *rc)
{
    struct ftc_mpi_group *members = ftc_mpi_comm_members(c);
    int *ranks = malloc(((size_t)group->size + 1) * sizeof *ranks);
    *rc = members == NULL || ranks == NULL ? ftc_mpi_no_memory() : MPI_SUCCESS;
    for (int i = 0; *rc == MPI_SUCCESS && i < group->size; i++) {
        ranks[i] = ftc_mpi_group_find(members, group->ranks[i]);
        if (ranks[i] == MPI_UNDEFINED)
            *rc = ftc_mpi_error(MPI_ERR_GROUP, "rank %d of the group is not in %s", i, c->name);
    }
    if (*rc == MPI_SUCCESS)
        return ranks;
    free(ranks);
    return NULL;
}

/* All ranks of comm call this. A part has the color of its first member, so groups that have no
 * rank in common become parts of one split. */
int ftc_mpi_comm_create(struct ftc_mpi_comm *c, struct ftc_mpi_group *group, MPI_Comm *newcomm)
{
    int rc, *ranks = ranks_of(c, group, &rc);
    if (ranks == NULL)
        return rc;
    int own = ftc_mpi_group_find(group, ftc_mpi_process.world->rank);
    /* In an intercommunicator there is one part. */
    int color = own == MPI_UNDEFINED ? -1 : ftc_mpi_is_inter(c) ? 0 : ranks[0];
    rc = ftc_mpi_comm_part(c, color, own, newcomm);
    free(ranks);
    return rc;
}

int ftc_mpi_comm_create_group(struct ftc_mpi_comm *c, struct ftc_mpi_group *group, int tag,
                              MPI_Comm *newcomm)
{
    ftc_comm *native = NULL;
    int rc = ftc_mpi_comm_check(c, false), *ranks;
    if (rc != MPI_SUCCESS || (ranks = ranks_of(c, group, &rc)) == NULL)
        return rc;
    *newcomm = MPI_COMM_NULL;
    if (ftc_mpi_group_find(group, ftc_mpi_process.world->rank) != MPI_UNDEFINED) {
        ftc_mpi_comm_enter(c);
        int error = ftc_comm_create(c->native, group->size, ranks, tag, &native);
        ftc_mpi_comm_leave(c);
        rc = ftc_mpi_comm_wrap(c, error, native, newcomm);
    }
    free(ranks);
    return rc;
}

/* A number that is the same for the ranks of one host that runs: of its name and boot. */
static uint64_t host_number(void)
{
    char text[256 + 64] = "";
    gethostname(text, 255);
    size_t length = strlen(text);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file != NULL) {
        text[length + fread(text + length, 1, 63, file)] = '\0';
        fclose(file);
    }
    return ftc_mpi_text_hash(text);
}

/* The lowest rank of the communicator on the host of this rank. */
static int first_on_host(struct ftc_mpi_comm *c, int *first)
{
    uint64_t own = host_number();
    uint64_t *hosts = calloc((size_t)c->size, sizeof *hosts);
    if (hosts == NULL)
        return ftc_mpi_no_memory();
    ftc_mpi_comm_enter(c);
    int error = ftc_allgather(&own, hosts, 1, FTC_UINT64, c->native);
    int rc = ftc_mpi_comm_outcome(c, c->native, error);
    ftc_mpi_comm_leave(c);
    for (*first = 0; *first < c->rank && hosts[*first] != own;)
        ++*first;
    free(hosts);
    return rc;
}

/* Ranks that share memory. Other kinds of hardware are not told apart: they give MPI_COMM_NULL, as
 * the standard has it. */
int ftc_mpi_comm_split_type(struct ftc_mpi_comm *c, int split_type, int key, MPI_Info info,
                            MPI_Comm *newcomm)
{
    int first = -1;
    const char *resource = ftc_mpi_info_value(ftc_mpi_info_of(info), "mpi_hw_resource_type");
    bool shared = split_type == MPI_COMM_TYPE_SHARED ||
                  (split_type == MPI_COMM_TYPE_HW_GUIDED && resource != NULL &&
                   strcmp(resource, "mpi_shared_memory") == 0);
    if (!shared && split_type != MPI_UNDEFINED && split_type != MPI_COMM_TYPE_HW_GUIDED &&
        split_type != MPI_COMM_TYPE_HW_UNGUIDED && split_type != MPI_COMM_TYPE_RESOURCE_GUIDED)
        return ftc_mpi_error(MPI_ERR_ARG, "%d is no type of a split", split_type);
    int rc = ftc_mpi_comm_check(c, false);
    if (rc == MPI_SUCCESS)
        rc = first_on_host(c, &first);
    return rc != MPI_SUCCESS ? rc : ftc_mpi_comm_part(c, shared ? first : -1, key, newcomm);
}
