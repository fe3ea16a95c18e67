/* Starts the agent of a node whose ranks PMIx started without ftrun. The agent is an ftrun; the
 * lowest rank of the node starts it (docs/design/nodes.md, "Adopted ranks"). */
#ifndef FTC_RUNTIME_PROCESS_START_AGENT_H
#define FTC_RUNTIME_PROCESS_START_AGENT_H

/*
 * Starts `ftrun --engine adopt` for a job of `ranks` ranks. The program is the one that
 * FTCOLL_FTRUN names; if it is not set, the installed ftrun; if there is none, the ftrun of $PATH.
 * The agent is no child of this process, and outlives it. *fd is the socket to it
 * (node/adoption.h), close-on-exec.
 * FTC_ERR_SYSTEM: there is no ftrun, or it could not begin (it has written why to standard error).
 */
int ftc_start_agent(int ranks, int *fd);

#endif
