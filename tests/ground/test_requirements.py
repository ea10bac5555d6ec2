"""The lock: complete for every supported Python and platform, by hash, naming no index."""

import re
import tomllib
import zoneinfo
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENTRIES = [entry for entry in re.split(r"\n(?=\S)", LOCK) if not entry.startswith("#")]
PINS = [Requirement(entry.split("\\")[0].strip()) for entry in ENTRIES]
REQUIREMENTS = [
    Requirement(line) for line in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"]
]


@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_each_requirement_has_one_pin_that_satisfies_it(python: str, platform: str) -> None:
    environment: dict[str, str] = {
        **{key: str(value) for key, value in default_environment().items()},
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": platform,
    }
    here = [pin for pin in PINS if pin.marker is None or pin.marker.evaluate(environment)]
    for requirement in REQUIREMENTS:
        matching = [pin for pin in here if canonicalize_name(pin.name) == canonicalize_name(requirement.name)]
        assert len(matching) == 1, f"{requirement}: ./dev lock"
        version = str(matching[0].specifier).removeprefix("==")
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement}: ./dev lock"


def test_every_pin_is_exact_and_has_hashes() -> None:
    assert len(PINS) > 40
    for pin, entry in zip(PINS, ENTRIES, strict=True):
        assert str(pin.specifier).startswith("=="), entry
        assert "--hash=sha256:" in entry, entry


def test_the_lock_names_no_index_and_no_address() -> None:
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted-host", LOCK)


def test_time_zone_rules_are_pinned_exactly() -> None:
    assert [str(item.specifier) for item in REQUIREMENTS if item.name == "tzdata"][0].startswith("==")


def test_the_systems_zone_files_are_not_used() -> None:
    assert zoneinfo.TZPATH == ()
    assert zoneinfo.ZoneInfo.no_cache("Europe/Berlin").key == "Europe/Berlin"


def test_the_supported_pythons_are_those_that_dev_looks_for() -> None:
    assert PROJECT["requires-python"] == ">=3.11,<3.14"
    script = (ROOT / "dev").read_text()
    assert "for name in python3.13 python3.12 python3.11 python3;" in script
    assert "(3, 11) <= sys.version_info[:2] < (3, 14)" in script
