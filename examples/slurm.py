"""Run a study on a SLURM cluster, where workers are jobs that write their own tiles.

    pip install "simt-dse[slurm]"
    python examples/slurm.py study.toml /shared/out.zarr

Start it on a machine that may submit jobs, such as the login node, in tmux. It only sends tile
numbers and receives their records, so it needs little memory and CPU time. After an interrupt or a
job's time limit, the same command continues with the tiles that are missing.
"""

import sys

from dask_jobqueue import SLURMCluster
from distributed import Client

import dse


def main(study: str, store: str) -> None:
    """Run a study into a store that every node can reach: a shared folder, or s3://..."""
    cluster = SLURMCluster(
        queue="standard",  # the partition
        account="my-project",
        cores=32,  # per job; its processes share them as threads
        processes=4,
        memory="64 GiB",
        walltime="02:00:00",
        # a worker ends between two tiles before SLURM kills it, and a new one starts
        worker_extra_args=["--lifetime", "110m", "--lifetime-stagger", "5m"],
        # S3 endpoint and credentials come from the environment of each worker
        job_script_prologue=["source ~/venv/bin/activate"],
    )
    # keep 20 jobs until the end; dask would stop some, as it sees only the tiles in flight
    cluster.adapt(minimum_jobs=20, maximum_jobs=20)
    with cluster, Client(cluster) as client:
        ds = dse.Study.from_toml(study).run(store=store, client=client, progress=True)
        print(dse.optimum(ds, minimize="time"))


if __name__ == "__main__":
    main(*sys.argv[1:])
