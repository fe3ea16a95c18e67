/* Copies between the memory of this process and those of other ranks (process_vm_readv(2)).
 * node/board/board.h needs these functions of its host. */
#ifndef FTC_RUNTIME_PROCESS_PEER_MEMORY_H
#define FTC_RUNTIME_PROCESS_PEER_MEMORY_H

#include "base/sparse.h"
#include "node/board/board.h"
#include "runtime/process/process.h"

/* The ranks between whose memory and ours data is copied. A thread that runs a board has its own.
 * All zero at first. */
struct ftc_peers {
    bool admitted;         /* the others may copy from and to this process */
    struct ftc_sparse pid; /* of ranks of the job: pid_t; 0: not known. Of size 0: none is known */
};

/* 0: not known */
static inline pid_t ftc_peer_pid(const struct ftc_peers *peers, int rank)
{
    const pid_t *pid = peers->pid.size > 0 ? ftc_sparse_find(&peers->pid, rank) : NULL;

    return pid != NULL ? *pid : 0;
}

/* Allows `rank` to copy from and to this process. False if copies in either direction are
 * impossible, as far as this can be known before the first copy: the settings forbid them, or the
 * rank is in another pid namespace. */
bool ftc_peer_allow(struct ftc_process *process, struct ftc_peers *peers, int rank);
void ftc_peers_free(struct ftc_peers *peers);

/* Copy `size` bytes. Only after ftc_peer_allow() returned true for this rank. If the process is
 * gone, the kernel refuses, or an address is bad, some of the bytes may have been copied. */
enum ftc_board_copied ftc_peer_copy_from(struct ftc_process *process, const struct ftc_peers *peers,
                                         int rank, void *to, uint64_t address, size_t size);
/* As copy_from, and then reads a word of the rank, if the two can be had in this order at once.
 * *taken: so it was. */
enum ftc_board_copied ftc_peer_copy_and_word(struct ftc_process *process,
                                             const struct ftc_peers *peers, int rank, void *to,
                                             uint64_t address, size_t size, uint64_t *word,
                                             uint64_t word_address, bool *taken);
enum ftc_board_copied ftc_peer_copy_to(struct ftc_process *process, const struct ftc_peers *peers,
                                       int rank, uint64_t address, const void *from, size_t size);

#endif
