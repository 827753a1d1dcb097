"""Quantities of what lockstep costs: divergence and imbalance."""

from symbolic.quantity import (
    COUNT0,
    COUNT1,
    NONNEG,
    POS,
    RATIO,
    RESULT,
    SHARE,
    quantity,
    row,
    switch,
)

ROWS = (
    row("path_probability", "", SHARE, "probability that a lane takes a path", (0, 1)),
    row("lanes", "", COUNT1, "threads in lockstep", (1, 64), "warp_size"),
    row("path_taken", "", SHARE, "probability that a warp pays for a path"),
    quantity(
        "paths", labels=(), meaning="the paths of a divergent branch, 'probability: cycles, ...'"
    ),
    row("divergent_cycles", "cycle", RESULT, "expected cycles of a divergent branch"),
    row("divergent_cycles_std", "cycle", RESULT, "their standard deviation over warps"),
    row("divergent_cycles_bound", "cycle", RESULT, "the sum of all paths"),
    row("convergent_cycles", "cycle", RESULT, "expected cycles if lanes ran alone"),
    row("divergence_loss", "", RESULT, "what lockstep costs at a divergent branch"),
    # --- imbalance
    quantity(
        "distribution",
        labels=(),
        meaning="the law of the work of one item, such as 'geometric:0.05' or a file of lengths",
    ),
    switch(
        "work_law",
        "distribution bernoulli binomial geometric negative_binomial poisson uniform",
        "the family of the law of work, or distribution where the law itself is given",
    ),
    row("success_probability", "", "(0, 1]", "probability of success of a trial", (0.02, 0.9)),
    row("trial_count", "", COUNT1, "trials of a binomial law", (1, 100)),
    row("success_count", "", POS, "successes waited for while failures count", (1, 20)),
    row("event_rate", "", POS, "mean of a Poisson law", (1, 100)),
    row("lowest_work", "", COUNT0, "shortest item of a uniform law", (0, 20)),
    row("highest_work", "", COUNT0, "longest item of a uniform law", (20, 100)),
    row("work_mean", "", NONNEG, "mean work of an item", (1, 100)),
    row("work_std", "", NONNEG, "standard deviation of the work of an item", (0, 50)),
    row("work_min", "", NONNEG, "work of the shortest item", (0, 10)),
    row("work_max", "", RESULT, "work of the longest item", (100, 1000)),
    row("expected_max", "", NONNEG, "expected work of the longest of all lanes", (10, 1000)),
    row("max_sum_covariance", "", NONNEG, "covariance of the longest and the sum", (1, 1000)),
    row("imbalance_slowdown", "", RATIO, "what a whole workload pays for lockstep"),
    row("imbalance_loss_std", "", NONNEG, "standard deviation of the loss over groups"),
    row("imbalance_lower", "", RATIO, "rigorous lower bound on the mean loss"),
    row("imbalance_upper", "", RATIO, "rigorous upper bound on the mean loss"),
    row("imbalance_largest", "", RATIO, "largest loss that a group can have"),
    row("imbalance_delta", "", NONNEG, "second-order approximation of the mean loss"),
    row("imbalance_limit", "", RESULT, "what the loss tends to for ever more lanes"),
    row("exponential_loss", "", RATIO, "mean loss where work is exponential"),
)
