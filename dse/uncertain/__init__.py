"""Laws of what is not known for sure: as people write them, joint ones, and the draws of them."""
