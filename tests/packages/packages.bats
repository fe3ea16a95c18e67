#!/usr/bin/env bats
# The packages that `cmake --workflow --preset package` makes satisfy Debian's policy. They are left
# in $PACKAGES for fresh-root.

setup_file() {
    local tool
    for tool in lintian dpkg-deb dpkg-shlibdeps file; do
        command -v "$tool" >/dev/null || { echo "no $tool: run scripts/install-dependencies package" >&2; return 1; }
    done
    export SOURCE_DATE_EPOCH=1700000000 # the packages are then the same whenever they are made
    mkdir -p "$PACKAGES"
    (cd "$SOURCE" && cmake --preset package -B "$PACKAGES" >/dev/null)
    cmake --build "$PACKAGES" >"$BATS_FILE_TMPDIR/log" || { tail -n 40 "$BATS_FILE_TMPDIR/log"; return 1; }
    pack
}

pack() { # runs with a umask that must not show in the packages
    rm -f "$PACKAGES"/*.deb
    (umask 077 && cd "$PACKAGES" && cpack -G DEB) >"$BATS_FILE_TMPDIR/log" 2>&1 || { tail -n 40 "$BATS_FILE_TMPDIR/log"; return 1; }
}

package() { # NAME: its file
    echo "$PACKAGES/$1"_*.deb
}

contents() { # NAME: mode and path of each file
    dpkg-deb --contents "$(package "$1")" | awk '{ print $1, $6 }'
}

field() { # NAME FIELD
    dpkg-deb --field "$(package "$1")" "$2"
}

@test "there are four packages" {
    local name found=("$PACKAGES"/*.deb)
    [ "${#found[@]}" -eq 4 ]
    for name in "libftcoll${VERSION%%.*}" ftcoll libftcoll-dev ftcoll-doc; do
        [ "$(field "$name" Package)" = "$name" ]
    done
}

@test "lintian has no error and no warning" {
    run lintian --allow-root --fail-on error,warning "$PACKAGES"/*.deb
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "everything is where its package says" {
    local library="libftcoll${VERSION%%.*}"
    [[ $(contents "$library") == *"-rw-r--r-- ./usr/lib/"*"/libftcoll.so.$VERSION"* ]]
    [[ $(contents ftcoll) == *"-rwxr-xr-x ./usr/bin/ftrun"* ]]
    [[ $(contents ftcoll) == *"./usr/share/bash-completion/completions/ftcoll-status"* ]]
    [[ $(contents ftcoll) == *"./usr/share/man/man5/ftcoll.ini.5.gz"* ]]
    [[ $(contents libftcoll-dev) == *"./usr/include/ftcoll.h"*"/cmake/ftcoll/"*"/pkgconfig/ftcoll.pc"*"man3/ftc_reduce.3.gz"* ]]
    [[ $(contents libftcoll-dev) == *"/libftcoll.so"$'\n'* ]]
    [[ $(contents libftcoll-dev) == *"-rwxr-xr-x ./usr/bin/ftcc"*"man1/ftc++.1.gz"*"man1/ftcc.1.gz"* ]]
    [[ $(contents ftcoll-doc) == *"./usr/share/doc/ftcoll/docs/design/agreement.md"*"examples/wordcount.c"* ]]
}

@test "they depend on what they need, and recommend what they look for" {
    local library="libftcoll${VERSION%%.*}" name
    for name in "$library" ftcoll; do
        [[ $(field "$name" Depends) =~ libc6.*libpmix2 ]]
    done
    for name in ftcoll libftcoll-dev; do
        [[ $(field "$name" Depends) == *"$library (= $(field "$library" Version))"* ]]
    done
    [[ $(field "$library" Recommends) == *libibverbs1*librdmacm1* ]]
    [[ $(field ftcoll Recommends) == *"elfutils | gdb"* ]]
}

@test "binaries are hardened, and name no folder of who built them" {
    local file
    for name in ftcoll "libftcoll${VERSION%%.*}"; do
        dpkg-deb --extract "$(package "$name")" "$BATS_TEST_TMPDIR"
    done
    for file in "$BATS_TEST_TMPDIR"/usr/bin/* "$BATS_TEST_TMPDIR"/usr/lib/*/libftcoll.so."$VERSION"; do
        echo "$file"
        [[ $(readelf -d "$file") =~ BIND_NOW ]]
        [[ ! $(readelf -d "$file") =~ RPATH|RUNPATH ]]
        [[ $(readelf -lW "$file") =~ GNU_RELRO ]]
        [[ $(readelf -h "$file") =~ DYN ]] # loads at any address
        [[ $(nm -D "$file") =~ __stack_chk_fail ]]
        [[ $(nm -D "$file") =~ _chk@GLIBC ]] # fortified
        [[ $(file "$file") =~ ", stripped" ]]
        run grep -c "$SOURCE" "$file"
        [ "$output" = 0 ]
    done
}

@test "the same sources make the same packages" {
    sha256sum "$PACKAGES"/*.deb >"$BATS_TEST_TMPDIR/first"
    sleep 1.1 # file times in packages have whole seconds
    pack
    sha256sum --check "$BATS_TEST_TMPDIR/first"
}

@test "any other build is refused" {
    cd "$BATS_TEST_TMPDIR"
    run cpack -G DEB --config "$BUILD/CPackConfig.cmake"
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *"This build is not for packages"* ]]
    [ -z "$(ls ./*.deb 2>/dev/null)" ]
}
