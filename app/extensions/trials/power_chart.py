"""The chart of a power analysis: power by the number of participants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.extensions.analysis.report.charts import PER_CENT, WIDTH, nominal
from app.extensions.trials.power import PowerPoint
from app.rendering.chart_style import CONFIG, INK, Spec

TARGETS = (80, 90)


def power_chart(panels: Mapping[str, Sequence[PowerPoint]], null: Mapping[str, float]) -> Spec:
    """Power by the number of participants, a line for each effect with Monte Carlo intervals.

    A panel for each hypothesis: its points by its id, and `null` its effect without power.
    """
    drawn = [_power(name, points, null[name]) for name, points in panels.items()]
    apart = {"scale": {"color": "independent", "shape": "independent"}}
    return {"config": CONFIG, "resolve": apart, "vconcat": drawn}


def _power(name: str, points: Sequence[PowerPoint], null: float) -> Spec:
    words = {point.effect: f"effect {point.effect:g}" + (" (null)" if point.effect == null else "") for point in points}
    rows = [
        {
            "participants": one.participants,
            "effect": words[one.effect],
            "power": 100 * one.power,
            "low": 100 * one.interval[0],
            "high": 100 * one.interval[1],
        }
        for one in points
    ]
    y = {"type": "quantitative", "title": None, "scale": {"domain": [0, 100]}, "axis": {"labelExpr": PER_CENT}}
    both: Spec = {
        "x": {
            "field": "participants",
            "type": "quantitative",
            "title": "participants who begin",
            "scale": {"zero": False, "padding": 14},
            "axis": {"tickCount": 6, "format": ",d", "grid": False},
        },
        "color": nominal("effect", list(words.values())),
    }
    at = {**both, "y": {"field": "power", **y}}
    target = {"type": "rule", "strokeDash": [4, 4], "color": INK}
    return {
        "title": {"text": f"{name}: power", "anchor": "start", "color": INK, "fontSize": 13},
        "width": WIDTH - 60,
        "height": 220,
        "data": {"values": rows},
        "layer": [
            {
                "data": {"values": [{"at": one} for one in TARGETS]},
                "mark": target,
                "encoding": {"y": {"field": "at", **y}},
            },
            {"mark": {"type": "line", "strokeWidth": 1.6}, "encoding": at},
            {"mark": "rule", "encoding": {**both, "y": {"field": "low", **y}, "y2": {"field": "high"}}},
            {
                "mark": {"type": "point", "fill": "white", "size": 50, "opacity": 1},
                "encoding": {**at, "shape": nominal("effect", list(words.values()))},
            },
        ],
    }
