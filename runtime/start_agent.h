/* The agent of a node whose ranks PMIx started without ftrun: an ftrun, started by the first of
 * them (docs/design/nodes.md, "Adopted ranks"). */
#ifndef FTC_RUNTIME_START_AGENT_H
#define FTC_RUNTIME_START_AGENT_H

/*
 * Start `ftrun --engine adopt` for a job of so many ranks: the program that FTCOLL_FTRUN names, or
 * else the installed one, or else that of $PATH. It is no child of this process, and outlives it.
 * *fd is the socket to it (node/adoption.h), close-on-exec. FTC_ERR_SYSTEM: there is none, or it
 * has ended at once (it has said why).
 */
int ftc_start_agent(int ranks, int *fd);

#endif
