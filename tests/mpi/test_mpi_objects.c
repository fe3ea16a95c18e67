/* Info objects, attributes, error codes and error handlers. */
#include <mpi.h>

#include "tests/mpi/alone.h"
#include "tests/suite.h"

#include <string.h>

START_TEST(info_keeps_the_order_of_its_keys)
{
    MPI_Info info, copy;
    int count, flag, length = 3;
    char key[MPI_MAX_INFO_KEY], value[16];
    MPI_Info_create(&info);
    MPI_Info_set(info, "one", "1");
    MPI_Info_set(info, "two", "22");
    MPI_Info_set(info, "three", "333");
    MPI_Info_set(info, "one", "first");
    MPI_Info_delete(info, "two");
    MPI_Info_dup(info, &copy);
    MPI_Info_free(&info);
    ck_assert_ptr_eq(info, MPI_INFO_NULL);
    MPI_Info_get_nkeys(copy, &count);
    ck_assert_int_eq(count, 2);
    MPI_Info_get_nthkey(copy, 1, key);
    ck_assert_str_eq(key, "three");
    MPI_Info_get(copy, "one", 15, value, &flag);
    ck_assert(flag);
    ck_assert_str_eq(value, "first");
    MPI_Info_get(copy, "one", 2, value, &flag);
    ck_assert_str_eq(value, "fi");
    MPI_Info_get_string(copy, "one", &length, value, &flag);
    ck_assert_str_eq(value, "fi");
    ck_assert_int_eq(length, 6);
    MPI_Info_get(copy, "two", 15, value, &flag);
    ck_assert(!flag);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    ck_assert_int_eq(MPI_Info_delete(copy, "two"), MPI_ERR_INFO_NOKEY);
    ck_assert_int_eq(MPI_Info_set(copy, "", "x"), MPI_ERR_INFO_KEY);
    MPI_Info_free(&copy);
}
END_TEST

static int deleted, copies;
static MPI_Comm deleted_from;

static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)keyval;
    (void)extra;
    deleted = deleted * 10 + *(int *)value;
    deleted_from = comm;
    return MPI_SUCCESS;
}

static int copy_even(MPI_Comm comm, int keyval, void *extra, void *value, void *copy, int *flag)
{
    (void)comm;
    (void)keyval;
    copies++;
    *flag = *(int *)value % 2 == 0;
    *(void **)copy = extra;
    return MPI_SUCCESS;
}

START_TEST(attributes_are_copied_and_deleted)
{
    int even, odd, one = 1, two = 2, seven = 7, flag, *value;
    MPI_Comm copy;
    MPI_Comm_create_keyval(copy_even, forget, &even, &seven);
    MPI_Comm_create_keyval(copy_even, forget, &odd, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, even, &two);
    MPI_Comm_set_attr(MPI_COMM_WORLD, odd, &one);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    ck_assert_int_eq(copies, 2);
    MPI_Comm_get_attr(copy, odd, &value, &flag);
    ck_assert(!flag);
    MPI_Comm_get_attr(copy, even, &value, &flag);
    ck_assert(flag && value == &seven);
    MPI_Comm same = copy;
    MPI_Comm_free(&copy);
    ck_assert_int_eq(deleted, 7);
    ck_assert_ptr_eq(deleted_from, same);
    int key = even;
    MPI_Comm_free_keyval(&even);
    ck_assert_int_eq(even, MPI_KEYVAL_INVALID);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag); /* values stay until they are deleted */
    ck_assert(flag && *value == 2);
    MPI_Comm_set_attr(MPI_COMM_WORLD, odd, &two);
    ck_assert_int_eq(deleted, 71);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, odd);
    ck_assert_int_eq(deleted, 7122);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    ck_assert_int_eq(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag), MPI_ERR_KEYVAL);
    MPI_Comm_free_keyval(&odd);
}
END_TEST

START_TEST(predefined_attributes)
{
    int *value, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    ck_assert(flag && *value >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
    ck_assert(flag && *value == 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    ck_assert_int_eq(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &flag), MPI_ERR_KEYVAL);
}
END_TEST

static int type_copy(MPI_Datatype type, int keyval, void *extra, void *value, void *copy, int *flag)
{
    (void)type;
    (void)keyval;
    (void)extra;
    (void)value;
    (void)copy;
    *flag = 0;
    return MPI_ERR_OTHER; /* the copy is refused */
}

START_TEST(a_datatype_whose_attribute_cannot_be_copied_is_not_copied)
{
    int key, flag;
    void *value;
    MPI_Datatype type, copy = MPI_DATATYPE_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_create_keyval(type_copy, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, key, &key);
    MPI_Type_get_attr(type, key, &value, &flag);
    ck_assert(flag && value == &key);
    ck_assert_int_eq(MPI_Type_dup(type, &copy), MPI_ERR_OTHER);
    ck_assert_ptr_eq(copy, MPI_DATATYPE_NULL);
    MPI_Type_free(&type);
    MPI_Type_free_keyval(&key);
}
END_TEST

START_TEST(classes_codes_and_strings)
{
    int class, code, found, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Error_string(MPI_ERR_TRUNCATE, text, &length);
    ck_assert_int_eq(length, (int)strlen(text));
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    ck_assert_int_gt(class, MPI_ERR_LASTCODE);
    MPI_Add_error_string(code, "the pump stands still");
    MPI_Error_class(code, &found);
    ck_assert_int_eq(found, class);
    MPI_Error_string(code, text, &length);
    ck_assert_str_eq(text, "the pump stands still");
    MPI_Error_string(class, text, &length);
    ck_assert_str_eq(text, "");
    int *last, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    ck_assert_int_eq(*last, code);
    MPI_Remove_error_string(code);
    MPI_Remove_error_code(code);
    ck_assert_int_eq(MPI_Error_class(code, &found), MPI_ERR_ARG);
    MPI_Remove_error_class(class);
    ck_assert_int_eq(MPI_Add_error_string(MPI_ERR_COUNT, "no"), MPI_ERR_ARG);
    for (int c = 0; c <= MPI_ERR_ABI; c++)
        ck_assert_int_eq(MPI_Error_string(c, text, &length), MPI_SUCCESS);
}
END_TEST

static int handled;
static MPI_Comm handled_on;

static void handle(MPI_Comm *comm, int *code, ...)
{
    handled = *code;
    handled_on = *comm;
}

START_TEST(error_handlers)
{
    MPI_Errhandler handler, found;
    MPI_Comm copy, child;
    int rank;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, handler);
    MPI_Comm_get_errhandler(copy, &found);
    ck_assert_ptr_eq(found, handler);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler); /* copy still has it */
    ck_assert_ptr_eq(handler, MPI_ERRHANDLER_NULL);
    ck_assert_int_eq(MPI_Bcast(&rank, 1, MPI_INT, 5, copy), MPI_ERR_ROOT);
    ck_assert_int_eq(handled, MPI_ERR_ROOT);
    ck_assert_ptr_eq(handled_on, copy);
    MPI_Comm_dup(copy, &child); /* a child has the handler of its parent */
    ck_assert_int_eq(MPI_Allreduce(&rank, &rank, 1, MPI_FLOAT, MPI_BAND, child), MPI_ERR_OP);
    ck_assert_ptr_eq(handled_on, child);
    MPI_Comm_call_errhandler(child, MPI_ERR_OTHER);
    ck_assert_int_eq(handled, MPI_ERR_OTHER);
    MPI_Comm_free(&child);
    MPI_Comm_free(&copy);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    ck_assert_int_eq(MPI_Comm_rank(MPI_COMM_NULL, &rank), MPI_ERR_COMM);
    ck_assert_int_eq(MPI_Comm_rank((MPI_Comm)0x777, &rank), MPI_ERR_COMM);
    ck_assert_int_eq(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_UNSUPPORTED_OPERATION);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mpi_objects");
    TCase *tc = tcase_create("objects");
    tcase_add_checked_fixture(tc, start_mpi, stop_mpi);
    tcase_add_test(tc, info_keeps_the_order_of_its_keys);
    tcase_add_test(tc, attributes_are_copied_and_deleted);
    tcase_add_test(tc, predefined_attributes);
    tcase_add_test(tc, a_datatype_whose_attribute_cannot_be_copied_is_not_copied);
    tcase_add_test(tc, classes_codes_and_strings);
    tcase_add_test(tc, error_handlers);
    suite_add_tcase(suite, tc);
    return test_suite_run(suite);
}
