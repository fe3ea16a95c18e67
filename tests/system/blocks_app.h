/* What blocks_app.c and blocks_reduce.c share: a rank calls every collective, and checks what
 * it gets against the failed set that the library reports. */
#ifndef FTC_TESTS_BLOCKS_APP_H
#define FTC_TESTS_BLOCKS_APP_H

#include <ftcoll.h>
#include <stdbool.h>

#define BLOCKS_RANKS 16

struct app {
    ftc_comm *world;
    int rank, size;
    int call;                  /* number of the call */
    int dies;                  /* this rank kills itself before so many calls; -1: it does not */
    bool failed[BLOCKS_RANKS]; /* in the last call */
    size_t count;
    bool in_place;
    ftc_type type;
    size_t element;
    const char *what; /* the function under test */
};

_Noreturn void app_wrong(const struct app *app, const char *what);
/* Before each call: counts it, and dies if its time has come. Returns a root. */
int app_step(struct app *app, const char *what);
/* After each call: learns which ranks the library has left out. */
void app_learn(struct app *app);
/* A buffer of so many bytes, all UNTOUCHED. app_free() finds bytes written behind its end. */
#define UNTOUCHED 0xee
unsigned char *app_buffer(const struct app *app, size_t bytes);
void app_free(const struct app *app, unsigned char *buffer, size_t bytes);
/* Are all these bytes UNTOUCHED? */
bool app_is_untouched(const unsigned char *bytes, size_t size);

void app_reductions(struct app *app); /* blocks_reduce.c */

#endif
