# circles.awk EXCEPTIONS SYMBOLS: files that call each other. SYMBOLS is what `nm -A -P` says of
# object files. File A uses file B where B defines an external name that A needs. A strongly
# connected component of more than one file is a circle; Tarjan's algorithm finds it. Prints a line
# for each circle with a file outside of the excepted folders, and for each needless exception.

# "/build/transport/CMakeFiles/ftc_tcp.dir/./tcp/loop.c.o:" is made of transport/tcp/loop.c.
function source_of(object,    parts, room) {
    split(object, parts, "/CMakeFiles/[^/]*/")
    room = parts[1]
    sub(/.*\//, "", room)
    sub(/\.o:$/, "", parts[2])
    sub(/^\.\//, "", parts[2])
    return room "/" parts[2]
}

function folder_of(file) {
    sub(/\/[^\/]*$/, "", file)
    return file
}

function use(from, to, name) {
    if (!((from, to) in names)) {
        arrow[from, ++arrows[from]] = to
        names[from, to] = name
    } else if (++more[from, to] < 3) {
        names[from, to] = names[from, to] " and " name
    }
}

function visit(file,    i, to) {
    index_of[file] = lowest[file] = ++visited
    stack[++depth] = file
    for (i = 1; i <= arrows[file]; i++) {
        to = arrow[file, i]
        if (!(to in index_of))
            visit(to)
        if (!(to in circle_of) && lowest[to] < lowest[file])
            lowest[file] = lowest[to]
    }
    if (lowest[file] == index_of[file])
        take_component(file)
}

# The component of `root` is what lies on the stack above it, and `root` itself.
function take_component(root,    file) {
    do {
        file = stack[depth--]
        circle_of[file] = root
        members[root] = file " " members[root]
        size[root]++
        if (!(folder_of(file) in excepted))
            reported[root] = 1
    } while (file != root)
    sub(/ $/, "", members[root])
    if (size[root] > 1)
        roots[++circles] = root
}

function mark_folders(root,    i, files, count) {
    count = split(members[root], files, " ")
    for (i = 1; i <= count; i++)
        has_circle[folder_of(files[i])] = 1
}

function report(root) {
    print root ": " size[root] " files call each other in a circle (" members[root] "): " \
        shortest_way(root) ": move a function to the file where it belongs, or what both files need " \
        "to a lower one, or hand the function of the upper file down as a handler"
}

# The shortest way from `start` back to itself, as text. Breadth first, within its component.
function way_round(start,    queue, first, last, from, i, to, way, seen) {
    queue[last = 1] = start
    for (first = 1; first <= last; first++) {
        from = queue[first]
        for (i = 1; i <= arrows[from]; i++) {
            to = arrow[from, i]
            if (to == start)
                return way[from] step(from, to)
            if (circle_of[to] == circle_of[start] && !(to in seen)) {
                seen[to] = 1
                way[to] = way[from] step(from, to)
                queue[++last] = to
            }
        }
    }
}

function step(from, to) {
    return "; " from " uses " names[from, to] " of " to
}

# The circle that has the fewest steps.
function shortest_way(root,    i, files, count, way, steps, least, shortest) {
    count = split(members[root], files, " ")
    for (i = 1; i <= count; i++) {
        way = way_round(files[i])
        steps = gsub(/;/, ";", way)
        if (i == 1 || steps < least) {
            least = steps
            shortest = way
        }
    }
    return substr(shortest, 3)
}

FILENAME == ARGV[1] {
    if ($0 !~ /^#/)
        excepted[$1] = 1
    next
}
!($1 in source) { source[$1] = file[++files] = source_of($1) }
$3 ~ /^[TDBRCVW]$/ { definer[$2] = source[$1] }
$3 == "U" { needed[++needs] = $2; needer[needs] = source[$1] }

END {
    for (i = 1; i <= needs; i++)
        if (needed[i] in definer && definer[needed[i]] != needer[i])
            use(needer[i], definer[needed[i]], needed[i])
    for (i = 1; i <= files; i++)
        if (!(file[i] in index_of))
            visit(file[i])
    for (i = 1; i <= circles; i++) {
        mark_folders(roots[i])
        if (roots[i] in reported)
            report(roots[i])
    }
    for (folder in excepted)
        if (!(folder in has_circle))
            print "tests/structure/circles: " folder " has no circle any more: remove its line"
}
