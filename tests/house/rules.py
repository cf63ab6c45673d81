"""The house's rules for its sources: each takes (path -> text) and gives the places that break it.

`PLANTED` has a violation of each, so that a rule that finds nothing any more is noticed.
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise

from tests.house import foreign_names

Sources = Mapping[str, str]
Rule = Callable[[Sources], list[str]]
Nodes = Iterator[tuple[str, ast.AST]]

ROOMS = ("app/", "experiments/", "storage/", "problems/")
MOST_LINES = 80
LEAST_TIMEOUT_S = 60
# Where any exception is caught, once each: a backend's, a reply's, the log's writer's.
EDGES = ("app/backends/guard.py", "app/session/service.py", "app/tools/connection.py", "app/web/console/context.py")
EDGES = (*EDGES, "storage/log/event_log.py")
# Who asks the log to append.
APPENDING = ("app/session/", "storage/log/")
# Names of others' code, formats and services, and made up ones of examples, that docs put in backticks.
FOREIGN = frozenset(
    """DEFAULT_MAX_TOKENS EnvironmentFile R RID _calc_lam_glm after_trust analyze_results boat copy_and_paste
    correctness_0 generate_conversations helpfulness_0 helpfulness_1 helpfulness_within
    is_external_study_url_secure limit_conn my_lab option_b p1_name p60_name pN_ preprocess_and_cache_data prolificPid
    qa_reasoning question_model_order question_order rNNNN_name rank_0 save_to_disk
    summarize_benchmark_results
    letter_only extract_answer_from_response
    two_step_simulator iqa_eval_simulator extract_answer_from_conversation convert_conversation_to_str
    convert_conversation_to_simulator_data classify_if_user_corrected_model SEP
    require_answer return_prompts""".split()  # noqa: SIM905
)

# A blank after a dot or a dash is dropped, so that this file does not hold what it looks for.
_INDEX_SIGNS = (
    r"pythonhosted\. org", r"pypi\. org", r"registry\.npmjs\. org", r"deb\.debian\. org", r"proxy\.golang\. org",
    r"\w://[^\s\"']*/ simple\b", r"-- (?:extra-)?index-url[=\s]", r"-- find-links[=\s]",
    r"\b(?:PIP|UV)_(?:EXTRA_|DEFAULT_)? INDEX",
)  # fmt: skip
_INDEX = re.compile("|".join(_INDEX_SIGNS).replace(" ", ""))
_MACHINE = re.compile(r"""(?<=["'`\s(=])/(?:work|Users|root/\.|home/(?!user\b|parley\b)\w)[\w.-]*/""")
_INSTALLS = r"pip install|uv add|uvx|uv tool (?:install|run)|pipx (?:install|run)|--from|--with"
_NOT_OURS = re.compile(rf"(?:{_INSTALLS})[ =](?:-\S+ +)*['\"]?parley(?![\w-])|(?<![\w-])parley\[[a-z]")
_ABSOLUTE = re.compile(r"""(?:href|src|action)=["']/|(?:fetch|post|send|import)\(\s*[`"']/|from ["']/""")
_TEST = re.compile(r"tests/(?P<place>(?:core|contract|wiring|browser)/(?P<module>(?:.*/)?test_\w+)\.py)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_TICKED = re.compile(r"`([A-Za-z_]\w*(?:[./]\w+)*)(?:\(\))?`")
_CODE = (".py", ".js", ".css", ".j2", ".html", ".yaml", ".yml", ".toml", ".txt", ".json", ".conf", ".lock", ".R")


@cache
def _parsed(text: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(text)))


def _nodes(sources: Sources, *folders: str) -> Nodes:
    for path, text in sources.items():
        if path.endswith(".py") and path.startswith(folders):
            yield from ((path, node) for node in _parsed(text))


def _hits(sources: Sources, wanted: re.Pattern[str]) -> list[str]:
    return [f"{path}: {hit[0]}" for path, text in sources.items() for hit in wanted.finditer(text)]


def imported_modules(sources: Sources, *folders: str) -> Iterator[tuple[str, str]]:
    """Give (path, top-level module that it imports)."""
    for path, node in _nodes(sources, *folders):
        match node:
            case ast.Import(names=aliases):
                yield from ((path, alias.name.partition(".")[0]) for alias in aliases)
            case ast.ImportFrom(module=str(module), level=0):
                yield path, module.partition(".")[0]


def package_indexes(sources: Sources) -> list[str]:
    """No file names a package index: that is each machine's configuration."""
    return _hits(sources, _INDEX)


def machine_paths(sources: Sources) -> list[str]:
    """No path of any one machine."""
    return _hits(sources, _MACHINE)


def others_parley(sources: Sources) -> list[str]:
    """Nobody is told to install `parley`, which on PyPI is not ours."""
    return _hits({path: text for path, text in sources.items() if not path.startswith("tests/house/")}, _NOT_OURS)


def absolute_addresses(sources: Sources) -> list[str]:
    """Pages refer to each other by relative addresses: below a path of a host name an absolute one leads elsewhere."""
    kinds = (".j2", ".js", ".css")
    web = {path: text for path, text in sources.items() if path.startswith("app/web/") and path.endswith(kinds)}
    return _hits({path: text for path, text in web.items() if "codemirror" not in path}, _ABSOLUTE)


def blanket_excepts(sources: Sources) -> list[str]:
    """Everything is caught only at the named edges."""
    found = [
        (path, node.lineno)
        for path, node in _nodes(sources, *ROOMS)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or {"Exception", "BaseException"} & set(_WORD.findall(ast.unparse(node.type))))
    ]
    often = Counter(path for path, _ in found)
    return [f"{path}:{line}" for path, line in found if path not in EDGES or often[path] > 1]


def changed_globals(sources: Sources) -> list[str]:
    """No function changes a global."""
    return [f"{path}:{node.lineno}" for path, node in _nodes(sources, *ROOMS) if isinstance(node, ast.Global)]


def long_functions(sources: Sources) -> list[str]:
    """No function has more than 80 lines."""
    return [
        f"{path}: {node.name}"
        for path, node in _nodes(sources, *ROOMS)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (node.end_lineno or 0) - node.lineno >= MOST_LINES
    ]


def ambiguous_classes(sources: Sources) -> list[str]:
    """No class name means two things."""
    names = [node.name for _, node in _nodes(sources, *ROOMS) if isinstance(node, ast.ClassDef)]
    return [name for name, count in Counter(names).items() if count > 1]


def second_doors(sources: Sources) -> list[str]:
    """Only app/session asks the log to append, and the table of events has one insert."""
    asks = [
        f"{path} appends"
        for path, node in _nodes(sources, *ROOMS)
        if isinstance(node, ast.ImportFrom) and node.module == "storage.log.writer"
        if any(alias.name.startswith("Append") for alias in node.names) and not path.startswith(APPENDING)
    ]
    inserts = [path for path, node in _nodes(sources, *ROOMS) if _is_insert_of_events(node)]
    return asks + [f"{path} inserts" for path in inserts if path != "storage/db/append_events.py"]


def _is_insert_of_events(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node) == "insert(tables.events)"


def hasty_tests(sources: Sources) -> list[str]:
    """No client of the tests waits less than a minute, as a busy machine needs. httpx2's own limit is 5 s; what is
    asked of an application in the same process needs none. Below a second it is how long a test looks on."""
    found = []
    for path, node in _nodes({path: text for path, text in sources.items() if "/bench/" not in path}, "tests/"):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            unlimited = _is_client(node) and not {"timeout", "transport"} & {keyword.arg for keyword in node.keywords}
            if unlimited or any(1 <= number < LEAST_TIMEOUT_S for number in _timeouts(node)):
                found.append(f"{path}:{node.lineno}")
    return found


def _is_client(call: ast.Call) -> bool:
    library, _, name = ast.unparse(call.func).rpartition(".")
    return library == "httpx2" and name in ("AsyncClient", "Client", "get", "post", "request", "stream")


def _timeouts(call: ast.Call) -> list[float]:
    """The numbers that stand in a call as its time-out, in seconds."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    given = [one.value for one in call.keywords if one.arg == "timeout" and _is_client(call)]
    given += call.args[:1] if name in ("join", "wait", "result") else call.args[1:2] if name == "wait_for" else []
    numbers = [one.value for one in given if isinstance(one, ast.Constant)]
    return [number for number in numbers if isinstance(number, int | float)]


def misplaced_tests(sources: Sources) -> list[str]:
    """A test is found from its module, as tests/KIND/PACKAGE/test_MODULE[_ASPECT].py, or it is a promise's, directly in
    tests/KIND and listed in docs/reference/promises.md."""
    promises = sources.get("docs/reference/promises.md", "")
    strays = []
    for path in sources:
        found = _TEST.fullmatch(path)
        if found and not (
            _is_of_module(sources, found["module"]) if "/" in found["module"] else found["place"] in promises
        ):
            strays.append(path)
    return strays


def _is_of_module(sources: Sources, module: str) -> bool:
    folder, _, name = module.rpartition("/")
    words = name.removeprefix("test_").split("_")
    called = {f"{folder}/{'_'.join(words[:count])}" for count in range(1, len(words) + 1)}
    return any(
        path.removesuffix(".py") in called or path.startswith(tuple(f"{name}/" for name in called)) for path in sources
    )


def stale_names(sources: Sources) -> list[str]:
    """A name in backticks, in a docstring, a comment or a page written by hand, is in the code or somebody else's."""
    known = {*dir(builtins), *sys.stdlib_module_names, *FOREIGN}
    said: list[tuple[str, str]] = []
    for path, text in sources.items():
        known |= set(_WORD.findall(path))
        if path.endswith(".py"):
            code, prose = _code_and_prose(text)
            known |= set(_WORD.findall(code))
            said += [] if path.startswith("tests/") else [(path, name) for name in _TICKED.findall(prose)]
        elif path.endswith(_CODE) or "." not in path.rpartition("/")[2]:
            known |= set(_WORD.findall(text))
        elif path.endswith(".md") and not path.startswith(("docs/decisions/", "docs/reference/", "CHANGELOG")):
            said += [(path, name) for name in _TICKED.findall(text) if re.search(r"[_/.]|[a-z][A-Z]", name)]
    strays = {f"{path}: `{name}`" for path, name in said if not known.issuperset(_WORD.findall(name))}
    return sorted(strays)


@cache
def _code_and_prose(text: str) -> tuple[str, str]:
    """A module's code with its texts, and its docstrings and comments."""
    strings = {
        (node.lineno, node.col_offset)
        for node in _parsed(text)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    parts: tuple[list[str], list[str]] = [], []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        prose = token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.start in strings)
        parts[prose].append(token.string)
    return " ".join(parts[0]), "\n".join(parts[1])


def foreign_parameters(sources: Sources) -> list[str]:
    """At most 5 % of the parameters with a type of ours share no word with it."""
    every = list(foreign_names.parameters(_nodes(sources, *ROOMS)))
    foreign = [one for one in every if foreign_names.is_foreign(*one[1:])]
    over = len(foreign) > foreign_names.BAR * len(every)
    return [f"{where} {name}: {classes}" for where, name, classes in foreign] if over else []


def bare_strings(sources: Sources) -> list[str]:
    """List the strings below constants, whose place is a `#` comment above; fields, whose texts are read, have a
    string."""
    return [
        f"{path}:{text.lineno}"
        for path, node in _nodes(sources, "")
        if isinstance(node, ast.Module | ast.ClassDef)
        for constant, text in pairwise(node.body)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
        if isinstance(constant, ast.Assign)
        or (isinstance(constant, ast.AnnAssign) and (isinstance(node, ast.Module) or _is_of_class(constant)))
    ]


def _is_of_class(constant: ast.AnnAssign) -> bool:
    return "ClassVar" in ast.unparse(constant.annotation)


RULES: Mapping[str, Rule] = {
    rule.__name__: rule
    for rule in (
        *(package_indexes, machine_paths, others_parley, absolute_addresses, blanket_excepts, changed_globals),
        *(long_functions, ambiguous_classes, second_doors, hasty_tests, misplaced_tests, stale_names),
        *(foreign_parameters, bare_strings),
    )
}
PLANTED: Mapping[str, Sources] = {
    "package_indexes": {"Makefile": "pip install --" + "index-url x"},
    "machine_paths": {"tests/bench/a.py": 'Path("/wo' + 'rk/shared/data")'},
    "others_parley": {"README.md": "uvx parley demo"},
    "absolute_addresses": {"app/web/static/a.js": 'fetch("/api")'},
    "blanket_excepts": {"app/a.py": "try:\n    pass\nexcept (OSError, Exception):\n    pass"},
    "changed_globals": {"app/a.py": "def f():\n    global a\n    a = 1"},
    "long_functions": {"app/a.py": "def f():\n" + "    a = 1\n" * MOST_LINES},
    "ambiguous_classes": {"app/a.py": "class A: ...", "storage/b.py": "class A: ..."},
    "second_doors": {"app/bots/a.py": "from storage.log.writer import AppendWithCounts"},
    "hasty_tests": {"tests/core/test_a.py": "httpx2.Client()"},
    "misplaced_tests": {"app/a.py": "", "tests/core/app/test_b.py": ""},
    "foreign_parameters": {"app/a.py": "class Location: ...\ndef f(place: Location): ..."},
    "bare_strings": {"app/a.py": 'MOST = 1\n"""The most of them."""'},
    "stale_names": {"app/a.py": '"""As `gone_function` says."""'},
}
