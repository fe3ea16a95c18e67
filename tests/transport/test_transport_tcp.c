/* The conformance suite, on TCP over loopback. Endpoints are exchanged by files in the job's directory. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "transport/tcp.h"
#include "transport/tcp_endpoint.h"
#include "transport_suite.h"

static const char *job_directory;

static const char *look_up(void *context, int rank)
{
    static char text[FTC_TCP_ENDPOINT_SIZE];
    char path[256];
    (void)context;
    snprintf(path, sizeof(path), "%s/endpoint.%d", job_directory, rank);
    FILE *file = fopen(path, "r");
    bool there = file != NULL && fgets(text, sizeof(text), file) != NULL;
    if (file != NULL)
        fclose(file);
    return there ? text : NULL;
}

/* Whole or not at all: another process may be looking. */
static int publish(const char *endpoint, int rank)
{
    char path[256], draft[256];
    snprintf(path, sizeof(path), "%s/endpoint.%d", job_directory, rank);
    snprintf(draft, sizeof(draft), "%s/draft.%d", job_directory, rank);
    FILE *file = fopen(draft, "w");
    if (file == NULL || fputs(endpoint, file) < 0 || fclose(file) != 0 || rename(draft, path) != 0)
        return ftc_error_set(FTC_ERR_SYSTEM, "cannot write %s: %m", path);
    return 0;
}

static int open_tcp(struct ftc_transport **out, struct ftc_transport_setup *setup, const char *directory)
{
    struct ftc_tcp_setup tcp = {.job = "1234.1",
                                .secret = (const unsigned char *)"a secret of 32 bytes, or nearly.",
                                .secret_size = 32,
                                .address = "127.0.0.1",
                                .endpoint = look_up};
    job_directory = directory;
    setup->tcp = &tcp;
    int rc = ftc_transport_tcp.open(out, setup);
    return rc == 0 ? publish(ftc_tcp_endpoint(*out), setup->self) : rc;
}

int main(void)
{
    static const struct transport_kit tcp = {
        .ops = &ftc_transport_tcp, .open = open_tcp, .settled = ftc_tcp_settled};
    return transport_suite_run(&tcp);
}
