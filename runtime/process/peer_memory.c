/* Copies between two processes' memories. */
#include "runtime/process/peer_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "node/system/process.h"

/* With the Yama module only the ancestors of a process may copy from and to it, and another process
 * that it names, with the descendants of that one. The ranks of a node are siblings, so each names
 * their ftrun. Without Yama the kernel refuses this call, and it is not needed. */
static void admit(pid_t ftrun)
{
    (void)prctl(PR_SET_PTRACER, (unsigned long)ftrun, 0, 0, 0);
}

/* The pid cannot be reused while copies go on: ftrun declares a rank before it reaps it, and the
 * board looks for declared ranks before each copy. Two cases remain. This rank may be stopped
 * between the look and the copy while the kernel goes through all pids once. Or a wrapper reaps the
 * rank a moment before ftrun declares it. */
static pid_t find_process(const struct ftc_process *process, int rank)
{
    const struct ftc_slot *slot = ftc_segment_slot(process->segment, rank);
    uint64_t start = atomic_load_explicit(&slot->pid_start, memory_order_acquire);
    pid_t pid = atomic_load_explicit(&ftc_segment_standing(process->segment, rank)->pid,
                                     memory_order_acquire);

    return pid > 0 && start != 0 && ftc_process_life(pid, start) == FTC_LIFE_ALIVE ? pid : 0;
}

/* Why no copies are possible with the rank; NULL: they are possible, if its process is there.
 * Without exit notices a rank is reaped long before it is declared, so that its pid may belong to
 * another process. */
static const char *why_not(const struct ftc_process *process, int rank)
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
    return NULL;
}

static pid_t *make_room(struct ftc_process *process, struct ftc_peers *peers, int rank)
{
    pid_t *pid = NULL;

    if (peers->pid.size > 0 ||
        ftc_sparse_init(&peers->pid, ftc_segment_ranks(process->segment), sizeof(pid_t)) == 0)
        pid = ftc_sparse_make(&peers->pid, rank);
    if (pid == NULL)
        FTC_LOG(&process->log, FTC_LOG_INFO, "no memory for the pids of other ranks");
    return pid;
}

static bool look_for(struct ftc_process *process, struct ftc_peers *peers, int rank)
{
    const char *why = why_not(process, rank);

    if (why != NULL) {
        FTC_LOG(&process->log, FTC_LOG_INFO,
                "no copies between this process's memory and rank %d's: %s", rank, why);
        return false;
    }
    pid_t *pid = make_room(process, peers, rank);
    if (pid == NULL)
        return false;
    if (!peers->admitted)
        admit((pid_t)ftc_segment_header(process->segment)->launcher_pid);
    peers->admitted = true;
    *pid = find_process(process, rank);
    FTC_LOG(&process->log, FTC_LOG_DEBUG,
            "large values go straight to and from rank %d's memory, pid %d", rank, (int)*pid);
    return true;
}

bool ftc_peer_allow(struct ftc_process *process, struct ftc_peers *peers, int rank)
{
    return ftc_peer_pid(peers, rank) > 0 || look_for(process, peers, rank);
}

void ftc_peers_free(struct ftc_peers *peers)
{
    ftc_sparse_fini(&peers->pid);
}

typedef ssize_t transfer(pid_t pid, const struct iovec *local, unsigned long locals,
                         const struct iovec *remote, unsigned long remotes, unsigned long flags);

/* The death of a process is no reason for a line in the log. Any other error is logged. That
 * happens once, because the error ends the copies. */
static enum ftc_board_copied failed(const struct ftc_process *process, int rank, int error)
{
    if (error == ESRCH)
        return FTC_NOBODY_THERE;
    FTC_LOG(&process->log, FTC_LOG_INFO,
            "cannot copy between this process's memory and rank %d's: %s; large values go "
            "through shared "
            "memory from now on",
            rank, strerror(error));
    return FTC_COPY_DENIED;
}

/* A loop, because the kernel copies at most about 2 GiB in one call. */
static enum ftc_board_copied copy(transfer *call, const struct ftc_process *process,
                                  const struct ftc_peers *peers, int rank, char *own,
                                  uint64_t address, size_t size)
{
    pid_t pid = ftc_peer_pid(peers, rank);

    if (pid <= 0)
        return FTC_NOBODY_THERE;
    while (size > 0) {
        struct iovec local = {own, size}, remote = {(void *)(uintptr_t)address, size};
        ssize_t copied = call(pid, &local, 1, &remote, 1, 0);
        if (copied <= 0)
            return failed(process, rank, copied == 0 ? EIO : errno);
        own += copied;
        address += (uint64_t)copied;
        size -= (size_t)copied;
    }
    return FTC_COPIED;
}

enum ftc_board_copied ftc_peer_copy_from(struct ftc_process *process, const struct ftc_peers *peers,
                                         int rank, void *to, uint64_t address, size_t size)
{
    return copy(process_vm_readv, process, peers, rank, to, address, size);
}

/* The kernel takes the ranges in turn. Between two of them it has no barrier for reads, which x86
 * does not need. */
#if defined(__x86_64__)
#define READS_IN_ORDER true
#else
#define READS_IN_ORDER false
#endif

enum ftc_board_copied ftc_peer_copy_and_word(struct ftc_process *process,
                                             const struct ftc_peers *peers, int rank, void *to,
                                             uint64_t address, size_t size, uint64_t *word,
                                             uint64_t word_address, bool *taken)
{
    const struct iovec local[] = {{to, size}, {word, sizeof(*word)}};
    const struct iovec remote[] = {{(void *)(uintptr_t)address, size},
                                   {(void *)(uintptr_t)word_address, sizeof(*word)}};
    pid_t pid = ftc_peer_pid(peers, rank);

    *taken = false;
    if (!READS_IN_ORDER || pid <= 0)
        return ftc_peer_copy_from(process, peers, rank, to, address, size);
    ssize_t copied = process_vm_readv(pid, local, 2, remote, 2, 0);
    if (copied <= 0)
        return failed(process, rank, copied == 0 ? EIO : errno);
    *taken = (size_t)copied == size + sizeof(*word);
    if ((size_t)copied >= size)
        return FTC_COPIED;
    return ftc_peer_copy_from(process, peers, rank, (char *)to + copied, address + (uint64_t)copied,
                              size - (size_t)copied);
}

enum ftc_board_copied ftc_peer_copy_to(struct ftc_process *process, const struct ftc_peers *peers,
                                       int rank, uint64_t address, const void *from, size_t size)
{
    return copy(process_vm_writev, process, peers, rank, (char *)(uintptr_t)from, address, size);
}
