"""Rows of the table of quantities, and the texts of the domains that many of them have."""

COUNT0, COUNT1 = "whole [0, inf)", "whole [1, inf)"
POS, NONNEG, RATIO = "(0, inf)", "[0, inf)", "[1, inf)"
RESULT, SHARE, CELSIUS = "[0, inf]", "[0, 1]", "(-273.15, inf)"
