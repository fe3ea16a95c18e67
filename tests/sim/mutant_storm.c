/* ftcoll-sim storm and replay over a protocol with a fault: tests what they find and say. */
#include <string.h>

#include "collectives/mutation.h"
#include "sim/options.h"

enum ftc_mutation ftc_mutation = FTC_MUTATION_DELIVER_SMALLER;

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "replay") == 0)
        return ftc_command_replay(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "storm") == 0)
        return ftc_command_storm(argc - 1, argv + 1);
    return FTC_SIM_EXIT_USAGE;
}
