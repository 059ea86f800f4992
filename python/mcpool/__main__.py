"""The command line: the same Rust code as from npm and cargo."""

import signal
import sys

from . import _relaunch
from ._native import run_cli


def main() -> None:
    # The command line waits outside the interpreter, where Python's own handler would never run.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run_cli(sys.argv[1:], _relaunch.words()))


if __name__ == "__main__":
    main()
