#!/usr/bin/env bats
# A user who copies an example, or includes ftcoll.h, gets no warning. The tests also run pi.cpp.
# FTRUN, SOURCE, LIBRARY (a folder) and CFLAGS come from ctest.
# shellcheck disable=SC2086,SC2153,SC2154 # flags; of ctest and the helper

# shellcheck source-path=SCRIPTDIR source=kills.bash
source "$BATS_TEST_DIRNAME/kills.bash"

warnings="-Wall -Wextra -Werror"
pedantic="$warnings -Wpedantic -Wshadow -Wconversion"

setup() {
    seed_kills
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "every example in C compiles by itself, without a warning" {
    for source in "$SOURCE"/examples/*.c; do
        echo "$source"
        cc -std=gnu11 -O2 $warnings -I "$SOURCE/include" "$source" -o example $CFLAGS -L "$LIBRARY" -lftcoll -lm
    done
}

# Prints a program that uses every macro.
use_header() {
    cat >"$1" <<'END_SOURCE'
#include <ftcoll.h>
int main(void)
{
    ftc_op all[] = {FTC_SUM, FTC_PROD, FTC_MIN, FTC_MAX, FTC_LAND, FTC_LOR, FTC_BAND, FTC_BOR, FTC_BXOR, FTC_MINLOC, FTC_MAXLOC, FTC_AVG};
    return ftc_allreduce(FTC_IN_PLACE, all, 0, FTC_INT8, all[0], 0) == FTC_ERR_ARG ? FTC_SUCCESS : FTC_EXIT_FENCED;
}
END_SOURCE
}

@test "ftcoll.h is C11 and later without a warning" {
    use_header use.c
    for standard in c11 c17 c2x; do
        cc -std=$standard $pedantic -I "$SOURCE/include" -fsyntax-only use.c
    done
}

@test "ftcoll.h and pi.cpp are C++11 and later without a warning" {
    use_header use.cpp
    for compiler in c++ clang++; do
        command -v "$compiler" || continue
        for standard in c++11 c++14 c++17 c++20 c++2b; do
            echo "$compiler $standard"
            "$compiler" -std=$standard $pedantic -Wold-style-cast -I "$SOURCE/include" -fsyntax-only use.cpp
            "$compiler" -std=$standard $pedantic -Wold-style-cast -I "$SOURCE/include" -fsyntax-only "$SOURCE/examples/pi.cpp"
        done
    done
}

@test "pi: a rank that throws is a failed rank, and so are those that are killed" {
    command -v c++ || skip "no C++ compiler"
    for standard in c++11 c++17; do # the standards ask in two ways whether an exception is under way
        c++ -std=$standard -O2 $warnings -I "$SOURCE/include" "$SOURCE/examples/pi.cpp" -o pi $CFLAGS \
            -L "$LIBRARY" -lftcoll -Wl,-rpath,"$LIBRARY"
        launch -np 4 ./pi 100 1
        [ "$status" -eq 0 ]
        [ "$(sed -n 's/^rank [0-9]*: //p' <<<"$output" | sort -u)" = "$(sed -n 's/^rank 0: //p' <<<"$output")" ]
        [[ $output == *"pi is about 3.1"*" by 400000 darts, 0 failed"* ]]
        launch -np 8 -f 2 --kill $((RANDOM % 4))@0.1 --kill $((4 + RANDOM % 3))@0.2 ./pi 300 2 7
        [ "$status" -eq 0 ]
        [[ $output == *"pi: an exception of the program's own"* ]]
        [[ $output == *"rank 7 failed: exited with code 1"* ]]
        [ "$(grep -c '^rank .*: pi is about 3\.1.* darts, 3 failed$' <<<"$output")" -eq 5 ]
        [ "$(sed -n 's/^rank [0-9]*: //p' <<<"$output" | sort -u | wc -l)" -eq 1 ]
    done
}
