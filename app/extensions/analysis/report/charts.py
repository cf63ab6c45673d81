"""The charts of a report and of the console, as Vega-Lite specifications in one style.

They are plain dictionaries: building and validating them with altair's objects takes a hundred times as long, too long
for a page with many users.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.errors import SettingsError
from app.extensions.analysis.estimates import (
    COUNT,
    NUMBER,
    POINTS,
    SHARE,
    Estimate,
    Finding,
    Scatter,
    Unit,
    format_interval,
    format_value,
)
from app.extensions.analysis.report.arrangement import grid_places
from app.extensions.analysis.report.published_comparison import FigureComparison
from app.rendering.chart_style import COLOURS, CONFIG, DASHES, INK, Spec
from problems.errors import install_line

INSTALL = f"Figures need a package that is not installed: {install_line('charts')}"
WIDTH, ROW_PX, AXIS_PX = 640, 34, 24
DENSE_PX, MOST_ROWS = 15, 60
# A row of a chart that has several estimates in each; a chart of more rows is not legible.
TITLES: Mapping[Unit, str] = {SHARE: "per cent", POINTS: "percentage points", NUMBER: "", COUNT: ""}
HINTS = ("group", "estimate", "interval", "n", "participants")
THEIRS = "published "
SURE = "isValid(datum.low)"
PER_CENT = "datum.label + ' %'"
NOBODY: Mapping[str, FigureComparison] = {}
DASHED: Spec = {"strokeDash": [4, 4], "color": INK}


def require_charts() -> None:
    """Raise SettingsError if charts cannot be drawn here, as vl-convert is not installed."""
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise SettingsError(f"{INSTALL} ({error})") from None


def svg(spec: Spec) -> str:
    """The chart as SVG, drawn in this process without a network."""
    import vl_convert

    made: str = vl_convert.vegalite_to_svg(dict(spec), allowed_base_urls=[])
    return made


def image(spec: Spec) -> str:
    """The chart as the address of an image, in which nothing that people wrote can be run."""
    return f"data:image/svg+xml;base64,{b64encode(svg(spec).encode()).decode()}"


def nominal(field: str, values: Sequence[str], scale: bool = True) -> dict[str, Any]:
    found = {"field": field, "type": "nominal", "sort": list(values), "title": None}
    return {**found, "scale": {"domain": list(values)}} if scale else found


def layer(mark: str, encoding: Spec, style: Spec, **channels: Any) -> Spec:
    """A layer of a mark; `channels` are added to the encoding."""
    return {"mark": {"type": mark, **style}, "encoding": {**encoding, **channels}}


def interval(encoding: Spec, axis: str, scale: Spec, style: Spec, of: str = "") -> Spec:
    """The layer of intervals along an axis, from the fields `low` to `high`, with `of` before both."""
    ends = {axis: {"field": f"{of}low", **scale}, f"{axis}2": {"field": f"{of}high"}}
    return layer("rule", encoding, style, **ends)


def line_at(places: Sequence[float], axis: str, scale: Spec) -> Spec:
    """A dashed line at each place of an axis."""
    values = {"values": [{"at": at} for at in places]}
    return {"data": values, **layer("rule", {axis: {"field": "at", **scale}}, DASHED)}


def forest_chart(finding: Finding, comparisons: Mapping[str, FigureComparison] = NOBODY) -> Spec:
    """Estimates with their intervals, a row for each group; one without an interval has a hollow dot.

    Estimates by two groups are in rows by the first, with a colour and a shape for the second. Published figures, by
    the names of estimates, are diamonds with a bar of one standard error.
    """
    size = _size(finding.unit)
    places = grid_places(finding) if finding.columns else [(one.label, "") for one in finding.estimates]
    series = list(dict.fromkeys(column for _, column in places)) if finding.columns else []
    rows = [
        {**_row(one, finding.unit), "group": group, "series": column, "series_theirs": THEIRS + column}
        | _beside(comparisons.get(one.name), finding.axis, size)
        for one, (group, column) in zip(finding.estimates, places, strict=True)
    ]
    scale = {
        "type": "quantitative",
        "scale": {"domain": [size * end for end in finding.axis], "nice": False, "zero": False, "clamp": True},
        "axis": {"title": TITLES[finding.unit] or None, "tickCount": 6}
        | ({"tickMinStep": 1} if finding.unit == COUNT else {}),
    }
    named = {"labelLimit": 240, "labelPadding": 12, "ticks": False, "domain": False}
    row = {"y": {"field": "group", "type": "nominal", "sort": None, "title": None, "axis": named}}
    both = {**row, "tooltip": [{"field": name, "type": "nominal"} for name in HINTS]}
    own, slot = {"color": COLOURS[0]}, nominal("series", _slots(series, rows))
    if series:
        own, both = {}, both | {"yOffset": slot, "color": nominal("series", series)}
    shown = nominal("series", series) if series else {"value": COLOURS[0]}
    fill = {"condition": {"test": SURE, **shown}, "value": "transparent"}
    point = {"size": 45 if series else 80, "strokeWidth": 2, "opacity": 1, **own}
    shape = {"shape": nominal("series", series)} if series else {}
    layers = [
        *([] if finding.reference is None else [line_at([size * finding.reference], "x", scale)]),
        interval(both, "x", scale, {"strokeWidth": 2 if series else 2.5, **own}),
        layer("point", both, point, x={"field": "value", **scale}, fill=fill, **shape),
        *_published(rows, "x", scale, row | ({"yOffset": {**slot, "field": "series_theirs"}} if series else {}),
                    {"size": 70}, {"yOffset": 0 if series else 9}),
    ]  # fmt: skip
    groups = len({group for group, _ in places})
    return {
        "config": CONFIG,
        "padding": {"left": 24, "right": 22, "top": 6, "bottom": 6},
        "width": WIDTH,
        "height": AXIS_PX + groups * max(ROW_PX, DENSE_PX * len(series)),
        "data": {"values": rows},
        "layer": layers,
    }


def rows_of(finding: Finding) -> int:
    return len({row for row, _ in grid_places(finding)} if finding.columns else finding.estimates)


def _size(unit: Unit) -> int:
    """By what a value is multiplied for its axis: shares are shown in per cent."""
    return 1 if unit in (NUMBER, COUNT) else 100


def _slots(values: Sequence[str], rows: Sequence[Spec]) -> list[str]:
    """The places beside each other in a group: of each value, and then of what is published of it."""
    theirs = any("theirs" in row for row in rows)
    return [place for value in values for place in ([value, THEIRS + value] if theirs else [value])]


def _row(estimate: Estimate, unit: Unit) -> dict[str, Any]:
    size = _size(unit)
    ends = (
        {}
        if estimate.low is None or estimate.high is None
        else {"low": size * estimate.low, "high": size * estimate.high}
    )
    formatted = {
        "interval": format_interval(estimate.low, estimate.high, unit),
        "estimate": format_value(estimate.value, unit),
    }
    return {
        "value": size * estimate.value,
        **ends,
        **formatted,
        "n": f"{estimate.n:,}",
        "participants": f"{estimate.participants:,}",
    }


def _beside(comparison: FigureComparison | None, axis: tuple[float, float], size: int) -> dict[str, float]:
    """The published figure, unless it is beyond the axis."""
    if comparison is None or not axis[0] <= comparison.published.value <= axis[1]:
        return {}
    ends = (
        {}
        if comparison.ends is None
        else {"theirs_low": size * comparison.ends[0], "theirs_high": size * comparison.ends[1]}
    )
    return {"theirs": size * comparison.published.value, **ends}


def _published(
    rows: Sequence[Spec], axis: str, scale: Spec, encoding: Spec, diamond: Spec, offset: Spec
) -> Iterator[Spec]:
    """The layers of published figures, if any row has one."""
    if any("theirs" in row for row in rows):
        style = {"color": INK, **offset}
        yield interval(encoding, axis, scale, style, "theirs_")
        diamond = {"shape": "diamond", "fill": "white", "opacity": 1, **diamond, **style}
        yield layer("point", encoding, diamond, **{axis: {"field": "theirs", **scale}})


def scatter_chart(scatter: Scatter, unit: Unit) -> Spec:
    """Points in square panels with the diagonal; with `margins`, the distributions of both values beside them."""
    size = 1 if scatter.margins else _size(unit)
    rows = [
        {"x": size * one.x, "y": size * one.y, "n": one.n, "label": one.label, "series": one.series, "panel": one.panel}
        for one in scatter.points
    ]
    panels = [*dict.fromkeys(one.panel for one in scatter.points)]
    series = [*dict.fromkeys(one.series for one in scatter.points)]
    ends = [size * end for end in scatter.axis]
    inset = 0.35 if scatter.margins else 0
    scale = {"domain": [ends[0] - inset, ends[1] + inset], "nice": False, "zero": False}
    axis = {"tickCount": 6} if size == 1 else {"tickCount": 6, "labelExpr": PER_CENT}
    x = {"field": "x", "type": "quantitative", "scale": scale, "axis": axis, "title": scatter.x}
    y = {**x, "field": "y", "title": scatter.y}
    style: dict[str, Any] = {"opacity": 0.65, "strokeWidth": 1.5}
    encoding: dict[str, Any] = {"x": x, "y": y, "tooltip": [{"field": name} for name in ("label", "n")]}
    if scatter.margins:
        style |= {"filled": True}
        encoding["size"] = {"field": "n", "type": "quantitative", "scale": {"range": [4, 700]}, "legend": None}
    if len(series) > 1 and not scatter.margins:
        encoding |= {"color": nominal("series", series), "shape": nominal("series", series)}
    else:
        style |= {"color": COLOURS[0]}
    diagonal = layer("line", {"x": x, "y": y}, {"strokeWidth": 1.2, **DASHED})
    corners = {"data": {"values": [{"x": end, "y": end} for end in ends]}, **diagonal}
    side = 300 if len(panels) == 1 else 220
    square: Spec = {"width": side, "height": side, "layer": [corners, layer("point", encoding, style)]}
    whole: dict[str, Any] = {"config": CONFIG, "data": {"values": rows}}
    if scatter.margins:
        return {**whole, **_with_margins(square, x, y)}
    if len(panels) == 1:
        return {**whole, **square}
    return whole | {"facet": nominal("panel", panels, False), "columns": 3, "spec": square}


def _with_margins(square: Spec, x: Spec, y: Spec) -> Spec:
    bar = {"color": COLOURS[0], "opacity": 0.45, "size": 20}
    total = {"aggregate": "sum", "field": "n", "type": "quantitative", "axis": None}
    above = {"width": square["width"], "height": 54, **layer("bar", {"x": {**x, "axis": None}, "y": total}, bar)}
    sideways = layer("bar", {"y": {**y, "axis": None}, "x": total}, {**bar, "orient": "horizontal"})
    right = {"width": 54, "height": square["height"], **sideways}
    return {"spacing": 6, "bounds": "flush", "vconcat": [above, {"spacing": 6, "hconcat": [square, right]}]}


ACCURACY = "chatbench.accuracy."
KINDS = {"alone": "AI alone: ", "user-alone": "", "user-AI": ""}
PARTS = 5
# The parts of a name `chatbench.accuracy.<dataset>.<model>.<answer_type>`; one with a condition has one more.


def accuracy_chart(estimates: Sequence[Estimate], comparisons: Mapping[str, FigureComparison] = NOBODY) -> Spec | None:
    """Accuracy of models alone, people alone and people with models, a panel for each dataset as in ChatBench's paper.

    Answers with a model are shown by condition where there are such. None if no estimate belongs in it.
    """
    named = {(*parts[2:],): one for one in estimates if len(parts := one.name.split(".", PARTS - 1)) == PARTS
             and one.name.startswith(ACCURACY)}  # fmt: skip
    split = {(dataset, model, answer.partition(".")[0]) for dataset, model, answer in named if "." in answer}
    named = {names: one for names, one in named.items() if names not in split}
    if not named:
        return None
    kinds = list(KINDS)
    answers = sorted({answer for _, _, answer in named}, key=lambda one: (kinds.index(answer_kind(one)), one))
    words = {one: KINDS[answer_kind(one)] + one.replace("_", " ").replace(".", ", ") for one in answers}
    rows = [
        {
            **_row(one, SHARE),
            "dataset": one.groups.get("dataset", dataset).replace("_", " "),
            "model": one.groups.get("model", model),
            "answer": words[answer],
            "answer_theirs": THEIRS + words[answer],
        }
        | _beside(comparisons.get(one.name), (0, 1), 100)
        for (dataset, model, answer), one in named.items()
    ]
    datasets, models = ([*dict.fromkeys(row[name] for row in rows)] for name in ("dataset", "model"))
    order = [words[one] for one in answers]
    scale = {"type": "quantitative", "title": None, "scale": {"domain": [0, 100]}, "axis": {"labelExpr": PER_CENT}}
    x = {**nominal("model", models), "axis": {"labelAngle": 0, "labelLimit": 200 // len(models), "ticks": False}}
    slot = nominal("answer", _slots(order, rows))
    both: Spec = {"x": x, "xOffset": slot, "color": nominal("answer", order)}
    point = {"size": 55, "strokeWidth": 1.8, "fill": "white", "opacity": 1}
    layers = [
        interval(both, "y", scale, {"strokeWidth": 1.8}),
        layer("point", both, point, y={"field": "value", **scale}, shape=nominal("answer", order)),
        *_published(rows, "y", scale, {"x": x, "xOffset": {**slot, "field": "answer_theirs"}}, {"size": 60}, {}),
    ]
    return {
        "config": {**CONFIG, "legend": {**CONFIG["legend"], "columns": 3}},
        "data": {"values": rows},
        "facet": nominal("dataset", datasets, False),
        "columns": 3,
        "spec": {"width": 210, "height": 190, "layer": layers},
    }


def answer_kind(answer: str) -> str:
    """Whose answers these are: a person's alone, theirs with a model, or the model's alone."""
    plain = answer.lower().replace("_", "-")
    return next((kind for kind in ("user-alone", "user-AI") if plain.startswith(kind.lower())), "alone")


BY_TURN = "mathconverse.by_turn."


def turns_chart(findings: Sequence[Finding]) -> Spec | None:
    """Mean ratings by turn, a line for each rating, from `mathconverse.by_turn.<rating>.<turn>`; None without any."""
    found = [
        (finding, one, parts[2].replace("_", " "), int(parts[3]))
        for finding in findings
        for one in finding.estimates
        if one.name.startswith(BY_TURN) and len(parts := one.name.split(".")) == 4 and parts[3].isdecimal()
    ]
    if not found:
        return None
    most: dict[int, int] = {}
    for _, one, _, turn in found:
        most[turn] = max(most.get(turn, 0), one.n)
    labels = {turn: f"{turn}|n {most[turn]:,}" for turn in sorted(most)}
    ratings = list(dict.fromkeys(rating for _, _, rating, _ in found))
    rows = [{**_row(one, finding.unit), "turn": labels[turn], "rating": rating} for finding, one, rating, turn in found]
    axis = {"labelAngle": 0, "labelExpr": "split(datum.value, '|')"}
    both: Spec = {
        "x": {**nominal("turn", list(labels.values())), "title": "turn", "axis": axis},
        "xOffset": {**nominal("rating", ratings), "scale": {"domain": ratings, "paddingOuter": 1}},
        "color": nominal("rating", ratings),
    }
    scale = {"type": "quantitative", "title": None, "scale": {"domain": list(found[0][0].axis)}}
    dash = {**nominal("rating", ratings), "scale": {"domain": ratings, "range": list(DASHES)}}
    lines = lines_with_points(both, scale, "rating", ratings, strokeDash=dash)
    return {"config": CONFIG, "width": WIDTH, "height": 220, "data": {"values": rows}, "layer": lines}


def lines_with_points(encoding: Spec, scale: Spec, series: str, values: Sequence[str], **line: Any) -> list[Spec]:
    """The layers of lines with intervals and hollow points, a shape for each of a series' values; `line` has channels
    of the lines alone."""
    at = {**encoding, "y": {"field": "value", **scale}}
    return [
        layer("line", at, {"strokeWidth": 1.6}, **line),
        interval(encoding, "y", scale, {"strokeWidth": 1.8}),
        layer("point", at, {"size": 50, "fill": "white", "opacity": 1}, shape=nominal(series, values)),
    ]
