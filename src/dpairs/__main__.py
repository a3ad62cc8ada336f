"""`python -m dpairs`: the command line."""

from .cli import main

main()
