# Draw how long notices take to reach thousands of nodes, and what they cost the busiest agent:
#     gnuplot -e "csv='notices.csv'; agreement='latency.csv'" notices.gnuplot > notices.svg
# Beside it: agreement in the same cost model, and the one that Buntinas measured on 4,096 cores.
set terminal svg size 960,400 dynamic font 'Helvetica,13' background rgb 'white'
set linetype 1 lc rgb '#0072B2'
set linetype 2 lc rgb '#D55E00'
set linetype 3 lc rgb '#009E73'
set border 3 lc rgb '#606060'
set grid xtics ytics lc rgb '#e4e4e4' lt 1 lw 1
set tics nomirror
set datafile separator ','
set key left top Left reverse samplen 2
set datafile missing NaN
set lmargin 11
set logscale xy
set format x '%.0f'
set xtics (2, 8, 32, 128, 512, 2048, 16384)
set xlabel 'nodes'
set xrange [2:16384]
set multiplot layout 1,2
set ylabel 'until all nodes have the notice'
set format y '%.0s %cs'
$published << EOD
4096,305e-6
EOD
plot csv using 1:($2 == 0 ? $4 / 1e9 : NaN) every ::1 with linespoints lt 1 lw 2 pt 7 ps 0.4 \
         title 'tree with correction', \
     csv using 1:($2 > 0 ? $4 / 1e9 : NaN) every ::1 with points lt 3 pt 2 ps 0.8 \
         title '1 % of the nodes dead, unseen', \
     csv using 1:($2 == 0 ? $5 / 1e9 : NaN) every ::1 with lines lt 2 lw 2 dt 2 \
         title 'flat tree', \
     agreement using (strcol(1) eq 'allreduce' && strcol(2) eq 'tcp' && $4 == 1 && $5 == 0 \
         ? $3 : NaN):($7 / 1e9) every ::1 with lines lc rgb '#606060' lw 1 \
         title 'agreement (allreduce, f = 1)', \
     $published using 1:2 with points pt 5 lc rgb '#606060' title 'Buntinas: consensus'
set key left top
set ylabel 'messages of the busiest agent'
set format y '%.0f'
plot csv using 1:($2 == 0 ? $6 : NaN) every ::1 with linespoints lt 1 lw 2 pt 7 ps 0.4 \
         title 'tree with correction', \
     csv using 1:($2 == 0 ? $7 : NaN) every ::1 with lines lt 3 lw 1 title '4 log2(n)', \
     csv using 1:($2 == 0 ? $8 : NaN) every ::1 with lines lt 2 lw 2 dt 2 title 'flat tree'
unset multiplot
