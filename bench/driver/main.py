"""The command line: sets up, measures work by work, prints the table, writes results/latest.json."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import table
from .before import beside, of_build, ours_only
from .measure import Measured, measure
from .model import Work
from .processes import adopt_orphans, close_all
from .setup import BENCH, NotReady, Place, install_peers, prepare
from .works import WORKS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run", description="mcpool beside its peers, in turns")
    parser.add_argument("--quick", action="store_true", help="3 rounds, and fewer large results for the peers")
    parser.add_argument("--rounds", type=int, help="rounds per work (7)")
    parser.add_argument(
        "--only", action="append", metavar="WORK", help="works whose name begins so: " + ", ".join(w.key for w in WORKS)
    )
    parser.add_argument("--python", help="the interpreter that has mcpool and the peers (bench/.peers/venv)")
    parser.add_argument("--cpus", help="run everything on these CPUs only, e.g. 0 or 0,1 (all)")
    parser.add_argument("--build", type=build, metavar="DIR", help="measure the mcpool that bench/keep put there")
    parser.add_argument("--before", type=build, metavar="DIR", help="an older mcpool beside it")
    parser.add_argument("--no-peers", action="store_true", help="only mcpool and, with --before, the older one")
    parser.add_argument("--setup", action="store_true", help="install the peers and end")
    return parser.parse_args()


def build(text: str) -> Path:
    path = Path(text).resolve()
    if not (path / "python" / "mcpool").is_dir():
        raise argparse.ArgumentTypeError(f"{path} holds no build of mcpool")
    return path


def chosen(options: argparse.Namespace) -> list[Work]:
    works = [w for w in WORKS if not options.only or any(w.key.startswith(name) for name in options.only)]
    if not works:
        raise NotReady(f"no work begins with {', '.join(options.only)}")
    if options.build:
        works = of_build(works, options.build)
    if options.before:
        works = beside(works, options.before)
    return ours_only(works) if options.no_peers else works


def stop(_signal: int, _frame: object) -> None:
    """Ctrl-C, or a plain `kill`: leave through every `finally`, and let no second one disturb the cleaning up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    rounds = options.rounds or (3 if options.quick else 7)
    done: list[Measured] = []
    try:
        works = chosen(options)
        install_peers(options.python)
        if options.setup:
            return 0
        place = prepare(options.python)
        adopt_orphans()
        if options.cpus:
            os.sched_setaffinity(0, {int(cpu) for cpu in options.cpus.split(",")})
        with tempfile.TemporaryDirectory(prefix="mcpool-bench-") as cache:
            os.environ["MCPOOL_CACHE_DIR"] = cache  # for the workers: the user's own stays as it is
            for number, work in enumerate(works, 1):
                print(f"[{number}/{len(works)}] {work.title}", file=sys.stderr, flush=True)
                done.append(measure(place, work, min(rounds, work.most_rounds or rounds), not options.quick))
        report(done, place, rounds)
        return 0
    except NotReady as reason:
        print(f"bench/run: {reason}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        if done:
            print(table.text([row for measured in done for row in table.rows(measured)]))
        print("interrupted: the works above are complete, the others are not measured", file=sys.stderr)
        return 130
    finally:
        close_all()


def report(done: list[Measured], place: Place, rounds: int) -> None:
    rows = [row for measured in done for row in table.rows(measured)]
    print(table.text(rows))
    results = BENCH / "results"
    results.mkdir(exist_ok=True)
    written = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {"cpus": len(os.sched_getaffinity(0)), "system": platform.system(), "load": os.getloadavg()},
        "python": _version(place.python),
        "node": _version(place.node),
        "peers": _pins(),
        "rounds": rounds,
        "rows": table.as_json(rows),
        "works": [{"work": m.work.key, "samples": m.samples, "failed": m.failed} for m in done],
    }
    (results / "latest.json").write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n")


def _version(program: str) -> str:
    return subprocess.run([program, "--version"], check=False, capture_output=True, text=True).stdout.strip()


def _pins() -> dict[str, str]:
    pins: dict[str, str] = json.loads((BENCH / "package.json").read_text())["dependencies"]
    for requirements in BENCH.glob("requirements*.txt"):
        for line in requirements.read_text().splitlines():
            name, found, version = line.partition("==")
            if found:
                pins.setdefault(name, version)
    return pins
