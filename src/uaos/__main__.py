"""The command line as `python -m uaos`."""

import sys

from uaos.cli import main

if __name__ == "__main__":
    sys.exit(main())
