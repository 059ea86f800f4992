"""Skills as Python gives them: named tuples, a table in a notebook, and errors that say what differs."""

from __future__ import annotations

import mcpool
import pytest
from fixture_server import config, stdio
from mcpool.blocking import Manager


def manager(fault: str) -> Manager:
    return Manager(config(a=stdio("--skills", fault)))


def test_skills_are_named_tuples() -> None:
    with manager("none") as one:
        one.connect_all()
        skills = one.list_skills("a")
        pdf, _, _, live = skills
        assert (pdf.name, pdf.description, pdf.frontmatter["version"]) == ("pdf", "Reads PDFs", 1)
        assert [file.size for file in pdf.resources if isinstance(file, mcpool.SkillFile)] == [72, 5, 2]
        assert pdf.raw["x-vendor"] == {"kept": True}
        assert live.resources == "dynamic"
        content = one.read_skill("a", "pdf")
        assert content.skill == pdf
        assert content.text.endswith(content.body)
        assert one.read_skill_file("a", "pdf", "logo.bin").decode() == b"\0\1"
        html = skills._repr_html_()
        assert "Reads PDFs" in html
        assert "skill://live/SKILL.md" in html


@pytest.mark.parametrize("fault", ["digest", "size", "frontmatter"])
def test_the_error_says_what_differs_and_shows_nothing_of_the_content(fault: str) -> None:
    with manager(fault) as one:
        one.connect_all()
        with pytest.raises(mcpool.ProtocolError) as raised:
            one.read_skill("a", "pdf")
        said = str(raised.value)
        assert fault in said
        assert "use pdf" not in said.lower()
        assert raised.value.hint is not None


def test_the_error_for_a_shared_name_has_the_addresses() -> None:
    with manager("none") as one:
        one.connect_all()
        with pytest.raises(mcpool.InvalidArgumentsError) as raised:
            one.read_skill("a", "twin")
        assert "skill://a/twin/SKILL.md" in str(raised.value)
        assert "skill://b/twin/SKILL.md" in str(raised.value)
