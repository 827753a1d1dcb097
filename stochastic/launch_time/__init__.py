"""The law of a launch: many blocks on slots, each to the slot that is free first."""
