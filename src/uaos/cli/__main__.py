"""`python -m uaos.cli`, the same as `uaos`."""

from uaos.cli import main

main()
