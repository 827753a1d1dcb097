"""Quantities of placement."""

from symbolic.quantity import COUNT0, COUNT1, NONNEG, RESULT, quantity, row, switch

ROWS = (
    switch(
        "placement_policy", "compact scatter apart", "how lit_sms are chosen: few TPCs, many, far"
    ),
    row("n_tpcs", "", COUNT1, "texture processing clusters (TPCs) of the machine", (4, 40)),
    row("sms_to_light", "", COUNT1, "SMs that a placement policy lights", (1, 14), "active_sms"),
    quantity("tpc_map", labels=(), meaning="the TPC of each SM, '0-1-2-0-1-2'"),
    quantity("lit_sms", labels=(), meaning="the SMs that are lit, '0-7-1-8'"),
    quantity("tpc_distances", labels=(), meaning="distances between TPCs, '[[0, 1], [1, 0]]'"),
    row("lit_count", "", COUNT1, "SMs that are lit", (1, 14)),
    row("active_tpcs", "", COUNT1, "TPCs with a lit SM", (1, 7)),
    row("fewest_tpcs", "", COUNT1, "fewest TPCs that as many SMs can light", (1, 7)),
    row("most_tpcs", "", COUNT1, "most TPCs that as many SMs can light", (1, 7)),
    row("placements", "", COUNT1, "sets of as many SMs"),
    row("equal_placements", "", COUNT0, "sets of as many SMs that light as many TPCs"),
    row("tpc_separation", "", RESULT, "least distance of two lit TPCs"),
    row("placement_base_power", "W", NONNEG, "power of the system besides TPCs", (50, 300), 0),
    row("power_per_tpc", "W", NONNEG, "power that a lit TPC adds", (0.5, 10)),
    row("fitted_sms", "", COUNT1, "SMs lit where the line of power on TPCs was fitted", (1, 14), 4),
    row("placement_fit", "", "whole [0, 1]", "whether the line was fitted to as many lit SMs"),
    row("placement_power", "W", RESULT, "power of the system with these SMs lit", (50, 300)),
    quantity("suggested_placement", labels=(), meaning="as many SMs, on the fewest TPCs"),
    row("suggested_tpcs", "", COUNT1, "TPCs that these light", (1, 7)),
    row("suggested_placement_power", "W", RESULT, "power of the system with these lit instead"),
    row("placement_loss", "W", RESULT, "power that fewer TPCs would save", (0, 40)),
)
