"""Moves in the transit figure (Li 2015, Figs. 11-17, and Fig. 10 with too few threads).

Thin curves show the state after the move; the arrow points to where the machine then settles. More
intensity does not help if the lanes are full. A balanced machine needs several moves. More lanes do
not help if there are too few threads.
"""

from dse import plots
from dse.plots.axes import new_figure

MOVES = [(450, 200, "threads"), (450, 200, "intensity"), (900, 150, "intensity")]
MOVES += [(900, 150, "ms_peak"), (900, 400, "lanes_width"), (900, 400, "intensity")]
MOVES += [(900, 200, "lanes_width + ms_peak"), (450, 200, "lanes_width")]

figure = new_figure(13, 18)
for ax, (threads, intensity, move) in zip(figure.subplots(4, 2).flat, MOVES, strict=True):
    point = {"lanes_width": 200, "ms_peak": 1, "mem_latency": 400}
    plots.transit(threads=threads, intensity=intensity, move=move, ax=ax, **point)
figure.savefig("transit_advice.png")
