/* ftcoll-sim run and sweep over a protocol with a fault: tests what they say and do when a promise
 * is broken. */
#include <string.h>

#include "collectives/mutation.h"
#include "sim/options.h"

enum ftc_mutation ftc_mutation = FTC_MUTATION_ROOT_ADDED_NEVER;

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "sweep") == 0)
        return ftc_command_sweep(argc - 1, argv + 1);
    return ftc_command_run(argc, argv);
}
