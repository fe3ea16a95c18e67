/*
 * Plays operations, and prints at rank 0 what can be seen of them. man_effects.bats runs it with
 * and without a setting.
 *
 *   [ftrun options] effect_app WORD[:NUMBER]...
 *
 * The words are allreduce, reduce, bcast and gossip (NUMBER doubles), barrier, sleep (NUMBER ms),
 * die and stop (rank NUMBER does), report, and status (rank NUMBER runs the command in
 * $EFFECT_STATUS).
 */
#include <ftcoll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 65536

static double in[MOST], out[MOST];

static const char *word_or_none(const char *word)
{
    return word != NULL ? word : "-";
}

static void report(const ftc_comm *world)
{
    ftc_report r = {.struct_size = sizeof(r)};
    ftc_gossip_report g = {.struct_size = sizeof(g)};

    if (ftc_rank(world) != 0 || ftc_last_report(world, &r) != FTC_SUCCESS)
        return;
    printf("%s, f %d, %s %s %s, integrity %s, %d compared, %u ballots, %d write-offs\n",
           r.algorithm, r.f, word_or_none(r.dissemination), word_or_none(r.tree),
           word_or_none(r.correction), r.integrity, r.compared, r.ballots, r.write_offs);
    if (strcmp(r.algorithm, "gossip") == 0 && ftc_last_gossip_report(world, &g) == FTC_SUCCESS)
        printf("%s, %s, %g, %llu corrupt\n", g.algorithm, g.neighbourhood, g.accuracy,
               (unsigned long long)g.corrupt);
}

static void play(const char *word, long number, ftc_comm *world)
{
    size_t count = number > 0 && number <= MOST ? (size_t)number : 1;
    int rank = ftc_rank(world), rc = FTC_SUCCESS;

    if (strcmp(word, "allreduce") == 0)
        rc = ftc_allreduce(in, out, count, FTC_DOUBLE, FTC_SUM, world);
    else if (strcmp(word, "reduce") == 0)
        rc = ftc_reduce(in, out, count, FTC_DOUBLE, FTC_SUM, 0, world);
    else if (strcmp(word, "bcast") == 0)
        rc = ftc_bcast(in, count, FTC_DOUBLE, 0, world);
    else if (strcmp(word, "gossip") == 0)
        rc = ftc_gossip_allreduce(in, out, count, FTC_AVG, NULL, world);
    else if (strcmp(word, "barrier") == 0)
        rc = ftc_barrier(world);
    else if (strcmp(word, "report") == 0)
        report(world);
    else if (strcmp(word, "sleep") == 0)
        usleep((useconds_t)number * 1000);
    else if (strcmp(word, "status") == 0 && rank == number)
        rc = system(getenv("EFFECT_STATUS")) == 0 ? FTC_SUCCESS : FTC_ERR_SYSTEM;
    else if (strcmp(word, "die") == 0 && rank == number)
        raise(SIGKILL);
    else if (strcmp(word, "stop") == 0 && rank == number)
        raise(SIGSTOP);
    if (rc != FTC_SUCCESS && rank == 0)
        printf("%s: %s\n", word, ftc_strerror(rc));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    ftc_comm *world = NULL;

    if (ftc_init(NULL, &world) != FTC_SUCCESS) {
        fprintf(stderr, "effect_app: %s\n", ftc_last_error());
        return 1;
    }
    for (size_t i = 0; i < MOST; i++)
        in[i] = ftc_rank(world) + 1;
    for (int i = 1; i < argc; i++) {
        char *colon = strchr(argv[i], ':');
        if (colon != NULL)
            *colon = '\0';
        play(argv[i], colon != NULL ? atol(colon + 1) : 0, world);
    }
    return ftc_finalize(world) == FTC_SUCCESS ? 0 : 1;
}
