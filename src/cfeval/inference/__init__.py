"""Models that are asked: hosted ones, whose calls are cached, retried and counted, and local ones.

A call passes through a stage, `batching.map_requests`, a plugin, `prompts.generate_parsed`, a chat model of `models`,
`remote.client` and `remote.http`.

batching    the event loop of a stage: many requests open at a time, their replies in order; batches of local models
chat        what a chat model is given and replies
prompts     templates, and a question with one repair turn
parsing     verdicts and objects in a reply
models      the chat plugins: a server of the OpenAI protocol, a checkpoint of transformers
local       what plugins of checkpoints share
remote      calls to models outside this process: stored the moment they return
"""
