"""Laws (probability distributions) of uncertain inputs: parse them, join them, draw from them."""
