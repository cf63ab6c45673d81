"""What all tests share: how much of them runs, one seed, no network, and where to find data and a browser."""

import gc
import ipaddress
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from multiprocessing.util import get_temp_dir
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, settings

from storage.db.engine import Database, open_database
from tests.browser import found
from tests.fakes import transactions
from tests.fakes.let_go import let_go

ROOT = Path(__file__).parents[1]
IN_CI = os.environ.get("CI") == "true"

# The phase that explains a failure traces every line, which takes minutes here; the example says enough.
PHASES = [phase for phase in Phase if phase is not Phase.explain]
COMMON = settings(deadline=None, derandomize=False, print_blob=True, phases=PHASES)
settings.register_profile("parley", COMMON, max_examples=20)
settings.register_profile(
    "soak", COMMON, max_examples=5_000, stateful_step_count=200, suppress_health_check=[HealthCheck.too_slow]
)
# In CI a change is judged by what it changed, so all runs draw the same; on a developer's machine and with --soak each
# run draws anew, and prints its seed.
CI_SEED = 1
# Files with a browser come first, which is kept from one to the next; of them and of the others those that take long,
# so that nobody waits for one in the end.
LONG = (
    *("page_a_day", "outcomes", "restarts", "workers", "page", "study_data", "extension", "llama", "console_identity"),
    *("page_tools", "accessibility_console", "submissions", "kill", "keyboard_and_ear", "accessibility", "house"),
    *("page_unsaved", "page_document", "page_model_failures", "trouble", "watching", "waves_life", "connection"),
)
_BEGINS = {f"test_{name}": number for number, name in enumerate(LONG)}
# Linux's file system in memory, and how much of it must be free: containers often have less.
MEMORY, ROOM = Path("/dev/shm"), 4 * 1024**3
# So many cases of one test are all run; of more, where they are a product, a run by day draws some, the night none.
MOST_CASES = 12
Cases = list[tuple[pytest.Item, Mapping[str, Hashable]]]
# How long one test may take with --soak.
LONGEST_S = 2 * 3600


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="also the tests that `make test` leaves to `make test-all`")
    parser.addoption(
        "--soak", action="store_true", help="all tests with long settings: more examples, more people, hours"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("soak" if config.getoption("soak") else "parley")
    if config.option.hypothesis_seed is None:
        fixed = IN_CI and not config.getoption("soak")
        own = str(CI_SEED if fixed else random.SystemRandom().getrandbits(32))
        config.option.hypothesis_seed = getattr(config, "workerinput", {}).get("seed", own)
    for name in [name for name in os.environ if name.startswith("PARLEY_")]:
        del os.environ[name]  # what is set on a developer's machine is not what tests set
    in_memory()
    get_temp_dir()  # of its sockets, whose paths must be short: a test may set a temporary folder of its own meanwhile
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background: Ctrl-C would reach no command
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.addaudithook(_refuse_network)
    transactions.watch()


def in_memory() -> None:
    """Databases of tests lie in memory where there is room, as each commit waits for the disk: no test is about what
    stays after the power goes, and all of a run take some 100 MB."""
    if "TMPDIR" not in os.environ and MEMORY.is_dir() and os.access(MEMORY, os.W_OK):
        about = os.statvfs(MEMORY)
        if about.f_bavail * about.f_frsize > ROOM and not about.f_flag & os.ST_NOEXEC:
            os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand a worker of pytest-xdist the seed of all."""
    node.workerinput["seed"] = node.config.option.hypothesis_seed


def pytest_report_header(config: pytest.Config) -> str:
    return f"to repeat the random choices of this run: --hypothesis-seed={config.option.hypothesis_seed}"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported stays: looking again and again through its half a million objects took a fifth of the time that
    collecting takes, and a twentieth of that of the tests; looking as often as Python does by itself, a twelfth."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.set_threshold(20_000)  # as a command of ours does
    gc.enable()
    return found


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (not item.get_closest_marker("browser"), _BEGINS.get(item.path.stem, len(LONG))))
    if config.getoption("soak"):
        for item in items:  # what a test sets for its short form is no limit of the long one
            item.add_marker(pytest.mark.timeout(LONGEST_S), append=False)
    else:
        left_out(config, items, "soak")
        left_out(config, items, "nightly")
        if not config.getoption("nightly"):
            draw(config, items)


def draw(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the product of several parameters a short run takes each value at least once, unless a case is named."""
    cases: dict[str, Cases] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and len(item.callspec.params) > 1:
            values = {name: id(value) for name, value in item.callspec.params.items()}  # not all can be compared
            cases[item.nodeid.partition("[")[0]].append((item, values))
    seed, named = config.option.hypothesis_seed, " ".join(config.args)
    left: set[pytest.Item] = set()
    for test, product in cases.items():
        if len(product) > MOST_CASES and f"{test}[" not in named:
            taken = each_value_once(product, random.Random(f"{seed} {test}"))
            left |= {item for item, _ in product}.difference(taken)
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def each_value_once(cases: Cases, chance: random.Random) -> list[pytest.Item]:
    """Some of the cases, in their order, drawn until every value of every parameter is among them."""
    missing = {item for _, values in cases for item in values.items()}
    taken: set[int] = set()
    for number in chance.sample(range(len(cases)), len(cases)):
        new = missing & set(cases[number][1].items())
        if new:
            missing -= new
            taken.add(number)
    return [case for number, (case, _) in enumerate(cases) if number in taken]


def left_out(config: pytest.Config, items: list[pytest.Item], marker: str) -> None:
    """Leave those out that run only with an option of this name."""
    if not config.getoption(marker):
        found = [item for item in items if item.get_closest_marker(marker)]
        config.hook.pytest_deselected(items=found)
        items[:] = [item for item in items if item not in found]


@pytest.fixture(autouse=True)
def no_transaction_is_open_while_something_is_awaited() -> Iterator[None]:
    """Nothing waits for a network, or for anything else, in a transaction."""
    transactions.FOUND.clear()
    yield
    assert transactions.FOUND == []


@pytest.fixture(scope="session")
def soak(request: pytest.FixtureRequest) -> bool:
    """Whether this run may take hours."""
    return bool(request.config.getoption("soak"))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run, for tests that draw at random without Hypothesis."""
    return int(request.config.option.hypothesis_seed)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The published data sets, which lie beside the repository and are not part of it."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the published data sets are not at {folder}")
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL server of this run's own; it comes with what the tests install, so that none may skip it."""
    from tests.fakes.postgres import postgres

    with postgres() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of each kind that Parley runs on."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'parley.db'}"
    from tests.fakes.postgres import fresh

    return fresh(request.getfixturevalue("postgres_server"), f"parley_{uuid4().hex}")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An empty database of the test's own."""
    made = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    yield made
    made.dispose()


@pytest.fixture
def each_database(database_url: str) -> Iterator[Database]:
    """A database of each kind that Parley runs on."""
    made = open_database(database_url)
    yield made
    let_go(made)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the browser to drive; CI must have one."""
    where = found.chromium()
    if where is None:
        refuse = pytest.fail if IN_CI else pytest.skip
        refuse(f"none of {', '.join(found.BROWSERS)} is on the path; `make tools` as root on Debian installs one")
    return where


@pytest.fixture(scope="session")
def firefox() -> str:
    """The path of Firefox; CI must have it."""
    where = found.firefox()
    if where is None:
        refuse = pytest.fail if IN_CI else pytest.skip
        refuse("Firefox is not on the path; `make tools` as root on Debian installs it")
    return where


@pytest.fixture(scope="session")
def nginx() -> str:
    """The path of nginx; CI must have it."""
    where = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if where is None:
        refuse = pytest.fail if IN_CI else pytest.skip
        refuse("nginx is not on the path; `make tools` as root on Debian installs it")
    return where


def _refuse_network(event: str, args: tuple[object, ...]) -> None:
    """No test reaches another machine: a connection that would is an error at its call."""
    if event != "socket.connect" or not isinstance(args[1], tuple):
        return
    host = str(args[1][0])
    if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
        raise RuntimeError(f"a test tried to reach {host}; tests talk to this machine only")
