#!/usr/bin/env bats
# Files and paths that the documents name must exist: files in links, paths of the tree in `code`, and
# functions and tests of papers.md. ROOT is the source tree.

setup() {
    cd "$ROOT" || return 1
}

# shellcheck disable=SC2016 # backquotes as they stand there
in_code() { # reads text, prints what it has in `code`
    grep -oE '`[^`]+`' | tr -d '`'
}

cited_paths() { # DOCUMENT
    in_code <"$1" | tr ' ' '\n' | sed 's/[,;:)]*$//' | sort -u |
        grep -E '^(base|bench|cli|collectives|config|detector|docs|include|launcher|man|node|runtime|scripts|sim|tests|transport)/[A-Za-z0-9_./-]+$' |
        grep -v NAME
}

@test "relative links lead to files" {
    local document target missing=0
    while read -r document; do
        while read -r target; do
            target=${target%%#*}
            [ -z "$target" ] || [ -e "$(dirname "$document")/$target" ] || {
                echo "$document: $target"
                missing=1
            }
        done < <(grep -oE '\]\([^)]+\)' "$document" | sed 's/^](//; s/)$//' | grep -vE '^(https?|mailto):')
    done < <(find . -name '*.md' -not -path './build*' -not -path './.git/*')
    [ "$missing" -eq 0 ]
}

@test "paths that contributing.md and papers.md name are in the tree" {
    local document path missing=0
    for document in docs/contributing.md docs/design/papers.md; do
        while read -r path; do
            [ -e "$path" ] || {
                echo "$document: $path"
                missing=1
            }
        done < <(cited_paths "$document")
    done
    [ "$missing" -eq 0 ]
}

# A row of papers.md names a test behind its file: `tests/room/test_it.c`, `what_it_tests`.
@test "functions and tests that papers.md names exist where it says" {
    local line word file missing=0
    while read -r line; do
        file=
        while read -r word; do
            case $word in
            */*.[ch]) file=$word ;;
            *' '* | *.* | MPI_*) ;; # a command, a setting, a file without functions, a name of a source
            *_*_*)
                grep -qw -- "${word%%(*}" "${file:-include/ftcoll.h}" || {
                    echo "docs/design/papers.md: $word is not in $file"
                    missing=1
                }
                ;;
            esac
        done < <(in_code <<<"$line")
    done < <(grep '^|' docs/design/papers.md)
    [ "$missing" -eq 0 ]
}

@test "labels and presets that contributing.md names exist" {
    local word
    for word in unit protocol integration system storm threads optimised soak cluster rdma; do
        grep -rqw -- "$word" tests --include=CMakeLists.txt
        grep -qF "\`$word\`" docs/contributing.md
    done
    for word in release asan tsan; do
        grep -q "\"name\": \"$word\"" CMakePresets.json
    done
}
