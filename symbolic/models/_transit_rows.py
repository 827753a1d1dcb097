"""Quantities of transit, its supply curve and what a profiler tells."""

from symbolic.quantity import COUNT0, NONNEG, POS, RESULT, row, switch

ROWS = (
    switch("supply", "sharp smooth", "shape of the memory supply curve"),
    row("threads", "", POS, "threads of the machine (n)", (1, 4096)),
    row("intensity", "cycle", POS, "computation between two memory requests (Z)", (1, 1000)),
    row("lanes_width", "", POS, "lanes that compute at once (M)", (1, 512)),
    row("ms_peak", "", POS, "most requests the memory system serves a cycle (R)", (0.01, 10)),
    row("mem_latency", "cycle", NONNEG, "latency of one memory request", (100, 2000)),
    row("thread_limit", "", RESULT, "throughput the threads allow"),
    row("computation_limit", "", RESULT, "memory throughput the lanes ask for"),
    row("supply_limit", "", RESULT, "throughput where threads and memory balance"),
    row("ms_throughput", "", RESULT, "requests served a cycle (r)", (0.01, 10)),
    row("cs_throughput", "", RESULT, "operations computed a cycle (Z r)", (1, 512)),
    row("threads_in_ms", "", RESULT, "threads in the memory system"),
    row("threads_in_ms_low", "", RESULT, "fewest threads in the memory system"),
    row("threads_in_ms_high", "", RESULT, "most threads in the memory system"),
    row("threads_in_cs", "", RESULT, "threads in the computation system"),
    row("threads_in_cs_low", "", RESULT, "fewest threads in the computation system"),
    row("threads_in_cs_high", "", RESULT, "most threads in the computation system"),
    row("bound", "", COUNT0, "what bounds the machine"),
    row("cs_transition", "", POS, "threads that saturate the lanes", (32, 2048)),
    row("ms_transition", "", POS, "threads that saturate the memory system", (32, 2048)),
    row("ms_peak_bandwidth", "B/s", POS, "peak of the memory supply curve, per SM", (1e9, 1e11)),
    row("request_bytes", "B", POS, "bytes of one thread's memory request", (4, 16)),
    row("issued_insts", "", POS, "instructions issued, by a profiler", (1000.0, 1e9)),
    row("dram_reads", "", NONNEG, "DRAM reads, by a profiler", (1000.0, 1e7)),
    row("dram_writes", "", NONNEG, "DRAM writes, by a profiler", (1000.0, 1e7)),
)
