"""A sweep on a cluster that SLURM manages: workers are jobs, and write their tiles themselves.

    pip install "simt-dse[slurm]"
    python examples/slurm.py study.toml /shared/out.zarr

Run it where jobs may be submitted, such as the login node, in a terminal that lasts (tmux). It only
hands out numbers of tiles and takes back their records, so that it needs little memory and time.
When it is stopped, or a job meets its time limit, the same command continues: what is stored stays.
"""

import sys

from dask_jobqueue import SLURMCluster
from distributed import Client

import dse


def main(study: str, store: str) -> None:
    """Sweep a study into a store that every node can reach: a shared folder, or s3://..."""
    cluster = SLURMCluster(
        queue="standard",  # the partition
        account="my-project",
        cores=32,  # of a job; each process takes its share of them as threads
        processes=4,
        memory="64 GiB",
        walltime="02:00:00",
        # a worker ends by itself before SLURM kills it, between two tiles, and another one begins
        worker_extra_args=["--lifetime", "110m", "--lifetime-stagger", "5m"],
        # S3 takes its endpoint and credentials from the environment of each worker, or its role
        job_script_prologue=["source ~/venv/bin/activate"],
    )
    # 20 jobs until the run ends, and a new one for each that ends before; not fewer by what dask
    # thinks is to do: it sees only the few tiles that are handed out at a time
    cluster.adapt(minimum_jobs=20, maximum_jobs=20)
    with cluster, Client(cluster) as client:
        ds = dse.Study.from_toml(study).run(store=store, client=client, progress=True)
        print(dse.optimum(ds, minimize="time"))


if __name__ == "__main__":
    main(*sys.argv[1:])
