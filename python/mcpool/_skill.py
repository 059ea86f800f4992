"""The skills of a server. Imported by the first verb about them, never by the package itself."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple


class SkillFile(NamedTuple):
    """A file of a skill, as the server lists it; `digest` is `sha256:` and the hash of its bytes."""

    uri: str
    digest: str
    size: int


class Skill(NamedTuple):
    """A skill that a server offers; `raw` is all that the server says of it.

    `name` and `description` are those of the frontmatter. `resources` are all its files, or "dynamic" if the
    server makes them when they are read.
    """

    uri: str
    name: str
    description: str
    frontmatter: dict[str, Any]
    resources: list[SkillFile] | Literal["dynamic"]
    raw: dict[str, Any]


class SkillContent(NamedTuple):
    """The SKILL.md of a skill, checked against its entry; `body` is the text without the frontmatter."""

    skill: Skill
    text: str
    body: str


class SkillList(list[Skill]):
    """A list of skills, which a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from . import _html

        return _html.skill_list(self)


def read_skills(rows: list[dict[str, Any]]) -> SkillList:
    return SkillList(_skill(row) for row in rows)


def _skill(row: dict[str, Any]) -> Skill:
    files = row["resources"]
    if files != "dynamic":
        files = [SkillFile(file["uri"], file["digest"], file["size"]) for file in files]
    return Skill(row["uri"], row["name"], row["description"], row["frontmatter"], files, row)


def read_skill(row: dict[str, Any]) -> SkillContent:
    return SkillContent(_skill(row["skill"]), row["text"], row["body"])
