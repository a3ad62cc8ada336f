"""Runs the example in NVFLARE's simulator, with a process of its own for every site."""

import tempfile
from pathlib import Path

from controller import TrainAndEvaluate
from nvflare.job_config.api import FedJob
from nvflare.job_config.script_runner import FrameworkType, ScriptRunner
from nvflare.recipe.sim_env import SimEnv
from nvflare.recipe.spec import Recipe

SITES = 5
HERE = Path(__file__).resolve().parent

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as workspace:
        result = Path(workspace) / "result.txt"
        job = FedJob(name="auc", min_clients=SITES)
        job.to_server(TrainAndEvaluate(sites=SITES, out=str(result)))
        job.to_server(str(HERE / "task.py"))
        job.to_clients(ScriptRunner(script=str(HERE / "client.py"), framework=FrameworkType.RAW))
        job.to_clients(str(HERE / "task.py"))
        Recipe(job).execute(SimEnv(num_clients=SITES, workspace_root=workspace))
        print(result.read_text(), end="", flush=True)
