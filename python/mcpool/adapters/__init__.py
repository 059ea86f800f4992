"""The tools of a manager as the tools of agent frameworks: one module each, imported by who asks for it.

None of the frameworks is a dependency. What a call does, `Tool.execute` decides; an adapter translates.
"""


def __dir__() -> list[str]:
    """The adapters that are loaded, without what they share."""
    return sorted(name for name in globals() if name.startswith("__") or not name.startswith("_"))
