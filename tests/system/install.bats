#!/usr/bin/env bats
# An installed ftcoll builds and runs a program that knows nothing of the source tree.

setup_file() {
    export PREFIX=$BATS_FILE_TMPDIR/prefix
    cmake --install "$BUILD" --prefix "$PREFIX" >/dev/null
    export LD_LIBRARY_PATH=$PREFIX/$LIBDIR PKG_CONFIG_PATH=$PREFIX/$LIBDIR/pkgconfig
}

@test "pkg-config" {
    cp "$SOURCE/examples/allreduce_loop.c" "$BATS_TEST_TMPDIR/app.c"
    cd "$BATS_TEST_TMPDIR"
    # shellcheck disable=SC2046,SC2086 # flags
    cc app.c -o app $(pkg-config --cflags --libs ftcoll) $CFLAGS
    run timeout -s KILL 30 "$PREFIX/bin/ftrun" -np 2 ./app 10
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"the sum of 2 ranks is 1, 0 failed"* ]]
}

@test "the program of the README survives a kill" {
    cd "$BATS_TEST_TMPDIR"
    # shellcheck disable=SC2016 # marks of Markdown
    sed -n '/^```c$/,/^```$/{/^```/d;p}' "$SOURCE/README.md" >app.c
    # shellcheck disable=SC2046,SC2086 # flags
    cc -Wall -Wextra -Werror app.c -o app $(pkg-config --cflags --libs ftcoll) $CFLAGS
    run timeout -s KILL 60 "$PREFIX/bin/ftrun" -np 8 -f 2 --kill 3@0.5 ./app
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c "the sum is 7, 1 failed" <<<"$output")" -eq 7 ]
}

@test "ranks of another launcher start the ftrun that was installed with the library" {
    cd "$BATS_TEST_TMPDIR"
    printf '#!/bin/sh\nexit 1\n' >ftrun && chmod +x ftrun # not this one of $PATH
    cp "$SOURCE/examples/allreduce_loop.c" app.c
    # shellcheck disable=SC2046,SC2086 # flags
    cc app.c -o app $(pkg-config --cflags --libs ftcoll) $CFLAGS
    unset FTCOLL_FTRUN SLURM_JOB_ID SLURM_STEP_ID
    PATH=$PWD:$PATH run timeout -s KILL 60 "$PMIX_LAUNCHER" 1 2 ./app 10
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"the sum of 2 ranks is 1, 0 failed"* ]]
}

@test "find_package" {
    cp "$SOURCE/examples/allreduce_loop.c" "$BATS_TEST_TMPDIR/app.c"
    cd "$BATS_TEST_TMPDIR"
    cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(app C)
find_package(ftcoll 0.1 REQUIRED)
add_executable(app app.c)
target_link_libraries(app PRIVATE ftcoll::ftcoll)
END
    cmake -S . -B build -DCMAKE_PREFIX_PATH="$PREFIX" -DCMAKE_C_FLAGS="$CFLAGS" >/dev/null
    cmake --build build >/dev/null
    run timeout -s KILL 30 "$PREFIX/bin/ftrun" -np 2 build/app 10
    [ "$status" -eq 0 ]
}

@test "the manual and the completion are found" {
    [ -e "$BUILD/man/share/man7/ftcoll.7" ] || skip "built without scdoc"
    [[ $(man -M "$PREFIX/share/man" ftc_reduce) == *"combine the inputs of all ranks"* ]]
    local program
    for program in ftrun ftcoll-status ftcoll-perf ftcoll-sim; do
        bash -c '. "$1" && complete -p "$2"' bash "$PREFIX/share/bash-completion/completions/$program" "$program"
    done
}
