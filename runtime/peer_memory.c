/* Copies between two processes' memories. */
#include "runtime/peer_memory.h"

#include <sys/prctl.h>
#include <sys/uio.h>

#include "node/process.h"

/* Where the Yama module is, a process may only be copied from and to by its parents, and one other that it names: the ranks of a job
 * are siblings. Elsewhere this is refused, and not needed. */
static void admit(pid_t pid)
{
    (void)prctl(PR_SET_PTRACER, (unsigned long)pid, 0, 0, 0);
}

/* A pid that was this rank's when it was looked up. It stays so: after its exit the rank is declared before its pid can be
 * another's, unless a wrapper reaps it. */
static pid_t find_process(const struct ftc_comm *comm, int rank)
{
    const struct ftc_slot *slot = ftc_segment_slot(comm->segment, rank);
    uint64_t start = atomic_load_explicit(&slot->pid_start, memory_order_acquire);
    pid_t pid = atomic_load_explicit(&slot->pid, memory_order_acquire);

    return pid > 0 && start != 0 && ftc_process_alive(pid, start) ? pid : 0;
}

bool ftc_peer_allow(struct ftc_comm *comm, int rank)
{
    uint64_t namespace = ftc_segment_header(comm->segment)->pid_namespace;

    if (comm->peer.known && comm->peer.rank == rank)
        return comm->peer.pid != 0;
    comm->peer = (struct ftc_peer){.known = true, .rank = rank};
    if (comm->config.direct_copies && namespace != 0 && namespace == ftc_process_namespace())
        comm->peer.pid = find_process(comm, rank);
    if (comm->peer.pid != 0)
        admit(comm->peer.pid);
    return comm->peer.pid != 0;
}

typedef ssize_t transfer(pid_t pid, const struct iovec *local, unsigned long locals,
                         const struct iovec *remote, unsigned long remotes, unsigned long flags);

/* The kernel may stop early at 2 GiB. */
static bool copy(transfer *call, const struct ftc_comm *comm, char *own, uint64_t address, size_t size)
{
    while (size > 0) {
        struct iovec local = {own, size}, remote = {(void *)(uintptr_t)address, size};
        ssize_t copied = call(comm->peer.pid, &local, 1, &remote, 1, 0);
        if (copied <= 0 || (size_t)copied > size)
            return false;
        own += copied;
        address += (uint64_t)copied;
        size -= (size_t)copied;
    }
    return true;
}

bool ftc_peer_copy_from(struct ftc_comm *comm, int rank, void *to, uint64_t address, size_t size)
{
    return comm->peer.rank == rank && comm->peer.pid != 0 && copy(process_vm_readv, comm, to, address, size);
}

bool ftc_peer_copy_to(struct ftc_comm *comm, int rank, uint64_t address, const void *from, size_t size)
{
    return comm->peer.rank == rank && comm->peer.pid != 0 &&
           copy(process_vm_writev, comm, (char *)(uintptr_t)from, address, size);
}
