/* The conformance suite on TCP over loopback. */
#include <stdlib.h>

#include "endpoint_files.h"
#include "transport/tcp/tcp.h"
#include "transport_suite.h"

static int open_tcp(struct ftc_transport **out, struct ftc_transport_setup *setup,
                    const char *directory)
{
    const char *seal = getenv("FTC_TEST_SEAL"); /* the number of a seal */
    struct ftc_tcp_setup tcp = {.job = "1234.1",
                                .secret = (const unsigned char *)"a secret of 32 bytes, or nearly.",
                                .secret_size = 32,
                                .seal = seal != NULL ? (enum ftc_tcp_seal)atoi(seal) : 0,
                                .address = "127.0.0.1",
                                .endpoint = endpoint_files_look_up};
    endpoint_files_in(directory);
    setup->tcp = &tcp;
    int rc = ftc_transport_tcp.open(out, setup);
    return rc == 0 ? endpoint_files_publish(ftc_tcp_endpoint(*out), setup->self) : rc;
}

int main(void)
{
    static const struct transport_kit tcp = {
        .ops = &ftc_transport_tcp, .open = open_tcp, .settled = ftc_tcp_settled};
    return transport_suite_run(&tcp);
}
