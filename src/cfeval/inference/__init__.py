"""Calls to models outside this process: stored the moment they return, retried by one policy, counted in one ledger.

settings    how calls travel: cache, deadline, ceiling, budget; never part of a call's identity
call        what is asked (its hash is the key) and what came back
faults      everything that goes wrong, and the one right reaction to each
transport   one HTTP exchange, with a deadline and a size limit of our own
bodies      what an OpenAI-style answer says, or the fault it hides
images      images on the wire: shrunk under a declared limit, decoded under a cap
prices      list prices, for estimates and where a provider reports no cost
providers   which parameters and addresses each has; keys from the environment
examine     what a server says before anything is spent
database    the SQLite file, and what SQLite says about it in one line
stored      a row of the cache, and what may be wrong with it
cache       the response cache and the ledger: one file that all jobs share
archive     an export of the cache
meter       how far the calls of a job are
limiter     concurrency that adapts under a ceiling
attempts    when a call is tried again, how long it waits, when it is given up
caller      all of it together: a call in, a reply out
line        the event loop that it works in, shared by the threads of a job
map_concurrently  many requests under way at a time, their replies in order
"""
