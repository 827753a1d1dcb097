"""Short decision rules for the value of an axis, with a certified worst regret."""
