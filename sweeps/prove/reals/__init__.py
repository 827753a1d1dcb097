"""The certified optimum where axes are real intervals: no value between two ends is left out.

`mixed` encloses an objective over boxes of reals and indices, `lowest` splits them until none can
hold anything better by more than a tolerance.
"""
