"""What `make dist` does: build a release, look into it, install it where nothing is, and use it.

    python .ci/dist.py                    dist/ gets the sdist and the wheel, which is built from the sdist
    python .ci/dist.py --changes 0.2.0    print what CHANGELOG.md says of a version, and fail if that is nothing

Each of the two is installed into an empty environment of every Python there is among those that are supported: on the
PATH, or of pyenv. Then a broker is started, records go in and come out, and it is ended.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
DIST: Final = ROOT / "dist"
BILL: Final = ROOT / "build" / "sbom.cdx.json"
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
SECONDS_MAX: Final = 120


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description="Build a release, and try it.")
    parser.add_argument("--changes", metavar="VERSION", help="print what is new in this version instead")
    options = parser.parse_args()
    if options.changes is not None:
        return print_changes(options.changes)
    release, *_ = built = build()
    version = re.fullmatch(r"ottla-(.+)\.tar\.gz", release.name)
    assert version is not None
    check(built)
    for python in pythons():
        for artifact in built:
            try_out(artifact, python, version[1])
    return 0


def build() -> tuple[Path, Path]:
    """The sdist and the wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    BILL.unlink(missing_ok=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    return sdist, wheel


def check(built: tuple[Path, ...]) -> None:
    """Whether an index takes them, and whether there is in the wheel what should be."""
    scripts = Path(sys.executable).parent
    run(scripts / "twine", "check", "--strict", *built)
    run(scripts / "check-wheel-contents", *(path for path in built if path.suffix == ".whl"))


def pythons() -> Iterator[str]:
    """Those that are supported and installed."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in PYTHONS:
        candidates = [shutil.which(f"python{version}"), *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]
        found = next((python for python in candidates if python and answers(python)), None)
        if found is None:
            say(f"python{version} is not installed, nothing is tried with it")
        else:
            yield found


def answers(python: str) -> bool:
    """A shim may stand for nothing."""
    return subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0


def try_out(artifact: Path, python: str, version: str) -> None:
    """Install it into an empty environment, and use it there."""
    with tempfile.TemporaryDirectory() as home:
        run(python, "-m", "venv", home)
        scripts = Path(home) / ("Scripts" if os.name == "nt" else "bin")
        bytes_before = weigh(Path(home))
        run(scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", artifact)
        bytes_brought = weigh(Path(home)) - bytes_before
        said = output(scripts / "ottla", "--version")
        assert said == f"ottla {version}\n", f"{artifact.name} is {said!r}"
        output(scripts / "python", "-c", "import ottla.testing", cwd=home)
        use(scripts / "ottla", home)
        if artifact.suffix == ".whl" and not BILL.exists():  # the oldest Python needs most
            write_bill(scripts / "python", version)
        say(
            f"{artifact.name} works with {output(scripts / 'python', '--version').strip()}, "
            f"and brings {bytes_brought / 1e6:.0f} MB"
        )


def weigh(folder: Path) -> int:
    """How many bytes there are in it."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def use(ottla: Path, home: str) -> None:
    """Records go in and come out."""
    serve = [str(ottla), "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=home) as broker:
        try:
            assert broker.stdout is not None
            ready = re.fullmatch(r"ottla ready bootstrap=(\S+)\n", broker.stdout.readline())
            assert ready is not None, "the broker did not get ready"
            at = ("--bootstrap-server", ready[1])
            run(ottla, "topics", "produce", "orders", *at, input="one coffee\n")
            consumed = output(ottla, "topics", "consume", "orders", *at)
            assert "one coffee" in consumed, f"consumed {consumed!r}"
            broker.terminate()
            assert broker.wait(SECONDS_MAX) == 0
        finally:
            broker.kill()


def write_bill(python: Path, version: str) -> None:
    """What an installation consists of, as CycloneDX has it; beside the release, not in it."""
    cyclonedx = Path(sys.executable).parent / "cyclonedx-py"
    BILL.parent.mkdir(exist_ok=True)
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools", "pip")  # what every environment begins with
    run(cyclonedx, "environment", "--pyproject", ROOT / "pyproject.toml", "--output-file", BILL, python)
    bill = json.loads(BILL.read_text(encoding="utf-8"))
    bill["metadata"]["component"]["version"] = version  # the tag says it, pyproject.toml doesn't
    BILL.write_text(json.dumps(bill, indent=2), encoding="utf-8")


def print_changes(version: str) -> int:
    """The section of CHANGELOG.md; of a version without one, that is a mistake."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    if section is None or not section[1].strip():
        print(f"CHANGELOG.md says nothing of {version}; give it a section `## {version} - DATE`", file=sys.stderr)
        return 1
    print(section[1].strip())
    return 0


def run(*command: str | Path, **options: object) -> None:
    """Run a command that has to succeed."""
    subprocess.run([str(word) for word in command], check=True, text=True, **options)  # type: ignore[call-overload]


def output(*command: str | Path, cwd: str | None = None) -> str:
    """What a command says that has to succeed."""
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, cwd=cwd, timeout=SECONDS_MAX).stdout


def say(text: str) -> None:
    print(f"ottla: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
