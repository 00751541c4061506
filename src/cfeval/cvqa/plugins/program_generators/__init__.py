"""Writers of programs: question → program."""
