"""What a page gives to those who see where the focus is, and to those who hear what it says; kept as it happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

LEAST_RING_PX, LEAST_CONTRAST = 2, 3.0
LISTEN = """
const colour = (text) => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
const light = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
  .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
const paper = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const found = colour(getComputedStyle(at).backgroundColor);
    if ((found[3] ?? 1) > 0.9) return found;
  }
  return [255, 255, 255];
};
const seen = (element) => {
  const around = [element, element.closest(".option")];
  const ringed = around.find((one) => one && getComputedStyle(one).outlineStyle !== "none");
  const style = ringed && getComputedStyle(ringed), box = (ringed ?? element).getBoundingClientRect();
  const [a, b] = ringed ? [light(colour(style.outlineColor)), light(paper(ringed.parentElement))] : [0, 0];
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  const host = ringed ?? element;
  return {
    what: element.cloneNode(false).outerHTML.slice(0, 160),
    ring_px: ringed ? parseFloat(style.outlineWidth) : 0,
    contrast: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05),
    hidden: !top || !(host.contains(top) || top.contains(host)),
  };
};
document.addEventListener("focusin", ({ target }) => {
  if (target.id === "heading" || !target.matches(":focus-visible")) return;
  const look = () => target === document.activeElement && kept("focus", seen(target));
  requestAnimationFrame(() => requestAnimationFrame(look));
});
const LIVE = ":is([role=status], [role=alert], [role=log], [aria-live=polite]):not([aria-busy=true])";
const words = new WeakMap();
new MutationObserver(() => {
  for (const region of document.querySelectorAll(LIVE)) {
    const text = region.textContent.trim();
    if (text && words.get(region) !== text) kept("said", region.role === "log" ? `(log) ${text}` : text);
    words.set(region, text);
  }
}).observe(document, { childList: true, subtree: true, characterData: true, attributes: true });
"""


@dataclass
class Senses:
    """Of one person's browser."""

    focused: list[dict[str, Any]]
    """Where the keyboard has been: what it was, its ring, and whether something stood before it."""
    said: list[str]
    """What live regions have told, in order."""

    def blind_spots(self) -> list[str]:
        """Stops of the keyboard that nobody sees."""
        return [
            f"{stop['what']}: a ring of {stop['ring_px']:g} px, {stop['contrast']:.1f}:1{', hidden' * stop['hidden']}"
            for stop in self.focused
            if stop["ring_px"] < LEAST_RING_PX or stop["contrast"] < LEAST_CONTRAST or stop["hidden"]
        ]


def attend(page: Page) -> Senses:
    """Keep what a person's page shows and tells from now on."""
    senses = Senses([], [])
    keep = {"focus": senses.focused.append, "said": senses.said.append}
    page.expose_function("kept", lambda kind, what: keep[kind](what))
    page.add_init_script(f"(() => {{ {LISTEN} }})()")
    return senses
