"""Laws of the time of a launch, in which each block goes to the first free slot."""
