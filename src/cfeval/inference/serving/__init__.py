"""Servers of local models, started when they are asked and ended when nobody asks any more.

keeper      a process beside each server that ends it and all it started, also when we are killed
replicas    the servers of one model (vLLM, vLLM-Omni, SGLang, `transformers serve`, or a command of one's own): one per
            free GPU, leased, waited for, restarted, drained
router      the address that a study names: passes requests on, those that begin alike to the same server
"""
