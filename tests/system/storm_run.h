/* One run of the kill storms: what is planned, and what came of it. */
#ifndef FTC_TESTS_STORM_RUN_H
#define FTC_TESTS_STORM_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define STORM_ARGUMENTS 192

struct run {
    uint64_t seed, state;
    int n, f, operations, victims;
    uint64_t planned; /* ranks that may die */
    bool list, piggyback, board;
    char directory[256], report[300], output[300];
    char text[STORM_ARGUMENTS][96];
    char *argv[STORM_ARGUMENTS + 1];
    int argc;
    char die[1024], deaf[1024];
    json_t *json;
    uint64_t failed;
    int exit_code, status;
};

/* Draw the job, its settings and its deaths from run->seed; the directory and the files in it are given. Ends the program
 * when the environment (storm.c) makes no sense. */
void storm_plan(struct run *run);

#endif
