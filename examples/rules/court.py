"""Certify the worst regret of published rules: how much slower than the best choice they can be.

    python court.py            # all rules
    python court.py vllm 60    # the rules whose name contains "vllm", at most 60 s each

A certificate is about the formulas of a model, not about a GPU.
"""

import sys
import time
from pathlib import Path

import dse

HERE = Path(__file__).parent
SMS = {"n_sms": [78, 108, 114, 132, 148]}
ATTENTION = {"groups": range(1, 1_000_001), "kv_tiles": range(1, 1_000_001), **SMS}
GRID = {
    "items": range(1, 10_000_001),
    "resident": range(1, 17),
    "start_cost": {"linspace": [0, 100, 10_001]},
    **SMS,
}
ALLREDUCE = {
    "ranks": {"powers_of_two": [2, 16384]},
    "message": {"geomspace": ["1 B", "1 GB", 100_001]},
    "start_up": {"geomspace": ["0.5 us", "50 us", 1001]},
    "link": {"geomspace": ["1 GB/s", "450 GB/s", 1001]},
}
EXPERTS = {
    "expert_rows": range(1, 100_001),
    "experts": range(1, 513),
    "column_tiles": range(1, 1025),
    "chosen_experts": range(1, 9),
    "balance": [16, 32, 64, 128],
    **SMS,
}
#: For each rule: its model, the formula of the time, the axis that it chooses, with its values, and
#: the other axes.
RULES = {
    "flashinfer_splits": ("split_kv", "tile_time", ("splits", range(1, 129)), ATTENTION),
    "flash_attention_splits": ("split_kv", "tile_time", ("splits", range(1, 129)), ATTENTION),
    "one_wave_splits": ("split_kv", "tile_time", ("splits", range(1, 129)), ATTENTION),
    "vllm_splits": ("split_kv", "tile_time", ("splits", range(1, 129)), ATTENTION),
    "thirty_two_per_sm": ("grid_stride", "grid_time", ("grid_blocks", range(1, 8193)), GRID),
    "one_wave_grid": ("grid_stride", "grid_time", ("grid_blocks", range(1, 8193)), GRID),
    "mpich_halving": ("allreduce", "allreduce_time", ("halving", [0, 1]), ALLREDUCE),
    "vllm_tile_rows": ("moe_tile", "tile_cost", ("tile_rows", [16, 32, 64, 128]), EXPERTS),
}


def certify(rule: str, limit: float) -> str:
    """Return the worst regret of a rule, its certificate, and where it is."""
    model, cost, (axis, values), axes = RULES[rule]
    study = dse.Study(model=str(HERE / f"{model}.py"), axes={**axes, axis: values})
    shapes = study.plan().points / len(values)
    began = time.perf_counter()
    text = f"regret({cost}, {axis}, {rule})"
    worst = study.optimum(maximize=text, method="certified", gap=0.01, time_limit=limit)
    where = ", ".join(f"{name} {worst[name].item():g}" for name in axes)
    return (
        f"{rule:24} {worst[text].item():8.3f} at {where}; at most {worst.attrs['bound']:.3f} over "
        f"{shapes:.2g} shapes ({time.perf_counter() - began:.1f} s)"
    )


if __name__ == "__main__":
    part, limit = (*sys.argv[1:], *("", "60")[len(sys.argv) - 1 :])[:2]
    for rule in RULES:
        if part in rule:
            print(certify(rule, float(limit)), flush=True)
