"""A study of one's own: its folder, its run, its report; what `cfeval init`, `cfeval run` and `cfeval report` do."""
