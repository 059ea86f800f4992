"""Tells PyInstaller what the package needs, by the entry point `pyinstaller40`."""

from pathlib import Path


def hook_directories() -> list[str]:
    """Where PyInstaller finds the hook."""
    return [str(Path(__file__).parent)]
