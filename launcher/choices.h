/* Output of ftrun about the choice of algorithms (runtime/choice/choice.h), and about settings that
 * have no effect (runtime/choice/effect.h). */
#ifndef FTC_LAUNCHER_CHOICES_H
#define FTC_LAUNCHER_CHOICES_H

#include <stdio.h>

#include "config/config.h"
#include "launcher/options.h"

/* For --print-algorithms: the operations, ranges of their sizes, the algorithm of each, which
 * deaths it masks, and why the algorithms before it in the order of choice do not take it. The job
 * has command->np ranks on command->nodes hosts (ftc_engine_describe()).
 * FTC_ERR_ARG: there are fewer ranks than hosts. FTC_ERR_CONFIG: such a job would not start. */
int ftc_command_print_algorithms(const struct ftc_command *command, const struct ftc_config *config,
                                 FILE *out);

/* For --print-config, with a mark at each setting that has no effect in such a job. */
void ftc_command_print_config(const struct ftc_command *command,
                              const struct ftc_settings *settings, FILE *out);

/* For each cause a line that names the settings that were chosen for this job and have no effect in
 * it, and what would give them one. The job has command->np ranks on `nodes` hosts. */
void ftc_command_tell_idle(const struct ftc_command *command, const struct ftc_settings *settings,
                           int nodes, FILE *out);

#endif
