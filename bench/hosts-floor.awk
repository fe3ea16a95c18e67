# Make the tables of bench/hosts-floor from its single figures (CSV), with peers/cells.awk before it;
# -v format=text or markdown.

BEGIN { FS = "," }

NR == 1 || $8 !~ /^[0-9]/ { next }

{
    operation = $4
    sub("/.*", "", operation)
    point = operation SUBSEP $5 SUBSEP $6
    if (!(point in seen))
        points[++point_count] = point
    seen[point]
    rounds = $1 > rounds ? $1 : rounds
}

# The best exchange of a round counts, and that with the best median is named.
$2 == "floor" {
    way = substr($4, length(operation) + 2)
    times[point, way] = times[point, way] " " $8
    if (!((point, way) in known)) {
        known[point, way]
        ways[point] = ways[point] " " way
    }
    if (!((point, $1) in floor) || $8 + 0 < floor[point, $1])
        floor[point, $1] = $8 + 0
    next
}

!(($2, point, $1) in value) || $8 + 0 < value[$2, point, $1] {
    value[$2, point, $1] = $8 + 0
    openmpi = openmpi || $2 == "openmpi"
}

END {
    title("operations between hosts, us; ratio: ftcoll / floor")
    header("np|bytes|operation|exchange|floor|ftcoll|ratio|range" (openmpi ? "|Open MPI|Open MPI / floor" : ""))
    for (i = 1; i <= point_count; i++)
        operation_row(points[i])
    title("each exchange, us")
    header("np|bytes|operation|us")
    for (i = 1; i <= point_count; i++)
        exchange_row(points[i])
}

function median_of(text,    list) {
    return median(list, split_numbers(text, list))
}

function split_numbers(text, list,    count, i) {
    count = split(text, list, " ")
    for (i = 1; i <= count; i++)
        list[i] += 0
    return count
}

function best_way(point,    list, count, i, best, time, lowest) {
    count = split(ways[point], list, " ")
    for (i = 1; i <= count; i++) {
        time = median_of(times[point, list[i]])
        if (best == "" || time < lowest) {
            best = list[i]
            lowest = time
        }
    }
    return best == "" ? "-" : best
}

# The median over the rounds of the floor, or of a library.
function time_of(library, point,    round, list, count) {
    for (round = 1; round <= rounds; round++)
        if (library == "floor" && (point, round) in floor)
            list[++count] = floor[point, round]
        else if ((library, point, round) in value)
            list[++count] = value[library, point, round]
    return count ? number(median(list, count)) : "-"
}

function set_ratio(cells, at, library, point,    round, list, count) {
    for (round = 1; round <= rounds; round++)
        if ((library, point, round) in value && (point, round) in floor)
            list[++count] = value[library, point, round] / floor[point, round]
    cells[at] = count ? sprintf("%.2f", median(list, count)) : "-"
    cells[at + 1] = count ? sprintf("%.2f..%.2f", list[1], list[count]) : "-"
}

function operation_row(point,    part, cells) {
    split(point, part, SUBSEP)
    cells[1] = part[2]
    cells[2] = size_text(part[3])
    cells[3] = part[1]
    cells[4] = best_way(point)
    cells[5] = time_of("floor", point)
    cells[6] = time_of("ftcoll", point)
    set_ratio(cells, 7, "ftcoll", point)
    cells[9] = time_of("openmpi", point)
    set_ratio(cells, 10, "openmpi", point)
    row(cells, openmpi ? 10 : 8)
}

function exchange_row(point,    part, cells, list, count, i, text) {
    split(point, part, SUBSEP)
    cells[1] = part[2]
    cells[2] = size_text(part[3])
    cells[3] = part[1]
    count = split(ways[point], list, " ")
    for (i = 1; i <= count; i++)
        text = text (i > 1 ? ", " : format == "markdown" ? "" : "  ") list[i] " " number(median_of(times[point, list[i]]))
    cells[4] = text
    row(cells, 4)
}
