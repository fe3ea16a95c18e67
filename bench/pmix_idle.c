/* The smallest PMIx client, as a base for memory.c. It joins, leaves, and waits to be killed. */
#include <pmix.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
    pmix_proc_t self;
    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 1;
    PMIx_Finalize(NULL, 0);
    prctl(PR_SET_NAME, "pmix_ready"); /* memory.c waits for this name */
    for (;;)
        pause();
}
