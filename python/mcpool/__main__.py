"""The command line: the same Rust code as from npm and cargo."""

import sys

from ._native import run_cli


def main() -> None:
    sys.exit(run_cli(sys.argv[1:], [sys.executable, "-m", "mcpool"]))


if __name__ == "__main__":
    main()
