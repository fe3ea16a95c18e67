#!/usr/bin/env bats
# Files and paths that the documents name must exist: files in links, and paths of the tree in
# `code`. ROOT is the source tree.

setup() {
    cd "$ROOT" || return 1
}

# shellcheck disable=SC2016 # backquotes as they stand there
cited_paths() {
    grep -oE '`[^`]+`' docs/contributing.md | tr -d '`' | tr ' ' '\n' | sed 's/[,;:)]*$//' |
        grep -E '^(base|bench|cli|collectives|config|detector|docs|include|launcher|man|node|runtime|scripts|sim|tests|transport)/[A-Za-z0-9_./-]+$' |
        grep -v NAME | sort -u
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

@test "paths that contributing.md names are in the tree" {
    local path missing=0
    while read -r path; do
        [ -e "$path" ] || {
            echo "docs/contributing.md: $path"
            missing=1
        }
    done < <(cited_paths)
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
