"""The figure of `parley trial power`: power by the number of participants, a panel a hypothesis, a line an effect.

Each point has its Monte Carlo interval. The figure is a file of its own, without styles or scripts from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from app.analysis.forest_plot import ticked
from app.analysis.report.svg_panels import SHAPES
from app.analysis.trial.power import PowerPoint

WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 64, 44
LOOKS = ("circle", "square", "up", "down", "diamond")
DASHES = ("", "7 4", "2 3", "8 3 2 3", "12 3")
IN_ROW = 4
"""Effects in a row of the legend."""
TARGETS = (0.8, 0.9)
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.title{font-weight:600}.soft{fill:#555}.grid{stroke:#ddd}"
    ".target{stroke:#777;stroke-dasharray:3 3}.line{fill:none;stroke:#1f5f99;stroke-width:1.5}"
    ".sure{stroke:#1f5f99;stroke-width:1.5}.mark{fill:#fff;stroke:#1f5f99;stroke-width:1.6}"
    "@media(prefers-color-scheme:dark){svg{background:#16191d}text{fill:#eee}.soft{fill:#bbb}.grid{stroke:#3a3f45}"
    ".target{stroke:#999}.line,.sure,.mark{stroke:#7db7ea}.mark{fill:#16191d}}"
)


def power_figure(panels: Mapping[str, Sequence[PowerPoint]], null: Mapping[str, float]) -> str:
    """The figure as SVG; `panels` are the points by the name of their hypothesis, `null` its effect without power."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT * len(panels)}" role="img" '
        f'aria-label="Power by the number of participants"><style>{STYLE}</style>'
    ]
    for number, (name, points) in enumerate(panels.items()):
        parts.append(f'<g transform="translate(0 {HEIGHT * number})">')
        parts += _panel(name, points, null[name])
        parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def _panel(name: str, points: Sequence[PowerPoint], null: float) -> Iterator[str]:
    sizes = sorted({point.participants for point in points})
    low, high = (sizes[0], sizes[-1]) if len(sizes) > 1 else (0, 2 * sizes[0])

    def across(participants: float) -> float:
        return round(LEFT + 12 + (WIDTH - LEFT - RIGHT - 24) * (participants - low) / (high - low), 1)

    def upright(power: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * power, 1)

    yield f'<text class="title" x="{LEFT}" y="20">{escape(name)}: power</text>'
    for power in (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0):
        kind = "target" if power in TARGETS else "grid"
        yield f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{upright(power)}" y2="{upright(power)}"/>'
        yield f'<text text-anchor="end" x="{LEFT - 6}" y="{upright(power) + 4}">{100 * power:.0f} %</text>'
    for at in ticked((low, high)):
        yield f'<text text-anchor="middle" x="{across(at)}" y="{HEIGHT - BOTTOM + 18}">{at:,.0f}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text class="soft" text-anchor="middle" x="{middle}" y="{HEIGHT - 8}">participants who begin</text>'
    effects = list(dict.fromkeys(point.effect for point in points))
    for number, effect in enumerate(effects):
        shape = SHAPES[LOOKS[number % len(LOOKS)]]
        beside, below = LEFT + 8 + number % IN_ROW * 125, 38 + number // IN_ROW * 16
        label = f"effect {effect:g}" + (" (null)" if effect == null else "")
        yield f'<path class="mark" transform="translate({beside} {below})" d="{shape}"/>'
        yield f'<text x="{beside + 10}" y="{below + 4}">{label}</text>'
        own = sorted((point for point in points if point.effect == effect), key=lambda one: one.participants)
        line = " ".join(f"{across(one.participants)},{upright(one.power)}" for one in own)
        yield f'<polyline class="line" stroke-dasharray="{DASHES[number % len(DASHES)]}" points="{line}"/>'
        for one in own:
            x, (least, most) = across(one.participants), one.interval
            words = f"{one.participants:,} participants: {one.power:.3f}, {least:.3f} to {most:.3f}"
            yield f'<g><title>{words}</title><line class="sure" x1="{x}" x2="{x}" y1="{upright(least)}" '
            yield f'y2="{upright(most)}"/><path class="mark" transform="translate({x} {upright(one.power)})" '
            yield f'd="{shape}"/></g>'
