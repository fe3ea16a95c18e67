#include "mpi/object/info.h"

#include "functions.h"
#include "mpi/object/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    char *key, *value;
};

struct ftc_mpi_info {
    struct ftc_mpi_object object;
    int count;
    struct pair *pairs;
};

struct ftc_mpi_info *ftc_mpi_info_of(MPI_Info info)
{
    return ftc_mpi_object(info, FTC_MPI_INFO);
}

static struct pair *find(const struct ftc_mpi_info *info, const char *key)
{
    for (int i = 0; i < info->count; i++)
        if (strcmp(info->pairs[i].key, key) == 0)
            return &info->pairs[i];
    return NULL;
}

static bool set(struct ftc_mpi_info *info, const char *key, const char *value)
{
    struct pair *pair = find(info, key);
    char *copy = strdup(value);
    if (copy == NULL)
        return false;
    if (pair != NULL) {
        free(pair->value);
        pair->value = copy;
        return true;
    }
    struct pair *grown = realloc(info->pairs, (size_t)(info->count + 1) * sizeof *grown);
    char *name = grown == NULL ? NULL : strdup(key);
    if (grown != NULL)
        info->pairs = grown;
    if (name == NULL) {
        free(copy);
        return false;
    }
    grown[info->count++] = (struct pair){.key = name, .value = copy};
    return true;
}

void ftc_mpi_info_release(struct ftc_mpi_info *info)
{
    if (info == NULL || !ftc_mpi_object_drop(&info->object))
        return;
    for (int i = 0; i < info->count; i++) {
        free(info->pairs[i].key);
        free(info->pairs[i].value);
    }
    free(info->pairs);
    ftc_mpi_object_free(&info->object);
}

struct ftc_mpi_info *ftc_mpi_info_copy(const struct ftc_mpi_info *info)
{
    struct ftc_mpi_info *copy = ftc_mpi_object_new(FTC_MPI_INFO, sizeof *copy);
    for (int i = 0; copy != NULL && info != NULL && i < info->count; i++) {
        if (!set(copy, info->pairs[i].key, info->pairs[i].value)) {
            ftc_mpi_info_release(copy);
            copy = NULL;
        }
    }
    return copy;
}

const char *ftc_mpi_info_value(const struct ftc_mpi_info *info, const char *key)
{
    const struct pair *pair = info == NULL ? NULL : find(info, key);
    return pair == NULL ? NULL : pair->value;
}

/* MPI_INFO_ENV is always empty, and is not changed. */
static struct ftc_mpi_info environment = {.object = {.kind = FTC_MPI_INFO}};

int ftc_mpi_info_open(MPI_Info handle, struct ftc_mpi_info **out)
{
    *out = handle == MPI_INFO_ENV ? &environment : ftc_mpi_info_of(handle);
    return *out != NULL ? MPI_SUCCESS : ftc_mpi_error(MPI_ERR_INFO, "this is no info object");
}

static int check_key(const char *key)
{
    size_t length = key == NULL ? 0 : strlen(key);
    if (length == 0 || length >= MPI_MAX_INFO_KEY)
        return ftc_mpi_error(MPI_ERR_INFO_KEY, "a key has 1 to %d bytes", MPI_MAX_INFO_KEY - 1);
    return MPI_SUCCESS;
}

static int give(struct ftc_mpi_info *info, MPI_Info *handle)
{
    if (info == NULL)
        return ftc_mpi_no_memory();
    *handle = (MPI_Info)info;
    return MPI_SUCCESS;
}

int ftc_mpi_info_create(MPI_Info *info)
{
    return give(ftc_mpi_info_copy(NULL), info);
}

int ftc_mpi_info_dup(struct ftc_mpi_info *info, MPI_Info *newinfo)
{
    ftc_mpi_lock();
    struct ftc_mpi_info *copy = ftc_mpi_info_copy(info);
    ftc_mpi_unlock();
    return give(copy, newinfo);
}

int ftc_mpi_info_free(MPI_Info *info)
{
    struct ftc_mpi_info *object = ftc_mpi_info_of(*info);
    if (object == NULL)
        return ftc_mpi_error(MPI_ERR_INFO, "this is no info object that can be freed");
    ftc_mpi_info_release(object);
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

int ftc_mpi_info_set(struct ftc_mpi_info *info, const char *key, const char *value)
{
    if (info == &environment)
        return ftc_mpi_error(MPI_ERR_INFO, "this is no info object that can be changed");
    int rc = check_key(key);
    if (rc != MPI_SUCCESS)
        return rc;
    if (value == NULL || strlen(value) >= MPI_MAX_INFO_VAL)
        return ftc_mpi_error(MPI_ERR_INFO_VALUE, "a value has at most %d bytes",
                             MPI_MAX_INFO_VAL - 1);
    ftc_mpi_lock();
    bool done = set(info, key, value);
    ftc_mpi_unlock();
    return done ? MPI_SUCCESS : ftc_mpi_no_memory();
}

int ftc_mpi_info_delete(struct ftc_mpi_info *info, const char *key)
{
    int rc = check_key(key);
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_lock();
    struct pair *pair = find(info, key);
    if (pair != NULL) {
        free(pair->key);
        free(pair->value);
        size_t behind = (size_t)(info->pairs + info->count - pair - 1);
        memmove(pair, pair + 1, behind * sizeof *pair);
        info->count--;
    }
    ftc_mpi_unlock();
    return pair != NULL ? MPI_SUCCESS
                        : ftc_mpi_error(MPI_ERR_INFO_NOKEY, "there is no key \"%s\"", key);
}

int ftc_mpi_info_keys(const struct ftc_mpi_info *info)
{
    return info->count;
}

int ftc_mpi_info_get_nthkey(struct ftc_mpi_info *info, int n, char *key)
{
    if (n < 0 || n >= info->count)
        return ftc_mpi_error(MPI_ERR_INFO_KEY, "there is no key %d; the object has %d", n,
                             info->count);
    snprintf(key, MPI_MAX_INFO_KEY, "%s", info->pairs[n].key);
    return MPI_SUCCESS;
}

/* buflen: the size of `value`, with the 0; afterwards the size that it needs. */
int ftc_mpi_info_get_string(struct ftc_mpi_info *info, const char *key, int *buflen, char *value,
                            int *flag)
{
    int rc = check_key(key);
    if (rc != MPI_SUCCESS)
        return rc;
    ftc_mpi_lock();
    const struct pair *pair = find(info, key);
    *flag = pair != NULL;
    if (pair != NULL && *buflen > 0)
        snprintf(value, (size_t)*buflen, "%s", pair->value);
    if (pair != NULL)
        *buflen = (int)strlen(pair->value) + 1;
    ftc_mpi_unlock();
    return MPI_SUCCESS;
}

/* valuelen: the size of `value` without the 0. */
int ftc_mpi_info_get(struct ftc_mpi_info *info, const char *key, int valuelen, char *value,
                     int *flag)
{
    if (valuelen < 0)
        return ftc_mpi_error(MPI_ERR_ARG, "a length of %d is negative", valuelen);
    int size = valuelen + 1;
    return ftc_mpi_info_get_string(info, key, &size, value, flag);
}

int ftc_mpi_info_get_valuelen(struct ftc_mpi_info *info, const char *key, int *valuelen, int *flag)
{
    int size = 0;
    int rc = ftc_mpi_info_get_string(info, key, &size, NULL, flag);
    if (rc == MPI_SUCCESS && *flag)
        *valuelen = size - 1;
    return rc;
}
