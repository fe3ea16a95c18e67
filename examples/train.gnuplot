# Draw the loss of each step of a training, and which rank died when:
#     gnuplot -e "csv='loss.csv'" train.gnuplot > loss.svg
set terminal svg size 720,420 dynamic font 'Helvetica,13' background rgb 'white'
set linetype 1 lc rgb '#0072B2'
set linetype 2 lc rgb '#D55E00'
set border 3 lc rgb '#606060'
set grid xtics ytics lc rgb '#e4e4e4' lt 1 lw 1
set tics nomirror
set datafile separator ','
set key off
set xlabel 'step'
set ylabel 'loss, mean over the points of living ranks'
set logscale y
set autoscale xfix
# Where a rank died, a vertical line from the axis crosses the curve at the first step without it.
stats csv using 2 every ::1 nooutput
top = 1.2 * STATS_max
set yrange [0.8 * STATS_min : top]
plot csv using 1:(strlen(strcol(5)) > 0 ? top : NaN) every ::1 with impulses lt 2 dt 2, \
     csv using 1:(strlen(strcol(5)) > 0 ? top : NaN):(sprintf('rank %s dies', strcol(5))) every ::1 \
         with labels left offset 0.5,-0.5 tc lt 2, \
     csv using 1:2 every ::1 with lines lt 1 lw 2
