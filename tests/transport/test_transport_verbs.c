/* The conformance suite on queue pairs between RDMA devices. */
#include "endpoint_files.h"
#include "transport_suite.h"
#include "verbs_ends.h"

static int open_verbs(struct ftc_transport **out, struct ftc_transport_setup *setup,
                      const char *directory)
{
    struct ftc_verbs_setup verbs = verbs_usual(setup->self);
    verbs.endpoint = endpoint_files_look_up;
    endpoint_files_in(directory);
    setup->verbs = &verbs;
    int rc = ftc_transport_verbs.open(out, setup);
    return rc == 0 ? endpoint_files_publish(ftc_verbs_endpoint(*out), setup->self) : rc;
}

int main(void)
{
    static const struct transport_kit verbs = {
        .ops = &ftc_transport_verbs, .open = open_verbs, .settled = ftc_verbs_settled};
    return verbs_possible() ? transport_suite_run(&verbs) : VERBS_SKIPPED;
}
