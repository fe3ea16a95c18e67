/* Probes. */
#include "mpi/message/message.h"

#include "mpi/type/status.h"

#include <sched.h>

/* What a probe looks for, and what it has found. */
struct probe {
    int source, tag;
    bool waits;
    ftc_matched **matched; /* where the message goes; NULL: it stays */
    int found;
    ftc_status status;
};

static int look(struct probe *p, ftc_comm *comm)
{
    bool waits = p->waits && !ftc_mpi_process.multiple;
    p->found = waits;
    if (p->matched != NULL)
        return waits ? ftc_mprobe(p->source, p->tag, comm, p->matched, &p->status)
                     : ftc_improbe(p->source, p->tag, comm, &p->found, p->matched, &p->status);
    return waits ? ftc_probe(p->source, p->tag, comm, &p->status)
                 : ftc_iprobe(p->source, p->tag, comm, &p->found, &p->status);
}

/* A failure that is masked interrupts nothing. Other threads of the program get turns. */
static int find(struct probe *p, struct ftc_mpi_comm *c)
{
    bool again;
    int error;
    do {
        ftc_mpi_comm_enter(c);
        error = look(p, c->native);
        again = error == FTC_SUCCESS ? p->waits && !p->found
                                     : error == FTC_ERR_RANK_FAILED &&
                                           p->source == MPI_ANY_SOURCE && ftc_mpi_comm_passes(c);
        ftc_mpi_comm_leave(c);
    } while (again && sched_yield() == 0);
    return ftc_mpi_message_outcome(c, error);
}

static int probe(struct ftc_mpi_comm *c, struct probe *p, int *flag, MPI_Status *status)
{
    int rc = ftc_mpi_check_peer(c, p->source, p->tag, false);
    if (rc != MPI_SUCCESS)
        return rc;
    p->tag = ftc_mpi_native_tag(p->tag);
    p->source = ftc_mpi_native_rank(c, p->source);
    if (p->source == MPI_PROC_NULL) {
        p->status = (ftc_status){.rank = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
        p->found = 1;
    } else {
        rc = find(p, c);
    }
    *flag = p->found;
    if (rc == MPI_SUCCESS && p->found)
        ftc_mpi_status_set(status, ftc_mpi_peer_rank(c, p->status.rank), p->status.tag,
                           (MPI_Count)p->status.bytes);
    return rc;
}

int ftc_mpi_look(struct ftc_mpi_comm *c, int source, int tag, bool waits, int *flag,
                 MPI_Message *message, MPI_Status *status)
{
    struct probe p = {.source = source, .tag = tag, .waits = waits};
    if (message == NULL)
        return probe(c, &p, flag, status);
    struct ftc_mpi_matched *matched = ftc_mpi_object_new(FTC_MPI_MATCHED, sizeof *matched);
    if (matched == NULL)
        return ftc_mpi_no_memory();
    p.matched = &matched->native;
    int rc = probe(c, &p, flag, status);
    if (rc == MPI_SUCCESS)
        *message = !*flag                    ? MPI_MESSAGE_NULL
                   : matched->native == NULL ? MPI_MESSAGE_NO_PROC
                                             : (MPI_Message)matched;
    if (matched->native == NULL) {
        ftc_mpi_object_free(&matched->object);
        return rc;
    }
    matched->comm = c;
    ftc_mpi_object_hold(&c->object);
    return rc;
}
