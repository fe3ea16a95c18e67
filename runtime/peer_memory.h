/* Copies between this process's memory and another rank's (process_vm_readv(2)): what
 * node/board/board.h asks of its host. */
#ifndef FTC_RUNTIME_PEER_MEMORY_H
#define FTC_RUNTIME_PEER_MEMORY_H

#include "runtime/comm.h"

/* Let `rank` copy from and to this process. False if either may not, as far as can be known before
 * a first copy: the settings, another pid namespace, a process that is no more. */
bool ftc_peer_allow(struct ftc_comm *comm, int rank);

/* Copy `size` bytes; only after ftc_peer_allow(comm, rank). False if the kernel refuses, or an
 * address is bad; part of the bytes may then be there. */
bool ftc_peer_copy_from(struct ftc_comm *comm, int rank, void *to, uint64_t address, size_t size);
bool ftc_peer_copy_to(struct ftc_comm *comm, int rank, uint64_t address, const void *from,
                      size_t size);

#endif
