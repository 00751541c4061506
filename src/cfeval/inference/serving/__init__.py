"""Servers of local models, started when they are asked and ended when nobody asks any more.

engines     the commands that serve a model: vLLM, vLLM-Omni, SGLang, `transformers serve`, or one's own
keeper      a process beside each server that ends it and all it started, also when we are killed
replicas    the servers of one model: one per free GPU, leased, waited for, restarted, drained
router      the address that a study names: passes requests on, those that begin alike to the same server
"""
