"""The changelog has the form of Keep a Changelog: sections in one order, versions from new to old."""

from __future__ import annotations

import re

from fixture_server import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
# The heading and the body of each entry.
ENTRIES = re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", CHANGELOG, re.MULTILINE)


def test_what_is_unreleased_comes_first() -> None:
    assert CHANGELOG.startswith("# Changelog\n")
    headings = [heading for heading, _ in ENTRIES]
    assert headings[0] == "[Unreleased]"
    for heading in headings[1:]:
        assert re.fullmatch(r"\[\d+\.\d+\.\d+(-rc\.\d+)?\] - \d{4}-\d\d-\d\d( \[YANKED\])?", heading), heading


def age(heading: str) -> tuple[list[int], str]:
    """The version, in which a candidate comes before the release, and the date."""
    found = re.match(r"\[([\d.]+)(?:-rc\.(\d+))?\] - ([\d-]+)", heading)
    assert found, heading
    version, candidate, date = found.groups()
    return [*(int(part) for part in version.split(".")), int(candidate or 1_000_000)], date


def test_versions_and_dates_go_from_new_to_old() -> None:
    versions = [age(heading)[0] for heading, _ in ENTRIES[1:]]
    dates = [age(heading)[1] for heading, _ in ENTRIES[1:]]
    assert versions == sorted(versions, reverse=True)
    assert dates == sorted(dates, reverse=True)


def test_a_release_is_newer_than_its_candidates() -> None:
    ages = [age(f"[{version}] - 2026-01-01") for version in ("0.2.0-rc.2", "0.2.0-rc.10", "0.2.0", "0.10.0")]
    assert ages == sorted(ages)


def test_every_entry_has_the_sections_in_their_order() -> None:
    for heading, body in ENTRIES:
        sections = re.findall(r"^### (.+)$", body, re.MULTILINE)
        assert set(sections) <= set(SECTIONS), heading
        assert sections == sorted(set(sections), key=SECTIONS.index), heading


def test_no_section_is_empty() -> None:
    for heading, body in ENTRIES:
        for title, text in re.findall(r"^###+ (.+)\n((?:(?!##).*\n)*)", body, re.MULTILINE):
            # A section with topics has its items below them.
            assert "\n- " in text or f"### {title}\n\n#### " in body, f"{heading}: {title}"


def test_links_to_versions_are_defined_for_all_or_for_none() -> None:
    defined = re.findall(r"^\[(.+)\]: https://", CHANGELOG, re.MULTILINE)
    headings = [re.sub(r"\[(.+?)\].*", r"\1", heading) for heading, _ in ENTRIES]
    assert defined in ([], headings)
