"""Models that are asked: hosted ones, whose calls are cached, retried and counted, and local ones.

A call passes through a stage, `batching.map_requests`, a plugin, `prompts.generate_parsed`, a chat model of `models`,
`remote.client`, `remote.sdks` (a vendor's package) and `remote.http`.

batching    the event loop of a stage: many requests open at a time, their replies in order; batches of local models
chat        what a chat model is given and replies
thinking    the marks of thoughts around an answer, and how many tokens thoughts need
prompts     templates, and a question with one repair turn
parsing     objects and labelled lines in a reply; `verdicts` a judge's scores; `replies` free answers
models      the chat plugins: a server of the OpenAI protocol, other vendors' protocols, a checkpoint of transformers
local       what plugins of checkpoints share
remote      calls to models outside this process: stored the moment they return

In `remote`:

client        a call in, a reply out: from the cache, or sent, retried, paid for and stored
sessions      the client of a stage, and its polite stop by a signal
request       what is asked (its hash is the key) and what came back
settings      how calls travel: cache, deadline, ceiling, budget; never part of a call's identity; how far they are
faults        everything that goes wrong, and the one right reaction to each
sdks          the vendors' own packages, which word and carry requests; each is imported when it is first needed
http          one exchange, with a deadline and a size limit of our own
openai_api    what an OpenAI-style answer says, or the fault it hides; other protocols' answers are worded as one
batches       calls by batches, found again by the next run; `batch_account` has what all providers' share, and OpenAI's
images        images on the wire: shrunk under a declared limit, decoded under a cap
providers     which parameters and addresses each has; keys from the environment
rate_limit    how fast calls go, when one is attempted again, and when it is given up
spending      what attempts may cost is set aside, and what they came to is noted
prices        list prices, for estimates and where a provider reports no cost
cache         the response cache and the ledger: one file that all jobs share
cache_db      the SQLite file, its tables of batches and totals, and what SQLite says about it in one line
archive       an export of the cache
"""
