"""Calls to models outside this process: stored the moment they return, retried by one policy, counted in one ledger.

settings    how calls travel: store, deadline, ceiling, budget; never part of a call's identity
call        what is asked (its hash is the key) and what came back
faults      everything that goes wrong, and the one right reaction to each
transport   one HTTP exchange, with a deadline and a size limit of our own
bodies      what an OpenAI-style answer says, or the fault it hides
images      images on the wire: shrunk under a declared limit, decoded under a cap
prices      list prices, for estimates and where a provider reports no cost
store       the response store and the ledger: one SQLite file that all jobs share
limiter     concurrency that adapts under a ceiling
caller      all of it together: a call in, a reply out
"""
