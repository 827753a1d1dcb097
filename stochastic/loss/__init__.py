"""Laws of the loss of a group in lockstep, X = lanes · max / sum."""
