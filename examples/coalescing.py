"""Transactions of a warp's request, by compute capability (Hong 2012, section 2.1.3 and Fig. 3).

If the threads access consecutive numbers from a multiple of 64 bytes on, every GPU makes one
transaction. Otherwise, compute capability 1.0 and 1.1 make a transaction for each thread. Later
ones make a transaction for each segment of 128 bytes that the threads touch.

    dse.evaluate("examples/coalescing.py", compute_version=[1.1, 1.3], first_byte=4,
                 thread_distance_bytes=4, bytes_per_thread=4)  # 32 and 2
"""

import dse

OUTPUTS = ("transactions_per_uncoalesced",)
FIRST_RELAXED = 1.2  #: first compute capability that makes a transaction per segment

compute_version = dse.quantity("compute_version", domain="[1, inf)", meaning="compute capability")
first_byte = dse.quantity(
    "first_byte", unit="B", domain="whole [0, inf)", default=0, meaning="address of thread 0"
)
segment_bytes = dse.quantity("segment_bytes", unit="B", domain="whole [1, inf)", default=128)


@dse.equation(source="Hong 2012, Fig. 3a", meaning="1 if the threads access memory in sequence")
def is_sequential(first_byte, thread_distance_bytes, bytes_per_thread):
    aligned = dse.equal(first_byte, 64 * dse.floor(first_byte / 64))
    next_to = dse.equal(thread_distance_bytes, bytes_per_thread)
    return dse.where(dse.both(aligned, next_to), 1.0, 0.0)


@dse.equation(source="Hong 2012, Fig. 3c", meaning="segments that the threads touch", table=True)
def touched_segments(warp_size, first_byte, thread_distance_bytes, bytes_per_thread, segment_bytes):
    touched = set()
    for thread in range(int(warp_size)):
        first = first_byte + thread * thread_distance_bytes
        last = first + bytes_per_thread - 1
        touched |= set(range(int(first // segment_bytes), int(last // segment_bytes) + 1))
    return float(len(touched))


@dse.equation(source="Hong 2012, section 2.1.3, Fig. 3")
def transactions_per_uncoalesced(compute_version, is_sequential, warp_size, touched_segments):
    later = dse.where(compute_version < FIRST_RELAXED, warp_size, touched_segments)
    return dse.where(is_sequential > 0, 1.0, later)
