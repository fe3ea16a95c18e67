/* How the programs of the storms die: when they are told to, by a signal or an exit. */
#ifndef FTC_TESTS_SYSTEM_STORM_DEATH_H
#define FTC_TESTS_SYSTEM_STORM_DEATH_H

struct death {
    int step; /* before this step; -1: there is none */
    int how;  /* a signal; 0: an exit */
};

/* Take an order RANK:STEP:HOW. One that is for another rank changes nothing. If STEP is negative,
 * the process dies -STEP microseconds after this call. HOW: kill stop exit abort segv. Ends the
 * process with 2 if the word is no order. */
void death_order(struct death *death, int rank, const char *word);
void death_now(int how);
void death_in(int us, int how);

#endif
