# Do two pictures of gnuplot (SVG) show the same curves? Versions of gnuplot differ in margins and
# fonts. So each picture is scaled to the box around its curves. Then no point of a curve may lie
# farther than `slack` from the same curve of the other picture. The exit code is 1 if one does.
BEGIN {
    slack = 0.005 # part of the box; tables are rounded to 4 digits
    picture = -1
}
FNR == 1 {
    picture++
    curve = inside = 0
}

# Each curve is a group of its own: "gnuplot_plot_1", in a multiplot "gnuplot_plot_1a".
/<g id="gnuplot_plot_/ {
    curve = ++curves[picture]
    drawn = 0
}

# The border and the next panel follow the last curve.
/class="gridline"/ || /<path stroke='rgb\( 96/ { curve = 0 }

curve && / d='M/ { inside = 1 }
curve && /points = '/ { inside = 1 }
inside {
    add_points($0)
    if (/'\/>/) {
        inside = 0
        drawn = 0
    }
}

# A word with a comma is a point. M begins a line.
function add_points(text,    words, count, i, word, xy) {
    sub(/^.* d='/, "", text)
    sub(/^.*points = '/, "", text)
    sub(/'.*$/, "", text)
    count = split(text, words, /[ \t]+/)
    for (i = 1; i <= count; i++) {
        word = words[i]
        if (word !~ /,/) continue
        if (word ~ /^M/) drawn = 0
        sub(/^[ML]/, "", word)
        split(word, xy, ",")
        add_point(xy[1] + 0, xy[2] + 0)
    }
}

function add_point(px, py,    n) {
    n = ++points[picture, curve]
    x[picture, curve, n] = px
    y[picture, curve, n] = py
    joined[picture, curve, n] = drawn # is there a line from the point before?
    drawn = 1
}

# The first line of a curve may be its sample in the key: a level line of two points. Its place
# depends on the font, so it is dropped.
function drop_sample(p, c,    n, i) {
    n = points[p, c]
    if (n < 3 || joined[p, c, 3] || y[p, c, 1] != y[p, c, 2]) return
    for (i = 3; i <= n; i++) {
        x[p, c, i - 2] = x[p, c, i]
        y[p, c, i - 2] = y[p, c, i]
        joined[p, c, i - 2] = joined[p, c, i]
    }
    points[p, c] = n - 2
}

function scale(p,    c, i, left, right, top, bottom, first) {
    first = 1
    for (c = 1; c <= curves[p]; c++)
        for (i = 1; i <= points[p, c]; i++) {
            if (first || x[p, c, i] < left) left = x[p, c, i]
            if (first || x[p, c, i] > right) right = x[p, c, i]
            if (first || y[p, c, i] < top) top = y[p, c, i]
            if (first || y[p, c, i] > bottom) bottom = y[p, c, i]
            first = 0
        }
    for (c = 1; c <= curves[p]; c++)
        for (i = 1; i <= points[p, c]; i++) {
            x[p, c, i] = (x[p, c, i] - left) / (right > left ? right - left : 1)
            y[p, c, i] = (y[p, c, i] - top) / (bottom > top ? bottom - top : 1)
        }
}

# The square of the distance of a point from the part of a curve between its points i - 1 and i.
function distance(px, py, p, c, i,    ax, ay, dx, dy, size, t) {
    ax = x[p, c, i]; ay = y[p, c, i]
    dx = joined[p, c, i] ? x[p, c, i - 1] - ax : 0
    dy = joined[p, c, i] ? y[p, c, i - 1] - ay : 0
    size = dx * dx + dy * dy
    t = size > 0 ? ((px - ax) * dx + (py - ay) * dy) / size : 0
    t = t < 0 ? 0 : t > 1 ? 1 : t
    return (px - ax - t * dx) ^ 2 + (py - ay - t * dy) ^ 2
}

function is_near(px, py, p, c,    i) {
    for (i = 1; i <= points[p, c]; i++)
        if (distance(px, py, p, c, i) <= slack * slack) return 1
    return 0
}

function complain(text) {
    print "figures: " text >"/dev/stderr"
    bad = 1
}

function compare(a, b,    c, i) {
    for (c = 1; c <= curves[a] && !bad; c++)
        for (i = 1; i <= points[a, c] && !bad; i++)
            if (!is_near(x[a, c, i], y[a, c, i], b, c))
                complain(sprintf("curve %d of %d has a point in one picture that it misses in the other", c, curves[a]))
}

END {
    for (p = 0; p < 2; p++) {
        for (c = 1; c <= curves[p]; c++) {
            drop_sample(p, c)
            all[p] += points[p, c]
        }
        scale(p)
    }
    if (picture != 1 || curves[0] == 0 || all[0] == 0) complain("there is no curve")
    else if (curves[0] != curves[1]) complain("one picture has " curves[0] " curves, the other one " curves[1])
    compare(0, 1)
    compare(1, 0)
    exit bad
}
