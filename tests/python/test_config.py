"""Editing config files: asyncio and blocking alike."""

from __future__ import annotations

import asyncio
import inspect
import json
from pathlib import Path
from typing import Any

import jsonschema
import mcpool
import mcpool.blocking
import pytest
from fixture_server import ROOT
from user_home import UserHome

EDITS = ["add", "disable", "enable", "hide", "remove", "unhide", "update"]


@pytest.fixture
def home(tmp_path: Path) -> UserHome:
    return UserHome(tmp_path)


@pytest.fixture(params=["asyncio", "blocking"])
def edit(request: pytest.FixtureRequest) -> Any:
    """The verbs of editing, asyncio's made blocking."""

    class Awaited:
        def __getattr__(self, verb: str) -> Any:
            return lambda *args, **options: asyncio.run(getattr(mcpool.config, verb)(*args, **options))

    return Awaited() if request.param == "asyncio" else mcpool.blocking.config


def servers(file: Path | str) -> Any:
    return json.loads(Path(file).read_text())["mcpServers"]


def test_a_server_lives_through_all_edits(edit: Any, home: UserHome) -> None:
    where = {"host_env": home.host_env}
    edited = edit.add("a", {"command": "x", "args": ["1"]}, **where)
    assert isinstance(edited, mcpool.config.Edited)
    assert edited.path == str(home.home / ".config" / "mcpool" / "mcp.json") and edited.warnings == []
    edit.update("a", {"args": None, "timeout": 5000}, **where)
    assert servers(edited.path) == {"a": {"command": "x", "timeout": 5000}}
    edit.disable("a", **where)
    assert not mcpool.blocking.discover(home.project, **where).servers["a"].enabled
    edit.enable("a", **where)
    assert mcpool.blocking.discover(home.project, **where).servers["a"].enabled
    edit.hide("a", **where)
    assert not mcpool.blocking.discover(home.project, **where).servers["a"].enabled
    edit.unhide("a", **where)
    assert mcpool.blocking.discover(home.project, **where).servers["a"].enabled
    edit.remove("a", **where)
    assert servers(edited.path) == {}


def test_a_scope_or_a_file_says_where(edit: Any, home: UserHome) -> None:
    definition: mcpool.config.ServerConfig = {"url": "http://localhost:1/"}
    in_project = edit.add("a", definition, scope="project", cwd=home.project, host_env=home.host_env)
    assert Path(in_project.path) == home.project / ".mcpool" / "mcp.json"
    file = home.project / "other.yaml"
    assert Path(edit.add("a", definition, file=file).path) == file
    assert file.read_text().startswith("mcpServers:")


def test_mistakes_are_errors_of_their_kind(edit: Any, home: UserHome) -> None:
    where = {"host_env": home.host_env}
    with pytest.raises(mcpool.ConfigInvalidError):
        edit.add("a", {"command": "x", "url": "http://localhost/"}, **where)
    with pytest.raises(mcpool.ConfigInvalidError):
        edit.add("a b", {"command": "x"}, **where)
    with pytest.raises(mcpool.ConfigInvalidError):
        edit.add("a", {"command": object()}, **where)
    with pytest.raises(mcpool.ConfigInvalidError):
        edit.add("a", {"command": "x"}, scope="galaxy", **where)
    with pytest.raises(mcpool.ServerNotFoundError):
        edit.remove("a", **where)
    assert not (home.home / ".config" / "mcpool" / "mcp.json").exists()


def test_both_faces_have_the_same_verbs_and_arguments() -> None:
    def names(verb: Any) -> list[str]:
        return list(inspect.signature(verb).parameters)

    for verb in EDITS:
        twins = getattr(mcpool.config, verb), getattr(mcpool.blocking.config, verb)
        assert inspect.iscoroutinefunction(twins[0]) and not inspect.iscoroutinefunction(twins[1])
        assert names(twins[0]) == names(twins[1]), verb
        assert all(twin.__doc__ for twin in twins), verb
    for name in ("discover", "trust", "untrust", "trusted"):
        assert names(getattr(mcpool, name)) == names(getattr(mcpool.blocking, name)), name


def test_the_schema_is_at_hand() -> None:
    schema = mcpool.config.schema()
    assert schema == mcpool.blocking.config.schema()
    assert "mcpServers" in schema["properties"]


def test_the_type_of_a_definition_has_the_fields_of_the_schema() -> None:
    fields = mcpool.config.schema()["properties"]["mcpServers"]["additionalProperties"]["properties"]
    current = {name for name, field in fields.items() if not field.get("deprecated")}
    assert set(mcpool.config.ServerConfig.__annotations__) == current


def test_a_validator_of_others_takes_the_schema_and_tells_right_from_wrong() -> None:
    schema = mcpool.config.schema()
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    goldens = [json.loads(file.read_text()) for file in (ROOT / "tests/configs").glob("*/golden.json")]
    found = [
        server["config"] for golden in goldens for place in golden.values() for server in place["servers"]
    ]
    definitions = [definition for definition in found if definition]
    assert len(definitions) > 100
    for definition in definitions:
        validator.validate({"mcpServers": {"a": definition}})
    for wrong in (
        {},
        {"command": "x", "url": "http://h/"},
        {"command": "x", "timeout": "5"},
        {"comand": "x"},
    ):
        assert not validator.is_valid({"mcpServers": {"a": wrong}}), wrong


def test_the_schema_ships_with_the_package() -> None:
    file = Path(mcpool.__file__).with_name("mcpool.schema.json")
    assert json.loads(file.read_text()) == mcpool.config.schema()
