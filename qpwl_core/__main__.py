"""``python -m qpwl_core <command>``; the commands are in `qpwl_core/cli/`."""

import sys

from qpwl_core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
