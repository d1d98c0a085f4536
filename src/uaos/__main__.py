"""The command line as `python -m uaos`."""

from uaos.cli import main

main()
