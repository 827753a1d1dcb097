"""Compiled simulations of launches, on independent slots and with warps that share a rate."""

from __future__ import annotations

from stochastic.arrays import Floats, Ints
from stochastic.compile_cache import compiled

_NEVER = 1e300  # time of an event that does not happen


@compiled
def simulate_schedules(durations: Ints, kind: Ints, heap: Ints, out: Ints) -> None:
    """Write the time, the start of the last block and the total work of each launch.

    ``durations`` (kinds, launches, blocks) are the durations of each block on each kind of slot, 0
    if the block has no work. ``kind`` (slots) is the kind of each slot, ascending; of slots that
    are free at the same time, the one with the lowest kind is taken.
    """
    kinds = durations.shape[0]
    for i in range(durations.shape[1]):
        for j in range(len(kind)):
            heap[j] = kind[j]
        end = start = total = 0
        for block in range(durations.shape[2]):
            which = heap[0] % kinds
            longest = durations[which, i, block]
            if longest == 0:
                continue
            start = heap[0] // kinds
            total += longest
            end = max(end, start + longest)
            key, at = (start + longest) * kinds + which, 0
            while True:
                child = 2 * at + 1
                if child >= len(heap):
                    break
                if child + 1 < len(heap) and heap[child + 1] < heap[child]:
                    child += 1
                if heap[child] >= key:
                    break
                heap[at] = heap[child]
                at = child
            heap[at] = key
        out[0, i], out[1, i], out[2, i] = end, start, total


@compiled
def simulate_shared_rate(
    lengths: Floats, full: float, slot_state: Ints, ends: Floats, clocks: Floats, out: Floats
) -> None:
    """Write the time of launches whose warps share the rate of their multiprocessor.

    ``lengths`` (launches, blocks, warps) is the work of each warp, ascending within a block. Each
    of n running warps has the rate min(1, full / n). The progress of a multiprocessor is the
    integral of this rate over the time since the start of the launch. Other arrays are scratch:

    - ``slot_state`` (2, multiprocessors, slots): the slot's block, and its number of ended warps.
    - ``ends`` (2, multiprocessors, slots): progress when the block began and its next warp ends.
    - ``clocks`` (4, multiprocessors): progress and time of the last event, number of running warps,
      and time of the next end of a warp.
    """
    blocks, warps = lengths.shape[1], lengths.shape[2]
    places, resident = ends.shape[1], ends.shape[2]
    for i in range(lengths.shape[0]):
        begun = 0
        for p in range(places):
            clocks[0, p] = clocks[1, p] = clocks[2, p] = 0.0
            clocks[3, p] = _NEVER
        for r in range(resident):  # the first blocks go to each multiprocessor in turn
            for p in range(places):
                ends[0, p, r], ends[1, p, r] = 0.0, _NEVER
                if begun < blocks:
                    slot_state[0, p, r], slot_state[1, p, r] = begun, 0
                    ends[1, p, r] = lengths[i, begun, 0]
                    clocks[2, p] += warps
                    begun += 1
        for p in range(places):
            for r in range(resident):
                clocks[3, p] = min(clocks[3, p], ends[1, p, r] * max(1.0, clocks[2, p] / full))
        time = 0.0
        while True:
            at = 0
            for p in range(1, places):
                if clocks[3, p] < clocks[3, at]:
                    at = p
            if clocks[3, at] >= _NEVER:
                break
            time = clocks[3, at]
            slot = 0
            for r in range(1, resident):
                if ends[1, at, r] < ends[1, at, slot]:
                    slot = r
            far = ends[1, at, slot]
            clocks[0, at], clocks[1, at] = far, time
            clocks[2, at] -= 1
            slot_state[1, at, slot] += 1
            if slot_state[1, at, slot] < warps:
                begin, block = ends[0, at, slot], slot_state[0, at, slot]
                ends[1, at, slot] = begin + lengths[i, block, slot_state[1, at, slot]]
            elif begun < blocks:
                slot_state[0, at, slot], slot_state[1, at, slot] = begun, 0
                ends[0, at, slot], ends[1, at, slot] = far, far + lengths[i, begun, 0]
                clocks[2, at] += warps
                begun += 1
            else:
                ends[1, at, slot] = _NEVER
            near = _NEVER
            for r in range(resident):
                near = min(near, ends[1, at, r])
            clocks[3, at] = _NEVER
            if near < _NEVER:
                clocks[3, at] = time + (near - far) * max(1.0, clocks[2, at] / full)
        out[i] = time
