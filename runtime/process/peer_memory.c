/* Copies between two processes' memories. */
#include "runtime/process/peer_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "node/system/process.h"

/* With the Yama module only the ancestors of a process may copy from and to it, and one other
 * process that it names. The ranks of a job are siblings, so this rank names the other one. Without
 * Yama the kernel refuses this call, and it is not needed. */
static void admit(pid_t pid)
{
    (void)prctl(PR_SET_PTRACER, (unsigned long)pid, 0, 0, 0);
}

/* The pid cannot be reused while copies go on: ftrun declares a rank before it reaps it, and the
 * board looks for declared ranks before each copy. Two cases remain. This rank may be stopped
 * between the look and the copy while the kernel goes through all pids once. Or a wrapper reaps the
 * rank a moment before ftrun declares it. */
static pid_t find_process(const struct ftc_process *process, int rank)
{
    const struct ftc_slot *slot = ftc_segment_slot(process->segment, rank);
    uint64_t start = atomic_load_explicit(&slot->pid_start, memory_order_acquire);
    pid_t pid = atomic_load_explicit(&slot->pid, memory_order_acquire);

    return pid > 0 && start != 0 && ftc_process_life(pid, start) == FTC_LIFE_ALIVE ? pid : 0;
}

/* Why no copies are possible with the rank; NULL: they are possible. Without exit notices a rank is
 * reaped long before it is declared, so that its pid may belong to another process. */
static const char *why_not(const struct ftc_process *process, int rank, pid_t pid)
{
    uint64_t namespace = ftc_segment_header(process->segment)->pid_namespace;

    if (!ftc_segment_is_local(process->segment, rank))
        return "it is on another node";
    if (!process->config.direct_copies)
        return "collectives.direct_copies is off";
    if (!process->config.exit_notices)
        return "detector.exit_notices is off";
    if (namespace == 0 || namespace != ftc_process_namespace())
        return "ftrun is in another pid namespace";
    return pid == 0 ? "its process cannot be found in /proc" : NULL;
}

static void look_for(struct ftc_process *process, struct ftc_peer *peer, int rank)
{
    pid_t pid = find_process(process, rank);
    const char *why = why_not(process, rank, pid);

    *peer = (struct ftc_peer){.known = true, .rank = rank};
    if (why != NULL) {
        FTC_LOG(&process->log, FTC_LOG_INFO,
                "no copies between this process's memory and rank %d's: %s", rank, why);
        return;
    }
    peer->pid = pid;
    admit(pid);
    FTC_LOG(&process->log, FTC_LOG_DEBUG,
            "large values go straight to and from rank %d's memory, pid %d", rank, (int)pid);
}

bool ftc_peer_allow(struct ftc_process *process, struct ftc_peer *peer, int rank)
{
    if (!peer->known || peer->rank != rank)
        look_for(process, peer, rank);
    return peer->pid > 0;
}

typedef ssize_t transfer(pid_t pid, const struct iovec *local, unsigned long locals,
                         const struct iovec *remote, unsigned long remotes, unsigned long flags);

/* The death of a process is no reason for a line in the log. Any other error is logged. That
 * happens once, because the error ends the copies. */
static bool failed(const struct ftc_process *process, int rank, int error)
{
    if (error != ESRCH)
        FTC_LOG(&process->log, FTC_LOG_INFO,
                "cannot copy between this process's memory and rank %d's: %s; large values go "
                "through shared "
                "memory from now on",
                rank, strerror(error));
    return false;
}

/* A loop, because the kernel copies at most about 2 GiB in one call. */
static bool copy(transfer *call, const struct ftc_process *process, const struct ftc_peer *peer,
                 char *own, uint64_t address, size_t size)
{
    while (size > 0) {
        struct iovec local = {own, size}, remote = {(void *)(uintptr_t)address, size};
        ssize_t copied = call(peer->pid, &local, 1, &remote, 1, 0);
        if (copied <= 0)
            return failed(process, peer->rank, copied == 0 ? EIO : errno);
        own += copied;
        address += (uint64_t)copied;
        size -= (size_t)copied;
    }
    return true;
}

bool ftc_peer_copy_from(struct ftc_process *process, const struct ftc_peer *peer, int rank,
                        void *to, uint64_t address, size_t size)
{
    return peer->rank == rank && peer->pid != 0 &&
           copy(process_vm_readv, process, peer, to, address, size);
}

bool ftc_peer_copy_to(struct ftc_process *process, const struct ftc_peer *peer, int rank,
                      uint64_t address, const void *from, size_t size)
{
    return peer->rank == rank && peer->pid != 0 &&
           copy(process_vm_writev, process, peer, (char *)(uintptr_t)from, address, size);
}
