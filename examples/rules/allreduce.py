"""Allreduce of p ranks: the times of two algorithms, and the size at which MPICH switches."""

import dse

THAKUR = "Thakur, Rabenseifner and Gropp 2005, Optimization of collective communication in MPICH"

ranks = dse.quantity("ranks", domain="whole [2, inf)", meaning="ranks, a power of two")
size = dse.quantity("message", unit="B", domain="[1, inf)", meaning="bytes of a rank")
latency = dse.quantity("start_up", unit="s", domain="(0, inf)", meaning="time of an empty message")
speed = dse.quantity("link", unit="B/s", domain="(0, inf)", meaning="bandwidth of a link")
choice = dse.quantity(
    "halving", domain="whole [0, 1]", meaning="1: recursive halving, then doubling"
)


@dse.equation(source=f"{THAKUR}, section 4.5, without the time of the sums")
def allreduce_time(ranks, message, start_up, link, halving):
    """Time of recursive doubling, or of a reduce-scatter and an allgather. [s]"""
    steps = dse.log2(ranks)
    doubling = steps * (start_up + message / link)
    halved = 2 * steps * start_up + 2 * (1 - 1 / ranks) * message / link
    return dse.where(halving > 0, halved, doubling)


@dse.equation(source=f"{THAKUR}; MPICH, MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE = 2048")
def mpich_halving(message):
    """1 if the message is long. [0 or 1]"""
    return dse.where(message > 2048, 1, 0)
