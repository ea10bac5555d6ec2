"""docs/settings.md tells every setting and every check, as the code has them."""

import re
from pathlib import Path

from jobsplatform.kernel import config_docs
from jobsplatform.kernel.config_schema import field_of, variables

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "settings.md").read_text()


def test_the_table_is_the_one_that_the_code_prints() -> None:
    between = re.search(r"<!-- table:.*?-->\n(.*?)\n<!-- end of table -->", PAGE, re.DOTALL)
    assert between is not None
    assert between[1] == config_docs.table(), "run: python -m jobsplatform.kernel.config_docs"


def test_every_setting_has_a_meaning() -> None:
    assert [name for name, path in variables().items() if not field_of(path).description] == []


def test_every_check_is_told() -> None:
    code = (ROOT / "jobsplatform" / "kernel" / "checks.py").read_text()
    known = {f"jobsplatform.{number}" for number in re.findall(r'"([EW]\d{3})"', code)}
    assert known == set(re.findall(r"`(jobsplatform\.[EW]\d{3})`", PAGE))
