"""The tools of a manager as the tools of agent frameworks: one module each, imported by who asks for it.

None of the frameworks is a dependency. What a call does, `Tool.execute` decides; an adapter translates.
"""
