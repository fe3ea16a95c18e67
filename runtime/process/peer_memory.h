/* Copies between the memory of this process and that of another rank (process_vm_readv(2)).
 * node/board/board.h needs these functions of its host. */
#ifndef FTC_RUNTIME_PROCESS_PEER_MEMORY_H
#define FTC_RUNTIME_PROCESS_PEER_MEMORY_H

#include "runtime/process/process.h"

/* The rank between whose memory and ours data is copied. A thread that runs a board has its own. */
struct ftc_peer {
    bool known; /* rank and pid are set */
    int rank;
    pid_t pid; /* process of the rank; 0: copies are not possible or not allowed */
};

/* Allows `rank` to copy from and to this process. False if copies in either direction are
 * impossible, as far as this can be known before the first copy: the settings forbid them, the rank
 * is in another pid namespace, or its process is gone. */
bool ftc_peer_allow(struct ftc_process *process, struct ftc_peer *peer, int rank);

/* Copy `size` bytes. Only after ftc_peer_allow() returned true for this rank. False if the kernel
 * refuses or an address is bad; some of the bytes may then have been copied. */
bool ftc_peer_copy_from(struct ftc_process *process, const struct ftc_peer *peer, int rank,
                        void *to, uint64_t address, size_t size);
bool ftc_peer_copy_to(struct ftc_process *process, const struct ftc_peer *peer, int rank,
                      uint64_t address, const void *from, size_t size);

#endif
