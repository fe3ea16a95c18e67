/*
 * All functions of libibverbs and librdmacm that transport/ calls, under their own names. Each
 * passes the call on to the library. A call of a function that is not listed here is an error when
 * libftcoll is linked. None of them carries messages: those go by functions of the device itself.
 */
#include "transport/verbs/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

#define VERBS "libibverbs.so.1"
#define CM    "librdmacm.so.1"

/* clang-format off */
#define FUNCTIONS_OF_VERBS(X)                                                                                          \
    X(ibv_ack_async_event) X(ibv_ack_cq_events) X(ibv_alloc_pd) X(ibv_close_device) X(ibv_create_ah)                   \
    X(ibv_create_comp_channel) X(ibv_create_cq) X(ibv_create_qp) X(ibv_dealloc_pd) X(ibv_dereg_mr)                     \
    X(ibv_destroy_ah) X(ibv_destroy_comp_channel) X(ibv_destroy_cq) X(ibv_destroy_qp) X(ibv_event_type_str)            \
    X(ibv_fork_init) X(ibv_free_device_list) X(ibv_get_async_event) X(ibv_get_cq_event) X(ibv_get_device_list)         \
    X(ibv_get_device_name) X(ibv_modify_qp) X(ibv_open_device) X(ibv_query_device) X(_ibv_query_gid_table)             \
    X(ibv_query_port) X(ibv_reg_mr) X(ibv_reg_mr_iova2) X(ibv_wc_status_str)
#define FUNCTIONS_OF_CM(X)                                                                                             \
    X(rdma_ack_cm_event) X(rdma_bind_addr) X(rdma_create_event_channel) X(rdma_create_id) X(rdma_create_qp)            \
    X(rdma_destroy_event_channel) X(rdma_destroy_id) X(rdma_destroy_qp) X(rdma_get_cm_event)                           \
    X(rdma_join_multicast) X(rdma_leave_multicast)
/* clang-format on */

/* Filled in once and then only read, like the linker's own table. */
static struct {
#define POINTER(name) __typeof__(name)(*name);
    FUNCTIONS_OF_VERBS(POINTER)
    FUNCTIONS_OF_CM(POINTER)
    char missing[256]; /* why the libraries cannot be used; "": they can */
} library;

static void *open_library(const char *file)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL); /* stays open until the process ends */

    if (handle == NULL)
        snprintf(library.missing, sizeof(library.missing), "%s", dlerror());
    return handle;
}

static void *find(void *handle, const char *file, const char *name)
{
    void *function = dlsym(handle, name);

    if (function == NULL)
        snprintf(library.missing, sizeof(library.missing), "%s has no %s", file, name);
    return function;
}

static void load(void)
{
    void *verbs = open_library(VERBS);
    void *cm = verbs != NULL ? open_library(CM) : NULL;

    if (cm == NULL)
        return;
#define FIND_IN_VERBS(name) *(void **)&library.name = find(verbs, VERBS, #name);
#define FIND_IN_CM(name)    *(void **)&library.name = find(cm, CM, #name);
    FUNCTIONS_OF_VERBS(FIND_IN_VERBS)
    FUNCTIONS_OF_CM(FIND_IN_CM)
}

int ftc_verbs_library_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    if (library.missing[0] != '\0')
        return ftc_error_set(FTC_ERR_UNSUPPORTED,
                             "RDMA needs libibverbs and librdmacm: %s: install them, or use tcp",
                             library.missing);
    return FTC_SUCCESS;
}

/* The parentheses around a name keep it from being expanded if the headers have it as a macro,
 * too. */
/* clang-format off */
#define FORWARD(result, name, parameters, arguments) result (name) parameters { return (library.name) arguments; }
#define FORWARD_VOID(name, parameters, arguments)    void (name) parameters { (library.name) arguments; }

FORWARD_VOID(ibv_ack_async_event, (struct ibv_async_event *event), (event))
FORWARD_VOID(ibv_ack_cq_events, (struct ibv_cq *queue, unsigned count), (queue, count))
FORWARD(struct ibv_pd *, ibv_alloc_pd, (struct ibv_context *device), (device))
FORWARD(int, ibv_close_device, (struct ibv_context *device), (device))
FORWARD(struct ibv_ah *, ibv_create_ah, (struct ibv_pd *domain, struct ibv_ah_attr *attributes),
        (domain, attributes))
FORWARD(struct ibv_comp_channel *, ibv_create_comp_channel, (struct ibv_context *device), (device))
FORWARD(struct ibv_cq *, ibv_create_cq,
        (struct ibv_context *device, int size, void *context, struct ibv_comp_channel *channel, int vector),
        (device, size, context, channel, vector))
FORWARD(struct ibv_qp *, ibv_create_qp,
        (struct ibv_pd *domain, struct ibv_qp_init_attr *attributes), (domain, attributes))
FORWARD(int, ibv_dealloc_pd, (struct ibv_pd *domain), (domain))
FORWARD(int, ibv_dereg_mr, (struct ibv_mr *region), (region))
FORWARD(int, ibv_destroy_ah, (struct ibv_ah *way), (way))
FORWARD(int, ibv_destroy_comp_channel, (struct ibv_comp_channel *channel), (channel))
FORWARD(int, ibv_destroy_cq, (struct ibv_cq *queue), (queue))
FORWARD(int, ibv_destroy_qp, (struct ibv_qp *pair), (pair))
FORWARD(const char *, ibv_event_type_str, (enum ibv_event_type event), (event))
FORWARD(int, ibv_fork_init, (void), ())
FORWARD_VOID(ibv_free_device_list, (struct ibv_device **list), (list))
FORWARD(int, ibv_get_async_event, (struct ibv_context *device, struct ibv_async_event *event), (device, event))
FORWARD(int, ibv_get_cq_event, (struct ibv_comp_channel *channel, struct ibv_cq **queue, void **context),
        (channel, queue, context))
FORWARD(struct ibv_device **, ibv_get_device_list, (int *count), (count))
FORWARD(const char *, ibv_get_device_name, (struct ibv_device *device), (device))
FORWARD(int, ibv_modify_qp, (struct ibv_qp *pair, struct ibv_qp_attr *attributes, int mask),
        (pair, attributes, mask))
FORWARD(struct ibv_context *, ibv_open_device, (struct ibv_device *device), (device))
FORWARD(int, ibv_query_device, (struct ibv_context *device, struct ibv_device_attr *limits), (device, limits))
FORWARD(ssize_t, _ibv_query_gid_table,
        (struct ibv_context *device, struct ibv_gid_entry *entries, size_t most, uint32_t flags, size_t size),
        (device, entries, most, flags, size))
FORWARD(int, ibv_query_port, (struct ibv_context *device, uint8_t port, struct _compat_ibv_port_attr *state),
        (device, port, state))
FORWARD(struct ibv_mr *, ibv_reg_mr, (struct ibv_pd *domain, void *memory, size_t size, int access),
        (domain, memory, size, access))
FORWARD(struct ibv_mr *, ibv_reg_mr_iova2,
        (struct ibv_pd *domain, void *memory, size_t size, uint64_t address, unsigned access),
        (domain, memory, size, address, access))
FORWARD(const char *, ibv_wc_status_str, (enum ibv_wc_status status), (status))

FORWARD(int, rdma_ack_cm_event, (struct rdma_cm_event *event), (event))
FORWARD(int, rdma_bind_addr, (struct rdma_cm_id *id, struct sockaddr *address), (id, address))
FORWARD(struct rdma_event_channel *, rdma_create_event_channel, (void), ())
FORWARD(int, rdma_create_id,
        (struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context, enum rdma_port_space space),
        (channel, id, context, space))
FORWARD(int, rdma_create_qp,
        (struct rdma_cm_id *id, struct ibv_pd *domain, struct ibv_qp_init_attr *attributes),
        (id, domain, attributes))
FORWARD_VOID(rdma_destroy_event_channel, (struct rdma_event_channel *channel), (channel))
FORWARD(int, rdma_destroy_id, (struct rdma_cm_id *id), (id))
FORWARD_VOID(rdma_destroy_qp, (struct rdma_cm_id *id), (id))
FORWARD(int, rdma_get_cm_event, (struct rdma_event_channel *channel, struct rdma_cm_event **event), (channel, event))
FORWARD(int, rdma_join_multicast, (struct rdma_cm_id *id, struct sockaddr *group, void *context), (id, group, context))
FORWARD(int, rdma_leave_multicast, (struct rdma_cm_id *id, struct sockaddr *group), (id, group))
/* clang-format on */
