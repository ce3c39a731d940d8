"""``python -m litotes``: the same as ``litotes``, also where that is not on the PATH."""

import sys

from litotes.cli import main

if __name__ == "__main__":
    sys.exit(main())
