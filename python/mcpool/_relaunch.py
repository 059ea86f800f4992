"""How this interpreter starts mcpool's command line in another process."""

import os
import sys

# This very package, wherever a search would lead: another version may come first, and with "-m" the working
# directory, which may be anybody's.
_CODE = """\
import sys
sys.path[:] = filter(None, sys.path)
from importlib.util import module_from_spec, spec_from_file_location
home = sys.argv.pop(1)
spec = spec_from_file_location("mcpool", home + "/__init__.py", submodule_search_locations=[home])
sys.modules["mcpool"] = module_from_spec(spec)
spec.loader.exec_module(sys.modules["mcpool"])
from mcpool.__main__ import main
main()
"""
# The flags that say where modules come from.
_FLAGS = {
    "isolated": "-I",
    "ignore_environment": "-E",
    "no_user_site": "-s",
    "no_site": "-S",
    "safe_path": "-P",
}


def words() -> list[str]:
    """The program and its first arguments; empty if this program is no plain interpreter."""
    name = os.path.basename(sys.executable or "").lower()
    if getattr(sys, "frozen", False) or not name.startswith(("python", "pypy")):
        return []
    flags = [option for flag, option in _FLAGS.items() if getattr(sys.flags, flag, False)]
    found = [sys.executable, *flags, "-c", _CODE, os.path.dirname(os.path.abspath(__file__))]
    return found if all(map(_is_text, found)) else []


def _is_text(word: str) -> bool:
    """Paths may contain bytes that are no text."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
