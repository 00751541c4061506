"""Tables: one file a table of a paper; scores in, typed rows out, written as CSV, Markdown and LaTeX."""
