"""Builds both faces of a source tree and copies what a program loads into one directory.

Two builds are comparable only if they were made in the same profile; the directory is all there is to delete.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from .setup import ROOT


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/keep", description="keep a build of mcpool to measure it later")
    parser.add_argument("into", type=Path, help="the directory to make, or to replace")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the source tree (this one)")
    parser.add_argument("--profile", default="bench-build", help="the Cargo profile (bench-build)")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    tree, into = options.tree.resolve(), options.into.resolve()
    target = Path(os.environ.get("CARGO_TARGET_DIR", tree / "target")).resolve()
    crates = ["-p", "mcpool-python", "-p", "mcpool-node"]
    try:
        _do(["cargo", "build", "--locked", "--profile", options.profile, "--target-dir", str(target), *crates], tree)
        shutil.rmtree(into, ignore_errors=True)
        keep_python(tree, target / options.profile, into / "python")
        keep_node(tree, target / options.profile, into / "node")
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"bench/keep: {error}", file=sys.stderr)
        return 2
    return 0


def keep_python(tree: Path, built: Path, into: Path) -> None:
    shutil.copytree(tree / "python" / "mcpool", into / "mcpool", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(built / "libmcpool_python.so", into / "mcpool" / "_native.abi3.so")


def keep_node(tree: Path, built: Path, into: Path) -> None:
    """The compiler comes from this tree, which may be the only one where packages are installed; types are not checked."""
    modules = ROOT / "node_modules"
    compiled = ["--outDir", str(into / "node" / "dist"), "--typeRoots", str(modules / "@types"), "--noCheck"]
    _do([str(modules / ".bin" / "tsc"), "-p", str(tree / "tsconfig.json"), *compiled], tree)
    shutil.copy(tree / "package.json", into)
    shutil.copy(tree / "node" / "native.js", into / "node")
    # Trees from before there was a build script look for the addon under another name.
    addon = "mcpool.node" if (tree / "node" / "build.mjs").exists() else f"mcpool.linux-{_architecture()}-gnu.node"
    shutil.copy(built / "libmcpool_node.so", into / "node" / addon)


def _architecture() -> str:
    return {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]


def _do(command: list[str], tree: Path) -> None:
    subprocess.run(command, check=True, cwd=tree, stdout=sys.stderr)
