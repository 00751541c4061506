"""`python -m cfeval`: the command line where no script is on the path."""

from cfeval.cli import main

if __name__ == "__main__":
    main()
