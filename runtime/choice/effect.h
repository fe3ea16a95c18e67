/* Whether a setting has an effect in a job. The answers come from choice.h and
 * collectives/agreement/eligible.h, which say why an algorithm refuses a call. */
#ifndef FTC_RUNTIME_CHOICE_EFFECT_H
#define FTC_RUNTIME_CHOICE_EFFECT_H

#include "runtime/choice/choice.h"

/* Why a setting with this need has no effect in the job, and what would give it one, in words that
 * end a sentence. NULL: it has an effect. config->algorithm is to be as it was set, auto included,
 * and job->failed NULL. */
const char *ftc_choice_idle(const struct ftc_choice_job *job, enum ftc_config_need need);

#endif
