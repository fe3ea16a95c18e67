/* Choice of the engine, and the last line of an agent. */
#include "launcher/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "launcher/program.h"
#include "node/segment/segment.h"

#define MOST_WAIT_MS    3600000L
#define DESCRIBED_RANKS 4
#define SLURM_SPECIAL_STEP                                                                         \
    0xfffffff0ul /* steps from here on are batch scripts or shells, not of srun */

static unsigned long number_of(const char *variable)
{
    const char *text = getenv(variable);
    return text != NULL ? strtoul(text, NULL, 10) : 0;
}

static bool have_srun(void)
{
    char *path = NULL;
    int code;
    bool have = ftc_program_find("srun", NULL, &path, &code) == FTC_SUCCESS;

    free(path);
    return have;
}

/* Is this an allocation, and was ftrun not started by an srun in it? Such an srun has chosen the
 * hosts already. */
static bool in_allocation(void)
{
    const char *step = getenv("SLURM_STEP_ID");

    if (getenv("SLURM_JOB_ID") == NULL || !have_srun())
        return false;
    return step == NULL || strtoul(step, NULL, 10) >= SLURM_SPECIAL_STEP;
}

/* Take the hosts that were asked for, or else all of the allocation, but leave none without a
 * rank. */
static int choose_nodes(struct ftc_command *command)
{
    int per_node = command->ranks_per_node, np = command->np;
    int least = per_node > 0 ? (np + per_node - 1) / per_node : 1;
    int there = (int)number_of("SLURM_JOB_NUM_NODES");

    if (command->nodes == 0 && per_node > 0)
        command->nodes = least;
    if (command->nodes == 0)
        command->nodes = there;
    if (command->nodes == 0)
        return ftc_error_set(FTC_ERR_ARG, "outside of an allocation the number of hosts is not "
                                          "known; give --nodes N, or use salloc "
                                          "or sbatch");
    if (command->nodes < least)
        return ftc_error_set(FTC_ERR_ARG,
                             "%d ranks do not fit on %d hosts of %d ranks; give --nodes %d", np,
                             command->nodes, per_node, least);
    if (there > 0 && command->nodes > there)
        return ftc_error_set(
            FTC_ERR_ARG,
            "%d hosts are wanted, the allocation has %d; give --nodes %d, or allocate more",
            command->nodes, there, there);
    if (command->nodes > np)
        command->nodes = np;
    return FTC_SUCCESS;
}

static int choose_slurm(struct ftc_command *command)
{
    if (!have_srun())
        return ftc_error_set(
            FTC_ERR_UNSUPPORTED,
            "--engine slurm: there is no srun in $PATH, so no Slurm here; without --engine all "
            "ranks run on this machine");
    return choose_nodes(command);
}

static int read_hosts(struct ftc_command *command)
{
    if (command->host_list != NULL && command->hostfile != NULL)
        return ftc_error_set(FTC_ERR_ARG, "--hosts and --hostfile are both given; give one");
    if (command->hostfile != NULL)
        return ftc_hosts_add_file(&command->hosts, command->hostfile);
    if (command->host_list != NULL)
        return ftc_hosts_add_list(&command->hosts, command->host_list);
    return ftc_error_set(FTC_ERR_ARG, "--engine ssh needs hosts; give --hosts or --hostfile");
}

/* --nodes takes the first hosts, and --ranks-per-node gives each as many slots. */
static int choose_hosts(struct ftc_command *command)
{
    struct ftc_hosts *hosts = &command->hosts;
    int per_node = command->ranks_per_node, rc = read_hosts(command);

    if (rc != FTC_SUCCESS)
        return rc;
    if (command->nodes > hosts->count)
        return ftc_error_set(FTC_ERR_ARG, "--nodes %d: only %d hosts are given", command->nodes,
                             hosts->count);
    if (command->nodes > 0)
        hosts->count = command->nodes;
    for (int i = 0; i < hosts->count && per_node > 0; i++)
        hosts->at[i].slots = per_node;
    if (per_node > 0 && command->np > per_node * hosts->count)
        return ftc_error_set(FTC_ERR_ARG, "%d ranks do not fit on %d hosts of %d ranks",
                             command->np, hosts->count, per_node);
    ftc_hosts_spread(hosts, command->np);
    command->nodes = hosts->count;
    return FTC_SUCCESS;
}

static int check_choice(const struct ftc_command *command)
{
    bool hosts = command->host_list != NULL || command->hostfile != NULL;

    if (command->engine == FTC_ENGINE_GUEST && command->invitation == NULL)
        return ftc_error_set(FTC_ERR_STATE, "--engine guest is what ftrun --hosts starts on each "
                                            "host; use ftrun --hosts");
    if (hosts && (command->engine == FTC_ENGINE_LOCAL || command->engine == FTC_ENGINE_SLURM))
        return ftc_error_set(FTC_ERR_ARG, "--hosts and --hostfile are for ssh; leave --engine out");
    return FTC_SUCCESS;
}

static enum ftc_engine find_engine(const struct ftc_command *command)
{
    if (command->host_list != NULL || command->hostfile != NULL)
        return FTC_ENGINE_SSH;
    return in_allocation() ? FTC_ENGINE_SLURM : FTC_ENGINE_LOCAL;
}

int ftc_engine_choose(struct ftc_command *command)
{
    int rc = check_choice(command);

    if (rc != FTC_SUCCESS)
        return rc;
    if (command->engine == FTC_ENGINE_AUTO)
        command->engine = find_engine(command);
    if (command->engine == FTC_ENGINE_SSH)
        return choose_hosts(command);
    if (command->engine == FTC_ENGINE_SLURM)
        return choose_slurm(command);
    if (command->engine == FTC_ENGINE_LOCAL && command->nodes > 1)
        return ftc_error_set(
            FTC_ERR_ARG,
            "--nodes %d: this is no allocation of Slurm, and no hosts are given; give --hosts or "
            "--hostfile, or use --engine slurm",
            command->nodes);
    return FTC_SUCCESS;
}

int ftc_engine_describe(struct ftc_command *command)
{
    if (command->np == 0)
        command->np = DESCRIBED_RANKS;
    if (command->host_list != NULL || command->hostfile != NULL)
        return choose_hosts(command);
    if (command->nodes == 0 && in_allocation())
        return choose_nodes(command);
    if (command->nodes == 0)
        command->nodes = 1;
    return FTC_SUCCESS;
}

/* --- the last line --- */

void ftc_engine_format_end(char *line, size_t size, const char *token,
                           const struct ftc_engine_end *job)
{
    snprintf(line, size, "%cftrun %s %d %d %u %s\n", FTC_ENGINE_MARK, token, job->code,
             job->unknown, job->wait_ms, job->text);
}

/* Read the number at *text, which a blank must end, and move *text behind the blank. -1: there is
 * no number from 0 to `most`. */
static long take_number(const char **text, long most)
{
    char *end;
    long number = strtol(*text, &end, 10);

    if (end == *text || *end != ' ' || number < 0 || number > most)
        return -1;
    *text = end + 1;
    return number;
}

bool ftc_engine_parse_end(const char *line, const char *token, struct ftc_engine_end *job)
{
    char start[80];
    int length = snprintf(start, sizeof(start), "%cftrun %s ", FTC_ENGINE_MARK, token);

    if (length < 0 || (size_t)length >= sizeof(start) || strncmp(line, start, (size_t)length) != 0)
        return false;
    const char *text = line + length;
    long code = take_number(&text, 255);
    long unknown = code < 0 ? -1 : take_number(&text, FTC_NODE_MAX_RANKS);
    long wait_ms = unknown < 0 ? -1 : take_number(&text, MOST_WAIT_MS);
    if (wait_ms < 0)
        return false;
    *job = (struct ftc_engine_end){
        .code = (int)code, .unknown = (int)unknown, .wait_ms = (unsigned)wait_ms, .text = text};
    return true;
}
