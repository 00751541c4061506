"""What can be known about a study before it runs, without sending or building anything.

locks       what a killed run leaves behind
used        the backends that the arms of the tables use
checks      what should be looked at, and looking at all of it at once
machine     disk, response store, budget, GPU
workload    which requests the study makes of which backend
estimate    what they come to: calls, tokens, money
"""
