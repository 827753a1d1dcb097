"""Support for long work: threads, memory checks, progress, interrupts and time limits."""
