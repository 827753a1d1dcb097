"""The law of what lockstep costs a group, X = lanes · max / sum."""
