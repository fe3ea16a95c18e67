/* Printing which algorithm each operation of a job would run by (runtime/choice/choice.h). */
#ifndef FTC_LAUNCHER_CHOICES_H
#define FTC_LAUNCHER_CHOICES_H

#include <stdio.h>

#include "config/config.h"
#include "launcher/options.h"

/* For --print-algorithms: the operations, ranges of their sizes, the algorithm of each, which
 * deaths it masks, and why the algorithms before it in the order of choice do not take it. The job
 * has command->np ranks (default 4) on command->nodes hosts (default 1).
 * FTC_ERR_ARG: there are fewer ranks than hosts. FTC_ERR_CONFIG: such a job would not start. */
int ftc_command_print_algorithms(const struct ftc_command *command, const struct ftc_config *config,
                                 FILE *out);

#endif
