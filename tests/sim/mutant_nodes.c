/* ftcoll-sim nodes over leases with a fault: tests what the program finds and says. MUTATION=N
 * chooses the fault (detector/mutation.h). */
#include <stdlib.h>

#include "detector/mutation.h"
#include "sim/options.h"

enum ftc_lease_mutation ftc_lease_mutation = FTC_LEASE_MUTATION_DECLARE_UNREFUSED;

int main(int argc, char **argv)
{
    const char *mutation = getenv("MUTATION");

    if (mutation != NULL)
        ftc_lease_mutation = (enum ftc_lease_mutation)atoi(mutation);
    return argc > 1 ? ftc_command_nodes(argc - 1, argv + 1) : FTC_SIM_EXIT_USAGE;
}
